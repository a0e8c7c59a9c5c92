"""Which orders for a class end somebody's work, and so ask first."""

import html
import re
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Final

import pytest
from starlette.requests import Request

from humanmcp.desk.guard import Address
from humanmcp.desk.moments import Around
from humanmcp.extensions.classroom.room import pages
from humanmcp.extensions.classroom.room.classroom import GONE_AFTER, UNUSED_AFTER, Classroom
from humanmcp.extensions.classroom.room.seat import RoomSeat
from humanmcp.inbox.contract import Key, StoreError
from tests.extensions.classroom.room.test_teaching import card
from tests.support.room_process import Rooming, Visitor
from tests.support.waiting import PATIENCE, until

LATER: Final = GONE_AFTER + 1
MUCH_LATER: Final = UNUSED_AFTER + 1


class Clock:
    """The clock of a door."""

    now = 1000.0

    def __call__(self) -> float:
        """Return what was set."""
        return self.now


@pytest.fixture
def class_of_three(tmp_path: Path) -> Iterator[tuple[Classroom, Clock]]:
    """Three people who have joined: one is at step 1, one at step 2, one has another lesson."""
    clock = Clock()
    classroom = Classroom(tmp_path, "en", pages.page_context)
    classroom.door.clock, classroom.opened_at = clock, clock.now
    classroom.open(Address(1), "http://127.0.0.1:1")
    classroom.run()
    first, second, third = (classroom.join(name) for name in ("first", "second", "third"))
    assert first
    assert second
    assert third
    second.go_to(2)
    third.take_lesson("first-answer")
    steps = [(first, 1), (second, 2), (third, 1)]

    def asked() -> bool:
        waiting = [[row.key for row in one.board.waiting()] for one, _ in steps]
        keys = [Key(one.practice.session, step) for one, step in steps if one.practice]
        return waiting == [[key] for key in keys]

    until(asked, "the request of each")
    yield classroom, clock
    classroom.close()


def at_work(classroom: Classroom, values: dict[str, str]) -> list[int]:
    """Return the numbers of the seats at work that an order would end."""
    ended = pages.ended_by(classroom, values)
    return [one.record.number for one in ended if classroom.is_at_work(one)]


RESTARTED: Final = (
    "The teacher restarted the lesson. What you typed is kept, and comes back with its step."
)
ORDERS: Final = [
    ("act=reset", LATER, [1, 2, 3]),
    ("act=reset", MUCH_LATER, []),
    ("act=reset seat=2", LATER, [2]),
    ("act=reset seat=9", LATER, []),
    ("act=lesson lesson=recover", LATER, [1, 2, 3]),
    ("act=lesson lesson=nothing", LATER, []),
    ("act=step step=2", LATER, [1]),
    ("act=step step=3", LATER, [1, 2]),
    ("act=step step=x", LATER, []),
    ("act=remove seat=3", LATER, [3]),
    ("act=remove seat=3", MUCH_LATER, []),
    ("act=remove idle", LATER, []),
    ("act=hint hint=x", LATER, []),
    ("act=freeze on=yes", LATER, []),
]


@pytest.mark.parametrize(("order", "after", "ended"), ORDERS)
def test_an_order_ends_the_work_of_whoever_is_at_it(
    class_of_three: tuple[Classroom, Clock], order: str, after: float, ended: list[int]
) -> None:
    """Who has an open request, and is here or was active in the last minutes."""
    classroom, clock = class_of_three
    clock.now += after
    values = dict(re.findall(r"(\w+)=([^=]+)(?= \w+=|$)", order))
    assert at_work(classroom, values) == ended


@pytest.mark.parametrize(("after", "left"), [(LATER, [1, 2, 3]), (MUCH_LATER, [2])])
def test_an_idle_seat_is_one_where_nothing_was_done_and_nobody_was_for_minutes(
    class_of_three: tuple[Classroom, Clock], after: float, left: list[int]
) -> None:
    """In the first minutes of a class nobody loses a seat."""
    classroom, clock = class_of_three
    classroom.seats[1].note(hand=1.0)
    clock.now += after
    classroom.remove([one for one in classroom.seats if classroom.is_unused(one)])
    assert [one.record.number for one in classroom.seats] == left


