"""What the pages about a class tell the teacher to press is on the pages that they see."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from humanmcp.extensions.classroom.demo.lesson import find_lesson, lesson_names
from humanmcp.locales import LANGUAGES, sentences_of
from humanmcp.protocol.tables import methods

HOW_TO: Final = Path(__file__).parents[4] / "docs" / "how-to"
OTHER: Final = {"⋯", "JSON"}
"""What no catalog has: a sign, and a name that is the same in all languages."""


def begins(sentence: str) -> re.Pattern[str]:
    """Return what matches a button with this sentence, or its beginning; `…` is a filling."""
    return re.compile(re.escape(sentence.rstrip(" …")).replace("…", r"\{\w+\}"))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", ["class-in-45-minutes", "class-in-90-minutes", "teach-a-class"])
def test_each_button_that_a_page_about_a_class_names_is_there(language: str, page: str) -> None:
    """As it is called there, in each language."""
    file = HOW_TO / (f"{page}.md" if language == "en" else f"{page}.{language}.md")
    called = set(re.findall(r"\*\*(.+?)\*\*", file.read_text(encoding="utf-8")))
    catalogs = (sentences_of(one, language) for one in ("desk", "classroom"))
    sentences = [sentence for catalog in catalogs for sentence in catalog.values()]
    missing = {one for one in called if not any(map(begins(one).match, sentences))}
    assert missing <= OTHER
    assert len(called - OTHER) > (2 if page == "class-in-90-minutes" else 10)


@pytest.mark.parametrize("suffix", [".md", ".ja.md"])
def test_the_numbers_on_the_slides_are_those_of_the_tables(suffix: str) -> None:
    """How many kinds of messages there are, and what the measured clients did with a mistake."""
    text = (HOW_TO / f"class-slides{suffix}").read_text(encoding="utf-8")
    requests = [one for one in methods.REQUESTS.values() if one.is_in("2025-11-25")]
    notices = [one for one in methods.NOTIFICATIONS.values() if one.is_in("2025-11-25")]
    (counted,) = re.findall(r"MCP 2025-11-25[^\n]*", text)
    found = [int(one) for one in re.findall(r"(?<![\d-])\d+(?![\d-])", counted)]
    assert found[:3] == [len(requests) + len(notices), len(requests), len(notices)]
    measured = json.loads((HOW_TO.parent / "reference" / "clients.json").read_text("utf-8"))
    codes = ("another_id", "not_json", "unknown_type")
    words = [one["words"] for one in measured["clients"] if set(codes) & one["words"].keys()]
    rows = [re.findall(r"\d+", row) for row in re.findall(r"^\| .*\d.* \|$", text, re.MULTILINE)]
    head, *rows = [list(map(int, one)) for one in rows]
    wanted = []
    for code in codes:
        seen = Counter(one[code] for one in words if code in one)
        waited = seen["waited"] + seen["hung"]
        wanted.append([seen.total(), seen["told"]] if seen["told"] else [seen["told"], waited])
    assert (head, rows) == ([len(words)], wanted)


@pytest.mark.parametrize("page", ["class-in-45-minutes", "class-in-90-minutes"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_lessons_and_slides_that_a_plan_names_are_there(language: str, page: str) -> None:
    """As they are called on the teacher's page, and in the file of the slides."""
    suffix = ".md" if language == "en" else f".{language}.md"
    plan = (HOW_TO / f"{page}{suffix}").read_text(encoding="utf-8")
    slides = (HOW_TO / f"class-slides{suffix}").read_text(encoding="utf-8")
    titles = [find_lesson(one)(language).title for one in lesson_names()]
    heads = re.findall(r"^## (.*)$", slides, re.MULTILINE)
    assert sum(one in plan for one in titles) >= {"45": 1, "90": 4}[page[9:11]]
    assert sum(one in plan for one in heads) >= 7
    assert not re.search("2024-11-05|2025-03-26|2025-06-18", slides + plan)
