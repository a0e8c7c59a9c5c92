"""The doorbell of a session: a desk that sends something rings, and the process that waits looks.

One thread hears all bells of a process, however many hang.

A ring carries nothing and may be lost: it only wakes, and a look at the files decides. So nothing
ever waits for a bell. It may be full or unheard, or none may hang there (Windows, drives
without FIFOs): then what was sent is found by the next slow look.
"""

from __future__ import annotations

import logging
import os
import select
import stat
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from humanmcp.common.own_process import leave_signals_to_the_main_thread
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
        """Have `descriptor`, which this object closes."""
        self._path = path
        self._descriptor = descriptor
        self._closed = False

    def __del__(self) -> None:
        """Give the descriptor back with an inbox that was dropped without an end."""
        if not self._closed:
            self._closed = True
            os.close(self._descriptor)

    @classmethod
    def hang(cls, path: Path) -> Bell | None:
        """Make a bell. Return None where there are no FIFOs: the process must poll then."""
        if not hasattr(os, "mkfifo"):  # pragma: no cover - Windows
            return None
        try:
            path.unlink(missing_ok=True)  # of a process that was killed
            os.mkfifo(path, 0o600)
            # Open at both ends: it never tells the end of its input, and a ring that comes before
            # anybody listens is kept.
            return cls(path, os.open(path, os.O_RDWR | OPEN_FLAGS))
        except OSError as error:
            _log.info("no bell at %s: %s", path, error)
            return None

    def listen(self, rung: Callable[[], object]) -> None:
        """Call `rung` from a thread of our own after each ring; of several at once, once."""
        _listener.add(self._descriptor, self, rung)

    def answer(self) -> bool:
        """Silence it. Return True if it rang."""
        rang = False
        with suppress(BlockingIOError):
            while len(os.read(self._descriptor, _MANY)) == _MANY:
                rang = True
            rang = True
        return rang

    def close(self) -> None:
        """Take it down. A second time changes nothing."""
        if self._closed:
            return
        self._closed = True
        _listener.remove(self._descriptor)
        os.close(self._descriptor)
        with suppress(OSError):
            self._path.unlink()


class _BellListener:
    """The thread that hears all bells. It begins with the first of them."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._bells: dict[int, tuple[Bell, Callable[[], object]]] = {}
        self._poll: select.epoll | select.poll | None = None
        self._wake = -1

    def add(self, descriptor: int, bell: Bell, rung: Callable[[], object]) -> None:
        with self._changing:
            if self._poll is None:
                self._poll = select.epoll() if hasattr(select, "epoll") else select.poll()
                reader, self._wake = os.pipe()
                self._poll.register(reader, select.POLLIN)
                args = (self._poll, reader)
                threading.Thread(target=self._hear, args=args, name="bells", daemon=True).start()
            self._bells[descriptor] = bell, rung
            self._poll.register(descriptor, select.POLLIN)
        os.write(self._wake, _RING)  # a `poll` that waits already does not know this one

    def remove(self, descriptor: int) -> None:
        """Stop listening to a bell. A pending ring is lost."""
        with self._changing:
            if self._bells.pop(descriptor, None) is not None and self._poll is not None:
                self._poll.unregister(descriptor)

    def _hear(self, poll: select.epoll | select.poll, reader: int) -> None:
        leave_signals_to_the_main_thread()
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == reader:
                    os.read(reader, _MANY)
                    continue
                with self._changing:
                    bell, rung = self._bells.get(descriptor, (None, None))
                    rang = bell is not None and bell.answer()
                if rang and rung is not None:
                    rung()


_listener: Final = _BellListener()


def ring(path: Path) -> None:
    """Ring, without waiting or failing, even if nobody listens."""
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
