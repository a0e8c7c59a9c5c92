"""A text with every fix applied."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.autofix import (
    NO_SUGGESTION,
    Suggestion,
    autofix,
    fully_fixed,
    suggestion,
)
from humanmcp.protocol.diagnostics.model import (
    Applicability,
    Diagnostic,
    Fix,
    Severity,
    TextEdit,
    TextForm,
    Verdict,
    together,
)
from humanmcp.protocol.validation.check import check
from tests.support.verdicts import asked

CALL = asked("tools/call")


def fix(text: str) -> str:
    """Fix an answer to a tool call."""
    return fully_fixed(text, lambda typed: check(CALL, typed))


@pytest.mark.parametrize(
    "typed",
    [
        "sunny",
        "{'result': {'content': 'sunny',},}",
        '｛"result"：｛"content"：［］｝｝',  # noqa: RUF001 - what an input method types
        '{"result":{"input_schema":1,"content":"x"}}',
    ],
)
def test_mistakes_behind_mistakes_are_fixed_in_rounds(typed: str) -> None:
    """A text that is no JSON hides its other mistakes; what comes out passes."""
    assert check(CALL, fix(typed)).sendable


@pytest.mark.parametrize("inside", [r'{"a":"b\go"}', r'["\u12"]', '{"\\', '["\n\x01', "{{"])
@pytest.mark.parametrize("place", ['{"content":%s}', '{"text":%s}', '{"structuredContent":%s}'])
def test_a_text_that_begins_like_json_may_be_none(place: str, inside: str) -> None:
    """Whose words were typed is looked for in it, too; it is kept as it is."""
    verdict = check(CALL, place % json.dumps(inside), TextForm.RESULT)
    assert verdict.diagnostics
    for one in verdict.diagnostics:
        assert one.code != kinds.check_failed.code
        assert one.fix is None or json.dumps(inside) in one.fix.apply(verdict.text)


@pytest.mark.parametrize(
    ("typed", "meant"), [("no", "false"), ('"Yes"', "true"), ("off", "false"), ('"maybe"', "")]
)
def test_a_word_of_yes_and_no_becomes_the_truth_that_is_wanted(typed: str, meant: str) -> None:
    """It is no guess there; what else stands in its place is a person's to fix."""
    fixed_text = fix(f'{{"result":{{"content":[],"isError":{typed}}}}}')
    assert (f'"isError":{meant}' in fixed_text) if meant else (fixed_text == "")


@pytest.mark.parametrize("typed", ['{"result":{},"error":{}}', "", "x" * 30_000])
def test_where_the_fixes_do_not_get_it_there_nothing_is_shown(typed: str) -> None:
    """Half of a fix would be refused again; and nobody reads a very long one."""
    assert fix(typed) == ""


def test_of_two_fixes_at_one_place_the_first_is_applied() -> None:
    """The other one counts in a text that is no more; the next round finds it again."""
    fixes = [Fix((TextEdit(0, 3, "a"),)), Fix((TextEdit(2, 4, "b"),)), Fix((TextEdit(3, 3, "c"),))]
    diagnostics = [Diagnostic("J01", Severity.ERROR, fix=fix) for fix in fixes]
    assert together([*diagnostics, Diagnostic("J02", Severity.ERROR)]) == [
        TextEdit(0, 3, "a"),
        TextEdit(3, 3, "c"),
    ]


@given(st.text(max_size=40))
def test_it_ends_and_never_lies(typed: str) -> None:
    """Whatever was typed: nothing, or something that passes."""
    assert fix(typed) == "" or check(CALL, fix(typed)).sendable


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        (
            '{"jsonrpc":"2.0","id":4,"result":{"content":[]}}',
            Suggestion('{"jsonrpc":"2.0","id":3,"result":{"content":[]}}'),
        ),
        (
            '{"error":{"code":"no","message":"x"}}',
            Suggestion('{"error":{"code":-32603,"message":"x"}}', Applicability.GUESS),
        ),
        (
            '{"error":{"code":"no","message":"x",}}',
            Suggestion('{"error":{"code":-32603,"message":"x"}}', Applicability.GUESS),
        ),
        ('{"result":{},"error":{}}', NO_SUGGESTION),
        ('{"content":[],"isError":"maybe"}', NO_SUGGESTION),
        (f'{{"error":{{"code":"no","message":"{"x" * 30_000}"}}}}', NO_SUGGESTION),
        (
            f'{{"jsonrpc":"2.0","id":4,"result":{{"content":[],"x":"{"x" * 30_000}"}}}}',
            NO_SUGGESTION,
        ),
    ],
)
def test_one_fix_that_is_a_guess_is_suggested_as_such(typed: str, suggested: Suggestion) -> None:
    """More than one is nobody's to say; a very long text is not read again."""
    assert suggestion(typed, lambda text: check(CALL, text)) == suggested


@pytest.mark.parametrize(("rounds", "left"), [(7, 0), (8, 0), (9, 1)])
def test_the_rounds_of_fixes_are_bounded(rounds: int, left: int) -> None:
    """Each finds one more mistake: after eight the text is what it is."""

    def judge(typed: str) -> Verdict:
        at = len(typed)
        found = Diagnostic("J02", Severity.ERROR, fix=Fix((TextEdit(at, at, "x"),)))
        return Verdict(typed, None, None, (found,) if at < rounds else ())

    fixed = autofix("", judge)
    assert fixed.text == "x" * (rounds - left)
    assert fixed.verdict == judge(fixed.text)
    assert len(fixed.verdict.diagnostics) == left


def test_fixes_that_undo_each_other_end_with_the_first_text_that_comes_again() -> None:
    """Nobody can say which of the two was meant."""

    def judge(typed: str) -> Verdict:
        new = {"a": "b", "b": "a"}[typed]
        return Verdict(
            typed, None, None, (Diagnostic("J02", Severity.ERROR, fix=Fix((TextEdit(0, 1, new),))),)
        )

    assert autofix("a", judge).text == "b"
