"""What is answered without a person: by a rule of the answer book, or by what the book offers.

An exchange meets `AutomaticAnswers` at a few moments of its way (`exchanges.py`); `replaying.py`
has one that prefers recorded answers. `ServerDefinition` holds the definition, and tells the client
when that is something else: the book was saved, a rule changed it, or a person published it.
"""

from __future__ import annotations

import json
import logging
import os
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.locales import describe, say
from humanmcp.protocol.answer_book.book import Book, book_lists, changed_lists, server_info
from humanmcp.protocol.answer_book.decide import HandshakePolicy, decide
from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.conversation.approvals import (
    APPROVAL,
    KIND,
    allowed,
    approval_of,
    kind_of_tool,
    pattern_of,
)
from humanmcp.protocol.conversation.exchange import Refused, Sent
from humanmcp.protocol.diagnostics.kinds import title_of
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.tables import methods
from humanmcp.server.journal import BY_US

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.common.book_file import BookFile
    from humanmcp.protocol.answer_book.book_entry import DefinitionChange
    from humanmcp.protocol.answer_book.following import BookMemory
    from humanmcp.protocol.conversation.exchange import Exchange, Outcome
    from humanmcp.protocol.json.jsonrpc import Message
    from humanmcp.protocol.session import McpSession
    from humanmcp.server.exchanges import ExchangeHandler
    from humanmcp.server.journal import Journal
    from humanmcp.server.rule_steps import RuleSteps
    from humanmcp.server.waiting import Keepalive, ServeOptions

logger = logging.getLogger(__name__)

INTERNAL_ERROR: Final = -32603


class ServerDefinition:
    """The server definition from the book, and the one that the client knows."""

    def __init__(
        self,
        session: McpSession,
        journal: Journal,
        book_file: BookFile,
        keepalive: Keepalive,
        *,
        by_hand: bool = False,
    ) -> None:
        """Begin. With `by_hand` a person lists the tools: the client knows none before that."""
        self._by_hand = by_hand
        self.session = session
        self.journal = journal
        self._book_file = book_file
        self._keepalive = keepalive
        self._told = book_file.book
        """The book that the client knows."""
        self._complaint = book_file.complaint
        self._prepare()

    @property
    def book(self) -> Book:
        return self._book_file.book

    def _prepare(self) -> None:
        """Let drafts start from what the book has, and answers name the server that it names."""
        negotiated, book = self.session.negotiated, self.book
        self.session.book_capabilities = book.declared_capabilities()
        named = (book.name, book.title) != (Book().name, Book().title)
        tools = () if self._by_hand else book.tools
        self.session.negotiated = negotiated._replace(
            prepared=book_lists(book),
            server=server_info(book) if named else {},
            offered={str(one.get("name")): one for one in tools if follow(one, "_meta", KIND)},
        )

    def follow(self, now: float) -> bool:
        """Read the book again if it was saved. Returns whether it is another one."""
        self._book_file.poll(now)
        if self._book_file.complaint is not self._complaint:
            self._complaint = self._book_file.complaint
            if self._complaint is not None:
                logger.warning("the answer book cannot be used: %s", self._complaint)
        changed = self.book is not self._told
        if changed:
            self._publish(BY_US)
        return changed

    def publish(self, change: DefinitionChange, by: str = BY_US) -> None:
        """Change the server definition, and notify the client; of a person's change always."""
        self._book_file.use(self.book.changed(change))
        self._publish(by)

    def _publish(self, by: str) -> None:
        self._prepare()
        self.session.negotiated = self.session.negotiated._replace(newly_prepared=True)
        before, self._told = self._told, self.book
        if by != BY_US or self._keepalive.may_acknowledge:
            for capability in changed_lists(before, self._told):
                for line in self.session.list_changed(capability):
                    self.journal.write(line, by=by)
        self.journal.describe(self.session)


class Acted(NamedTuple):
    """What became of a decision that was due: its answer was `sent`, or something is left to do.

    `line` goes out where the recorded answer was a malformed line.
    """

    decision: Decision
    sent: Sent | None = None
    line: bytes | None = None


LEFT_TO_A_PERSON = Acted(Decision())


