"""Pairs in a room: one seat is the model, another one the server, and the room is the host.

Theory of operation. The host stands between two sessions, each in the inbox of its seat, and says
one thing at a time:

    state     whose turn    what ends it
    greeting  the server    `initialize` and `tools/list` have answers that a host can use
    asking    the model     a text: the next question of the user; a tool call: calling
    calling   the server    each call has its answer: asking
    over      nobody        the last question has its text, or the pair was parted

What one seat sends the other gets as it was written: tools, arguments and content are copied from
the message, never made anew. What each side was sent and what it answered is in the transcripts of
the two sessions before the other side hears of it, so `Pair.go_on` reads there where it was, after
a kill too. No third seat is known here.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.common.timestamps import now as stamp
from humanmcp.extensions.classroom.demo.good_host import Answered, Failed, GoodHost, WasAsked
from humanmcp.extensions.classroom.demo.steps import INITIALIZE, initialized, tells_of_tools
from humanmcp.inbox.attendant import PollSchedule
from humanmcp.inbox.contract import (
    Answer,
    Draft,
    Item,
    Key,
    Role,
    SessionFacts,
    StoreError,
    UnknownItemError,
    Waiting,
)
from humanmcp.inbox.inbox_session import InboxSession
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.outcomes import Refused, Sent
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity
from humanmcp.protocol.json.jsonrpc import Message, encoded, read, read_text
from humanmcp.protocol.json.tree import array_at, follow
from humanmcp.protocol.session import McpSession, Party
from humanmcp.protocol.tables import versions
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.rules.sampling import TEXT_ONLY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from humanmcp.inbox.contract import Inbox, Reply
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.json.jsonrpc import DecodedLine, JsonObject
    from humanmcp.server.memory_connection import MemoryConnection, SentLine

_log = logging.getLogger(__name__)

PAIR_HOST: Final = "humanmcp pair host"
"""The name of the host between two seats."""
ASK: Final = "sampling/createMessage"
"""MCP's word for a model's turn. Its version 2025-11-25 knows tools."""
MAX_TOKENS: Final = 4096
QUESTIONS: Final = 2
"""The number of questions of the user: `pair.question 1` and so on."""
NO_PEER: Final = "R23"
"""The problem that there is nobody to send it to: who is the model only answers."""
_ASKS_AGAIN: Final = 0.2
"""Seconds between two looks whether the process that ran a session has let go of it."""


_HELLO: Final = {**INITIALIZE, "clientInfo": {"name": PAIR_HOST, "version": "1.0.0"}}


class _Wanted(NamedTuple):
    """A request for the server. `call` is the id that the model gave a tool call."""

    method: str
    params: JsonObject
    call: Any = None


class PairTalk:
    """What the host says next, to whom. It knows no clock and no inbox."""

    def __init__(self, questions: Sequence[str]) -> None:
        self._host = GoodHost()
        self._questions = deque(questions)
        self._messages = [_said_by_user(self._questions.popleft())]
        self._tools: list[JsonObject] = []
        self._lines: deque[str] = deque()
        """Notifications, and answers to what the server asks."""
        self._wanted = deque([_Wanted("initialize", _HELLO)])
        self._asked: _Wanted | None = None
        self._results: list[JsonObject] = []
        self.waits_for_model = False
        self.is_over = False
        """The last question has its text."""

    def next_line(self) -> str:
        """Return the next line for the server; "" if somebody else has to say something."""
        if self._lines:
            return self._lines.popleft()
        if self._asked or self.waits_for_model or not self._wanted:
            return ""
        self._asked = self._wanted.popleft()
        return self._host.ask(self._asked.method, self._asked.params).raw

    def next_turn(self) -> JsonObject | None:
        """Return the parameters of the model's next turn; None if it is not its turn."""
        if self._asked or self._wanted or self.waits_for_model or self.is_over:
            return None
        self.waits_for_model = True
        tools = {"tools": self._tools} if self._tools else {}
        return {"messages": list(self._messages), "maxTokens": MAX_TOKENS, **tools}

    def hear_server(self, line: bytes) -> None:
        """Take a line of the server."""
        for reaction in self._host.take(line):
            match reaction:
                case Answered() | Failed():
                    self._settle(reaction)
                case WasAsked(_, answer):
                    self._lines.append(answer)
                case _ if tells_of_tools(reaction):
                    self._wanted.appendleft(_Wanted("tools/list", {}))
                case _:
                    pass

    def _settle(self, reaction: Answered | Failed) -> None:
        asked, self._asked = self._asked, None
        if asked is None:
            return
        body = reaction.message.body
        if asked.method == "tools/call":
            self._results.append(_result_of(body, asked.call))
            if not any(one.method == asked.method for one in self._wanted):
                self._messages.append({"role": "user", "content": self._results})
                self._results = []
        elif isinstance(reaction, Failed) or "result" not in body:
            self._wanted.appendleft(asked)  # what a host cannot use it asks for again
        elif asked.method == "initialize":
            self._lines.append(initialized("en").line)
            self._wanted.append(_Wanted("tools/list", {}))
        else:
            listed = array_at(body, "result", "tools")
            self._tools = [one for one in listed if isinstance(one, dict)]

    def hear_model(self, response: JsonObject) -> None:
        """Take the model's answer. Without content, the same turn is asked for again."""
        self.waits_for_model = False
        content = follow(response, "result", "content")
        if content is None:
            return
        self._messages.append({"role": "assistant", "content": content})
        parts = content if isinstance(content, list) else [content]
        calls = [one for one in parts if follow(one, "type") == "tool_use"]
        for one in calls:
            params = {"name": one.get("name"), "arguments": one.get("input", {})}
            self._wanted.append(_Wanted("tools/call", params, one.get("id")))
        if not calls and self._questions:
            self._messages.append(_said_by_user(self._questions.popleft()))
        elif not calls:
            self.is_over = True


