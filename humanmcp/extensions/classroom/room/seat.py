"""One seat of a room: its mark, its desk with a separate inbox, and its practice host.

No seat can read another, because each has only its own inbox. Everything about all seats
(the door, the wall, the teacher's pages) is in the room.
"""

from __future__ import annotations

import logging
import math
import threading
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from humanmcp.answering import service
from humanmcp.answering.open_exchange import OpenExchange
from humanmcp.common.book_file import BookFile
from humanmcp.common.settings import sample
from humanmcp.common.timestamps import now
from humanmcp.desk.board import Board
from humanmcp.desk.desk import Desk
from humanmcp.desk.inbox.saved_answers import Shelf
from humanmcp.desk.live import Live
from humanmcp.desk.login import digest
from humanmcp.desk.moments import Around, Listener, Panel, Press
from humanmcp.extensions.classroom.demo.beside import lesson_panel
from humanmcp.extensions.classroom.demo.command import WEATHER_BOOK
from humanmcp.extensions.classroom.demo.lesson import lesson_of, lesson_of_client
from humanmcp.extensions.classroom.demo.steps import GIVEN_BY, HOST
from humanmcp.extensions.classroom.room import records
from humanmcp.extensions.classroom.room.pairs import PAIR_HOST
from humanmcp.extensions.classroom.room.practice import (
    BY_TEACHER,
    LessonStanding,
    Practice,
    PracticeLine,
    PracticeSession,
    StepEnd,
    StepOutcome,
)
from humanmcp.extensions.classroom.room.records import StepRecord
from humanmcp.inbox.atomic import keeping
from humanmcp.inbox.contract import InboxError, Key, Life, StoreError, UnknownItemError
from humanmcp.locales import language_of, say, spoken_language
from humanmcp.locales.stop import StopError
from humanmcp.protocol.answer_book.decide import Mode
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import HINTS
from humanmcp.protocol.json.jsonrpc import with_token
from humanmcp.server.memory_connection import MemoryConnection
from humanmcp.server.serve import ServerParts
from humanmcp.server.waiting import ServeOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from starlette.requests import Request

    from humanmcp.desk.guard import Address
    from humanmcp.extensions.classroom.demo.steps import LessonSteps
    from humanmcp.extensions.classroom.room.clock import RoomClock
    from humanmcp.extensions.classroom.room.records import RoomDoor, SeatRecord
    from humanmcp.inbox.attendant import Attendant
    from humanmcp.inbox.contract import Draft, Inbox, Item, Reply, SessionFacts
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.server.session import ServedSession

_log = logging.getLogger(__name__)

COLOURS: Final = ("blue", "green", "red", "yellow", "purple", "orange", "grey", "brown")
ANIMALS: Final = (
    *("fox", "owl", "bear", "whale", "frog", "cat", "crane", "rabbit", "turtle", "horse"),
    *("penguin", "monkey", "sparrow", "deer", "tiger", "mouse", "elephant", "dolphin", "goat"),
    *("hedgehog", "duck", "wolf", "snail"),
)
"""Their number and that of the colours have no common divisor, which makes 184 marks."""


class SeatMark(NamedTuple):
    """A colour and an animal, by code."""

    colour: str
    animal: str

    def words(self) -> str:
        animal = say("room", f"animal.{self.animal}")
        return say("room", f"colour.{self.colour}", animal=animal)


def mark_of(number: int) -> SeatMark:
    """Return the mark of the seat with this number, from 1."""
    return SeatMark(COLOURS[(number - 1) % len(COLOURS)], ANIMALS[(number - 1) % len(ANIMALS)])


BOOK: Final = "book.toml"
OURS: Final = frozenset({"", HOST, PAIR_HOST})
"""The clients of a seat that its person has not brought, and those without a name."""
_LESSON: Final = 1200
"""Lines of a session of one's own client from which its lesson is read, with the notes of HTTP."""
_LAYOUT: Final = frozenset({"J51"})
"""The page lays out answers over several lines: that is not a mistake."""
_NOTHING_YET: Final = frozenset({"J19", "M61"})
"""The problems of an empty box, and of a template: nothing was written, so nothing is wrong."""
MISTAKE_AFTER: Final = 2.0
"""Seconds until a problem counts: a half-typed word is not a mistake."""


