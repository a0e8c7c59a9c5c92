"""One session at work: lines from its connection, replies from the inbox, one step at a time.

One thread does everything that decides something, so that nothing has to be locked: a cancel, a
reply from a desk, a saved `out.txt` and the answer book's turn are seen one after the other, and
each exchange is answered once. The threads of a connection only move bytes.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Final, assert_never

from humanmcp.common.paths import UnsafeFolderError
from humanmcp.inbox.contract import Draft, InboxError, Item
from humanmcp.inbox.poll_schedule import NAP, PollSchedule
from humanmcp.protocol.conversation.events import (
    LineReady,
    NoticeArrived,
    RequestArrived,
    RequestCancelled,
    RequestRepeated,
    RequestSuperseded,
    ResponseArrived,
    Sent,
    UnreadableArrived,
)
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.policy import known_clients
from humanmcp.protocol.policy.answer_book import Decision
from humanmcp.protocol.policy.timeouts import gave_up_after
from humanmcp.protocol.spec import methods
from humanmcp.protocol.validation import check
from humanmcp.stub.connection import EndOfInput, TooLong
from humanmcp.stub.handed_in import HandedIn
from humanmcp.stub.journal import BY_US
from humanmcp.stub.options import Keepalive
from humanmcp.stub.pending_timers import DueAction, PendingTimers
from humanmcp.stub.replies import ReplyDispatcher
from humanmcp.stub.text_files.on_purpose import ANYWAY, RAW
from humanmcp.stub.text_files.out_txt import BY_FILES, OutTxt
from humanmcp.stub.text_files.status import StatusTxt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.common.book_file import BookFile
    from humanmcp.protocol.conversation.events import Event
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.json.jsonrpc import Message
    from humanmcp.protocol.session import Session
    from humanmcp.stub.connection import Connection, Incoming
    from humanmcp.stub.forwarding import Forwarding
    from humanmcp.stub.journal import Journal
    from humanmcp.stub.options import ServeOptions
    from humanmcp.stub.text_files.files import TextFiles

logger = logging.getLogger(__name__)

MOST_WAITING: Final = 10_000
"""Requests of a session that may wait for people: a client that floods us fills no disk."""

QUIET_AFTER: Final = 0.05
"""Seconds without a line after which there is time for more than answering."""

TELL_WITHIN: Final = 1.0
FLUSH_WITHIN: Final = 0.1
KEEP_WITHIN: Final = 0.05

STUCK_AFTER: Final = 30.0
"""Seconds for which a client may take nothing before people are told that it does not read."""


class StubSession:
    """One session of a server: owns its connection, judges last, and alone writes to the client.

    An `Attended`: the attendant steps it.
    """

    def __init__(  # noqa: PLR0913 - the parts of a stub, each with its own module
        self,
        *,
        connection: Connection,
        session: Session,
        ledger: Journal,
        claim_files: Callable[[], TextFiles],
        shelf: BookFile,
        manner: ServeOptions,
        token: Callable[[], str],
        aside: Callable[[str], object],
        when_quiet: Callable[[StubSession], object],
    ) -> None:
        """Put the parts together. `token` makes an unguessable text for the hold.

        `aside` is told what the book will do and did instead of a person: stderr. `when_quiet` is
        called once, as soon as no line comes for a moment and the session is more than a probe.
        """
        self.connection = connection
        self.session = session
        self.ledger = ledger
        self.inbox = ledger.inbox
        self.clock = ledger.clock
        self.shelf = shelf
        self.manner = manner
        self.token = token
        self.claim_files = claim_files
        self.files: TextFiles | None = None
        self.voice = Keepalive(session, manner, shelf)
        self.answers = ReplyDispatcher(session, ledger, shelf, manner, self.voice)
        self.handed_in = HandedIn(session, ledger, self.answers, self.voice, self._leave)
        self.out_txt: OutTxt | None = None
        self.status = StatusTxt(session, self.answers, self.clock, manner, aside)
        self.exit_status = 0
        """What a process that serves this session alone ends with."""
        self.forwarding = self._way_to_the_server(aside)
        self._told_at = self.clock.now()
        self._told_of = 0
        self._decided: dict[int, Decision] = {}
        self._over = False
        self._bell = self.inbox.bell(ledger.name)
        self._wake: Callable[[], object] = _not_attended_yet
        self._when_quiet: Callable[[StubSession], object] | None = when_quiet
        self._quiet_at = self.clock.now() + QUIET_AFTER
        self._why_no_folder = ""
        files = self._claim_files()
        self._agenda = PollSchedule(bell=self._bell is not None, files=files.shared)

    def _way_to_the_server(self, aside: Callable[[str], object]) -> Forwarding | None:
        if self.manner.forward is None or self.manner.replay is None:
            return None
        from humanmcp.stub.forwarding import Forwarding  # noqa: PLC0415 - seldom wanted

        return Forwarding(
            self.manner.forward,
            self.manner.replay,
            self.session,
            self.ledger,
            self.answers,
            language=self.manner.language,
            wake=lambda: self._wake(),  # noqa: PLW0108 - it is learned when this is attended
            aside=aside,
            fall_back=self._fall_back,
        )

    def _claim_files(self) -> TextFiles:
        self.files = self.claim_files()
        self.out_txt = OutTxt(self.files, self.session, self.ledger, self.answers)
        self.ledger.facts = self.ledger.facts._replace(files=str(self.files.folder))
        self.ledger.describe(self.session)
        return self.files

    def begin(self, wake: Callable[[], object]) -> None:
        """Be woken by lines of the client, and by whoever rings at a desk."""
        self._wake = wake
        self.connection.listen(wake)
        if self._bell is not None:
            self._bell.listen(self._rung)

    def _leave(self, status: int) -> None:
        """End as soon as this step is over: somebody asked for it."""
        self._over, self.exit_status = True, status

    def _rung(self) -> None:
        """Wake, from the bell's thread."""
        self._agenda.rung = True
        self._wake()

    def step(self, now: float) -> float | None:
        """Take one thing in and look around."""
        got = self.connection.get()
        if got is not None:
            self._quiet_at = now + QUIET_AFTER
            self._take_in(got)
        elif self._has_to_announce:
            if now < self._quiet_at and not self._agenda.rung:
                return self._quiet_at
            self._announce()
        if self.forwarding is not None:
            self.forwarding.look()
        # Not after each line: of a client that says much at once thousands may wait.
        if not self._until_the_next_look():
            self._look(self.clock.now())
        self._tell(idle=got is None)
        if self._over:
            return None
        return now if got is not None else self._next_step()

    @property
    def _has_to_announce(self) -> bool:
        """Return True until the first moment without a line, in which there is time for more.

        Not of a probe's process: it has given the text files back, and nothing is to be said yet.
        """
        return self._when_quiet is not None and self.files is not None

    def _announce(self) -> None:
        when_quiet, self._when_quiet = self._when_quiet, None
        if when_quiet is not None:
            when_quiet(self)

    def _next_step(self) -> float:
        now = self.clock.now()
        untold = self.ledger.changes != self._told_of
        quiet_at = self._quiet_at if self._has_to_announce else math.inf
        return min(now + NAP if untold else math.inf, quiet_at, now + self._until_the_next_look())

    def _tell(self, *, idle: bool) -> None:
        """Say what has become of the lines: when nothing else is to be done, or once a second."""
        now = self.clock.now()
        if self.ledger.changes == self._told_of or not (idle or now >= self._told_at + TELL_WITHIN):
            return
        self._told_of, self._told_at = self.ledger.changes, now
        if self.files is not None:
            self.files.tell_status(self.status.text(now))
            self.status.tell_aside(now)

    def _until_the_next_look(self) -> float:
        """Seconds until there is something to look at."""
        return self._agenda.until_next(self.clock.now())

    def end(self) -> None:
        """Leave quickly: what matters is on disk already, whatever is pending."""
        self.session.end()
        self.answers.vigils.clear()
        self.ledger.changes += 1  # what waited is over
        self._keep_the_rest()
        self.connection.flush(FLUSH_WITHIN)
        if unsent := self.connection.backpressure.unsent:
            logger.warning("the client did not take the last %s bytes", unsent)
        self._tell(idle=True)
        if self.files is not None:
            self.files.release()
        self.ledger.end()
        if self.forwarding is not None:
            self.forwarding.close()

    def _keep_the_rest(self) -> None:
        """Write down what came and was not looked at any more, as far as the time allows."""
        until = self.clock.now() + KEEP_WITHIN
        missed = 0
        for line in self.connection.drain():
            if self.clock.now() >= until:
                missed += 1
                continue
            try:
                self.ledger.record(Direction.IN, line, note="not looked at any more")
            except InboxError:
                missed += 1
        if missed:
            logger.warning("the transcript misses the last %s lines of the client", missed)

    # -- what comes in ---------------------------------------------------------------------------

    def _take_in(self, got: Incoming) -> None:
        match got:
            case bytes():
                self._line_in(got)
            case TooLong():
                self._too_long_in(got)
            case EndOfInput():
                self._over = True
            case impossible:
                assert_never(impossible)

    def _too_long_in(self, got: TooLong) -> None:
        """Let a person refuse a request that was not kept: whoever sent it waits for an answer."""
        from humanmcp.protocol.json.truncated import stand_in  # noqa: PLC0415 - seldom wanted

        self.ledger.record(Direction.IN, got.first, note=f"{got.size} bytes: too long to keep")
        request = stand_in(got.first, got.last, got.size)
        if request is None:
            self.session.unreadable += 1
            self.ledger.cannot_read_last()
            self.ledger.describe(self.session)
        else:
            self._line_in(request)

    def _line_in(self, line: bytes) -> None:
        now = self.clock.now()
        self._agenda.arrived(now)
        events = self.session.receive(line)
        self.connection.came_with(
            [one.exchange.number for one in events if isinstance(one, _ASKED)]
        )
        arrived = [one.exchange for one in events if isinstance(one, RequestArrived)]
        number = arrived[0].number if arrived else 0
        decided = [self.answers.decision(exchange) for exchange in arrived]
        # Of several in a batch the answer to one may change what a rule does with the next.
        self._decided = {number: decided[0]} if len(decided) == 1 else {}
        waits = not self.connection.closed and not all(decision.at_once for decision in decided)
        try:
            self.ledger.record(Direction.IN, line, number, durable=waits)
        except InboxError as error:
            self._cannot_keep(events, error, now)
            return
        self._come_out_of_probing(events)
        at_once = bool(arrived) and not waits
        if not at_once:
            self._copy(line, events)
        try:
            for event in events:
                self._react(event, now)
        finally:
            if at_once:  # nobody has to read it first: the client need not wait for the copy
                self._copy(line, events, later=True)
        self.ledger.describe(self.session)

    def _copy(self, line: bytes, events: Sequence[Event], *, later: bool = False) -> None:
        """Add a line to `in.txt`, and what becomes of it to `status.txt`."""
        if self.files is not None:
            self.status.arrived(self.files.arrived(line, later=later), events)

    def _come_out_of_probing(self, events: Sequence[Event]) -> None:
        """Become visible with the first message that is no `server/discover`.

        Some clients ask that in a process of its own, which they end at once: nobody should see a
        session of it, and it must not keep the text files from the process that comes after it.
        """
        if not self.ledger.facts.probe:
            return
        if events and all(self._is_probe(event) for event in events):
            if self.files is not None and self.files.shared:
                self.files.release()
                self.files = self.out_txt = None
            return
        self.ledger.facts = self.ledger.facts._replace(probe=False)
        if self.files is None:
            self._claim_files()

    def _is_probe(self, event: Event) -> bool:
        return (
            isinstance(event, RequestArrived)
            and event.exchange.method == "server/discover"
            and self.answers.decision(event.exchange).due(0)
        )

    def _react(self, event: Event, now: float) -> None:
        match event:
            case RequestArrived(exchange):
                self._request_arrived(exchange, now)
            case RequestRepeated(exchange):
                self._request_repeated(exchange, now)
            case RequestCancelled(exchange, reason):
                self._learn(exchange, reason, now)
                self._waits_no_more(exchange, reason)
            case RequestSuperseded(exchange):
                self._waits_no_more(exchange, "handshake")
            case LineReady(line):
                self.ledger.write(line)
            case NoticeArrived(message):
                self._noticed(message)
            case ResponseArrived(message):
                self._play_on(message)
            case UnreadableArrived():
                self.ledger.cannot_read_last()  # nothing is answered
            case impossible:
                assert_never(impossible)

    def _waits_no_more(self, exchange: Exchange, reason: str) -> None:
        """Take an exchange out of the inbox; one that came after the end of input is not there."""
        if exchange.number in self.answers.vigils:
            self.answers.forget(exchange.number)
            self.ledger.close(exchange, reason=reason)

    def _request_arrived(self, exchange: Exchange, now: float) -> None:
        decision = self._decided.pop(exchange.number, None) or self.answers.decision(exchange)
        if self.forwarding is not None:
            self.forwarding.arrived(exchange)
            if decision.forward:
                self.forwarding.ask(exchange)
                return
        decision = self._played(exchange, decision)
        subscribed = self._acknowledge(exchange)
        left = self.answers.by_book(exchange, decision) if decision.due(0) else decision
        if left is None:
            return  # nobody needs to see it wait: it stands in the transcript
        if self.connection.closed:
            return  # nobody can answer it: the session is over when all that came is looked at
        self._let_wait(exchange, left, now, subscribed=subscribed)

    def _acknowledge(self, exchange: Exchange) -> bool:
        """Begin a subscription with what it must begin with. Returns whether it is one now."""
        if not methods.of(exchange.method).stays_open or not self.voice.may_acknowledge:
            return False
        acknowledged = self.session.acknowledge(exchange.number)
        if acknowledged is not None:
            self.ledger.write(acknowledged, exchange.number, by=BY_US)
        return acknowledged is not None

    def _fall_back(self, exchange: Exchange) -> None:
        """Treat a request that the real server does not answer like any that was not recorded."""
        current = self.session.exchanges.get(exchange.number)
        if (
            self.manner.replay is None
            or current is None
            or current.state is not ExchangeState.PENDING
        ):
            return
        self.manner.replay.leave(exchange)
        decision = self.answers.decision(exchange)
        left = self.answers.by_book(exchange, decision) if decision.due(0) else decision
        if left is not None:
            self._let_wait(exchange, left, self.clock.now())

    def _let_wait(
        self, exchange: Exchange, decision: Decision, now: float, *, subscribed: bool = False
    ) -> None:
        """Put a request into the inbox, for a person."""
        if len(self.answers.vigils) >= MOST_WAITING:
            self._turn_away(exchange, f"has {MOST_WAITING} requests waiting for an answer already")
            return
        vigil = PendingTimers(now, decision, self.answers.patience(exchange), subscribed=subscribed)
        vigil.writing = self.out_txt is not None and self.out_txt.is_being_written
        try:
            self.inbox.deliver(self._item(exchange, vigil))
        except InboxError as error:
            self._cannot_keep((RequestArrived(exchange),), error, now)
            return
        self.answers.vigils[exchange.number] = vigil
        if self.manner.notify is not None and decision.rule is None and not subscribed:
            self.manner.notify(self.ledger.name, exchange.number, exchange.tool)
        if self.out_txt is not None:
            self.out_txt.arrived(exchange)
        self._agenda.duties = min(self._agenda.duties, vigil.next())

    def _played(self, exchange: Exchange, decision: Decision) -> Decision:
        """Say what a recorded server said before its answer; what was not recorded is counted."""
        player = self.answers.player
        if player is None:
            return decision
        if not player.begin(exchange, decision.replayed):
            return Decision()  # the answer comes when the client has answered what it was asked
        if decision.replayed is None:
            player.replay.miss(exchange)
        return decision

    def _noticed(self, message: Message) -> None:
        """Let the server that is played, and the real one, react to a notification."""
        if self.answers.player is not None:
            self.answers.player.noticed(message.method)
        if self.forwarding is not None:
            self.forwarding.noticed(message)

    def _play_on(self, message: Message) -> None:
        """Go on with a recorded answer once the client has answered what it was asked."""
        if self.forwarding is not None:
            self.forwarding.response(message)
        player = self.answers.player
        number = player.response(message) if player is not None else 0
        number = number or self.answers.response(message)
        if number:
            exchange, vigil = self.session.exchanges[number], self.answers.vigils[number]
            vigil.decision = self.answers.decision(exchange)
            self._let_book_go_on(exchange, vigil, self.clock.now())

    def _request_repeated(self, exchange: Exchange, now: float) -> None:
        vigil = self.answers.vigils[exchange.number]
        vigil.repeated(now, self.answers.patience(exchange))
        self._agenda.duties = now
        self.ledger.update(exchange, vigil)
        self.answers.repeated(exchange.number)

    def _item(self, exchange: Exchange, vigil: PendingTimers) -> Item:
        start = check.start(exchange, self.session.known, self.manner.language)
        now = self.clock.stamp()
        return Item(
            key=self.ledger.key(exchange.number),
            line=exchange.request.raw,
            method=exchange.method,
            id=exchange.id.token,
            revision=exchange.revision,
            arrived=now,
            waiting=vigil.waiting(),
            draft=Draft(start, by=BY_US, at=now),
        )

    def _learn(self, exchange: Exchange, reason: str, now: float) -> None:
        """Remember how long this client waited, when it says that it gave up for the time."""
        vigil = self.answers.vigils.get(exchange.number)
        client = self.session.known.client_name
        if vigil is None or known_clients.is_shared(client):
            return
        seconds = gave_up_after(exchange, reason, now - vigil.arrived, vigil.patience)
        if seconds:
            self.ledger.limits.learn(client, seconds)

    def _cannot_keep(self, events: Sequence[Event], error: InboxError, now: float) -> None:
        """Tell the client that its requests could not be stored: better than silence.

        Anything else has happened all the same: who cancels a request waits for it no longer.
        """
        logger.error("the inbox cannot keep a message: %s", error)
        for event in events:
            if not isinstance(event, RequestArrived):
                self._react(event, now)
            else:
                self._turn_away(event.exchange, "could not store this message in its inbox")

    def _turn_away(self, exchange: Exchange, why: str) -> None:
        text = f'{{"code":-32603,"message":"humanmcp {why}"}}'
        outcome = self.session.reply(exchange.number, text, TextForm.ERROR)
        if isinstance(outcome, Sent):
            self.answers.sent(outcome, BY_US)

    # -- what people and the book want -----------------------------------------------------------

    def _look(self, now: float) -> None:
        """Look at what is due."""
        waiting = bool(self.answers.vigils)
        if self._agenda.desks_are_due(now):
            self._look_at_desks()
            self._agenda.desks_were_seen(now, self.clock.now(), waiting=waiting)
            self._agenda.duties = now  # what people wish may change them
        # Before the book steps in, too: never over somebody who writes.
        if self._agenda.text_is_due(now, waiting=waiting) or now >= self._agenda.duties:
            self._look_at_text(now)
        if self._agenda.rest_is_due(now):
            self._look_at_the_rest(now)
        if now >= self._agenda.duties:
            self._do_duties(now)

    def _look_at_text(self, now: float) -> None:
        if self.out_txt is None:
            return
        self._look_on_purpose(now)
        again = self.out_txt.look(now)
        if again is not None:
            self._agenda.text_changes(now, again)
        self._see_whether_somebody_writes(self.out_txt.is_being_written)

    def _look_at_the_rest(self, now: float) -> None:
        if self.shelf.poll(now) or self.answers.is_behind:
            self.answers.book_changed()
            self._agenda.duties = now
        if self.answers.opening_changed():
            self.answers.look_again()
            self._agenda.duties = now
        self.ledger.catch_up()
        self._bring_the_files_back()
        self._see_whether_it_reads(now)

    def _do_duties(self, now: float) -> None:
        """Do what the clocks of those that wait call for, and plan the next time."""
        self._agenda.duties = now + NAP  # should one of them fail
        for number, vigil in list(self.answers.vigils.items()):
            duty = vigil.due(now)
            if duty is not None:
                self._do(duty, self.session.exchanges[number], vigil, now)
        waiting = self.answers.vigils.values()
        self._agenda.duties = min((vigil.next() for vigil in waiting), default=math.inf)

    def _see_whether_it_reads(self, now: float) -> None:
        stuck = self.connection.backpressure.stuck_for(now) >= STUCK_AFTER
        if stuck != self.ledger.facts.stuck:
            logger.warning("the client %s", "reads nothing" if stuck else "reads again")
            self.ledger.facts = self.ledger.facts._replace(stuck=stuck)
            self.ledger.describe(self.session)

    def _see_whether_somebody_writes(self, writing: bool) -> None:  # noqa: FBT001 - said by its name
        """Keep the book from answering over a text in `out.txt`, whichever request it is for."""
        for number, vigil in self.answers.vigils.items():
            if vigil.writing != writing:
                vigil.writing = writing
                self._agenda.duties = -math.inf
                if vigil.decision.stoppable:
                    self.ledger.update(self.session.exchanges[number], vigil)

    def _bring_the_files_back(self) -> None:
        """Make the person's folder anew when somebody took it away, with all that has come."""
        gone = self.files
        if gone is None or not gone.shared or not gone.is_gone:
            return
        try:
            files = self._claim_files()
        except (OSError, UnsafeFolderError) as error:
            self._cannot_come_back(error)
            return
        gone.release()
        frames = self.inbox.frames(self.ledger.name)
        came = [one.raw for one in frames if one.way is Direction.IN and not one.note]
        for line in came[len(came) - gone.lines :]:
            files.arrived(line)
        self.ledger.changes += 1

    def _cannot_come_back(self, error: Exception) -> None:
        """Say once why the folder is not there, and try again: the desks go on."""
        if str(error) != self._why_no_folder:
            self._why_no_folder = str(error)
            logger.warning("the folder of the text files cannot be made anew: %s", error)

    def _look_on_purpose(self, now: float) -> None:
        """Do what was saved in the files for what is wrong on purpose."""
        if self.files is None or self.out_txt is None:
            return
        for saved in self.files.on_purpose(now):
            if saved.name == RAW:
                self.ledger.write_raw(saved.content, by=BY_FILES)
            elif saved.name == ANYWAY:
                self.out_txt.send_anyway(saved.content)
            else:
                self.files.complain(self.handed_in.do(saved.content, self.manner.language))
            self._agenda.duties = now  # silence may be over

    def _look_at_desks(self) -> None:
        name = self.ledger.name
        for key, draft in self.inbox.drafts(name):
            vigil = self.answers.vigils.get(key.number)
            if vigil is not None and (draft.touched, draft.hold) != (vigil.touched, vigil.held):
                vigil.touched, vigil.held = draft.touched, draft.hold
                self.ledger.update(self.session.exchanges[key.number], vigil)
        self.handed_in.look()

    def _let_book_go_on(self, exchange: Exchange, vigil: PendingTimers, now: float) -> None:
        """Let the book answer, or do what its rule does before that."""
        left = self.answers.by_book(exchange, vigil.decision, now - vigil.arrived)
        if left is not None:
            vigil.decision = left
            self.ledger.update(exchange, vigil)
            self._agenda.duties = min(self._agenda.duties, vigil.next())

    def _do(self, duty: DueAction, exchange: Exchange, vigil: PendingTimers, now: float) -> None:
        match duty:
            case DueAction.ANSWER_BY_BOOK:
                self._let_book_go_on(exchange, vigil, now)
            case DueAction.SEND_PROGRESS:
                said = _waited_for(now - vigil.arrived)
                line = self.session.progress(exchange.number, vigil.progressed(), said)
                if line is not None and not self.ledger.is_mid_line:
                    self.ledger.write(line, exchange.number, by=BY_US)
            case DueAction.HOLD:
                line = self.session.hold(exchange.number, self.token())
                if line is None:
                    vigil.patience = vigil.patience._replace(hold_at=None)
                else:
                    vigil.parked(now)
                    self.ledger.write(line, exchange.number, by=BY_US, note="hold")
            case DueAction.GIVE_UP:
                quiet = self.session.went_quiet(exchange.number)
                self.answers.forget(exchange.number)
                if quiet is not None:
                    self.ledger.close(quiet, reason="quiet")
            case impossible:
                assert_never(impossible)


_ASKED: Final = (RequestArrived, RequestRepeated)


def _not_attended_yet() -> None:
    """Do nothing: the first step is still to come."""


def _waited_for(seconds: float) -> str:
    """Say to the client's user how long a person has been at it."""
    minutes = int(seconds // 60)
    return f"Waiting for a person ({minutes} min)" if minutes else "Waiting for a person"
