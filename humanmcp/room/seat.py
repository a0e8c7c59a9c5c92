"""One seat of a room: its mark, a desk over an inbox of its own, and the host that practises.

No seat can read another, because it has no other inbox than its own. Everything that needs the
others (the door, the wall, what the teacher sees) is the room's.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.common.book_file import BookFile
from humanmcp.common.paths import sample
from humanmcp.demo.command import WEATHER_BOOK
from humanmcp.demo.lesson import lesson_of
from humanmcp.demo.steps import HOST
from humanmcp.desk.http.context import Desk
from humanmcp.desk.state.board import Board
from humanmcp.desk.state.live import Live
from humanmcp.desk.state.saved_answers import Shelf
from humanmcp.inbox.atomic import keeping
from humanmcp.inbox.contract import Draft, InboxError, Key, Life, Reply
from humanmcp.locales import language_of, say
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.policy.answer_book import Mode
from humanmcp.room import records
from humanmcp.room.practice import LessonStanding, Practice, PracticeLine, as_reply
from humanmcp.stub.connection import MemoryConnection
from humanmcp.stub.options import ServeOptions
from humanmcp.stub.serve import ServerParts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from starlette.requests import Request

    from humanmcp.demo.steps import Course
    from humanmcp.desk.auth.guard import Address
    from humanmcp.inbox.attendant import Attendant
    from humanmcp.inbox.contract import Inbox
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.room.records import SeatRecord
    from humanmcp.room.room_door import RoomDoor

COLOURS: Final = ("blue", "green", "red", "yellow", "purple", "orange", "grey", "brown")
ANIMALS: Final = (
    *("fox", "owl", "bear", "whale", "frog", "cat", "crane", "rabbit", "turtle", "horse"),
    *("penguin", "monkey", "sparrow", "deer", "tiger", "mouse", "elephant", "dolphin", "goat"),
    *("hedgehog", "duck", "wolf", "snail"),
)
"""Their number and that of the colours have no common divisor: 184 seats are told apart."""


class SeatMark(NamedTuple):
    """A colour and an animal, by code."""

    colour: str
    animal: str

    def words(self, language: str) -> str:
        """Return the mark in words."""
        animal = say("room", f"animal.{self.animal}", language)
        return say("room", f"colour.{self.colour}", language, animal=animal)


def mark_of(number: int) -> SeatMark:
    """Return the mark of the seat with this number, from 1."""
    return SeatMark(COLOURS[(number - 1) % len(COLOURS)], ANIMALS[(number - 1) % len(ANIMALS)])


BOOK: Final = "book.toml"
_LESSON: Final = 1200
"""Lines of a session of one's own client from which its lesson is read, with the notes of HTTP."""
_LAYOUT: Final = frozenset({"J51"})
"""That an answer is laid out over several lines is the page's doing, and no mistake."""


class SeatParts(NamedTuple):
    """What every seat has of its room. `around` is asked what stands around a seat's pages.

    `inbox` opens the inbox of a seat whose folder this is.
    """

    door: RoomDoor
    address: Address
    language: str
    attendant: Attendant
    course: Callable[[str], Course]
    changed: Callable[[RoomSeat], object]
    around: Callable[[RoomSeat, Request], Mapping[str, Any]]
    url: Callable[[SeatRecord], str]
    inbox: Callable[[Path], Inbox]


