"""What comes from the client: one line at a time, from the transcript to the one who answers it.

A line is written down before anything reacts to it. Who answers a request without a person is
decided once, here, and the decision goes with the request.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from humanmcp.inbox.contract import Draft, InboxError, Item
from humanmcp.protocol.conversation.exchange import (
    ExchangeState,
    LineReady,
    NoticeArrived,
    RequestArrived,
    RequestCancelled,
    RequestRepeated,
    RequestSuperseded,
    ResponseArrived,
    Sent,
    UnreadableArrived,
)
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.rules import timeouts
from humanmcp.protocol.rules.answer_book import Decision
from humanmcp.protocol.rules.timeouts import PROBE, gave_up_after
from humanmcp.protocol.spec import methods
from humanmcp.protocol.validation import check
from humanmcp.server.journal import BY_US
from humanmcp.server.waiting import PendingTimers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.common.line_cutter import Cut
    from humanmcp.inbox.attendant import PollSchedule
    from humanmcp.protocol.conversation.exchange import Event, Exchange
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import Message
    from humanmcp.protocol.session import Session
    from humanmcp.server.forwarding import Forwarding
    from humanmcp.server.journal import Journal
    from humanmcp.server.replies import ReplyDispatcher
    from humanmcp.server.text_files.text_desk import TextFileAnswers
    from humanmcp.server.waiting import Keepalive, ServeOptions

logger = logging.getLogger(__name__)

MOST_WAITING: Final = 10_000
"""Requests of a session that may wait for people: a client that floods us fills no disk."""

AT_ONCE: Final = 10
"""Messages of an array that are taken in before others have their turn."""

_ASKED: Final = (RequestArrived, RequestRepeated)


class _Arrival(NamedTuple):
    """What one line meant. `decision` is about its one request; in a batch each has its turn.

    There the answer to one request may change what a rule does with the next.
    """

    line: bytes
    events: Sequence[Event]
    requests: Sequence[Exchange]
    asked: Sequence[int]
    """The numbers of its requests, those too that were asked before."""
    decision: Decision | None
    now: float
    waits: bool
    """Whether a person has to see one of its requests wait."""

    @property
    def number(self) -> int:
        """The number of its first request, 0 for none."""
        return self.requests[0].number if self.requests else 0

    @property
    def can_be_copied_later(self) -> bool:
        """Return True if the text files may get the line after it is answered."""
        return bool(self.requests) and not self.waits

    @property
    def is_probe(self) -> bool:
        """Return True for a `server/discover`."""
        return [one.method for one in self.requests] == [PROBE]

    @property
    def is_answered_probe(self) -> bool:
        """Return True for a `server/discover` that the answer book answers."""
        return self.is_probe and self.decision is not None and self.decision.due(0)


class Arrivals:
    """Handles what the client of one session sends."""

    def __init__(  # noqa: PLR0913 - everything that a line of the client may concern
        self,
        session: Session,
        journal: Journal,
        dispatcher: ReplyDispatcher,
        keepalive: Keepalive,
        options: ServeOptions,
        *,
        texts: TextFileAnswers,
        schedule: PollSchedule,
    ) -> None:
        """Start before the first line. `texts` are the text files, which copy each line."""
        self.forwarding: Forwarding | None = None
        """The way to the real server, where there is one."""
        self._session = session
        self._journal = journal
        self._dispatcher = dispatcher
        self._keepalive = keepalive
        self._options = options
        self._texts = texts
        self._schedule = schedule
        self._only_probed = journal.facts.probe
        """Whether nothing but `server/discover` was asked so far."""
        self._arrival: _Arrival | None = None
        self._left: deque[Event] = deque()
        """What the line that came last meant, and nothing has reacted to yet."""

    def too_long(self, cut: Cut) -> None:
        """Record a line that is too long, so that a person can refuse its request."""
        from humanmcp.protocol.json.jsonrpc import stand_in  # noqa: PLC0415 - seldom wanted

        self._journal.record(Direction.IN, cut.line, note=cut.note)
        request = stand_in(cut.line, cut.last, cut.size)
        if request is None:
            self._session.unreadable += 1
            self._journal.cannot_read_last()
            self._journal.describe(self._session)
        else:
            self.line(request)

    def hung_up(self, number: int) -> None:
        """Cancel the request whose stream the client closed.

        "Closing the SSE response stream MUST be treated by the server as cancellation of that
        request." https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#cancellation
        """
        self._journal.record(Direction.NOTE, b"", number, note="the client closed the stream")
        events = self._session.cancelled(number)
        arrival = _Arrival(b"", events, (), (), None, self._journal.clock.now(), waits=False)
        for event in events:
            self._react(event, arrival)

    @property
    def has_more(self) -> bool:
        """Return True while a batch has unprocessed messages."""
        return bool(self._left)

    def line(self, line: bytes) -> None:
        """Record a line from the client, then process its messages.

        Of a long array to the first messages: `go_on` is called while it `has_more`.
        """
        arrival = self._read(line)
        try:
            self._journal.record(Direction.IN, line, arrival.number, durable=arrival.waits)
        except InboxError as error:
            self._journal.connection.accept_requests(arrival.asked)
            self._cannot_keep(arrival, error)
            return
        self._journal.connection.accept_requests(
            arrival.asked
        )  # over HTTP a notification is taken by now
        self._come_out_of_probing(arrival)
        if not arrival.can_be_copied_later:
            self._texts.copy(line, arrival.events)
        self._arrival, self._left = arrival, deque(arrival.events)
        self.go_on()

    def go_on(self) -> None:
        """Process the next messages of the last batch."""
        arrival = self._arrival
        if arrival is None:
            return
        try:
            for _turn in range(min(AT_ONCE, len(self._left))):
                self._react(self._left.popleft(), arrival)
        finally:
            if not self._left and arrival.can_be_copied_later:
                self._texts.copy(arrival.line, arrival.events, later=True)
        if not self._left:
            self._arrival = None
            self._journal.describe(self._session)

    def _read(self, line: bytes) -> _Arrival:
        now = self._journal.clock.now()
        self._schedule.arrived(now)
        events = self._session.receive(line, self._journal.connection.transport_facts)
        asked = [event.exchange.number for event in events if isinstance(event, _ASKED)]
        new = [event.exchange for event in events if isinstance(event, RequestArrived)]
        decision = self._dispatcher.decision(new[0]) if len(new) == 1 else None
        at_once = decision is not None and decision.at_once
        waits = bool(new) and not (at_once or self._journal.connection.closed)
        return _Arrival(line, events, new, asked, decision, now, waits)

    def _come_out_of_probing(self, arrival: _Arrival) -> None:
        """Show the session once it receives anything but `server/discover`.

        Some clients ask that in a process of its own, which they end at once: no one should see a
        session of it, and it must not keep the text files from the process that comes after it.
        """
        if not self._only_probed:
            return
        if arrival.is_answered_probe:
            self._texts.make_room()
            return
        self._only_probed = arrival.is_probe
        self._journal.facts = self._journal.facts._replace(probe=False)
        self._texts.claim_again()

    def before_late_answer(self, exchange: Exchange) -> None:
        """Release the text files before the answer book answers a probe late."""
        if self._only_probed and exchange.method == PROBE:
            self._texts.make_room()

    def _react(self, event: Event, arrival: _Arrival) -> None:
        match event:
            case RequestArrived(exchange):
                if self._is_superseded(exchange):
                    return
                decision = arrival.decision or self._dispatcher.decision(exchange)
                self._request_arrived(exchange, decision, arrival.now)
            case RequestRepeated(exchange):
                self._request_repeated(exchange, arrival.now)
            case RequestCancelled(exchange, reason):
                self._learn(exchange, reason, arrival.now)
                self._waits_no_more(exchange, reason)
            case RequestSuperseded(exchange):
                self._waits_no_more(exchange, "handshake")
            case LineReady(line, number):
                self._journal.write(line, number)
            case NoticeArrived(message):
                self._noticed(message)
            case ResponseArrived(message):
                self._play_on(message)
            case UnreadableArrived():
                self._journal.cannot_read_last()  # nothing is answered
            case impossible:
                assert_never(impossible)

    # -- a request --------------------------------------------------------------------------------

    def _request_arrived(self, exchange: Exchange, decision: Decision, now: float) -> None:
        if self.forwarding is not None:
            self.forwarding.arrived(exchange)
            if decision.forward:
                self.forwarding.ask(exchange)
                return
        decision = self._played(exchange, decision)
        is_refused = decision.form is TextForm.ERROR and decision.due(0)
        subscribed = not is_refused and self._acknowledge(exchange)
        left = self._dispatcher.by_book(exchange, decision) if decision.due(0) else decision
        if left is None:
            return  # nobody needs to see it wait: it stands in the transcript
        if self._journal.connection.closed:
            return  # nobody can answer it: the session is over when all that came is looked at
        self._let_wait(exchange, left, now, subscribed=subscribed)

    def _is_superseded(self, exchange: Exchange) -> bool:
        """Return True if another request in the batch with the same id was answered."""
        current = self._session.exchanges.get(exchange.number)
        return current is not None and current.state is ExchangeState.ABANDONED

    def come_again(self, exchange: Exchange, decision: Decision, came: float) -> None:
        """Process a request that another process recorded but did not queue."""
        self._request_arrived(exchange, decision, came)

    def _acknowledge(self, exchange: Exchange) -> bool:
        """Acknowledge a subscription. Return True if the exchange is one."""
        if not methods.of(exchange.method).stays_open or not self._keepalive.may_acknowledge:
            return False
        acknowledged = self._session.acknowledge(exchange.number)
        if acknowledged is not None:
            self._journal.write(acknowledged, exchange.number, by=BY_US)
        return acknowledged is not None

    def fall_back(self, exchange: Exchange) -> None:
        """Queue a request that the real server does not answer."""
        current = self._session.exchanges.get(exchange.number)
        replay = self._options.replay
        if replay is None or current is None or current.state is not ExchangeState.PENDING:
            return
        replay.leave(exchange)
        decision = self._dispatcher.decision(exchange)  # anew: what it was asked of is gone
        left = self._dispatcher.by_book(exchange, decision) if decision.due(0) else decision
        if left is not None:
            self._let_wait(exchange, left, self._journal.clock.now())

    def _let_wait(
        self, exchange: Exchange, decision: Decision, now: float, *, subscribed: bool = False
    ) -> None:
        """Put a request into the inbox."""
        waiting = self._dispatcher.timers
        if len(waiting) >= MOST_WAITING:
            self._turn_away(exchange, f"has {MOST_WAITING} requests waiting for an answer already")
            return
        plan = self._dispatcher.timeouts(exchange)
        timers = PendingTimers(now, decision, plan, subscribed=subscribed)
        timers.writing = self._texts.is_being_written
        timers.status_open = bool(self._journal.facts.http_port)
        try:
            self._journal.inbox.deliver(self._item(exchange, timers))
        except InboxError as error:
            self._turn_away_unkept(exchange, error)
            return
        waiting[exchange.number] = timers
        if self._options.notify is not None and decision.rule is None and not subscribed:
            self._options.notify(self._journal.name, exchange.number, exchange.tool)
        self._texts.waits(exchange)
        self._schedule.duties = min(self._schedule.duties, timers.next())

    def _item(self, exchange: Exchange, timers: PendingTimers) -> Item:
        start = check.start(exchange, self._session.established, self._options.language)
        now = self._journal.clock.stamp()
        return Item(
            key=self._journal.key(exchange.number),
            line=exchange.request.raw,
            method=exchange.method,
            id=exchange.id.token,
            revision=exchange.revision,
            arrived=now,
            waiting=timers.waiting(),
            draft=Draft(start, by=BY_US, at=now),
            headers=_of_headers(exchange),
        )

    def _request_repeated(self, exchange: Exchange, now: float) -> None:
        timers = self._dispatcher.timers[exchange.number]
        timers.repeated(now, self._dispatcher.timeouts(exchange))
        self._schedule.duties = now
        self._journal.update(exchange, timers)
        self._dispatcher.repeated(exchange.number)

    # -- the end of a request ---------------------------------------------------------------------

    def _waits_no_more(self, exchange: Exchange, reason: str) -> None:
        """Close an exchange in the inbox, if the inbox has it."""
        if exchange.number in self._dispatcher.timers:
            self._dispatcher.forget(exchange.number)
            self._journal.close(exchange, reason=reason)

    def _learn(self, exchange: Exchange, reason: str, now: float) -> None:
        """Remember the client's timeout, if the cancellation was one."""
        timers = self._dispatcher.timers.get(exchange.number)
        client = self._session.established.client_name
        if timers is None or timeouts.is_shared(client):
            return
        seconds = gave_up_after(exchange, reason, now - timers.arrived, timers.timeouts)
        if seconds:
            self._journal.limits.put(client, seconds)

    def _cannot_keep(self, arrival: _Arrival, error: InboxError) -> None:
        """Answer requests that could not be stored with an error.

        Anything else has happened all the same: who cancels a request waits for it no longer.
        """
        for event in arrival.events:
            if isinstance(event, RequestArrived):
                self._turn_away_unkept(event.exchange, error)
            else:
                self._react(event, arrival)

    def _turn_away_unkept(self, exchange: Exchange, error: InboxError) -> None:
        logger.error("the inbox cannot keep a message: %s", error)
        self._turn_away(exchange, "could not store this message in its inbox")

    def _turn_away(self, exchange: Exchange, why: str) -> None:
        text = f'{{"code":-32603,"message":"humanmcp {why}"}}'
        outcome = self._session.reply(exchange.number, text, TextForm.ERROR)
        if isinstance(outcome, Sent):
            self._dispatcher.sent(outcome, BY_US)

    # -- a server that is played, and the real one behind it --------------------------------------

    def _played(self, exchange: Exchange, decision: Decision) -> Decision:
        """Send the recorded messages before a recorded answer, and count unrecorded requests."""
        speaker = self._dispatcher.speaker
        if speaker is None:
            return decision
        if not speaker.begin(exchange, decision.replayed):
            return Decision()  # the answer comes when the client has answered what it was asked
        if decision.replayed is None:
            speaker.replay.miss(exchange)
        return decision

    def _noticed(self, message: Message) -> None:
        """Pass a notification to the replayed server and to the real one."""
        if self._dispatcher.speaker is not None:
            self._dispatcher.speaker.noticed(message.method)
        if self.forwarding is not None:
            self.forwarding.noticed(message)

    def _play_on(self, message: Message) -> None:
        """Continue a replayed answer after the client's response to its question."""
        if self.forwarding is not None:
            self.forwarding.response(message)
        number = self._dispatcher.response(message)
        timers = self._dispatcher.timers.get(number)
        if timers is not None:
            exchange = self._session.exchanges[number]
            timers.decision = self._dispatcher.decision(exchange)
            self._dispatcher.let_book_go_on(exchange, timers, self._journal.clock.now())
            self._schedule.duties = min(self._schedule.duties, timers.next())


def _of_headers(exchange: Exchange) -> tuple[Diagnostic, ...]:
    """Return the problems of the HTTP headers of a request."""
    found = exchange.transport_facts.found if exchange.transport_facts is not None else ()
    codes = {one.code for one in found}
    return tuple(one for one in exchange.remarks if one.code in codes) if codes else ()
