"""A whole class of thirty, counted twice: by the room, and by who plays the class.

The room is killed in each step, while the teacher's page is asked all the time.
"""

from __future__ import annotations

import io
import os
import re
import threading
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final

from humanmcp.extensions.classroom.room.clock import KEPT_EVERY
from tests.extensions.classroom.room.test_pairs import STEPS as OF_PAIR
from tests.extensions.classroom.room.test_pairs import answered, asked, inputs
from tests.extensions.classroom.room.test_teaching import at_seat, table_of, without_running_clock
from tests.support.room_process import Rooming, Visitor, is_over
from tests.support.serve_http import initialize
from tests.support.waiting import until

STEPS: Final = 5
SEATS: Final = 30
UNKNOWN_TYPE: Final = '{"content":[{"type":"txt","text":"sunny"}]}'
WRONG: Final = '{"jsonrpc":"2.0","id":0,"result":{"tools":[{"nam":"x"}]}}'
HUGE: Final = "x" * 4 * 1024 * 1024
ROUNDED: Final = 1.0
"""Seconds: the table has whole ones."""


@dataclass
class Learner:
    """A person of the class: what they do, and their own count of it."""

    name: str
    script: Callable[[Learner], Iterator[None]]
    first: int = 1
    """The step of the class at which they join."""
    step: int = 1
    passed: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    given: set[int] = field(default_factory=set)
    tries: Counter[int] = field(default_factory=Counter)
    mistakes: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    stopped: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    sent: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    hints: int = 0
    hands: int = 0
    is_done: bool = False
    typed: str = ""
    """What stands in the box and was not sent."""
    acted: float = 0.0
    """When the own turn, or an order of the teacher that ends a step, began."""
    began: float = 0.0
    """The earliest moment at which the own step can have begun."""
    seen: dict[int, float] = field(default_factory=dict)
    """When the request of a step was seen: it had begun."""
    took: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Of each step that is over: the least seconds that it can have taken, and its `began`."""
    lost: float = 0.0
    """Seconds for which no room counted."""

    def join(self, room: Rooming) -> None:
        """Take a seat."""
        self.began = time.monotonic()
        self.room, self.visitor = room, room.learner(self.name)
        self.turns = self.script(self)

    def asked(self) -> dict[str, Any]:
        """Wait for the request of the own step: wrong answers are stopped, so none is repeated."""

        def mine() -> dict[str, Any] | None:
            waiting = self.visitor.waiting()
            return next((one for one in waiting if one["number"] == self.step), None)

        found = until(mine, f"step {self.step} of {self.name}")
        self.seen.setdefault(self.step, time.monotonic())
        return found

    def path(self) -> str:
        """Return the path of the own request."""
        asked = self.asked()
        return f"/api/exchanges/{asked['session']}/{asked['number']}"

    def document(self) -> str:
        """Return what the page shows in the box."""
        return self.document_at(self.path())

    def document_at(self, path: str) -> str:
        """Return what stands in the box of a request."""
        return str(self.visitor.get(path).json["document"])

    def write(self, text: str) -> set[str]:
        """Type as the page does: it saves and checks. Returns the mistakes in it."""
        path = self.path()
        for call in ("draft", "check"):
            got = self.visitor.call(f"{path}/{call}", {"text": text})
            assert got.status == 200, got
        self.typed = text
        return codes(got.json["problems"])

    def over(self, step: set[int]) -> None:
        """Note that the own step is over, in a set of steps."""
        step.add(self.step)
        self.took[self.step] = self.least(self.acted), self.began
        self.began, self.typed, self.step = self.acted, "", self.step + 1

    def send(self, text: str, form: str = "message") -> None:
        """Send an answer, and count it."""
        asked = self.asked()
        got = self.visitor.answer(asked, text, form)
        if got.status == 422:
            if text:  # an empty box is neither a try nor a mistake
                self.tries[self.step] += 1
                self.count(self.stopped, codes(got.json["problems"]))
            self.typed = text
            return
        self.tries[self.step] += 1
        assert got.status in {200, 202}, got
        until(partial(is_over, self.visitor, asked), "the end of it")
        self.over(self.passed if passes(self.step, text, form) else self.failed)

    def count(self, where: defaultdict[int, set[str]], found: set[str]) -> None:
        """Count mistakes that were stopped, or sent."""
        where[self.step] |= found
        self.mistakes[self.step] |= found

    def right(self) -> None:
        """Answer the own step."""
        if self.step > 2:
            self.send(*right_at(self.step))
        else:
            self.send(self.document())  # the lesson fills it in

    def least(self, earliest: float) -> float:
        """Return the least seconds that the own step can have taken, if it ended after a moment."""
        return earliest - self.seen.get(self.step, earliest) - self.lost

    def seconds_at(self, step: int, looked: float) -> tuple[float, float] | None:
        """Return the bounds of the seconds at a step; the room was asked after `looked`."""
        now = time.monotonic()
        if step == self.step:
            return self.least(looked), now - self.began
        if step not in self.took:
            return None
        least, began = self.took[step]
        return least, self.seen.get(step + 1, now) - began  # the room judges after the answer

    def row(self) -> dict[str, str]:
        """Return the cells of the table that are counted."""
        cells = {
            "name": self.name,
            "lesson": "weather",
            "steps": str(STEPS),
            "step": str(min(self.step, STEPS)),
            "passed": str(len(self.passed)),
            "steps answered for them": " ".join(map(str, sorted(self.given))),
            "tries": str(self.tries.total()),
            "hints": str(self.hints),
            "hands": str(self.hands),
            "mistakes": cell(self.mistakes),
            "mistakes stopped": cell(self.stopped),
            "mistakes sent": cell(self.sent),
        }
        return cells | {f"tries at step {at}": str(self.tries[at]) for at in range(1, STEPS + 1)}

    def map_row(self) -> str:
        """Return the signs of the steps on the teacher's page; one for who is at a step."""
        ends = {"●": self.passed, "○": self.failed, "◌": self.given}
        signs = (
            next(
                (sign for sign, steps in ends.items() if at in steps),
                "▸" if at == self.step else "·",
            )
            for at in range(1, STEPS + 1)
        )
        return "".join(signs)