def _said_by_user(text: str) -> JsonObject:
    return {"role": "user", "content": {"type": "text", "text": text}}


def _result_of(body: JsonObject, call: Any) -> JsonObject:  # noqa: ANN401 - any JSON value
    """Return the answer to a call as the model gets it; a refusal as a text."""
    result = {"type": "tool_result", "toolUseId": call}
    content = follow(body, "result", "content")
    if isinstance(content, list):
        is_error = {"isError": True} if follow(body, "result", "isError") is True else {}
        return {**result, "content": content, **is_error}
    text = json.dumps(body.get("error", body.get("result")), ensure_ascii=False)
    return {**result, "content": [{"type": "text", "text": text}], "isError": True}


def _body(line: str) -> JsonObject:
    message = read_text(line)
    return message.body if isinstance(message, Message) else {}


class ModelSide:
    """The model's session, in the inbox of its seat."""

    def __init__(self, inbox: Inbox, name: str) -> None:
        """Begin a session, or go on with the one of this name.

        Raises:
            InboxError: the inbox cannot be used, or another process still runs the session.
        """
        self._mcp = McpSession(Party.CLIENT)
        self._mcp.state.negotiated_version = versions.R2025_11
        self._mcp.negotiated = NegotiatedState(
            TEXT_ONLY, client_capabilities={"sampling": {"tools": {}}}, initialized=True
        )
        self.answered: deque[JsonObject] = deque()
        """The answers of which the host has not heard yet."""
        self._unkept: Callable[[], object] | None = None
        """Keeps the answer that the disk refused: nobody hears of it before. Its reply is in the
        inbox until then, so the next process takes it again."""
        facts, waiting = inbox.resume(name) if name else (_model_facts(), ())
        begin = InboxSession if name else InboxSession.begin
        self.session = begin(inbox, facts, stamp)
        self.session.keep_facts(self._mcp.negotiated, protocol_version=versions.R2025_11)
        for frame in self.session.frames() if name else ():
            self.session.go_on(frame.seq)
            self._retell(frame, waiting)
        self._is_there = bool({*waiting} & {one.number for one in self._mcp.pending})

    def _retell(self, frame: Frame, waiting: Sequence[int]) -> None:
        """Hear a line again: the transcript has each before anything else has."""
        if frame.direction is Direction.IN:
            self._mcp.receive(frame.raw)
        elif frame.direction is Direction.OUT:
            self._mcp.reply_with_line(frame.number, frame.text)
            self.answered.append(_body(frame.text))
            if frame.number in waiting:
                answer = Answer(frame.text, frame.by, frame.at)
                self.session.close(frame.number, ExchangeState.ANSWERED, answer)

    def ask(self, params: JsonObject, language: str) -> None:
        """Put a turn into the inbox, unless it was answered, and the disk has not kept that yet.

        Raises:
            InboxError: it cannot be stored.
        """
        if self._unkept is not None:
            return
        if not self._mcp.pending:
            number = self._mcp.exchanges.last + 1
            question = {"jsonrpc": "2.0", "id": number, "method": ASK, "params": params}
            line = encoded(json.dumps(question, ensure_ascii=False))
            self.session.record(Direction.IN, line, number)
            self._mcp.receive(line)
        if not self._is_there:  # also where the process before was killed between the two
            self.session.inbox.deliver(self._item(self._mcp.pending[0], language))
            self._is_there = True

    def _item(self, exchange: Exchange, language: str) -> Item:
        draft = check.start(exchange, self._mcp.negotiated, language)
        return Item(
            key=self.session.key(exchange.number),
            line=exchange.request.raw,
            method=exchange.method,
            id=exchange.id.token,
            protocol_version=exchange.version,
            arrived=stamp(),
            draft=Draft(draft, by="humanmcp", at=stamp()),
            waiting=Waiting(source="unknown"),  # a host of a room waits as long as people need
        )

    def take(self) -> None:
        """Take what the person of the seat has sent."""
        self.session.catch_up()
        if self._unkept is not None:
            self._keep(self._unkept)
        for mark, reply in self.session.submissions():
            if isinstance(mark, str):
                self.session.settle_outgoing(mark, (Diagnostic(NO_PEER, Severity.ERROR),))
            elif self._mcp.exchanges.get(mark.number) in self._mcp.pending:
                self._judge(mark.number, reply)

    def _judge(self, number: int, reply: Reply) -> None:
        outcome = self._mcp.reply(number, reply.text, reply.form, anyway=reply.anyway)
        if isinstance(outcome, Refused):
            self.session.refuse(number, outcome.verdict.diagnostics)
        elif isinstance(outcome, Sent):
            self._keep(partial(self._answer, number, outcome, reply.by))

    def _keep(self, write: Callable[[], object]) -> None:
        """Keep an answer now, or with the next look if the disk refuses it."""
        self._unkept = write
        try:
            write()
        except StoreError as error:
            _log.warning("an answer of the model waits: %s", error)
        else:
            self._unkept = None

    def _answer(self, number: int, sent: Sent, by: str) -> None:
        self.session.record(Direction.OUT, encoded(sent.own), number, by=by)
        answer = Answer(sent.own, by, stamp(), sent.deliberate)
        self.session.close(number, ExchangeState.ANSWERED, answer)
        self.answered.append(_body(sent.own))
        self._is_there = False


