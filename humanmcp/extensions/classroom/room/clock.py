"""The clock of a class: seconds for which its room was open.

It does not count the time between two processes of a room, nor that of a computer asleep, and
nobody can set it. So what it measures (a step, a raised hand, the count-down) stays true.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from humanmcp.inbox.atomic import write_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

KEPT_EVERY: Final = 2.0
"""Seconds: a killed room forgets at most as many."""
ASLEEP: Final = 10.0
"""Seconds that count at most of a longer time in which nobody looked: some systems count sleep."""


class RoomClock:
    """An attendant keeps it in `file`, from which the next process goes on."""

    def __init__(self, file: Path, ticks: Callable[[], float] = time.monotonic) -> None:
        """Go on; begin with 1 where there is no file: 0 is for what never happened."""
        self._file, self._ticks = file, ticks
        self._lock = threading.Lock()
        self._looked = ticks()
        try:
            self._seconds = float(file.read_text("ascii"))
        except (OSError, ValueError):
            self._seconds = 1.0

    def __call__(self) -> float:
        with self._lock:
            now = self._ticks()
            self._seconds += min(now - self._looked, ASLEEP)
            self._looked = now
            return self._seconds

    def go_on_from(self, moments: Iterable[float]) -> None:
        """Stand at none earlier than these, which were recorded: a kill forgets the last ones."""
        with self._lock:
            self._seconds = max((self._seconds, *moments))

    def since_1970(self, moment: float) -> float:
        """Return what the computer's clock would have shown at a moment; 0 for 0."""
        return time.time() - (self() - moment) if moment else 0.0

    # -- attended -------------------------------------------------------------------------------

    def begin_steps(self, wake: Callable[[], object]) -> None:
        """Need no waking."""

    def step(self, now: float) -> float:
        self.keep()
        return now + KEPT_EVERY

    def leave(self) -> None:
        self.keep()

    def keep(self) -> None:
        """Write it down, if the disk takes it; the next time comes soon."""
        with suppress(OSError):
            write_private(self._file, f"{self():.3f}")
