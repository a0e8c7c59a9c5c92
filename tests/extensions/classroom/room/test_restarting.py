"""What a room that was stopped or killed still has when it is opened again."""

import contextlib
import html
import itertools
import json
import random
import re
import threading
import time
from collections.abc import Callable
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.desk.guard import Address
from humanmcp.extensions.classroom.demo.lesson import find_lesson
from humanmcp.extensions.classroom.room import records
from humanmcp.extensions.classroom.room.classroom import Classroom
from humanmcp.extensions.classroom.room.pages import around_of
from humanmcp.extensions.classroom.room.practice import StepOutcome
from humanmcp.extensions.classroom.room.records import SeatRecord, StepRecord
from humanmcp.inbox.contract import Life
from humanmcp.inbox.folder import FolderInbox
from tests.extensions.classroom.room.test_teaching import rows_of, table_of, without_running_clock
from tests.support.room_process import Rooming, Visitor
from tests.support.serve_http import initialize
from tests.support.waiting import until

WRONG: Final = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"nam":"x"}]}}'


def path_of(asked: dict[str, Any]) -> str:
    """Return the path of an exchange."""
    return f"/api/exchanges/{asked['session']}/{asked['number']}"


def keep(learner: Visitor, asked: dict[str, Any], text: str) -> None:
    """Save a draft."""
    assert learner.call(f"{path_of(asked)}/draft", {"text": text}).status == 200


def document(learner: Visitor, asked: dict[str, Any]) -> object:
    """Return the text that the page would show in the box."""
    return learner.get(path_of(asked)).json["document"]


def draft_name(learner: Visitor, asked: dict[str, Any]) -> object:
    """Return the name under which the browser keeps the draft."""
    page = learner.get(f"/m/{asked['session']}/{asked['number']}").text
    found = re.search(r'id="initial-state" hidden>(.*?)</data>', page)
    assert found
    return json.loads(html.unescape(found[1]))["draft"]


def test_a_room_that_has_ended_has_let_go_of_every_session(tmp_path: Path) -> None:
    """The room waits for the last of them; the next one can go on with what nobody finished."""
    with Rooming(tmp_path / "home") as room:
        for _ in range(8):
            room.learner().question()
    seats = [FolderInbox(file.parent) for file in room.folder.glob("seats/*/sessions")]
    lives = [one.life for seat in seats for one in seat.sessions()]
    assert lives == [Life.GONE] * 8


def test_a_killed_room_is_back_with_every_seat_and_what_was_typed(tmp_path: Path) -> None:
    """The same code, links, steps, draft; nobody has to join again."""
    home = tmp_path / "home"
    with Rooming(home) as room:
        learners = [room.learner(f"L{number}") for number in range(4)]
        for one in learners[:2]:
            one.answer_as_offered("initialize")
        asked = learners[0].question("tools/list")
        path = f"/api/exchanges/{asked['session']}/{asked['number']}/draft"
        learners[0].call(path, {"text": "half a list"})
        hello = learners[2].host(initialize("2025-11-25"))
        before = room.code, room.port, room.teacher_link
        room.kill()
    with Rooming(home) as room:
        assert (room.code, room.port, room.teacher_link) == before
        again = learners[0].question("tools/list")
        shown = until(
            lambda: learners[0].get(f"/api/exchanges/{again['session']}/{again['number']}").json,
            "the exchange",
        )
        until(
            lambda: (
                learners[0]
                .get(f"/api/exchanges/{again['session']}/{again['number']}")
                .json["document"]
                == "half a list"
            ),
            f"the draft in {shown}",
        )
        assert learners[1].question("tools/list")
        assert learners[3].question("initialize")
        headers = {"Mcp-Session-Id": hello.headers["mcp-session-id"]}
        ping = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
        assert learners[2].host(ping, **headers).status == 202
        learners[1].answer_as_offered("tools/list")
        assert learners[1].question("tools/call")


