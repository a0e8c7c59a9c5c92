"""Places in a text."""

import pytest

from humanmcp.protocol.diagnostics.model import (
    Applicability,
    Diagnostic,
    Fix,
    LineIndex,
    Severity,
    TextEdit,
    grouped,
    line_and_column,
    together,
    unreadable,
)
from humanmcp.protocol.json.jsonrpc import Malformed, read


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


@pytest.mark.parametrize(
    ("raw", "code", "detail"),
    [
        (b'{"a":1}{"b":2}', "N54", {"column": "8"}),
        (b'{"a":1} {"b":2}', "N54", {"column": "9"}),
        (b'{"a":"}{"}{', "N54", {"column": "11"}),
        (b'{"a":1}x', "N01", {"column": "8"}),
        (b'{"a":1} [1]', "N01", {"column": "9"}),
        (b'x{"a":1}{"b":2}', "N01", {"column": "1"}),
        (b'{"a"{"b":2}', "N01", {"column": "5"}),
        (b"{{", "N01", {"column": "2"}),
        (b"hello", "N01", {"column": "1"}),
        (b"Content-Length: 9", "N49", {"column": "1"}),
        (b"content-length:9", "N49", {"column": "1"}),
        (b"Content-Length: x", "N01", {"column": "1"}),
        (b" {'a':1}", "N50", {"column": "3"}),
        (b"{jsonrpc: 1}", "N51", {"column": "2"}),
        (b"{ id: 1}", "N51", {"column": "3"}),
        (b"{id:1}", "N01", {"column": "2"}),
        (b"\xff\xfe{\0}\0", "N52", {"byte": "1"}),
        (b"{\0}\0", "N52", {"column": "2"}),
        (b'\x1b[32m{"a":1}', "N55", {"column": "1"}),
        (b'{"a":1}\x1b[0m', "N55", {"column": "8"}),
        (b"\x1b[32mx", "N01", {"column": "1"}),
        (b'{"a":"\xe9"}', "N53", {"byte": "7", "encoding": "Windows-1252"}),
        (b'{"a":"\x90\xb0"}', "N53", {"byte": "7", "encoding": "CP932 (Shift_JIS)"}),
        (b"[]", "N06", {}),
        (b"7", "N05", {"got": "number"}),
    ],
)
def test_a_line_that_is_no_message_is_named_by_what_wrote_it(
    raw: bytes, code: str, detail: dict[str, str]
) -> None:
    """The place is that of the first byte or character that is wrong."""
    found = read(raw)
    assert isinstance(found, Malformed)
    assert unreadable(found) == Diagnostic(code, Severity.ERROR, tuple(detail.items()))


def _problem(at: int, code: str = "M12", *, key: str = "a", fix: bool = True) -> Diagnostic:
    act = Fix((TextEdit(at, at + 1, ""),), "delete", Applicability.REMOVES) if fix else None
    return Diagnostic(code, Severity.ERROR, (("key", key),), f"/{at}", at, at + 1, fix=act)


@pytest.mark.parametrize(("count", "times"), [(1, [1]), (3, [1, 1, 1]), (4, [4]), (9, [9])])
def test_more_than_three_of_one_sentence_are_one(count: int, times: list[int]) -> None:
    """At the place of the first, and its fix is that of all; others stay where they are."""
    many = [_problem(at, key=f"a[{at}]") for at in range(count)]
    other = _problem(50, "M13")
    found = grouped([*many[:1], other, *many[1:]])
    assert [one.times for one in found if one.code == "M12"] == times
    assert [one.code for one in found[:2]] == ["M12", "M13"]
    assert (found[0].start, found[0].detail, found[1]) == (0, (("key", "a[0]"),), other)
    edits = tuple(TextEdit(at, at + 1, "") for at in range(count if count > 3 else 1))
    assert found[0].fix == Fix(edits, "delete", Applicability.REMOVES)


@pytest.mark.parametrize(("count", "times"), [(9, 1), (10, 1), (11, 2), (40, 31)])
def test_more_than_ten_of_one_code_are_ten(count: int, times: int) -> None:
    """The tenth stands for the rest, with its own fix and place."""
    many = [_problem(at, key=f"x{at}") for at in range(count)]
    found = grouped(many)
    assert found == (*many[:9], *(one._replace(times=times) for one in many[9:10]))


def test_problems_are_one_only_with_the_same_code_severity_and_words() -> None:
    """A number in brackets is the place in a list, and no word."""
    warning = _problem(3)._replace(severity=Severity.WARNING)
    apart = (_problem(0), _problem(1, "M13"), _problem(2, key="b"), warning, _problem(4, key="a1"))
    assert grouped(apart) == apart
    (joined,) = grouped([*(_problem(at) for at in range(4)), _problem(9, fix=False)])
    assert (joined.times, joined.fix) == (5, _problem(0).fix)
