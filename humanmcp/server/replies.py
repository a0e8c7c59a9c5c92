"""Who answers: a person's reply and the book's, from the check to the wire and out of the inbox.

An exchange is here while it waits (`timers`), and is answered once, by the first.
"""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from typing import TYPE_CHECKING, assert_never

from humanmcp.inbox.contract import Answer
from humanmcp.protocol.conversation.exchange import REMEMBERED, AwaitingRetry, Late, Refused, Sent
from humanmcp.protocol.conversation.transcript import DELIBERATE
from humanmcp.protocol.rules import timeouts
from humanmcp.protocol.rules.answer_book import (
    Book,
    Decision,
    OpeningPolicy,
    book_lists,
    changed_lists,
    decide,
    server_info,
)
from humanmcp.protocol.rules.timeouts import outlasted, timeout_plan
from humanmcp.protocol.spec import methods
from humanmcp.protocol.validation.envelope import failure
from humanmcp.server.journal import BY_US

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.common.book_file import BookFile
    from humanmcp.inbox.contract import Draft, Reply
    from humanmcp.protocol.conversation.exchange import Exchange, Outcome
    from humanmcp.protocol.json.jsonrpc import Message
    from humanmcp.protocol.rules.following import BookMemory
    from humanmcp.protocol.rules.rule import OfferChange
    from humanmcp.protocol.rules.timeouts import TimeoutPlan
    from humanmcp.protocol.session import Session
    from humanmcp.server.journal import Journal
    from humanmcp.server.replaying import ReplaySpeaker
    from humanmcp.server.rule_steps import RuleSteps
    from humanmcp.server.waiting import Keepalive, PendingTimers, ServeOptions

logger = logging.getLogger(__name__)


def _go_on_serving(_status: int) -> None:
    """Do nothing: there is no session yet."""


def _player(session: Session, journal: Journal, options: ServeOptions) -> ReplaySpeaker | None:
    if options.replay is None:
        return None
    from humanmcp.server.replaying import ReplaySpeaker  # noqa: PLC0415 - seldom wanted

    return ReplaySpeaker(options.replay, session, journal)


