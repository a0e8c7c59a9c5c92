"""A mistake has a page of its own at the desk: it needs no network, and leads to the manual."""

import re
from pathlib import Path

import pytest

from humanmcp.common import mistakes, published
from humanmcp.locales import sentences_of
from tests.support.desk_process import Desking
from tests.support.speaking import said_in


def test_the_page_of_a_mistake_shows_wrong_and_right_and_who_says_so(tmp_path: Path) -> None:
    """In both languages, with links that tell nobody where they were pressed."""
    with Desking(tmp_path / "home", "--lang", "en") as desk:
        page = desk.page("/mistake/M02")
        assert "does not exist here" in page
        assert "&#34;type&#34;:&#34;txt&#34;" in page
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
    assert told["J07"].count("…") == 2
