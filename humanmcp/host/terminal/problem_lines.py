"""One line at a terminal for one problem: how bad, where, what to do, and where that stands."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from humanmcp import locales
from humanmcp.common.terminal import SEVERITY_COLOURS, Painted
from humanmcp.locales import UnknownSentenceError, fillings_of, say
from humanmcp.protocol.json.escaping import one_line

if TYPE_CHECKING:
    from humanmcp.protocol.diagnostics.model import Diagnostic


def problem_line(
    problem: Diagnostic, language: str, *, seen: bool = False
) -> tuple[str | Painted, ...]:
    """Return the parts of the line. `seen` is for one who did not write what is wrong."""
    place = problem.pointer
    if not place and problem.line:
        place = say("check", "place", language, line=problem.line, column=problem.column)
    said = one_line(sentence(problem, language, seen=seen))
    return (
        "  ",
        Painted(say("check", problem.severity.value, language), SEVERITY_COLOURS[problem.severity]),
        f" {problem.code}{f' {place}' if place else ''}: {said}",
        Painted(f"  {problem.page}" if problem.page else "", "dim"),
    )


_OF_THE_WRITER: Final = frozenset({"M10", "R15"})
"""Problems that say who wrote the wrong word: a client's own request is no word of the server."""


def problem_line_for_asker(problem: Diagnostic, language: str) -> tuple[str | Painted, ...]:
    """Return what is wrong with a client's own request, about what the server declared."""
    return problem_line(problem, language, seen=problem.code not in _OF_THE_WRITER)


def sentence(problem: Diagnostic, language: str, *, seen: bool = False) -> str:
    """Return a problem's sentence; its code where there is none.

    Most sentences hold for everybody. Those that say "you" to the one who writes a server's answer
    have another wording for the client that sees it.
    """
    if seen:
        with contextlib.suppress(UnknownSentenceError):
            return say(
                "problem", f"{problem.code}.seen", language, **fillings_of(problem, language)
            )
    return locales.problem_or_code(problem, language)
