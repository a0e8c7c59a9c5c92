"""How problems with a text are shown in a terminal: place, line, caret, sentence and fix."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final, TypeAlias

from humanmcp.common.terminal import SEVERITY_COLOURS, Painted, to_stdout
from humanmcp.locales import find_sentence, say, titled
from humanmcp.protocol.json.visible import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from humanmcp.protocol.diagnostics.model import Diagnostic, Fix


Line = tuple[str | Painted, ...]
PlaceOf: TypeAlias = "Callable[[int, int], tuple[int, int]]"
"""Returns the line and column in a file of a line and column of a text in it."""

_LONGEST_LINE: Final = 100
"""Columns of a text line that are shown around a problem."""
_BEFORE: Final = 40
"""Columns shown before the place when a line is too long."""
_LONGEST_EDIT: Final = 60


def place_in_text(line: int, column: int) -> tuple[int, int]:
    """Return the place of a problem in a text that is the whole file."""
    return line, column


def explained(
    diagnostic: Diagnostic, text: str, *, name: str = "", place_of: PlaceOf = place_in_text
) -> Iterator[Line]:
    """Yield the lines that show one problem with `text`.

    `name` is the name of the file, `place_of` returns the place in it of a place in the text.
    """
    place = problem_place(diagnostic, name=name, place_of=place_of)
    colour = SEVERITY_COLOURS[diagnostic.severity]
    yield (
        Painted(f"{place}: " if place else "", "bold"),
        Painted(say("check", diagnostic.severity.value), colour),
        f" {one_line(titled(diagnostic))}",
    )
    if diagnostic.line:
        line, _ = place_of(diagnostic.line, diagnostic.column)
        yield from _excerpt(diagnostic, text, colour, line)
    if diagnostic.fix:
        yield ("    ", Painted("= ", "dim"), fix_in_words(diagnostic.fix, text))
    because = find_sentence("problem", f"{diagnostic.code}.why")
    if because:
        yield ("    ", Painted(f"= {because}", "dim"))
    if diagnostic.page:
        yield ("    ", Painted(f"= {diagnostic.page}", "dim"))


def print_problems(
    diagnostics: Iterable[Diagnostic],
    text: str,
    *,
    name: str = "",
    place_of: PlaceOf = place_in_text,
    indent: str = "",
) -> None:
    """Print problems with `text` to stdout, as `explained` describes them."""
    for diagnostic in diagnostics:
        for parts in explained(diagnostic, text, name=name, place_of=place_of):
            to_stdout(indent, *parts)


def problem_place(
    diagnostic: Diagnostic, *, name: str = "", place_of: PlaceOf = place_in_text
) -> str:
    """Return the place of a problem: `answer.json:3:12`, or `line 3, column 12` without a name."""
    if not diagnostic.line:
        return name
    line, column = place_of(diagnostic.line, diagnostic.column)
    if name:
        return f"{name}:{line}:{column}"
    return say("check", "place", line=line, column=column)


def fix_in_words(fix: Fix, text: str) -> str:
    """Describe a fix in one line, and how far it may be trusted."""
    words = _changes(fix, text)
    if fix.is_safe:
        return words
    return say("check", f"as {fix.applicability.value}", words=words)


def _changes(fix: Fix, text: str) -> str:
    if len(fix.edits) != 1:
        code = "fix several" if fix.is_safe else "fix places"
        return say("check", code, count=len(fix.edits))
    edit = fix.edits[0]
    old = one_line(text[edit.start : edit.end].strip(), _LONGEST_EDIT)
    new = one_line(edit.new.strip(), _LONGEST_EDIT)
    if old and new:
        return say("check", "fix replace", old=old, new=new)
    return say("check", "fix remove" if old else "fix insert", old=old, new=new)


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes: East Asian characters take two."""
    return sum(_width(letter) for letter in text)


def cut(text: str, longest: int) -> str:
    """Return `text` on one line, cut to a number of columns."""
    shown = one_line(text)
    if columns(shown) <= longest:
        return shown
    taken, used = 0, 0
    for letter in shown:
        used += _width(letter)
        if used > longest - 1:
            break
        taken += 1
    return shown[:taken] + "…"


def pad(text: str, width: int) -> str:
    """Fill a text with spaces up to a number of columns."""
    return text + " " * max(0, width - columns(text))


def _width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _excerpt(diagnostic: Diagnostic, text: str, colour: str, line: int) -> Iterator[Line]:
    """Yield the line of the text and a caret line below it."""
    whole = _line_of(text, diagnostic)
    column = diagnostic.column - 1
    first = max(0, column - _BEFORE) if len(whole) > _LONGEST_LINE else 0
    before = _printable(whole[first:column])
    after = whole[column : first + _LONGEST_LINE]
    marked = _marked(diagnostic, text, after)
    start = "…" if first else ""
    end = "…" if first + _LONGEST_LINE < len(whole) else ""
    number = str(line)
    yield (Painted(f"  {number} | ", "dim"), start + before + _printable(after) + end)
    gap = " " * columns(start + before)
    carets = "^" * max(1, columns(_printable(marked)))
    yield (Painted(f"  {' ' * len(number)} | ", "dim"), gap, Painted(carets, colour))


def _line_of(text: str, diagnostic: Diagnostic) -> str:
    """Return the line of a problem, without splitting a text of megabytes."""
    begin = text.rfind("\n", 0, diagnostic.start) + 1
    end = text.find("\n", diagnostic.start)
    return text[begin : end if end >= 0 else len(text)].removesuffix("\r")


def _marked(diagnostic: Diagnostic, text: str, after: str) -> str:
    """Return the problem's part of this line, which the carets mark."""
    length = text[diagnostic.start : diagnostic.end].find("\n")
    wanted = diagnostic.end - diagnostic.start if length < 0 else length
    return after[: max(1, wanted)]


def _printable(text: str) -> str:
    return visible(text.replace("\t", " "))