@pytest.mark.parametrize("end", [Rooming.kill, lambda room: room.__exit__()], ids=["kill", "stop"])
def test_an_open_request_is_the_same_after_a_restart_for_the_pages_that_show_it(
    tmp_path: Path, end: Callable[[Rooming], None]
) -> None:
    """Session, number, draft and its name in the browser, tries, and since when it waits."""
    home = tmp_path / "home"
    with Rooming(home) as room:
        ann, teacher = room.learner("Ann"), room.teacher()
        ann.answer_as_offered("initialize")
        asked = ann.question("tools/list")
        assert ann.answer(asked, WRONG).status == 422
        keep(ann, asked, "half a list")
        name, before = draft_name(ann, asked), table_of(teacher)["Ann"]
        end(room)
    with Rooming(home):
        again = ann.question("tools/list")
        assert (again["session"], again["number"]) == (asked["session"], asked["number"])
        assert again["arrived"] == asked["arrived"]
        assert document(ann, again) == "half a list"
        assert draft_name(ann, again) == name
        assert without_running_clock(table_of(teacher)["Ann"]) == without_running_clock(before)
        ann.answer_to_the_end(again, '{"tools":[]}', "result")
        assert ann.question("tools/list")["number"] == 3, "the lesson asks again, as before"


def test_who_had_finished_has_finished_in_the_first_page_after_a_restart(tmp_path: Path) -> None:
    """Nothing is asked again, and the table is right at once."""
    home = tmp_path / "home"
    with Rooming(home, "--lesson", "first-answer") as room:
        learners, teacher = [room.learner(f"L{number}") for number in range(3)], room.teacher()
        for one in learners:
            one.introduce()
        for one in learners[:2]:
            one.answer_as_offered("ping")
        until(lambda: "Finished: 2" in teacher.get("/room").text, "two at the end")
        room.kill()
    with Rooming(home):
        page = teacher.get("/room").text
        assert "Finished: 2" in page
        assert "At step 2: 1" in page
        assert learners[0].waiting() == []
        assert [row["passed"] for row in rows_of(teacher)] == ["2", "2", "1"]


def test_what_was_typed_at_a_step_is_there_when_the_step_is_asked_again(tmp_path: Path) -> None:
    """After a restart of the lesson, and another lesson meanwhile; what was sent is not."""
    with Rooming(tmp_path / "home") as room:
        ann, teacher = room.learner("Ann"), room.teacher()
        first = ann.question("initialize")
        offered = document(ann, first)
        keep(ann, first, str(offered).replace("humanmcp", "Ann"))
        ann.answer_to_the_end(first, str(document(ann, first)))
        asked = ann.question("tools/list")
        keep(ann, asked, "half a list")
        name = draft_name(ann, asked)
        seen = {asked["session"]}
        for lesson in ("recover", "weather"):
            teacher.order(act="lesson", lesson=lesson)
            until(lambda: ann.question()["session"] not in seen, "the first step")
            again = ann.question()
            seen.add(again["session"])
        assert document(ann, again) == offered
        ann.answer_as_offered("initialize")
        again = ann.question("tools/list")
        assert again["session"] != asked["session"]
        assert document(ann, again) == "half a list"
        assert draft_name(ann, again) == name


