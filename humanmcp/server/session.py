"""One session of a server, one step at a time: its lines, its desks, its clocks.

Theory of operation
-------------------
One thread does everything that decides something, so that nothing has to be locked: a cancel, a
reply from a desk, a saved text and the answer book's turn are seen one after the other, and
each exchange is answered once. That thread is the attendant's (`inbox/attendant.py`), which serves
other sessions as well. A step

1. takes one line of the client, or the next part of a long array, along its way (`exchanges.py`);
2. looks at what is due by the schedule: what people submitted, what they wrote at a `FrontEnd`
   (`front_end.py`), the timers of open requests, and the rest;
3. lets each `FrontEnd` tell what has become of it, and says when the next step is.

Whatever answers, writes through the one journal (`journal.py`): transcript first, then connection.
While lines come without a pause each has a step of its own, and step 2 waits for its moment.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Final, assert_never

from humanmcp.common.line_pipe import Cut
from humanmcp.inbox.attendant import FALLBACK_POLL, PollSchedule
from humanmcp.inbox.contract import InboxError, Key
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.server.capabilities import capabilities
from humanmcp.server.connection import EndOfInput, HungUp
from humanmcp.server.exchanges import ExchangeHandler
from humanmcp.server.front_end import FrontEnd

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.common.book_file import BookFile
    from humanmcp.protocol.session import McpSession
    from humanmcp.server.connection import Incoming
    from humanmcp.server.journal import Journal
    from humanmcp.server.resuming import Resumed
    from humanmcp.server.waiting import ServeOptions

logger = logging.getLogger(__name__)


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
        book_file: BookFile,
        options: ServeOptions,
        when_quiet: Callable[[str], object],
        resumed: Resumed | None = None,
    ) -> None:
        """Put the parts together. `resumed` is what another process left of this session.

        `when_quiet` is called once, as soon as no line comes for a moment and the session is more
        than a probe, with what each `FrontEnd` has to say.
        """
        self.session = session
        self.journal = journal
        self.connection = journal.connection
        journal.related_to = session.related_to
        self.clock = journal.clock
        self.exit_status = 0
        """What a process that serves this session alone ends with."""
        self.read = self.left = 0
        """How many lines were read, and how many requests had no response when the input ended."""
        self._schedule = PollSchedule(journal.bell)
        self._handler = ExchangeHandler(
            session, journal, book_file, options, self._schedule, self._exit, capabilities()
        )
        self._capabilities = self._handler.capabilities
        self._fronts = tuple(one for one in self._capabilities if isinstance(one, FrontEnd))
        """They have a schedule of their own."""
        self._when_quiet: Callable[[str], object] | None = when_quiet
        self._quiet_at = self.clock.now() + QUIET_AFTER
        self._over = False
        self._resumed = resumed

    # -- attended ---------------------------------------------------------------------------------

    def begin_steps(self, wake: Callable[[], object]) -> None:
        """Begin: listen to the client's lines and to the inbox."""
        for one in self._capabilities:
            one.start(wake)
        if self._resumed is not None:
            self._resume(self._resumed)
        self.connection.listen(wake)
        self._schedule.listen(wake)

    def _resume(self, resumed: Resumed) -> None:
        """Settle what another process left, before reading the client's lines."""
        from humanmcp.server.resuming import Resumption  # noqa: PLC0415 - over HTTP alone

        self._resumed = None
        Resumption(resumed, self._handler).settle()
        self._schedule.duties = self.clock.now()

    def step(self, now: float) -> float | None:
        """Process one input and the due work. Return the time of the next step."""
        has_more = self._handler.has_more
        got = None if has_more else self.connection.get()
        if has_more or got is not None:
            self._quiet_at = now + QUIET_AFTER
        if has_more:
            self._handler.go_on()
        elif got is not None:
            self._take_in(got)
        elif self._has_to_announce:
            if now < self._quiet_at and not self._schedule.rung:
                return self._quiet_at
            self._announce()
        for one in self._capabilities:
            one.look()
        self.journal.close_written()
        # Not after each line: of a client that says much at once thousands may wait.
        at = self.clock.now()
        if self._schedule.is_due(at) or any(one.next() <= at for one in self._fronts):
            self._look(at)
        self._tell(now)
        if self._over:
            return None
        return now if has_more or got is not None else self._next_step()

    def _tell(self, now: float) -> None:
        for one in self._fronts:
            if one.tells_at(self._quiet_at) <= now:
                one.tell()

    def _next_step(self) -> float:
        announces_at = self._quiet_at if self._has_to_announce else math.inf
        fronts = (at for one in self._fronts for at in (one.next(), one.tells_at(self._quiet_at)))
        return min(announces_at, self._schedule.next(), *fronts)

    def _take_in(self, got: Incoming) -> None:
        match got:
            case bytes():
                self.read += 1
                self._handler.line(got)
            case Cut():
                self._handler.too_long(got)
            case HungUp():
                self._handler.hung_up(got.number)
            case EndOfInput():
                self._over, self.left = True, len(self.session.pending)
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

        Not of a probe's process: it has given its files back, and nothing is to be said yet.
        """
        return self._when_quiet is not None and all(one.is_open() for one in self._fronts)

    def _announce(self) -> None:
        when_quiet, self._when_quiet = self._when_quiet, None
        if when_quiet is not None:
            when_quiet("".join(one.hello() for one in self._fronts))

    # -- what people and the book want ------------------------------------------------------------

    def _look(self, now: float) -> None:
        """Do the due work: submissions, what is written at front ends, timers."""
        if self._schedule.desks_are_due(now):
            if self._look_at_desks():
                self._schedule.duties = now  # what people wish may change them
            waiting = bool(self._handler.timers)
            self._schedule.desks_were_seen(now, self.clock.now(), waiting=waiting)
        # Before the book steps in, too: never over somebody who writes.
        for one in self._fronts:
            one.look_for_answers(now, is_last=now >= self._schedule.duties)
        if self._schedule.rest_is_due(now):
            self._look_at_the_rest(now)
        if now >= self._schedule.duties:
            self._schedule.duties = now + FALLBACK_POLL  # should one of them fail
            self._schedule.duties = self._handler.look(now)

    def _look_at_desks(self) -> bool:
        """Process what people submitted, in the order in which they did. Return True if any."""
        inbox, name = self.journal.inbox, self.journal.name
        found = False
        for key, draft in inbox.drafts(name):
            found = True
            self._handler.drafted(key.number, draft)
        for mark, reply in self.journal.submissions():
            found = True
            if isinstance(mark, Key):
                self._handler.reply(mark.number, reply)
            else:
                self._handler.order(mark, reply)
        return found

    def _look_at_the_rest(self, now: float) -> None:
        self.journal.catch_up()
        for one in self._capabilities:
            one.look_at_rest(now)
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
        self._handler.timers.clear()
        self.journal.changes += 1  # what waited is over
        self._keep_the_rest()
        self.connection.flush(FLUSH_WITHIN)
        self.journal.close_written()
        if unsent := self.connection.backpressure.unsent:
            logger.warning("the client did not take the last %s bytes", unsent)
        self._tell(math.inf)
        self.journal.end(to_others=to_others)
        for one in reversed(self._capabilities):
            one.close()

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
