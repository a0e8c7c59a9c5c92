"""One thread for all that waits for people: it steps a session when something has come up for it.

Theory of operation
-------------------
What is attended (a server's session, a tap, a session of the host) is *stepped*: it does all that
has come up and returns the moment of its next step. Between two steps it is left alone, unless it
is *woken*: by its connection, which has a line, or by its bell, which a desk has rung.

    a line, a ring, an order ──▶ wake() ──▶ ┌────────────┐
                                            │ the one    │ ──▶ step(now) ──▶ its next moment
    the moment that it named ─────────────▶ │ thread     │
                                            └────────────┘

So what one step decides needs no lock, and the cost grows with what happens, not with what is
open. One step is taken of those that were woken, then one of those whose moment has come, in
turn, so that neither can keep the other waiting, and a session that has much to do goes to the
back of the queue after each of its steps. A step must not wait for anybody.

A fault of ours must not end a session that people are in the middle of, and none of the others: it
goes to the log, and the session is stepped again a little later.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import math
import threading
import time
from collections import deque
from contextlib import suppress
from functools import cache, partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.inbox.contract import Doorbell

logger = logging.getLogger(__name__)

FALLBACK_POLL: Final = 0.01
"""Seconds between two looks at what waits where nothing tells of a change, or after a failure."""


class Attended(Protocol):
    """Something that waits for people, for a peer, or for a moment."""

    def begin_steps(self, wake: Callable[[], object]) -> None:
        """Start: `wake` may be called from any thread. Called once, first."""

    def step(self, now: float) -> float | None:
        """Do the due work. Return when to step again, unless woken before; None at the end."""

    def leave(self) -> None:
        """Leave in order. Called once, after the last step or when the attendant is stopped."""


class _Scheduled:
    """Where one stands: `planned` is its earliest moment in the heap, `moment` its latest word."""

    __slots__ = ("attended", "is_background", "is_woken", "moment", "planned")

    def __init__(self, attended: Attended, *, is_background: bool) -> None:
        self.attended = attended
        self.is_background = is_background
        self.is_woken = False
        self.moment = self.planned = math.inf


class Attendant:
    """The thread that calls `run` serves everything that is attended, until nothing is left."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing to attend to. `now` is a clock that only ever rises, in seconds."""
        self._now = now
        self._woken: SimpleQueue[_Scheduled | None] = SimpleQueue()
        self._ready: deque[_Scheduled | None] = deque()
        """Those that were woken, as far as the one thread knows of them."""
        self._moments: list[tuple[float, int, _Scheduled]] = []
        self._order = itertools.count()
        self._places: set[_Scheduled] = set()
        self._foreground = 0
        self._changing = threading.Lock()
        self._stopping = False

    # -- from any thread ------------------------------------------------------------------------

    def attend(self, attended: Attended, *, background: bool = False) -> None:
        """Serve `attended` from now on. In the background it keeps no thread running."""
        scheduled = _Scheduled(attended, is_background=background)
        with self._changing:
            self._places.add(scheduled)
            self._foreground += not background
        attended.begin_steps(lambda: self._wake(scheduled))
        self._wake(scheduled)

    def stop(self) -> None:
        """Make `run` end everything and return after the current step."""
        self._stopping = True
        self._woken.put(None)

    def _wake(self, scheduled: _Scheduled) -> None:
        """Step it soon. Woken several times before that, it is stepped once."""
        if not scheduled.is_woken:
            scheduled.is_woken = True
            self._woken.put(scheduled)

    # -- the one thread -------------------------------------------------------------------------

    def run(self, *, for_ever: bool = False) -> None:
        """Attend until everything in the foreground is over, or until it is stopped."""
        moment = -math.inf
        while (self._foreground or for_ever) and not self._stopping:
            self._listen(moment - self._now())
            moment = self.turn(self._now())
        for scheduled in tuple(self._places):
            self._leave(scheduled)

    def turn(self, now: float) -> float:
        """Step one that was woken and one whose moment has come. Return when the next turn is due.

        Never waits. Returns `now` if others are woken, and infinity if none has named a moment.
        """
        self._listen(0)
        due = self._due(now)
        for scheduled in (self._ready.popleft() if self._ready else None, due):
            if scheduled is not None and scheduled in self._places and not self._stopping:
                self._step(scheduled, now)
        if not self._woken.empty():
            return now
        return self._moments[0][0] if self._moments else math.inf

    def _listen(self, seconds: float) -> None:
        """Wait until one is woken, if none is."""
        if not self._ready:
            with suppress(Empty):
                timeout = None if seconds == math.inf else max(0.0, seconds)
                self._ready.append(self._woken.get(timeout=timeout))

    def _due(self, now: float) -> _Scheduled | None:
        """Take one whose moment has come out of the heap."""
        while self._moments and self._moments[0][0] <= now:
            moment, _, scheduled = heapq.heappop(self._moments)
            if moment != scheduled.planned:
                continue  # it has named an earlier one since
            scheduled.planned = math.inf
            if scheduled.moment <= now:
                return scheduled
            self._plan(scheduled)
        return None

    def _plan(self, scheduled: _Scheduled) -> None:
        """Remember the moment that it named. Where an earlier one stands, it is seen then."""
        if scheduled.moment < scheduled.planned:
            scheduled.planned = scheduled.moment
            heapq.heappush(self._moments, (scheduled.moment, next(self._order), scheduled))

    def _step(self, scheduled: _Scheduled, now: float) -> None:
        scheduled.is_woken = False
        try:
            moment = scheduled.attended.step(now)
        except Exception:
            logger.exception("this should not happen; please report it")
            moment = now + FALLBACK_POLL
        if moment is None:
            self._leave(scheduled)
        elif moment <= now:
            self._wake(scheduled)
        else:
            scheduled.moment = moment
            self._plan(scheduled)

    def _leave(self, scheduled: _Scheduled) -> None:
        with self._changing:
            self._places.discard(scheduled)
            self._foreground -= not scheduled.is_background
        try:
            scheduled.attended.leave()
        except Exception:
            logger.exception("this should not happen; please report it")


