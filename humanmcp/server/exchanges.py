"""The way of an exchange, from the client's line to its end.

Read on in the order in which it happens:

    received    a line of the client becomes events
    recorded    it is in the transcript before anything reacts to it
    decided     who answers without a person: recorded answers, a rule, the answer book, or nobody
    answered    by the first answer that passes the check; a person's may come back to them
    waiting     in the inbox: timers keep the client waiting, or let an automatic answer go out
    closed      answered, cancelled, superseded, quiet, or turned away

What else a server can do is in files of its own, and acts here at named moments:
`AutomaticAnswers` (`rules.py`; with a recording and a real server, `replaying.py`) at `decide`,
`begin`, `act`, `answered`, `noticed`, `responded` and `over`; the text files
(`text_files/text_desk.py`) at `probed`, `shown`, `copy` and `waits`; `Keepalive` (`waiting.py`) at
`plan`, `send_progress`, `ask_to_retry`, `gave_up` and `was_answered`; `ParkedCalls` (`parking.py`)
at `decide`, `waits`, `may_come_back`, `park`, `reply` and `over`.
"""

from __future__ import annotations

import logging
import math
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from humanmcp.inbox.contract import Answer, Draft, InboxError, Item
from humanmcp.locales import spoken_language
from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.conversation.approvals import differs
from humanmcp.protocol.conversation.exchange import (
    REMEMBERED,
    AwaitingRetry,
    ExchangeState,
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
from humanmcp.protocol.conversation.transcript import DELIBERATE, Direction
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import TextForm, Verdict
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.methods import DISCOVER
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.envelope import failure
from humanmcp.server.journal import BY_US, PARKED
from humanmcp.server.parking import ParkedCalls
from humanmcp.server.waiting import DueAction, PendingTimers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.common.line_pipe import Cut
    from humanmcp.inbox.attendant import PollSchedule
    from humanmcp.inbox.contract import Reply
    from humanmcp.protocol.conversation.exchange import Event, Exchange, Outcome
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.session import McpSession
    from humanmcp.server.journal import Journal
    from humanmcp.server.rules import AutomaticAnswers
    from humanmcp.server.text_files.text_desk import TextFileAnswers
    from humanmcp.server.waiting import Keepalive, ServeOptions

logger = logging.getLogger(__name__)

MOST_WAITING: Final = 10_000
"""Requests of a session that may wait for people: a client that floods us fills no disk."""

AT_ONCE: Final = 0.01
"""Seconds for which the messages of a batch are processed before other sessions have their turn."""

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
    def can_be_copied_later(self) -> bool:
        """Return True if the text files may get the line after it is answered."""
        return bool(self.requests) and not self.waits

    @property
    def is_probe(self) -> bool:
        """Return True for a `server/discover`."""
        return [one.method for one in self.requests] == [DISCOVER]

    @property
    def is_answered_probe(self) -> bool:
        """Return True for a `server/discover` that the answer book answers."""
        return self.is_probe and self.decision is not None and self.decision.due(0)


class ExchangeHandler:
    """Takes each exchange of one session along its way."""

    texts: TextFileAnswers
    """The text files, which copy each line. They are made later: they submit what is typed here."""

    def __init__(  # noqa: PLR0913, PLR0917 - what acts along the way
        self,
        session: McpSession,
        journal: Journal,
        automatic: AutomaticAnswers,
        keepalive: Keepalive,
        options: ServeOptions,
        schedule: PollSchedule,
        token: Callable[[], str],
    ) -> None:
        """Start before the first line. `token` makes the secret of a ticket."""
        self.timers: dict[int, PendingTimers] = {}
        """Of each exchange that waits in the inbox."""
        self.by: OrderedDict[int, str] = OrderedDict()
        """Who answered the last exchanges, by number."""
        self.session = session
        self.journal = journal
        self.automatic = automatic
        self.keepalive = keepalive
        self.options = options
        self._schedule = schedule
        self._only_probed = journal.facts.probe
        """Whether nothing but `server/discover` was asked so far."""
        self._arrival: _Arrival | None = None
        self._left: deque[Event] = deque()
        """What the line that came last meant, and nothing has reacted to yet."""
        self._kept: dict[int, Reply] = {}
        """Replies that wait until the client has repeated its request."""
        self._is_text_being_written = False
        self.parked = ParkedCalls(self, token)

    # -- received, recorded -----------------------------------------------------------------------

    def line(self, line: bytes) -> None:
        """Record a line from the client, then process its messages.

        Of a long array to the first messages: `go_on` is called while it `has_more`.
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
        self._leave_probing(arrival)
        if not arrival.can_be_copied_later:
            self.texts.copy(line, arrival.events)
        self._arrival, self._left = arrival, deque(arrival.events)
        self.go_on()

    def _receive(self, line: bytes) -> _Arrival:
        now = self.journal.clock.now()
        self._schedule.arrived(now)
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
                self._turn_away_unkept(event.exchange, error)
            else:
                self._react(event, arrival)

    def _leave_probing(self, arrival: _Arrival) -> None:
        """Show the session once it receives anything but `server/discover`.

        Some clients ask that in a process of its own, which they end at once: no one should see a
        session of it, and it must not keep the text files from the process that comes after it.
        """
        if not self._only_probed:
            return
        if arrival.is_answered_probe:
            self.texts.probed()
            return
        self._only_probed = arrival.is_probe
        self.journal.facts = self.journal.facts._replace(probe=False)
        self.texts.shown()

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
            if not self._left and arrival.can_be_copied_later:
                self.texts.copy(arrival.line, arrival.events, later=True)
        if not self._left:
            self._arrival = None
            self.journal.describe(self.session)

    def too_long(self, cut: Cut) -> None:
        """Record a line that is too long, so that a person can refuse its request."""
        from humanmcp.protocol.json.jsonrpc import stand_in  # noqa: PLC0415 - seldom wanted

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
        events = self.session.cancelled(number)
        arrival = _Arrival(b"", events, now=self.journal.clock.now())
        for event in events:
            self._react(event, arrival)

    def _react(self, event: Event, arrival: _Arrival) -> None:
        match event:
            case RequestArrived(exchange):
                if not self._is_superseded(exchange):
                    decision = arrival.decision or self.decide(exchange)
                    self.begin(exchange, decision, arrival.now)
            case RequestRepeated(exchange):
                self._repeated(exchange, arrival.now)
            case RequestCancelled(exchange, reason):
                self.keepalive.gave_up(
                    exchange, self.timers.get(exchange.number), reason, arrival.now
                )
                self._close(exchange, reason)
            case RequestSuperseded(exchange):
                self._close(exchange, "handshake")
            case LineReady(line, number):
                self.journal.write(line, number)
            case NoticeArrived(message):
                self.automatic.noticed(message)
            case ResponseArrived(message):
                self.decide_again(self.automatic.responded(message))
            case UnreadableArrived():
                self.journal.cannot_read_last()  # nothing is answered
            case impossible:
                assert_never(impossible)

    def _is_superseded(self, exchange: Exchange) -> bool:
        """Return True if another request in the batch with the same id was answered."""
        current = self.session.exchanges.get(exchange.number)
        return current is not None and current.state is ExchangeState.ABANDONED

    # -- decided ----------------------------------------------------------------------------------

    def decide(self, exchange: Exchange) -> Decision:
        """Return the automatic answer to an exchange, if there is one."""
        if self.keepalive.silent or self.session.same_id_pending(exchange):
            return Decision()  # only one of them can be answered: a person says which
        return self.parked.decide(exchange) or self.automatic.decide(exchange)

    def begin(self, exchange: Exchange, decision: Decision, now: float) -> None:
        """Answer a new request at once if that was decided, else let it wait."""
        begun = self.automatic.begin(exchange, decision)
        if begun is None:
            return  # the real server is asked
        is_refused = begun.form is TextForm.ERROR and begun.due(0)
        subscribed = not is_refused and self._acknowledge(exchange)
        left = self._act(exchange, begun) if begun.due(0) else begun
        # Answered, nobody needs to see it wait. Closed, nobody can answer it: the session is over
        # when all that came is looked at.
        if left is not None and not self.journal.connection.closed:
            self._wait(exchange, left, now, subscribed=subscribed)

    def fall_back(self, exchange: Exchange) -> None:
        """Decide anew about a request that the real server does not answer."""
        decision = self.decide(exchange)
        left = self._act(exchange, decision) if decision.due(0) else decision
        if left is not None:
            self._wait(exchange, left, self.journal.clock.now())

    def _acknowledge(self, exchange: Exchange) -> bool:
        """Acknowledge a subscription. Return True if the exchange is one."""
        if not methods.of(exchange.method).stays_open or not self.keepalive.may_acknowledge:
            return False
        acknowledged = self.session.acknowledge(exchange.number)
        if acknowledged is not None:
            self.journal.write(acknowledged, exchange.number, by=BY_US)
        return acknowledged is not None

    # -- answered ---------------------------------------------------------------------------------

    def _act(self, exchange: Exchange, decision: Decision, waited: float = 0.0) -> Decision | None:
        """Do what is due automatically. Returns None when that answered, else what is left to do.

        An answer that does not pass the check leaves the request to a person.
        """
        acted = self.automatic.act(exchange, decision, waited)
        if acted.sent is None:
            return acted.decision
        self.answered(acted.sent, acted.decision.by, acted.line)
        self.automatic.answered(exchange, acted.decision)
        return None

    def reply(self, number: int, reply: Reply) -> None:
        """Judge a person's reply: it goes out, or back to them with its problems."""
        if self.parked.reply(number, reply):
            return
        outcome = self.answer(number, reply)
        if isinstance(outcome, Refused):
            self.journal.refuse(number, outcome.verdict.diagnostics)
        elif isinstance(outcome, Late):
            logger.info("a reply to %s came too late", number)

    def answer(self, number: int, reply: Reply) -> Outcome:
        """Judge what a person answers, at whatever desk, and write it with its decision record.

        It is kept until the client has repeated a request that it was asked to retry.
        """
        exchange = self.session.exchanges.get(number)
        if exchange is not None and differs(reply.shown, exchange.request.raw):
            return refused(exchange, reply, kinds.other_request_shown().unplaced())
        try:
            outcome = self.session.reply(number, reply.text, reply.form, anyway=reply.anyway)
        except Exception as error:
            logger.exception("a reply could not be taken; please report it")
            return refused(exchange, reply, failure(error)) if exchange else Late(None)
        if isinstance(outcome, Sent):
            self.answered(outcome, reply)
        elif isinstance(outcome, AwaitingRetry):
            self._kept[number] = reply
        return outcome

    def answered(self, sent: Sent, author: Reply | str, line: bytes | None = None) -> None:
        """Write an answer that passed: into the transcript, onto the wire, out of the inbox.

        `author` is the reply of a person, or who answered instead of one. `line` is what goes out
        where the recorded answer was a malformed line.
        """
        exchange, by_person = sent.exchange, not isinstance(author, str)
        by = author if isinstance(author, str) else author.by
        self.automatic.over(exchange.number)
        self.by[exchange.number] = by
        if len(self.by) > REMEMBERED:
            self.by.popitem(last=False)
        parks = self.parked.has(exchange.number)
        key, negotiated = self.journal.key(exchange.number), self.session.negotiated
        decision = self.journal.decision_of(
            key, exchange, sent.own, author, negotiated, deliberate=sent.deliberate
        )
        if sent.line is not None:
            note = PARKED if parks else DELIBERATE if sent.deliberate else ""
            said = line or sent.line
            self.journal.write(
                said,
                exchange.number,
                by=by,
                note=note,
                decision=decision,
                receipt=exchange.number,
            )
        elif decision:  # the rest of its batch is still to come
            self.journal.note_decision(decision, by)
        timers = self.timers.pop(exchange.number, None)
        self.parked.over(exchange.number)
        if timers is not None and not parks:
            self.keepalive.was_answered(exchange, self.journal.clock.now() - timers.last_arrived)
            at = self.journal.clock.stamp()
            answer = Answer(sent.own, by, at, sent.deliberate)
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

    def _wait(
        self, exchange: Exchange, decision: Decision, now: float, *, subscribed: bool = False
    ) -> None:
        """Put a request into the inbox."""
        if len(self.timers) >= MOST_WAITING:
            self._turn_away(exchange, f"has {MOST_WAITING} requests waiting for an answer already")
            return
        timers = PendingTimers(now, decision, self.keepalive.plan(exchange), subscribed=subscribed)
        timers.writing = self._is_text_being_written
        timers.status_open = bool(self.journal.facts.http_at)
        self.parked.waits(exchange, timers)
        try:
            self.journal.deliver(self._item(exchange, timers))
        except InboxError as error:
            self._turn_away_unkept(exchange, error)
            return
        self.timers[exchange.number] = timers
        is_for_people = decision.entry is None and not subscribed and not timers.follows
        if self.options.notify is not None and is_for_people:
            self.options.notify(self.journal.name, exchange.number, exchange.tool)
        self.texts.waits(exchange)
        self._schedule.duties = min(self._schedule.duties, timers.next())

    def _item(self, exchange: Exchange, timers: PendingTimers) -> Item:
        key, now = self.journal.key(exchange.number), self.journal.clock.stamp()
        draft = self.options.kept_draft(key, exchange.id.token)
        if draft is None:
            start = check.start(exchange, self.session.negotiated, spoken_language())
            draft = Draft(start, by=BY_US, at=now)
        return Item(
            key=key,
            line=exchange.request.raw,
            method=exchange.method,
            id=exchange.id.token,
            protocol_version=exchange.version,
            arrived=now,
            waiting=timers.waiting(),
            draft=draft,
            headers=_of_headers(exchange),
        )

    def look(self, now: float) -> float:
        """Run the due actions of waiting exchanges. Return the time of the next one."""
        for number, timers in list(self.timers.items()):
            action = timers.due(now)
            if action is not None:
                self._do(action, self.session.exchanges[number], timers, now)
        return min((timers.next() for timers in self.timers.values()), default=math.inf)

    def _do(self, action: DueAction, exchange: Exchange, timers: PendingTimers, now: float) -> None:
        match action:
            case DueAction.ANSWER_BY_BOOK:
                self._act_late(exchange, timers, now)
            case DueAction.SEND_PROGRESS:
                self.keepalive.send_progress(exchange, timers, now)
            case DueAction.RETRY:
                token = self.parked.token(exchange.number)
                self.parked.may_come_back(exchange, timers, token)
                self.keepalive.ask_to_retry(exchange, timers, now, token)
            case DueAction.PARK:
                timers.park_at = None
                self.parked.park(exchange.number)
            case DueAction.GIVE_UP:
                gone = self.session.went_quiet(exchange.number) or exchange
                if self.parked.keeps(gone, timers):
                    del self.timers[gone.number]
                else:
                    self._close(gone, "quiet")
            case impossible:
                assert_never(impossible)

    def _act_late(self, exchange: Exchange, timers: PendingTimers, now: float) -> None:
        """Answer a waiting exchange automatically, or run the next step of its rule."""
        if self._only_probed and exchange.method == DISCOVER:
            self.texts.probed()
        left = self._act(exchange, timers.decision, now - timers.arrived)
        if left is not None:
            timers.decision = left
            self.journal.update(exchange, timers)

    def decide_again(self, number: int) -> None:
        """Decide again about a waiting request: what it waited for has arrived."""
        timers = self.timers.get(number)
        if timers is not None:
            exchange = self.session.exchanges[number]
            timers.decision = self.decide(exchange)
            self._act_late(exchange, timers, self.journal.clock.now())
            self._schedule.duties = min(self._schedule.duties, timers.next())

    def _repeated(self, exchange: Exchange, now: float) -> None:
        """Send the reply that was kept for the repeat, if there is one."""
        timers = self.timers[exchange.number]
        timers.repeated(now, self.keepalive.plan(exchange))
        self.parked.waits(exchange, timers)
        self._schedule.duties = now
        self.journal.update(exchange, timers)
        reply = self._kept.pop(exchange.number, None)
        if reply is not None:
            self.reply(exchange.number, reply)

    def can_park(self, number: int) -> bool:
        """Return True for a waiting call whose client can come for the answer later."""
        timers = self.timers.get(number)
        return timers is not None and bool(timers.can_park)

    def look_again(self) -> None:
        """Decide again about every waiting request, and plan its timeouts again."""
        for number, timers in self.timers.items():
            exchange = self.session.exchanges[number]
            timers.decision = self.decide(exchange)
            timers.timeouts = self.keepalive.plan(exchange)
            self.parked.waits(exchange, timers)
            self.journal.update(exchange, timers)

    def drafted(self, number: int, draft: Draft) -> None:
        """Note that a person edits a draft, or pauses the countdown of a rule."""
        timers = self.timers.get(number)
        if timers is not None and (draft.touched, draft.paused) != (timers.touched, timers.paused):
            timers.touched, timers.paused = draft.touched, draft.paused
            self.journal.update(self.session.exchanges[number], timers)

    def text_is_being_written(self, *, writing: bool) -> bool:
        """Keep the book from answering over a text in `out.txt`, whichever request it is for.

        Returns whether that changes anything.
        """
        self._is_text_being_written = writing
        changed = [(n, timers) for n, timers in self.timers.items() if timers.writing != writing]
        for number, timers in changed:
            timers.writing = writing
            if timers.decision.stoppable:
                self.journal.update(self.session.exchanges[number], timers)
        return bool(changed)

    def leave_progress(self) -> None:
        """Stop our progress notifications for requests of which a person reports progress."""
        for number, timers in self.timers.items():
            if timers.timeouts.progress and self.session.reports_progress(number):
                exchange = self.session.exchanges[number]
                timers.timeouts = self.keepalive.plan(exchange)
                self.journal.update(exchange, timers)

    # -- closed -----------------------------------------------------------------------------------

    def _close(self, exchange: Exchange, reason: str) -> None:
        """Close an exchange without an answer, if the inbox has it."""
        self._kept.pop(exchange.number, None)
        self.automatic.over(exchange.number)
        self.parked.over(exchange.number)
        if self.timers.pop(exchange.number, None) is not None:
            self.journal.connection.unanswered(exchange.number)
            self.journal.close(exchange.number, exchange.state, reason=reason)

    def _turn_away_unkept(self, exchange: Exchange, error: InboxError) -> None:
        logger.error("the inbox cannot keep a message: %s", error)
        self._turn_away(exchange, "could not store this message in its inbox")

    def _turn_away(self, exchange: Exchange, reason: str) -> None:
        text = f'{{"code":-32603,"message":"humanmcp {reason}"}}'
        outcome = self.session.reply(exchange.number, text, TextForm.ERROR)
        if isinstance(outcome, Sent):
            self.answered(outcome, BY_US)


def refused(exchange: Exchange, reply: Reply, problem: Diagnostic) -> Refused:
    """Refuse a reply that was not judged."""
    return Refused(exchange, Verdict(reply.text, None, None, (problem,)))


def _of_headers(exchange: Exchange) -> tuple[Diagnostic, ...]:
    """Return the problems of the HTTP headers of a request."""
    found = exchange.transport_facts.found if exchange.transport_facts is not None else ()
    codes = {one.code for one in found}
    return tuple(one for one in exchange.remarks if one.code in codes) if codes else ()
