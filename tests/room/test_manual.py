"""What the pages about a class tell the teacher to press is on the pages that they see."""

import re
from pathlib import Path
from typing import Final

import pytest

from humanmcp.locales import LANGUAGES, sentences_of

HOW_TO: Final = Path(__file__).parents[2] / "docs" / "how-to"
OTHER: Final = {"⋯", "JSON"}
"""What no catalog has: a sign, and a name that is the same in all languages."""


def begins(sentence: str) -> re.Pattern[str]:
    """Return what matches a button with this sentence, or its beginning; `…` is a filling."""
    return re.compile(re.escape(sentence.rstrip(" …")).replace("…", r"\{\w+\}"))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", ["class-in-45-minutes", "teach-a-class"])
def test_each_button_that_a_page_about_a_class_names_is_there(language: str, page: str) -> None:
    """As it is called there, in each language."""
    file = HOW_TO / (f"{page}.md" if language == "en" else f"{page}.{language}.md")
    called = set(re.findall(r"\*\*(.+?)\*\*", file.read_text(encoding="utf-8")))
    sentences = sentences_of("desk", language).values()
    missing = {one for one in called if not any(map(begins(one).match, sentences))}
    assert missing <= OTHER
    assert len(called - OTHER) > 10
