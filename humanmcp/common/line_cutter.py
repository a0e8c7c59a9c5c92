"""Cuts a stream of bytes into lines that keep their ends, at line feeds and nowhere else.

What comes out, joined, is what went in: blank lines, carriage returns and all. Takes linear time,
however small the pieces are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes of a line that is looked at and kept whole. Longer ones pass all the same."""

_FIRST: Final = 4096


class Cut(NamedTuple):
    """One line of a stream. `line` has no line end but may have a carriage return.

    `ended` says that a line feed followed; only the last line of a stream may lack it. Of a line
    that is longer than what is kept, `line` is the beginning and `size` says how long it was.
    """

    line: bytes
    ended: bool
    size: int

    @property
    def whole(self) -> bool:
        """Return True if `line` is all of it."""
        return len(self.line) == self.size

    @property
    def note(self) -> str:
        """Return what is unusual about it, for the transcript; "" for nothing."""
        if not self.whole:
            return f"{self.size} bytes: too long to keep"
        return "" if self.ended else "no line feed at its end"


class Cutter:
    """Takes a stream piece by piece and gives it back line by line."""

    __slots__ = ("_kept", "_longest", "_size")

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        """Keep lines of up to `longest` bytes."""
        self._longest = longest
        self._kept = bytearray()
        self._size = 0

    @property
    def within(self) -> bool:
        """Return True if the stream stands in the middle of a line."""
        return self._size > 0

    def feed(self, chunk: bytes) -> Iterator[Cut]:
        """Take the next piece of the stream; yield the lines that it completes."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._keep(end)
            yield self._take(ended=True)
        self._keep(rest)

    def end(self) -> Iterator[Cut]:
        """Yield what stands there without a line feed."""
        if self.within:
            yield self._take(ended=False)

    def _take(self, *, ended: bool) -> Cut:
        cut = Cut(bytes(self._kept), ended, self._size)
        self._kept, self._size = bytearray(), 0
        return cut

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._longest:
            del self._kept[_FIRST:]
            piece = piece[: _FIRST - len(self._kept)]
        self._kept += piece
