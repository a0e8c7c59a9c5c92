"""The cards that explain a message."""

from __future__ import annotations

import pytest

from humanmcp.locales import LANGUAGES
from humanmcp.locales.explain import explain
from humanmcp.protocol.revisions import ALL, NOTIFICATIONS, REQUESTS


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_method_of_every_revision_has_a_card(language: str) -> None:
    """What it is, who sent it, what silence does, and the page of that revision."""
    for table, asks in ((REQUESTS, True), (NOTIFICATIONS, False)):
        for method, (_, known) in table.items():
            for revision in known:
                card = explain(method, revision, language, asks=asks)
                assert all((card.title, card.what, card.sender, card.silence)), method
                assert card.note == ""
                assert f"/{revision}/" in card.page


def test_the_cards_of_two_languages_differ() -> None:
    """No card falls back to English."""
    for method in REQUESTS:
        one, other = (explain(method, ALL[-2], language) for language in LANGUAGES)
        assert one.title != other.title
        assert one.what != other.what
        assert one.silence != other.silence


def test_a_method_of_another_revision_is_said_to_be_one() -> None:
    """`ping` is gone in 2026-07-28."""
    card = explain("ping", "2026-07-28")
    assert "ping does not exist in 2026-07-28" in card.note


@pytest.mark.parametrize("asks", [True, False])
def test_a_strange_method_is_named(asks: bool) -> None:  # noqa: FBT001 - the two kinds
    """W11: it is quoted, and what is usually done about it is said."""
    card = explain("tool/list", "2025-11-25", asks=asks)
    assert "tool/list" in card.what


def test_a_notification_needs_no_answer() -> None:
    """E08."""
    card = explain("notifications/initialized", "2025-11-25", asks=False)
    assert "nobody waits for an answer" in card.silence


def test_a_line_without_a_method_is_no_message() -> None:
    """H23."""
    assert explain("", "2025-11-25").title == "Not a message"
