"""The text files for what is wrong on purpose: saved, sent as it is, then put away in `sent/`.

`out.anyway.txt` goes out although the check finds errors in it, `out.raw.txt` byte for byte, and
`out.do.txt` holds words for the server itself: `silence on`, `progress off`, `exit 3`, `crash`.
As in `out.txt`, what is not complete waits until it has not changed for two seconds: `exit 1` may
become `exit 17`. Who still has a file open that was taken may go on writing, and that counts too.
Knows files, and not what becomes of them.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.validation.documents import divide
from humanmcp.server.text_files.file_watch import WatchedFile
from humanmcp.server.text_files.folder import Unfit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.server.text_files.folder import OpenFolder
    from humanmcp.server.text_files.sent_folder import SentFolder

ANYWAY: Final = "out.anyway.txt"
RAW: Final = "out.raw.txt"
DO: Final = "out.do.txt"
NAMES: Final = (ANYWAY, RAW, DO)
NOT_SENT: Final = ".not-sent"
"""What stands in the name of a file that was taken and is not sent yet: `out.raw.not-sent.txt`."""

_EVERY: Final = 0.1
"""Seconds between two looks: these are for testing, and each look costs three calls."""


class Deliberate(NamedTuple):
    """What was saved in one of the files: its name and its bytes.

    `unfit` says why what has the name was not read.
    """

    name: str
    content: bytes
    unfit: Unfit | None = None


class _Taken:
    """A file that was put away, and how it began then."""

    def __init__(self, name: str, kept_as: str, content: bytes) -> None:
        self.name = name
        self.file = WatchedFile(kept_as)
        self.content = content

    def more_in(self, content: bytes) -> bytes:
        """Return what was written since it was taken."""
        return content.removeprefix(self.content)


class OnPurpose:
    """Watches the files in one folder."""

    def __init__(self, folder: OpenFolder, sent: SentFolder) -> None:
        """Leave alone what stood there before the session: what it was meant for is unknown."""
        self._folder = folder
        self._sent = sent
        self._files = [WatchedFile(name) for name in NAMES]
        self._taken: deque[_Taken] = deque(maxlen=len(NAMES))
        self._next_look = -math.inf
        for file in self._files:
            file.settle(folder.mark(file.name))

    def left_over(self) -> tuple[str, ...]:
        """List what an earlier session took and did not send: it was killed in between."""
        names = (f"{name.removesuffix('.txt')}{NOT_SENT}.txt" for name in NAMES)
        return tuple(name for name in names if self._folder.mark(name) is not None)

    @property
    def look_again(self) -> float | None:
        """When to look again at what is being written; None while nothing is."""
        files = (*self._files, *(one.file for one in self._taken))
        moments = [one.look_again for one in files]
        writing = [one for one in moments if one is not None]
        return max(min(writing), self._next_look) if writing else None

    def look(self, now: float) -> Iterator[Deliberate]:
        """Yield what was saved since the last look and has come to rest. It is put away first."""
        if now < self._next_look:
            return
        self._next_look = now + _EVERY
        for taken in tuple(self._taken):
            yield from self._written_on(taken, now)
        for file in self._files:
            yield from self._saved(file, now)

    def _saved(self, file: WatchedFile, now: float) -> Iterator[Deliberate]:
        found = file.look(self._folder, now)
        if isinstance(found, Unfit):
            yield Deliberate(file.name, b"", found)
        elif isinstance(found, tuple):
            content, mark = found
            if not content:
                file.settle(mark)
            elif _is_complete(file.name, content) or file.is_silent(now):
                yield from self._taken_away(file, content)

    def _taken_away(self, file: WatchedFile, content: bytes) -> Iterator[Deliberate]:
        """Hand out a file under a name that says that it is not sent, until it was.

        A server that is killed in between leaves it under that name, and the next one tells of it.
        """
        unsent = self._folder.free_name(file.name.removesuffix(".txt") + NOT_SENT)
        self._folder.rename(file.name, unsent)
        file.settle(None)
        if file.name == DO and b"crash" in content:  # nothing runs after it
            self._sent.take(unsent)
            yield Deliberate(file.name, content)
            return
        yield Deliberate(file.name, content)
        self._taken.append(_Taken(file.name, self._sent.take(unsent), content))

    def _written_on(self, taken: _Taken, now: float) -> Iterator[Deliberate]:
        found = taken.file.look(self._folder, now)
        if isinstance(found, tuple):
            content, mark = found
            more = taken.more_in(content)
            if not more:
                taken.file.settle(mark)
            elif _is_complete(taken.name, more) or taken.file.is_silent(now):
                taken.content = content
                taken.file.settle(mark)
                yield Deliberate(taken.name, more)


def _is_complete(name: str, content: bytes) -> bool:
    """Return True if nothing tells that it is in the middle of being written."""
    if name != ANYWAY:
        return content.endswith(b"\n")
    documents = divide(content.decode("utf-8", "replace"))
    return bool(documents.texts) and not (documents.incomplete or documents.broken)
