"""A room: its door, its seats, and what the teacher does with all of them.

Everything that must survive is written to disk before it is shown (`records.py`): a room that was
killed opens with all its seats, and with the same code, links and addresses.
"""

from __future__ import annotations

import logging
import math
import re
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from humanmcp.common.book_file import read_book_text
from humanmcp.common.settings import make_private
from humanmcp.desk.board import Following
from humanmcp.desk.guard import is_near
from humanmcp.extensions.classroom.demo.lesson import (
    WEATHER,
    find_lesson,
    lesson_names,
    read_lesson,
)
from humanmcp.extensions.classroom.room import records
from humanmcp.extensions.classroom.room.clock import RoomClock
from humanmcp.extensions.classroom.room.pairs import (
    QUESTIONS,
    ModelSide,
    Pair,
    PairTalk,
    ServerSide,
)
from humanmcp.extensions.classroom.room.practice import PracticeSession
from humanmcp.extensions.classroom.room.records import (
    DoorState,
    PairRecord,
    RoomDoor,
    RoomRecord,
    RoomRole,
    SeatRecord,
    Visitor,
)
from humanmcp.extensions.classroom.room.seat import RoomSeat, SeatParts, mark_of
from humanmcp.inbox import open_inbox
from humanmcp.inbox.atomic import keeping, write_private
from humanmcp.inbox.attendant import Attendant
from humanmcp.inbox.contract import Life, StoreError, UnknownItemError
from humanmcp.locales import language_of, say, spoken_language
from humanmcp.locales.stop import stopped
from humanmcp.protocol.answer_book.decide import Mode
from humanmcp.server.memory_connection import MemoryConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from humanmcp.desk.guard import Address
    from humanmcp.extensions.classroom.demo.steps import LessonSteps
    from humanmcp.inbox.contract import Inbox, SessionFacts
    from humanmcp.server.session import ServedSession

EVERY: Final = 0.3
"""Seconds between two broadcasts: thirty people type at once."""


LOOKS_EVERY: Final = 1.0
"""Seconds until the teacher sees what time alone has changed."""


