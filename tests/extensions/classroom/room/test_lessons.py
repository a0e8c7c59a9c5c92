"""The lessons as learners meet them: in the seats of a room."""

import re
from pathlib import Path

from humanmcp.extensions.classroom.demo.lesson import find_lesson, lesson_names
from tests.extensions.classroom.room.test_teaching import rows_of
from tests.support.room_process import Rooming, is_over
from tests.support.waiting import until

PRESSED: list[str] = [one for one in lesson_names() if not find_lesson(one)("en").http]


def test_no_lesson_is_passed_by_presses_of_send_alone(tmp_path: Path) -> None:
    """What stands in the box already is sent at each step; some of it must be written."""
    with Rooming(tmp_path / "home") as room:
        teacher, passed = room.teacher(), {}
        for lesson in PRESSED:
            learner = room.learner(lesson)
            learner.submit("/own", act="lesson", lesson=lesson)
            total = len(find_lesson(lesson)("en").requests)
            for _press in range(2 * total):
                asked = next(iter(learner.waiting()), None)
                if asked is None:
                    break
                path = f"/api/exchanges/{asked['session']}/{asked['number']}"
                if learner.answer(asked, str(learner.get(path).json["document"])).status == 422:
                    break
                until(lambda: is_over(learner, asked), "the end of it")  # noqa: B023 - waited for
            row = next(
                one for one in rows_of(teacher) if one["name"] == lesson and one["lesson"] == lesson
            )
            passed[lesson] = int(row["passed"]), total
    assert {lesson for lesson, (count, total) in passed.items() if count == total} == set(), passed


def test_a_lesson_that_is_over_is_repeated_by_one_button_and_explained_again(
    tmp_path: Path,
) -> None:
    """A room has no lesson without help: also not for who wanted none at a desk of their own."""
    with Rooming(tmp_path / "home") as room:
        learner = room.learner("Ann")
        learner.cookies[""] = "help=no"
        learner.question()
        assert 'class="lesson"' in learner.get("/").text
        learner.introduce()
        learner.answer_as_offered("tools/list")
        learner.answer_calls("sunny")
        until(lambda: "You answered" in learner.get("/").text, "the lesson is over")
        over = learner.get("/").text
        assert 'action="/try"' not in over
        assert len(re.findall(r'value="begin">Repeat</button>', over)) == 1
        learner.submit("/own", act="begin")
        learner.question()
        assert 'class="lesson"' in learner.get("/").text
