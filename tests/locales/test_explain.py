"""The cards that explain a message."""

import re
from collections.abc import Iterator
from typing import Final

import pytest

from humanmcp.inbox.contract import Role
from humanmcp.locales import LANGUAGES
from humanmcp.locales.explain import CLIENT_SIDE, Card, explain
from humanmcp.protocol.tables.methods import NOTIFICATIONS, REQUESTS, MethodDirection
from humanmcp.protocol.tables.versions import ALL
from tests.support.speaking import said_in

YOU: Final = re.compile(r"\b[Yy]ou(r|rs)?\b|あなた")
SEEN: Final = tuple((role.value, inwards) for role in Role for inwards in (True, False))
"""Every role, and both ways that a message can go there."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_method_of_every_version_has_a_card(language: str) -> None:
    """What it is, who sent it, what silence does, and the page of that version."""
    for table, asks in ((REQUESTS, True), (NOTIFICATIONS, False)):
        for method, record in table.items():
            for version in record.versions:
                card = said_in(language, explain, method, version, asks=asks)
                assert all((card.title, card.what, card.sender, card.silence)), method
                assert card.note == ""
                of_an_extension = "/specification/" not in card.page  # of no version
                assert f"/{version}/" in card.page or of_an_extension


def test_a_method_that_nobody_knows_is_named_without_what_could_act() -> None:
    """On one line."""
    card = explain("x\x1b[2J\n\u202ey", ALL[-1])
    assert card.what.startswith("x⟦U+001B⟧[2J\\n⟦U+202E⟧y is not a method of MCP.")


def test_the_cards_of_two_languages_differ() -> None:
    """No card falls back to English."""
    for method in REQUESTS:
        one, other = (said_in(language, explain, method, ALL[-2]) for language in LANGUAGES)
        assert one.title != other.title
        assert one.what != other.what
        assert one.silence != other.silence


def test_a_method_of_another_version_is_said_to_be_one() -> None:
    """`ping` is gone in 2026-07-28."""
    card = explain("ping", "2026-07-28")
    assert "ping does not exist in 2026-07-28" in card.note


@pytest.mark.parametrize("asks", [True, False])
def test_a_strange_method_is_named(asks: bool) -> None:  # noqa: FBT001 - the two kinds
    """It is quoted, and what is usually done about it is said."""
    card = explain("tool/list", "2025-11-25", asks=asks)
    assert "tool/list" in card.what


def test_a_notification_needs_no_answer() -> None:
    """What has no id waits for nothing."""
    card = explain("notifications/initialized", "2025-11-25", asks=False)
    assert "It needs no response" in card.silence


def test_a_line_without_a_method_is_no_message() -> None:
    """BRIDGE-23."""
    assert explain("", "2025-11-25").title == "Not a message"


# -- each seat has its own sentences -------------------------------------------------------------


def cards(
    role: str, language: str, *, inwards: bool = True
) -> Iterator[tuple[MethodDirection, Card]]:
    """Walk every method of every version, as one seat sees it."""
    for table, asks in ((REQUESTS, True), (NOTIFICATIONS, False)):
        for method, record in table.items():
            for version in record.versions:
                yield (
                    record.direction,
                    said_in(
                        language, explain, method, version, asks=asks, role=role, inwards=inwards
                    ),
                )


def sentences_of(card: Card) -> str:
    """Return all that a card says."""
    return f"{card.title} {card.what} {card.sender} {card.silence}"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("role", "inwards"), SEEN)
def test_every_seat_has_a_whole_card_for_every_method(
    role: str,
    inwards: bool,  # noqa: FBT001 - the two ways
    language: str,
) -> None:
    """Nothing is missing, and nothing falls back to English."""
    found = list(cards(role, language, inwards=inwards))
    english = [card for _, card in cards(role, "en", inwards=inwards)]
    for (_, card), other in zip(found, english, strict=True):
        assert all((card.title, card.what, card.sender, card.silence)), card.method
        if language != "en":
            for part in ("title", "what", "sender", "silence"):
                assert getattr(card, part) != getattr(other, part), (card.method, part)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("inwards", [True, False])
def test_who_looks_on_is_not_taken_for_a_party(inwards: bool, language: str) -> None:  # noqa: FBT001 - the two ways
    """Between two programs, and in an export, nobody is "you"."""
    for role in ("tap", "reader"):
        for _, card in cards(role, language, inwards=inwards):
            assert not YOU.search(sentences_of(card)), card


@pytest.mark.parametrize(
    ("language", "party"), [("en", "you, the server"), ("ja", "サーバーであるあなた")]
)
def test_only_the_server_is_told_that_it_is_the_server(language: str, party: str) -> None:
    """In its own seat each message has it as one end; in the others none has."""
    for role, inwards in SEEN:
        for _, card in cards(role, language, inwards=inwards):
            assert (party in card.sender.lower()) is (role == "server"), (role, card)


def test_the_client_sent_what_goes_to_the_server() -> None:
    """What it asks is never called the host's, and never "your tools"; what it hears is for it."""
    for direction, card in cards("client", "en"):
        if direction is MethodDirection.TO_SERVER:
            assert card.sender == "You, the client, sent it to the server."
            assert "host" not in card.title.lower(), card
            assert not re.search(r"you answer|your (tools|resources|prompts)", sentences_of(card))
        else:
            assert card.sender == "The server sent it to you, the client."


def test_a_method_of_both_ways_is_said_to_go_the_way_it_went() -> None:
    """A `ping` may come from either side."""
    for role in (role.value for role in Role):
        came, went = (explain("ping", ALL[-2], role=role, inwards=one) for one in (True, False))
        assert came.sender != went.sender
        to_client = came if role in CLIENT_SIDE else went
        assert to_client.sender.startswith(("The server", "The host sent", "humanmcp asks", "You,"))


@pytest.mark.parametrize(
    ("role", "method", "said"),
    [
        ("model", "sampling/createMessage", "The host sent it to you, the model."),
        ("host", "elicitation/create", "humanmcp asks you, the host, what to do next."),
    ],
)
def test_the_model_and_the_host_are_told_what_is_theirs(role: str, method: str, said: str) -> None:
    """They borrow two methods of MCP: no server stands behind these questions."""
    card = explain(method, "2025-11-25", role=role)
    assert card.sender == said
    assert "server" not in sentences_of(card)