RIGHT: Final = {
    1: '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},'
    '"serverInfo":{"name":"me","version":"1"}}',
    2: '{"tools":[{"name":"forecast","inputSchema":{"type":"object"}}]}',
}


def right_at(step: int) -> tuple[str, str]:
    """Return an answer that passes a step, and its form."""
    if step in RIGHT:
        return RIGHT[step], "result"
    return {3: ("晴れ", "text"), 4: ("no", "tool error"), 5: ("id 5", "text")}[step]


def passes(step: int, text: str, form: str) -> bool:
    """Return True if an answer passes: a result, a refusal for the model, the id of the last."""
    is_error = form in {"error", "tool error"} or "isError" in text
    match step:
        case 3:
            return not is_error
        case 4:
            return is_error and form != "error"
        case 5:
            return not is_error and "5" in text
        case _:
            return True


def codes(problems: list[dict[str, Any]]) -> set[str]:
    """Return the kinds of mistakes among problems, as a teacher counts them."""
    return {one["code"] for one in problems if one["level"] != "hint"} - {"J51"}


def cell(found: dict[int, set[str]]) -> str:
    """Return each code with the number of steps in which it was made."""
    counted = Counter(code for each in found.values() for code in each)
    return " ".join(f"{code}:{count}" for code, count in sorted(counted.items()))


# -- the people: each goes on after a kill, and after the teacher's order ------------------------


def quick(one: Learner) -> Iterator[None]:
    """Answer at once."""
    while one.step <= STEPS:
        one.right()
        yield
        yield
    one.visitor.submit("/own", act="hand in")
    one.is_done = True


def idle(one: Learner) -> Iterator[None]:
    """Do nothing."""
    while True:
        yield


def wrong(one: Learner) -> Iterator[None]:
    """Be wrong on everything."""
    while True:
        for _ in range(3):
            one.send(WRONG)
        yield
        yield


def types_first(text: str, one: Learner) -> Iterator[None]:
    """Type, lose the room, find the text, and send something right."""
    while one.step <= STEPS:
        one.mistakes[one.step] |= one.write(text)
        yield
        assert one.document() == text
        one.send(*right_at(one.step))
        yield


