"""What the server writes down: the transcript, the inbox, and what goes onto the wire.

Every line is in the transcript before anything reacts to it, and nothing goes onto the wire but
through `write`. Trouble with the disk is logged and does not keep a person's answer back; what it
did not take is written when there is room again.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

from humanmcp.inbox import records
from humanmcp.inbox.client_seconds import ClientSeconds
from humanmcp.inbox.contract import Answer, InboxError, NotHeldError, Order, Reply
from humanmcp.inbox.inbox_session import InboxSession, Stamps
from humanmcp.protocol.conversation.approvals import action_of, permission_in
from humanmcp.protocol.conversation.decisions import DecisionRecord, sha256
from humanmcp.protocol.conversation.exchange import kind_of_tool
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import DECIDED, DELIBERATE, ON_PURPOSE, Direction
from humanmcp.protocol.json.jsonrpc import object_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from humanmcp.inbox.contract import Key, ServerInbox, SessionFacts, Waiting
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.conversation.outcomes import Sent
    from humanmcp.protocol.session import McpSession
    from humanmcp.server.connection import Connection

logger = logging.getLogger(__name__)


BY_US: Final = "humanmcp"
"""Who wrote a line that neither a person nor the book decided: progress, a retry keepalive."""

RETRY: Final = "retry"
"""The note of a line that asks the client to repeat its request."""

PARKED: Final = "parked"
"""The note of a response that parks its call: a person goes on with it (`parking.py`)."""

QUIET: Final = "quiet"
"""Why an exchange ended whose client was asked to repeat its request, and did not."""

CUT_OFF: Final = "the server began again, and the stream was cut"
"""The note of a request whose client may ask the same again."""

ASKS: Final = b'"input_required"'
"""In a result of 2026-07-28 that asks back: the client's reaction to it is shown."""

DELIBERATE_BYTES: Final = f"{DELIBERATE} bytes"
DELIBERATE_UNENDED: Final = f"{DELIBERATE} bytes, no line end"
"""The notes of a frame that nothing was checked in: all of it was typed."""


