"""Holds messages: which lines wait (`HoldPolicy`), where (`HeldQueue`), and `humanmcp hold`.

What fits no pattern and no rule is forwarded. Both pumps ask the policy, each from its thread, but
only while there is something to be held; so it knows nothing of the inbox and never waits. What it
keeps goes to the one loop that does: there it waits in the inbox as an exchange, and goes on as a
person decides.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from humanmcp.answering.summary import sessions_named
from humanmcp.common.line_pipe import LONGEST_LINE
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import to_stderr, to_stdout
from humanmcp.extensions.tap.real_server import INTERNAL_ERROR
from humanmcp.extensions.tap.recorder import BY_TAP
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import (
    Action,
    Answer,
    Draft,
    HeldFacts,
    Item,
    Life,
    Purpose,
    Reply,
    Waiting,
)
from humanmcp.locales import say
from humanmcp.locales.stop import StopError, sentence_of, stopped
from humanmcp.protocol.answer_book.book_entry import BookEntry, EntryAction
from humanmcp.protocol.answer_book.decision import by_entry
from humanmcp.protocol.answer_book.following import first_entry
from humanmcp.protocol.answer_book.placeholders import fill_answer
from humanmcp.protocol.conversation.allow_patterns import pattern_of, patterns_in
from humanmcp.protocol.conversation.approvals import approval_of
from humanmcp.protocol.conversation.decisions import DecisionRecord
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.timeouts import timeout_plan
from humanmcp.protocol.conversation.transcript import (
    BACK,
    CHANGED,
    DROPPED,
    INSTEAD,
    LET_GO,
    Direction,
)
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.json import jsonrpc, undecoded
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Message
from humanmcp.protocol.json.tree import pretty, text_at
from humanmcp.protocol.validation.held import (
    HeldMessage,
    PatternError,
    answers,
    doubts,
    judge,
    parse_patterns,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from humanmcp.common.line_pipe import Cut
    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.extensions.tap.pump import Sink
    from humanmcp.extensions.tap.recorder import TapRecorder
    from humanmcp.inbox.contract import DeskInbox
    from humanmcp.inbox.inbox_session import InboxSession
    from humanmcp.protocol.answer_book.book import Book
    from humanmcp.protocol.conversation.allow_patterns import AllowPattern
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.conversation.state import ObservedMessage
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.validation.held import Pattern

logger = logging.getLogger(__name__)


_END: Final = b"\r\n"


@dataclass(frozen=True, slots=True)
class Held:
    """A line that was kept. `line` has its end, as it came.

    `observed` is what it is about, None if the line is no message; of a batch, the first message in
    it that is to be held. `requests` are all that it asks. `rule` is
    the rule of the answer book that answers it, with its index; None for what waits for a person.
    `unread` is why nobody can be sure what the line says, () for a line that is understood.
    """

    number: int
    direction: Direction
    line: bytes
    observed: ObservedMessage | None
    version: str
    batch: bool = False
    entry: tuple[int, BookEntry] | None = None
    requests: tuple[Exchange, ...] = ()
    unread: tuple[Diagnostic, ...] = ()

    @property
    def raw(self) -> bytes:
        """The line as the transcript has it: without its line feed."""
        return self.line.removesuffix(b"\n")

    @property
    def method(self) -> str:
        """The method of the message, or of the request that it answers; "" if nobody is sure."""
        return "" if self.observed is None or self.unread else self.observed.method

    @property
    def request(self) -> Exchange | None:
        """The request that the message is about; None if nobody is sure."""
        return None if self.observed is None or self.unread else self.observed.request


@dataclass(frozen=True, slots=True)
class NotTaken:
    """A line that is too long to be held: it is not forwarded, and nobody can release it."""

    number: int
    direction: Direction
    cut: Cut


@dataclass(frozen=True, slots=True)
class Cancelled:
    """One side no longer waits for the answer to a request, which may be held."""

    number: int
    reason: str


@dataclass(eq=False, kw_only=True)
class HoldPolicy:
    """The patterns and rules that are in force, and what must be known to follow them.

    `record` notes a held line, `keep` takes it; both are called in a pump's thread. `passed` says
    what was heard of the lines that passed without a question. At first, everything passes.
    """

    record: Callable[[Held | NotTaken], object]
    keep: Callable[[Held | NotTaken | Cancelled], object]
    passed: Callable[[], ConversationState] = ConversationState

    def __post_init__(self) -> None:
        self._unread: frozenset[Direction] = frozenset()
        """The sides whose lines are held when they are not understood."""
        self._lock = threading.Lock()
        self._patterns: tuple[Pattern, ...] = ()
        self._allowed: tuple[AllowPattern, ...] = ()
        self._book: Book | None = None
        self._used: dict[int, int] = {}
        self._conversation = ConversationState()
        self._held = 0
        self._held_requests: dict[int, int] = {}
        """From the number of a request in the conversation to the number it is held under."""
        self.closed = False
        """Whether anything is to be held."""

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns in force, as they were written."""
        return tuple(pattern.text for pattern in self._patterns)

    def hold(self, patterns: Sequence[Pattern]) -> None:
        """Hold what fits one of these from now on."""
        with self._lock:
            self._patterns = tuple(patterns)
            self._allowed = patterns_in(one.text for one in patterns)
            self._see()

    def follow(self, book: Book) -> None:
        """Follow the rules of this book from now on."""
        with self._lock:
            self._book = book if book.entries else None
            self._used.clear()
            self._see()

    def _see(self) -> None:
        """Close or open. A held request keeps the gate closed: it may be cancelled."""
        was_closed = self.closed
        self.closed = bool(self._patterns or self._book or self._held_requests)
        holding = [one for one in self._patterns if pattern_of(one.text) is None]
        self._unread = frozenset(side for side in BACK if any(one.covers(side) for one in holding))
        entries = self._book.entries if self._book else ()
        if any(entry.action is not EntryAction.FORWARD for entry in entries):
            self._unread |= {Direction.IN}
        if self.closed and not was_closed:
            self._conversation = self.passed()

    def settled(self, held: Held, *, went_on: bool) -> None:
        """Hold a line no more. A request that never went on is forgotten: no answer will come."""
        with self._lock:
            for request in held.requests:
                self._held_requests.pop(request.number, None)
                if not went_on:
                    self._conversation.forget(request.direction, request.number)
            self._see()

    # -- in the pumps' threads ------------------------------------------------------------------

    def passes(self, direction: Direction, line: bytes) -> bool:
        """Return True if a line is forwarded now; a held line is recorded and given to the loop."""
        raw = line.rstrip(_END)
        if not raw.strip():
            return True
        found = jsonrpc.read(raw)
        with self._lock:
            unread = doubts(raw, found) if direction in self._unread else ()
            match found:
                case Message() as message:
                    held = self._look(direction, line, message, unread)
                case Batch() as batch:
                    held = self._look_at_batch(direction, line, batch, unread)
                case _:
                    held = self._hold(direction, line, None, unread=unread) if unread else None
            if unread:
                self._use_up(direction)
            self._see()
            if held is None:
                return True
            self.record(held)
        self.keep(held)
        return False

    def holds_unread(self, direction: Direction) -> bool:
        """Return True if a line of this side must be understood before it is forwarded."""
        return direction in self._unread

    def refuse(self, direction: Direction, cut: Cut) -> None:
        with self._lock:
            self._held += 1
            refused = NotTaken(self._held, direction, cut)
            self._use_up(direction)
            self._see()
            self.record(refused)
        self.keep(refused)

    def _use_up(self, direction: Direction) -> None:
        """Hold one message less of those that `next` holds."""
        spent = next((one for one in self._patterns if one.once and one.covers(direction)), None)
        self._patterns = tuple(one for one in self._patterns if one is not spent)

    def _look(
        self, direction: Direction, line: bytes, message: Message, unread: tuple[Diagnostic, ...]
    ) -> Held | None:
        observed = self._conversation.observe(direction, message)
        if unread:  # what it seems to say decides nothing
            return self._hold(direction, line, observed, unread=unread)
        if message.method == "notifications/cancelled":
            self._pass_on_cancel(observed)
        found = self._entry(observed)
        if found is not None:
            index, entry = found
            self._used[index] = self._used.get(index, 0) + 1
            if entry.action is EntryAction.FORWARD:
                return None
            held = self._hold(direction, line, observed)
            return replace(held, entry=found) if entry.action is EntryAction.ANSWER else held
        return self._hold(direction, line, observed) if self._wanted(observed) else None

    def _look_at_batch(
        self, direction: Direction, line: bytes, batch: Batch, unread: tuple[Diagnostic, ...]
    ) -> Held | None:
        """Hold a whole array when a pattern or a rule keeps one message in it: a person decides."""
        wanted: ObservedMessage | None = None
        asked: list[Exchange] = []
        for item in batch.items:
            if isinstance(item, Message):
                observed = self._conversation.observe(direction, item)
                asked += _asks(observed)
                if wanted is not None or unread:
                    continue
                found = self._entry(observed)
                is_ruled = found is not None and found[1].action is not EntryAction.FORWARD
                if is_ruled or self._wanted(observed):
                    wanted = observed
        if wanted is None and not unread:
            return None
        return self._hold(direction, line, wanted, batch=tuple(asked), unread=unread)

    def _entry(self, observed: ObservedMessage) -> tuple[int, BookEntry] | None:
        """Find the rule that matches a request of the client."""
        request = observed.request
        is_request = observed.message.kind is Kind.REQUEST and observed.direction is Direction.IN
        if self._book is None or request is None or not is_request:
            return None
        found = first_entry(request, self._book, self._used, self._conversation.negotiated)
        if found is None:
            return None
        index, entry = found
        if not entry.is_plain:  # a tap says nothing of its own, and asks nobody: a person does
            return index, entry._replace(action=EntryAction.HOLD)
        values = entry.values(request) if entry.fills else {}
        return index, entry._replace(text=fill_answer(entry.text, entry.form, values))

    def _is_allowed(self, observed: ObservedMessage) -> bool:
        """Return True for a call that a person has allowed for the session."""
        if not self._allowed or observed.direction is not Direction.IN:
            return False
        message = observed.message
        call = approval_of(message.raw, message, None, held=True)
        return call is not None and any(one.fits(call) for one in self._allowed)

    def _wanted(self, observed: ObservedMessage) -> bool:
        if self._is_allowed(observed):
            return False
        fitting = next((one for one in self._patterns if one.fits(observed)), None)
        if fitting is not None and fitting.once:
            self._patterns = tuple(one for one in self._patterns if one is not fitting)
        return fitting is not None

    def _hold(
        self,
        direction: Direction,
        line: bytes,
        observed: ObservedMessage | None,
        *,
        batch: tuple[Exchange, ...] | None = None,
        unread: tuple[Diagnostic, ...] = (),
    ) -> Held:
        self._held += 1
        request = observed.request if observed else None
        requests = _asks(observed) if batch is None else batch
        if batch is None:  # of an array one request may be cancelled: the others in it still wait
            self._held_requests |= {one.number: self._held for one in requests}
        version = (request.version if request else "") or self._conversation.version
        return Held(
            self._held,
            direction,
            line,
            observed,
            version,
            batch=batch is not None,
            requests=requests,
            unread=unread,
        )

    def _pass_on_cancel(self, observed: ObservedMessage) -> None:
        if observed.request is None:
            return
        number = self._held_requests.pop(observed.request.number, 0)
        if number:
            self.keep(Cancelled(number, text_at(observed.message.params, "reason")))


