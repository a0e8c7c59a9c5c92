"""One session of an inbox, for the process that runs it, from its beginning to its end.

Its lines go into the transcript, its exchanges where people see them, their replies come back, and
what became of each exchange is kept. Server, tap and asked persons do all this here.

A full disk must not lose the end of an exchange: its peer has the response, so nothing says again
what became of it. What the disk refuses is owed: `catch_up` writes it, now and then, and once more
before the session ends. A line and a new exchange are refused instead: nothing may pass that is in
no transcript, and nobody waits for what no person can see.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from humanmcp.inbox.contract import InboxError, Key, StoreError
from humanmcp.protocol.conversation.decisions import DecisionChain, DecisionRecord, origin_in_words
from humanmcp.protocol.conversation.transcript import HTTP, Direction, Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Self

    from humanmcp.inbox.contract import Answer, Doorbell, Reply, ServerInbox, SessionFacts
    from humanmcp.protocol.conversation.exchange import NegotiatedState
    from humanmcp.protocol.conversation.stages import ExchangeState
    from humanmcp.protocol.diagnostics.model import Diagnostic

logger = logging.getLogger(__name__)


class Stamps:
    """Writes successive moments as UTC, ISO 8601 with milliseconds; formats each second once."""

    def __init__(self) -> None:
        self._second = -1
        self._until_the_second = ""

    def at(self, milliseconds: int) -> str:
        # `datetime` would write this as well, and costs every start a millisecond.
        second, rest = divmod(milliseconds, 1000)
        if second != self._second:
            self._until_the_second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
            self._second = second
        return f"{self._until_the_second}.{rest:03d}Z"


class TransportNote(NamedTuple):
    """A note of the transport, its time, and the request that it is about (0: none)."""

    at: str
    text: str
    number: int


class TransportNotes(Protocol):
    """The transport's notes, which the transcript stores with the next line."""

    head: str
    """What the line that was taken last came with, until it is written down."""

    def take(self) -> Iterable[TransportNote]:
        """Return the notes since the last call."""


def signed(decision: DecisionRecord, reply: Reply, taken_at: str) -> DecisionRecord:
    """Return a decision with what is known of the person's reply, which is taken now."""
    return decision._replace(
        by=reply.by,
        who=reply.who,
        device=reply.device,
        where=origin_in_words(reply.by, reply.device),
        shown=reply.shown,
        shown_at=reply.shown_at,
        sent_at=reply.at,
        taken_at=taken_at,
        anyway=reply.anyway,
    )