@cache
def _beside() -> Attendant:
    attendant = Attendant()
    run = partial(attendant.run, for_ever=True)
    threading.Thread(target=run, name="attendant", daemon=True).start()
    return attendant


def attend_beside(attended: Attended) -> None:
    """Attend to it in a thread of its own, which all who wait beside other work share."""
    _beside().attend(attended)


SLOW: Final = 1.0
"""Seconds between two looks that find what nothing tells of."""

YOUNG: Final = 120.0
"""Seconds after an event in which the next one is expected. Later slow looks are half as many."""

LOOKING: Final = 0.1
"""The part of its time that a session may look at most: with thousands waiting it looks rarely."""


MOST_REST: Final = 2.0
"""Seconds that it rests at most after a look: one that stalled, on a disk or a busy machine, says
nothing of the next, and a person's reply waits meanwhile."""


def on_a_beat(moment: float) -> float:
    """Return the beat next to a moment: slow looks of all sessions fall on the same moments."""
    return round(moment / SLOW) * SLOW


class PollSchedule:
    """The next moments. Any thread may set `rung`; all else belongs to the session."""

    def __init__(self, bell: Doorbell | None) -> None:
        """Everything is to be looked at now."""
        self.rung = False
        self.duties = -math.inf
        self.last_event_at = -math.inf
        """When something happened last."""
        self._bell = bell
        self._desks = self._rest = self._desks_not_before = -math.inf

    def listen(self, wake: Callable[[], object]) -> None:
        """Call `wake` after each ring, from the bell's thread."""

        def rung() -> None:
            self.rung = True
            wake()

        if self._bell is not None:
            self._bell.listen(rung)

    def arrived(self, now: float) -> None:
        """Note that a message came."""
        self.last_event_at = now
        if not self._bell:
            self._desks = min(self._desks, now + FALLBACK_POLL)

    def slow(self, now: float) -> float:
        """Return the moment of the next slow look."""
        is_young = now - self.last_event_at < YOUNG
        return on_a_beat(now + (SLOW if is_young else 2 * SLOW))

    def next(self) -> float:
        """Return the moment at which something is to be looked at."""
        return min(self.next_desks, self.duties, self._rest)

    @property
    def next_desks(self) -> float:
        """The moment at which the desks are to be looked at."""
        return self._desks_not_before if self.rung else self._desks

    def is_due(self, now: float) -> bool:
        """Return True if something is to be looked at now."""
        return self.next() <= now

    # -- what is due ----------------------------------------------------------------------------

    def desks_are_due(self, now: float) -> bool:
        """Return True if to look at the desks; a ring is answered by it."""
        if now < self.next_desks:
            return False
        if self.rung or self.last_event_at == -math.inf:
            self.last_event_at = now
        self.rung = False
        self._desks = now + FALLBACK_POLL  # should the look fail
        return True

    def desks_were_seen(self, began: float, ended: float, *, waiting: bool) -> None:
        """Plan the next look at the desks. Rings that come soon are answered together."""
        rest = (ended - began) * (1 / LOOKING - 1)
        self._desks_not_before = ended + min(rest, MOST_REST)
        is_quick = waiting and not self._bell
        at = began + FALLBACK_POLL if is_quick else self.slow(began)
        self._desks = max(at, self._desks_not_before)

    def rest_is_due(self, now: float) -> bool:
        """Return True if to look at everything else."""
        if now < self._rest:
            return False
        self._rest = self.slow(now)
        return True
