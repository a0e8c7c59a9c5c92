"""A lock that ends with its process: whoever finds it free knows that the process is gone."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from humanmcp.inbox.atomic import open_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

if sys.platform == "win32":  # pragma: no cover - exercised on Windows only
    import msvcrt

    def _lock(descriptor: int, *, shared: bool) -> None:  # noqa: ARG001 - Windows has one kind
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int, *, shared: bool) -> None:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)


_HELD: dict[tuple[int, int], int] = {}
"""The locks of this process: the descriptor of each file, which is known by device and inode.

On some file systems a lock excludes nothing inside a process, and to close a second descriptor
gives it up (NFS): the files of this list are not even opened again.
"""
_ONE_AT_A_TIME = threading.RLock()
"""Held from the look at that list until a file is opened and in it, or closed and out of it.

The same thread may come back to it: a collected inbox gives its lock up wherever it happens to be.
"""
_LOOK_LASTS: Final = 0.001
_MOST_TRIES: Final = 1000
_FREE_ERRORS = frozenset({errno.ENOENT, errno.ELOOP, errno.ENOTDIR})


class LifeLock:
    """A lock that is held from `take` until `release`, or until the process dies."""

    __slots__ = ("_descriptor", "_file")

    def __init__(self, descriptor: int, file: tuple[int, int]) -> None:
        self._descriptor, self._file = descriptor, file
        _HELD[file] = descriptor

    def __del__(self) -> None:
        """Give the descriptor back with an inbox that was dropped without an end."""
        self.release()

    @classmethod
    def take(cls, path: Path, within: float = 0.0) -> LifeLock:
        """Make the lock file and hold it. Wait at most so many seconds for who holds it.

        Who waits holds no shared lock meanwhile: those of several would keep all of them out.

        Raises:
            OSError: another one holds it (EAGAIN, EACCES), or it cannot be made.
        """
        end = time.monotonic() + within
        while True:
            try:
                return cls._take_now(path, _lock_alone if within else _take)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES) or time.monotonic() >= end:
                    raise
                time.sleep(_LOOK_LASTS)

    @classmethod
    def _take_now(cls, path: Path, take: Callable[[int], None]) -> LifeLock:
        with _ONE_AT_A_TIME:
            if _is_ours(path):
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), str(path))
            descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
            found = os.fstat(descriptor)
            lock = cls(descriptor, (found.st_dev, found.st_ino))
        try:
            take(descriptor)
        except OSError:
            lock.release()
            raise
        return lock

    def release(self) -> None:
        """Let go. A second time changes nothing."""
        with _ONE_AT_A_TIME:
            if _HELD.get(self._file) == self._descriptor:
                os.close(self._descriptor)
                del _HELD[self._file]
            self._descriptor = -1


def _lock_alone(descriptor: int) -> None:
    _lock(descriptor, shared=False)


def _take(descriptor: int) -> None:
    """Lock a file, although others may look at it: each look holds it for a moment.

    Raises:
        OSError: another process holds it.
    """
    for _ in range(_MOST_TRIES):
        try:
            _lock_alone(descriptor)
        except BlockingIOError:
            _lock(descriptor, shared=True)  # refused by who holds it, not by who looks
            time.sleep(_LOOK_LASTS)
        else:
            return
    _lock_alone(descriptor)


def _is_ours(path: Path) -> bool:
    with suppress(OSError):
        found = path.stat(follow_symlinks=False)
        return (found.st_dev, found.st_ino) in _HELD
    return False


def is_held(path: Path) -> bool | None:
    """Return True if a living process holds the lock; None if there is none, for now or for ever.

    Where that cannot be found out (too many open files) it counts as held: no process is
    declared dead for a trouble of our own.
    """
    with _ONE_AT_A_TIME:
        if _is_ours(path):
            return True
        try:
            descriptor = open_private(path, os.O_RDWR)
        except OSError as error:
            return None if error.errno in _FREE_ERRORS else True
        try:
            _lock(descriptor, shared=True)
        except OSError:
            return True
        else:
            return False
        finally:
            os.close(descriptor)


TURN_WITHIN: Final = 5.0
"""Seconds to wait for one's turn: another process may have been suspended in its own."""


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Hold a lock for a moment: what several processes change is changed in turn.

    Raises:
        OSError: another one has held it for too long, or it cannot be made.
    """
    lock = LifeLock.take(path, TURN_WITHIN)
    try:
        yield
    finally:
        lock.release()


def _let_go_in_child() -> None:
    """Close the locks in a forked child: it would keep them held after its parent's death."""
    for descriptor in _HELD.values():
        os.close(descriptor)
    _HELD.clear()
    _ONE_AT_A_TIME.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_ONE_AT_A_TIME.acquire,
        after_in_parent=_ONE_AT_A_TIME.release,
        after_in_child=_let_go_in_child,
    )
