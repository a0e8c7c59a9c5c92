"""The two clocks of the stub: one that only ever rises, and the wall clock, which is decoration."""

from __future__ import annotations

import time


class Clock:
    """Real time. Tests put another one in its place."""

    def now(self) -> float:
        """Seconds of a clock that only ever rises: for waiting and for limits."""
        return time.monotonic()

    def time_of_day(self, ahead: float = 0.0) -> str:
        """Return the local time of day so many seconds from now, as on a person's own clock."""
        return time.strftime("%H:%M:%S", time.localtime(time.time() + ahead))

    def stamp(self) -> str:
        """Return the wall clock in UTC, ISO 8601 with milliseconds: for people to read."""
        # `datetime` would write this as well, and costs every start a millisecond.
        seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
        return time.strftime(f"%Y-%m-%dT%H:%M:%S.{milliseconds:03d}Z", time.gmtime(seconds))