def _asks(observed: ObservedMessage | None) -> tuple[Exchange, ...]:
    """Return the request that a message is; nothing for any other."""
    if observed is None or observed.message.kind is not Kind.REQUEST:
        return ()
    return () if observed.request is None else (observed.request,)


@dataclass(slots=True)
class _HeldLine:
    """A held message. `due` is when something happens automatically; None for never."""

    held: Held
    passing: HeldMessage
    due: float | None


@dataclass(eq=False, kw_only=True)
class HeldQueue:
    """What is held in one session, and how it ends. Times are seconds of one monotonic clock.

    `sinks` are by where a line came from; `release_after` 0 is never.
    """

    inbox_session: InboxSession
    recorder: TapRecorder
    hold_policy: HoldPolicy
    sinks: Mapping[Direction, Sink]
    release_after: float = 0.0

    def __post_init__(self) -> None:
        self._waiting: dict[int, _HeldLine] = {}
        self._delivered: set[int] = set()
        self._unseen: set[int] = set()
        """What the inbox does not take: nobody can read it, so nothing releases it."""
        self._ended: set[Direction] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    # -- what comes -----------------------------------------------------------------------------

    def take(self, held: Held, now: float, at: str) -> None:
        """Hold a message from now on; `at` is the wall clock, for people."""
        passing = HeldMessage(
            _text(held.raw), held.direction, held.version, _asked(held), bool(held.unread)
        )
        held_line = self._waiting[held.number] = _HeldLine(held, passing, None)
        if held.direction in self._ended:
            self._last_word(held_line, at)
        elif held.entry and held.entry[1].after == 0:  # nobody needs to see it wait
            self._come_due(held_line, at)
        else:
            self._show(held_line, now, at)

    def _show(self, held_line: _HeldLine, now: float, at: str) -> None:
        """Put a message into the inbox, maybe later: until it is there, it stays held."""
        held = held_line.held
        item = self._item(held_line, at)

        def deliver() -> None:
            if held.number in self._waiting:
                self.inbox_session.inbox.deliver(item)
                self._delivered.add(held.number)
                after = item.waiting.book_at
                # Nobody could read it before this moment.
                begins = time.monotonic() if held.number in self._unseen else now
                held_line.due = None if after is None else begins + after
            self._unseen.discard(held.number)

        self.inbox_session.keep(f"held message {held.number}", deliver)
        if held.number not in self._delivered:
            self._unseen.add(held.number)
            to_stderr(say("tap", "held unseen", number=held.number))

    def _item(self, held_line: _HeldLine, at: str) -> Item:
        held, passing = held_line.held, held_line.passing
        plain = None if held.batch or held.unread else held.observed
        token = plain.message.id if plain else None
        text = passing.line if held.unread else pretty(passing.line)
        return Item(
            key=self.inbox_session.key(held.number),
            line=passing.line,
            method=held.method,
            id="" if token is None else token.token,
            protocol_version=held.version,
            arrived=at,
            purpose=Purpose.HELD,
            waiting=self._waits(held),
            draft=Draft(text, by=BY_TAP, at=at),
            held=HeldFacts(held.direction, passing.asked, held.unread),
        )

    def _waits(self, held: Held) -> Waiting:
        """Return how long the client will wait, and when the message is released automatically."""
        release = None if held.unread else self.release_after or None
        request = held.request
        if request is None or request.direction is not Direction.IN:
            return Waiting(book_at=release, book="fixed")
        timeout = timeout_plan(request, self.inbox_session.negotiated.client_name, 0.0)
        book_at = held.entry[1].after if held.entry else release
        return Waiting(timeout.limit, timeout.source, book_at, book="fixed")

    def cancelled(self, cancelled: Cancelled) -> None:
        """Drop a held request that was cancelled: the other side never sees it."""
        held = self._waiting.pop(cancelled.number, None)
        if held is not None:
            self.hold_policy.settled(held.held, went_on=False)
            self._close(cancelled.number, ExchangeState.CANCELLED, reason=cancelled.reason)

    def refuse(self, refused: NotTaken, at: str) -> None:
        """Say that a line was not forwarded; whoever waits for an answer gets an error."""
        cut, number = refused.cut, refused.number
        why = say("tap", "too long to hold", bytes=cut.size, mebibytes=LONGEST_LINE >> 20)
        to_stderr(why)
        self.recorder.put(Direction.NOTE, b"", number=number, by=BY_TAP, note=why)
        found = undecoded.at_the_ends(cut.line, cut.last)
        if "id" not in found:
            self.recorder.put(Direction.NOTE, b"", number=number, by=BY_TAP, note=DROPPED)
            return
        waits = BACK[refused.direction] if "method" in found else refused.direction
        line = jsonrpc.error_line(found["id"], INTERNAL_ERROR, f"humanmcp: {why}")
        self._put(waits, number, Answer(line, BY_TAP, at), INSTEAD)

    # -- what people and time want --------------------------------------------------------------

    def follow_people(self, at: str) -> None:
        """Do what people have sent."""
        session = self.inbox_session
        for key, reply in session.inbox.take_replies(session.name):
            held = self._waiting.get(key.number)
            if held is not None:
                self._settle(held, reply, at)

    def refuse_outgoing(self) -> None:
        """Give back what people want to say first: both ends of a tap are taken."""
        for ticket, _outgoing in self.inbox_session.outgoing():
            self.inbox_session.settle_outgoing(ticket, (kinds.own_message_at_tap().unplaced(),))

    def next(self) -> float:
        """Return when something happens automatically; infinity for never."""
        due = (held.due for held in self._waiting.values() if held.due is not None)
        return min(due, default=math.inf)

    def come_due(self, now: float, at: str) -> None:
        """Do what is due automatically."""
        for held in tuple(self._waiting.values()):
            if held.due is not None and now >= held.due:
                self._come_due(held, at)

    def _come_due(self, held: _HeldLine, at: str) -> None:
        entry = held.held.entry
        if entry is None:
            self._let_go(held.held, BY_TAP, at)
            return
        index, prepared = entry
        negotiated = self.inbox_session.negotiated
        verdict = judge(held.passing, prepared.text, prepared.form, negotiated, answer=True)
        if verdict.line is None:
            logger.warning("%s does not pass the check: a person decides", by_entry(index))
            held.held, held.due = replace(held.held, entry=None), None
            if held.held.number not in self._delivered:
                self._show(held, time.monotonic(), at)
        else:
            self._answer(held.held, Answer(verdict.line, by_entry(index), at))

    def _settle(self, held_line: _HeldLine, reply: Reply, at: str) -> None:
        """Do what a reply asks for, unless the check finds errors in it."""
        held, passing = held_line.held, held_line.passing
        if reply.action is Action.DROP:
            self._drop(held, reply.by, self._decided(held, reply, "", "drop"))
            return
        if reply.action is Action.FORWARD and reply.text == passing.line:
            self._allow(held, reply, at)
            return
        answer = reply.action is Action.ANSWER or answers(passing, reply.text, reply.form)
        verdict = judge(
            passing, reply.text, reply.form, self.inbox_session.negotiated, answer=answer
        )
        line = verdict.line if verdict.sendable or not reply.anyway else verdict.forced
        if line is None:
            self.inbox_session.refuse(held.number, verdict.diagnostics)
            return
        written = Answer(line, reply.by, at, deliberate=not verdict.sendable)
        if answer and (passing.question is not None or passing.questions):
            self._answer(held, written, self._decided(held, reply, line, "deny"))
        elif line == passing.line:
            self._allow(held, reply, at)
        else:
            self._change(held, written, self._decided(held, reply, line, "change"))

    def _allow(self, held: Held, reply: Reply, at: str) -> None:
        decision = self._decided(held, reply, _text(held.raw), "allow")
        self._let_go(held, reply.by, at, decision)

    def _decided(self, held: Held, reply: Reply, answered: str, action: str) -> str:
        """Return the record of what a person decided about a held message."""
        key = self.inbox_session.key(held.number)
        decision = DecisionRecord(*key, held.method, _text(held.raw), answered, action=action)
        return self.inbox_session.decided(decision, reply)

    # -- the four ends --------------------------------------------------------------------------

    def _let_go(self, held: Held, by: str, at: str, decision: str = "") -> None:
        """Let a message go on byte for byte."""
        self._note(held, by, LET_GO, decision)
        self.sinks[held.direction].insert(_whole(held.line))
        self._end(held, Answer(_text(held.raw), by, at), went_on=True)

    def _change(self, held: Held, answer: Answer, decision: str) -> None:
        self._put(held.direction, held.number, answer, CHANGED, decision)
        self._end(held, answer._replace(became=CHANGED), went_on=True)

    def _answer(self, held: Held, answer: Answer, decision: str = "") -> None:
        """Answer a request in the place of the side that it was sent to."""
        self._put(BACK[held.direction], held.number, answer, INSTEAD, decision)
        self._end(held, answer, went_on=False)

    def _drop(self, held: Held, by: str, decision: str) -> None:
        self._note(held, by, DROPPED, decision)
        del self._waiting[held.number]
        self.hold_policy.settled(held, went_on=False)
        self._close(held.number, ExchangeState.CANCELLED, reason=DROPPED)

    def _note(self, held: Held, by: str, note: str, decision: str) -> None:
        number = held.number
        self.recorder.put(Direction.NOTE, b"", number=number, by=by, note=note, decision=decision)

    def _put(
        self, direction: Direction, number: int, answer: Answer, note: str, decision: str = ""
    ) -> None:
        """Record and send a line of a person's, a rule's or the tap's own."""
        raw, by = answer.line.encode("utf-8", "replace"), answer.by
        self.recorder.put(direction, raw, number=number, by=by, note=note, decision=decision)
        self.sinks[direction].insert(raw + b"\n")

    def _end(self, held: Held, answer: Answer, *, went_on: bool) -> None:
        self._waiting.pop(held.number, None)
        self.hold_policy.settled(held, went_on=went_on)
        self._close(held.number, ExchangeState.ANSWERED, answer)

    def _close(
        self, number: int, state: ExchangeState, answer: Answer | None = None, reason: str = ""
    ) -> None:
        if number not in self._delivered:
            return
        self._delivered.discard(number)
        self.inbox_session.close(number, state, answer, reason)

    def side_ended(self, direction: Direction, at: str) -> None:
        """One side says nothing more. What it said last is let go, if anybody reads it.

        A request of a client that is gone is not: its answer is not awaited. Nor is what no person
        could read. What comes after this was said before the end, and is treated alike.
        """
        self._ended.add(direction)
        for held in tuple(self._waiting.values()):
            if held.held.direction is direction:
                self._last_word(held, at)

    def _last_word(self, held_line: _HeldLine, at: str) -> None:
        held = held_line.held
        is_known = not (held.unread or held.number in self._unseen)
        if held.requests or not (is_known and self.sinks[held.direction].open):
            del self._waiting[held.number]
            self._close(held.number, ExchangeState.ABANDONED)
            if not is_known:
                to_stderr(say("tap", "not released", number=held.number))
        else:
            self._let_go(held, BY_TAP, at)


