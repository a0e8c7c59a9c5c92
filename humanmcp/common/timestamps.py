"""Convert moments to text and back: ISO 8601 in UTC in a transcript, local time in a log.

`zone` is None for the zone of this machine.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, tzinfo


def stamp(seconds: float) -> str:
    """Write seconds since 1970 as UTC, ISO 8601 with milliseconds."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> str:
    """Return the current stamp."""
    return stamp(time.time())


def read_stamp(at: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def seconds_of(at: str) -> float:
    """Read a stamp as seconds since 1970; 0 if it is invalid."""
    moment = read_stamp(at)
    return 0.0 if moment is None else moment.timestamp()


def clock(seconds: float) -> str:
    """Write seconds as people read a clock: 0:42, 12:05, 1:02:09."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def duration(seconds: float) -> str:
    """Write how long something took, with its units: 0.42 s, 12.0 s, 1 min 30 s, 1 h 2 min."""
    if seconds < 59.95:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"
    minutes, left = divmod(round(seconds), 60)
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours else f"{minutes} min {left} s"


def log_time(at: str, zone: tzinfo | None = None) -> str:
    """Write a stamp as in a log: `2025-04-06 15:09:35.419`. Other text is returned unchanged."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return at
    local = moment.astimezone(zone).replace(tzinfo=None)
    return local.isoformat(sep=" ", timespec="milliseconds")


def from_log_time(text: str, zone: tzinfo | None = None) -> str:
    """Convert a time of a log to a stamp. A time that names its zone keeps it.

    Raises:
        ValueError: it is not a time.
    """
    moment = datetime.fromisoformat(text)
    named = moment.tzinfo or zone
    aware = moment.astimezone() if named is None else moment.replace(tzinfo=named)
    return stamp(aware.timestamp())