class AutomaticAnswers:
    """The answer book's turn in one session."""

    def __init__(
        self,
        definition: ServerDefinition,
        options: ServeOptions,
        end_session: Callable[[int], object],
    ) -> None:
        """Begin. `end_session` ends the session with a status, where a rule says so."""
        self.definition = definition
        self._session = definition.session
        self._journal = definition.journal
        self._options = options
        self._end_session = end_session
        self._steps: RuleSteps | None = None
        self._memory: BookMemory | None = None
        """What its rules have done and keep; None until there are rules."""
        self._rules = definition.book.entries
        self._handshake_by_hand = definition.journal.inbox.handshake_is_by_hand()

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

    def decide(self, exchange: Exchange) -> Decision:
        """Return the book's decision about an exchange, or the rest of its rule."""
        begun = None if self._steps is None else self._steps.left(exchange.number)
        if begun is not None:
            return begun
        if (permitted := self._allowed(exchange)) is not None:
            return permitted
        book = self.definition.book
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
            mode=self._options.mode,
            handshake=HandshakePolicy.PERSON if held else self._options.handshake,
            grace=graces.of(self._session.negotiated.client_name) if opens else None,
            memory=self._memory,
            refuse=self._options.refuse,
        )

    def begin(self, _exchange: Exchange, decision: Decision) -> Decision | None:
        """Prepare for a new request. Returns its decision; None if another server answers it."""
        return decision

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
        if self._options.refuse:
            return self._unsendable(exchange, decision, outcome)
        return LEFT_TO_A_PERSON

    def _unsendable(self, exchange: Exchange, decision: Decision, outcome: Outcome | None) -> Acted:
        """Answer with an error that says why the book's answer cannot be sent."""
        why = describe(outcome.verdict.errors[0]) if isinstance(outcome, Refused) else ""
        message = say("serve", "unsendable", "en", by=decision.by, why=why).rstrip()
        error = json.dumps({"code": INTERNAL_ERROR, "message": message}, ensure_ascii=False)
        sent = self._session.reply(exchange.number, error, TextForm.ERROR)
        return Acted(decision, sent) if isinstance(sent, Sent) else LEFT_TO_A_PERSON

    def answered(self, _exchange: Exchange, decision: Decision) -> None:
        """Update the memory of a rule after its answer."""
        if self._memory is not None:
            self._memory.keep(decision)

    def noticed(self, message: Message) -> None:
        """Take in a notification of the client."""

    def responded(self, message: Message) -> int:
        """Take a response of the client. Return the request that continues with it, or 0."""
        return 0 if self._steps is None else self._steps.response(message)

    def over(self, number: int) -> None:
        """Forget the steps of a request."""
        if self._steps is not None:
            self._steps.over(number)

    def has_begun(self, number: int) -> bool:
        """Return True for a request in the middle of its rule."""
        return self._steps is not None and self._steps.left(number) is not None

    def attach(
        self,
        handler: ExchangeHandler,
        wake: Callable[[], object],
        tell_stderr: Callable[[str], object],
    ) -> None:
        """Learn who takes answers that come from elsewhere, at any time: after a `wake`."""

    # -- the rest of the session -----------------------------------------------------------------

    def look(self) -> None:
        """Process answers that arrived from elsewhere."""

    def close(self) -> None:
        """End with the session."""

    @property
    def handshake(self) -> HandshakePolicy:
        """Who opens the session, as far as is known since it was last asked for."""
        return HandshakePolicy.PERSON if self._handshake_by_hand else self._options.handshake

    def follow_people(self, now: float) -> bool:
        """Take in that they saved the book, took the handshake, or gave it back; return if so."""
        held, was_held = self._journal.inbox.handshake_is_by_hand(), self._handshake_by_hand
        self._handshake_by_hand = held
        changed = self.definition.follow(now)
        if self.definition.book.entries is not self._rules:
            self._rules = self.definition.book.entries
            if self._memory is not None:
                self._memory.clear()
        return changed or held != was_held

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
        self.definition.publish(left.change)
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
            self._end_session(0)
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
        from humanmcp.protocol.http.outbound import HttpFault  # noqa: PLC0415 - seldom wanted

        http_fault = HttpFault.read(fault)
        if http_fault is not None:
            self._journal.connection.carry_wrongly(http_fault)
        return http_fault is not None
