"""What came over the wire cannot act on the screen that shows it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.json.escaping import one_line, visible


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
    """B4, B5: escapes, controls, direction overrides, zero-width and tag characters."""
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