class RoomSeat:
    """A seat. What it keeps stands in its folder; the methods may be called from any thread."""

    def __init__(self, record: SeatRecord, folder: Path, parts: SeatParts) -> None:
        """Open the inbox. What else is kept of the seat lies in `folder`."""
        self.record = record
        self.folder = folder
        self.mark = mark_of(record.number)
        self.practice: Practice | None = None
        self.active_at = 0.0
        """When the learner did something last, by the clock of the door."""
        self._parts = parts
        self._standing_codes: tuple[Key, frozenset[str]] | None = None
        self._lock = threading.RLock()
        self.inbox = parts.inbox(folder)
        self.inbox.sweep()
        board = Board(self.inbox)
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
            play=lambda _language: self.practise(),
            judged=self._judged,
            around=partial(parts.around, self),
            course=parts.course,
        )
        self.watched = replace(self.desk, live=Live(board), judged=lambda *_: None)
        """The same desk for the teacher, whose streams are no sign of the learner's life."""

    @property
    def board(self) -> Board:
        """What waits in this seat."""
        return self.desk.board

    def _changed(self) -> None:
        self._parts.changed(self)

    def note(self, **changes: object) -> None:
        """Change what is kept of the seat, and show it."""
        with self._lock:
            for name, value in changes.items():
                setattr(self.record, name, value)
            with keeping("seat", number=self.record.number):
                records.keep(self.folder / records.SEAT_FILE, self.record)
        self.board.poke()

    # -- the practice host ----------------------------------------------------------------------

    @property
    def standing(self) -> LessonStanding | None:
        """Where the learner is in the lesson; None before it began.

        A lesson for client developers is also passed by a client of their own.
        """
        own = self._own_standing()
        return self.practice.standing if own is None and self.practice is not None else own

    def _own_standing(self) -> LessonStanding | None:
        course = self._course
        found = (one.facts for one in self.board.sessions() if one.facts.client not in {"", HOST})
        facts = next(found, None) if course.tries_clients else None
        if facts is None:
            return None
        lesson = lesson_of(self.inbox.before(facts.name, 0, _LESSON), course, "en", own=True)
        passed = tuple(not one.failed for one in lesson.answered) if lesson else ()
        return LessonStanding(len(passed) + 1, len(course.requests), passed)

    @property
    def _course(self) -> Course:
        return self._parts.course(language_of(self._parts.language))

    def maker(self, mode: Mode) -> ServerParts:
        """Return what makes sessions in this seat's inbox."""
        manner = ServeOptions(mode, language=self._parts.language, notify=self._came)
        book = self.folder / BOOK
        if mode is Mode.BY_HAND and not (self._course.teaches or book.exists()):
            book = sample(WEATHER_BOOK)  # by hand one starts from its lists, as in the demo
        return ServerParts(self.folder, BookFile(book), manner, lambda _text: None)

    def _came(self, session: str, number: int, _tool: str) -> None:
        self.board.refresh(session, number)

    def practise(self, given: Sequence[Reply] = ()) -> None:
        """Begin the lesson anew; `given` are answers that stand already, from the first on."""
        with self._lock:
            if self.practice is not None:
                self.practice.end()
            connection = MemoryConnection()
            stub = self.maker(Mode.BY_HAND).session(connection, self.inbox)
            self.practice = Practice(
                self._course,
                PracticeLine(connection, self.inbox, stub.ledger.name),
                self._changed,
                given,
            )
            self._parts.attendant.attend(stub)
            self._parts.attendant.attend(self.practice)

    def go_to(self, step: int) -> None:
        """Open a step of the lesson: what comes before it is answered as the lesson would."""
        wanted = [one.example or {} for one in self._course.requests]
        own = self._answers()
        self.practise(
            [
                own[at] if at < len(own) else as_reply(example)
                for at, example in enumerate(wanted[: step - 1])
            ]
        )

    def go_on(self) -> None:
        """Be where the learner was when the room ended: a new session with the same answers.

        What was being typed is there again.
        """
        draft = self._last_draft()
        own = self._answers()
        self.practise(own)
        if draft is not None and self.practice is not None:
            self.practice.start_from(len(own) + 1, draft)

    def _last(self) -> str:
        """Return the newest session of the practice host, "" for none."""
        found = (one.name for one in self.inbox.sessions() if one.client == HOST)
        return self.practice.session if self.practice is not None else next(found, "")

    def _answers(self) -> list[Reply]:
        """Return what was answered in the lesson, in order, up to the first that is open."""
        session, found = self._last(), []
        number = 1
        while session:
            try:
                item = self.inbox.item(Key(session, number))
            except InboxError:
                break
            if item.state is not ExchangeState.ANSWERED or item.answer is None:
                break
            found.append(Reply(item.answer.line, anyway=item.answer.deliberate))
            number += 1
        return found

    def _last_draft(self) -> Draft | None:
        """Return what was being typed when the room ended."""
        session = self._last()
        if not session or self.inbox.facts(session).life is Life.CLOSED:
            return None
        items = (
            *self.inbox.items(session),
            *self.inbox.items(session, ExchangeState.ABANDONED),
        )
        drafts = [one.draft for one in items if one.draft is not None and one.draft.touched]
        return drafts[-1] if drafts else None

    # -- what the check says --------------------------------------------------------------------

    def _judged(self, key: Key, diagnostics: Sequence[Diagnostic], sent: bool) -> None:  # noqa: FBT001 - one of three
        codes = (
            frozenset(one.code for one in diagnostics if one.severity is not Severity.HINT)
            - _LAYOUT
        )
        with self._lock:
            before, self._standing_codes = self._standing_codes, (key, codes)
        if sent:
            step = str(self.standing.step) if self.standing else "0"
            tries = Counter(self.record.tries) + Counter([step])
            self.note(tries=dict(tries), codes=dict(Counter(self.record.codes) + Counter(codes)))
        elif before != self._standing_codes:
            self._changed()

    @property
    def codes(self) -> frozenset[str]:
        """The kinds of mistakes that stand in the answer that is being written now."""
        found = self._standing_codes
        if found is None or all(row.key != found[0] for row in self.board.waiting()):
            return frozenset()
        return found[1]