class SeatParts(NamedTuple):
    """What a seat needs of its room. `around` returns what a seat's pages show of it.

    `lesson_steps` makes the lesson with a name, "" for that of the room, in a language. `lesson`
    returns the name of a seat's.

    `inbox` opens the inbox of the seat with this folder.
    """

    door: RoomDoor
    clock: RoomClock
    address: Address
    language: str
    attendant: Attendant
    lesson_steps: Callable[[str, str], LessonSteps]
    lesson: Callable[[SeatRecord], str]
    changed: Callable[[RoomSeat], object]
    around: Callable[[RoomSeat, Request], Around]
    url: Callable[[SeatRecord], str]
    inbox: Callable[[Path], Inbox]
    board: Callable[[Inbox], Board] = Board


class RoomSeat:
    """A seat, which is saved in its folder. The methods may be called from any thread."""

    def __init__(self, record: SeatRecord, folder: Path, parts: SeatParts) -> None:
        """Open the inbox. The rest of the seat is saved in `folder`."""
        self.record = record
        self.folder = folder
        self.mark = mark_of(record.number)
        self.practice: Practice | None = None
        self.active_at = -math.inf
        """When the learner did something last, by the clock of the door."""
        self.taken_at = -math.inf
        """When the learner joined, by the clock of the class; -inf for before this process."""
        self._parts = parts
        self.clock = parts.clock
        self.clock.go_on_from(record.moments)
        self._problems: tuple[Key, dict[str, float]] | None = None
        """The problems of the current draft, each with the time since when it is there."""
        self._known_example = Key("", 0), frozenset[str]()
        """What the example of the step that was judged last does wrong."""
        self._lock = threading.RLock()
        self._is_closed = False
        self.inbox = parts.inbox(folder)
        self.inbox.sweep()
        board = parts.board(self.inbox)
        board.listen(self._changed)
        self.desk = Desk(
            home=folder,
            board=board,
            live=Live(board),
            door=parts.door,
            address=parts.address,
            shelf=Shelf(folder),
            book=folder / BOOK,
            language=parts.language,
            url=parts.url(record),
            listeners=(SeatListener(self),),
        )
        self.watched = replace(self.desk, live=Live(board), listeners=(TeacherListener(self),))
        """The same desk for the teacher, whose streams do not count as the learner's presence."""

    @property
    def board(self) -> Board:
        return self.desk.board

    def _changed(self) -> None:
        self._parts.changed(self)

    def show_draft(self) -> None:
        """Show what is being typed, if somebody watches: the teacher, or the learner."""
        if self.record.pen or self.watched.live.streams:
            self.board.poke()

    def note(self, **changes: object) -> None:
        """Change what is kept of the seat, and show it.

        Raises:
            StoreError: it cannot be saved, so nothing is changed.
        """
        with self._lock, records.changing(self.record, **changes):
            if self._is_closed:
                return
            with keeping("seat", number=self.record.number):
                records.keep(self.folder / records.SEAT_FILE, self.record)
        self.board.poke()

    def _note_now_or_later(self, **changes: object) -> None:
        """Change what is kept of the seat. What a full disk refuses comes with the next change."""
        with self._lock:
            for name, value in changes.items():
                setattr(self.record, name, value)
        try:
            self.note()
        except StoreError as error:
            _log.warning("seat %s: %s", self.record.number, error)

    def show_pair(self) -> None:
        """Show that the own pair has begun or ended, or whose turn it is; the lesson waits."""
        self.board.poke()
        lesson = self.practice.session if self.practice is not None else ""
        for row in self.board.waiting(lesson) if lesson else ():
            self.board.poke(row.key)

    @property
    def has_done_anything(self) -> bool:
        """Return True if the seat was used: an answer, a draft, a raised hand, or a host."""
        with self._lock:
            steps = [one for lesson in self.record.steps.values() for one in lesson.values()]
        tried = any(one.tries for one in steps)
        clients = {one.facts.client for one in self.board.sessions()} - OURS
        typed = any(self._is_written(row.key) for row in self.board.waiting())
        return bool(tried or self.record.hand or clients or typed)

    def close(self) -> None:
        """Leave the lesson where it is. From now on, nothing is saved."""
        with self._lock:
            self._is_closed = True
            if self.practice is not None:
                self.practice.leave_off()
        self.desk.live.end()
        self.watched.live.end()

    # -- the practice host ----------------------------------------------------------------------

    @property
    def standing(self) -> LessonStanding | None:
        """Where the learner is in the lesson; None before it began.

        A client under test can also pass a lesson for client developers.
        """
        own = self._own_standing()
        return self.practice.standing if own is None and self.practice is not None else own

    def _own_standing(self) -> LessonStanding | None:
        lesson_steps = self._lesson_steps
        found = (one.facts for one in self.board.sessions() if one.facts.client not in OURS)
        facts = next(found, None) if lesson_steps.tries_clients else None
        if facts is None:
            return None
        lesson = lesson_of(
            self.inbox.last_frames_before(facts.name, 0, _LESSON), lesson_steps, own=True
        )
        steps = lesson.answered if lesson else ()
        outcomes = tuple(StepOutcome.FAILED if one.failed else StepOutcome.PASSED for one in steps)
        return LessonStanding(len(outcomes) + 1, len(lesson_steps.requests), outcomes)

    @property
    def _lesson_steps(self) -> LessonSteps:
        return self.lesson_steps(language_of(self._parts.language))

    def lesson_steps(self, language: str, session: str = "") -> LessonSteps:
        """Return the lesson of this seat, or that of one of its sessions, in a language.

        Raises:
            StopError: it is another one than now, and its file is gone.
        """
        lesson = self.record.sessions.get(session, self.record.lesson)
        return self._parts.lesson_steps(lesson, language)

    def around(self, request: Request) -> Around:
        """Return what the pages of this seat show of their room."""
        return self._parts.around(self, request)

    def maker(self, mode: Mode) -> ServerParts:
        """Return what makes sessions in this seat's inbox."""
        options = ServeOptions(mode, notify=self._came, kept_draft=self._kept_draft)
        book = self.folder / BOOK
        if mode is Mode.BY_HAND and not (self._lesson_steps.teaches or book.exists()):
            book = sample(WEATHER_BOOK)  # by hand one starts from its lists, as in the demo
        return ServerParts(self.folder, BookFile(book), options)

    def _came(self, session: str, number: int, _tool: str) -> None:
        self.board.refresh(session, number)

    @property
    def gives(self) -> bool:
        """Return True while the lesson is about to answer what is open here."""
        return self.practice is not None and self.practice.gives

    def practise(
        self, given: Mapping[int, Reply] | None = None, told: str = "", *, repeats: int = 0
    ) -> None:
        """Restart the lesson; `given` are prepared answers, by step.

        `told` is what the learner is told of it, `repeats` the step that they repeat.

        Raises:
            StoreError: no session can be begun, so the lesson goes on where it is.
        """
        with self._lock:
            if self._is_closed:
                return
            connection = MemoryConnection()
            server = self.maker(Mode.BY_HAND).session(connection, self.inbox)
            if self.practice is not None:
                self._note_mistakes()
                self._problems = None  # of a step that is asked no more
                lesson, at = self.record.sessions[self.practice.session], self.practice.open_step
                if at:
                    self._step_at(lesson, at).seconds = self.seconds_at(lesson, at)
                self.practice.end()
            name = server.journal.name
            self.record.sessions[name] = self._parts.lesson(self.record)
            self.record.opened = repeats or (self.record.opened if given else 0)
            self.record.repeats = bool(repeats)
            self.practice = self._host(connection, name)
            self.practice.give(given or {})
            self._attend(self.practice, lambda: server)
            self._note_now_or_later(told=told)

    def _host(self, connection: MemoryConnection, session: str) -> Practice:
        lesson = self.record.sessions[session]
        self.record.steps.setdefault(lesson, {})
        line = PracticeLine(connection, self.inbox, session)
        asked, over = partial(self._step_is_asked, lesson), partial(self._step_is_over, session)
        steps = self.lesson_steps(language_of(self._parts.language), session)
        return Practice(steps, line, self._changed, asked, over)

    def _attend(self, practice: Practice, make: Callable[[], ServedSession]) -> None:
        session = PracticeSession(make)
        practice.on_leaving_off = session.leave_off
        self._parts.attendant.attend(session)
        self._parts.attendant.attend(practice)

    def take_lesson(self, lesson: str, told: str = "") -> None:
        """Begin another lesson in this seat; "" for that of the room."""
        with self._lock, records.changing(self.record, lesson=lesson, hint="", opened=0):
            self.practise(told=told)

    def begin(self, step: int = 0) -> None:
        """Begin the lesson again; at a step that was asked, with the answers to those before it."""
        practice = self.practice
        if practice is not None and 0 < step < practice.standing.step:
            self.practise(practice.replies_before(step), repeats=step)
        elif not step:
            self.practise()

    def is_behind(self, step: int) -> bool:
        """Return True if the practice host has not asked for this step yet."""
        return self.practice is not None and self.practice.standing.step < step

    def go_to(self, step: int, *, repeats: bool = False) -> None:
        """Open a step of the lesson: the lesson answers what comes before it.

        With `repeats` it was opened by the learner, who repeats it.

        A seat at this step or a later one stays there. An open session continues.
        """
        practice = self.practice
        if practice is None or not self.is_behind(step):
            return
        self.note(opened=step, repeats=repeats)
        given = self._lesson_steps.replies_before(step)
        if practice.has_ended:
            self.practise(given)
        else:
            practice.give({at: one for at, one in given.items() if at >= practice.standing.step})

    def go_on(self) -> None:
        """Be where the learner was when the room ended, in the same session."""
        with self._lock:
            name = next(reversed(self.record.sessions), "")
            if self.record.sessions.get(name) != self._parts.lesson(self.record):
                self.practise()
                return
            connection = MemoryConnection()
            practice = self._host(connection, name)
            try:
                facts, known = self.inbox.facts(name), practice.go_on(self.inbox.frames(name))
            except UnknownItemError:  # somebody deleted it
                known = False
            if not known or practice.was_broken_off(facts.life):
                self.practise()
                return
            self.practice = practice
            if facts.life is Life.CLOSED:
                practice.end()
                return
            resume = self.maker(Mode.BY_HAND).session
            self._attend(practice, lambda: resume(connection, self.inbox, facts=facts))
        self.board.refresh(name)
        self.go_to(self.record.opened, repeats=self.record.repeats)
        for item in self.inbox.items(name):
            if item.draft is not None and item.draft.touched:
                opened = OpenExchange(self.inbox, item, facts)
                verdict = service.judge(opened, item.draft.text, item.draft.form)
                self.judged(item.key, verdict.diagnostics, Press.NONE)

    # -- drafts ---------------------------------------------------------------------------------

    def _step_of(self, key: Key) -> tuple[str, int]:
        """Return which step of which lesson asks for an answer; 0 for none."""
        practice = self.practice
        if practice is None or key.session != practice.session:
            return "", 0
        return self.record.sessions[key.session], practice.step_of(key.number)

    def draft_name(self, key: Key) -> str:
        """Name a draft after seat and step: a restart of lesson or room asks for the same again."""
        lesson, at = self._step_of(key)
        seat = digest(self.record.key).hex()[:16]
        return f"{seat}/{lesson}/{at}" if at else f"{key.session}/{key.number}"

    def _kept_draft(self, key: Key, token: str) -> Draft | None:
        """Return what was typed at this step before and not sent. The attendant calls it."""
        lesson, at = self._step_of(key)
        if not at:
            return None
        name, step = f"{key.session}/{key.number}", self._step_at(lesson, at)
        earlier = [one for one in step.asked if one != name]
        step.asked = [*earlier[-1:], name]  # the last one may not be in the inbox yet
        self._note_now_or_later()
        last = next(self.items_of(earlier), None)
        if last is None or last.draft is None or not last.draft.touched:
            return None
        is_answered = last.answer is not None and last.answer.by != GIVEN_BY
        is_answered &= not (self.record.repeats and at == self.record.opened)
        return None if is_answered else last.draft._replace(text=with_token(last.draft.text, token))

    def items_of(self, asked: Sequence[str]) -> Iterator[Item]:
        """Yield these exchanges (`StepRecord.asked`), newest first, without those that are gone."""
        for one in reversed(asked):
            session, _, number = one.partition("/")
            with suppress(UnknownItemError):
                yield self.inbox.item(Key(session, int(number)))

    @property
    def last_written(self) -> Item | None:
        """Return the request whose answer the learner wrote last, sent or not."""
        for session in self.board.sessions():
            for state in (ExchangeState.PENDING, ExchangeState.ANSWERED):
                for item in reversed(self.inbox.items(session.facts.name, state)):
                    if item.answer or (item.draft is not None and item.draft.touched):
                        return item
        return None

    # -- what the learner did -------------------------------------------------------------------

    @property
    def steps(self) -> Mapping[str, StepRecord]:
        """What the learner did in the present lesson, by the number of the step."""
        return self.steps_in(self._parts.lesson(self.record))

    def steps_in(self, lesson: str) -> Mapping[str, StepRecord]:
        """Return what the learner did in a lesson, by the number of the step."""
        self._note_mistakes()
        with self._lock:
            return dict(self.record.steps.get(lesson, {}))

    def seconds_at(self, lesson: str, at: int) -> float | None:
        """Return the seconds at a step: to its answer, until it was left, or so far."""
        step, practice = self.steps_in(lesson).get(str(at), StepRecord()), self.practice
        if step.passed or practice is None or at != practice.open_step:
            return step.seconds
        is_open = lesson == self.record.sessions[practice.session]
        return self._seconds_since(step) if is_open else step.seconds

    @property
    def stopped_codes(self) -> frozenset[str]:
        """The kinds of mistakes for which Send was refused in this lesson."""
        return frozenset(code for one in self.steps.values() for code in one.stopped)

    @property
    def sent_codes(self) -> frozenset[str]:
        """The kinds of mistakes that were sent in this lesson."""
        return frozenset(code for one in self.steps.values() for code in one.sent)

    def _step(self, key: Key) -> StepRecord:
        """Return what is kept of the step that an exchange asks for."""
        lesson, at = self._step_of(key)
        if lesson:
            return self._step_at(lesson, at)
        return self._present_step

    def _step_at(self, lesson: str, at: int) -> StepRecord:
        with self._lock:  # others read and save the steps meanwhile
            steps = self.record.steps.setdefault(lesson, {})
            return steps.setdefault(str(at), StepRecord())

    def _step_is_asked(self, lesson: str, at: int, is_retold: bool) -> float:  # noqa: FBT001 - one of two
        """Return since when a step is open; what was told before it was kept begins now."""
        step = self._step_at(lesson, at)
        if not (is_retold and step.since):
            step.since, step.tries_before = self.clock(), step.tries
        return step.since

    def leave_out(self, began: float) -> None:
        """Leave the time since a moment out of the present step; 0 for none."""
        practice = self.practice
        if practice is not None and practice.open_step and began:
            step = self._step_at(self.record.sessions[practice.session], practice.open_step)
            step.since += self.clock() - max(step.since, began)
            practice.since = step.since
            self._note_now_or_later()

    def _seconds_since(self, step: StepRecord) -> float:
        return round(self.clock() - step.since, 1)

    def _step_is_over(self, session: str, end: StepEnd) -> None:
        """Keep what became of a step; the hint for it has done its work."""
        step = self._step_at(self.record.sessions[session], end.at)
        passed = end.outcome is StepOutcome.PASSED
        if not (step.passed or (end.is_retold and step.seconds is not None)):
            step.seconds = self._seconds_since(step)
        step.passed |= passed
        if end.by == self.desk.author:
            _count_answer(step, Key(session, end.number))
        step.given = end.outcome is StepOutcome.GIVEN and not step.passed
        if not end.is_retold:
            opened = 0 if end.at >= self.record.opened else self.record.opened
            self._note_now_or_later(hint="" if passed else self.record.hint, opened=opened, told="")

    @property
    def _present_step(self) -> StepRecord:
        """What is kept of the step that the learner is at."""
        standing = self.standing
        at = min(standing.step, standing.total) if standing else 0
        return self._step_at(self._parts.lesson(self.record), at)

    def give_hint(self, hint: str) -> None:
        """Show the learner a hint for the present step; "" takes it back."""
        step = self._present_step
        with records.changing(step, hints=step.hints + bool(hint)):
            self.note(hint=hint)

    def raise_hand(self) -> None:
        """Note since when the learner's hand is raised."""
        if not self.record.hand:
            step = self._present_step
            with records.changing(step, hands=step.hands + 1):
                self.note(hand=self.clock())

    @property
    def handed_in(self) -> str:
        """When the learner handed in the present lesson, "" for not yet."""
        return self.record.handed_in.get(self._parts.lesson(self.record), "")

    def hand_in(self, *, is_done: bool) -> None:
        """Note that the learner is done with the present lesson, or not yet."""
        lesson = self._parts.lesson(self.record)
        others = {one: at for one, at in self.record.handed_in.items() if one != lesson}
        self.note(handed_in=others | ({lesson: now()} if is_done else {}))

    # -- mistakes -------------------------------------------------------------------------------

    def _is_counted(self, key: Key) -> bool:
        """Return True for an answer to a step of the lesson; False beside it."""
        return bool(self._step_of(key)[1]) or self._lesson_steps.tries_clients

    def _asked_for(self, key: Key) -> frozenset[str]:
        """Return what the example of a step does wrong, too: a lesson asks for a lie."""
        at = self._step_of(key)[1]
        if not at:
            return frozenset()
        known, codes = self._known_example
        if known != key:
            reply = self._lesson_steps.requests[at - 1].reply
            opened = OpenExchange(self.inbox, self.inbox.item(key), self.inbox.facts(key.session))
            codes = _codes(service.judge(opened, reply.text, reply.form).diagnostics)
            self._known_example = key, codes
        return codes

    def judged_for_teacher(self, key: Key, diagnostics: Sequence[Diagnostic]) -> None:
        """Note which problems are the teacher's."""
        step, codes = self._step(key), sorted(_codes(diagnostics) - self._asked_for(key))
        if self._is_counted(key) and step.taught != codes:
            step.taught = codes
            self._note_now_or_later()

    def judged(self, key: Key, diagnostics: Sequence[Diagnostic], press: Press) -> None:
        """Note the problems of the learner's draft."""
        if not self._is_counted(key):
            return
        codes = _codes(diagnostics) - self._asked_for(key)
        if press is not Press.SENT and codes <= _NOTHING_YET:
            press, codes = Press.NONE, frozenset()
        self._note_mistakes()
        since_now = self._parts.door.clock()
        with self._lock:
            step = self._step(key)
            step.taught = [one for one in step.taught if one in codes]
            codes -= {*step.taught}
            before = self._problems
            since = before[1] if before is not None and before[0] == key else {}
            self._problems = (key, {code: since.get(code, since_now) for code in codes})
        if press is not Press.NONE:
            if press is Press.SENT:
                _count_answer(step, key)
            else:
                step.tries += 1
            _add(step.mistakes, codes)
            _add(step.sent if press is Press.SENT else step.stopped, codes)
            self._note_now_or_later()  # what was sent is sent, whatever is counted
        elif before != self._problems:
            self._changed()

    def _note_mistakes(self) -> None:
        """Record the problems that stay in the draft for a while, even if they are fixed later."""
        with self._lock:  # another lesson does not begin meanwhile
            problems = self._problems
            if problems is None or not self.codes:
                return
            over = self._parts.door.clock() - MISTAKE_AFTER
            lasting = {code for code, since in problems[1].items() if since <= over}
            mistakes = self._step(problems[0]).mistakes
            if lasting - set(mistakes):
                _add(mistakes, lasting)
                self._note_now_or_later()

    def _is_written(self, key: Key) -> bool:
        """Return True if the learner has edited the draft: a template is not a mistake."""
        try:
            draft = self.inbox.item(key).draft
        except InboxError:
            return False
        return draft is not None and draft.touched

    @property
    def codes(self) -> frozenset[str]:
        """The kinds of mistakes in the current draft."""
        found = self._problems
        if found is None or not found[1] or not self._is_written(found[0]):
            return frozenset()
        waits = any(row.key == found[0] for row in self.board.waiting())
        return frozenset(found[1]) if waits else frozenset()