class ReplyDispatcher:
    """The exchanges of one session that wait, and what becomes of the answers to them."""

    def __init__(
        self,
        session: Session,
        journal: Journal,
        book_file: BookFile,
        options: ServeOptions,
        keepalive: Keepalive,
    ) -> None:
        self.timers: dict[int, PendingTimers] = {}
        self.exit: Callable[[int], object] = _go_on_serving
        """Ends the session with a status."""
        self.before_late_answer: Callable[[Exchange], object] = lambda _exchange: None
        """Is told before the book answers a request that waited for a person."""
        self.by: OrderedDict[int, str] = OrderedDict()
        """Who answered the last exchanges, by number."""
        self._session = session
        self._journal = journal
        self._book_file = book_file
        self._options = options
        self._keepalive = keepalive
        self._kept: dict[int, Reply] = {}
        self._memory: BookMemory | None = None
        """What its rules have done and keep; None until there are rules."""
        self._steps: RuleSteps | None = None
        self.speaker = _player(session, journal, options)
        self._opening_held = journal.inbox.opening_is_held()
        self._book = book_file.book
        """The book that the client was last told of."""
        self._complaint = book_file.complaint
        self._prepare()

    def _prepare(self) -> None:
        """Let drafts start from what the book has, and answers name the server that it names."""
        established, book = self._session.established, self._book_file.book
        self._session.offers = book.offered()
        named = (book.name, book.title) != (Book().name, Book().title)
        self._session.established = established._replace(
            prepared=book_lists(book), server=server_info(book) if named else {}
        )

    def forget(self, number: int) -> None:
        """Wait no longer for an exchange: its answer is no longer wanted."""
        self.timers.pop(number, None)
        self._kept.pop(number, None)
        self._over(number)

    def _over(self, number: int) -> None:
        """Forget what a rule has begun about a request."""
        if self._steps is not None:
            self._steps.over(number)

    def response(self, message: Message) -> int:
        """Take an answer of the client's. Returns the request that goes on with it, or 0."""
        number = self.speaker.response(message) if self.speaker is not None else 0
        return number or (0 if self._steps is None else self._steps.response(message))

    def keep(self, number: int, reply: Reply) -> None:
        """Keep a reply until the client has repeated the request that it was asked to hold."""
        self._kept[number] = reply

    def repeated(self, number: int) -> None:
        """Send the reply that was kept for the repeat, if there is one."""
        reply = self._kept.pop(number, None)
        if reply is not None:
            self.reply(number, reply)

    def timeouts(self, exchange: Exchange) -> TimeoutPlan:
        """Return how long the client waits for an answer, and what keeps it waiting."""
        client = self._session.established.client_name
        seen = None if timeouts.is_shared(client) else self._journal.limits.of(client)
        means = self._keepalive.means(exchange.number)
        own = self._options.client_limit or self._journal.call_limits.of(client)
        return timeout_plan(exchange, client, own or 0.0, seen or 0.0, means)

    def look_again(self) -> None:
        """Settle anew what is done for a person while each request waits."""
        for number, timers in self.timers.items():
            exchange = self._session.exchanges[number]
            timers.decision = self.decision(exchange)
            timers.timeouts = self.timeouts(exchange)
            self._journal.update(exchange, timers)

    def drafted(self, number: int, draft: Draft) -> None:
        """Learn what a person is writing at a desk, and whether they hold the book back."""
        timers = self.timers.get(number)
        if timers is not None and (draft.touched, draft.hold) != (timers.touched, timers.held):
            timers.touched, timers.held = draft.touched, draft.hold
            self._journal.update(self._session.exchanges[number], timers)

    def somebody_writes(self, *, writing: bool) -> bool:
        """Keep the book from answering over a text in `out.txt`, whichever request it is for.

        Returns whether that changes anything.
        """
        changed = [(n, timers) for n, timers in self.timers.items() if timers.writing != writing]
        for number, timers in changed:
            timers.writing = writing
            if timers.decision.stoppable:
                self._journal.update(self._session.exchanges[number], timers)
        return bool(changed)

    def said(self) -> None:
        """Leave the progress of a request to the person who has begun to send it."""
        for number, timers in self.timers.items():
            if timers.timeouts.progress and self._session.reports_progress(number):
                exchange = self._session.exchanges[number]
                timers.timeouts = self.timeouts(exchange)
                self._journal.update(exchange, timers)

    def decision(self, exchange: Exchange) -> Decision:
        """Return what is answered without a person: as recorded, or by the book."""
        if self._keepalive.silent or self._session.same_id_pending(exchange):
            return Decision()  # only one of them can be answered: a person says which
        if self.speaker is not None and self.speaker.plays(exchange.number):
            return Decision()  # first the client has to answer what it was asked
        begun = None if self._steps is None else self._steps.left(exchange.number)
        if begun is not None:
            return begun
        replay = self._options.replay
        recorded = replay.find(exchange) if replay else None
        if recorded is not None:
            return recorded.decision
        decision = self._by_answer_book(exchange)
        return decision if replay is None else replay.instead(exchange, decision)

    def _by_answer_book(self, exchange: Exchange) -> Decision:
        if self._memory is None and self._book_file.book.rules:
            from humanmcp.protocol.rules.following import BookMemory  # noqa: PLC0415 - only with rules

            self._memory = BookMemory(os.urandom(16), self._journal.clock.stamp)
        return decide(
            exchange,
            self._book_file.book,
            self._session.established,
            mode=self._options.mode,
            opening=self._opening(exchange),
            grace=self._grace(exchange.method),
            memory=self._memory,
            refuse=self._options.refuse,
        )

    def reply(self, number: int, reply: Reply) -> None:
        """Judge a person's reply: it goes out, or back to them with its problems."""
        try:
            outcome = self._session.reply(number, reply.text, reply.form, anyway=reply.anyway)
        except Exception as error:
            logger.exception("a reply could not be taken; please report it")
            self._journal.inbox_session.refuse(number, (failure(error),))
            return
        match outcome:
            case Sent():
                self.sent(outcome, reply.by)
            case Refused():
                self._journal.inbox_session.refuse(number, outcome.verdict.diagnostics)
            case AwaitingRetry():
                self.keep(number, reply)
            case Late():
                logger.info("a reply to %s came too late", number)
            case impossible:
                assert_never(impossible)

    def sent(self, sent: Sent, by: str, line: bytes | None = None) -> None:
        """Write a reply that passed: into the transcript, onto the wire, out of the inbox.

        `line` is what goes out where the answer is a broken line that was recorded.
        """
        exchange = sent.exchange
        self._over(exchange.number)
        self.by[exchange.number] = by
        if len(self.by) > REMEMBERED:
            self.by.popitem(last=False)
        if sent.line is not None:
            note = DELIBERATE if sent.deliberate else ""
            self._journal.write(line or sent.line, exchange.number, by=by, note=note)
        timers = self.timers.pop(exchange.number, None)
        if timers is not None:
            self._unlearn(exchange, self._journal.clock.now() - timers.last_arrived)
            at = self._journal.clock.stamp()
            self._journal.close(exchange, Answer(sent.own, by, at, sent.deliberate))
        for batch in sent.completed_batches:
            self._journal.write(batch.line, batch.number)
        for other in sent.superseded:
            self._kept.pop(other.number, None)
            self._over(other.number)
            if self.timers.pop(other.number, None) is not None:
                self._journal.close(other, reason="twin")
        self._journal.describe(self._session)

    def _unlearn(self, exchange: Exchange, waited: float) -> None:
        """Forget how long this client was seen to wait, when it has just waited longer."""
        client, limits = self._session.established.client_name, self._journal.limits
        if outlasted(exchange, waited, limits.of(client) or 0.0):
            limits.forget(client)

    def by_book(
        self, exchange: Exchange, decision: Decision, waited: float = 0.0
    ) -> Decision | None:
        """Let the book do what is due. Returns None when it has answered, else what is left to do.

        An answer that does not pass the check leaves the request to a person. A recorded answer is
        given as it was recorded, also where the check has something to say.
        """
        if decision.replayed is not None and self.speaker is not None:
            given = self._replay(self.speaker, exchange, decision, decision.replayed)
            return None if given else Decision()
        if decision.has_steps:
            decision = self._go_on(exchange, decision, waited)
            if decision.has_steps:
                return decision
        if self._is_at_fault(decision):
            return Decision()
        outcome = self._answer(exchange, decision)
        if isinstance(outcome, Sent):
            self._count(decision)
            self.sent(outcome, decision.by)
            if self._memory is not None:
                self._memory.keep(decision)
            return None
        if isinstance(outcome, Refused):
            first = outcome.verdict.errors[0]
            logger.warning("%s does not pass the check: %s", decision.by, first.code)
        return Decision()

    def _is_at_fault(self, decision: Decision) -> bool:
        """Do what a rule does in the place of an answer: nothing, or end the server."""
        if not decision.fault:
            return False
        from humanmcp.protocol.spec.faults import RuleFault  # noqa: PLC0415 - seldom wanted

        if decision.fault not in {one.value for one in RuleFault}:
            return False
        self._count(decision)
        if decision.fault == RuleFault.EXIT.value:
            self.exit(0)
        elif decision.fault == RuleFault.CRASH.value:
            self._journal.connection.crash()
        return True

    def let_book_go_on(self, exchange: Exchange, timers: PendingTimers, now: float) -> None:
        """Let the book answer what waits, or do what its rule does before that."""
        self.before_late_answer(exchange)
        left = self.by_book(exchange, timers.decision, now - timers.arrived)
        if left is not None:
            timers.decision = left
            self._journal.update(exchange, timers)

    def _go_on(self, exchange: Exchange, decision: Decision, waited: float) -> Decision:
        """Do the steps of a rule that are due before its answer."""
        self._count(decision)
        if self._steps is None:
            from humanmcp.server.rule_steps import RuleSteps  # noqa: PLC0415 - seldom wanted

            self._steps = RuleSteps(self._session, self._journal)
        left = self._steps.go_on(exchange, decision._replace(counts=False), waited)
        if left.notices or left.ask or left.change is None:
            return left
        self.publish(left.change)
        return left._replace(change=None)

    def publish(self, change: OfferChange, by: str = BY_US) -> None:
        """Change what is offered, and tell the client: what a person publishes, in any case."""
        self._book_file.offer(self._book_file.book.changed(change))
        self._offer_changed(by)

    def _begin_anew(self) -> None:
        """Forget what the rules have done: they are others now."""
        if self._memory is not None:
            self._memory.clear()

    def _count(self, decision: Decision) -> None:
        """Count a rule as followed once more."""
        if self._memory is not None:
            self._memory.count(decision)

    def _answer(self, exchange: Exchange, decision: Decision) -> Outcome:
        """Judge the book's answer; one with a fault goes out as it is."""
        session = self._session
        if not decision.fault or self._carried_wrongly(decision.fault):
            return session.reply(exchange.number, decision.text, decision.form)
        from humanmcp.protocol.validation.check import check  # noqa: PLC0415 - seldom wanted
        from humanmcp.protocol.validation.faults import broken, faults  # noqa: PLC0415 - likewise

        verdict = check(exchange, decision.text, decision.form, session.established)
        whole = verdict.forced or decision.text
        fault = next((one for one in faults(exchange) if one.value == decision.fault), None)
        if fault is None:
            logger.warning(
                "%s: no answer to this can have the fault %s", decision.by, decision.fault
            )
            return Late(exchange)
        return session.reply(exchange.number, broken(exchange, whole, fault), anyway=True)

    def _carried_wrongly(self, fault: str) -> bool:
        """Break what carries the next answer, if the fault of a rule is one of those."""
        from humanmcp.protocol.http.outbound import HttpFault  # noqa: PLC0415 - seldom wanted

        broken = HttpFault.read(fault)
        if broken is not None:
            self._journal.connection.carry_wrongly(broken)
        return broken is not None

    def _replay(
        self, speaker: ReplaySpeaker, exchange: Exchange, decision: Decision, seq: int
    ) -> bool:
        line = speaker.line(exchange, seq)
        if line is None:
            outcome = self._session.reply(
                exchange.number, decision.text, decision.form, anyway=True
            )
        else:
            text = line.decode("utf-8", "replace")
            outcome = self._session.reply_with_line(exchange.number, text)
        if not isinstance(outcome, Sent):
            return False
        speaker.replay.given(seq)
        self.sent(outcome, decision.by, line)
        speaker.finish(exchange, seq)
        return True

    def _opening(self, exchange: Exchange) -> OpeningPolicy:
        """Return who opens the session; a person at the inbox has the last word."""
        opens = methods.of(exchange.method).opening
        held = opens and self._journal.inbox.opening_is_held()
        return OpeningPolicy.HELD if held else self._options.opening

    def _grace(self, method: str) -> float | None:
        """Return how long an opening message may wait for a person, None for what is known."""
        if not methods.of(method).opening:
            return None
        return self._journal.graces.of(self._session.established.client_name)

    @property
    def opening(self) -> OpeningPolicy:
        """Who opens the session, as far as is known since it was last asked for."""
        return OpeningPolicy.HELD if self._opening_held else self._options.opening

    def follow_people(self, now: float) -> bool:
        """Decide anew when they saved the book, took the opening, or gave it back.

        Returns whether they did. Other sessions follow the same book.
        """
        self._book_file.poll(now)
        if self._book_file.complaint is not self._complaint:
            self._complaint = self._book_file.complaint
            if self._complaint is not None:
                logger.warning("the answer book cannot be used: %s", self._complaint)
        held, was_held = self._journal.inbox.opening_is_held(), self._opening_held
        self._opening_held = held
        changed = self._book_file.book is not self._book
        if changed:
            if self._book_file.book.rules is not self._book.rules:
                self._begin_anew()
            self._offer_changed()
        if changed or held != was_held:
            self.look_again()
        return changed or held != was_held

    def _tell_of_changes(self, by: str) -> None:
        """Let the client ask for each list again that is another one in the book now."""
        before, self._book = self._book, self._book_file.book
        if by == BY_US and not self._keepalive.may_acknowledge:
            return
        for capability in changed_lists(before, self._book):
            for line in self._session.list_changed(capability):
                self._journal.write(line, by=by)

    def _offer_changed(self, by: str = BY_US) -> None:
        """Take what is offered from the book as it is now, and tell the client."""
        self._prepare()
        self._session.established = self._session.established._replace(newly_prepared=True)
        self._tell_of_changes(by)
        self._journal.describe(self._session)
