"""A whole class: fourteen learners without scripts and one on a phone, and the teacher's table.

What each of them did is counted here a second time, and the table has to agree.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pytest
from playwright.sync_api import expect

from humanmcp.demo.lesson_file import find_lesson
from tests.room.rooming import Rooming, is_over
from tests.waiting import PATIENCE, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tests.room.rooming import Visitor

FIRST, SECOND = "recover", "first-answer"
LESSONS: Final = {one: find_lesson(one)("ja").requests for one in (FIRST, SECOND)}
STOPPED: Final = '{"jsonrpc":"2.0","id":0,"result":{}}'
"""The check stops it."""
NOT_PICKED: Final = '{"tools":[{"name":"t1","inputSchema":{"type":"object"}}]}'
"""It is sent, and does not pass: the model looks for the weather."""
NAMES: Final = [f"生徒{number}" for number in range(1, 15)]
PHONE: Final = "電話の花子"


@dataclass
class Count:
    """What one learner did in one lesson, counted by the test."""

    tries: Counter[int] = field(default_factory=Counter)
    passed: set[int] = field(default_factory=set)
    sent: set[tuple[int, str]] = field(default_factory=set)
    mended: set[tuple[int, str]] = field(default_factory=set)

    @property
    def row(self) -> dict[str, str]:
        """The cells of the table."""
        cells = {"passed": str(len(self.passed)), "tries": str(self.tries.total())}
        cells |= {"mistakes sent": counted(self.sent), "mistakes": counted(self.sent | self.mended)}
        return cells | {f"tries at step {at}": str(self.tries[at]) for at in range(1, 5)}


def counted(mistakes: set[tuple[int, str]]) -> str:
    """Return each code with the number of steps in which it was made."""
    found = Counter(code for _, code in mistakes)
    return " ".join(f"{code}:{count}" for code, count in sorted(found.items()))


@dataclass
class Learner:
    """A learner without scripts, who notes what they do."""

    name: str
    at: Visitor
    counts: dict[str, Count] = field(default_factory=lambda: defaultdict(Count))

    def asked(self, lesson: str, step: int) -> dict[str, Any]:
        """Wait for the request of a step."""
        return self.at.question(LESSONS[lesson][step - 1].method)

    def stopped(self, lesson: str, step: int) -> None:
        """Send what the check stops."""
        got = self.at.answer(self.asked(lesson, step), STOPPED)
        assert got.status == 422, got
        count = self.counts[lesson]
        count.tries[step] += 1
        count.sent |= {(step, one["code"]) for one in got.json["problems"]}

    def mended(self, lesson: str, step: int, teacher: Visitor) -> None:
        """Type what the check complains of, and leave it until it counts."""
        asked = self.asked(lesson, step)
        path = f"/api/exchanges/{asked['session']}/{asked['number']}"
        found = self.at.call(f"{path}/check", {"text": STOPPED}).json["problems"]
        self.at.call(f"{path}/draft", {"text": STOPPED})
        self.counts[lesson].mended |= {(step, one["code"]) for one in found}
        wanted = self.counts[lesson].row["mistakes"]
        until(lambda: table(teacher)[self.name, lesson]["mistakes"] == wanted, wanted)

    def not_picked(self, step: int) -> None:
        """Send a list of tools of which the model picks none: it is asked for again."""
        asked = self.asked(FIRST, step)
        assert self.at.answer(asked, NOT_PICKED, "result").status == 200
        self.counts[FIRST].tries[step] += 1
        until(lambda: is_over(self.at, asked), "the end of the answer")

    def right(self, lesson: str, step: int) -> None:
        """Send what the lesson shows."""
        asked = self.asked(lesson, step)
        example = LESSONS[lesson][step - 1].example or {}
        text = json.dumps(example["result"], ensure_ascii=False)
        assert self.at.answer(asked, text, "result").status == 200
        self.counts[lesson].tries[step] += 1
        self.counts[lesson].passed.add(step)
        until(lambda: is_over(self.at, asked), "the end of the answer")


def table(teacher: Visitor) -> dict[tuple[str, str], dict[str, str]]:
    """Read the teacher's table, by name and lesson."""
    text = teacher.get("/room/seats.csv?lang=en").text.lstrip("\ufeff")
    return {(row["name"], row["lesson"]): row for row in csv.DictReader(io.StringIO(text))}


def order_of(teacher: Visitor) -> list[str]:
    """Return the names on the teacher's page, from the first to the last."""
    found = re.findall(
        r'<a href="[^"]*/room/seat/\d+">.*?</span> (.*?)</a>', teacher.get("/room").text
    )
    return [str(one) for one in found]


@pytest.fixture
def phone(browser: Browser) -> Iterator[Callable[[str], Page]]:
    """Open pages of one phone; what goes wrong in a script there fails the test."""
    troubles: list[str] = []
    context = browser.new_context(
        locale="ja-JP", viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True
    )
    context.set_default_timeout(PATIENCE * 1000)

    def opened(address: str) -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(address)
        return page

    yield opened
    context.close()
    assert troubles == []


def send(page: Page) -> None:
    """Press Send on the phone."""
    expect(page.locator("body.scripted")).to_be_attached()
    page.locator("#send").click()