def _model_facts() -> SessionFacts:
    return SessionFacts(
        name="", started=stamp(), role=Role.MODEL, pid=os.getpid(), client=PAIR_HOST
    )


class ServerSide(NamedTuple):
    """The server's session, in the inbox of its seat; another one attends to it."""

    inbox: Inbox
    session: str
    connection: MemoryConnection

    def frames(self) -> Iterator[Frame]:
        """Yield what was said, each answer behind its request.

        An answer whose line the disk refused stands further below, or is in the inbox alone. A
        request whose line it refused was answered with an error, and is nowhere: what stands for it
        has no text of its own.
        """
        said = [
            one
            for one in self.inbox.frames(self.session)
            if one.direction is Direction.OUT or not one.note
        ]
        asked = {one.number for one in said if one.direction is Direction.IN}
        outgoing = (one for one in said if one.direction is Direction.OUT and one.number)
        answers = {one.number: one for one in outgoing if _is_answer(read(one.raw))}
        for frame in said:
            is_request = frame.direction is Direction.IN
            if not is_request and answers.get(frame.number) is not frame:
                yield frame
            elif is_request or frame.number not in asked:
                yield frame._replace(direction=Direction.IN)
                answer = answers.get(frame.number)
                if answer is None and (item := self._item(frame.number)) and item.answer:
                    raw = encoded(item.answer.line)
                    answer = frame._replace(direction=Direction.OUT, raw=raw)
                if answer is not None:
                    yield answer

    def is_kept(self, heard: SentLine) -> bool:
        """Return True if the process after this one will know this line, too."""
        item = self._item(heard.related_to) if _is_answer(read(heard.content)) else None
        return item is None or item.state is not ExchangeState.PENDING

    def _item(self, number: int) -> Item | None:
        with suppress(UnknownItemError):
            return self.inbox.item(Key(self.session, number))
        return None


