"""A person at a desk answers as the client or the model; and a client's session is recorded there.

The same session folder, check and pages as for the server, with another `Role`. The attendant
of the process takes the replies when the bell rings; the one who asked waits without looking.
`ServerRecorder` puts each line of a client's session into the transcript.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, assert_never

from humanmcp.common.child import EndedError
from humanmcp.common.timestamps import now
from humanmcp.extensions.host.client.callbacks import ClientObserver
from humanmcp.inbox.attendant import PollSchedule, attend_beside
from humanmcp.inbox.contract import Answer, Draft, InboxError, Item, Reply, SessionFacts
from humanmcp.inbox.inbox_session import InboxSession
from humanmcp.locales import spoken_language
from humanmcp.locales.stop import Phrase, in_language
from humanmcp.protocol.conversation.outcomes import (
    AwaitingRetry,
    Late,
    Refused,
    RequestArrived,
    ResponseArrived,
    Sent,
)
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import HTTP, Direction
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity, TextForm
from humanmcp.protocol.http.client import part_as_json
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.session import McpSession, Party
from humanmcp.protocol.tables import versions
from humanmcp.protocol.validation import check

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from humanmcp.extensions.host.client.callbacks import Judge
    from humanmcp.extensions.host.client.client import Client
    from humanmcp.http.transport import HttpPart
    from humanmcp.inbox.contract import Inbox, Role
    from humanmcp.locales.stop import Reason
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.conversation.outcomes import Event, Outcome
    from humanmcp.protocol.diagnostics.model import Verdict

logger = logging.getLogger(__name__)


BY_US: Final = "humanmcp"
NOT_KEPT: Final = '{"code":-32603,"message":"humanmcp could not store this question in its inbox"}'
SESSION_OVER: Final = "R23"
"""The code of the problem that the session is over."""


@dataclass(slots=True)
class _Question:
    """One question that waits in the inbox."""

    exchange: Exchange
    judge: Judge
    over: SimpleQueue[None] = field(default_factory=SimpleQueue)
    """Gets an entry at the end. A signal that interrupts the wait leaves it usable: in an `Event`
    it can leave a lock held, and `set` then waits forever."""


class QuestionInbox:
    """One session of the inbox of another role than the server. An `Attended`."""

    def __init__(self, inbox: Inbox, role: Role, *, title: str = "", asker: str = "") -> None:
        """Open the session. `asker` is who asks here.

        Raises:
            InboxError: the inbox cannot be used.
        """
        self.inbox = inbox
        self.submit: Callable[[str, bool], Verdict] | None = None
        """Sends an outgoing message; None where there is no peer to send it to."""
        facts = SessionFacts(
            name="", started=now(), role=role, pid=os.getpid(), title=title, client=asker
        )
        self._inbox_session = InboxSession.begin(inbox, facts, now)
        self.name = self._inbox_session.name
        self._questions: dict[int, _Question] = {}
        self._lock = threading.Lock()
        self._numbers = 0
        self._over = threading.Event()
        self._left = threading.Event()
        self._schedule = PollSchedule(self._inbox_session.bell)
        attend_beside(self)

    # -- the respondent ------------------------------------------------------------------------

    def answer(self, exchange: Exchange, negotiated: NegotiatedState, judge: Judge) -> None:
        """Put a question into the inbox and wait until it is answered or withdrawn."""
        question = _Question(exchange, judge)
        with self._lock:
            if self._over.is_set():
                return
            self._numbers += 1
            number = self._numbers
            self._questions[number] = question  # before it can be answered
        try:
            self.describe(exchange.version, negotiated)
            self._inbox_session.inbox.deliver(self._item(number, exchange, negotiated))
        except InboxError:  # a full disk, say: better an error than silence
            logger.exception("a question cannot be kept")
            with self._lock:
                self._questions.pop(number, None)
            judge(NOT_KEPT, TextForm.ERROR)
            return
        # A desk may have answered, and rung, before the inbox asked for its replies.
        self._schedule.rung = True
        self._wake()
        if not question.over.empty():  # withdrawn while it was on its way to the inbox
            self._inbox_session.close(number, ExchangeState.CANCELLED)
        question.over.get()

    def withdraw(self, exchange: Exchange, reason: Reason) -> None:
        """Take a question out of the inbox: its answer is no longer awaited."""
        with self._lock:
            found = [
                number
                for number, question in self._questions.items()
                if question.exchange.id == exchange.id
            ]
        for number in found:
            self._close(number, ExchangeState.CANCELLED, reason=str(in_language(reason)))

    def _item(self, number: int, exchange: Exchange, negotiated: NegotiatedState) -> Item:
        return Item(
            key=self._inbox_session.key(number),
            line=exchange.request.raw,
            method=exchange.method,
            id=exchange.id.token,
            protocol_version=exchange.version,
            arrived=now(),
            draft=Draft(check.start(exchange, negotiated, spoken_language()), by=BY_US, at=now()),
        )

    def describe(self, version: str, negotiated: NegotiatedState) -> None:
        """Store what the check needs, for the desks."""
        if not self._over.is_set():
            self._inbox_session.keep_facts(negotiated, protocol_version=version)

    # -- the transcript ------------------------------------------------------------------------

    def record(self, direction: Direction, raw: bytes, *, by: str = "", note: str = "") -> None:
        """Put a line into the transcript. Trouble with the disk does not stop the session."""
        try:
            self._inbox_session.record(direction, raw, by=by, note=note)
        except InboxError:
            logger.exception("the transcript misses a line")

    # -- replies -------------------------------------------------------------------------------

    def begin_steps(self, wake: Callable[[], object]) -> None:
        """Be woken by the bell that a desk rings."""
        self._wake = wake
        self._schedule.listen(wake)

    def step(self, now: float) -> float | None:
        """Take the submitted replies."""
        if self._over.is_set():
            return None
        if self._schedule.desks_are_due(now):
            self._inbox_session.catch_up()
            with contextlib.suppress(InboxError):  # a full disk, say: what was typed stays there
                self._look_once()
            self._schedule.desks_were_seen(now, time.monotonic(), waiting=bool(self._questions))
        return self._schedule.next_desks

    def leave(self) -> None:
        """Tell `end` that no more replies are taken."""
        self._left.set()

    def _look_once(self) -> None:
        for mark, reply in self._inbox_session.submissions():
            if isinstance(mark, str):
                self._inbox_session.settle_outgoing(mark, self._said(reply))
            elif (question := self._questions.get(mark.number)) is not None:
                self._judge(mark.number, question, reply)

    def _said(self, reply: Reply) -> tuple[Diagnostic, ...]:
        """Send what a person says first. Returns why it was not sent."""
        over = (Diagnostic(SESSION_OVER, Severity.ERROR),)
        if self.submit is None:  # no peer yet, or none ever: we only ask this person something
            return over
        try:
            verdict = self.submit(reply.text, reply.anyway)
        except EndedError:
            return over
        return () if verdict.sendable or reply.anyway else verdict.diagnostics

    def _judge(self, number: int, question: _Question, reply: Reply) -> None:
        try:
            outcome = question.judge(reply.text, reply.form, anyway=reply.anyway)
        except EndedError as error:  # the peer is gone
            self._close(number, ExchangeState.ABANDONED, reason=error.sentence())
            return
        match outcome:
            case Sent():
                answer = Answer(outcome.own, reply.by, now(), outcome.deliberate)
                self._close(number, ExchangeState.ANSWERED, answer)
            case Refused():
                self._inbox_session.refuse(number, outcome.verdict.diagnostics)
            case Late() | AwaitingRetry():
                self._close(number, ExchangeState.CANCELLED)
            case impossible:
                assert_never(impossible)

    def _close(
        self, number: int, state: ExchangeState, answer: Answer | None = None, reason: str = ""
    ) -> None:
        with self._lock:
            question = self._questions.pop(number, None)
        if question is None:
            return
        self._inbox_session.close(number, state, answer, reason)
        question.over.put(None)

    def end(self) -> None:
        """Close the session. Questions that still wait end without an answer."""
        with self._lock:
            self._over.set()
        self._wake()
        self._left.wait()
        with self._lock:
            waiting = list(self._questions.values())
        self._inbox_session.end()
        for question in waiting:
            question.over.put(None)


class WhenAsked:
    """Opens a session in the inbox at the first request: most servers never ask anything."""

    def __init__(self, sit_down: Callable[[], QuestionInbox]) -> None:
        self._sit_down = sit_down
        self._session: QuestionInbox | None = None
        self._lock = threading.Lock()

    def answer(self, exchange: Exchange, negotiated: NegotiatedState, judge: Judge) -> None:
        with self._lock:
            self._session = self._session or self._sit_down()
        self._session.answer(exchange, negotiated, judge)

    def withdraw(self, exchange: Exchange, reason: Reason) -> None:
        """Withdraw the request from the inbox."""
        if self._session is not None:
            self._session.withdraw(exchange, reason)

    def end(self) -> None:
        if self._session is not None:
            self._session.end()


class PersonAsked:
    """A person who is asked by this program: the host is the peer of their session.

    The question is nevertheless a request of MCP (`sampling/createMessage` to a model,
    `elicitation/create` of a host's), in a version that has it. So the ordinary check judges the
    answers, and the ordinary pages show them.
    """

    def __init__(self, session: QuestionInbox, negotiated: NegotiatedState) -> None:
        """Ask at this session of the inbox. `negotiated` is what the check may rely on."""
        self.desk = session
        self.session = McpSession(Party.CLIENT)
        self.session.state.negotiated_version = versions.R2025_11
        self.session.negotiated = negotiated
        self.asked = 0

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Ask, and wait for as long as it takes.

        Returns the response, {} for what was sent and is none, and None if nothing was sent.
        """
        self.asked += 1
        question = {"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}
        line = json.dumps(question, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self.desk.record(Direction.IN, line)
        (event,) = self.session.receive(line)
        assert isinstance(event, RequestArrived)  # noqa: S101 - it is the request made above
        exchange = event.exchange
        found: list[str] = []

        def judge(text: str, form: TextForm = TextForm.RESULT, *, anyway: bool = False) -> Outcome:
            outcome = self.session.reply(exchange.number, text, form, anyway=anyway)
            if isinstance(outcome, Sent):
                self.desk.record(Direction.OUT, outcome.own.encode("utf-8", "replace"), by="person")
                found.append(outcome.own)
            return outcome

        try:
            self.desk.answer(exchange, self.session.negotiated, judge)
        except BaseException:
            self.desk.withdraw(exchange, Phrase("host", "was interrupted"))
            raise
        if not found:
            return None
        response = jsonrpc.read_text(found[0])
        return response.body if isinstance(response, Message) else {}

    def end(self) -> None:
        self.desk.end()


class ServerRecorder(ClientObserver):
    """Writes every line of a client's session into the inbox, for the desks to show.

    As in every transcript, `in` is what comes from the client: here, our own lines.
    """

    def __init__(self, session: QuestionInbox) -> None:
        self.session = session
        self.client: Client | None = None

    def of(self, client: Client) -> None:
        """Let the desk speak first through this client, and know what the client knows."""
        self.client = client
        self.session.submit = lambda text, anyway: client.submit(text, anyway=anyway)[0]
        self._describe(client)

    def _describe(self, client: Client) -> None:
        session = client.session
        self.session.describe(client.stated or session.version, session.negotiated)

    def line_sent(self, line: str) -> None:
        self.session.record(Direction.IN, line.encode("utf-8", "surrogatepass"))

    def line_arrived(self, line: bytes) -> None:
        self.session.record(Direction.OUT, line)

    def stderr_line(self, line: bytes) -> None:
        self.session.record(Direction.ERR, line)

    def http_passed(self, number: int, what: HttpPart) -> None:
        """Record what HTTP says beside the lines; it holds no keys."""
        self.session.record(Direction.NOTE, part_as_json(number, what).encode(), note=HTTP)

    def happened(self, event: Event) -> None:
        """Store the negotiated state for the desks."""
        if self.client is not None and isinstance(event, ResponseArrived):
            self._describe(self.client)

    def server_ended(self, error: EndedError) -> None:
        self.session.record(Direction.NOTE, b"", note=error.sentence())
