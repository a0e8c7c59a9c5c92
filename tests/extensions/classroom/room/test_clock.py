"""What the clock of a class counts: the time in which its room was open, and nothing else."""

import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from humanmcp.desk.guard import Address
from humanmcp.desk.moments import Press
from humanmcp.extensions.classroom.room import pages, practice, records
from humanmcp.extensions.classroom.room.classroom import STUCK_AFTER, Classroom
from humanmcp.extensions.classroom.room.clock import ASLEEP, KEPT_EVERY, RoomClock
from humanmcp.extensions.classroom.room.records import SeatRecord, StepRecord
from humanmcp.extensions.classroom.room.seat import MISTAKE_AFTER, RoomSeat
from humanmcp.inbox.contract import Reply
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity
from tests.support.waiting import until

HOUR: Final = 3600.0
WORKED: Final = 60.0
COUNT_DOWN: Final = 600.0


class Computer:
    """A computer with a room on it: a clock that shows the time, and one that counts seconds."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Start both clocks."""
        self.folder, self.counted, self.shown = folder, 1000.0, 1_800_000_000.0
        monkeypatch.setattr(time, "time", lambda: self.shown)
        self.open()

    def open(self) -> None:
        """Open the room that is in the folder."""
        self.classroom = Classroom(
            self.folder, "en", pages.page_context, ticks=lambda: self.counted
        )
        self.classroom.open(Address(1), "http://127.0.0.1:1")
        self.classroom.run()

    def work(self, seconds: float) -> None:
        """Let time pass while people work."""
        for second in range(round(seconds)):
            self.counted, self.shown = self.counted + 1, self.shown + 1
            if not second % KEPT_EVERY:
                self.classroom.clock.keep()

    def kill(self) -> None:
        """Open a room on what is on the disk, and end the one that was there."""
        before, self.folder = self.folder, self.folder.with_name("killed")
        passing = shutil.ignore_patterns(".*", "tmp", "bell")  # not whole yet, and a socket
        shutil.copytree(before, self.folder, ignore=passing)
        self.classroom.close()

    @property
    def seat(self) -> RoomSeat:
        """The seat of the class, at the first step."""
        (found,) = self.classroom.seats
        return found


def is_kept(computer: Computer, step: str) -> bool:
    """Return True if it is on the disk that a step was asked."""
    kept = records.read(computer.seat.folder / records.SEAT_FILE, SeatRecord)
    return kept is not None and bool(kept.steps["weather"].get(step, StepRecord()).asked)


def is_killed(computer: Computer) -> None:
    """The room is away for 20 minutes."""
    computer.kill()
    computer.counted, computer.shown = computer.counted + 1200, computer.shown + 1200
    computer.open()


def is_rebooted(computer: Computer) -> None:
    """The room is away for an hour, and its computer counts from the start again."""
    computer.kill()
    computer.counted, computer.shown = 5.0, computer.shown + HOUR
    computer.open()


def is_stopped(computer: Computer) -> None:
    """The room is stopped in order, and opened on the next day."""
    computer.classroom.close()
    computer.counted, computer.shown = computer.counted + 24 * HOUR, computer.shown + 24 * HOUR
    computer.open()


def is_set_forward(computer: Computer) -> None:
    """The time of the computer is set."""
    computer.shown += HOUR


def is_set_back(computer: Computer) -> None:
    """The time of the computer is set."""
    computer.shown -= HOUR


def sleeps(computer: Computer) -> None:
    """The laptop is closed for an hour, as Linux and macOS count."""
    computer.shown += HOUR


def sleeps_and_counts(computer: Computer) -> None:
    """The laptop is closed for an hour, as Windows counts."""
    computer.shown, computer.counted = computer.shown + HOUR, computer.counted + HOUR


EVENTS: Final = [
    (is_killed, KEPT_EVERY),
    (is_rebooted, KEPT_EVERY),
    (is_stopped, 0.0),
    (is_set_forward, 0.0),
    (is_set_back, 0.0),
    (sleeps, 0.0),
    (sleeps_and_counts, ASLEEP),
]
"""What can happen, with the seconds by which the clock of the class may then be wrong."""


@pytest.fixture
def computer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Computer]:
    """A room with one seat, at its first step."""
    found = Computer(tmp_path / "room", monkeypatch)
    found.classroom.join("Ann")
    until(found.seat.board.waiting, "the first request")
    until(partial(is_kept, found, "1"), "the step on the disk")
    yield found
    found.classroom.close()


@pytest.mark.parametrize(("happen", "wrong_by"), EVENTS)
def test_only_the_time_in_which_the_room_was_open_counts(
    computer: Computer, happen: Callable[[Computer], None], wrong_by: float
) -> None:
    """For the seconds of a step, *stuck*, the raised hand and the count-down."""
    computer.seat.raise_hand()
    computer.classroom.note(ends=computer.classroom.clock() + COUNT_DOWN)
    computer.work(WORKED)
    happen(computer)
    computer.work(WORKED)
    worked, seat, classroom = 2 * WORKED, computer.seat, computer.classroom
    near = pytest.approx(worked, abs=wrong_by + 0.1)
    until(lambda: seat.practice and seat.practice.open_step == 1, "the step again")
    assert seat.seconds_at("weather", 1) == near
    card = pages._card(classroom, seat)
    assert computer.shown - card["hand"] == near
    assert computer.shown - card["arrived"] == near
    ends = pages._end_of_count_down(classroom)
    assert COUNT_DOWN - (ends - computer.shown) == near
    assert not classroom.is_stuck(seat)
    computer.work(STUCK_AFTER - worked + wrong_by + 1)
    assert classroom.is_stuck(seat)