def closes_tab(one: Learner) -> Iterator[None]:
    """Type, close the browser, and come back by the own link."""
    while one.step <= STEPS:
        one.mistakes[one.step] |= one.write('{"jsonrpc":"2.0",')
        link = one.visitor.link
        yield
        one.visitor = one.room.visitor().follow(link)
        assert one.document() == one.typed
        one.send(*right_at(one.step))
        yield


def phone(one: Learner) -> Iterator[None]:
    """Send forms of a page without scripts: first a wrong one."""
    while one.step <= STEPS:
        path = one.path()
        page = path.replace("/api/exchanges", "/m")
        found = one.visitor.call(f"{path}/check", {"text": WRONG}).json["problems"]
        one.count(one.stopped, codes(found))
        for text, form in ((WRONG, "message"), right_at(one.step)):
            assert one.visitor.submit(page, act="send", text=text, form=form).status == 303
            one.tries[one.step] += 1
        until(lambda: all(each["number"] != one.step for each in one.visitor.waiting()), "the end")
        one.over(one.passed)
        yield
        yield


def raises_hand(one: Learner) -> Iterator[None]:
    """Raise a hand at each step, twice at the same: it is one."""
    while True:
        for _ in range(2):
            one.visitor.submit("/own", act="raise")
        one.hands += 1
        yield
        one.visitor.submit("/own", act="lower")
        yield


def refuses(one: Learner) -> Iterator[None]:
    """Answer calls with an error."""
    while one.step <= STEPS:
        if one.step > 2:
            one.send('{"code":-32602,"message":"no"}', "error")
        else:
            one.right()
        yield
        yield


def tool_error(one: Learner) -> Iterator[None]:
    """Answer calls with a result that says that the tool failed; the first answer is empty."""
    while one.step <= STEPS:
        one.send("")
        if one.step > 2:
            one.send('{"isError":true,"content":[{"type":"text","text":"no"}]}', "result")
        else:
            one.send(RIGHT[one.step], "result")
        yield
        yield


def anyway(one: Learner) -> Iterator[None]:
    """Send a wrong answer to each call, though the page says what is wrong with it."""
    while one.step <= STEPS:
        if one.step > 2:
            asked, path, wrong = one.asked(), one.path(), {"text": UNKNOWN_TYPE, "form": "result"}
            found = one.visitor.call(f"{path}/check", wrong).json["problems"]
            one.count(one.sent, codes(found))
            assert one.visitor.call(f"{path}/reply", {**wrong, "anyway": True}).status == 200
            one.tries[one.step] += 1
            until(partial(is_over, one.visitor, asked), "the end of it")
            one.over(one.failed)
        else:
            one.right()
        yield
        yield


def taught(one: Learner) -> Iterator[None]:
    """Let the teacher answer the second step, and leave a mistake at the third."""
    one.right()
    yield
    yield
    teacher = at_seat(one.room, one.room.teacher(), seat_number(one))
    asked = one.asked()
    teacher.answer_as_offered(asked["method"])
    one.over(one.given)
    path = one.path()
    for call in ("draft", "check"):
        assert teacher.call(f"{path}/{call}", {"text": WRONG}).status == 200
    teacher.submit("/own", act="give back")
    yield
    yield
    while one.step <= STEPS:
        one.right()
        yield
        yield


def own_host(one: Learner) -> Iterator[None]:
    """Answer a host of one's own as well: that is no step of the lesson."""
    one.right()
    assert one.visitor.host(initialize("2025-11-25")).status == 200
    yield
    yield
    while one.step <= STEPS:
        one.right()
        yield
        yield


def seat_number(one: Learner) -> int:
    """Return the number of a learner's seat."""
    page = one.room.teacher().get("/room").text
    found = re.search(rf'/room/seat/(\d+)">[^\n]*{one.name}</bdi></a>', page)
    assert found
    return int(found[1])