def test_who_looks_at_the_page_is_not_gone(class_of_three: tuple[Classroom, Clock]) -> None:
    """An open page is a sign, also where nobody types."""
    classroom, clock = class_of_three
    clock.now += MUCH_LATER
    classroom.seats[0].desk.live.streams = 1
    values = {"act": "reset"}
    assert at_work(classroom, values) == [1]
    assert not classroom.is_unused(classroom.seats[0])


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Rooming]:
    """A room of its own: what everybody is told would disturb others."""
    with Rooming(tmp_path / "home") as opened:
        yield opened


def words(page: str) -> str:
    """Return the words of a page's own part."""
    found = re.findall(r"<main.*?</main>", page, re.DOTALL)[0]
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", re.sub(r"</?bdi>", "", found)).split()))


def test_an_order_says_whose_work_it_ends_and_does_nothing_before_that_was_seen(
    room: Rooming,
) -> None:
    """Also without the page: the seats are named in a field. Somebody new is asked about anew."""
    teacher, ann = room.teacher(), room.learner("Ann")
    ann.answer_as_offered("initialize")
    asked = ann.question("tools/list")
    page = teacher.submit("/room", act="reset")
    assert page.status == 409
    assert words(page.text) == (
        "This ends the work of 1 person Ann All have an open request. "
        "Active in the last 5 minutes: 1. Everyone begins again at step 1. "
        "What they typed is kept, and comes back with its step. Restart the lesson Cancel"
    )
    assert ann.question("tools/list")["session"] == asked["session"]
    ben = room.learner("Ben")
    ben.question()
    page = teacher.submit("/room", act="reset", sure="1")
    assert page.status == 409, "Ben had not joined when the first question was asked"
    assert "This ends the work of 2 people Ann, Ben" in words(page.text)
    assert teacher.submit("/room", act="reset", sure="1 2").status == 303
    assert ann.question("initialize")["session"] != asked["session"]
    until(lambda: "step 1 of 5" in card(teacher, "Ann"), "the first step again")


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ({"act": "reset"}, RESTARTED),
        (
            {"act": "lesson", "lesson": "recover"},
            "The teacher started this lesson. What you typed in the other lesson is kept.",
        ),
    ],
)
def test_a_learner_is_told_what_the_teacher_did(
    room: Rooming, order: dict[str, str], told: str
) -> None:
    """Until it is read, or the first step is answered; and not of what they did themselves."""
    teacher, reads, answers = room.teacher(), room.learner("Reads"), room.learner("Answers")

    def tells(learner: Visitor) -> bool:
        return told in html.unescape(learner.get("/list").text)

    def begins_anew(learner: Visitor) -> None:
        joined = learner.question()["session"]
        learner.submit("/own", act="begin")
        until(lambda: learner.question()["session"] != joined, "the first step again")

    for one in (reads, answers):
        begins_anew(one)
        assert not tells(one)
    before = answers.question()["session"]
    teacher.order(**order)
    assert tells(reads)
    reads.submit("/own", act="hint read")
    assert not tells(reads)
    assert tells(answers)
    until(lambda: answers.question()["session"] != before, "the first step again")
    answers.answer_as_offered("initialize")
    until(lambda: not tells(answers), "nothing is told")


