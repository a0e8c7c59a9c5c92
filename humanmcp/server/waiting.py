"""What is done while exchanges wait for a person.

The clocks of each (`PendingTimers`) say when the answer book steps in, when the client is told that
a person is at it, and when a 2026-07-28 client is asked to repeat its request before it gives up.
`Keepalive` plans it by what is known of the client, and does it; the options of the command line
and a person may have it otherwise.
"""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING, NamedTuple

from humanmcp.inbox.contract import FOLLOWS, SUBSCRIBED, Waiting
from humanmcp.protocol.answer_book.decide import HandshakePolicy, Mode
from humanmcp.protocol.conversation import timeouts
from humanmcp.protocol.conversation.timeouts import (
    ALL_KEEPALIVES,
    PROGRESS_EVERY,
    REPEAT_WITHIN,
    STATUS_WITHIN,
    gave_up_after,
    outlasted,
    timeout_plan,
)
from humanmcp.server.journal import BY_US, RETRY

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.common.book_file import BookFile
    from humanmcp.inbox.contract import Draft, Key
    from humanmcp.protocol.answer_book.decision import Decision
    from humanmcp.protocol.answer_book.replay import Replay
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.conversation.timeouts import TimeoutPlan
    from humanmcp.protocol.session import McpSession
    from humanmcp.server.forwarding import Addition
    from humanmcp.server.journal import Journal


class DueAction(enum.Enum):
    """What is due for an exchange."""

    ANSWER_BY_BOOK = "answer by book"
    SEND_PROGRESS = "send progress"
    RETRY = "retry"
    PARK = "park"
    GIVE_UP = "give up"


