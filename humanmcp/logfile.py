"""The log of the processes that a host starts: a file, because a host seldom shows their stderr.

They all write to the same one, each line with the number of its process. No message's content goes
there.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
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
    file = begun(folder / LOG_NAME, folder / OLD_NAME)
    logging.basicConfig(filename=file, encoding="utf-8", level=logging.INFO, format=FORMAT)


def begun(file: Path, old: Path) -> Path:
    """Return a log that only its owner may read; a large one is put aside first.

    Raises:
        OSError: it cannot be written.
    """
    if file.exists() and file.stat().st_size > LARGEST_LOG:
        with suppress(OSError):  # another process has put it aside at the same moment
            file.replace(old)
    logging.raiseExceptions = False  # a log that cannot be written must not flood stderr instead
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    return file


def log_what_ends_a_thread() -> None:
    """Write down what nobody foresaw in a thread: else it goes to stderr, which nobody reads."""

    def note(what: threading.ExceptHookArgs) -> None:
        if what.exc_value is not None:
            logger.error("%s ended", what.thread, exc_info=what.exc_value)

    threading.excepthook = note