def test_what_is_said_beside_a_request_is_of_the_lesson_that_asks_it(
    class_of_three: tuple[Classroom, Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while the class has another lesson already, which this seat is about to begin."""
    seat = class_of_three[0].seat(1)
    assert seat
    assert seat.practice
    around = Around("", more={"role": "watcher"})
    monkeypatch.setattr(seat, "around", lambda _request: around)
    facts, request = seat.inbox.facts(seat.practice.session), Request({"type": "http"})

    def said() -> str:
        panel = seat.desk.panel(request, facts)
        assert panel
        return " ".join(re.sub(r"<[^>]+>", " ", panel.open).split())

    before = said()
    assert before.startswith("Step 1 of 5 ")
    class_of_three[0].record.lesson = "picked-tool"
    assert said() == before


def test_who_joins_while_a_lesson_begins_begins_it_once(
    class_of_three: tuple[Classroom, Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others begin it again, and are told so."""
    classroom, _ = class_of_three
    keep = classroom.keep

    def keep_and_join() -> None:
        keep()
        monkeypatch.setattr(classroom, "keep", keep)
        assert classroom.join("Bo")

    monkeypatch.setattr(classroom, "keep", keep_and_join)
    classroom.take_lesson("recover")
    lessons = [list(seat.record.sessions.values()) for seat in classroom.seats]
    assert [one[-1] for one in lessons] == ["recover"] * 4
    assert [len(one) for one in lessons] == [2, 2, 3, 1]


def test_many_who_join_while_a_lesson_begins_begin_it_once(tmp_path: Path) -> None:
    """Whoever comes first, the lock decides: the seat is listed, or has the new lesson already."""
    classroom = Classroom(tmp_path, "en", pages.page_context)
    classroom.open(Address(1), "http://127.0.0.1:1")
    classroom.run()
    begun = []
    for lesson in ("recover", "picked-tool", "first-answer") * 3:
        start = threading.Barrier(7)
        with ThreadPoolExecutor(7) as pool:

            def join(at: threading.Barrier = start) -> RoomSeat | None:
                at.wait(PATIENCE)
                return classroom.join("x")

            joining = [pool.submit(join) for _ in range(6)]
            start.wait(PATIENCE)
            classroom.take_lesson(lesson)
        seats = [seat for one in joining if (seat := one.result(PATIENCE)) is not None]
        begun += [list(seat.record.sessions.values()).count(lesson) for seat in seats]
        classroom.remove(seats)
    classroom.close()
    assert begun == [1] * 6 * 9


def test_a_seat_that_is_removed_while_a_lesson_begins_begins_none(
    class_of_three: tuple[Classroom, Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given back, it would have two: the learner answers the one, and the other goes on."""
    classroom, _ = class_of_three
    first, second, _third = classroom.seats
    practise = RoomSeat.practise

    def practise_and_remove(seat: RoomSeat, *, told: str = "") -> None:
        if seat is first:
            classroom.remove([second])
        practise(seat, told=told)

    monkeypatch.setattr(RoomSeat, "practise", practise_and_remove)
    before = list(second.record.sessions)
    classroom.take_lesson("recover")
    assert len(first.record.sessions) == 2
    assert list(second.record.sessions) == before


@pytest.mark.parametrize("order", [{"act": "lesson", "lesson": "recover"}, {"act": "reset"}])
def test_a_seat_that_cannot_be_written_keeps_nothing_from_the_others(
    class_of_three: tuple[Classroom, Clock],
    monkeypatch: pytest.MonkeyPatch,
    order: dict[str, str],
) -> None:
    """The teacher is told of the first one, when all others have begun."""
    classroom, _ = class_of_three
    _first, second, _third = classroom.seats
    practise = RoomSeat.practise

    def practise_or_not(seat: RoomSeat, *, told: str = "") -> None:
        if seat is second:
            raise StoreError(OSError(28, "No space left on device"), "seat", number=2)
        practise(seat, told=told)

    monkeypatch.setattr(RoomSeat, "practise", practise_or_not)
    before = [len(seat.record.sessions) for seat in classroom.seats]
    with pytest.raises(StoreError):
        pages._act(classroom, order)
    begun = [len(seat.record.sessions) for seat in classroom.seats]
    assert [now - then for then, now in zip(before, begun, strict=True)] == [1, 0, 1]


def test_nobody_is_removed_while_pairs_are_swapped(
    class_of_three: tuple[Classroom, Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits until each pair has begun again, and then ends theirs."""
    classroom, _ = class_of_three
    assert classroom.join("fourth")
    classroom.pair_all()
    pair = classroom.pair
    with ThreadPoolExecutor(1) as pool:

        def pair_and_remove(model: RoomSeat, server: RoomSeat) -> None:
            monkeypatch.setattr(classroom, "pair", pair)
            removing.append(pool.submit(classroom.remove, classroom.seats[2:]))
            wait(removing, 0.2)  # it waits for us; where nothing holds it, it is quicker
            pair(model, server)

        removing: list[Future[None]] = []
        monkeypatch.setattr(classroom, "pair", pair_and_remove)
        classroom.swap_pairs()
        removing[0].result(PATIENCE)
    assert [(one.server, one.model) for one in classroom.record.pairs] == [(1, 2)]