class InboxSession:
    """One session of an inbox, for the process that runs it. Safe to use from several threads."""

    def __init__(self, inbox: ServerInbox, facts: SessionFacts, stamp: Callable[[], str]) -> None:
        """Run a session that this process has begun, or goes on with. `stamp` is the wall clock."""
        self.inbox = inbox
        self.facts = facts
        self.stamp = stamp
        self.notes: TransportNotes | None = None
        self.decisions = DecisionChain()
        """The records of what people decided in this session."""
        self.changes = 0
        """Counts whatever happens that a person may want to see."""
        self.seq = 0
        """The number of the last frame that is no note of the transport."""
        self._last = 0
        """The number of the last frame of all."""
        self._kept_facts: tuple[SessionFacts, NegotiatedState] | None = None
        self._owed: list[tuple[str, Callable[[], object]]] = []
        self._settling: set[str] = set()
        self.ticket = ""
        """The outgoing message that is followed now: what is recorded meanwhile names it."""
        self._lock = threading.RLock()

    @classmethod
    def begin(cls, inbox: ServerInbox, facts: SessionFacts, stamp: Callable[[], str]) -> Self:
        """Begin a session.

        Raises:
            InboxError: the inbox cannot be used.
        """
        return cls(inbox, facts._replace(name=inbox.begin_session(facts)), stamp)

    @property
    def name(self) -> str:
        return self.facts.name

    def key(self, number: int) -> Key:
        """Name one exchange of this session."""
        return Key(self.facts.name, number)

    @property
    def bell(self) -> Doorbell | None:
        """What rings when a person handed something in; None where it must be looked for."""
        return self.inbox.bell(self.name)

    @property
    def negotiated(self) -> NegotiatedState:
        """What is known of both sides, as it was kept last."""
        return self.inbox.negotiated(self.name)

    def frames(self, after: int = 0) -> Iterator[Frame]:
        """Read the transcript, after the frame of this number."""
        return self.inbox.frames(self.name, after)

    # -- the transcript ---------------------------------------------------------------------------

    def record(  # noqa: PLR0913 - the parts of a frame
        self,
        direction: Direction,
        raw: bytes,
        number: int = 0,
        *,
        by: str = "",
        note: str = "",
        durable: bool = False,
        stream: int = 0,
        decision: str = "",
    ) -> None:
        """Append a line to the transcript; flush it to the disk if it must be durable.

        Raises:
            InboxError: the disk does not take it.
        """
        with self._lock:
            frames = self._noted()
            self.seq = self._last = self._last + 1
            self.changes += 1
            of_whom = (number, by, note, stream, decision, self.ticket)
            frames.append(Frame(self.seq, self.stamp(), direction, raw, *of_whom))
            if direction is Direction.IN and self.notes is not None and self.notes.head:
                frames.append(self._note(frames[-1].at, self.notes.head, number))
                self.notes.head = ""
            self.inbox.record(self.name, *frames, durable=durable)

    def _noted(self) -> list[Frame]:
        """Return the transport's notes as frames."""
        return [] if self.notes is None else [self._note(*one) for one in self.notes.take()]

    def _note(self, at: str, text: str, number: int) -> Frame:
        self._last += 1
        return Frame(self._last, at, Direction.NOTE, text.encode(), number, note=HTTP)

    def keep_notes(self) -> None:
        """Store the transport's notes, if no line has carried them."""
        frames = self._noted()
        if frames:
            try:
                self.inbox.record(self.name, *frames)
            except InboxError as error:
                logger.warning("the transcript misses what HTTP said: %s", error)

    def go_on(self, last: int) -> None:
        """Continue the frame numbers of another process."""
        self.seq = self._last = last

    def keep_facts(self, negotiated: NegotiatedState, **facts: Any) -> None:  # noqa: ANN401 - as `SessionFacts`
        """Store the facts and the negotiated state, if they changed."""
        with self._lock:
            self.facts = self.facts._replace(**facts)
            kept = (self.facts, negotiated)
            if kept == self._kept_facts:
                return
            self._kept_facts = kept
        # Newer facts may have replaced these by the time that the disk takes them.
        self.keep(
            "the facts of the session",
            lambda: self.inbox.describe(*(self._kept_facts or kept)),
        )

    # -- its exchanges ----------------------------------------------------------------------------

    def close(
        self, number: int, state: ExchangeState, answer: Answer | None = None, reason: str = ""
    ) -> None:
        self.changes += 1
        key = self.key(number)
        self.keep(
            f"the end of exchange {number}", lambda: self.inbox.close(key, state, answer, reason)
        )

    def refuse(self, number: int, diagnostics: Sequence[Diagnostic]) -> None:
        """Give a reply back to the person who sent it, with its problems."""
        key = self.key(number)
        self.keep(
            f"what is wrong with the reply to {number}",
            lambda: self.inbox.refuse(key, diagnostics),
        )

    def settle_outgoing(self, ticket: str, diagnostics: Sequence[Diagnostic]) -> None:
        self._settling.add(ticket)

        def settle() -> None:
            self.inbox.settle_outgoing(self.name, ticket, diagnostics)
            self._settling.discard(ticket)

        self.keep(f"what became of outgoing message {ticket}", settle)

    def outgoing(self) -> list[tuple[str, Reply]]:
        return [one for one in self.inbox.outgoing(self.name) if one[0] not in self._settling]

    def submissions(self) -> Sequence[tuple[Key | str, Reply]]:
        """Return the replies and outgoing messages that people submitted, oldest first.

        Of one moment, what was said before what ends it: whatever was submitted before a reply is
        there by the time that replies have been taken.
        """
        replies = self.inbox.take_replies(self.name)  # first: see above
        return sorted([*self.outgoing(), *replies], key=lambda one: one[1].at)

    # -- what people decided ----------------------------------------------------------------------

    def decided(self, decision: DecisionRecord, reply: Reply) -> str:
        """Return the record of a decision, with what is known of the person's reply."""
        with self._lock:
            record = self.decisions.add(signed(decision, reply, self.stamp()))
            chain = self.decisions
            self.facts = self.facts._replace(decisions=chain.number, last_decision=chain.last)
        return record

    def take_back(self, record: str) -> None:
        """Forget the last record of a decision: it is in no transcript, and nothing went out."""
        found = json.loads(record)
        with self._lock:
            chain = self.decisions = DecisionChain(found["number"] - 1, found["previous"])
            last = chain.last if chain.number else ""
            self.facts = self.facts._replace(decisions=chain.number, last_decision=last)

    # -- what the disk refuses, and the end -------------------------------------------------------

    def keep(self, what: str, write: Callable[[], object]) -> None:
        """Change the inbox now, or later if the disk refuses it."""
        error = self._try(what, write)
        if error is not None:
            logger.warning("not kept yet: %s: %s", what, error)

    def _try(self, what: str, write: Callable[[], object]) -> StoreError | None:
        """Change the inbox, or queue the change. Return the disk's error, if any."""
        try:
            write()
        except StoreError as error:
            with self._lock:
                self._owed.append((what, write))
            return error
        except InboxError as error:
            logger.warning("not kept: %s: %s", what, error)
        return None

    def catch_up(self) -> None:
        """Retry the changes that the disk refused."""
        if not self._owed:
            return
        with self._lock:
            owed, self._owed = self._owed, []
        for what, write in owed:
            self._try(what, write)

    def end(self, *, to_others: bool = False) -> InboxError | None:
        """Close the session: what is still pending becomes abandoned. Return why it cannot be.

        Left `to_others` it stays as it is.
        """
        self.catch_up()
        try:
            (self.inbox.leave_session if to_others else self.inbox.end)(self.name)
        except InboxError as error:
            logger.warning("the session cannot be closed in order: %s", error)
            return error
        return None
