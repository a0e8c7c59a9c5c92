"""Going on with a session whose process is gone: from its transcript, and from what waits.

Theory of operation. A session is a value machine, so it is what it was when it is told again what
came in and what went out. Only what was begun and not finished at the moment of the death is to be
settled, and each step was written down before the next one:

a request stands in the transcript, and not in the inbox    it has just come
it waits in the inbox                                       it waits on; a reply there is taken
its answer stands in the transcript, and it still waits     it was answered, and leaves the inbox;
                                                            a person's, once its client comes for it
its answer waits for the rest of a batch                    the inbox has it
the line of an outgoing message stands there, and the       it was sent; bytes perhaps, as no
message is not settled                                      client is told them again
more than a probe came, and nobody is shown the session     it is shown

What a rule had begun before its answer (it asked, it notified) is not begun a second time: a person
goes on. Over HTTP a client comes again by itself; nothing here knows of streams.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from humanmcp.inbox.contract import Answer, Order, UnknownItemError
from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.conversation.approvals import permission_in
from humanmcp.protocol.conversation.exchange import APPROVAL, CUT, kind_of_tool
from humanmcp.protocol.conversation.outcomes import RequestArrived, Sent
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.timeouts import REISSUE_WITHIN, REPEAT_WITHIN
from humanmcp.protocol.conversation.transcript import DELIBERATE, HTTP, Direction, Frame
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Message
from humanmcp.protocol.session import McpSession
from humanmcp.protocol.tables import methods
from humanmcp.server.exchanges import is_probe
from humanmcp.server.journal import BY_US, CUT_OFF, DELIBERATE_BYTES, DELIBERATE_UNENDED, RETRY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.inbox.contract import ServerInbox
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.server.exchanges import ExchangeHandler

logger = logging.getLogger(__name__)

_NO_MESSAGE = (DELIBERATE_BYTES, DELIBERATE_UNENDED)


@dataclass(slots=True)
class Resumed:
    """What a transcript says of a session. `waiting` are the exchanges in its inbox.

    `before` is what the other process had negotiated.
    """

    session: McpSession
    before: NegotiatedState
    waiting: Sequence[int] = ()
    is_begun: bool = False
    """Whether anything but notes of HTTP was recorded."""
    seq: int = 0
    """The number of the last frame of all."""
    came: dict[int, Frame] = field(default_factory=dict)
    """Each request's line, by its number."""
    answers: dict[int, Frame] = field(default_factory=dict)
    only_probed: bool = True
    """Whether no line of the client was anything but a `server/discover`."""
    begun: set[int] = field(default_factory=set)
    """The requests for which a rule or a person has sent something already."""
    decisions: dict[tuple[object, object], str] = field(default_factory=dict)
    """The last record of a decision about each exchange, the latest last."""
    tickets: set[str] = field(default_factory=set)
    """The outgoing messages by which something went out."""


def resumed(inbox: ServerInbox, name: str, waiting: Sequence[int]) -> Resumed:
    """Replay the transcript of another process into a new session."""
    resumed = Resumed(McpSession(), inbox.negotiated(name), waiting)
    for frame in inbox.frames(name):
        resumed.seq = frame.seq
        if frame.note == HTTP:
            continue
        resumed.is_begun = True
        if frame.decision:
            record = jsonrpc.object_in(frame.decision)
            key = (record.get("session"), record.get("exchange"))
            resumed.decisions.pop(key, None)
            resumed.decisions[key] = frame.decision
        if frame.direction is Direction.IN and not frame.note:
            _hear(resumed, frame)
        elif frame.note == CUT_OFF:
            resumed.session.held(frame.number, CUT)
        elif frame.direction is Direction.OUT:
            resumed.tickets.add(frame.ticket)
            if frame.note not in _NO_MESSAGE:
                _say(resumed, frame)
    return resumed


def _hear(resumed: Resumed, frame: Frame) -> None:
    if frame.number:  # a line that the disk did not take had a number, too
        resumed.session.exchanges.last = frame.number - 1
    before = resumed.session.exchanges.last
    events = resumed.session.receive(frame.raw)
    asked = [event.exchange for event in events if isinstance(event, RequestArrived)]
    resumed.only_probed &= is_probe(asked)
    for number in range(before + 1, resumed.session.exchanges.last + 1):
        resumed.came[number] = frame


def _say(resumed: Resumed, frame: Frame) -> None:
    message = jsonrpc.read(frame.raw)
    exchange = resumed.session.exchanges.get(frame.number)
    if frame.note == RETRY and isinstance(message, Message):
        resumed.session.held(frame.number, str(message.body["result"]["requestState"]))
    elif exchange is None or (isinstance(message, Message) and message.method):
        resumed.session.remember(frame.text, by_person=frame.by != BY_US)
        if frame.by != BY_US:
            resumed.begun.add(frame.number)
    elif isinstance(message, Batch) and exchange.batch:
        _answer_batch(resumed, exchange.batch, message, frame)
    else:
        _answer(resumed, exchange, frame.text, frame)


def _answer_batch(resumed: Resumed, batch: int, said: Batch, frame: Frame) -> None:
    """Answer the requests of a batch; those without an item in the array get no answer."""
    answers = {one.id.key: one.raw for one in said.items if isinstance(one, Message) and one.id}
    for exchange in resumed.session.pending:
        if exchange.batch != batch:
            continue
        line = answers.get(exchange.id.key)
        if line is None:
            resumed.session.cancelled(exchange.number)
        else:
            _answer(resumed, exchange, line, frame)


def _answer(resumed: Resumed, exchange: Exchange, line: str, frame: Frame) -> None:
    resumed.session.reply_with_line(exchange.number, line)
    resumed.answers[exchange.number] = frame._replace(raw=jsonrpc.encoded(line))


