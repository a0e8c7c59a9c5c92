"""Places in a text."""

import pytest

from humanmcp.protocol.diagnostics.model import (
    Diagnostic,
    Fix,
    LineIndex,
    Severity,
    TextEdit,
    line_and_column,
    together,
)


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


@pytest.mark.parametrize(
    ("edits", "fixed"),
    [
        ([(3, 3, "x"), (3, 5, "")], "abcxfg"),
        ([(3, 5, ""), (3, 3, "x")], "abcxfg"),
        ([(5, 5, "y"), (0, 1, "x"), (2, 3, "")], "xbdeyfg"),
        ([(7, 7, "y"), (0, 0, "x")], "xabcdefgy"),
        ([], "abcdefg"),
    ],
)
def test_of_two_edits_at_one_place_the_insertion_is_first(
    edits: list[tuple[int, int, str]], fixed: str
) -> None:
    """Whatever they insert, and in whatever order they are given."""
    assert Fix(tuple(TextEdit(*one) for one in edits)).apply("abcdefg") == fixed


@pytest.mark.parametrize(
    ("fixes", "taken"),
    [
        ([[(0, 2)], [(2, 4)]], [(0, 2), (2, 4)]),
        ([[(2, 4)], [(0, 2)]], [(0, 2), (2, 4)]),
        ([[(0, 3)], [(2, 4)]], [(0, 3)]),
        ([[(2, 4)], [(0, 3)]], [(2, 4)]),
        ([[(2, 4)], [(2, 4)], [(4, 5)]], [(2, 4), (4, 5)]),
        ([[(0, 9)], [(3, 3)]], [(0, 9)]),
        ([[(3, 3)], [(0, 9)]], [(3, 3)]),
        ([[(3, 4)], [(2, 3), (8, 9)]], [(2, 3), (3, 4), (8, 9)]),
        ([[(3, 4)], [(3, 5), (8, 9)], [(8, 10)]], [(3, 4), (8, 10)]),
        ([[(1, 2)], [], [(1, 2), (5, 6)], [(5, 6)]], [(1, 2), (5, 6)]),
    ],
)
def test_a_fix_is_applied_whole_where_no_earlier_one_changes_its_place(
    fixes: list[list[tuple[int, int]]], taken: list[tuple[int, int]]
) -> None:
    """One ends where the other begins: they do not meet."""
    problems = [
        Diagnostic("J02", Severity.ERROR, fix=Fix(tuple(TextEdit(*at, "x") for at in one)))
        for one in fixes
    ]
    none = Diagnostic("J02", Severity.ERROR)
    assert together([none, *problems, none]) == [TextEdit(*at, "x") for at in taken]
