"""The clocks of an exchange that waits for a person, and the options of a server.

The clocks say when the answer book steps in, when a client that was asked to repeat its request has
been quiet for too long, and when a capability wants to do what it has planned.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.inbox.contract import FOLLOWS, SUBSCRIBED, Parked, Waiting
from humanmcp.protocol.answer_book.decide import HandshakePolicy, Mode
from humanmcp.protocol.conversation.timeouts import PROGRESS_EVERY, STATUS_WITHIN, TimeoutPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from humanmcp.inbox.contract import Draft, Key
    from humanmcp.protocol.answer_book.decision import Decision


ANSWER_BY_BOOK: Final = "answer by book"
GIVE_UP: Final = "give up"
"""What is due without a plan; a capability names what it plans (`PendingTimers.plan`)."""


UNPLANNED: Final = TimeoutPlan(None, "", "", "", progress=False)


class PendingTimers:
    """The clocks of one waiting exchange. All times are seconds of one monotonic clock.

    `arrived` is when the request first came, `last_arrived` when the client repeated it last.
    `touched` says that a person is writing at a desk, `writing` the same of a `FrontEnd`, `paused`
    that they paused the book's countdown. `subscribed` says that it is a subscription that
    was acknowledged: its client waits for changes, and for no answer.
    """

    def __init__(
        self,
        arrived: float,
        decision: Decision,
        timeouts: TimeoutPlan = UNPLANNED,
        *,
        subscribed: bool = False,
    ) -> None:
        self.arrived = arrived
        self.decision = decision
        self.timeouts = timeouts
        self.last_arrived = arrived
        self.touched = False
        self.writing = False
        self.paused = False
        self.subscribed = subscribed
        self.follows = False
        """Whether it asks for the answer to a parked call (`parking.py`)."""
        self.can_park = ""
        """How it can be parked, "" where it cannot."""
        self.parked = Parked()
        """How its client may come back to another process for the answer."""
        self.status_open = False
        """Whether it came over HTTP, and nothing has gone out yet."""
        self.retry_until: float | None = None
        """When its client must have sent it again; None where it need not."""
        self.steps = 0
        """How many progress notifications were due in all: the value of the last one."""
        self._planned: dict[str, float] = {}

    def plan(self, name: str, at: float | None) -> None:
        """Let a capability hear `due(name)` once at this time of the monotonic clock; None: never.

        A client that is asked to repeat its request, or that waits for changes alone, needs nothing
        that is planned.
        """
        self._planned.pop(name, None)
        if at is not None:
            self._planned[name] = at

    def _duties(self) -> Iterator[tuple[float, str]]:
        """Yield what is to be done, and when, the most urgent first. A draft may change it."""
        if self.retry_until is not None:
            yield self.retry_until, GIVE_UP
            return
        after = self.decision.after
        if after is not None and self.decision.due(after, touched=self._stopped):
            yield self.arrived + after, ANSWER_BY_BOOK
        if not self.subscribed:
            yield from sorted((at, name) for name, at in self._planned.items())

    def due(self, now: float) -> str:
        """Return the name of the most urgent thing that is due, "" for none.

        What was planned is planned no more.
        """
        name = next((name for at, name in self._duties() if now >= at), "")
        self._planned.pop(name, None)
        return name

    def next(self) -> float:
        """Return the time of the next due action."""
        return min((at for at, _ in self._duties()), default=math.inf)

    @property
    def stops_at(self) -> float | None:
        """When the answer book answers unless a person writes; None for never."""
        stoppable = self.decision.stoppable and not self._stopped
        return self.decision.after if stoppable else None

    @property
    def _stopped(self) -> bool:
        """Whether a person has paused the countdown. A rule ignores it."""
        return self.touched or self.writing or self.paused

    @property
    def is_for_people(self) -> bool:
        """Return True if a person is to answer: no rule does, and a client waits for it."""
        return self.decision.entry is None and not self.subscribed and not self.follows

    def progressed(self) -> int:
        """Count a progress notification and return its rising value."""
        self.steps += 1
        return self.steps

    def repeated(self, now: float) -> None:
        """Note that the client retried."""
        self.retry_until = None
        self.last_arrived = now

    def waiting(self) -> Waiting:
        """Return the waiting state for the inbox, in seconds since the first arrival."""
        if self.subscribed:
            return Waiting(book_at=self.decision.after, keepalive=SUBSCRIBED)
        limit = self.timeouts.limit
        first_keepalive = PROGRESS_EVERY if self.timeouts.progress else STATUS_WITHIN
        since = self.last_arrived - self.arrived
        stopped = "paused" if self.paused else "writing" if self._stopped else ""
        return Waiting(
            limit=None if limit is None else limit + since,
            source=self.timeouts.source,
            book_at=self.decision.after,
            book=stopped if self.decision.stoppable or not self.decision.after else "fixed",
            keepalive=FOLLOWS if self.follows else self.timeouts.keepalive,
            parked=self.parked,
            can_park=self.can_park,
            why_not=self.timeouts.why_not,
            status_until=first_keepalive if self.status_open else None,
        )


class ServeOptions(NamedTuple):
    """The options of a server. `client_limit` is in seconds, 0 for the known limit.

    `progress` says whether the client is told that a person is at its request, None as long as
    nobody has said so: then the book does. `silent` keeps back everything that was not typed.
    `refuse` says that the client gets an error for what the book would leave to a person.
    """

    mode: Mode = Mode.NORMAL
    client_limit: float = 0.0
    handshake: HandshakePolicy = HandshakePolicy.BY_CLIENT
    progress: bool | None = None
    refuse: bool = False
    notify: Callable[[str, int, str], object] | None = None
    """Told of each request that waits for a person: session, number, tool."""
    kept_draft: Callable[[Key, str], Draft | None] = lambda _key, _token: None
    """Returns the draft that a request with this id starts from; None for an example."""
    tell_stderr: Callable[[str], object] = lambda _text: None
    """Receives what the book does instead of a person, before and after it is sent."""
    silent: bool = False
    added: Mapping[str, Any] = MappingProxyType({})
    """The settings that capabilities bring, by name, and what a `ServePart` has read."""

    @property
    def speaks_first(self) -> bool:
        """Whether anything is sent that nobody typed and no rule says."""
        return self.mode is not Mode.BY_HAND and not self.silent
