"""The log of the processes that a host starts: a file, because a host seldom shows their stderr.

They all write to the same one, each line with the number of its process. No message's content goes
there. One that grows large is put aside, so that two of them are there at most.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from io import TextIOWrapper
    from pathlib import Path

LOG_NAME: Final = "humanmcp.log"
OLD_NAME: Final = "humanmcp.old.log"
LARGEST_LOG: Final = 4 * 1024 * 1024
FORMAT: Final = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"

logger = logging.getLogger(__name__)


def log_to(folder: Path) -> None:
    """Send the log to the file in this folder; a large one is put aside first.

    Raises:
        OSError: the file cannot be written.
    """
    handler = LogFile(folder / LOG_NAME, folder / OLD_NAME)
    logging.basicConfig(handlers=[handler], level=logging.INFO, format=FORMAT)


class LogFile(logging.FileHandler):
    """A log that only its owner may read, which never grows beyond `largest` bytes for long.

    Several processes may write to it: the first that finds it large puts it aside, and the others
    follow.
    """

    def __init__(self, file: Path, old: Path, largest: int = LARGEST_LOG) -> None:
        """Write to `file`, and put it aside as `old`.

        Raises:
            OSError: it cannot be written.
        """
        logging.raiseExceptions = False  # one that cannot be written must not flood stderr instead
        self._file, self._old, self._largest = file, old, largest
        _put_aside(file, old, largest)
        super().__init__(file, encoding="utf-8")

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        return open(
            self._file, "a", encoding="utf-8", opener=lambda path, _: os.open(path, flags, 0o600)
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, to a new file where this one is large or was put aside by another.

        Where there can be no new file the old one is kept: a thread that logs must not end.
        """
        with suppress(OSError):
            _put_aside(self._file, self._old, self._largest)
            if self.stream is not None and not _is_at(self.stream.fileno(), self._file):
                before, self.stream = self.stream, self._open()
                before.close()
        super().emit(record)


def _put_aside(file: Path, old: Path, largest: int) -> None:
    with suppress(OSError):  # there is none yet, or another process has just put it aside
        if file.stat().st_size > largest:
            file.replace(old)


def _is_at(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False


def log_what_ends_a_thread() -> None:
    """Log an uncaught exception of a thread: else it goes to stderr, which hosts rarely show."""

    def note(what: threading.ExceptHookArgs) -> None:
        if what.exc_value is not None:
            logger.error("%s ended", what.thread, exc_info=what.exc_value)

    threading.excepthook = note