class Broadcaster:
    """Calls `act` soon after `tell`, once for several calls. Runs in an attendant."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._wake: Callable[[], object] = lambda: None
        self._pending = False
        self._not_before = 0.0

    def tell(self) -> None:
        """Schedule a broadcast. Callable from any thread."""
        self._pending = True
        self._wake()

    # -- attended -------------------------------------------------------------------------------

    def begin_steps(self, wake: Callable[[], object]) -> None:
        """Learn how to be woken."""
        self._wake = wake

    def step(self, now: float) -> float | None:
        """Broadcast pending updates, at most once per interval."""
        if not self._pending:
            return math.inf
        if now < self._not_before:
            return self._not_before
        self._pending, self._not_before = False, now + EVERY
        self._act()
        return math.inf

    def leave(self) -> None:
        """Do nothing."""


class TimedChanges:
    """Tells when something is another one by time alone. Runs in an attendant."""

    def __init__(self, look: Callable[[], object], tell: Callable[[], object]) -> None:
        """Compare what `look` returns with what it returned before."""
        self._look, self._tell = look, tell
        self.seen: object = None

    def begin_steps(self, wake: Callable[[], object]) -> None:
        """Need no waking."""

    def step(self, now: float) -> float:
        """Tell of a change since the last look."""
        seen = self._look()
        if seen != self.seen:
            self.seen = seen
            self._tell()
        return now + LOOKS_EVERY

    def leave(self) -> None:
        """Do nothing."""


_log = logging.getLogger(__name__)

SEATS: Final = "seats"
LESSONS: Final = "lessons"
"""The folder of the files that the teacher has brought."""
MOST_SEATS: Final = 184
"""As many as there are marks."""
MOST_KNOCKS: Final = 100
LONGEST_NAME: Final = 40
LONGEST_HINT: Final = 400
IDLE_AFTER: Final = 120.0
STUCK_AFTER: Final = 180.0
"""Seconds at one step."""
STUCK_TRIES: Final = 3
"""Answers to one step that did not pass."""
GONE_AFTER: Final = 45.0
UNUSED_AFTER: Final = 300.0
"""Seconds without a sign after which nobody is expected to come back to a seat or a text."""


class Knock(NamedTuple):
    """A person who asks to join. With `lost`, the person had a seat before."""

    number: int
    key: str
    name: str
    lost: bool


class Classroom:
    """Everything that a room is. The methods may be called from any thread."""

    def __init__(
        self,
        folder: Path,
        language: str,
        around: Callable[..., Any],
        database: str = "",
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the room in `folder`, or make one. `around` returns what a page shows of it.

        With the address of a database, the inboxes of seats are in it.
        """
        self.folder = make_private(folder)
        self.language = language
        self.record = records.read(folder / records.ROOM_FILE, RoomRecord) or RoomRecord()
        self.record.lesson = self.record.lesson or WEATHER
        self._lessons: dict[str, Callable[[str], LessonSteps]] = {}
        self.door = RoomDoor()
        self.clock = RoomClock(folder / records.CLOCK_FILE, ticks)
        self.attendant = Attendant()
        self._attending = threading.Thread(
            target=partial(self.attendant.run, for_ever=True), name="attendant", daemon=True
        )
        self.knocks: dict[int, Knock] = {}
        self._anew = False
        self.granted: dict[int, int] = {}
        """Which seat a knock was given."""
        self._seats: dict[int, RoomSeat] = {}
        self._pairs: dict[int, Pair] = {}
        """The host of each pair, by the number of the model's seat."""
        self.removed: dict[int, SeatRecord] = {}
        """The seats that the teacher has taken away, which their people can be given back."""
        seats = make_private(folder / SEATS)
        self._database = database
        self._following = Following(below=None if database else seats)
        self._around = around
        self._lock = threading.RLock()
        self._broadcaster = Broadcaster(self._tell)
        self.timed = TimedChanges(self.by_time, self._broadcaster.tell)
        self.opened_at = self.door.clock()
        self.on_removed: Callable[[int], object] = lambda _number: None
        """Called when a seat was taken away, with its number."""
        self.address: Address

    # -- opening and closing --------------------------------------------------------------------

    def open(self, address: Address, url: str) -> None:
        self.address, self.url = address, url
        self.teacher = self._make_seat(SeatRecord(0, self.record.teacher), "teacher")
        self.wall = self._make_seat(SeatRecord(0, self.record.wall), "wall")
        self.attendant.attend(self._broadcaster, background=True)
        self.attendant.attend(self.clock, background=True)
        self.attendant.attend(self.timed, background=True)
        self.door.admit(Visitor(RoomRole.TEACHER), self.record.teacher)
        self.door.admit(Visitor(RoomRole.GUEST), self.record.wall)
        self.keep()

    def run(self) -> None:
        """Reopen every seat, and watch the inboxes until `close`."""
        self._attending.start()
        self._following.__enter__()
        self._following.add(self.teacher.folder, self.teacher.board)
        self.clock.go_on_from(one.began for one in self.record.pairs)
        for record in self._kept():
            if record.removed:
                self.removed[record.number] = record
                self.door.admit(Visitor(RoomRole.LEARNER, record.number), record.key)
                continue
            seat = self._take_in(record)
            if self._anew:
                seat.take_lesson("", told="lesson")
            else:
                seat.go_on()
        for pair in tuple(self.record.pairs):
            if self.seat(pair.model) and self.seat(pair.server):
                self._begin_pair(pair)
            else:
                self.record.pairs.remove(pair)

    def end_streams(self) -> None:
        """End what browsers listen to. Callable from any thread."""
        for seat in (self.teacher, self.wall, *self._seats.values()):
            seat.desk.live.end()
            seat.watched.live.end()

    def close(self) -> None:
        """End every session and thread, and wait until each session has ended in its inbox."""
        self.end_streams()
        self.attendant.stop()
        self._attending.join()
        self._following.__exit__()

    def _kept(self) -> list[SeatRecord]:
        found = []
        for file in sorted((self.folder / SEATS).glob(f"*/{records.SEAT_FILE}")):
            try:
                record = records.read(file, SeatRecord)
            except (OSError, ValueError) as error:
                _log.warning("%s is no seat: %s", file, error)
                continue
            if record is not None and record.number:
                found.append(record)
        return sorted(found, key=lambda one: one.number)

    def keep(self) -> None:
        """Write the room down, and show that something has changed.

        Raises:
            StoreError: it cannot be written.
        """
        with keeping("room"):
            records.keep(self.folder / records.ROOM_FILE, self.record)
        self._broadcaster.tell()

    def note(self, **changes: object) -> None:
        """Change what is kept of the room, and show it in every seat.

        Raises:
            StoreError: it cannot be saved, so nothing is changed.
        """
        with self._lock, records.changing(self.record, **changes):
            self.keep()
        for seat in self.seats:
            seat.board.poke()

    # -- who is there ---------------------------------------------------------------------------

    @property
    def seats(self) -> list[RoomSeat]:
        """The learners' seats, in the order in which they were taken."""
        return [self._seats[number] for number in sorted(self._seats)]

    def seat(self, number: int) -> RoomSeat | None:
        return self._seats.get(number)

    def seat_of(self, visitor: Visitor) -> RoomSeat | None:
        """Return the seat whose desk a visitor sees."""
        match visitor.kind:
            case RoomRole.TEACHER:
                return self.teacher
            case RoomRole.GUEST:
                return self.wall
            case RoomRole.KNOCKER:
                return None
            case _:
                return self.seat(visitor.seat)

    def join(self, name: str) -> RoomSeat | None:
        """Give a person a seat; None if all are taken. Two people may have the same name."""
        with self._lock:
            if len(self._seats) >= MOST_SEATS:
                return None
            number = self._free_number()
            joined = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            record = SeatRecord(number, name=name, joined=joined)
            seat = self._take_in(record)
            self.door.seen[Visitor(RoomRole.LEARNER, number)] = seat.active_at = self.door.clock()
            seat.taken_at = self.clock()
            try:
                seat.note()
                seat.practise()
            except StoreError:  # the learner is told, and has no seat
                self._seats.pop(number, None)
                self.door.dismiss(Visitor(RoomRole.LEARNER, number))
                self._leave(seat)
                (seat.folder / records.SEAT_FILE).unlink(missing_ok=True)
                raise
        self._broadcaster.tell()
        return seat

    def _free_number(self) -> int:
        """Return the next free number: neither the number nor its mark is used twice."""
        marks = {mark_of(one) for one in self._seats}
        number = max(self.record.last_seat, *self._seats, 0) + 1
        while mark_of(number) in marks:
            number += 1
        self.record.last_seat = number
        self.keep()
        return number

    def remove(self, seats: Iterable[RoomSeat]) -> None:
        """Remove seats. Their people are told, and can be given them back with all their work.

        Nobody is let into a seat that is still being left: whoever is then at its page, looks on
        there or calls its address would be ended with what was before.

        Raises:
            StoreError: it cannot be saved, so this seat stays.
        """
        for seat in seats:
            number = seat.record.number
            with self._lock:
                self.part([seat])
                seat.note(removed=time.time())
                self.removed[number] = seat.record
                self._seats.pop(number, None)
                for knock in [one for one, given in self.granted.items() if given == number]:
                    self.send_away(knock)
                self._leave(seat)
            if str(number) in self.record.projected.split():
                self.note(projected="code")
        self._broadcaster.tell()

    def _leave(self, seat: RoomSeat) -> None:
        """End what runs in a seat that nobody has any more."""
        self.door.dismiss(Visitor(RoomRole.WATCHER, seat.record.number))
        seat.close()
        self.on_removed(seat.record.number)

    def is_removed(self, visitor: Visitor) -> bool:
        """Return True for a learner whose seat was removed."""
        return visitor.kind is RoomRole.LEARNER and visitor.seat in self.removed

    def _restored(self, number: int) -> RoomSeat | None:
        """Give a removed seat back.

        Raises:
            StoreError: it cannot be saved, so the seat stays removed.
        """
        record = self.removed.get(number)
        if record is None:
            return None
        seat = self._take_in(record)
        try:
            with records.changing(record, removed=0.0):
                seat.go_on()
                seat.note()
        except StoreError:
            self._seats.pop(number)
            self._leave(seat)
            raise
        del self.removed[number]
        return seat

    def _take_in(self, record: SeatRecord) -> RoomSeat:
        seat = self._make_seat(record, f"{record.number:03d}")
        self._following.add(seat.folder, seat.board)
        self._seats[record.number] = seat
        self.door.admit(Visitor(RoomRole.LEARNER, record.number), record.key)
        # The teacher's own key leads to each seat, too: to look on.
        self.door.admit(Visitor(RoomRole.WATCHER, record.number), self.record.teacher)
        return seat

    def _make_seat(self, record: SeatRecord, name: str) -> RoomSeat:
        with keeping("seat", number=record.number):
            folder = make_private(self.folder / SEATS / name)
        seat = RoomSeat(
            record,
            folder,
            SeatParts(
                self.door,
                self.clock,
                self.address,
                self.language,
                self.attendant,
                lambda lesson, language: self.lesson_steps(language, lesson),
                self.lesson_of,
                self._changed,
                partial(self._around, self),
                lambda one: self.link(one.key) + "/mcp",
                self._inbox,
            ),
        )
        seat.board.is_aside = partial(self._is_aside, seat)
        return seat

    def _inbox(self, folder: Path) -> Inbox:
        """Open the inbox of a seat: in its folder, or in the database under the seat's name."""
        return open_inbox(folder, self._database, f"{self.record.name}/{folder.name}")

    def link(self, key: str) -> str:
        return f"{self.url}/s/{key}"

    def typed_link(self, key: str) -> str:
        """Return the link of the teacher or the projector, short enough to be typed."""
        return self.link(records.spaced(records.typed_key(key)))

    @property
    def is_reachable(self) -> bool:
        """Return True if a phone can open the address of the room."""
        return not is_near(urlsplit(self.url).netloc)

    @property
    def joining_link(self) -> str:
        """The address of the door, with the code filled in."""
        return f"{self.url}/login?code={self.record.code}"

    def key_of(self, visitor: Visitor) -> str:
        """Return the key of a visitor who is known."""
        match visitor.kind:
            case RoomRole.TEACHER | RoomRole.WATCHER:
                return self.record.teacher
            case RoomRole.GUEST:
                return self.record.wall
            case RoomRole.KNOCKER:
                return self.knocks[visitor.seat].key
            case _:
                return self._seats[visitor.seat].record.key

    # -- the door -------------------------------------------------------------------------------

    @property
    def state(self) -> DoorState:
        """Whether the code opens a seat."""
        return DoorState(self.record.door)

    def set_door(self, state: DoorState) -> None:
        """Open or lock the door. After a lock, the code is a new one."""
        locked = self.state is DoorState.LOCKED
        code = records.new_code() if locked and state is not DoorState.LOCKED else self.record.code
        self.note(door=state.value, code=code)

    def knock(self, name: str, *, lost: bool) -> Knock | None:
        """Add a person who asks to join; None if too many do."""
        with self._lock:
            if len(self.knocks) >= MOST_KNOCKS:
                return None
            number = max((*self.knocks, *self.granted), default=0) + 1
            knock = Knock(number, records.new_key(), name, lost)
            self.knocks[number] = knock
            self.door.admit(Visitor(RoomRole.KNOCKER, number), knock.key)
        self._broadcaster.tell()
        return knock

    def let_in(self, number: int, seat: int = 0) -> None:
        """Give a person at the door a seat: a new one, or the seat that was lost or removed."""
        with self._lock:
            knock = self.knocks.get(number)
            if knock is None or number in self.granted:
                return
            given = self.seat(seat) or self._restored(seat) if seat else self.join(knock.name)
            if given is not None:
                self.granted[number] = given.record.number
        self._broadcaster.tell()

    def send_away(self, number: int) -> None:
        """Forget a knock."""
        with self._lock:
            self.knocks.pop(number, None)
            self.granted.pop(number, None)
            self.door.dismiss(Visitor(RoomRole.KNOCKER, number))
        self._broadcaster.tell()

    # -- pairs ----------------------------------------------------------------------------------

    def pair_of(self, seat: RoomSeat) -> PairRecord | None:
        """Return the pair in which a seat is."""
        number = seat.record.number
        return next((one for one in self.record.pairs if number in {one.model, one.server}), None)

    def turn_of(self, pair: PairRecord) -> str:
        """Return whose turn it is in a pair: "model", "server", "over", or "" for not known yet."""
        host = self._pairs.get(pair.model)
        return host.turn if host else "over"

    def _is_aside(self, seat: RoomSeat, session: str) -> bool:
        """Return True for a lesson whose learner talks in a pair: it waits until that is over."""
        pair = self.pair_of(seat) if session in seat.record.sessions else None
        return pair is not None and self.turn_of(pair) != "over"

    @property
    def alone(self) -> list[RoomSeat]:
        """The seats without a pair whose people are here."""
        return [
            one for one in self.seats if self.pair_of(one) is None and self.presence(one) != "gone"
        ]

    def pair(self, model: RoomSeat, server: RoomSeat) -> None:
        """Join two seats. Pairs in which they were end."""
        if model is server:
            return
        with self._lock:
            self.part([model, server])
            numbers = model.record.number, server.record.number
            self._begin_pair(PairRecord(*numbers, began=self.clock()))
        for one in (model, server):
            one.note(told="")
            one.show_pair()

    def pair_all(self) -> None:
        """Join those without a pair, two by two. The last of an odd number stays alone."""
        alone = self.alone
        for model, server in zip(alone[::2], alone[1::2], strict=False):
            self.pair(model, server)

    def swap_pairs(self) -> None:
        """Begin each pair again, with the roles exchanged."""
        with self._lock:  # nobody of them is removed meanwhile
            for one in tuple(self.record.pairs):
                self.pair(self._seats[one.server], self._seats[one.model])

    def part(self, seats: Iterable[RoomSeat]) -> None:
        """End the pairs of these seats. What is open there ends, and stays in the history."""
        with self._lock:
            for pair in filter(None, map(self.pair_of, seats)):
                self._part(pair)

    def _part(self, pair: PairRecord) -> None:
        """End a pair, if it has not ended yet."""
        with self._lock:
            others = [one for one in self.record.pairs if one is not pair]
            if len(others) == len(self.record.pairs):
                return
            with records.changing(self.record, pairs=others):
                self.keep()
            if host := self._pairs.pop(pair.model, None):
                host.part()
            for number in (pair.model, pair.server):
                if (seat := self.seat(number)) is not None:
                    seat.leave_out(pair.began)
                    seat.note(told="parted")
                    seat.show_pair()

    def _begin_pair(self, pair: PairRecord) -> None:
        """Attend to a pair: a new one, or where the process before has left it."""
        model, server = self.seat(pair.model), self.seat(pair.server)
        if model is None or server is None:
            return
        connection, talk = MemoryConnection(), PairTalk(self._questions())
        parts = server.maker(Mode.BY_HAND)
        facts = _open_facts(server.inbox, pair.server_session)
        is_whole = not pair.model_session or _open_facts(model.inbox, pair.model_session)
        if facts is None or not is_whole:
            facts, pair.model_session = None, ""
        if facts is not None:
            make: Callable[[], ServedSession] = partial(
                parts.session, connection, server.inbox, facts=facts
            )
        else:  # new, or somebody ended or deleted a session of it: the pair begins again
            session = parts.session(connection, server.inbox)
            pair.server_session = session.journal.name
            make = lambda: session  # noqa: E731 - one of two
            others = [one for one in self.record.pairs if one is not pair]
            try:
                with records.changing(self.record, pairs=[*others, pair]):
                    self.keep()
            except StoreError:
                session.leave()
                raise

        def noted(name: str) -> None:
            pair.model_session = name
            self.keep()

        def turned() -> None:
            if host.turn == "over":
                for one in (model, server):
                    one.leave_out(pair.began)
                pair.began = 0.0
                with suppress(StoreError):
                    self.keep()
            for one in (model, server):
                one.show_pair()

        side = partial(ModelSide, model.inbox, pair.model_session)
        other = ServerSide(server.inbox, pair.server_session, connection)
        host = Pair(talk, other, side, noted, language_of(self.language))
        host.on_turn = turned
        self._pairs[pair.model] = host
        self.attendant.attend(PracticeSession(make, partial(self._part, pair)))
        self.attendant.attend(host)

    def _questions(self) -> list[str]:
        """Return what the user of a pair asks."""
        language = language_of(self.language)
        codes = (f"pair.question {at}" for at in range(1, QUESTIONS + 1))
        return [say("classroom", code, language) for code in codes]

    # -- the lesson -----------------------------------------------------------------------------

    def lesson_steps(self, language: str = "", lesson: str = "") -> LessonSteps:
        """Return a lesson, that of this room or another, in a language."""
        name = lesson or self.record.lesson
        if name not in self._lessons:
            self._lessons[name] = self._find_lesson(name)
        return self._lessons[name](language or language_of(self.language))

    def lesson_of(self, record: SeatRecord) -> str:
        return record.lesson or self.record.lesson

    def plays(self, lesson: str) -> None:
        """Play this lesson from now on. Answers of another lesson do not count for it.

        Raises:
            StopError: there is no such lesson, its file cannot be used, or it is played over HTTP.
        """
        self._lessons[lesson] = _playable(lesson, self._find_lesson(lesson))
        self._anew = lesson != (self.record.lesson or lesson)
        self.record.lesson = lesson

    def lessons(self) -> list[str]:
        """Return the lessons to choose from: those that come along, and that of the room."""
        names = [one for one in lesson_names() if not self.lesson_steps("en", one).http]
        names += sorted(one.name for one in (self.folder / LESSONS).glob("*.toml"))
        return names if self.record.lesson in names else [self.record.lesson, *names]

    def brought(self, lesson: str) -> str:
        """Return the name of a lesson in this room. A file is kept here: it may change outside.

        Raises:
            StopError: the file is no lesson, is played over HTTP, or cannot be written.
        """
        file = Path(lesson).expanduser()
        if lesson in lesson_names() or not file.is_file():
            return lesson
        return self.add_lesson(file.name, read_book_text(file))

    def add_lesson(self, name: str, text: str) -> str:
        """Keep a file that the teacher has brought. Return the name of its lesson in this room.

        What is kept of a seat counts the steps of a lesson. So a lesson that was played stays as it
        is, and another text of that name gets a number.

        Raises:
            StopError: it is no lesson, is played over HTTP, or cannot be written.
        """
        stem = re.sub(r"[^\w-]+", "-", Path(name).stem)[:LONGEST_NAME] or "lesson"
        played = {one for record in self._kept() for one in record.steps}
        kept = make_private(self.folder / LESSONS)
        names = (f"{stem}-{at}.toml" if at > 1 else f"{stem}.toml" for at in count(1))
        free = (one for one in names if one not in played or _text_of(kept / one) in {"", text})
        file = Path(next(free))
        self._lessons[file.name] = _playable(name, read_lesson(text, file))
        with keeping("room"):
            write_private(kept / file, text)
        self._broadcaster.tell()
        return file.name

    def _find_lesson(self, name: str) -> Callable[[str], LessonSteps]:
        own = self.folder / LESSONS / Path(name).name
        made = find_lesson(str(own) if own.is_file() else name)
        return lambda language: made(language).with_handshake()  # in a class, it is taught

    def next_lesson(self, seat: RoomSeat) -> tuple[str, str] | None:
        """Return name and title of the lesson after that of a seat; None after the last one."""
        names, now = self.lessons(), self.lesson_of(seat.record)
        later = names[names.index(now) + 1 :][:1] if now in names else []
        return next(((one, self.lesson_steps(spoken_language(), one).title) for one in later), None)

    def take_lesson(self, lesson: str) -> None:
        """Begin a lesson in every seat. Who joins from then on has begun it already."""
        if lesson in self.lessons():
            with self._lock, records.changing(self.record, lesson=self.record.lesson):
                seats = self.seats
                self.plays(lesson)
                self.keep()
            for_each(seats, lambda seat: seat.take_lesson("", told="lesson"))

    @property
    def next_step(self) -> int:
        """The step after that of the learner who is furthest behind; 0 after the last one."""
        standings = [
            standing
            for seat in self.seats
            if self.lesson_of(seat.record) == self.record.lesson
            and self.presence(seat) != "gone"
            and (standing := seat.standing) is not None
        ]
        now = min((one.step for one in standings), default=1)
        return now + 1 if now < len(self.lesson_steps().requests) else 0

    def behind(self, step: int) -> list[RoomSeat]:
        """Return the seats that have not reached this step of the class lesson."""
        return [
            seat
            for seat in self.seats
            if self.lesson_of(seat.record) == self.record.lesson and seat.is_behind(step)
        ]

    def past(self, seat: RoomSeat) -> list[int]:
        """Return the steps of the class lesson that a seat is past, also from another lesson."""
        if self.lesson_of(seat.record) == self.record.lesson:
            standing = seat.standing
            return [*range(1, standing.step)] if standing is not None else []
        steps = seat.steps_in(self.record.lesson)
        return [int(at) for at, one in steps.items() if one.passed or one.given]

    def misconceptions(self) -> list[tuple[str, int, int, int]]:
        """Return each kind of mistake, and in how many seats it is now, was stopped, was sent."""
        now = Counter(code for seat in self.seats for code in seat.codes)
        stopped = Counter(code for seat in self.seats for code in seat.stopped_codes)
        sent = Counter(code for seat in self.seats for code in seat.sent_codes)
        found = [(code, now[code], stopped[code], sent[code]) for code in now | stopped | sent]
        return sorted(found, key=lambda one: (-one[1], -one[2] - one[3], one[0]))

    def presence(self, seat: RoomSeat) -> str:
        """Return whether a learner is here, idle, or gone."""
        now = self.door.clock()
        visitor = Visitor(RoomRole.LEARNER, seat.record.number)
        seen = self.door.seen.get(visitor, self.opened_at)
        if not seat.desk.live.streams and now - seen > GONE_AFTER:
            return "gone"
        active_at = max(seat.active_at, self.opened_at)  # what was before is not known
        return "idle" if now - active_at > IDLE_AFTER else "here"

    def was_active(self, seat: RoomSeat) -> bool:
        """Return True if a learner wrote or pressed something a short time ago."""
        return self.door.clock() - seat.active_at < UNUSED_AFTER

    def is_at_work(self, seat: RoomSeat) -> bool:
        """Return True if a learner who is here, or was here lately, has an open request."""
        is_here = self.presence(seat) != "gone" or self.was_active(seat)
        return is_here and bool(seat.board.waiting())

    def is_unused(self, seat: RoomSeat) -> bool:
        """Return True if nothing was done in a seat, and nobody has been there for minutes."""
        visitor = Visitor(RoomRole.LEARNER, seat.record.number)
        seen = max(self.door.seen.get(visitor, 0.0), seat.active_at, self.opened_at)
        is_left = not seat.desk.live.streams and self.door.clock() - seen > UNUSED_AFTER
        return is_left and not seat.has_done_anything

    def is_stuck(self, seat: RoomSeat) -> bool:
        """Return True if a learner who is here does not get past a step. In a pair it waits."""
        standing, step = seat.standing, None
        if standing is None or standing.is_over or self.presence(seat) == "gone":
            return False
        if (pair := self.pair_of(seat)) is not None and pair.began:
            return False
        step = seat.steps.get(str(standing.step))
        tries = step.tries - step.tries_before if step is not None and not step.passed else 0
        tried = tries >= STUCK_TRIES
        return tried or 0 < standing.since < self.clock() - STUCK_AFTER

    def name_of(self, seat: RoomSeat) -> str:
        """Return how a seat is called for the teacher: a second one of a name with a number."""
        mark = mark_of(seat.record.number).words()
        same = [one.record.number for one in self.seats if one.record.name == seat.record.name]
        turn = same.index(seat.record.number) + 1 if seat.record.number in same else 1
        name = seat.record.name or mark
        return f"{name} ({turn})" if turn > 1 and seat.record.name else name

    # -- what is shown --------------------------------------------------------------------------

    def by_time(self) -> list[object]:
        """Return what the teacher sees of each seat that changes while nobody does anything."""
        found: list[object] = []
        for seat in self.seats:
            mistakes = sum(len(one.mistakes) for one in seat.steps.values())
            found += seat.record.number, self.presence(seat), self.is_stuck(seat), mistakes
        return found

    def _changed(self, seat: RoomSeat) -> None:
        if seat.record.number:
            self._broadcaster.tell()

    def _tell(self) -> None:
        self.teacher.board.poke()
        self.wall.board.poke()


def for_each(seats: Iterable[RoomSeat], act: Callable[[RoomSeat], object]) -> None:
    """Do it in every seat, also after one that cannot be written.

    Raises:
        StoreError: the first of these.
    """
    errors = []
    for seat in seats:
        try:
            act(seat)
        except StoreError as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _open_facts(inbox: Inbox, session: str) -> SessionFacts | None:
    """Return what is known of a session that can be gone on with; None for no such one."""
    with suppress(UnknownItemError):
        if session and (facts := inbox.facts(session)).life is not Life.CLOSED:
            return facts
    return None


def _text_of(file: Path) -> str:
    """Return what is in a file; "" for nothing that can be read."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _playable(name: str, lesson: Callable[[str], LessonSteps]) -> Callable[[str], LessonSteps]:
    """Return a lesson that a room can play.

    Raises:
        StopError: it is played over HTTP.
    """
    if lesson("en").http:
        raise stopped("room", "lesson over http", name=name)
    return lesson
