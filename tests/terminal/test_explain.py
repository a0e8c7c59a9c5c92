"""How a problem looks at a terminal."""

import pytest

from humanmcp.protocol.diagnostics.model import Diagnostic, Fix, Severity, TextEdit, line_and_column
from humanmcp.terminal.cases import columns, cut, explained, fix_in_words, pad, summary

TEXT = '{\n\t"a\u202e": 1\n}'


def diagnostic(start: int, end: int, fix: Fix | None = None, text: str = TEXT) -> Diagnostic:
    """Make a problem with a place."""
    line, column = line_and_column(text, start)
    return Diagnostic("J99", Severity.ERROR, (), "", start, end, line, column, fix)


def shown(diagnostic: Diagnostic, text: str = TEXT) -> list[str]:
    """Return the lines without their colours."""
    return [
        "".join(part if isinstance(part, str) else part.text for part in line)
        for line in explained(diagnostic, text, "en")
    ]


def test_a_caret_stands_below_what_is_made_visible() -> None:
    """A direction override takes the columns of its code point's name."""
    at = TEXT.index("1")
    _, excerpt, caret = shown(diagnostic(at, at + 1))
    assert excerpt == '  2 |  "a⟦U+202E⟧": 1'
    assert caret.index("^") == excerpt.index("1")


def test_a_problem_over_several_lines_is_marked_to_the_end_of_its_first() -> None:
    """The carets never run over the end of the line."""
    _, excerpt, caret = shown(diagnostic(0, len(TEXT)))
    assert (excerpt, caret) == ("  1 | {", "    | ^")


def test_a_problem_without_a_place_has_no_excerpt() -> None:
    """An empty text, say."""
    assert len(shown(Diagnostic("J99", Severity.ERROR))) == 1


def test_a_place_at_the_end_of_the_text_has_one_caret() -> None:
    """Something is missing there."""
    assert shown(diagnostic(len(TEXT), len(TEXT)))[2].count("^") == 1


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ((TextEdit(0, 1, "["),), "fix: write [ instead of {"),
        ((TextEdit(0, 1, ""),), "fix: remove {"),
        ((TextEdit(0, 0, "["),), "fix: add ["),
        ((TextEdit(0, 1, "["), TextEdit(2, 3, "]")), "fix: 2 small changes"),
    ],
)
def test_a_fix_is_said_in_words(edits: tuple[TextEdit, ...], words: str) -> None:
    """What goes, what comes."""
    assert fix_in_words(Fix(edits), TEXT, "en").startswith(words)


def test_problems_are_counted_by_level() -> None:
    """One is singular."""
    found = [
        Diagnostic("x", Severity.ERROR),
        Diagnostic("x", Severity.HINT),
        Diagnostic("x", Severity.HINT),
    ]
    assert summary(found, "en") == "1 error, 2 hints"


def test_columns_count_wide_and_combining_characters() -> None:
    """East Asian Width (UAX #11)."""
    assert columns("a東か\u3099") == 5
    assert pad("東", 4) == "東  "
    assert cut("東京都", 5) == "東京…"
    assert cut("東京", 4) == "東京"