def test_the_mistakes_of_a_draft_and_the_clock_of_a_step_go_on(tmp_path: Path) -> None:
    """The teacher sees who needs help as before, also where no page is open."""
    home = tmp_path / "home"
    with Rooming(home) as room:
        ann, teacher = room.learner("Ann"), room.teacher()
        ann.answer_as_offered("initialize")
        asked = ann.question("tools/list")
        keep(ann, asked, WRONG)
        ann.call(f"{path_of(asked)}/check", {"text": WRONG})
        now = until(
            lambda: re.findall(r"now in 1, stopped 0, sent 0", teacher.get("/room").text),
            "it",
        )
        (kept,) = room.folder.glob("seats/001/seat.json")
        since = json.loads(kept.read_text("utf-8"))["steps"]["weather"]["2"]["since"]
        room.kill()
    with Rooming(home):
        page = teacher.get("/room").text
        assert re.findall(r"now in 1, stopped 0, sent 0", page) == now
    classroom = Classroom(home / "rooms" / "class", "en", around_of)
    classroom.open(Address(1), "http://127.0.0.1:1")
    classroom.run()
    standing, before = classroom.seats[0].standing, classroom.seats[0].record.steps["weather"]["2"]
    classroom.close()
    assert standing
    assert (standing.step, standing.outcomes) == (2, (StepOutcome.PASSED,))
    assert 1.0 < standing.since == before.since == since


@pytest.mark.parametrize("seed", range(3))
def test_what_a_learner_saw_as_kept_is_there_after_a_kill_at_any_moment(
    tmp_path: Path, seed: int
) -> None:
    """Drafts that were saved, and answers that were sent: while a learner types and sends."""
    chance, steps = random.Random(seed), find_lesson("weather")("en")
    home = tmp_path / "home"
    right = [json.dumps((step.example or {}).get("result", {})) for step in steps.requests]
    kept: dict[tuple[str, int], list[str]] = {}
    """The text of each exchange that was saved last, and those that may have been saved since."""
    turns = itertools.count()
    sent: set[tuple[str, int]] = set()

    def type_and_send(learner: Visitor) -> None:
        for turn in turns:
            asked = learner.question()
            place = asked["session"], asked["number"]
            typed = json.dumps({"jsonrpc": "2.0", "id": 0, "result": {"turn": turn}})
            if place not in kept:  # it may begin with what was kept of its step before
                kept[place] = [str(document(learner, asked))]
            kept[place].append(typed)
            keep(learner, asked, typed)
            kept[place] = [typed]
            if turn % 3 == 2 and place[1] < len(right):
                text = "sunny" if place[1] > 2 else right[place[1] - 1]
                form = "text" if place[1] > 2 else "result"
                if learner.answer(asked, text, form).status == 200:
                    sent.add(place)
            elif turn % 11 == 10:
                learner.submit("/own", act="begin")

    room = Rooming(home)
    ann = room.learner("Ann")
    kills = 0
    while kills < 6 or (not sent and kills < 60):  # a busy machine sends the first answer later
        kills += 1
        typing = threading.Thread(target=partial(_until_it_is_killed, type_and_send, ann))
        typing.start()
        time.sleep(chance.uniform(0.05, 0.9))  # the moment is what is tried
        room.kill()
        typing.join()
        room = Rooming(home)
        for (session, number), texts in kept.items():
            shown = ann.get(f"/api/exchanges/{session}/{number}").json
            if shown["state"] != "answered":
                assert (session, number) not in sent
                assert shown["document"] in texts or not shown["draft"]["touched"], shown
    assert sent
    room.__exit__()


def _until_it_is_killed(act: Callable[[Visitor], None], learner: Visitor) -> None:
    with contextlib.suppress(OSError, HTTPException):
        act(learner)


def test_a_seat_of_a_newer_humanmcp_keeps_what_this_one_knows(tmp_path: Path) -> None:
    """Members that it does not know are ignored, in a step, too."""
    file, done = tmp_path / "seat.json", StepRecord(tries=2, passed=True)
    records.keep(file, SeatRecord(3, name="Ann", steps={"weather": {"1": done}}))
    kept = json.loads(file.read_text(encoding="utf-8"))
    kept["new"] = kept["steps"]["weather"]["1"]["new"] = 1
    file.write_text(json.dumps(kept), encoding="utf-8")
    found = records.read(file, SeatRecord)
    assert found is not None
    assert (found.number, found.name, found.steps["weather"]["1"]) == (3, "Ann", done)
