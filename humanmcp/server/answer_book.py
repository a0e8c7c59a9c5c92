"""What is answered without a person: by a rule of the answer book, or by what the book offers.

It holds the server definition, and tells the client when that is something else: the book was
saved, a rule changed it, or a person published it.
"""

from __future__ import annotations

import json
import logging
import os
from typing import TYPE_CHECKING, Final

from humanmcp.inbox.contract import Order
from humanmcp.locales import describe, say
from humanmcp.protocol.answer_book.book import LISTED, Book, book_lists, changed_lists, server_info
from humanmcp.protocol.answer_book.decide import HandshakePolicy, Mode, decide
from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.conversation.allow_patterns import pattern_of
from humanmcp.protocol.conversation.approvals import allowed, approval_of
from humanmcp.protocol.conversation.exchange import APPROVAL, KIND, kind_of_tool
from humanmcp.protocol.conversation.outcomes import Refused, Sent
from humanmcp.protocol.diagnostics.kinds import title_of
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.tables import methods
from humanmcp.server.journal import BY_US
from humanmcp.server.moments import LEFT_TO_A_PERSON, Acted, Capability

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.inbox.contract import Reply
    from humanmcp.protocol.answer_book.book_entry import DefinitionChange
    from humanmcp.protocol.answer_book.following import BookMemory
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.conversation.outcomes import Outcome
    from humanmcp.protocol.json.jsonrpc import Message
    from humanmcp.server.moments import Way
    from humanmcp.server.rule_steps import RuleSteps

logger = logging.getLogger(__name__)

INTERNAL_ERROR: Final = -32603


