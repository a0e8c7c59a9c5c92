"""A file that a person writes, watched under its name: when its content no longer changes."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from humanmcp.extensions.text_files.folder import Unfit

if TYPE_CHECKING:
    from humanmcp.extensions.text_files.folder import FileMark, OpenFolder


STABLE: Final = 0.01
"""Seconds between two looks that must see the same before a file is read."""


SILENCE: Final = 2.0
"""Seconds without a change after which a text counts as finished although it is not complete."""


LOCKED_EVERY: Final = 0.5
"""Seconds between two tries to read a file that the system keeps from us."""


class Absence(enum.Enum):
    """There is no file of this name."""

    GONE = "gone"
    """It was there at the last look."""
    STILL = "still"


class WatchedFile:
    """A file that is watched under its name.

    `gone` is how many characters of its text were sent, `print` the hash of these, and `early` what
    was refused among them.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.gone = 0
        self.print = hash("")
        self.early = ""
        self._seen: FileMark | None = None
        self._settled: FileMark | None = None
        self._since = 0.0
        self._next_look = 0.0

    @property
    def has_content(self) -> bool:
        """Return True if the file existed at the last look and was not empty."""
        return self._seen is not None and self._seen.size > 0

    def look(
        self, folder: OpenFolder, now: float
    ) -> tuple[bytes, FileMark] | Unfit | Absence | None:
        """Look once: return the content if the file no longer changes, else None.

        A file that must not be read is reported once, at once.
        """
        missing = self._seen is None and not folder.may_have_more
        mark = None if missing else folder.mark(self.name)
        if mark is None:
            was_there, self._seen, self._settled = self._seen is not None, None, None
            return Absence.GONE if was_there else Absence.STILL
        if mark != self._seen:
            self._seen, self._since, self._next_look = mark, now, now + STABLE
            if mark.unfit is not None:
                self._settled = mark
            return mark.unfit
        if mark == self._settled or now < self._next_look:
            return None
        content = folder.read(self.name, mark)
        if isinstance(content, Unfit):
            self._next_look = now + LOCKED_EVERY
            return content
        return None if content is None else (content, mark)

    @property
    def look_again(self) -> float | None:
        """When to look again at a file that is being written; None if it no longer changes."""
        return None if self._seen == self._settled else self._next_look

    def is_silent(self, now: float) -> bool:
        """Return True if the file has not changed for long enough. If not, plan another look."""
        self._next_look = self._since + SILENCE
        return now >= self._next_look

    def settle(self, mark: FileMark | None) -> None:
        """Ignore the file while it has this mark; with None, look again at once."""
        self._seen = self._settled = mark

    def is_as_settled(self, folder: OpenFolder) -> bool:
        """Return True if the file has not changed since `settle`."""
        return self._settled is not None and folder.mark(self.name) == self._settled

    def send(self, text: str, end: int, refused: str = "") -> None:
        """Note that the text before `end` was judged; `refused` is the refused part."""
        self.gone, self.print = end, hash(text[:end])
        self.early += refused

    def start_in(self, text: str) -> int:
        """Return the offset in the text where new content may begin.

        That is after what was sent, if the text still begins with it, and else the beginning.
        """
        if hash(text[: self.gone]) != self.print:
            self.gone, self.print, self.early = 0, hash(""), ""
        return self.gone
