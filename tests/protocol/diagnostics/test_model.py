"""Places in a text."""

import pytest

from humanmcp.protocol.diagnostics.model import Fix, LineIndex, TextEdit, line_and_column


@pytest.mark.parametrize(
    ("at", "place"), [(0, (1, 1)), (2, (1, 3)), (3, (2, 1)), (5, (2, 3)), (6, (3, 1)), (7, (4, 1))]
)
def test_lines_and_columns_count_from_1_and_lines_end_at_line_feeds(
    at: int, place: tuple[int, int]
) -> None:
    """As editors count them."""
    text = "ab\ncd\n\nx"
    assert line_and_column(text, at) == LineIndex(text).place(at) == place


def test_the_edits_of_a_fix_are_applied_by_where_they_begin() -> None:
    """An insertion behind a removal comes after it."""
    assert Fix((TextEdit(5, 5, "x"), TextEdit(3, 5, ""))).apply("abcdefg") == "abcxfg"
