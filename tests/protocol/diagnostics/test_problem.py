"""A value in a sentence, and what fixes a value."""

import pytest

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity
from humanmcp.protocol.diagnostics.problem import (
    HOLE,
    LONGEST_QUOTE,
    FixAction,
    FixKind,
    RawDiagnostic,
    delete,
    insert,
    quoted,
    rename_to,
    replace_with,
    replace_with_integer,
    shown,
    unwrap,
    wrap,
)
from humanmcp.protocol.json.jsonrpc import Json


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({}, "{}"),
        ({"a": 1}, "{…}"),
        ([], "[]"),
        ([1], "[…]"),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ("é", '"é"'),
        ("a\n\0", r'"a\n\u0000"'),
        ("x" * (LONGEST_QUOTE - 2), f'"{"x" * (LONGEST_QUOTE - 2)}"'),
        ("x" * (LONGEST_QUOTE - 1), f'"{"x" * (LONGEST_QUOTE - 2)}…'),
        ("x" * 10_000, f'"{"x" * (LONGEST_QUOTE - 2)}…'),
    ],
)
def test_a_value_in_a_sentence_is_json_of_one_line(value: Json, written: str) -> None:
    """An object or a list says only whether it has something in it."""
    assert quoted(value) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("x" * LONGEST_QUOTE, "x" * LONGEST_QUOTE),
        ("x" * (LONGEST_QUOTE + 1), f"{'x' * (LONGEST_QUOTE - 1)}…"),
        ("", ""),
    ],
)
def test_a_text_in_a_sentence_is_cut_behind_sixty_characters(text: str, written: str) -> None:
    """The mark that it was cut is one of them."""
    assert shown(text) == written


@pytest.mark.parametrize(
    ("made", "fix"),
    [
        (replace_with(("a",), ["é"]), FixAction(FixKind.REPLACE, ("a",), '["é"]', (), "replace")),
        (replace_with(("a",), 1, "x"), FixAction(FixKind.REPLACE, ("a",), "1", (), "x")),
        (rename_to(("a",), "b"), FixAction(FixKind.RENAME, ("a",), '"b"', (), "rename")),
        (delete(("a", 0)), FixAction(FixKind.DELETE, ("a", 0), "", (), "delete")),
        (insert(("a",), None), FixAction(FixKind.INSERT, ("a",), "null", (), "insert")),
        (wrap((), "[", "]"), FixAction(FixKind.WRAP, (), f"[{HOLE}]", (), "wrap")),
        (unwrap(("a",), ("b",)), FixAction(FixKind.UNWRAP, ("a",), "", ("b",), "unwrap")),
    ],
)
def test_each_act_of_a_fix_has_its_label(made: FixAction, fix: FixAction) -> None:
    """A value is written as JSON."""
    assert made == fix


@pytest.mark.parametrize(
    ("value", "integer", "label"),
    [
        (1.5, "2", "replace"),
        (-0.4, "0", "replace"),
        (float("inf"), "", ""),
        (float("-inf"), "", ""),
        (float("nan"), "", ""),
        (" -12 ", "-12", "unquote"),
        ("9" * 999, "9" * 999, "unquote"),
        ("9" * 1000, "", ""),
        ("--1", "", ""),
        ("１", "", ""),  # noqa: RUF001 - a full-width digit
        ("1.0", "", ""),
        ("", "", ""),
        (None, "", ""),
        (True, "", ""),
        ([1.5], "", ""),
    ],
)
def test_an_integer_is_made_of_what_holds_one(value: Json, integer: str, label: str) -> None:
    """Of digits in a text, of a number that is near to it, and of nothing else."""
    wanted = FixAction(FixKind.REPLACE, ("a",), integer, (), label) if integer else None
    assert replace_with_integer(("a",), value) == wanted


def test_what_is_said_of_the_peer_has_no_fix_and_no_place_in_a_text() -> None:
    """Its own words come first, then those of its kind, then the rule of a schema."""
    fix = delete(("a~b", 0))
    found = kinds.unknown_member(("a~b", 0), fix, broken=(("rule", "type"),), key="k")
    assert found == RawDiagnostic(
        kinds.unknown_member, (("key", "k"), ("rule", "type")), ("a~b", 0), fix, at_name=False,
        severity=kinds.unknown_member.severity,
    )  # fmt: skip
    peers = found.without_fix(Severity.HINT)
    assert peers == found._replace(fix=None, severity=Severity.HINT)
    assert peers.unplaced() == Diagnostic("M12", Severity.HINT, found.detail, "/a~0b/0")