class AnswerBook(Capability):
    """The answer book's turn in one session, and the server definition that the client knows."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._session = way.session
        self._journal = way.journal
        self._steps: RuleSteps | None = None
        self._memory: BookMemory | None = None
        """What its rules have done and keep; None until there are rules."""
        self._told = way.book_file.book
        """The book that the client knows."""
        self._complaint = way.book_file.complaint
        self._handshake_by_hand = way.journal.inbox.handshake_is_by_hand()
        self._prepare()

    # -- the moments of an exchange --------------------------------------------------------------

    def _allowed(self, exchange: Exchange) -> Decision | None:
        """Return the decision that a person made for the session; None if it is still theirs."""
        tools = self._session.negotiated.known_tools
        if kind_of_tool(exchange.tool, tools) != APPROVAL or not self._journal.facts.is_one_client:
            return None
        approval = approval_of(exchange.request.raw, exchange.request, tools)
        kept = map(pattern_of, self._journal.inbox.holds(self._journal.name))
        if approval is None or not any(one is not None and one.fits(approval) for one in kept):
            return None
        return Decision(0.0, allowed(approval), TextForm.TEXT, "allowed")

    def decide(self, exchange: Exchange, rest: Callable[[Exchange], Decision]) -> Decision:  # noqa: ARG002 - it decides about each
        begun = None if self._steps is None else self._steps.left(exchange.number)
        if begun is not None:
            return begun
        if (permitted := self._allowed(exchange)) is not None:
            return permitted
        book, options = self._way.book_file.book, self._way.options
        if self._memory is None and book.entries:
            from humanmcp.protocol.answer_book.following import BookMemory  # noqa: PLC0415 - only with rules

            self._memory = BookMemory(os.urandom(16), self._journal.clock.stamp)
        opens = methods.of(exchange.method).in_handshake
        held = opens and self._journal.inbox.handshake_is_by_hand()
        graces = self._journal.graces
        return decide(
            exchange,
            book,
            self._session.negotiated,
            mode=options.mode,
            handshake=HandshakePolicy.PERSON if held else options.handshake,
            grace=graces.of(self._session.negotiated.client_name) if opens else None,
            memory=self._memory,
            refuse=options.refuse,
        )

    def act(self, exchange: Exchange, decision: Decision, waited: float) -> Acted:
        """Do the steps of a rule that are due, then answer as it says."""
        if decision.has_steps:
            decision = self._go_on(exchange, decision, waited)
            if decision.has_steps:
                return Acted(decision)
        if self._is_done_instead(decision):
            return LEFT_TO_A_PERSON
        outcome = self._answer(exchange, decision)
        if isinstance(outcome, Sent):
            self._count(decision)
            return Acted(decision, outcome)
        if isinstance(outcome, Refused):
            first = outcome.verdict.errors[0]
            logger.warning("%s does not pass the check: %s", decision.by, title_of(first.code))
        if self._way.options.refuse:
            return self._unsendable(exchange, decision, outcome)
        return LEFT_TO_A_PERSON

    def _unsendable(self, exchange: Exchange, decision: Decision, outcome: Outcome | None) -> Acted:
        """Answer with an error that says why the book's answer cannot be sent."""
        why = describe(outcome.verdict.errors[0]) if isinstance(outcome, Refused) else ""
        message = say("serve", "unsendable", "en", by=decision.by, why=why).rstrip()
        error = json.dumps({"code": INTERNAL_ERROR, "message": message}, ensure_ascii=False)
        sent = self._session.reply(exchange.number, error, TextForm.ERROR)
        return Acted(decision, sent) if isinstance(sent, Sent) else LEFT_TO_A_PERSON

    def acted(self, exchange: Exchange, decision: Decision) -> None:  # noqa: ARG002 - the decision has what is kept
        """Update the memory of a rule after its answer."""
        if self._memory is not None:
            self._memory.keep(decision)

    def responded(self, message: Message) -> int:
        return 0 if self._steps is None else self._steps.response(message)

    def ending(self, exchange: Exchange) -> None:
        if self._steps is not None:
            self._steps.over(exchange.number)

    # -- the rest of the session -----------------------------------------------------------------

    def order(self, reply: Reply) -> None:
        """Change the server definition."""
        if reply.order is not Order.DEFINITION:
            return
        from humanmcp.answering.service import definition_change  # noqa: PLC0415 - seldom wanted

        change = definition_change(reply.text)
        if change is not None:
            self._journal.note_order(reply._replace(text=_names(change)))
            self._publish(change, reply.by)
            self._way.look_again()

    def look_at_rest(self, now: float) -> None:
        """Take in that people saved the book, took the handshake, or gave it back."""
        held, was_held = self._journal.inbox.handshake_is_by_hand(), self._handshake_by_hand
        self._handshake_by_hand = held
        changed = self._follow_book(now)
        if changed or held != was_held:
            self._way.look_again()

    # -- the server definition -------------------------------------------------------------------

    def _prepare(self) -> None:
        """Let drafts start from what the book has, and answers name the server that it names.

        By hand a person lists the tools: the client knows none before that.
        """
        book = self._way.book_file.book
        self._session.book_capabilities = book.declared_capabilities()
        named = (book.name, book.title) != (Book().name, Book().title)
        tools = () if self._way.options.mode is Mode.BY_HAND else book.tools
        self._session.negotiated = self._session.negotiated._replace(
            prepared=book_lists(book),
            server=server_info(book) if named else {},
            offered={str(one.get("name")): one for one in tools if follow(one, "_meta", KIND)},
        )

    def _follow_book(self, now: float) -> bool:
        """Read the book again if it was saved. Return True if it is another one."""
        book_file = self._way.book_file
        book_file.poll(now)
        if book_file.complaint is not self._complaint:
            self._complaint = book_file.complaint
            if self._complaint is not None:
                logger.warning("the answer book cannot be used: %s", self._complaint)
        if book_file.book is self._told:
            return False
        if book_file.book.entries is not self._told.entries and self._memory is not None:
            self._memory.clear()
        self._tell_of_book(BY_US)
        return True

    def _publish(self, change: DefinitionChange, by: str = BY_US) -> None:
        """Change the server definition, and notify the client; of a person's change always."""
        book_file = self._way.book_file
        book_file.use(book_file.book.changed(change))
        self._tell_of_book(by)

    def _tell_of_book(self, by: str) -> None:
        self._prepare()
        self._session.negotiated = self._session.negotiated._replace(newly_prepared=True)
        before, self._told = self._told, self._way.book_file.book
        if by != BY_US or self._way.options.speaks_first:
            for capability in changed_lists(before, self._told):
                for line in self._session.list_changed(capability):
                    self._journal.write(line, by=by)
        self._journal.describe(self._session)

    # -- a rule ----------------------------------------------------------------------------------

    def _go_on(self, exchange: Exchange, decision: Decision, waited: float) -> Decision:
        """Do the steps of a rule that are due before its answer."""
        self._count(decision)
        if self._steps is None:
            from humanmcp.server.rule_steps import RuleSteps  # noqa: PLC0415 - seldom wanted

            self._steps = RuleSteps(self._session, self._journal)
        left = self._steps.go_on(exchange, decision._replace(counts=False), waited)
        if left.notices or left.ask or left.change is None:
            return left
        self._publish(left.change)
        return left._replace(change=None)

    def _count(self, decision: Decision) -> None:
        """Count a rule as followed once more."""
        if self._memory is not None:
            self._memory.count(decision)

    def _is_done_instead(self, decision: Decision) -> bool:
        """Act on a rule without an answer: do nothing, or end the server."""
        if not decision.fault:
            return False
        from humanmcp.protocol.tables.faults import EntryFault  # noqa: PLC0415 - seldom wanted

        if decision.fault not in {one.value for one in EntryFault}:
            return False
        self._count(decision)
        if decision.fault == EntryFault.EXIT.value:
            self._way.end(0)
        elif decision.fault == EntryFault.CRASH.value:
            self._journal.connection.crash()
        return True

    def _answer(self, exchange: Exchange, decision: Decision) -> Outcome | None:
        """Judge the book's answer; one with a fault goes out as it is."""
        session = self._session
        if not decision.fault or self._is_sent_wrongly(decision.fault):
            return session.reply(exchange.number, decision.text, decision.form)
        from humanmcp.protocol.validation.check import check  # noqa: PLC0415 - seldom wanted
        from humanmcp.protocol.validation.faults import faults, with_fault  # noqa: PLC0415 - likewise

        verdict = check(exchange, decision.text, decision.form, session.negotiated)
        whole = verdict.forced or decision.text
        fault = next((one for one in faults(exchange) if one.value == decision.fault), None)
        if fault is None:
            logger.warning("%s: this answer cannot have the fault %s", decision.by, decision.fault)
            return None
        return session.reply(exchange.number, with_fault(exchange, whole, fault), anyway=True)

    def _is_sent_wrongly(self, fault: str) -> bool:
        """Let HTTP send the next answer wrongly, if the fault of a rule is one of those."""
        from humanmcp.protocol.http.http_faults import HttpFault  # noqa: PLC0415 - seldom wanted

        http_fault = HttpFault.read(fault)
        if http_fault is not None:
            self._journal.connection.carry_wrongly(http_fault)
        return http_fault is not None


def _names(change: DefinitionChange) -> str:
    """Name the entries of the new server definition: `tools: forecast, alerts`."""
    lists = (
        f"{member}: {', '.join(str(one.get(LISTED[member])) for one in entries)}"
        for member, entries in change.add.items()
    )
    return "; ".join(lists)