KINDS: Final = (
    ("Quick", quick),
    ("Idle", idle),
    ("Wrong", wrong),
    ("Huge", partial(types_first, HUGE)),
    ("Typist", partial(types_first, '{"jsonrpc":"2.0","id":7,"result":{}}')),
    ("Closes", closes_tab),
    ("Phone", phone),
    ("健太", quick),
    ("Hand", raises_hand),
    ("Refuses", refuses),
    ("Fails", tool_error),
    ("Anyway", anyway),
    ("Taught", taught),
    ("Host", own_host),
)


def make_class() -> list[Learner]:
    """Return the class: everybody of a kind, one who is late, and others to thirty."""
    people = [Learner(name, script) for name, script in KINDS]
    people.append(Learner("Late", quick, first=3))
    return people + [Learner(f"L{number:02}", quick) for number in range(SEATS - len(people))]


class Watching:
    """The teacher's pages, asked all the time; a room that is down answers nothing."""

    def __init__(self, teacher: Visitor) -> None:
        """Begin to ask."""
        self.statuses: set[int] = set()
        self._teacher, self._over = teacher, threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        while not self._over.wait(0.1):
            try:
                for path in ("/room", "/wall", "/room/seats.csv"):
                    self.statuses.add(self._teacher.get(path).status)
            except (OSError, HTTPException):
                continue

    def end(self) -> None:
        """Ask no more."""
        self._over.set()
        self._thread.join()


def differences(teacher: Visitor, people: list[Learner]) -> dict[str, Any]:
    """Return the cells that differ, by learner and column: the room's, and the learner's own."""
    looked = time.monotonic()
    page, table, found = teacher.get("/room").text, table_of(teacher), {}
    signs = signs_of(page)
    for one in people:
        row = table[one.name]
        cells = (
            {"signs": (signs[one.name], own)} if signs[one.name] != (own := one.map_row()) else {}
        )
        cells |= {name: (row[name], own) for name, own in one.row().items() if row[name] != own}
        for at in range(1, STEPS + 1):
            cells |= seconds_differ(row[f"seconds at step {at}"], one.seconds_at(at, looked), at)
        if bool(row["handed in (UTC)"]) != one.is_done:
            cells["handed in"] = (row["handed in (UTC)"], str(one.is_done))
        if cells:
            found[one.name] = cells
    return found


def signs_of(page: str) -> dict[str, str]:
    """Return the signs of each learner's steps on the teacher's page; stuck is at a step."""
    seats = re.findall(
        r"<bdi>([^<]*)</bdi></a>.*?<span class=\"cells[^>]*>(.*?)</span>", page, re.DOTALL
    )
    return {
        name: "".join(re.findall(r"<i[^>]*>(.)", cells)).replace("▲", "▸") for name, cells in seats
    }


def seconds_differ(
    shown: str, own: tuple[float, float] | None, at: int
) -> dict[str, tuple[str, str]]:
    """Return the cell if the room's clock cannot be right, by what the learner saw."""
    if own is None or not shown:
        is_right = (own is None) == (not shown)
    else:
        is_right = own[0] - ROUNDED <= float(shown) <= own[1] + ROUNDED
    return {} if is_right else {f"seconds {at}": (shown, str(own))}


def clockless(teacher: Visitor) -> dict[str, dict[str, str]]:
    """Return the table without what runs on."""
    return {name: without_running_clock(row) for name, row in table_of(teacher).items()}


def wait_until_equal(teacher: Visitor, people: list[Learner], when: str) -> None:
    """Wait until each cell is the same twice; say which is not."""
    try:
        until(lambda: not differences(teacher, people), when)
    except AssertionError:
        assert differences(teacher, people) == {}, when


def open_next_step(teacher: Visitor, people: list[Learner], step: int) -> None:
    """Bring everybody to a step: the lesson answers what they left out."""
    ordered = time.monotonic()
    teacher.order(act="step", step=step)
    for one in people:
        one.acted = ordered
        while one.step < step:
            one.over(one.given)


def act(people: list[Learner]) -> None:
    """Let everybody who is here take a turn, all at once."""

    def take(one: Learner) -> None:
        one.acted = time.monotonic()
        next(one.turns, None)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(take, people))


