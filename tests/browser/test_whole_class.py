"""The class of 90 minutes, from the first lesson to the last: some with a browser, others without.

The room is killed in each phase. Each cell of the teacher's table is compared with what its person
counts. `CLASS` is the number of those without a browser; with it, each lesson of the plan is taken.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from humanmcp.extensions.classroom.demo.lesson import find_lesson
from tests.browser.seats import PHONE, close
from tests.browser.test_lessons import LESSONS, fill, say
from tests.extensions.classroom.own_answers import own_answer
from tests.extensions.classroom.room.test_pairs import STEPS as OF_PAIR
from tests.extensions.classroom.room.test_pairs import USE, answered
from tests.extensions.classroom.room.test_rehearsal import cell, codes
from tests.extensions.classroom.room.test_teaching import rows_of, without_running_clock
from tests.support.room_process import Rooming, Visitor, is_over
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

CLASS: Final = int(os.environ.get("CLASS", "3"))
LESSONS_OF_CLASS: Final = ("weather", "no-handshake", "picked-tool", "recover", "poisoned-tool")
PLAN: Final = LESSONS_OF_CLASS if "CLASS" in os.environ else LESSONS_OF_CLASS[:2]
ASKED_FOR: Final = {("poisoned-tool", 2): {"M140"}}
"""What a step asks for is no mistake there."""
COUNTED: Final = (
    *("name", "lesson", "steps", "step", "passed", "steps answered for them", "tries", "hints"),
    *("hands", "mistakes", "mistakes stopped", "mistakes sent", "handed in (UTC)"),
)


@dataclass
class Person:
    """Somebody in the class, and their own count of what they did in each lesson."""

    name: str
    tries: dict[str, list[int]] = field(default_factory=dict)
    step: int = 1
    lesson: str = PLAN[0]
    passed: dict[str, int] = field(default_factory=dict)
    sent: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    """The warnings with which an answer was sent: a lesson can ask for them."""

    def begin(self, lesson: str) -> None:
        """Be at the first step of a lesson."""
        self.lesson, self.step = lesson, 1
        self.tries.setdefault(lesson, [0] * len(steps_of(lesson)))

    def count(self) -> None:
        """Note that the own step was answered, and passed."""
        self.tries[self.lesson][self.step - 1] += 1
        self.passed[self.lesson] = max(self.passed.get(self.lesson, 0), self.step)
        self.step += 1

    def rows(self) -> list[dict[str, str]]:
        """Return the cells of the table that are counted: a row for each lesson."""
        return [self._row(lesson) for lesson in self.tries]

    def _row(self, lesson: str) -> dict[str, str]:
        tries, total = self.tries[lesson], len(steps_of(lesson))
        cells = {
            **dict.fromkeys(COUNTED, ""),
            "name": self.name,
            "lesson": lesson,
            "steps": str(total),
            "hints": "0",
            "step": str(min(self.step, total) if lesson == self.lesson else total),
            "passed": str(self.passed.get(lesson, 0)),
            "tries": str(sum(tries)),
            "hands": "0",
            **dict.fromkeys(("mistakes", "mistakes sent"), cell(self.sent.get(lesson, {}))),
        }
        return cells | {f"tries at step {at}": str(one) for at, one in enumerate(tries, 1)}


@functools.cache
def steps_of(lesson: str) -> Any:  # noqa: ANN401 - the steps of a lesson
    """Return what a lesson asks for."""
    return find_lesson(lesson)("en").requests


class Simulated(Person):
    """Somebody whose browser runs no scripts."""

    visitor: Visitor
    typed: str

    def sit(self, room: Rooming) -> None:
        """Join."""
        self.visitor = room.learner(self.name)

    def own(self) -> dict[str, Any]:
        """Wait for the request of the own step."""
        method, mine = steps_of(self.lesson)[self.step - 1].method, self.step

        def found() -> dict[str, Any] | None:
            waiting = self.visitor.waiting()
            ours = [one for one in waiting if (one["method"], one["number"]) == (method, mine)]
            is_alone = mine > 1 or len(waiting) == 1  # what is left of another lesson goes first
            return ours[0] if ours and is_alone else None

        return until(found, f"step {mine} of {self.lesson}")

    def type_answer(self) -> None:
        """Write a right answer that is not sent."""
        waits, answer = self.own(), own_answer(steps_of(self.lesson)[self.step - 1])
        path = "/api/exchanges/{session}/{number}/draft".format(**waits)
        self.typed = json.dumps({"jsonrpc": "2.0", "id": waits["number"], **answer})
        assert self.visitor.call(path, {"text": self.typed}).status == 200

    def in_box(self) -> str:
        """Return what is in the box of the own step."""
        path = "/api/exchanges/{session}/{number}".format(**self.own())
        return str(self.visitor.get(path).json["document"])

    def answer(self) -> None:
        """Pass the own step."""
        waits, answer = self.own(), own_answer(steps_of(self.lesson)[self.step - 1])
        got = self.visitor.answer(waits, json.dumps(answer["result"]), "result")
        assert got.status in {200, 202}, got
        until(lambda: is_over(self.visitor, waits), "the end of it")
        found = codes(got.json["problems"]) - ASKED_FOR.get((self.lesson, self.step), set())
        self.sent.setdefault(self.lesson, {})[self.step] = found
        self.count()

    def talk(self, method: str, result: Any) -> None:  # noqa: ANN401 - any JSON value
        """Say something in a pair; a tool of somebody at a page has a location."""
        if result.get("content", {}) == USE:
            result = {**result, "content": {**USE, "input": {"location": "Tokyo"}}}
        answered(self.visitor, method, result)


class InBrowser(Person):
    """Somebody at a page with scripts."""

    page: Page

    def sit(self, room: Rooming) -> None:
        """Join by the address of the QR code."""
        self.page.goto(f"http://127.0.0.1:{room.port}/?code={room.code}")
        self.page.get_by_label("Your name").fill(self.name)
        self.page.get_by_role("button", name="Take a seat").click()

    def ready(self) -> None:
        """Wait for the task of the own step."""
        steps = steps_of(self.lesson)
        task = f"Step {self.step} of {len(steps)} {steps[self.step - 1].task}"
        expect(self.page.locator(".lesson")).to_contain_text(task)
        expect(self.page.locator("body.scripted #composer")).to_be_visible()

    def send(self) -> None:
        """Press Send, and wait until it is out."""
        key = self.page.locator("article.message").get_attribute("data-key")
        self.page.locator("#send").click()
        expect(self.page.locator(f'article.message[data-key="{key}"] #send')).to_have_count(0)

    def answer(self) -> None:
        """Pass the own step, as the words of the page say."""
        self.ready()
        LESSONS[self.lesson][self.step - 1](self.page)
        self.send()
        self.count()

    def talk(self, method: str, result: Any) -> None:  # noqa: ANN401 - any JSON value
        """Open what the pair waits for by the link beside the turn, and answer in the form."""
        link = self.page.locator("#around a", has_text="Open your message")
        mine = self.page.locator("article.message:has(#send)", has_text="humanmcp pair host")
        mine = mine.filter(has_text=method)
        expect(link.or_(mine).first).to_be_visible()
        if not mine.count():
            link.click()
        expect(mine).to_be_visible()
        expect(self.page.locator("body.scripted #composer")).to_be_visible()
        PAIRED[method](self.page, result)
        self.send()


def _call(page: Page, result: Any) -> None:  # noqa: ANN401 - any JSON value
    """Be the model: call the tool, or say a text."""
    content = result["content"]
    if content["type"] == "text":
        page.get_by_role("button", name="Say something").click()
        fill(text=content["text"])(page)
        return
    page.get_by_role("button", name=f"Call {content['name']}").click()
    where = page.locator('[data-pointer$="/location"]')
    if where.count():
        where.fill("Tokyo")


PAIRED: Final[dict[str, Callable[[Page, Any], None]]] = {
    "initialize": lambda page, _: fill(name="mine")(page),
    "tools/list": lambda page, _: fill(name="weather", description="knows the weather")(page),
    "tools/call": lambda page, _: say("sunny")(page),
    "sampling/createMessage": _call,
}
"""What somebody at a page does in a pair."""


@dataclass
class WholeClass:
    """A room, its teacher, and everybody in it."""

    room: Rooming
    people: list[Simulated | InBrowser]
    kills: int = 0
    cells: int = 0

    def __post_init__(self) -> None:
        """Let the teacher come in."""
        self.teacher = self.room.teacher()
        self.simulated = [one for one in self.people if isinstance(one, Simulated)]
        self.browsers = [one for one in self.people if isinstance(one, InBrowser)]

    def all(self, act: Callable[[Any], object]) -> None:
        """Let everybody do something: those without a browser at once, the others in turn."""
        with ThreadPoolExecutor(8) as pool:
            done = pool.map(act, self.simulated)
            for one in self.browsers:
                act(one)
            list(done)

    def order(self, **order: object) -> None:
        """Press a button of the teacher's page."""
        assert self.teacher.order(**order).status == 303

    def differences(self) -> list[tuple[str, str, str, str, str]]:
        """Return the cells that differ: whose, the lesson, the column, the room's, their own."""
        found = []
        shown = {(row["name"], row["lesson"]): row for row in rows_of(self.teacher)}
        for one in self.people:
            for own in one.rows():
                row = shown[own["name"], own["lesson"]]
                found += [
                    (one.name, own["lesson"], column, row[column], value)
                    for column, value in own.items()
                    if row[column] != value
                    and not (column == "mistakes" and isinstance(one, InBrowser))  # while they type
                ]
        assert len(shown) == sum(len(one.tries) for one in self.people)
        return found

    def compare(self, when: str) -> None:
        """Compare every cell."""
        until(lambda: not self.differences(), lambda: f"{when}: {self.differences()}")
        self.cells += sum(len(row) for one in self.people for row in one.rows())

    def kill(self, when: str) -> None:
        """Kill the room and open it again: each cell is as it was, at once."""
        self.compare(when)
        before = [without_running_clock(row) for row in rows_of(self.teacher)]
        self.room.kill()
        self.room = Rooming(self.room.home)
        self.kills += 1
        assert [without_running_clock(row) for row in rows_of(self.teacher)] == before, when
        self.compare(f"{when}, after the kill")

    def take(self, lesson: str, killed_at: int) -> None:
        """Pass a lesson, with a kill while everybody has typed and nobody has sent."""
        for step in range(1, len(steps_of(lesson)) + 1):
            if step != killed_at:
                self.all(lambda one: one.answer())
                continue
            for one in self.browsers:
                one.ready()
                LESSONS[lesson][step - 1](one.page)
            self.all(lambda one: one.type_answer() if isinstance(one, Simulated) else None)
            self.kill(f"{lesson}, step {step}")
            assert [one.in_box() for one in self.simulated] == [one.typed for one in self.simulated]
            for each in self.browsers:
                each.ready()
                each.send()
                each.count()
            self.all(lambda one: one.answer() if isinstance(one, Simulated) else None)
        self.compare(f"{lesson}, at its end")

    def pairs(self, *, swapped: bool) -> None:
        """Let each pair talk to its end, with a kill in the middle."""
        two = list(zip(self.people[::2], self.people[1::2], strict=False))
        for at, (who, method, result) in enumerate(OF_PAIR):
            speakers = [pair[1 - who if swapped else who] for pair in two]
            if at == 3:
                self.kill("in pairs")
            self.all(lambda one: one.talk(method, result) if one in speakers else None)  # noqa: B023 - done before the next


