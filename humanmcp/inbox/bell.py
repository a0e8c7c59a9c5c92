"""The doorbell of a session: whoever sends something rings, and the process that waits looks.

A ring carries nothing and may be lost: it only wakes, and a look at the files decides. So nobody
ever waits for a bell. It may be full, nobody may listen, or none may hang there (Windows, drives
without FIFOs): then what was sent is found by the next slow look.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from humanmcp.common.file_descriptors import leave_signals_to_the_main_thread, wait_until_ready
from humanmcp.inbox.atomic import OPEN_FLAGS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_log = logging.getLogger(__name__)

_RING: Final = b"!"
_MANY: Final = 4096


class Bell:
    """The side that waits. It hangs in the folder until it is closed; its process may die."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Listen to `descriptor`, which this object closes."""
        self._path = path
        self._descriptor = descriptor
        self._listening = False
        self._closed = False

    def __del__(self) -> None:
        """Give the descriptor back with an inbox that was dropped without an end."""
        if not self._closed and not self._listening:
            self._closed = True
            os.close(self._descriptor)

    @classmethod
    def hang(cls, path: Path) -> Bell | None:
        """Make a bell. None where there are no FIFOs: whoever waits must look by itself."""
        if not hasattr(os, "mkfifo"):  # pragma: no cover - Windows
            return None
        try:
            os.mkfifo(path, 0o600)
            # Open at both ends: it never tells the end of its input, and a ring that comes before
            # anybody listens is kept.
            return cls(path, os.open(path, os.O_RDWR | OPEN_FLAGS))
        except OSError as error:
            _log.info("no bell at %s: %s", path, error)
            return None

    def listen(self, rung: Callable[[], object]) -> None:
        """Call `rung` from a thread of our own after each ring; of several at once, once."""
        self._listening = True
        thread = threading.Thread(target=self._listen, args=(rung,), name="bell", daemon=True)
        thread.start()

    def _listen(self, rung: Callable[[], object]) -> None:
        leave_signals_to_the_main_thread()
        while not self._closed:
            self.wait()
            rung()
        os.close(self._descriptor)  # here alone: its number must not be used again while we wait

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for a ring, but not longer. Says whether there was one; it is silent afterwards."""
        rung = wait_until_ready(self._descriptor, for_reading=True, seconds=seconds)
        with suppress(BlockingIOError):
            while rung and len(os.read(self._descriptor, _MANY)) == _MANY:
                pass
        return rung

    def ring(self) -> None:
        """Wake whoever waits here."""
        with suppress(OSError):
            os.write(self._descriptor, _RING)

    def close(self) -> None:
        """Take it down. A second time changes nothing."""
        if self._closed:
            return
        self._closed = True
        with suppress(OSError):
            self._path.unlink()
        if self._listening:
            self.ring()
        else:
            os.close(self._descriptor)


def ring(path: Path) -> None:
    """Ring, if anybody listens. Never waits and never fails."""
    try:
        descriptor = os.open(path, os.O_WRONLY | OPEN_FLAGS)
    except OSError:  # ENXIO: nobody listens any more; ENOENT: no bell hangs there
        return
    try:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            os.write(descriptor, _RING)
    except OSError:  # full: it rings already
        pass
    finally:
        os.close(descriptor)
