"""When a session looks at what: a ring and the clock decide, and an idle one does next to nothing.

Knows moments, in seconds of one clock that only rises, and nothing of what a look finds. Three
things are looked at. The *desks* (replies, drafts, sayings) when the bell rang, and slowly besides,
for drives and programs that do not ring. The *text*, `out.txt`, which is not announced: its name
is asked for quickly while a message is young, and more rarely the longer nothing happens. The
*duties* of what waits, when the first of them is due. And the rest, now and then.

Slow looks fall on a beat that all sessions of a process share, so that it wakes once for them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.inbox.contract import Doorbell

FALLBACK_POLL: Final = 0.01
"""Seconds between two looks at the desks where no bell hangs and something waits."""

SLOW: Final = 1.0
"""The same where one hangs: it finds what came without a ring."""

LOOKING: Final = 0.1
"""The part of its time that a session may look at most: with thousands waiting it looks rarely."""

QUICK: Final = 0.025
"""Seconds between two looks at `out.txt` while a person is probably writing there.

With the time that a text needs to settle (`file_watch.STABLE`) an answer is out within 50 ms.
"""

SAVING: Final = 0.5
"""Seconds after the system told of a saved file in which its folder is looked at quickly: who saves
by a rename is told of before that."""

TOLD_WITHIN: Final = 3.0
"""What changes without being told of in so many seconds shows that the system does not tell of
everything there."""

SOON: Final = 0.005
"""Seconds between two looks at `out.txt` at least, however often the system tells of it."""

YOUNG: Final = 120.0
"""Seconds after a message or a text for which that is probable. Later the looks become rarer."""

PATIENT: Final = 0.5
"""The same when it has not changed for long; where the text files were not asked for, it is looked
at with the desks."""

SLOWEST_POLL: Final = 2.0
"""Seconds between two slow looks at the most, however long nothing has happened."""

RARER: Final = 60.0
"""Seconds of silence for each second between two slow looks: one after a minute, two after two."""

POLL_GRID: Final = 0.25
"""Slow looks fall on multiples of it."""

LOOKS_A_SECOND: Final = 250
"""Slow looks of all sessions of a process: the more there are, the rarer each of them looks."""

REST_EVERY: Final = 1.0
"""Seconds between two looks at everything else: the answer book, the parent, what is owed."""


def on_a_beat(moment: float) -> float:
    """Return the beat next to a moment."""
    return round(moment / POLL_GRID) * POLL_GRID


def _after(seconds: float, now: float) -> float:
    """Return the moment after so many seconds; that of a slow look falls on a beat."""
    return now + seconds if seconds < POLL_GRID else on_a_beat(now + seconds)


class Crowd:
    """The sessions of one process, which share its time."""

    def __init__(self) -> None:
        """Begin with none."""
        self.size = 0

    @property
    def pause(self) -> float:
        """Return the seconds between two slow looks of one of them."""
        return self.size / LOOKS_A_SECOND


class PollSchedule:
    """The next moments. `rung` is set from the bell's thread; all else belongs to the session."""

    def __init__(
        self, bell: Doorbell | None, crowd: Crowd | None = None, *, text: bool = True
    ) -> None:
        """Everything is to be looked at now. `text`: there is an `out.txt`."""
        self._crowd = crowd or Crowd()
        self.rung = False
        self.duties = -math.inf
        self.files = False
        """Whether a person asked for the text files (`--files`): then a message is a reason to
        expect a text, elsewhere only another text is."""
        self._bell = bell
        self._desks = -math.inf
        self._not_before = -math.inf
        self._text = -math.inf if text else math.inf
        self._text_not_before = -math.inf
        self._told_at = -math.inf
        self.text_saved = False
        """Whether the system told of a saved file. It is set from the thread that hears of it."""
        self.is_told = False
        """Whether the system tells of saved files: then nobody has to look for them quickly."""
        self._rest = -math.inf
        self._last_message_at = -math.inf
        self._last_event_at = -math.inf
        """When something happened last: a message, a ring, a text."""

    def listen(self, wake: Callable[[], object]) -> None:
        """Call `wake` after each ring, from the bell's thread."""

        def rung() -> None:
            self.rung = True
            wake()

        if self._bell is not None:
            self._bell.listen(rung)

    def arrived(self, now: float) -> None:
        """Note that a message came."""
        self._last_event_at = now
        if self.files:
            self._stir(now)
        if not self._bell:
            self._desks = min(self._desks, now + FALLBACK_POLL)

    def _stir(self, now: float) -> None:
        self._last_message_at = now
        self._text = min(self._text, now + QUICK)

    def _slow(self, seconds: float, now: float) -> float:
        """Return the moment of the next slow look: the longer nothing happens, the rarer."""
        silence = (now - self._last_event_at) / RARER
        return _after(min(SLOWEST_POLL, max(seconds, silence, self._crowd.pause)), now)

    def next(self) -> float:
        """Return the moment at which something is to be looked at."""
        return min(self.next_desks, self._next_text, self.duties, self._rest)

    @property
    def _next_text(self) -> float:
        return min(self._text, self._text_not_before) if self.text_saved else self._text

    @property
    def next_desks(self) -> float:
        """The moment at which the desks are to be looked at."""
        return self._not_before if self.rung else self._desks

    def is_due(self, now: float) -> bool:
        """Return True if something is to be looked at now."""
        return self.next() <= now

    # -- what is due ----------------------------------------------------------------------------

    def desks_are_due(self, now: float) -> bool:
        """Return True if to look at the desks; a ring is answered by it."""
        if now < self.next_desks:
            return False
        if self.rung or self._last_event_at == -math.inf:
            self._last_event_at = now
        self.rung = False
        self._desks = now + FALLBACK_POLL  # should the look fail
        return True

    def desks_were_seen(self, began: float, ended: float, *, waiting: bool) -> None:
        """Plan the next look at the desks. Rings that come soon are answered together."""
        self._not_before = began + (ended - began) / LOOKING
        at = (
            self._slow(SLOW, began)
            if self._bell
            else _after(FALLBACK_POLL if waiting else PATIENT, began)
        )
        self._desks = max(at, self._not_before)

    def text_is_due(self, now: float, *, waiting: bool) -> bool:
        """Return True if to look at `out.txt`, and plan the next look."""
        if now < self._next_text:
            return False
        self._text_not_before = now + SOON
        if self.text_saved:
            self.text_saved, self.is_told, self._told_at = False, True, now
        if self.is_told:  # slow looks are the net below it
            self._text = now + (QUICK if now - self._told_at < SAVING else PATIENT)
            return True
        young = (now - self._last_message_at) / YOUNG
        pause = min(PATIENT, QUICK * max(1.0, young)) if waiting else PATIENT
        rare = pause == PATIENT and not self.files
        self._text = self._slow(SLOW, now) if rare else _after(pause, now)
        return True

    def text_changes(self, now: float, look_at: float) -> None:
        """Note that a person writes in `out.txt`: look again at that moment at the latest."""
        if now - max(self._told_at, self._last_message_at) > TOLD_WITHIN:
            self.is_told = False
        self._last_message_at = self._last_event_at = now
        self._text = min(self._text, max(look_at, now + FALLBACK_POLL))

    def rest_is_due(self, now: float) -> bool:
        """Return True if to look at everything else."""
        if now < self._rest:
            return False
        self._rest = self._slow(REST_EVERY, now)
        return True