@pytest.fixture
def three(browser: Browser) -> Iterator[list[InBrowser]]:
    """Three browsers of three people: two computers, and a phone."""
    contexts: list[BrowserContext] = []
    people, troubles = [InBrowser(name) for name in ("Ada", "Bo", "Cy")], list[str]()
    for one in people:
        device = PHONE if one.name == "Cy" else {}
        contexts.append(browser.new_context(locale="en-US", reduced_motion="reduce", **device))
        one.page = contexts[-1].new_page()
        one.page.on("pageerror", lambda error: troubles.append(str(error)))
    yield people
    for context in contexts:
        close(context)
    assert troubles == []


def test_the_class_of_90_minutes_is_counted_twice_and_killed_in_each_phase(
    tmp_path: Path, three: list[InBrowser]
) -> None:
    """Nothing that was typed is lost, in a browser neither, and no cell differs."""
    others = [Simulated(f"S{number:02}") for number in range(1, CLASS + 1)]
    whole = WholeClass(Rooming(tmp_path / "home"), [*three, *others])
    try:
        for one in whole.people:
            one.sit(whole.room)
            one.begin(PLAN[0])
        whole.take(PLAN[0], 3)
        whole.order(act="reset")
        whole.all(lambda one: one.begin(PLAN[0]))
        whole.kill("restarted")
        whole.all(lambda one: one.answer())
        whole.order(act="pair all")
        whole.pairs(swapped=False)
        if len(PLAN) > 2:
            whole.order(act="swap")
            whole.pairs(swapped=True)
        whole.order(act="part")
        whole.compare("after the pairs")
        for lesson in PLAN[1:]:
            whole.order(act="lesson", lesson=lesson)
            whole.all(lambda one: one.begin(lesson))  # noqa: B023 - done before the next
            whole.take(lesson, 3 if lesson == "poisoned-tool" else 2)
        assert whole.kills == 1 + len(PLAN) + (2 if len(PLAN) > 2 else 1)
        tmp_path.joinpath("compared").write_text(f"{len(whole.people)} people, {whole.cells} cells")
    finally:
        whole.room.__exit__()
    log = "".join(file.read_text("utf-8") for file in whole.room.home.rglob("desk.log"))
    assert "Traceback" not in log
