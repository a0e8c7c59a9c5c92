"""How far a fix may be trusted: what it takes away, and what it adds."""

import pytest

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.autofix import trust
from humanmcp.protocol.diagnostics.model import Applicability
from humanmcp.protocol.diagnostics.problem import HOLE, FixAction, FixKind, RawDiagnostic

SAFE, GUESS = Applicability.SAFE, Applicability.GUESS
REMOVES, PLACEHOLDER = Applicability.REMOVES, Applicability.PLACEHOLDER
FOUND = kinds.missing_method()


def replaced(old: str, new: str, *path: str) -> Applicability:
    """Grade a fix that puts a text in the place of another one."""
    return trust(FOUND, FixAction(FixKind.REPLACE, path, new), old, new)


@pytest.mark.parametrize(
    ("old", "new", "applicability"),
    [
        ('"a"', '"a"', SAFE),
        ('"a"', '[{"type": "text", "text": "a"}]', SAFE),
        ('"A  b"', '"ab"', SAFE),
        ("5", '"5"', SAFE),
        ("null", '{"content": []}', SAFE),
        ('"a"', '"b"', GUESS),
        ('"a"', '"…"', PLACEHOLDER),
        ('["a", "b"]', '["a"]', REMOVES),
        ('["a", "b"]', '["a", "c"]', GUESS),
        ('["a", "b"]', '["a", "…"]', PLACEHOLDER),
        ("{}", '{"city": "x"}', GUESS),
        ('"{\\"a\\": 1}"', '{"a": 1}', SAFE),
        ('"yes"', "true", SAFE),
        ('"Off"', "false", SAFE),
        ('"yes"', "false", GUESS),
        ('"maybe"', "true", GUESS),
    ],
)
def test_a_fix_is_safe_that_keeps_every_word_and_adds_none(
    old: str, new: str, applicability: Applicability
) -> None:
    """The words of the structure around an answer are no one's."""
    assert replaced(old, new, "result") == applicability


@pytest.mark.parametrize(
    ("path", "old", "applicability"),
    [
        ("jsonrpc", '"1.0"', SAFE),
        ("id", "7", SAFE),
        ("id", '{"a": 1}', GUESS),
        ("id", "[7]", GUESS),
        ("id", '"3, \\"result\\""', GUESS),
        ("name", "7", GUESS),
    ],
)
def test_what_belongs_to_the_envelope_is_ours_to_write(
    path: str, old: str, applicability: Applicability
) -> None:
    """Unless the rest of the message was swallowed by it."""
    assert replaced(old, "99", path) == applicability


def test_a_name_of_the_path_is_no_new_word() -> None:
    """It stands in the message already."""
    assert replaced('"a"', '{"city": "a"}', "city") == SAFE
    assert replaced('"a"', '{"city": "a"}', "town") == GUESS


@pytest.mark.parametrize(
    ("found", "old", "new", "applicability"),
    [
        (FOUND, '"is_error"', '"isError"', SAFE),
        (FOUND, '"meta"', '"_meta"', GUESS),
        (FOUND, '"contnet"', '"content"', GUESS),
        (kinds.misspelt_envelope_member(("x",), key="content", typed="contnet"), '"contnet"',
         '"content"', SAFE),
        (kinds.misspelt_envelope_member(("x",), key="content", typed="words"), '"words"',
         '"content"', GUESS),
    ],
)  # fmt: skip
def test_a_name_is_renamed_to_the_same_in_another_spelling(
    found: RawDiagnostic, old: str, new: str, applicability: Applicability
) -> None:
    """One slip is no guess where the name is known to be missing."""
    assert trust(found, FixAction(FixKind.RENAME, ("x",), new), old, new) == applicability


@pytest.mark.parametrize(
    ("name", "new", "applicability"),
    [("ttlMs", "0", SAFE), ("jsonrpc", '"2.0"', SAFE), ("city", '"x"', GUESS),
     ("text", '"…"', PLACEHOLDER)],
)  # fmt: skip
def test_what_is_inserted_is_a_guess_unless_it_carries_no_answer(
    name: str, new: str, applicability: Applicability
) -> None:
    """And a placeholder where a person has to write."""
    assert trust(FOUND, FixAction(FixKind.INSERT, ("result", name), new), "", new) == applicability


def test_what_is_cut_out_is_gone_and_what_is_put_around_is_weighed_alone() -> None:
    """A mark stands where the value goes."""
    assert trust(FOUND, FixAction(FixKind.DELETE, ("x",)), '"x": 1', "") == REMOVES
    around = FixAction(FixKind.WRAP, (), f'{{"result": {HOLE}}}')
    assert trust(FOUND, around, "", '{"result": }') == SAFE
    named = FixAction(FixKind.WRAP, (), f'{{"city": {HOLE}}}')
    assert trust(FOUND, named, "", '{"city": }') == GUESS