class Resumption:
    """Brings the inbox and the session to one state again, before anything else happens."""

    def __init__(self, resumed: Resumed, handler: ExchangeHandler) -> None:
        """Settle what was found."""
        self._resumed = resumed
        self._session = resumed.session
        self._journal = handler.journal
        self._handler = handler

    def settle(self) -> None:
        """Finish what the other process began."""
        decisions, key = self._resumed.decisions, self._journal.key
        for record in [*decisions.values()][-1:]:
            self._journal.decisions.go_on(record)
        pending = [key(one.number) for one in self._session.pending]
        self._journal.recorded = {one: decisions[one] for one in pending if one in decisions}
        if self._resumed.is_begun:
            decided = all(self._handler.decide(one).due(0) for one in self._session.pending)
            self._handler.leave_probing(is_probe=self._resumed.only_probed, is_answered=decided)
        for ticket, reply in self._journal.outgoing():
            # What it says is not said twice; another order is followed again.
            if reply.order in (Order.SAY, Order.RAW) and ticket in self._resumed.tickets:
                self._journal.settle_outgoing(ticket, ())
        for number in self._resumed.waiting:
            exchange = self._session.exchanges.get(number)
            if exchange is None or exchange.state is not ExchangeState.PENDING:
                self._is_over(number, exchange)
        for exchange in self._session.pending:
            self._go_on(exchange)
        if self._journal.facts.http.visitor:
            for exchange in self._session.pending:
                self._is_cut(exchange)
        self._tell_of_changes()
        self._journal.describe(self._session)

    def _tell_of_changes(self) -> None:
        """Announce the lists in which this process differs from the one before."""
        before, now = self._resumed.before.prepared, self._session.negotiated.prepared
        for method in sorted({*before, *now}):
            if before.get(method) != now.get(method):
                for line in self._session.list_changed(method.partition("/")[0]):
                    self._journal.write(line, by=BY_US)

    def _is_over(self, number: int, exchange: Exchange | None) -> None:
        """Take an exchange out of the inbox that the transcript says is over and not parked."""
        item = self._journal.inbox.item(self._journal.key(number))
        if item.waiting.parked.ticket:
            for one in self._handler.capabilities:
                one.resumed(item)
            return
        frame = self._resumed.answers.get(number)
        if frame is None:
            state = ExchangeState.CANCELLED if exchange is None else exchange.state
            self._journal.close(number, state)
            return
        action = permission_in(self._resumed.decisions.get(item.key, ""))
        answer = Answer(frame.text, frame.by, frame.at, frame.note == DELIBERATE, action=action)
        by_person, in_batch = item.reply is not None, exchange is not None and bool(exchange.batch)
        if not self._journal.facts.http.port:  # its client has read the transcript, too
            self._journal.close(number, ExchangeState.ANSWERED, answer)
        elif by_person and not in_batch and self._journal.facts.http.visitor:
            if item.reply and item.reply.by == frame.by:  # not too late: its client may have it
                self._journal.inbox.take_parked(item.key)
            self._journal.close(number, ExchangeState.ABANDONED)
        else:
            self._journal.close_answered(
                number, ExchangeState.ANSWERED, answer, by_person=by_person, in_batch=in_batch
            )

    def _go_on(self, exchange: Exchange) -> None:
        """Go on with a request that has no answer by the transcript."""
        try:
            item = self._journal.inbox.item(self._journal.key(exchange.number))
        except UnknownItemError:
            self._handler.begin(exchange, self._decision(exchange), self._came(exchange))
            return
        if item.state is ExchangeState.PENDING:
            self._handler.wait_on(exchange, self._decision(exchange), self._came(exchange))
        elif item.answer is not None:
            line, deliberate = item.answer.line, item.answer.deliberate
            outcome = self._session.reply_with_line(exchange.number, line, deliberate=deliberate)
            if isinstance(outcome, Sent):
                self._handler.send(outcome, item.answer.by)
        else:
            self._session.cancelled(exchange.number)

    def _is_cut(self, exchange: Exchange) -> None:
        """Let a request wait whose stream was cut until its client asks the same, or for minutes.

        There are no ids of sessions or events in 2026-07-28 to come back with. A subscription is
        begun anew by its client, and is over. So is an approval: the same request may be another
        call, of another client with the same name, and a press allows only the call that was shown.
        """
        tools = self._session.negotiated.known_tools
        is_approval = kind_of_tool(exchange.tool, tools) == APPROVAL
        if methods.of(exchange.method).stays_open or is_approval:
            self._handler.hung_up(exchange.number)
            return
        timers = self._handler.timers[exchange.number]
        if exchange.awaiting_retry not in ("", CUT):
            timers.retry_until = self._journal.clock.now() + REPEAT_WITHIN
            return
        self._journal.record(Direction.NOTE, b"", exchange.number, note=CUT_OFF)
        self._session.held(exchange.number, CUT)
        timers.retry_until = self._journal.clock.now() + REISSUE_WITHIN
        timers.timeouts = timers.timeouts._replace(limit=None, keepalive="", why_not=CUT)
        self._journal.update(self._session.exchanges[exchange.number], timers.waiting())

    def _decision(self, exchange: Exchange) -> Decision:
        if exchange.number in self._resumed.begun:
            logger.warning("what was begun about %s is left to a person", exchange.number)
            return Decision()
        return self._handler.decide(exchange)

    def _came(self, exchange: Exchange) -> float:
        """Return when a request came, by the clock that only rises."""
        now, frame = self._journal.clock, self._resumed.came.get(exchange.number)
        if frame is None:
            return now.now()
        try:
            return now.now() - max(0.0, now.since(frame.at))
        except ValueError:  # written by something else
            return now.now()
