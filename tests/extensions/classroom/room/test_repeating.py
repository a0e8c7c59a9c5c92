"""A step of a lesson that is repeated: from there on it is new, and what was before it is kept."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.extensions.classroom.demo.lesson import find_lesson
from tests.extensions.classroom.room.test_restarting import document
from tests.extensions.classroom.room.test_teaching import rows_of
from tests.support.room_process import Rooming, Visitor, is_over
from tests.support.waiting import until

OWN_TOOL: Final = (
    '{"tools":[{"name":"mine","description":"weather","inputSchema":{"type":"object",'
    '"properties":{"place":{"type":"string"}}}}]}'
)
COLUMNS: Final = ("step", "passed", "tries", "steps answered for them")


def begin(room: Rooming, lesson: str) -> Visitor:
    """Take a seat, and begin a lesson."""
    learner = room.learner("Ann")
    before = learner.question()
    learner.submit("/own", act="lesson", lesson=lesson)
    until(lambda: is_over(learner, before), "the end of the lesson before")
    return learner


def task_of(learner: Visitor, asked: dict[str, Any]) -> str:
    """Return the page of a request."""
    return learner.get(f"/m/{asked['session']}/{asked['number']}").text


def row(room: Rooming, lesson: str) -> list[str]:
    """Return what the teacher's table has of a lesson."""
    found = next(one for one in rows_of(room.teacher()) if one["lesson"] == lesson)
    return [found[one] for one in COLUMNS]


def test_a_learner_repeats_a_step_with_their_own_answers_before_and_in_the_box(
    tmp_path: Path,
) -> None:
    """Not passed, they press the button beside the reason, and mend what they wrote."""
    with Rooming(tmp_path / "home") as room:
        learner = begin(room, "recover")
        learner.introduce("Nia")
        learner.answer_to_the_end(learner.question("tools/list"), OWN_TOOL, "result")
        learner.answer_to_the_end(learner.question("tools/call"), "I know Tokyo", "tool error")
        asked = learner.question("tools/call")
        learner.answer_to_the_end(asked, "no", "tool error")
        until(lambda: row(room, "recover") == ["4", "3", "4", ""], "the end")
        assert learner.get("/").text.count("Repeat this step") == 4
        learner.submit("/own", act="begin", step=4)
        again = until(
            lambda: next((one for one in learner.waiting() if one["number"] == 4), None), "step 4"
        )
        assert again["session"] != asked["session"]
        assert "Step 4 of 4" in task_of(learner, again)
        assert "The teacher opened" not in learner.get("/").text
        assert '"text": "no"' in str(document(learner, again))
        assert '"mine"' in html.unescape(task_of(learner, again)), "it calls the own tool again"
        assert row(room, "recover") == ["4", "3", "4", ""]
        learner.answer_to_the_end(again, "Sunny", "text")
        until(lambda: row(room, "recover") == ["4", "4", "5", ""], "it passes")


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_room_that_is_killed_while_a_step_is_repeated_leads_there(
    tmp_path: Path, step: int
) -> None:
    """Who repeats it is asked for it, not for what was before; nothing of the table changes."""
    room = Rooming(tmp_path / "home")
    learner = begin(room, "picked-tool")
    learner.introduce("Nia")
    learner.answer_to_the_end(learner.question("tools/list"), OWN_TOOL, "result")
    asked = learner.question("tools/call")
    learner.answer_to_the_end(asked, "failed", "tool error")
    until(lambda: row(room, "picked-tool") == ["3", "2", "3", ""], "the end")
    assert learner.submit("/own", act="begin", step=step).status == 303
    room.kill()
    with Rooming(tmp_path / "home") as opened:
        names = ("initialize", "tools/list", "tools/call")

        def repeated() -> dict[str, Any] | None:
            waiting = (one for one in learner.waiting() if one["session"] != asked["session"])
            return next((one for one in waiting if one["method"] == names[step - 1]), None)

        again = until(repeated, f"step {step}")
        assert f"Step {step} of 3" in task_of(learner, again)
        kept = {1: "Nia", 2: "mine", 3: "failed"}[step]
        assert kept in str(document(learner, again))
        assert row(opened, "picked-tool")[1:] == ["2", "3", ""]


@pytest.mark.parametrize("step", [0, 3, 4, 99, -1])
def test_what_was_not_asked_yet_is_not_repeated(tmp_path: Path, step: int) -> None:
    """A step that waits is not begun again, nor one that does not exist; 0 is the whole lesson."""
    with Rooming(tmp_path / "home") as room:
        learner = begin(room, "picked-tool")
        learner.introduce("Nia")
        learner.answer_to_the_end(learner.question("tools/list"), OWN_TOOL, "result")
        asked = learner.question("tools/call")
        learner.submit("/own", act="begin", step=step)
        if step in {0, -1}:  # what is no number is none
            assert learner.question("initialize")["session"] != asked["session"]
        else:
            assert [one["session"] for one in learner.waiting()] == [asked["session"]]


def test_a_step_in_which_the_host_waits_in_vain_is_not_answered_for_the_one_after_it() -> None:
    """Its next step needs the request that was cancelled."""
    assert [*find_lesson("late-answer")("en").replies_before(4)] == [1, 2]
