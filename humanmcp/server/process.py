"""What belongs to the process of a server and not to a session: its clock, stderr, its parent."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from humanmcp.common.own_process import wait_until_ready
from humanmcp.inbox.attendant import REST_EVERY, on_a_beat

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock:
    """Real time. Tests put another one in its place."""

    def __init__(self) -> None:
        """Start without a cached second."""
        self._second = -1
        self._until_the_second = ""

    def now(self) -> float:
        """Seconds of a clock that only ever rises: for waiting and for limits."""
        return time.monotonic()

    def since(self, stamp: str) -> float:
        """Return how many seconds ago a stamp was written.

        Raises:
            ValueError: it is no stamp.
        """
        from datetime import datetime  # noqa: PLC0415 - seldom wanted, and slow to load

        past, now = datetime.fromisoformat(stamp), datetime.fromisoformat(self.stamp())
        return (now - past).total_seconds()

    def time_of_day(self, ahead: float = 0.0) -> str:
        """Return the local time of day so many seconds from now, as on a person's own clock."""
        return time.strftime("%H:%M:%S", time.localtime(time.time() + ahead))

    def stamp(self) -> str:
        """Return the wall clock in UTC, ISO 8601 with milliseconds: for people to read."""
        # `datetime` would write this as well, and costs every start a millisecond.
        seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
        if seconds != self._second:
            self._second = seconds
            self._until_the_second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        return f"{self._until_the_second}.{milliseconds:03d}Z"


class Stderr:
    """Writes to the host's log: at most 2 KB in a session, without waiting or failing.

    Some hosts open a pipe for stderr and never read it; servers that talked on were found hanging
    after 4,000 bytes on Windows, and after 16 to 64 KB elsewhere.
    """

    def __init__(self, descriptor: int = 2, budget: int = 2048) -> None:
        """Say at most `budget` bytes to `descriptor`."""
        self._descriptor = descriptor
        self._budget = budget

    def write(self, text: str) -> bool:
        """Write a line, cut to the budget. Return True if any of it was written.

        What could act on a terminal is shown as its code point.
        """
        safe = "".join(
            c if c.isprintable() or c == "\n" else f"⟦U+{ord(c):04X}⟧" for c in text.rstrip("\n")
        )
        line = safe.encode()[: max(0, self._budget - 1)].decode(errors="ignore").encode() + b"\n"
        if line == b"\n":
            return False
        try:
            # Not O_NONBLOCK: it would change the terminal or pipe for everybody who shares it. A
            # pipe that is ready takes PIPE_BUF bytes (4,096, at least 512) without waiting.
            if not wait_until_ready(self._descriptor, for_reading=False, seconds=0):
                return False
            written = os.write(self._descriptor, line)
        except (OSError, ValueError):  # full, closed, or -1
            return False
        self._budget -= written
        return True


class ParentWatch:
    """Notices the end of the parent process. An attendant polls it.

    A host that is killed closes its pipes, unless another of its children holds them as well.
    Not PR_SET_PDEATHSIG: it fires when the *thread* that started us ends, and hosts start
    servers from worker threads. Windows never gives a child a new parent; there the pipe is
    the only sign.
    """

    def __init__(self, gone: Callable[[], object]) -> None:
        """Call `gone` once."""
        self._gone = gone
        self._parent = os.getppid()

    def begin(self, wake: Callable[[], object]) -> None:
        """Do nothing: nothing wakes it."""

    def step(self, now: float) -> float | None:
        """Check the parent. Return when to check again; None once it is gone."""
        if os.getppid() == self._parent:
            return on_a_beat(now + REST_EVERY)
        self._gone()
        return None

    def leave(self) -> None:
        """Do nothing."""