class SeatListener(Listener):
    """Tells a seat what happens at its desk."""

    IS_HOSTED: ClassVar = True
    STARTS: ClassVar = True

    def __init__(self, seat: RoomSeat) -> None:
        """`seat` hears what the learner does."""
        self._seat = seat

    def judged(self, key: Key, diagnostics: Sequence[Diagnostic], press: Press) -> None:
        self._seat.judged(key, diagnostics, press)

    def draft_saved(self) -> None:
        self._seat.show_draft()

    def try_now(self, language: str, *, helps: bool) -> None:
        """Restart the lesson, in the language of the room."""
        del language, helps
        self._seat.practise()

    def draft_name(self, key: Key) -> str:
        return self._seat.draft_name(key)

    def practises(self, client: str) -> bool:
        """Any client of a learner does."""
        del client
        return True

    def around(self, request: Request) -> Around:
        return self._seat.around(request)

    def panel(self, inbox: Inbox, request: Request, facts: SessionFacts) -> Panel | None:
        """Return the lesson of the practice host, or of a client under test."""
        made = None if facts.client == HOST else lesson_of_client(facts.client, self._seat.folder)
        language = spoken_language()
        try:
            steps = made(language) if made else self._seat.lesson_steps(language, facts.name)
        except StopError:
            return None
        own = made is None and facts.client != HOST
        if own and not (facts.client not in OURS and steps.tries_clients):
            return None
        around = self.around(request).more
        return lesson_panel(inbox, request, facts, steps, own=own, around=around)


class TeacherListener(SeatListener):
    """Tells a seat what the teacher does at its desk."""

    author = BY_TEACHER

    def judged(self, key: Key, diagnostics: Sequence[Diagnostic], press: Press) -> None:
        del press
        self._seat.judged_for_teacher(key, diagnostics)


def _codes(diagnostics: Iterable[Diagnostic]) -> frozenset[str]:
    """Return the kinds of mistakes among problems."""
    found = without_layout(diagnostics)
    return frozenset(one.code for one in found if one.severity not in HINTS)


def without_layout(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return problems without those that the page itself makes."""
    return tuple(one for one in diagnostics if one.code not in _LAYOUT)


def _count_answer(step: StepRecord, key: Key) -> None:
    """Count an answer once: the desk that sent it does, and the lesson that took it.

    So it is counted, too, where the room was killed between the two.
    """
    session, _, number = step.counted.partition("/")
    if session != key.session or int(number) < key.number:
        step.tries += 1
        step.counted = f"{key.session}/{key.number}"


def _add(codes: list[str], more: Iterable[str]) -> None:
    codes.extend(sorted(set(more) - set(codes)))