def _asked(held: Held) -> str:
    """Return the request that a held answer belongs to, "" for anything but an answer."""
    request = held.request
    if held.observed is None or request is None or held.batch:
        return ""
    return request.request.raw if held.observed.message.kind.is_answer else ""


def _text(raw: bytes) -> str:
    return raw.removesuffix(b"\r").decode("utf-8", "backslashreplace")


def _whole(line: bytes) -> bytes:
    """Give a line its line feed, if it came without one at the end of a stream."""
    return line if line.endswith(b"\n") else line + b"\n"


FAILED: Final = 1


def add_arguments(parser: Parser) -> None:
    flag = parser.flags("hold")
    add_flags(parser, "home", "lang")
    flag("patterns", nargs="*", metavar="PATTERN")
    flag("--session", default="", metavar="NAME")
    flag("--nothing", action="store_true")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Change or show what a tap is to hold. Returns the exit status."""
    try:
        parse_patterns(arguments.patterns)
        inbox = open_inbox(home_folder(settings.home))
        name = one_tap(inbox, arguments.session)
        if arguments.patterns or arguments.nothing:
            inbox.hold(name, () if arguments.nothing else arguments.patterns)
    except (PatternError, StopError) as error:
        to_stderr(sentence_of(error))
        return FAILED
    wanted = ", ".join(inbox.holds(name)) or say("hold", "none")
    count = sum(1 for _ in held(inbox, (name,)))
    to_stdout(say("hold", "state", session=name, patterns=wanted, count=count))
    return 0


def taps(inbox: DeskInbox, wanted: str = "") -> tuple[str, ...]:
    """Return the names of the running taps, newest first; with a letter or a name, of those."""
    running = [
        facts for facts in inbox.sessions() if facts.role.traits.holds and facts.life is Life.OPEN
    ]
    found = sessions_named(running, wanted) if wanted else running
    return tuple(facts.name for facts in found)


def no_tap(names: Sequence[str]) -> StopError:
    """Return the error that no running tap matches, or several do."""
    return stopped("hold", "several taps" if names else "no tap", names=", ".join(names))


def one_tap(inbox: DeskInbox, wanted: str = "") -> str:
    """Return the only tap that matches.

    Raises:
        StopError: none is, or several are.
    """
    found = taps(inbox, wanted)
    if len(found) != 1:
        raise no_tap(found or taps(inbox))
    return found[0]


def held(inbox: DeskInbox, sessions: Sequence[str]) -> Iterator[Item]:
    for session in sessions:
        for item in inbox.items(session):
            if item.purpose is Purpose.HELD:
                yield item
