"""When to look at `out.txt`: quickly while a person is probably writing there, else rarely."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from humanmcp.inbox.attendant import FALLBACK_POLL, SLOW, YOUNG

if TYPE_CHECKING:
    from humanmcp.inbox.attendant import PollSchedule

QUICK: Final = 0.025
"""Seconds between two looks while a person is probably writing.

With the time that a text needs to settle (`watched_file.STABLE`) an answer is out within 50 ms.
"""


class TextSchedule:
    """The moments of one session's text files. Any thread may set `saved`."""

    def __init__(self, schedule: PollSchedule) -> None:
        """Look now. `schedule` is that of the session: slow looks fall on the same moments."""
        self.is_chosen = False
        """Whether a person chose the folder: then a message is a reason to expect a text
        (`arrived`), elsewhere only another text is."""
        self.saved = False
        """Whether the system told of a saved file."""
        self.is_told = False
        """Whether the system tells of saved files: then nobody has to look for them quickly."""
        self._schedule = schedule
        self._at = self._not_before = -math.inf
        self._last_text_at = self._told_at = -math.inf
        """When there was a reason to expect a text; when a saved file was told of."""

    def arrived(self, now: float) -> None:
        """Note that a message came, and that its answer may be typed soon."""
        self._last_text_at = now
        self._at = min(self._at, now + QUICK)

    def next(self) -> float:
        """Return the moment of the next look."""
        return min(self._at, self._not_before) if self.saved else self._at

    def is_due(self, now: float, *, waiting: bool) -> bool:
        """Return True if to look now, and plan the next look. `waiting`: a request waits."""
        if now < self.next():
            return False
        self._not_before = now + FALLBACK_POLL
        if self.saved:
            self.saved, self.is_told, self._told_at = False, True, now
        if self.is_told:  # who saves by a rename is told of before that
            is_quick = now - self._told_at < SLOW
        else:
            is_quick = waiting and now - self._last_text_at < YOUNG
        self._at = now + QUICK if is_quick else self._schedule.slow(now)
        return True

    def changes(self, now: float, look_at: float) -> None:
        """Note that a person writes: look again at that moment at the latest."""
        if now - max(self._told_at, self._last_text_at) > 2 * SLOW:
            self.is_told = False  # not of everything there
        self._last_text_at = self._schedule.last_event_at = now
        self._at = min(self._at, max(look_at, now + FALLBACK_POLL))