def _is_answer(read: DecodedLine) -> bool:
    return isinstance(read, Message) and read.kind.is_answer


def _has_id(read: DecodedLine) -> bool:
    return isinstance(read, Message) and read.id is not None


class Pair:
    """The host between two seats. An `Attended`; the other methods may be called from any thread.

    `noted` is called with the name of the model's session, which must be kept.
    """

    def __init__(
        self,
        talk: PairTalk,
        server: ServerSide,
        model: Callable[[], ModelSide],
        noted: Callable[[str], object],
        language: str,
    ) -> None:
        self._talk, self._server, self._model = talk, server, model
        self._connection = server.connection
        self._told = tuple(server.frames())
        self._heard: SentLine | None = None
        self._noted, self._language = noted, language
        self._side: ModelSide | None = None
        self._wake: Callable[[], object] = lambda: None
        self._schedule: PollSchedule | None = None
        self._is_parted = False
        self._turn: JsonObject = {}
        self.on_turn: Callable[[], object] = lambda: None
        """Called when it is another one's turn, or over."""

    @property
    def turn(self) -> str:
        """Whose turn it is: "model", "server", or "over"; "" before the transcripts were read."""
        if self._schedule is None:
            return ""
        if self._talk.is_over:
            return "over"
        return "model" if self._talk.waits_for_model else "server"

    def part(self) -> None:
        """End both sessions."""
        self._is_parted = True
        self._wake()

    # -- attended -------------------------------------------------------------------------------

    def begin_steps(self, wake: Callable[[], object]) -> None:
        """Be woken by each line of the server, and by the bell of the model's session."""
        self._wake = self._connection.on_line = wake

    def step(self, now: float) -> float | None:
        """Hand over what each side has said."""
        if self._is_parted:
            return None
        try:
            return self._talked(now)
        except StoreError as error:  # the disk, or the process before holds a session
            _log.info("a pair waits: %s", error)
            return now + _ASKS_AGAIN

    def _talked(self, now: float) -> float:
        before = self.turn
        side, schedule = self._begun()
        if schedule.desks_are_due(now):
            side.take()
            schedule.desks_were_seen(now, time.monotonic(), waiting=self._talk.waits_for_model)
        while (heard := self._heard or self._connection.hear()) is not None:
            self._heard = heard
            if not self._server.is_kept(heard):
                return now + _ASKS_AGAIN
            self._heard = None
            self._talk.hear_server(heard.content)
        self._advance(side)
        if self.turn != before:
            self.on_turn()
        return schedule.next_desks

    def leave(self) -> None:
        """End what was parted; leave any other to the next process."""
        if self._side is not None:
            self._side.session.end(to_others=not self._is_parted)
        if self._is_parted:
            self._connection.hang_up()

    def _begun(self) -> tuple[ModelSide, PollSchedule]:
        """Return the model's side, where the transcripts end.

        Raises:
            StoreError: the process before still holds it, or the disk refuses its name.
        """
        side = self._side = self._side or self._model()
        if self._schedule is not None:
            return side, self._schedule
        self._noted(side.session.name)
        schedule = self._schedule = PollSchedule(side.session.bell)
        schedule.listen(self._wake)
        for frame in self._told:
            if frame.direction is Direction.OUT:
                self._talk.hear_server(frame.raw)
            elif frame.direction is Direction.IN:
                self._retell(side, frame.raw)
        self._told = ()
        return side, schedule

    def _retell(self, side: ModelSide, said: bytes) -> None:
        """Say a line again that the server has: each answer of the model before it is known.

        A notification before it whose line the disk refused was said, too.
        """
        while (line := self._talk.next_line()) or self._is_answered(side):
            if line and (encoded(line) == said or _has_id(read_text(line))):
                return

    def _is_answered(self, side: ModelSide) -> bool:
        """Hand over the model's answer, if it is its turn and has one."""
        self._turn = self._talk.next_turn() or self._turn
        if not (self._talk.waits_for_model and side.answered):
            return False
        self._talk.hear_model(side.answered.popleft())
        return True

    def _advance(self, side: ModelSide) -> None:
        """Say what there is to be said, until a person has to say something."""
        is_new = True
        while is_new:
            while line := self._talk.next_line():
                self._connection.say(encoded(line))
            is_new = self._is_answered(side)
        if self._talk.waits_for_model:
            side.ask(self._turn, self._language)
