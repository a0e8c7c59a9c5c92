"""What people hand in at the desks: replies, what they say first, and what they ask of the server.

One order a session: what was handed in first goes out first. An order is for testing what a client
does with a server that is wrong; each stands in the transcript.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, assert_never

from humanmcp.inbox.contract import Key, Order, Reply
from humanmcp.protocol.conversation.approvals import DIGEST, allowed, approval_of, denied
from humanmcp.protocol.conversation.transcript import DELIBERATE, ON_PURPOSE, Direction
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.rules.answer_book import LISTED
from humanmcp.server.text_files.out_txt import note

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.protocol.rules.rule import DefinitionChange
    from humanmcp.server.exchanges import ExchangeHandler

logger = logging.getLogger(__name__)

KNOWN: Final = (
    "allow DIGEST, deny DIGEST REASON, "
    "silence on, silence off, progress on, progress off, exit STATUS, crash, http FAULT, "
    "park NUMBER, status NUMBER WORDS"
)
"""The words that `out.do.txt` may hold."""


class HandedIn:
    """Carries out what people submit, in order."""

    def __init__(self, handler: ExchangeHandler, leave: Callable[[int], None]) -> None:
        """Read from the journal's inbox. `leave` ends the session with a status."""
        self._session = handler.session
        self._journal = handler.journal
        self._handler = handler
        self._keepalive = handler.keepalive
        self._leave = leave

    def look(self) -> bool:
        """Carry out what people submitted since the last call. Return True if there was any."""
        inbox, name = self._journal.inbox, self._journal.name
        found = False
        for key, draft in inbox.drafts(name):
            found = True
            self._handler.drafted(key.number, draft)
        for mark, reply in self._journal.handed_in():
            found = True
            if isinstance(mark, Key):
                self._handler.reply(mark.number, reply)
            else:
                self._hear(mark, reply)
        return found

    def do(self, words: bytes) -> str:
        """Carry out the orders of `out.do.txt`. Return why one is impossible, or ""."""
        from humanmcp.inbox.ordering import not_understood  # noqa: PLC0415 - seldom wanted

        for line in words.decode("utf-8", "replace").split("\n"):
            name, _, text = line.strip().partition(" ")
            if not name:
                continue
            if name in ("allow", "deny"):
                if not self._decide(name, text):
                    return note("no prompt", line=line)
                continue
            try:
                order = Order(name)
            except ValueError:
                return note("no order", line=line, known=KNOWN)
            code = not_understood(order, text.strip())
            if code or order in (Order.SAY, Order.RAW, Order.DEFINITION):
                return note("no order", line=line, known=KNOWN)
            self._follow(Reply(text.strip(), by="files", order=order))
            if order is Order.CRASH:
                self._journal.connection.crash()
        return ""

    def _decide(self, name: str, text: str) -> bool:
        """Allow or deny the permission prompt whose digest is named. Return False if none is."""
        from humanmcp.answering.approvals import card_of  # noqa: PLC0415 - seldom wanted

        digest, _, reason = text.strip().partition(" ")
        tools = self._session.negotiated.tools
        for exchange in self._session.pending:
            approval = approval_of(exchange.request.raw, exchange.request, tools)
            if approval is None or not approval.digest or approval.digest[:DIGEST] != digest:
                continue
            closed = approval.problem or approval.questions or card_of(approval).is_long
            if name == "allow" and closed:
                return False
            words = denied(reason) if name == "deny" else allowed(approval)
            reply = Reply(words, TextForm.TEXT, by="files", shown=approval.digest)
            self._handler.reply(exchange.number, reply)
            return True
        return False

    def _hear(self, ticket: str, reply: Reply) -> None:
        if reply.order is Order.SAY:
            self._say(ticket, reply)
            return
        self._follow(reply)
        self._journal.settle(ticket, ())
        if reply.order is Order.CRASH:
            self._journal.connection.crash()

    def _follow(self, reply: Reply) -> None:
        match reply.order:
            case Order.RAW:
                self._write_raw(reply)
            case Order.PROGRESS:
                self._keepalive.progress = reply.text != "off"
                self._handler.look_again()
            case Order.SILENCE:
                self._keepalive.silent = reply.text != "off"
                self._handler.look_again()
            case Order.DEFINITION:
                self._change_definition(reply)
            case Order.EXIT:
                self._leave(_status(reply.text))
            case Order.HTTP:
                self._carry_wrongly(reply.text)
            case Order.PARK | Order.STATUS:
                number, _, words = reply.text.partition(" ")
                self._handler.parked.order(reply.order, int(number), words.strip())
            case Order.CRASH | Order.SAY:
                pass
            case impossible:
                assert_never(impossible)
        if reply.order not in (Order.RAW, Order.DEFINITION):
            self._note(reply)

    def _say(self, ticket: str, reply: Reply) -> None:
        verdict = self._session.submit(reply.text, anyway=reply.anyway)
        line = verdict.line or (verdict.forced if reply.anyway else None)
        if line is not None:
            self._journal.write(line, by=reply.by, note="" if verdict.sendable else DELIBERATE)
            self._handler.leave_progress()
        self._journal.settle(ticket, () if line is not None else verdict.diagnostics)

    def _write_raw(self, reply: Reply) -> None:
        import binascii  # noqa: PLC0415 - seldom wanted

        try:
            self._journal.write_raw(binascii.a2b_base64(reply.text, strict_mode=True), by=reply.by)
        except binascii.Error:
            logger.warning("bytes that are no base64 were not written")

    def _change_definition(self, reply: Reply) -> None:
        from humanmcp.inbox.ordering import definition_change  # noqa: PLC0415 - seldom wanted

        change = definition_change(reply.text)
        if change is not None:
            self._note(reply._replace(text=_names(change)))
            self._handler.automatic.definition.publish(change, reply.by)
            self._handler.look_again()

    def _carry_wrongly(self, text: str) -> None:
        from humanmcp.protocol.http.outbound import TAKEN_BACK, HttpFault  # noqa: PLC0415 - seldom

        fault = HttpFault.read(text)
        if fault is not None or text == TAKEN_BACK:
            self._journal.connection.carry_wrongly(fault)

    def _note(self, reply: Reply) -> None:
        what = f"{reply.order.value} {reply.text}".strip()
        self._journal.record(Direction.NOTE, b"", by=reply.by, note=f"{ON_PURPOSE}{what[:400]}")


def _names(change: DefinitionChange) -> str:
    """Name the entries of the new server definition: `tools: forecast, alerts`."""
    lists = (
        f"{member}: {', '.join(str(one.get(LISTED[member])) for one in entries)}"
        for member, entries in change.add.items()
    )
    return "; ".join(lists)


def _status(text: str) -> int:
    return int(text) % 256 if text.isascii() and text.isdigit() else 0
