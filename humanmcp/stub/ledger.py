"""What the stub writes down: the transcript, the inbox, and what goes onto the wire.

Every line is in the transcript before anything reacts to it, and nothing goes onto the wire but
through `write`. Trouble with the disk is logged and does not keep a person's answer back.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from humanmcp.inbox.contract import InboxError, Key
from humanmcp.protocol.transcript import Frame, Way

if TYPE_CHECKING:
    from humanmcp.inbox.contract import Answer, Inbox, SessionFacts
    from humanmcp.protocol.exchange import Exchange
    from humanmcp.protocol.session import Session
    from humanmcp.stub.clock import Clock
    from humanmcp.stub.vigil import Vigil
    from humanmcp.stub.wire import Wire

logger = logging.getLogger(__name__)


class Ledger:
    """One session's entries in the inbox, and its lines on the wire."""

    def __init__(self, wire: Wire, inbox: Inbox, facts: SessionFacts, clock: Clock) -> None:
        """Begin with an empty transcript."""
        self.wire = wire
        self.inbox = inbox
        self.facts = facts
        self.clock = clock
        self._seq = 0
        self._told: object = None

    @property
    def name(self) -> str:
        """The session's name in the inbox."""
        return self.facts.name

    def key(self, number: int) -> Key:
        """Name one exchange of this session."""
        return Key(self.facts.name, number)

    def record(  # noqa: PLR0913 - the parts of a frame
        self,
        way: Way,
        raw: bytes,
        number: int = 0,
        *,
        by: str = "",
        note: str = "",
        durable: bool = False,
    ) -> None:
        """Put a line into the transcript, onto the disk itself when it must be durable.

        Raises:
            InboxError: the disk does not take it.
        """
        self._seq += 1
        frame = Frame(self._seq, self.clock.stamp(), way, raw, number, by, note)
        self.inbox.record(self.name, frame, durable=durable)

    def write(self, line: str, number: int = 0, *, by: str = "", note: str = "") -> None:
        """Put a checked line into the transcript and onto the wire."""
        raw = line.encode("utf-8", "replace")
        try:
            self.record(Way.OUT, raw, number, by=by, note=note)
        except InboxError:
            logger.exception("the transcript misses a line that was written")
        self.wire.put(raw)

    def close(self, exchange: Exchange, answer: Answer | None = None, reason: str = "") -> None:
        """Move an exchange to its last state in the inbox."""
        try:
            self.inbox.close(self.key(exchange.number), exchange.state, answer, reason)
        except InboxError:
            logger.exception("exchange %s cannot be closed in the inbox", exchange.number)

    def update(self, exchange: Exchange, vigil: Vigil) -> None:
        """Tell the desks how an exchange waits now, and under which id."""
        try:
            self.inbox.update(
                self.key(exchange.number),
                line=exchange.request.raw,
                id=exchange.id.token,
                waiting=vigil.waiting(),
            )
        except InboxError:
            logger.exception("exchange %s cannot be updated in the inbox", exchange.number)

    def describe(self, session: Session) -> None:
        """Tell the desks what has become known of the conversation, when it has changed."""
        known = session.known
        self.facts = replace(
            self.facts,
            client=known.client_name,
            client_version=known.client_version,
            revision=session.revision if session.exchanges else "",
        )
        if (self.facts, known) == self._told:
            return
        self._told = (self.facts, known)
        try:
            self.inbox.describe(self.facts, known)
        except InboxError:
            logger.exception("the facts of the session cannot be kept")

    def end(self) -> None:
        """Close the session in the inbox: what is still pending becomes abandoned."""
        try:
            self.inbox.end(self.name)
        except InboxError:
            logger.exception("the session cannot be closed in order")
