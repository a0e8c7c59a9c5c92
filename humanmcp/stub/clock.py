"""The two clocks of the stub: one that only ever rises, and the wall clock, which is decoration."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Clock:
    """Real time. Tests put another one in its place."""

    def now(self) -> float:
        """Seconds of a clock that only ever rises: for waiting and for limits."""
        return time.monotonic()

    def stamp(self) -> str:
        """Return the wall clock in UTC, ISO 8601 with milliseconds: for people to read."""
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
