"""What the stub does while one exchange waits for a person.

It counts the time, lets the answer book step in, tells the client that somebody is at it, and asks
a 2026-07-28 client to repeat its request before it gives up. It decides; the loop acts.
"""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING

from humanmcp.inbox.contract import SUBSCRIBED, Waiting
from humanmcp.protocol.policy.timeouts import PROGRESS_EVERY, REPEAT_WITHIN, TimeoutPlan

if TYPE_CHECKING:
    from humanmcp.protocol.policy.answer_book import Decision


class DueAction(enum.Enum):
    """What is due for an exchange."""

    ANSWER_BY_BOOK = "answer by book"
    SEND_PROGRESS = "send progress"
    HOLD = "hold"
    GIVE_UP = "give up"


class PendingTimers:
    """The clocks of one waiting exchange. All times are seconds of one monotonic clock.

    `arrived` is when the request first came, `last_arrived` when the client repeated it last.
    `touched` says that a person is writing at a desk, `writing` that something stands in `out.txt`,
    `held` that they stopped the book's countdown. `subscribed` says that it is a subscription that
    was acknowledged: its client waits for changes, and for no answer.
    """

    def __init__(
        self, arrived: float, decision: Decision, patience: TimeoutPlan, *, subscribed: bool = False
    ) -> None:
        """Start all clocks at the arrival."""
        self.arrived = arrived
        self.decision = decision
        self.patience = patience
        self.last_arrived = arrived
        self.touched = False
        self.writing = False
        self.held = False
        self.subscribed = subscribed
        self.parked_at: float | None = None
        self.steps = 0
        """How many progress notifications were due in all: the value of the last one."""
        self.steps_this_time = 0
        """How many of them since the request last arrived."""

    def due(self, now: float) -> DueAction | None:
        """Return what is to be done now, the most pressing first."""
        if self.parked_at is not None:
            return DueAction.GIVE_UP if now - self.parked_at > REPEAT_WITHIN else None
        if self.decision.due(now - self.arrived, touched=self._stopped):
            return DueAction.ANSWER_BY_BOOK
        if self.subscribed:
            return None
        waited = now - self.last_arrived
        if self.patience.hold_at is not None and waited >= self.patience.hold_at:
            return DueAction.HOLD
        if self.patience.progress and waited >= (self.steps_this_time + 1) * PROGRESS_EVERY:
            return DueAction.SEND_PROGRESS
        return None

    @property
    def stops_at(self) -> float | None:
        """When the book steps in for a person, who can stop it by writing; None for never."""
        stoppable = self.decision.stoppable and not self._stopped
        return self.decision.after if stoppable else None

    @property
    def _stopped(self) -> bool:
        """Whether a person keeps the safety net from acting. A rule does not ask."""
        return self.touched or self.writing or self.held

    def next(self) -> float:
        """Return a moment before which nothing is due. A draft that is saved may change it."""
        if self.parked_at is not None:
            return self.parked_at + REPEAT_WITHIN
        duties = []
        if self.patience.progress and not self.subscribed:
            duties.append(self.last_arrived + (self.steps_this_time + 1) * PROGRESS_EVERY)
        if self.patience.hold_at is not None and not self.subscribed:
            duties.append(self.last_arrived + self.patience.hold_at)
        after = self.decision.after
        if after is not None and self.decision.due(after, touched=self._stopped):
            duties.append(self.arrived + after)
        return min(duties, default=math.inf)

    def progressed(self) -> int:
        """Count a progress notification and return its value, which only ever rises."""
        self.steps += 1
        self.steps_this_time += 1
        return self.steps

    def parked(self, now: float) -> None:
        """Remember that the client was asked to repeat its request."""
        self.parked_at = now

    def repeated(self, now: float, patience: TimeoutPlan) -> None:
        """Remember that it did, and how long it waits this time."""
        self.parked_at = None
        self.last_arrived = now
        self.steps_this_time = 0
        self.patience = patience

    def waiting(self) -> Waiting:
        """Describe the wait for the desks. Their seconds count from the first arrival."""
        if self.subscribed:
            return Waiting(book_at=self.decision.after, means=SUBSCRIBED)
        limit = self.patience.limit
        since = self.last_arrived - self.arrived
        stopped = self.held or (self._stopped and self.decision.stoppable)
        return Waiting(
            limit=None if limit is None else limit + since,
            source=self.patience.source,
            book_at=None if stopped else self.decision.after,
            held=self.held,
            means=self.patience.means,
            why_not=self.patience.why_not,
        )