class PendingTimers:
    """The clocks of one waiting exchange. All times are seconds of one monotonic clock.

    `arrived` is when the request first came, `last_arrived` when the client repeated it last.
    `touched` says that a person is writing at a desk, `writing` that something stands in `out.txt`,
    `paused` that they paused the book's countdown. `subscribed` says that it is a subscription that
    was acknowledged: its client waits for changes, and for no answer.
    """

    def __init__(
        self, arrived: float, decision: Decision, timeouts: TimeoutPlan, *, subscribed: bool = False
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
        self.park_at: float | None = None
        """Seconds since the last arrival after which it is parked; None for never."""
        self.can_park = ""
        """How it can be parked, "" where it cannot."""
        self.ticket = ""
        """The `requestState` under which its client may come back to another process."""
        self.ticket_at = ""
        self.status_open = False
        """Whether it came over HTTP, and nothing has gone out yet."""
        self.retry_awaited_since: float | None = None
        self.steps = 0
        """How many progress notifications were due in all: the value of the last one."""
        self.steps_this_time = 0
        """How many of them since the request last arrived."""

    def due(self, now: float) -> DueAction | None:
        """Return the most urgent due action, or None."""
        if self.retry_awaited_since is not None:
            return DueAction.GIVE_UP if now - self.retry_awaited_since > REPEAT_WITHIN else None
        if self.decision.due(now - self.arrived, touched=self._stopped):
            return DueAction.ANSWER_BY_BOOK
        if self.subscribed:
            return None
        waited = now - self.last_arrived
        progress_at = (
            (self.steps_this_time + 1) * PROGRESS_EVERY if self.timeouts.progress else None
        )
        duties = (
            (self.timeouts.retry_at, DueAction.RETRY),
            (self.park_at, DueAction.PARK),
            (progress_at, DueAction.SEND_PROGRESS),
        )
        return next((action for at, action in duties if at is not None and waited >= at), None)

    @property
    def stops_at(self) -> float | None:
        """When the answer book answers unless a person writes; None for never."""
        stoppable = self.decision.stoppable and not self._stopped
        return self.decision.after if stoppable else None

    @property
    def _stopped(self) -> bool:
        """Whether a person has paused the countdown. A rule ignores it."""
        return self.touched or self.writing or self.paused

    def next(self) -> float:
        """Return the time of the next due action. A saved draft may change it."""
        if self.retry_awaited_since is not None:
            return self.retry_awaited_since + REPEAT_WITHIN
        duties = []
        if self.timeouts.progress and not self.subscribed:
            duties.append(self.last_arrived + (self.steps_this_time + 1) * PROGRESS_EVERY)
        if self.timeouts.retry_at is not None and not self.subscribed:
            duties.append(self.last_arrived + self.timeouts.retry_at)
        if self.park_at is not None:
            duties.append(self.last_arrived + self.park_at)
        after = self.decision.after
        if after is not None and self.decision.due(after, touched=self._stopped):
            duties.append(self.arrived + after)
        return min(duties, default=math.inf)

    def progressed(self) -> int:
        """Count a progress notification and return its rising value."""
        self.steps += 1
        self.steps_this_time += 1
        return self.steps

    def retry_awaited(self, now: float) -> None:
        """Note that the client was asked to retry."""
        self.retry_awaited_since = now

    def repeated(self, now: float, timeouts: TimeoutPlan) -> None:
        """Note that the client retried, and its new timeout."""
        self.retry_awaited_since = None
        self.last_arrived = now
        self.steps_this_time = 0
        self.timeouts = timeouts

    def waiting(self) -> Waiting:
        """Return the waiting state for the inbox, in seconds since the first arrival."""
        if self.subscribed:
            return Waiting(book_at=self.decision.after, keepalive=SUBSCRIBED)
        limit = self.timeouts.limit
        since = self.last_arrived - self.arrived
        stoppable = self.decision.after is None or self.decision.stoppable
        return Waiting(
            limit=None if limit is None else limit + since,
            source=self.timeouts.source,
            book_at=None if stoppable and self._stopped else self.decision.after,
            paused=stoppable and self.paused,
            fixed=not stoppable,
            keepalive=FOLLOWS if self.follows else self.timeouts.keepalive,
            parked=self.ticket,
            parked_as="retry" if self.ticket else "",
            parked_at=self.ticket_at,
            can_park=self.can_park,
            why_not=self.timeouts.why_not,
            status_until=self._status_until if self.status_open else None,
        )

    @property
    def _status_until(self) -> float:
        """Return when the first keepalive goes out."""
        return min(STATUS_WITHIN, PROGRESS_EVERY if self.timeouts.progress else STATUS_WITHIN)


class Forward(NamedTuple):
    """What was not recorded is asked of this command, and its answers are added to a recording."""

    command: tuple[str, ...]
    recording: Addition


class ServeOptions(NamedTuple):
    """The options of a server. `client_limit` is in seconds, 0 for the known limit.

    `progress` says whether the client is told that a person is at its request. `replay` has the
    recorded answers that come before the answer book's; `forward` says where the rest is asked.
    `refuse` says that the client gets an error for what the book would leave to a person.
    """

    mode: Mode = Mode.NORMAL
    client_limit: float = 0.0
    replay: Replay | None = None
    handshake: HandshakePolicy = HandshakePolicy.BY_CLIENT
    progress: bool = True
    forward: Forward | None = None
    refuse: bool = False
    notify: Callable[[str, int, str], object] | None = None
    """Told of each request that waits for a person: session, number, tool."""
    kept_draft: Callable[[Key, str], Draft | None] = lambda _key, _token: None
    """Returns the draft that a request with this id starts from; None for an example."""


class Keepalive:
    """Keeps the client of a session from timing out, as far as that is wanted.

    `progress` is the person's last word, None as long as there is none: the command line's and the
    answer book's count then. `silent` keeps back everything that was not typed.
    """

    def __init__(
        self,
        session: McpSession,
        journal: Journal,
        options: ServeOptions,
        book_file: BookFile,
    ) -> None:
        self.progress: bool | None = None
        self.silent = False
        self._session = session
        self._journal = journal
        self._options = options
        self._book_file = book_file

    @property
    def may_acknowledge(self) -> bool:
        """Whether subscriptions are acknowledged automatically."""
        return self._options.mode is not Mode.BY_HAND and not self.silent

    def plan(self, exchange: Exchange) -> TimeoutPlan:
        """Return how long the client waits for an answer, and what keeps it waiting."""
        client = self._session.negotiated.client_name
        seen = None if timeouts.is_shared(client) else self._journal.limits.of(client)
        own = self._options.client_limit or self._journal.call_limits.of(client)
        keepalives = self._keepalives(exchange.number)
        return timeout_plan(exchange, client, own or 0.0, seen or 0.0, keepalives)

    def _keepalives(self, number: int) -> frozenset[str]:
        """Return which keepalive a request allows.

        Who sends progress of their own is not interrupted: a client expects one rising value.
        """
        if self._options.mode is Mode.BY_HAND or self.silent:
            return frozenset()
        if not self._says_progress() or self._session.reports_progress(number):
            return frozenset({timeouts.RETRY})
        return ALL_KEEPALIVES

    def _says_progress(self) -> bool:
        if self.progress is not None:
            return self.progress
        return self._options.progress and self._book_file.book.progress

    def send_progress(self, exchange: Exchange, timers: PendingTimers, now: float) -> None:
        """Tell the client that a person is at its request."""
        said = _waited_for(now - timers.arrived)
        line = self._session.progress(exchange.number, timers.progressed(), said)
        if line is not None and not self._journal.is_mid_line:
            self._journal.write(line, exchange.number, by=BY_US)

    def ask_to_retry(
        self, exchange: Exchange, timers: PendingTimers, now: float, token: str
    ) -> None:
        """Ask a 2026-07-28 client to repeat its request. `token` cannot be guessed."""
        line = self._session.ask_to_retry(exchange.number, token)
        if line is None:
            timers.timeouts = timers.timeouts._replace(retry_at=None)
        else:
            timers.retry_awaited(now)
            self._journal.write(line, exchange.number, by=BY_US, note=RETRY)

    def gave_up(
        self, exchange: Exchange, timers: PendingTimers | None, reason: str, now: float
    ) -> None:
        """Remember the client's timeout, if its cancellation was one."""
        client = self._session.negotiated.client_name
        if timers is not None and not timeouts.is_shared(client):
            seconds = gave_up_after(exchange, reason, now - timers.arrived, timers.timeouts)
            if seconds:
                self._journal.limits.put(client, seconds)

    def was_answered(self, exchange: Exchange, waited: float) -> None:
        """Forget how long this client was seen to wait, when it has just waited longer."""
        client, limits = self._session.negotiated.client_name, self._journal.limits
        if outlasted(exchange, waited, limits.of(client) or 0.0):
            limits.forget(client)


def _waited_for(seconds: float) -> str:
    """Return the progress message with the time waited."""
    minutes = int(seconds // 60)
    return f"Waiting for a person ({minutes} min)" if minutes else "Waiting for a person"