class Clock:
    """Real time. Tests put another one in its place."""

    def __init__(self) -> None:
        self._stamps = Stamps()

    def now(self) -> float:
        """Seconds of a clock that only ever rises: for waiting and for limits."""
        return time.monotonic()

    def since(self, stamp: str) -> float:
        """Return how many seconds ago a stamp was written.

        Raises:
            ValueError: it is no stamp.
        """
        from datetime import datetime  # noqa: PLC0415 - seldom wanted, and slow to load

        past, now = datetime.fromisoformat(stamp), datetime.fromisoformat(self.stamp())
        return (now - past).total_seconds()

    def time_of_day(self, ahead: float = 0.0) -> str:
        """Return the local time of day so many seconds from now, as on a person's own clock."""
        return time.strftime("%H:%M:%S", time.localtime(time.time() + ahead))

    def stamp(self) -> str:
        """Return the wall clock in UTC, ISO 8601 with milliseconds: for people to read."""
        return self._stamps.at(time.time_ns() // 1_000_000)


class Journal(InboxSession):
    """One session's entries in the inbox, and its lines on the wire."""

    def __init__(
        self,
        connection: Connection,
        inbox: ServerInbox,
        facts: SessionFacts,
        clock: Clock,
        home: Path,
    ) -> None:
        super().__init__(inbox, facts, clock.stamp)
        self.connection = connection
        self.notes = connection.notes
        self.clock = clock
        self.limits = ClientSeconds(home)
        self.call_limits = ClientSeconds(home, records.CALL_LIMITS)
        self.graces = ClientSeconds(home, records.GRACE)
        self._on_the_way: dict[int, tuple[ExchangeState, Answer]] = {}
        """The exchanges whose responses are not written yet, or never will be."""
        self.recorded: Mapping[Key, str] = {}
        """The records of answers by the process before that wait for the rest of their batch."""
        self.begun = b""
        """The beginning of a line that a person wrote, and whose end is still to come."""
        self.related_to: Callable[[str], int] = lambda _line: 0
        """Returns the request that a line belongs to which is not a response, 0 for none."""
        self.last_spoken_seq = 0
        """The number of the last line whose client reaction is shown, 0 for none."""

    def decision_of(
        self, key: Key, answered: Sent, author: Reply | str, negotiated: NegotiatedState
    ) -> str:
        """Return the record of who decided what; "" for an answer that needs none.

        Each answer of a person has one, and each to a question or a permission prompt.
        """
        exchange, tools = answered.exchange, negotiated.known_tools
        is_asked = exchange.method == "tools/call" and bool(kind_of_tool(exchange.tool, tools))
        if isinstance(author, str) and (author == BY_US or not is_asked):
            return ""
        reply = Reply("", by=author, at=self.clock.stamp()) if isinstance(author, str) else author
        own = answered.own
        action = action_of(exchange, own, tools, deliberate=answered.deliberate)
        decision = DecisionRecord(*key, exchange.method, exchange.request.raw, own, action=action)
        return self.decided(decision, reply)

    def write_answer(  # noqa: PLR0913 - an answer, and who gave it
        self,
        key: Key,
        sent: Sent,
        author: Reply | str,
        negotiated: NegotiatedState,
        line: str | bytes | None = None,
        *,
        note: str = "",
    ) -> Answer:
        """Record and send an answer that passed, with the record of the decision, once.

        `author` is the reply of a person, or who answered instead of one. `line` goes out where the
        recorded answer was a malformed line. An answer without one goes out later: with its batch,
        or when the client of a parked call asks for it.
        """
        by = author if isinstance(author, str) else author.by
        before = self.recorded.get(key, "")
        if before and object_in(before).get("answered") != sha256(sent.own):
            before = ""
        made = "" if before else self.decision_of(key, sent, author, negotiated)
        said = sent.line if line is None else line
        if sent.line is not None and said is not None:
            number = key.number
            self.write(said, number, by=by, note=note, decision=made, receipt=number)
        elif made:
            self._note_decision(made, by)
        action = permission_in(before or made)
        return Answer(sent.own, by, self.clock.stamp(), sent.deliberate, action=action)

    def _note_decision(self, decision: str, by: str) -> None:
        try:
            self.record(Direction.NOTE, b"", by=by, note=DECIDED, decision=decision, durable=True)
        except InboxError as error:
            logger.warning("the transcript misses a decision: %s", error)

    def cannot_read_last(self) -> None:
        """Count the last recorded line as unreadable."""
        unreadable = self.facts.unreadable + 1
        self.facts = self.facts._replace(unreadable=unreadable, unreadable_at=self.seq)

    def write(  # noqa: PLR0913 - all that is said of a line
        self,
        line: str | bytes,
        number: int = 0,
        *,
        by: str = "",
        note: str = "",
        decision: str = "",
        receipt: int = 0,
        is_raw: bool = False,
    ) -> None:
        """Record and send a checked line; bytes are a deliberate fault, or raw: as they are.

        `decision` is the record of the person's decision that it goes out by; `receipt` the number
        of the exchange that `close_answered` closes once the line is written. Nothing is sent if
        another process owns the session now.
        """
        raw = line if isinstance(line, bytes) else line.encode("utf-8", "replace")
        stream = 0 if number or isinstance(line, bytes) else self.related_to(line)
        kept = raw.removesuffix(b"\n") if is_raw else raw
        try:
            self.record(
                Direction.OUT, kept, number, by=by, note=note, stream=stream, decision=decision
            )
        except NotHeldError as error:
            logger.warning("nothing more is sent: %s", error)
            return
        except InboxError as error:
            logger.warning("the transcript misses what was written: %s", error)
        if note or not number or by == BY_US or ASKS in raw:
            self.last_spoken_seq = self.seq
        if is_raw:
            self.connection.send_raw(raw)
            self.begun = (self.begun + raw).rpartition(b"\n")[2]
        else:
            deliberate, related = isinstance(line, bytes), number or stream
            self.connection.send(raw, related_to=related, deliberate=deliberate, receipt=receipt)
            self.begun = b""

    def write_raw(self, content: bytes, *, by: str, decisions: Sequence[str] = ()) -> None:
        """Record and send raw bytes, unchanged, with the decisions about the answers in them.

        No check has seen them: this is how a client is tested with what no server should write.
        """
        note = DELIBERATE_BYTES if content.endswith(b"\n") else DELIBERATE_UNENDED
        for decision in decisions[:-1]:
            self._note_decision(decision, by)
        self.write(content, by=by, note=note, decision="".join(decisions[-1:]), is_raw=True)

    def note_order(self, reply: Reply) -> None:
        """Record what a person ordered."""
        first = "" if reply.order is Order.EXTENSION else reply.order.value
        what = f"{first} {reply.text}".strip()
        self.record(Direction.NOTE, b"", by=reply.by, note=f"{ON_PURPOSE}{what[:400]}")

    def close_answered(
        self, number: int, state: ExchangeState, answer: Answer, *, by_person: bool, in_batch: bool
    ) -> None:
        """Close an exchange once there is a receipt for its response, if one was asked for.

        Until then it is on its way: nobody is told that it was sent, should this process die now.
        There is none for an answer in a batch. Over HTTP a client may come for its response in
        hours: only a person is told of that.
        """
        if in_batch or (self.facts.http.port and not by_person):
            self.close(number, state, answer)
        else:
            self._on_the_way[number] = (state, answer)
            self.close_written()

    def close_written(self) -> None:
        """Close the exchanges whose responses are written by now.

        What is never written stays open: the session ends in a moment, or its client comes again.
        A client that cannot come again is gone: nobody knows whether it has the response.
        """
        for number, is_written in self.connection.receipts():
            if number in self._on_the_way and is_written:
                self.close(number, *self._on_the_way.pop(number))
            elif number in self._on_the_way and self.facts.http.visitor:
                self.close(number, ExchangeState.ABANDONED)

    def is_on_the_way(self, number: int) -> bool:
        """Return True if the response of an exchange is not written yet, or never will be."""
        return number in self._on_the_way

    def update(self, exchange: Exchange, waiting: Waiting) -> None:
        """Update the waiting state of an exchange in the inbox."""
        self.changes += 1
        key, line, token = self.key(exchange.number), exchange.request.raw, exchange.id.token
        self.keep(
            f"how exchange {exchange.number} waits",
            lambda: self.inbox.update(key, line=line, id=token, waiting=waiting),
        )

    def describe(self, session: McpSession, **more: Any) -> None:  # noqa: ANN401 - as `SessionFacts`
        """Update the session's facts in the inbox, if they changed."""
        negotiated = session.negotiated
        self.keep_facts(
            negotiated,
            client=negotiated.client_name,
            client_version=negotiated.client_version,
            protocol_version=session.agreed,
            **more,
        )