def killed(room: Rooming, people: list[Learner]) -> Rooming:
    """Kill the room, and open it again: everybody is where they were."""
    began = time.monotonic()
    room.kill()
    opened = Rooming(room.home)
    for one in people:
        one.room = opened
        one.lost += time.monotonic() - began + KEPT_EVERY
    return opened


def test_a_class_is_counted_twice_and_killed_in_each_step(tmp_path: Path) -> None:
    """Every cell is the same, at once after each kill; nothing typed is lost, no page an error."""
    people = make_class()
    room = Rooming(tmp_path / "home")
    teacher = room.teacher()
    watching = Watching(room.teacher())
    here: list[Learner] = []
    for step in range(1, STEPS + 1):
        new = [one for one in people if one.first == step]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda one: one.join(room), new))  # noqa: B023 - done before the next
        here += new
        if step == 2:
            teacher.submit("/room", act="hint", hint="Look at the id")
            for one in here:
                one.hints += 1
        act(here)
        wait_until_equal(teacher, here, f"step {step}, before the kill")
        before = clockless(teacher)
        room = killed(room, here)
        assert clockless(teacher) == before, f"step {step}, at once after the kill"
        act(here)
        if step < STEPS:
            open_next_step(teacher, here, step + 1)
        wait_until_equal(teacher, here, f"step {step}, after the kill")
    act(here)
    wait_until_equal(teacher, here, "at the end")
    assert len(here) == SEATS
    watching.end()
    with zipfile.ZipFile(io.BytesIO(teacher.get("/room/export.zip").body)) as archive:
        pages = archive.namelist()
    of_lessons = [one for one in pages if not one.endswith("-take-home.html")]
    assert len(pages) - len(of_lessons) == SEATS
    assert len(of_lessons) == 1 + SEATS + 1, "a table, a page a lesson and seat, and one of a host"
    room.__exit__()
    assert watching.statuses == {200}
    log = "".join(file.read_text("utf-8") for file in room.home.rglob("desk.log"))
    assert "Traceback" not in log


PAIRED: Final = int(os.environ.get("PAIRED", "7"))
"""The learners of a class in pairs: with an odd number, one has no partner."""


def test_a_class_in_pairs_is_counted_twice_and_killed_in_each_phase(tmp_path: Path) -> None:
    """No pair is a step of the lesson; each request, text and cell is there after each kill."""
    people = [Learner(f"P{number:02}", quick) for number in range(1, PAIRED + 1)]
    room = Rooming(tmp_path / "home")
    teacher = room.teacher()
    for one in people:  # two by two, in the order in which they joined
        one.join(room)
    act(people)
    for number in range(2):
        pairs = list(zip(people[::2], people[1::2], strict=False))
        teacher.order(act="swap" if number else "pair all")
        for at, (who, method, result) in enumerate(OF_PAIR):
            speakers = [pair[who if not number else 1 - who] for pair in pairs]
            rows = [asked(one.visitor, method) for one in speakers]
            paths = [f"/api/exchanges/{row['session']}/{row['number']}" for row in rows]
            for one, path in zip(speakers, paths, strict=True):
                text = f"{one.name} at {at}"
                assert one.visitor.call(f"{path}/draft", {"text": text}).status == 200
            wait_until_equal(teacher, people, f"{method}, before the kill")
            before = clockless(teacher)
            room = killed(room, people)
            assert clockless(teacher) == before, method
            for one, row, path in zip(speakers, rows, paths, strict=True):
                again = asked(one.visitor, method)
                assert (again["session"], again["number"]) == (row["session"], row["number"])
                assert one.document_at(path) == f"{one.name} at {at}"
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda one: answered(one.visitor, method, result), speakers))  # noqa: B023 - done before the next
        for one in people[: 2 * len(pairs)]:
            until(lambda: "The conversation is over." in one.visitor.get("/").text, "the end")  # noqa: B023 - waited for
        wait_until_equal(teacher, people, "at the end of the pairs")
    teacher.order(act="part")
    act(people)
    act(people)
    wait_until_equal(teacher, people, "back in the lesson")
    said = [len(list(inputs(room, number + 1))) for number in range(PAIRED)]
    assert said == [7] * (PAIRED // 2 * 2) + [0] * (PAIRED % 2), "each was model and server, once"
    room.__exit__()
