"""The answer book's file: read at the start, and again whenever it is saved.

Knows TOML and the file; what a book means stands in `protocol/book.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.protocol.book import Book, BookError, parse

if TYPE_CHECKING:
    from pathlib import Path

_LOOK_EVERY = 1.0


class BookFile:
    """A book and the file that it is read from. Without a file it stays the default book."""

    def __init__(self, path: Path, *, must_exist: bool = False) -> None:
        """Read the book.

        Raises:
            BookError: the file is missing although it must exist, or it cannot be used.
        """
        self.path = path
        self.book = Book()
        self.complaint = ""
        """Why the file, as it is now, cannot be used; the last good book stays in force."""
        self._stamp: tuple[int, int] | None = None
        self._next_look = 0.0
        if must_exist and not path.exists():
            raise BookError(str(path), "there is no such file")
        if not self._look():
            return
        if self.complaint:
            raise BookError(str(path), self.complaint)

    def poll(self, now: float) -> bool:
        """Look whether the file was saved, at most once a second. True when the book changed."""
        if now < self._next_look:
            return False
        self._next_look = now + _LOOK_EVERY
        return self._look()

    def _look(self) -> bool:
        try:
            found = self.path.stat()
        except OSError:
            return False
        stamp = (found.st_mtime_ns, found.st_size)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        import tomllib  # noqa: PLC0415 - 5 ms of a server's start that only a book has to pay

        try:
            self.book = parse(tomllib.loads(self.path.read_text(encoding="utf-8-sig")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, BookError) as error:
            self.complaint = str(error)
        else:
            self.complaint = ""
        return True
