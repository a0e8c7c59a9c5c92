"""Who is alive: a lock that the operating system takes back when its process dies.

A process number says nothing (it is used again), and a file says nothing either (kill -9 leaves
it). A lock is free the moment its process is gone, however it went.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

from humanmcp.inbox.atomic import open_private

if TYPE_CHECKING:
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


_HELD: set[int] = set()
_FREE_ERRORS = frozenset({errno.ENOENT, errno.ELOOP, errno.ENOTDIR})


class LifeLock:
    """A lock that is held from `take` until `release`, or until the process dies."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __del__(self) -> None:
        """Give the descriptor back with an inbox that was dropped without an end."""
        self.release()

    @classmethod
    def take(cls, path: Path) -> LifeLock:
        """Make the lock file and hold it.

        Raises:
            OSError: another process holds it (EAGAIN, EACCES), or it cannot be made.
        """
        descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
        try:
            _lock(descriptor, shared=False)
        except OSError:
            os.close(descriptor)
            raise
        _HELD.add(descriptor)
        return cls(descriptor)

    def release(self) -> None:
        """Let go. A second time changes nothing."""
        if self._descriptor in _HELD:
            _HELD.discard(self._descriptor)
            os.close(self._descriptor)
        self._descriptor = -1


def is_held(path: Path) -> bool:
    """Return True if a living process holds the lock.

    Where that cannot be found out (too many open files) it counts as held: no process is
    declared dead for a trouble of our own.
    """
    try:
        descriptor = open_private(path, os.O_RDWR)
    except OSError as error:
        return error.errno not in _FREE_ERRORS
    try:
        _lock(descriptor, shared=True)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def _let_go_in_child() -> None:
    """Close the locks in a forked child: it would keep them held after its parent's death."""
    for descriptor in _HELD:
        os.close(descriptor)
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)
