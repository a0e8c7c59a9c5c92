"""Lines through descriptors: read piece by piece, cut at line feeds and nowhere else, written.

MCP, transports: "Messages are delimited by newlines". U+2028, U+0085 and a lone carriage return are
allowed inside a JSON text. What comes out, joined, is what went in: blank lines, carriage returns
and all. Takes linear time, however small the pieces are.
"""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes of the longest line that is kept whole; of a longer one, both ends are kept."""

FIRST: Final = 4096
"""Bytes that are kept of each end of a longer line."""


class Cut(NamedTuple):
    """One line of a stream. `line` has no line end but may have a carriage return.

    `ended` says that a line feed followed; only the last line of a stream may lack it. Of a line
    that is longer than what is kept, `line` is the beginning, `last` the end, and `size` says how
    long it was.
    """

    line: bytes
    ended: bool
    size: int
    last: bytes = b""

    @property
    def whole(self) -> bool:
        """Return True if `line` is the complete line."""
        return not self.last

    @property
    def blank(self) -> bool:
        """Return True if the line contains only white space."""
        return not self.line.strip(b" \t\r")

    @property
    def note(self) -> str:
        """Return a note for the transcript: too long, or without a line feed; else ""."""
        if not self.whole:
            return f"{self.size} bytes: too long to keep"
        return "" if self.ended else "no line feed at its end"


class Cutter:
    """Cuts a stream that comes in pieces into lines."""

    __slots__ = ("_kept", "_last", "_longest", "_size")

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        """Keep lines of up to `longest` bytes."""
        self._longest = longest
        self._kept = bytearray()
        self._last = b""
        self._size = 0

    @property
    def within(self) -> bool:
        """Return True in the middle of a line."""
        return self._size > 0

    @property
    def unended(self) -> bytes:
        """The line that has begun and not ended yet, or its beginning."""
        return bytes(self._kept)

    def feed(self, chunk: bytes) -> Iterator[Cut]:
        """Add the next piece of the stream; yield the completed lines."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            if not self._size and len(end) <= self._longest:  # as a rule: all of it is here
                yield Cut(end, True, len(end))  # noqa: FBT003 - a name costs a microsecond
                continue
            self._keep(end)
            yield self._take(ended=True)
        self._keep(rest)

    def end(self) -> Iterator[Cut]:
        """Yield the last line if it has no line feed."""
        if self.within:
            yield self._take(ended=False)

    def _take(self, *, ended: bool) -> Cut:
        cut = Cut(bytes(self._kept), ended, self._size, self._last)
        self._kept, self._size, self._last = bytearray(), 0, b""
        return cut

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._longest:
            before = self._last or bytes(self._kept[-FIRST:])
            self._last = (before + piece)[-FIRST:]
            del self._kept[FIRST:]
            piece = piece[: FIRST - len(self._kept)]
        self._kept += piece


PIECE: Final = 64 * 1024
"""Bytes that are read or written at a time: what a pipe holds. More would be mapped and unmapped
each time, and one write(2) of it to a slow reader would look stuck for as long as it takes."""


def wait_until_ready(descriptor: int, *, for_reading: bool, seconds: float | None = None) -> bool:
    """Wait until a descriptor is ready or has an error. Return False on a timeout."""
    if not hasattr(select, "poll"):  # pragma: no cover - Windows has no non-blocking pipes
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN if for_reading else select.POLLOUT)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def has_reader(descriptor: int) -> bool:
    """Return False if nobody can read any more what is written to this pipe."""
    if not hasattr(select, "poll"):  # pragma: no cover - Windows says so when it is written
        return True
    poll = select.poll()
    poll.register(descriptor, 0)
    return not poll.poll(0)


def pieces(descriptor: int) -> Iterator[bytes]:
    """Read a descriptor to its end, piece by piece, as they come."""
    while True:
        try:
            piece = os.read(descriptor, PIECE)
        except BlockingIOError:  # the host made its pipe non-blocking, and we share it
            wait_until_ready(descriptor, for_reading=True)
            continue
        except OSError:  # a terminal that went away, a reset socket: there is no more
            return
        if not piece:
            return
        yield piece
        del piece  # not kept while we wait for the next one


def write_pieces(descriptor: int, content: bytes) -> Iterator[int]:
    """Write everything; yield before each piece how many bytes of it are written.

    Raises:
        OSError: the reader is gone; usually EPIPE.
    """
    rest = memoryview(content)
    while rest:
        yield len(content) - len(rest)
        try:
            rest = rest[os.write(descriptor, rest[:PIECE]) :]
        except BlockingIOError:
            wait_until_ready(descriptor, for_reading=False)
    yield len(content)


def lines(
    descriptor: int, longest: int = LONGEST_LINE, cutter: Cutter | None = None
) -> Iterator[Cut]:
    """Read the lines of a descriptor to its end; blank ones are left out."""
    cutter = cutter or Cutter(longest)
    for piece in pieces(descriptor):
        for cut in cutter.feed(piece):
            if not (cut.whole and cut.blank):
                yield cut
        del piece  # not kept while we wait for the next one
    yield from (cut for cut in cutter.end() if not (cut.whole and cut.blank))
