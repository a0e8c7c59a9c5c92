"""The way of an exchange, from the client's line to its end.

Read on in the order in which it happens:

    received    a line of the client becomes events
    recorded    it is in the transcript before anything reacts to it
    decided     who answers without a person: recorded answers, a rule, the answer book, or nobody
    answered    by the first answer that passes the check; a person's may come back to them
    waiting     in the inbox: timers keep the client waiting, or let an automatic answer go out
    closed      answered, cancelled, superseded, quiet, or turned away

What else a server can do are its capabilities, which hear the moments of this way (`moments.py`).
"""

from __future__ import annotations

import logging
import math
from collections import OrderedDict, deque
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from humanmcp.inbox.contract import Answer, Draft, InboxError, Item, Order, Reply
from humanmcp.protocol.answer_book.decision import BY_PERSON
from humanmcp.protocol.conversation.approvals import differs
from humanmcp.protocol.conversation.exchanges import REMEMBERED
from humanmcp.protocol.conversation.outcomes import (
    AwaitingRetry,
    Late,
    LineReady,
    NoticeArrived,
    Refused,
    RequestArrived,
    RequestCancelled,
    RequestRepeated,
    RequestSuperseded,
    ResponseArrived,
    Sent,
    UnreadableArrived,
)
from humanmcp.protocol.conversation.stages import ExchangeState, Stage
from humanmcp.protocol.conversation.transcript import DELIBERATE, Direction
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import TextForm, Verdict
from humanmcp.protocol.json.jsonrpc import Kind
from humanmcp.protocol.session import judge_reply
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.methods import DISCOVER
from humanmcp.protocol.validation.addressing import addressed, id_of, kind_typed
from humanmcp.protocol.validation.crash_guard import failure
from humanmcp.server.journal import BY_US, PARKED, QUIET
from humanmcp.server.moments import LEFT_TO_A_PERSON
from humanmcp.server.waiting import ANSWER_BY_BOOK, GIVE_UP, PendingTimers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from humanmcp.common.book_file import BookFile
    from humanmcp.common.line_pipe import Cut
    from humanmcp.inbox.attendant import PollSchedule
    from humanmcp.protocol.answer_book.decision import Decision
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.conversation.outcomes import Event, Outcome
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.session import McpSession
    from humanmcp.server.journal import Journal
    from humanmcp.server.moments import Capability, ParkedRequest, Way
    from humanmcp.server.waiting import ServeOptions

logger = logging.getLogger(__name__)

MOST_WAITING: Final = 10_000
"""Requests of a session that may wait for people: a client that floods us fills no disk."""

AT_ONCE: Final = 0.01
"""Seconds for which the messages of a batch are processed before other sessions have their turn."""

LARGE: Final = 256 * 1024
"""Bytes of a line that takes two turns: it is recorded in the first, and enters the inbox in the
second, as either writes it to the disk."""

_UNKEPT: Final = "could not store this message in its inbox"
_ASKED: Final = (RequestArrived, RequestRepeated)


class _Arrival(NamedTuple):
    """What one line meant. `decision` is about its one request; in a batch each has its turn.

    There the answer to one request may change what a rule does with the next.
    """

    line: bytes
    events: Sequence[Event]
    requests: Sequence[Exchange] = ()
    asked: Sequence[int] = ()
    """The numbers of its requests, those too that were asked before."""
    decision: Decision | None = None
    now: float = 0.0
    waits: bool = False
    """Whether a person has to see one of its requests wait."""

    @property
    def number(self) -> int:
        """The number of its first request, 0 for none."""
        return self.requests[0].number if self.requests else 0

    @property
    def is_told_later(self) -> bool:
        """Return True if capabilities may hear of the line after it is answered."""
        return bool(self.requests) and not self.waits


def is_probe(requests: Iterable[Exchange]) -> bool:
    """Return True if the requests of a line are one `server/discover`."""
    return [one.method for one in requests] == [DISCOVER]


