"""What was removed fits any value; what only looks like a mark is a text like any other."""

from typing import Any, Final

import pytest

from humanmcp.protocol.json.removed import fits, left_of, mark_of, names_in, unnamed

KEY: Final = mark_of("API_KEY")

FITS: Final[list[tuple[Any, Any]]] = [
    (KEY, "abc"),
    (KEY, 5),
    (KEY, None),
    (KEY, {"a": 1}),
    (KEY, KEY),
    (KEY, "[redacted]"),
    (f"Bearer {KEY}", "Bearer x"),
    (f"a {KEY} b {KEY} c", "a 1 b 2 c"),
    (f"a{KEY}a", "aa"),
    ({"k": KEY, "n": 1}, {"n": 1, "k": "x"}),
    ({KEY: 1}, {"x": 1}),
    ([KEY, 1], ["x", 1]),
    ("[redacted]", "[redacted]"),
    ("[redacted:API_KEY]", "[redacted:API_KEY]"),
    (1, 1.0),
    (True, True),
    ({}, {}),
]
DIFFERS: Final[list[tuple[Any, Any]]] = [
    ("[redacted]", "abc"),
    ("[redacted:API_KEY]", "abc"),
    ("[redacted:API_KEY-0000]", "abc"),
    ("[REDACTED]", "abc"),
    (f"Bearer {KEY}", "Basic x"),
    (f"Bearer {KEY}", 5),
    (f"a {KEY} b {KEY} c", "a 1 c"),
    (f"ab{KEY}ba", "aba"),
    ({"k": KEY}, {}),
    ({"k": KEY}, {"k": 1, "m": 2}),
    ({KEY: 1}, {"x": 2}),
    ([KEY], []),
    (1, True),
    (True, 1),
    ("a", 5),
    ({"a": 1}, [1]),
]


@pytest.mark.parametrize(("recorded", "value"), FITS)
def test_a_removed_part_fits_any_value(recorded: object, value: object) -> None:
    assert fits(recorded, value)


@pytest.mark.parametrize(("recorded", "value"), DIFFERS)
def test_the_rest_must_be_the_same(recorded: object, value: object) -> None:
    assert not fits(recorded, value)


def test_a_text_of_many_marks_is_compared_in_one_pass() -> None:
    """It comes from a stranger."""
    assert not fits(f"{KEY}a" * 5_000, "a" * 20_000 + "b")


def test_a_mark_names_what_was_removed() -> None:
    text = f"a {KEY} [redacted:API_KEY-0000] {mark_of('TOKEN_2')}"
    assert names_in(text) == ["API_KEY", "TOKEN_2"]
    assert unnamed(text) == "a [redacted] [redacted:API_KEY-0000] [redacted]"
    assert left_of(text, 0, 5) == "a "
    assert left_of(text, 0, 2) is None