def test_a_class_of_fifteen_and_the_table_agrees_with_what_each_did(  # noqa: C901, PLR0915 - one lesson from its first minute to its last
    tmp_path: Path, phone: Callable[[str], Page]
) -> None:
    """Join, mistakes, hint, open a step, come back, finish, a second lesson, hand in."""
    with Rooming(tmp_path / "home", "--lesson", FIRST) as room, ThreadPoolExecutor(14) as people:
        teacher = room.teacher()
        class_ = list(people.map(lambda name: Learner(name, room.learner(name)), NAMES))
        finishers, unpicked, menders = class_[:5], class_[5:8], class_[8:10]
        stuck, idle = class_[10:12], class_[12:]
        hanako = phone(f"http://127.0.0.1:{room.port}/?code={room.code}")
        hanako.get_by_label("あなたの名前").fill(PHONE)
        hanako.get_by_role("button", name="席に着く").click()
        expect(hanako.locator(".lesson")).to_contain_text("自分が誰か")
        mine: dict[str, Count] = defaultdict(Count)

        def work(learner: Learner) -> None:
            if learner in idle:
                return
            if learner in stuck:
                for _ in range(3):
                    learner.stopped(FIRST, 1)
                return
            learner.right(FIRST, 1)
            if learner in unpicked:
                learner.not_picked(2)
            if learner in menders:
                learner.mended(FIRST, 2, teacher)
                return
            if learner is finishers[0]:
                learner.stopped(FIRST, 2)
            for step in (2, 3, 4):
                learner.right(FIRST, step)

        list(people.map(work, class_))
        send(hanako)
        expect(hanako.locator(".ids")).to_contain_text("tools/list")
        mine[FIRST].tries[1], mine[FIRST].passed = 1, {1}

        # The teacher sees at a glance who is stuck.
        page = until(
            lambda: re.search("つまずき 2 人.*終了 8 人.*", teacher.get("/room?lang=ja").text),
            "sums",
        )
        assert "ステップ 1: 4 人" in page[0]
        assert "ステップ 2: 3 人" in page[0]
        order = order_of(teacher)
        assert set(order[:2]) == {one.name for one in stuck}
        assert set(order[-8:]) == {one.name for one in finishers + unpicked}

        # A hint arrives on the phone, and goes when it was read.
        seat = re.search(rf"/room/seat/(\d+)\">[^\n]*{PHONE}</a>", teacher.get("/room").text)
        assert seat
        teacher.submit("/room", act="hint", seat=seat[1], hint="天気のツールです")
        expect(hanako.locator("#around")).to_contain_text("天気のツールです")
        hanako.get_by_role("button", name="読みました").tap()
        expect(hanako.locator("#around")).not_to_contain_text("天気のツールです")

        # The third step is opened; who has finished stays there.
        teacher.submit("/room", act="step", step=3)
        expect(hanako.locator("#around")).to_contain_text("先生がステップ 3 を開きました。")
        expect(hanako.locator(".ids")).to_contain_text("tools/call")
        hanako.close()
        hanako = phone(f"http://127.0.0.1:{room.port}/")  # typed again
        expect(hanako.locator(".ids")).to_contain_text("tools/call")
        hanako.get_by_text("ツールの失敗", exact=True).tap()
        hanako.locator("#sentence").fill("東京だけです")
        send(hanako)
        expect(hanako.locator(".lesson .told")).to_be_visible()
        hanako.locator("#sentence").fill("晴れです")
        send(hanako)
        mine[FIRST].tries += Counter({3: 1, 4: 1})
        mine[FIRST].passed |= {3, 4}
        expect(hanako.get_by_role("button", name=re.compile("次のレッスン"))).to_be_visible()

        def end(learner: Learner) -> None:
            if learner not in finishers + unpicked + idle:
                for step in (3, 4):
                    learner.right(FIRST, step)

        list(people.map(end, class_))
        until(lambda: "終了 13 人" in teacher.get("/room?lang=ja").text, "all but the idle")

        # The second lesson, for everybody.
        teacher.submit("/room", act="lesson", lesson=SECOND)
        expect(hanako.locator(".ids")).to_contain_text("initialize")
        list(people.map(lambda one: [one.right(SECOND, step) for step in (1, 2)], class_))
        for method in ("initialize", "ping"):
            expect(hanako.locator(".ids")).to_contain_text(method)
            send(hanako)
        expect(hanako.get_by_role("button", name=re.compile("次のレッスン"))).to_be_visible()
        mine[SECOND] = Count(Counter({1: 1, 2: 1}), {1, 2})

        # Hand in: the table says the same as the count that was kept here.
        counts = {(one.name, name): count for one in class_ for name, count in one.counts.items()}
        counts |= {(PHONE, name): count for name, count in mine.items()}
        counts |= {(one.name, FIRST): Count() for one in idle}
        until(lambda: "終了 15 人" in teacher.get("/room?lang=ja").text, "everybody at the end")
        rows = table(teacher)
        found = {key: {name: row[name] for name in Count().row} for key, row in rows.items()}
        assert found == {key: count.row for key, count in counts.items()}
