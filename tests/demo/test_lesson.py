"""The demo as a lesson, read from the lines of its session."""

import json
from typing import Any

import pytest

from humanmcp.demo.lesson import Lesson, lesson_of
from humanmcp.demo.steps import requests, weather
from humanmcp.protocol.conversation.transcript import Direction, Frame
from tests.support.speaking import said_in


def frames(*said: tuple[Direction, dict[str, Any]]) -> list[Frame]:
    """Record messages as a session would."""
    return [
        Frame(seq, "", direction, json.dumps({"jsonrpc": "2.0", **message}).encode())
        for seq, (direction, message) in enumerate(said, 1)
    ]


def asked(token: int) -> tuple[Direction, dict[str, Any]]:
    """Return the request of a step as the demo's host sends it."""
    step = requests("en")[token - 1]
    params = step.params or {"name": "get-japan-forecast", "arguments": {}}
    return Direction.IN, {"id": token, "method": step.method, "params": params}


def answered(token: int, result: Any = None) -> tuple[Direction, dict[str, Any]]:  # noqa: ANN401 - any JSON value
    """Return the example of a step, or another result, as an answer."""
    example = requests("en")[token - 1].example or {}
    return Direction.OUT, {"id": token, **(example if result is None else {"result": result})}


def read(*said: tuple[Direction, dict[str, Any]], language: str = "en") -> Lesson:
    """Read a lesson that there is."""
    found = said_in(language, lesson_of, frames(*said), weather(language))
    assert found is not None
    return found


def test_a_session_without_a_request_is_no_lesson() -> None:
    """Nothing came yet."""
    assert lesson_of([], weather("en")) is None


@pytest.mark.parametrize(("language", "word"), [("en", "filled in"), ("ja", "入っています")])
def test_each_request_is_a_step_with_its_task(language: str, word: str) -> None:
    """The second step is the tool list, and it says what to do."""
    lesson = read(asked(1), answered(1), asked(2), language=language)
    assert (len(lesson.steps), lesson.total) == (2, 5)
    assert word in lesson.steps[-1].task
    assert [bool(one.said) for one in lesson.steps] == [True, False]


def test_an_answer_that_the_host_cannot_use_is_said_to_be_none() -> None:
    """The learner reads why the call failed."""
    lesson = read(asked(1), answered(1), asked(2), answered(2, {"tools": 5}))
    assert lesson.steps[1].failed
    assert "tools/list fails" in lesson.steps[1].said


def test_while_the_host_waits_in_vain_the_lesson_says_why() -> None:
    """What was sent answers nothing, so what to type is no longer said."""
    lesson = read(asked(1), answered(1), asked(2), (Direction.OUT, {"id": 8, "result": {}}))
    assert lesson.steps[1].said == ""
    assert lesson.steps[1].task.startswith("Ignored: no request has the id 8.")
    assert "gives up in 20 s" in lesson.steps[1].task
    again = read(asked(1), answered(1), answered(1), asked(2), answered(1))
    assert "filled in" in again.steps[1].task


def test_the_whole_lesson_is_five_answers() -> None:
    """What comes beyond the script is no step of it."""
    said = [one for token in range(1, 6) for one in (asked(token), answered(token))]
    extra = (Direction.IN, {"id": 6, "method": "tools/list", "params": {}})
    assert len(read(*said, extra).answered) == 5


def test_a_huge_answer_is_cut() -> None:
    """A page does not hold a megabyte of what the host read."""
    text = {"content": [{"type": "text", "text": "x" * 5000}]}
    lesson = read(asked(1), answered(1), asked(2), answered(2), asked(3), answered(3, text))
    assert len(lesson.steps[2].said) < 2000
    assert "5,000" in lesson.steps[2].said
