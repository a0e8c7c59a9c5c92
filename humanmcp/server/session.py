"""One session of a server, one step at a time: its lines, its desks, its files, its clocks.

Theory of operation
-------------------
One thread does everything that decides something, so that nothing has to be locked: a cancel, a
reply from a desk, a saved `out.txt` and the answer book's turn are seen one after the other, and
each exchange is answered once. That thread is the attendant's (`inbox/attendant.py`), which serves
other sessions as well. A step

1. takes one line of the client, or the next part of a long array, along its way (`exchanges.py`);
2. looks at what is due by the schedule: what people submitted (`SubmissionHandler`), what they
   typed in the files (`text_files/text_desk.py`), the timers of open requests, and the rest;
3. says in `status.txt` what has become of it, and when the next step is.

Whatever answers, writes through the one journal (`journal.py`): transcript first, then connection.
While lines come without a pause each has a step of its own, and step 2 waits for its moment.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Final, assert_never

from humanmcp.common.line_pipe import Cut
from humanmcp.inbox.attendant import FALLBACK_POLL, PollSchedule
from humanmcp.inbox.contract import InboxError, Key, Order, Reply
from humanmcp.protocol.answer_book.book import LISTED
from humanmcp.protocol.answer_book.decide import Mode
from humanmcp.protocol.conversation.approvals import DIGEST, approval_of
from humanmcp.protocol.conversation.transcript import DELIBERATE, ON_PURPOSE, Direction
from humanmcp.server.connection import EndOfInput, HungUp
from humanmcp.server.exchanges import ExchangeHandler
from humanmcp.server.rules import AutomaticAnswers, ServerDefinition
from humanmcp.server.text_files.out_txt import note
from humanmcp.server.text_files.text_desk import TextFileAnswers
from humanmcp.server.waiting import Keepalive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.common.book_file import BookFile
    from humanmcp.protocol.answer_book.book_entry import DefinitionChange
    from humanmcp.protocol.session import McpSession
    from humanmcp.server.connection import Incoming
    from humanmcp.server.journal import Journal
    from humanmcp.server.resuming import Resumed
    from humanmcp.server.text_files.files import TextFiles
    from humanmcp.server.waiting import ServeOptions

logger = logging.getLogger(__name__)


KNOWN: Final = (
    "allow DIGEST, deny DIGEST REASON, answer DIGEST ANSWERS, "
    "silence on, silence off, progress on, progress off, exit STATUS, crash, http FAULT, "
    "park NUMBER, status NUMBER WORDS"
)
"""The words that `out.do.txt` may hold."""


class SubmissionHandler:
    """Carries out what people submit at the desks, in the order in which they did.

    An order tests what a client does with a server that is wrong; each is in the transcript.
    """

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
        for mark, reply in self._journal.submissions():
            found = True
            if isinstance(mark, Key):
                self._handler.reply(mark.number, reply)
            else:
                self._hear(mark, reply)
        return found

    def do(self, words: bytes) -> str:
        """Carry out the orders of `out.do.txt`. Return why one is impossible, or ""."""
        from humanmcp.answering.service import not_understood  # noqa: PLC0415 - seldom wanted

        for line in words.decode("utf-8", "replace").split("\n"):
            name, _, text = line.strip().partition(" ")
            if not name:
                continue
            if name in ("allow", "deny", "answer"):
                if why := self._decide(name, text):
                    return note(why, line=line)
                continue
            try:
                order = Order(name)
            except ValueError:
                return note("no order", line=line, known=KNOWN)
            code = not_understood(order, text.strip())
            if code or order in (Order.SAY, Order.RAW, Order.DEFINITION):
                return note("no order", line=line, known=KNOWN)
            if order is Order.PARK and not self._handler.can_park(int(text)):
                return note("no park", line=line)
            self._follow(Reply(text.strip(), by="files", order=order))
            if order is Order.CRASH:
                self._journal.connection.crash()
        return ""

    def _decide(self, name: str, text: str) -> str:
        """Allow, deny or answer the call whose digest is named. Return why that is impossible."""
        from humanmcp.answering import approvals  # noqa: PLC0415 - seldom wanted

        digest, _, words = text.strip().partition(" ")
        negotiated = self._session.negotiated
        for exchange in self._session.pending:
            asked = approval_of(exchange.request.raw, exchange.request, negotiated.known_tools)
            if asked is None or asked.digest[:DIGEST] != digest:
                continue
            try:
                if name == "answer":
                    answers = approvals.typed_answers(asked.questions, _split(words))
                    reply = approvals.answering(asked, answers, exchange.version, negotiated)
                elif name == "deny":
                    reply = approvals.denial(asked, words, exchange.version, negotiated)
                else:
                    reply = approvals.permission(asked)
            except approvals.ApprovalError:
                return "no answer" if asked.questions else "no prompt"
            self._handler.reply(exchange.number, reply._replace(by="files", shown=asked.digest))
            return ""
        return "no prompt"

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
        from humanmcp.answering.service import definition_change  # noqa: PLC0415 - seldom wanted

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


def _split(words: str) -> list[str]:
    """Return the answers on a line: each a word, or words in quotation marks."""
    import shlex  # noqa: PLC0415 - seldom wanted

    try:
        return shlex.split(words)
    except ValueError:  # a quotation mark that is no pair
        return words.split()


def _names(change: DefinitionChange) -> str:
    """Name the entries of the new server definition: `tools: forecast, alerts`."""
    lists = (
        f"{member}: {', '.join(str(one.get(LISTED[member])) for one in entries)}"
        for member, entries in change.add.items()
    )
    return "; ".join(lists)


def _status(text: str) -> int:
    return int(text) % 256 if text.isascii() and text.isdigit() else 0


QUIET_AFTER: Final = 0.05
"""Seconds without a line after which the session does more than answer."""

FLUSH_WITHIN: Final = 0.1
KEEP_WITHIN: Final = 0.05

STUCK_AFTER: Final = 30.0
"""Seconds without reading after which people see that the client does not read."""


class ServedSession:
    """One session of a server: owns its connection, judges last, and alone writes to the client.

    An `Attended`: the attendant steps it.
    """

    def __init__(  # noqa: PLR0913 - the parts of a session, each with its own module
        self,
        *,
        session: McpSession,
        journal: Journal,
        claim_files: Callable[[Sequence[bytes]], TextFiles],
        book_file: BookFile,
        options: ServeOptions,
        token: Callable[[], str],
        tell_stderr: Callable[[str], object],
        when_quiet: Callable[[ServedSession], object],
        resumed: Resumed | None = None,
    ) -> None:
        """Put the parts together. `token` makes the part of a ticket that cannot be guessed.

        `resumed` is what another process left of this session.

        `tell_stderr` receives what the book does instead of a person. `when_quiet` is
        called once, as soon as no line comes for a moment and the session is more than a probe.
        """
        self.session = session
        self.journal = journal
        self.connection = journal.connection
        journal.related_to = session.related_to
        self.clock = journal.clock
        self.exit_status = 0
        """What a process that serves this session alone ends with."""
        self._schedule = PollSchedule(journal.bell)
        self._tell_stderr = tell_stderr
        self._wake: Callable[[], object] = lambda: None
        keepalive = Keepalive(session, journal, options, book_file)
        by_hand = options.mode is Mode.BY_HAND
        definition = ServerDefinition(session, journal, book_file, keepalive, by_hand=by_hand)
        self._automatic = self._automatic_answers(definition, options)
        self.handler = ExchangeHandler(
            session, journal, self._automatic, keepalive, options, self._schedule, token
        )
        self._submissions = SubmissionHandler(self.handler, self._exit)
        self.texts = TextFileAnswers(
            claim_files,
            self.handler,
            schedule=self._schedule,
            do=self._submissions.do,
            tell_stderr=tell_stderr,
        )
        self._when_quiet: Callable[[ServedSession], object] | None = when_quiet
        self._quiet_at = self.clock.now() + QUIET_AFTER
        self._over = False
        self._resumed = resumed

    def _automatic_answers(
        self, definition: ServerDefinition, options: ServeOptions
    ) -> AutomaticAnswers:
        if options.replay is None:
            return AutomaticAnswers(definition, options, self._exit)
        from humanmcp.server.replaying import ReplayedAnswers  # noqa: PLC0415 - seldom wanted

        return ReplayedAnswers(options.replay, definition, options, self._exit)

    # -- attended ---------------------------------------------------------------------------------

    def begin(self, wake: Callable[[], object]) -> None:
        """Begin: listen to the client's lines and to the inbox."""
        self._wake = wake
        self._automatic.attach(self.handler, wake, self._tell_stderr)
        if self._resumed is not None:
            self._resume(self._resumed)
        self.connection.listen(wake)
        self._schedule.listen(wake)

    def _resume(self, resumed: Resumed) -> None:
        """Settle what another process left, before reading the client's lines."""
        from humanmcp.server.resuming import Resumption  # noqa: PLC0415 - over HTTP alone

        self._resumed = None
        Resumption(resumed, self.handler).settle()
        self._schedule.duties = self.clock.now()

    def step(self, now: float) -> float | None:
        """Process one input and the due work. Return the time of the next step."""
        has_more = self.handler.has_more
        got = None if has_more else self.connection.get()
        if has_more or got is not None:
            self._quiet_at = now + QUIET_AFTER
        if has_more:
            self.handler.go_on()
        elif got is not None:
            self._take_in(got)
        elif self._has_to_announce:
            if now < self._quiet_at and not self._schedule.rung:
                return self._quiet_at
            self._announce()
        self._automatic.look()
        self.journal.close_written()
        # Not after each line: of a client that says much at once thousands may wait.
        if self._schedule.is_due(self.clock.now()):
            self._look(self.clock.now())
        if self.texts.tells_at(self._quiet_at) <= now:
            self.texts.tell()
        if self._over:
            return None
        return now if has_more or got is not None else self._next_step()

    def _next_step(self) -> float:
        announces_at = self._quiet_at if self._has_to_announce else math.inf
        return min(self.texts.tells_at(self._quiet_at), announces_at, self._schedule.next())

    def _take_in(self, got: Incoming) -> None:
        match got:
            case bytes():
                self.handler.line(got)
            case Cut():
                self.handler.too_long(got)
            case HungUp():
                self.handler.hung_up(got.number)
            case EndOfInput():
                self._over = True
            case impossible:
                assert_never(impossible)

    def _exit(self, status: int) -> None:
        """End the session after this step, with this exit status."""
        self._over, self.exit_status = True, status

    @property
    def is_over(self) -> bool:
        """Return True if the client or a person ended the session."""
        return self._over

    @property
    def _has_to_announce(self) -> bool:
        """Return True until the first pause between lines.

        Not of a probe's process: it has given the text files back, and nothing is to be said yet.
        """
        return self._when_quiet is not None and self.texts.files is not None

    def _announce(self) -> None:
        when_quiet, self._when_quiet = self._when_quiet, None
        if when_quiet is not None:
            when_quiet(self)
        self.texts.be_woken(self._wake)

    # -- what people and the book want ------------------------------------------------------------

    def _look(self, now: float) -> None:
        """Do the due work: submissions, text files, timers."""
        waiting = bool(self.handler.timers)
        if self._schedule.desks_are_due(now):
            if self._submissions.look():
                self._schedule.duties = now  # what people wish may change them
            self._schedule.desks_were_seen(now, self.clock.now(), waiting=waiting)
        # Before the book steps in, too: never over somebody who writes.
        if self._schedule.text_is_due(now, waiting=waiting) or now >= self._schedule.duties:
            self.texts.look(now)
        if self._schedule.rest_is_due(now):
            self._look_at_the_rest(now)
        if now >= self._schedule.duties:
            self._schedule.duties = now + FALLBACK_POLL  # should one of them fail
            self._schedule.duties = self.handler.look(now)

    def _look_at_the_rest(self, now: float) -> None:
        if self._automatic.follow_people(now):
            self.handler.look_again()
            self._schedule.duties = now
        self.journal.catch_up()
        self.handler.parked.look()
        self.texts.bring_back()
        stuck = self.connection.backpressure.stuck_for(now) >= STUCK_AFTER
        if stuck != self.journal.facts.stuck:
            logger.warning("the client %s", "reads nothing" if stuck else "reads again")
            self.journal.facts = self.journal.facts._replace(stuck=stuck)
            self.journal.describe(self.session)

    # -- the end ----------------------------------------------------------------------------------

    def leave(self, *, to_others: bool = False) -> None:
        """End the session, or leave it `to_others`. Everything important is stored already.

        What waits is over; or it is left `to_others`, to the process that goes on with the session.
        """
        if not to_others:
            self.session.end()
        self.handler.timers.clear()
        self.journal.changes += 1  # what waited is over
        self._keep_the_rest()
        self.connection.flush(FLUSH_WITHIN)
        self.journal.close_written()
        if unsent := self.connection.backpressure.unsent:
            logger.warning("the client did not take the last %s bytes", unsent)
        self.texts.tell()
        self.texts.release()
        self.journal.end(to_others=to_others)
        self._automatic.close()

    def _keep_the_rest(self) -> None:
        """Record the unread lines, within a short time limit."""
        until = self.clock.now() + KEEP_WITHIN
        missed = 0
        for line in self.connection.drain():
            if self.clock.now() >= until:
                missed += 1
                continue
            try:
                self.journal.record(Direction.IN, line, note="not looked at any more")
            except InboxError:
                missed += 1
        if missed:
            logger.warning("the transcript misses the last %s lines of the client", missed)
