"""Texts of strangers are compared in a time in proportion to their length."""

import pytest

from humanmcp.export.recording import build_conversation
from humanmcp.extensions.testing.diff import differences
from tests.support.hostile_shapes import AROUND, UNITS, Hostile, steepness
from tests.support.recordings import said_by_both


def compared(text: str) -> None:
    before, now = (build_conversation(said_by_both(each)) for each in (text, f"{text}a"))
    list(differences(before, now))


@pytest.mark.parametrize("around", AROUND)
def test_a_longer_text_takes_as_much_longer(around: str) -> None:
    """Whatever is repeated in it, and whatever is around that."""
    steep = [found for unit in UNITS if (found := steepness(compared, Hostile(unit, around)))]
    assert steep == []
