"""What a learner takes home: what they did, what was wrong, what to read next."""

import io
import re
import zipfile
from pathlib import Path
from typing import Final

import pytest

from tests.support.room_process import Rooming, Visitor
from tests.support.waiting import until

WRONG: Final = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"nam":"x"}]}}'
PAGE: Final = "https://modelcontextprotocol.io/specification/2025-11-25/server/tools"


def text_of(page: str) -> str:
    """Return the words of a page."""
    main = page.partition("<main")[2].partition("</main>")[0]
    return " ".join(re.sub(r"<[^>]*>", " ", main).split())


def with_a_mistake(learner: Visitor) -> None:
    """Pass a step, and send something wrong at the next one."""
    learner.introduce()
    asked = learner.question("tools/list")
    assert learner.answer(asked, WRONG).status == 422


def test_the_list_says_what_was_done_what_was_wrong_and_what_to_read(tmp_path: Path) -> None:
    """Of this seat alone: on its page, in its file, and in the results."""
    with Rooming(tmp_path / "home") as room:
        ann, ben, teacher = room.learner("Ann"), room.learner("Ben"), room.teacher()
        with_a_mistake(ann)
        page = ann.get("/own/home").text
        assert all(one in text_of(page) for one in (" passed", "not passed", "not begun", "M09"))
        assert "An example:" in text_of(page), "the sentence is not about what Ann typed"
        assert PAGE in page
        file = ann.get("/own/home.html")
        assert "attachment" in file.headers["content-disposition"]
        assert "M09" in text_of(file.text)
        other = text_of(ben.get("/own/home").text)
        assert "The check found no mistake." in other
        assert "M09" not in other
        with zipfile.ZipFile(io.BytesIO(teacher.get("/room/export.zip").body)) as archive:
            assert archive.read("001-take-home.html").decode() == file.text


def test_the_file_loads_nothing(tmp_path: Path) -> None:
    """It is read without the room: only links to what is to be read lead out."""
    with Rooming(tmp_path / "home") as room:
        ann = room.learner("<Ann>")
        with_a_mistake(ann)
        file = ann.get("/own/home.html").text
    assert not re.search(r"<script|<link|<img|src=", file)
    assert "&lt;Ann&gt;" in file
    assert all(one.startswith("https://") for one in re.findall(r'href="([^"]*)"', file))


@pytest.mark.parametrize(("language", "did"), [("en", "What you did"), ("ja", "したこと")])
def test_a_lesson_that_is_over_leads_to_the_list(tmp_path: Path, language: str, did: str) -> None:
    """In the language of the reader."""
    with Rooming(tmp_path / "home", "--lesson", "first-answer") as room:
        ann = room.learner("Ann")
        ann.introduce()
        ann.answer_as_offered("ping")
        link = f'href="{ann.login_path}/own/home"'
        until(lambda: link in ann.get(f"/?lang={language}").text, "the end of the lesson")
        assert did in text_of(ann.get(f"/own/home?lang={language}").text)
