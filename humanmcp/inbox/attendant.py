"""One thread for all that waits for people: it steps a session when something has come up for it.

Theory of operation
-------------------
What is attended (a server's session, a tap, a seat of the host) is *stepped*: it does all that
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
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

AGAIN_AFTER: Final = 0.01
"""Seconds after which a step that failed is tried again."""


class Attended(Protocol):
    """Something that waits for people, for a peer, or for a moment."""

    def begin(self, wake: Callable[[], object]) -> None:
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
        self.moment = math.inf
        self.planned = math.inf


class Attendant:
    """The thread that calls `run` serves everything that is attended, until nothing is left."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing to attend to. `now` is a clock that only ever rises, in seconds."""
        self._now = now
        self._woken: SimpleQueue[_Scheduled | None] = SimpleQueue()
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
        attended.begin(lambda: self._wake(scheduled))
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
        while (self._foreground or for_ever) and not self._stopping:
            due = self._due()
            for scheduled in (self._woken_within(0.0 if due else self._until_next()), due):
                if scheduled is not None and scheduled in self._places and not self._stopping:
                    self._step(scheduled)
        for scheduled in tuple(self._places):
            self._leave(scheduled)

    def _woken_within(self, seconds: float | None) -> _Scheduled | None:
        try:
            return self._woken.get(timeout=seconds)
        except Empty:
            return None

    def _until_next(self) -> float | None:
        """Return the seconds until a moment comes; None when there is none."""
        return max(0.0, self._moments[0][0] - self._now()) if self._moments else None

    def _due(self) -> _Scheduled | None:
        """Take one whose moment has come out of the heap."""
        while self._moments and self._moments[0][0] <= self._now():
            moment, _, scheduled = heapq.heappop(self._moments)
            if moment != scheduled.planned:
                continue  # it has named an earlier one since
            scheduled.planned = math.inf
            if scheduled.moment <= self._now():
                return scheduled
            self._plan(scheduled)
        return None

    def _plan(self, scheduled: _Scheduled) -> None:
        """Remember the moment that it named. Where an earlier one stands, it is seen then."""
        if scheduled.moment < scheduled.planned:
            scheduled.planned = scheduled.moment
            heapq.heappush(self._moments, (scheduled.moment, next(self._order), scheduled))

    def _step(self, scheduled: _Scheduled) -> None:
        scheduled.is_woken = False
        now = self._now()
        try:
            moment = scheduled.attended.step(now)
        except Exception:
            logger.exception("this should not happen; please report it")
            moment = now + AGAIN_AFTER
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


class _Beside:
    """The attendant of a process that does other things: a thread that begins when it is needed."""

    def __init__(self) -> None:
        self._beginning = threading.Lock()
        self._attendant: Attendant | None = None

    def attend(self, attended: Attended) -> None:
        """Attend to `attended` in that thread."""
        with self._beginning:
            if self._attendant is None:
                self._attendant = Attendant()
                run = partial(self._attendant.run, for_ever=True)
                threading.Thread(target=run, name="attendant", daemon=True).start()
        self._attendant.attend(attended)


attend_beside: Final = _Beside().attend
"""Attends to something in a thread of its own, which all who wait beside other work share."""
