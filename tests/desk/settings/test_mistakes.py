"""A mistake has a page of its own at the desk: it needs no network, and leads to the manual."""

import html
import re
from pathlib import Path

import pytest

from humanmcp.answering import mistakes
from humanmcp.common import published
from humanmcp.locales import fillings_of, sentences_of
from tests.support.desk_process import Desking
from tests.support.speaking import said_in


def test_the_page_of_a_mistake_shows_wrong_and_right_and_who_says_so(tmp_path: Path) -> None:
    """In both languages, with links that tell nobody where they were pressed."""
    with Desking(tmp_path / "home", "--lang", "en") as desk:
        page = desk.page("/mistake/M02")
        assert "does not exist here" in page
        assert '"txt"' in html.unescape(re.sub("<[^>]*>", "", page))
        assert 'href="https://modelcontextprotocol.io/specification/2025-11-25/' in page
        assert all("noreferrer" in link for link in page.split("<a ")[1:] if "https://" in link)
        assert "正しい書き方" in desk.page("/mistake/M02?lang=ja")
        for unknown in ("M000", "M02.why"):
            assert desk.ask("GET", f"/mistake/{unknown}", headers=desk.bearer).status == 404


def test_a_mistake_is_found_with_its_page_in_the_manual(monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as an account publishes it; nothing leads nowhere until then."""
    found = mistakes.find_mistake("M02")
    assert found is not None
    assert found.page == ""
    monkeypatch.setattr(published, "OWNER", "somebody")
    found = said_in("ja", mistakes.find_mistake, "M02")
    assert found is not None
    assert found.page.endswith("/reference/mistakes/M02.html")
    assert mistakes.find_mistake("M02.why") is None


@pytest.mark.parametrize("language", ["en", "ja"])
def test_no_sentence_about_a_kind_of_mistake_shows_the_name_of_what_fills_it(language: str) -> None:
    """`{opened}` says nothing to a learner who opens J07."""
    codes = [code for code in sentences_of("problem", language) if "." not in code]
    found = {code: said_in(language, mistakes.find_mistake, code) for code in codes}
    told = {code: mistake.sentence for code, mistake in found.items() if mistake is not None}
    assert len(told) == len(codes) > 100
    assert [code for code, sentence in told.items() if re.search(r"\{\w+\}", sentence)] == []


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_sentence_about_a_kind_of_mistake_is_that_of_its_example(language: str) -> None:
    """It has no holes: the example fills it, and what no file shows has a usual value."""
    own = sentences_of("problem", language)
    usual = {*mistakes.file_of_mistakes()["usual"], "why"}
    for code in mistakes.codes():
        example = mistakes.examples().get(code)
        problems = mistakes.problems_of(example) if example else ()
        told = {name for one in problems if one.code == code for name in fillings_of(one)}
        assert set(re.findall(r"\{(\w+)\}", own[code])) <= told | usual, code
    shown = said_in(language, mistakes.find_mistake, "M01")
    assert shown is not None
    assert "content" in shown.sentence
    assert "TypeScript SDK" in shown.clients