class ExchangeHandler:
    """Takes each exchange of one session along its way. A `Way`."""

    def __init__(  # noqa: PLR0913, PLR0917 - what a session is made of
        self,
        session: McpSession,
        journal: Journal,
        book_file: BookFile,
        options: ServeOptions,
        schedule: PollSchedule,
        end: Callable[[int], None],
        capabilities: Iterable[Callable[[Way], Capability | None]],
    ) -> None:
        """Start before the first line. `end` ends the session with a status."""
        self.timers: dict[int, PendingTimers] = {}
        """Of each exchange that waits in the inbox."""
        self._answers: OrderedDict[int, Answer] = OrderedDict()
        """How the last exchanges were answered, by number, without the line."""
        self.session = session
        self.journal = journal
        self.book_file = book_file
        self.options = options
        self.schedule = schedule
        self.end = end
        self.only_probed = journal.facts.probe
        """Whether nothing but `server/discover` was asked so far."""
        self._arrival: _Arrival | None = None
        self._left: deque[Event] = deque()
        """What the line that came last meant, and nothing has reacted to yet."""
        self._kept: dict[int, Reply] = {}
        """Replies that wait until the client has repeated its request."""
        self._written_at: set[Capability] = set()
        """Where people are writing."""
        made = [make(self) for make in capabilities]
        self.capabilities = tuple(one for one in made if one is not None)
        self._first_decision: Callable[[Exchange], Decision] = lambda _exchange: BY_PERSON
        for one in reversed(self.capabilities):
            self._first_decision = partial(one.decide, rest=self._first_decision)

    # -- received, recorded -----------------------------------------------------------------------

    def line(self, line: bytes) -> None:
        """Record a line from the client, then process its messages.

        Of a long array the first messages, of a large line none: `go_on` is called while it
        `has_more`.
        """
        arrival = self._receive(line)
        try:
            self.journal.record(Direction.IN, line, arrival.number, durable=arrival.waits)
        except InboxError as error:
            self.journal.connection.accept_requests(arrival.asked)
            self._cannot_record(arrival, error)
            return
        # Over HTTP a notification is taken by now.
        self.journal.connection.accept_requests(arrival.asked)
        decided = arrival.decision is not None and arrival.decision.due(0)
        self.leave_probing(is_probe=is_probe(arrival.requests), is_answered=decided)
        if not arrival.is_told_later:
            self._tell_of(arrival)
        self._arrival, self._left = arrival, deque(arrival.events)
        if len(line) < LARGE:
            self.go_on()

    def _receive(self, line: bytes) -> _Arrival:
        now = self.journal.clock.now()
        self.schedule.arrived(now)
        connection = self.journal.connection
        events = self.session.receive(line, connection.transport_facts, connection.decoded)
        asked = [event.exchange.number for event in events if isinstance(event, _ASKED)]
        new = [event.exchange for event in events if isinstance(event, RequestArrived)]
        decision = self.decide(new[0]) if len(new) == 1 else None
        at_once = decision is not None and decision.at_once
        waits = bool(new) and not (at_once or connection.closed)
        return _Arrival(line, events, new, asked, decision, now, waits)

    def _cannot_record(self, arrival: _Arrival, error: InboxError) -> None:
        """Answer requests that could not be stored with an error.

        Everything else has happened anyway: a client that cancels no longer waits.
        """
        for event in arrival.events:
            if isinstance(event, RequestArrived):
                self._turn_away(event.exchange, _UNKEPT, error)
            else:
                self._react(event, arrival)

    def leave_probing(self, *, is_probe: bool, is_answered: bool) -> None:
        """Show the session once it receives anything but `server/discover`.

        `is_answered` says that the answer book answers the probe.

        Some clients ask that in a process of its own, which they end at once: no one should see a
        session of it, and it must not keep the text files from the process that comes after it.
        """
        if self.only_probed and is_probe and is_answered:
            self._probed()
        elif self.only_probed:
            self.only_probed = is_probe
            # Before anything goes out: who hears the answer must find the session.
            self.journal.describe(self.session, probe=False)
            for one in self.capabilities:
                one.shown()

    def _probed(self) -> None:
        for one in self.capabilities:
            one.probed()

    @property
    def has_more(self) -> bool:
        """Return True while a batch has unprocessed messages."""
        return bool(self._left)

    def go_on(self) -> None:
        """Process the next messages of the last batch."""
        arrival = self._arrival
        if arrival is None:
            return
        try:
            until = self.journal.clock.now() + AT_ONCE
            while self._left:
                self._react(self._left.popleft(), arrival)
                if self.journal.clock.now() >= until:
                    break
        finally:
            if not self._left and arrival.is_told_later:
                self._tell_of(arrival)
        if not self._left:
            self._arrival = None
            self.journal.describe(self.session)

    def _tell_of(self, arrival: _Arrival) -> None:
        for one in self.capabilities:
            one.arrived(arrival.line, arrival.events, later=arrival.is_told_later)

    def too_long(self, cut: Cut) -> None:
        """Record a line that is too long, so that a person can refuse its request."""
        from humanmcp.protocol.json.undecoded import stand_in  # noqa: PLC0415 - seldom wanted

        self.journal.record(Direction.IN, cut.line, note=cut.note)
        request = stand_in(cut.line, cut.last, cut.size)
        if request is None:
            self.session.unreadable += 1
            self.journal.cannot_read_last()
            self.journal.describe(self.session)
        else:
            self.line(request)

    def hung_up(self, number: int) -> None:
        """Cancel the request whose stream the client closed.

        "Closing the SSE response stream MUST be treated by the server as cancellation of that
        request." https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#cancellation
        """
        self.journal.record(Direction.NOTE, b"", number, note="the client closed the stream")
        arrival = _Arrival(b"", (), now=self.journal.clock.now())
        for event in self.session.cancelled(number):
            self._react(event, arrival)

    def _react(self, event: Event, arrival: _Arrival) -> None:
        match event:
            case RequestArrived(exchange):
                self._arrived(exchange, arrival)
            case RequestRepeated(exchange):
                self._repeated(exchange, arrival.now)
            case RequestCancelled(exchange, reason):
                self._close(exchange, reason)
            case RequestSuperseded(exchange):
                self._close(exchange, "handshake")
            case LineReady(line, number):
                self.journal.write(line, number)
            case NoticeArrived(message):
                for one in self.capabilities:
                    one.noticed(message)
            case ResponseArrived(message):
                found = (one.responded(message) for one in self.capabilities)
                self.decide_again(next(filter(None, found), 0))
            case UnreadableArrived():
                self.journal.cannot_read_last()  # nothing is answered
            case impossible:
                assert_never(impossible)

    def _arrived(self, exchange: Exchange, arrival: _Arrival) -> None:
        """Begin with a request, unless another one in its batch with the same id was answered."""
        current = self.session.exchanges.get(exchange.number)
        if current is None or current.state is not ExchangeState.ABANDONED:
            self.begin(exchange, arrival.decision or self.decide(exchange), arrival.now)

    # -- decided ----------------------------------------------------------------------------------

    def decide(self, exchange: Exchange) -> Decision:
        """Return the automatic answer to an exchange, if there is one."""
        if self.options.silent or self.session.exchanges.same_id_pending(exchange):
            return BY_PERSON  # only one of them can be answered: a person says which
        return self._first_decision(exchange)

    def begin(self, exchange: Exchange, decision: Decision, now: float) -> None:
        """Answer a new request at once if that was decided, else let it wait."""
        for one in self.capabilities:
            begun = one.begin(exchange, decision)
            if begun is None:
                return  # another server is asked
            decision = begun
        if decision.form is not TextForm.ERROR or not decision.due(0):  # else it is refused
            self._acknowledge(exchange)
        self._answer_or_wait(exchange, decision, now)

    def fall_back(self, exchange: Exchange) -> None:
        self._answer_or_wait(exchange, self.decide(exchange), self.journal.clock.now())

    def _answer_or_wait(self, exchange: Exchange, decision: Decision, now: float) -> None:
        left = self._act(exchange, decision) if decision.due(0) else decision
        # Answered, nobody needs to see it wait. Closed, nobody can answer it: the session is over
        # when all that came is looked at.
        if left is not None and not self.journal.connection.closed:
            self._wait(self.session.exchanges[exchange.number], left, now)

    def _acknowledge(self, exchange: Exchange) -> None:
        """Acknowledge a request if it is a subscription."""
        is_subscription = methods.of(exchange.method).stays_open and self.options.speaks_first
        if is_subscription and (line := self.session.acknowledge(exchange.number)) is not None:
            self.journal.write(line, exchange.number, by=BY_US)

    # -- answered ---------------------------------------------------------------------------------

    def _act(self, exchange: Exchange, decision: Decision, waited: float = 0.0) -> Decision | None:
        """Do what is due automatically. Returns None when that answered, else what is left to do.

        An answer that does not pass the check leaves the request to a person.
        """
        done = (one.act(exchange, decision, waited) for one in self.capabilities)
        acted = next(filter(None, done), LEFT_TO_A_PERSON)
        if acted.sent is None:
            return acted.decision
        self.send(acted.sent, acted.decision.by, acted.line)
        for one in self.capabilities:
            one.acted(exchange, acted.decision)
        return None

    def reply(self, number: int, reply: Reply) -> None:
        """Judge a person's reply: it goes out, or back to them with its problems."""
        outcome = self.answer(number, reply)
        if isinstance(outcome, Refused):
            self.journal.refuse(number, outcome.verdict.diagnostics)
        elif isinstance(outcome, Late) and not any(
            one.reply_to(number, reply) for one in self.capabilities
        ):
            logger.info("a reply to %s came too late", number)

    def answer(self, number: int, reply: Reply, parked: ParkedRequest | None = None) -> Outcome:
        """Judge what a person answers, at whatever desk, and send it with its decision record.

        It is kept until the client has repeated a request that it was asked to retry.
        """
        exchange = parked.exchange if parked else self.session.exchanges.get(number)
        if exchange is not None and differs(reply.shown, exchange.request.raw):
            return refused(exchange, reply, kinds.other_request_shown().unplaced())
        try:
            outcome = self._judge(number, reply, parked)
        except Exception as error:
            logger.exception("a reply could not be taken; please report it")
            return refused(exchange, reply, failure(error)) if exchange else Late(None)
        if isinstance(outcome, Sent) and parked is not None:
            self.journal.write_answer(parked.key, outcome, reply, parked.negotiated)
        elif isinstance(outcome, Sent):
            self.send(outcome, reply)
        elif isinstance(outcome, AwaitingRetry):
            self._kept[number] = reply
        return outcome

    def _judge(self, number: int, reply: Reply, parked: ParkedRequest | None) -> Outcome:
        text, form, anyway = reply.text, reply.form, reply.anyway
        if parked is None:
            return self.session.reply(number, text, form, anyway=anyway)
        return judge_reply(parked.exchange, text, form, parked.negotiated, anyway=anyway)

    def send(self, sent: Sent, author: Reply | str, line: bytes | None = None) -> None:
        """Write an answer that passed: into the transcript, onto the wire, out of the inbox."""
        exchange, by_person = sent.exchange, not isinstance(author, str)
        parked = exchange.stage is Stage.PARKED
        timers = self.timers.pop(exchange.number, None)
        for one in self.capabilities:
            one.ending(exchange)
        note = PARKED if parked else DELIBERATE if sent.deliberate else ""
        key = self.journal.key(exchange.number)
        negotiated = self.session.negotiated
        answer = self.journal.write_answer(key, sent, author, negotiated, line, note=note)
        self._answers[exchange.number] = answer._replace(line="")
        if len(self._answers) > REMEMBERED:
            self._answers.popitem(last=False)
        for one in self.capabilities:
            one.over(exchange, None if parked else timers, "")
        if timers is not None and not parked:
            self.journal.close_answered(
                exchange.number,
                exchange.state,
                answer,
                by_person=by_person,
                in_batch=sent.line is None,
            )
        for batch in sent.completed_batches:
            self.journal.write(batch.line, batch.number)
        for other in sent.superseded:
            self._close(other, "twin")
        self.journal.describe(self.session)

    # -- waiting ----------------------------------------------------------------------------------

    def _wait(self, exchange: Exchange, decision: Decision, now: float) -> None:
        """Put a request into the inbox."""
        subscribed = exchange.stage is Stage.SUBSCRIBED
        if len(self.timers) >= MOST_WAITING:
            self._turn_away(exchange, f"has {MOST_WAITING} requests waiting for an answer already")
            return
        timers = PendingTimers(now, decision, subscribed=subscribed)
        timers.writing = bool(self._written_at)
        timers.status_open = bool(self.journal.facts.http.port)
        self._plan(exchange, timers)
        try:
            self.journal.inbox.deliver(self._item(exchange, timers))
        except InboxError as error:
            self._turn_away(exchange, _UNKEPT, error)
            return
        self.timers[exchange.number] = timers
        if self.options.notify is not None and timers.is_for_people:
            self.options.notify(self.journal.name, exchange.number, exchange.tool)
        self.schedule.duties = min(self.schedule.duties, timers.next())

    def _plan(self, exchange: Exchange, timers: PendingTimers) -> None:
        for one in self.capabilities:
            one.waits(exchange, timers)

    def wait_on(self, exchange: Exchange, decision: Decision, arrived: float) -> None:
        """Let an exchange wait that waits in the inbox already."""
        timers = self.timers[exchange.number] = PendingTimers(arrived, decision)
        self._plan_again(exchange, timers)

    def _plan_again(self, exchange: Exchange, timers: PendingTimers) -> None:
        self._plan(exchange, timers)
        self.journal.update(exchange, timers.waiting())

    def _item(self, exchange: Exchange, timers: PendingTimers) -> Item:
        key, now = self.journal.key(exchange.number), self.journal.clock.stamp()
        return Item(
            key=key,
            line=exchange.request.raw,
            method=exchange.method,
            id=exchange.id.token,
            protocol_version=exchange.version,
            arrived=now,
            waiting=timers.waiting(),
            draft=self.options.kept_draft(key, exchange.id.token),
            headers=_of_headers(exchange),
        )

    def look(self, now: float) -> float:
        """Run the due actions of waiting exchanges. Return the time of the next one."""
        for number, timers in list(self.timers.items()):
            name = timers.due(now)
            if name:
                self._do(name, self.session.exchanges[number], timers, now)
        return min((timers.next() for timers in self.timers.values()), default=math.inf)

    def _do(self, name: str, exchange: Exchange, timers: PendingTimers, now: float) -> None:
        if name == ANSWER_BY_BOOK:
            self._act_late(exchange, timers, now)
        elif name == GIVE_UP:
            self._close(self.session.went_quiet(exchange.number) or exchange, QUIET)
        for one in self.capabilities:
            one.due(name, exchange, timers, now)

    def _act_late(self, exchange: Exchange, timers: PendingTimers, now: float) -> None:
        """Answer a waiting exchange automatically, or run the next step of its rule."""
        if self.only_probed and exchange.method == DISCOVER:
            self._probed()
        left = self._act(exchange, timers.decision, now - timers.arrived)
        if left is not None:
            timers.decision = left
            self.journal.update(exchange, timers.waiting())

    def decide_again(self, number: int) -> None:
        """Decide again about a waiting request: what it waited for has arrived."""
        timers = self.timers.get(number)
        if timers is not None:
            exchange = self.session.exchanges[number]
            timers.decision = self.decide(exchange)
            self._act_late(exchange, timers, self.journal.clock.now())
            self.schedule.duties = min(self.schedule.duties, timers.next())

    def _repeated(self, exchange: Exchange, now: float) -> None:
        """Send the reply that was kept for the repeat, if there is one."""
        timers = self.timers[exchange.number]
        timers.repeated(now)
        self._plan_again(exchange, timers)
        self.schedule.duties = now
        if (reply := self._kept.pop(exchange.number, None)) is not None:
            self.reply(exchange.number, reply)

    def look_again(self) -> None:
        for number, timers in self.timers.items():
            exchange = self.session.exchanges[number]
            timers.decision = self.decide(exchange)
            self._plan_again(exchange, timers)
        self.schedule.duties = -math.inf

    def drafted(self, number: int, draft: Draft) -> None:
        """Note that a person edits a draft, or pauses the countdown of a rule."""
        timers = self.timers.get(number)
        if timers is not None and (draft.touched, draft.paused) != (timers.touched, timers.paused):
            timers.touched, timers.paused = draft.touched, draft.paused
            self.journal.update(self.session.exchanges[number], timers.waiting())

    def text_is_being_written(self, where: Capability, *, writing: bool) -> bool:
        """Keep the book from answering over a text, whichever request it is for.

        Returns whether that changes anything.
        """
        (self._written_at.add if writing else self._written_at.discard)(where)
        writing = bool(self._written_at)
        changed = [(n, timers) for n, timers in self.timers.items() if timers.writing != writing]
        for number, timers in changed:
            timers.writing = writing
            if timers.decision.stoppable:
                self.journal.update(self.session.exchanges[number], timers.waiting())
        return bool(changed)

    # -- without a request ------------------------------------------------------------------------

    def order(self, ticket: str, reply: Reply) -> None:
        """Send what a person says without a request, or follow their order."""
        self.journal.ticket = ticket
        found: Sequence[Diagnostic] = ()
        if reply.order is Order.SAY:
            verdict = self.say(reply)
            found = () if _line_of(verdict, reply) else verdict.diagnostics
        elif reply.order is Order.RAW:
            self._say_bytes(reply)
        elif reply.order is not Order.DEFINITION:
            self.journal.note_order(reply)
        for one in self.capabilities:
            one.order(reply)
        self.journal.ticket = ""
        self.journal.settle_outgoing(ticket, found)
        if reply.order is Order.CRASH:
            self.journal.connection.crash()

    def say(self, reply: Reply) -> Verdict:
        verdict = self.session.submit(reply.text, anyway=reply.anyway)
        line = _line_of(verdict, reply)
        if line:
            note = "" if verdict.sendable else DELIBERATE
            begun = self.journal.begun.decode("utf-8", "replace")
            decision = self._decision_in(f"{begun}{line}", reply)
            self.journal.write(line, by=reply.by, note=note, decision=decision)
            self._leave_progress()
        return verdict

    def _say_bytes(self, reply: Reply) -> None:
        from binascii import Error, a2b_base64  # noqa: PLC0415 - seldom wanted

        try:
            content = a2b_base64(reply.text, strict_mode=True)
        except Error:
            logger.warning("bytes that are no base64 were not written")
            return
        # An answer is there with the byte that ends it, whichever bytes began it; once.
        begun = self.journal.begun
        lines = (begun + content).split(b"\n")
        if self._answered_in(begun.decode("utf-8", "replace")):
            del lines[0]
        decided = (self._decision_in(one.decode("utf-8", "replace"), reply) for one in lines)
        self.journal.write_raw(content, by=reply.by, decisions=list(filter(None, decided)))

    def _answered_in(self, text: str) -> Exchange | None:
        """Return the open request that a line answers."""
        is_response = kind_typed(text) in (Kind.RESULT, Kind.ERROR) and id_of(text) is not None
        return addressed(text, self.session.pending) if is_response else None

    def _decision_in(self, text: str, reply: Reply) -> str:
        """Return the record of a decision where a person responds to a request that stays open."""
        exchange = self._answered_in(text)
        if exchange is None:
            return ""
        response = Sent(exchange, None, text, Verdict(text, None, text), deliberate=True)
        key = self.journal.key(exchange.number)
        return self.journal.decision_of(key, response, reply, self.session.negotiated)

    def _leave_progress(self) -> None:
        """Stop our progress notifications for requests of which a person reports progress."""
        for number, timers in self.timers.items():
            if timers.timeouts.progress and self.session.reports_progress(number):
                self._plan_again(self.session.exchanges[number], timers)

    # -- closed -----------------------------------------------------------------------------------

    def _close(self, exchange: Exchange, reason: str) -> None:
        """Close an exchange without an answer, if the inbox has it."""
        self._kept.pop(exchange.number, None)
        timers = self.timers.pop(exchange.number, None)
        for one in self.capabilities:
            one.ending(exchange)
            one.over(exchange, timers, reason)
        if timers is None:
            return
        self.journal.connection.end_unanswered(exchange.number)
        if reason != QUIET or not timers.parked.ticket:  # else its client may come back to it
            self.journal.close(exchange.number, exchange.state, reason=reason)

    def answer_to(self, number: int) -> Answer:
        return self._answers.get(number) or Answer("", "", "")

    def _turn_away(self, exchange: Exchange, reason: str, error: InboxError | None = None) -> None:
        if error is not None:
            logger.error("the inbox cannot keep a message: %s", error)
        text = f'{{"code":-32603,"message":"humanmcp {reason}"}}'
        outcome = self.session.reply(exchange.number, text, TextForm.ERROR)
        if isinstance(outcome, Sent):
            self.send(outcome, BY_US)


def _line_of(verdict: Verdict, reply: Reply) -> str | None:
    """Return what goes out of a text that a person says."""
    return verdict.line or (verdict.forced if reply.anyway else None)


def refused(exchange: Exchange, reply: Reply, problem: Diagnostic) -> Refused:
    """Refuse a reply that was not judged."""
    return Refused(exchange, Verdict(reply.text, None, None, (problem,)))


def _of_headers(exchange: Exchange) -> tuple[Diagnostic, ...]:
    """Return the problems of the HTTP headers of a request."""
    if exchange.transport_facts is None:
        return ()
    codes = {one.code for one in exchange.transport_facts.found}
    return tuple(one for one in exchange.remarks if one.code in codes) if codes else ()
