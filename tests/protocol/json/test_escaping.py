"""What came over the wire cannot act on the screen that shows it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.json.jsonrpc import (
    half_characters,
    one_line,
    visible,
    visible_json,
    wire_line,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "⟦U+001B⟧[2J"),
        ("\x07\r", "⟦U+0007⟧⟦U+000D⟧"),
        ("a\u202eb", "a⟦U+202E⟧b"),
        ("zero\u200bwidth", "zero⟦U+200B⟧width"),
        ("\U000e0041", "⟦U+E0041⟧"),
        ("\x9b31m", "⟦U+009B⟧31m"),
        ("\ud800", "⟦U+D800⟧"),
        ("東京\n晴れ\tよ", "東京\n晴れ\tよ"),
        ("👨\u200d👩", "👨⟦U+200D⟧👩"),
    ],
)
def test_what_could_act_is_shown_as_its_code_point(text: str, shown: str) -> None:
    """Escapes, controls, direction overrides, zero-width and tag characters."""
    assert visible(text) == shown


@given(st.text())
def test_nothing_invisible_is_left(text: str) -> None:
    """Whatever came: no control, no format character, no surrogate."""
    left = {unicodedata.category(one) for one in visible(text).replace("\n", "").replace("\t", "")}
    assert not left & {"Cc", "Cs"}


def test_one_line_is_one_line_and_can_be_cut() -> None:
    """For lists and tables."""
    assert one_line("a\nb\tc") == "a\\nb\\tc"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"


def test_json_stays_the_json_that_it_was() -> None:
    """With an escape where another character would stand for one that acts."""
    assert visible_json('{"a":"\u202e\x7f x"}') == '{"a":"\\u202e\\u007f x"}'


@pytest.mark.parametrize(
    ("text", "longest", "shown"),
    [("a\nb\tc", 0, "a\\nb\\tc"), ("abcd", 4, "abcd"), ("abcde", 4, "abc…"), ("é", 1, "é")],
)
def test_a_line_is_cut_with_a_mark_only_where_it_is_too_long(
    text: str, longest: int, shown: str
) -> None:
    """The mark is one of the characters that there may be."""
    assert one_line(text, longest) == shown


@pytest.mark.parametrize(
    ("text", "line"),
    [(" a\r\nb\rc\nd ", "a b c d"), ("a\ud800b", "a?b"), (" \n ", None), ("", None)],
)
def test_any_text_is_one_line_of_the_wire(text: str, line: str | None) -> None:
    """Half a character is replaced; nothing is left of what is blank."""
    assert wire_line(text) == line


@pytest.mark.parametrize(
    ("text", "halves"),
    [
        (r'"\ud83d\ude00"', []),
        (r'"\ud83d"', [(1, 7)]),
        (r'"\ude00"', [(1, 7)]),
        (r'"\ud83d \ude00"', [(1, 7), (8, 14)]),
        (r'"\ud83d\n\ude00"', [(1, 7), (9, 15)]),
        (r'"\ud83d\ud83d\uDE00"', [(1, 7)]),
        (r'"\ud83d\ude00\ude00"', [(13, 19)]),
        (r'"\\ud83d"', []),
    ],
)
def test_half_a_character_is_found_where_its_other_half_is_missing(
    text: str, halves: list[tuple[int, int]]
) -> None:
    """The second half has to come just after the first."""
    assert half_characters(text) == halves