def test_a_step_that_is_over_keeps_its_seconds(computer: Computer) -> None:
    """After the room was away, and whatever the time of the computer is."""
    computer.work(WORKED)
    computer.seat.go_to(2)
    until(lambda: computer.seat.practice and computer.seat.practice.open_step == 2, "step 2")
    before = computer.seat.seconds_at("weather", 1)
    assert before == pytest.approx(WORKED, abs=0.1)
    until(partial(is_kept, computer, "2"), "the next step on the disk")
    is_killed(computer)
    computer.work(WORKED)
    assert computer.seat.seconds_at("weather", 1) == before
    assert computer.seat.seconds_at("weather", 2) == pytest.approx(WORKED, abs=KEPT_EVERY + 0.1)


def test_the_host_that_gave_up_a_first_step_is_beyond_it_after_a_kill(
    computer: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never cancels `initialize`, so only its next request tells that it gave up."""
    monkeypatch.setattr(practice, "GIVES_UP_AFTER", 0.0)
    (row,) = computer.seat.board.waiting()
    wrong = '{"jsonrpc":"2.0","id":9,"result":{}}'
    computer.seat.inbox.send(row.key, Reply(wrong, anyway=True))
    until(partial(is_kept, computer, "2"), "the next step on the disk")
    before = computer.seat.standing
    assert before is not None
    assert (before.step, before.outcomes) == (2, (practice.StepOutcome.FAILED,))
    is_killed(computer)
    after = computer.seat.standing
    assert after is not None
    assert (after.step, after.outcomes) == (before.step, before.outcomes)


def test_a_mistake_in_the_last_lesson_is_not_one_in_the_next(
    computer: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks while a lesson begins still finds the old draft, as if its request waited."""
    seat, classroom = computer.seat, computer.classroom
    (row,) = seat.board.waiting()
    seat.judged(row.key, [Diagnostic("M09", Severity.ERROR)], Press.NONE)
    monkeypatch.setattr(RoomSeat, "codes", frozenset({"M09"}))
    monkeypatch.setattr(classroom.door, "clock", lambda: time.monotonic() + MISTAKE_AFTER)
    seat.take_lesson("recover")
    until(lambda: seat.practice and seat.practice.open_step == 1, "the next lesson")
    assert {at: one.mistakes for at, one in seat.steps.items() if one.mistakes} == {}
    assert seat.steps_in("weather")["1"].mistakes == ["M09"]


@pytest.mark.parametrize("happen", [None, is_killed])
def test_the_time_in_a_pair_makes_nobody_stuck(
    computer: Computer, happen: Callable[[Computer], None] | None
) -> None:
    """The request of the lesson waits meanwhile, and its seconds go on where they were."""
    computer.classroom.join("Bo")
    one, other = computer.classroom.seats
    until(other.board.waiting, "a request of the other")
    computer.work(WORKED)
    computer.classroom.pair(one, other)
    computer.work(STUCK_AFTER)
    if happen is not None:
        happen(computer)
    computer.work(STUCK_AFTER)
    classroom = computer.classroom
    seats = classroom.seats
    assert [classroom.is_stuck(seat) for seat in seats] == [False, False]
    classroom.part(seats)
    assert [classroom.is_stuck(seat) for seat in seats] == [False, False]
    near = pytest.approx(WORKED, abs=KEPT_EVERY + 0.1)
    assert [seat.seconds_at("weather", 1) for seat in seats] == [near, near]
    computer.work(STUCK_AFTER)
    assert [classroom.is_stuck(seat) for seat in seats] == [True, True]


def test_nothing_that_was_recorded_is_still_to_come_after_a_kill(computer: Computer) -> None:
    """The clock was kept before the step and the raised hand: no time is less than nothing."""
    computer.work(WORKED)
    computer.seat.raise_hand()
    computer.seat.go_to(2)
    until(partial(is_kept, computer, "2"), "the next step on the disk")
    computer.kill()
    (computer.folder / records.CLOCK_FILE).write_text("1.0", encoding="ascii")
    computer.open()
    now = computer.classroom.clock()
    assert computer.seat.record.hand
    assert now >= max(computer.seat.record.hand, computer.seat.record.steps["weather"]["2"].since)
    seconds = computer.seat.seconds_at("weather", 2)
    assert seconds is not None
    assert seconds >= 0


@pytest.mark.parametrize("text", ["", "soon", "\udcff"])
def test_a_file_that_is_no_time_begins_a_new_one(tmp_path: Path, text: str) -> None:
    """A clock that cannot be read opens the room all the same."""
    file = tmp_path / "clock"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert RoomClock(file, lambda: 5.0)() == 1.0


def test_a_disk_that_takes_nothing_leaves_the_clock_alone(tmp_path: Path) -> None:
    """It goes on, and is kept as soon as that is possible."""
    now = [0.0]
    clock = RoomClock(tmp_path / "away" / "clock", lambda: now[0])
    now[0] = 2.0
    assert clock.step(0.0) == KEPT_EVERY
    assert clock() == 3.0
    (tmp_path / "away").mkdir()
    clock.keep()
    assert RoomClock(tmp_path / "away" / "clock", lambda: now[0])() == 3.0


def test_who_is_stuck_by_time_alone_is_shown_to_an_open_page(computer: Computer) -> None:
    """Nothing else happens: nobody presses, types or joins."""
    classroom, shown = computer.classroom, computer.classroom.teacher.board
    until(lambda: classroom.timed.seen == classroom.by_time(), "all that has changed is told")
    seen, before = classroom.timed.seen, shown.version
    computer.work(STUCK_AFTER + 1)
    until(lambda: classroom.timed.seen != seen, "a change by time")
    until(lambda: shown.version > before, "the page is told to look again")
    assert classroom.is_stuck(computer.seat)
