"""What the manual says of lessons and rooms is what the program reads and writes."""

import re
from pathlib import Path
from typing import Final

import pytest

from humanmcp.common.book_file import decode_book
from humanmcp.extensions.classroom.demo import beside
from humanmcp.extensions.classroom.demo.command import DEMO_FOLDER
from humanmcp.extensions.classroom.demo.lesson import (
    LESSON_KEYS,
    MODEL_KEYS,
    OWN,
    PASS_KEYS,
    STEP_KEYS,
    parse_lesson,
)
from humanmcp.extensions.classroom.room.command import ROOMS

ROOT: Final = Path(__file__).parents[3]


@pytest.mark.parametrize("name", [DEMO_FOLDER, beside.LOG_NAME, OWN, ROOMS])
def test_its_names_in_the_folder_are_documented(name: str) -> None:
    """The page has them: `tests/test_docs.py` knows these names, and no constant of ours."""
    page = (ROOT / "docs" / "reference" / "folder.md").read_text("utf-8")
    assert f"`{name}`" in page or f"`{name}/`" in page


@pytest.mark.parametrize("name", ["lesson.md"])
def test_every_key_of_a_lesson_is_documented(name: str) -> None:
    """The reference is read against what reads a lesson."""
    page = (ROOT / "docs" / "reference" / name).read_text("utf-8")
    keys = {*LESSON_KEYS, *STEP_KEYS, *MODEL_KEYS, *PASS_KEYS}
    assert {key for key in keys if f"`{key}`" not in page} == set()


@pytest.mark.parametrize("name", ["use-lessons.md", "use-lessons.ja.md"])
def test_the_lesson_in_the_manual_can_be_played(name: str) -> None:
    """What a teacher copies from the page is a lesson."""
    page = (ROOT / "docs" / "how-to" / name).read_text("utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    lesson = decode_book(example, Path(name), lambda written: parse_lesson(written, "en"))
    assert len(lesson.requests) == 3
