"""The standard descriptors as private ones, and waiting for a descriptor to go on.

Knows numbers of open files and nothing of what goes through them. For the processes whose stdin
and stdout are a wire: no other code in such a process may read or write there by accident.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import suppress
from typing import Final

from humanmcp.locales.stop import stopped

_FIRST_PRIVATE: Final = 3  # 0, 1 and 2 are everybody's


def claim() -> tuple[int, int]:
    """Take stdin and stdout away from everybody else in this process and its children.

    Returns their private descriptors. From then on descriptor 0 reads nothing and 1 is stderr.
    """
    source, sink = private(0, os.O_RDONLY), private(1, os.O_WRONLY)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # the host started us without a stderr
        os.dup2(nothing, 1)
    if nothing >= _FIRST_PRIVATE:
        os.close(nothing)
    return source, sink


def private(descriptor: int, mode: int) -> int:
    """Duplicate a standard descriptor to one that no child inherits and no other code knows."""
    if sys.platform == "win32":  # pragma: no cover - exercised on Windows only
        import msvcrt  # noqa: PLC0415 - exists there only

        own = os.dup(descriptor)
        msvcrt.setmode(own, os.O_BINARY)
        return own
    import fcntl  # noqa: PLC0415 - Windows has none

    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_PRIVATE)
    except OSError:  # closed from the start: then there is nothing to read, or no reader
        nothing = os.open(os.devnull, mode)
        try:
            return fcntl.fcntl(nothing, fcntl.F_DUPFD_CLOEXEC, _FIRST_PRIVATE)
        finally:
            os.close(nothing)


def ending_signals() -> list[signal.Signals]:
    """List the signals that end a program in order, as far as this system has them."""
    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def leave_signals_to_the_main_thread() -> None:
    """Block signals in this thread, so that the kernel interrupts the main thread with them."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, ending_signals())


def wait_until_ready(descriptor: int, *, for_reading: bool, seconds: float | None = None) -> bool:
    """Wait until a descriptor can go on, or has an error to tell. Return True if so."""
    if not hasattr(select, "poll"):  # pragma: no cover - Windows has no non-blocking pipes
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN if for_reading else select.POLLOUT)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


FEWEST: Final = 32
"""Open files without which no program of ours works for long: libraries fail before we can."""

PLENTY: Final = 10_240
"""Open files that are enough for everything here, and the most that macOS allows."""


def need_files() -> int:
    """Allow this process as many open files as the system lets it have. Return how many.

    Raises:
        StopError: they are too few.
    """
    if sys.platform == "win32":  # pragma: no cover - there is no such limit there
        return PLENTY
    import resource  # noqa: PLC0415 - exists on the other systems only

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed, most = (PLENTY if one == resource.RLIM_INFINITY else one for one in limits)
    wanted = min(most, PLENTY)
    if wanted > allowed:
        with suppress(OSError, ValueError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, limits[1]))
            allowed = wanted
    if allowed < FEWEST:
        raise stopped("files_allowed", "few", count=allowed, needed=FEWEST)
    return allowed
