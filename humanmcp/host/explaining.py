"""One line at a terminal for one problem: how bad, where, what to do, and where that stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp import locales
from humanmcp.locales import UnknownSentenceError, say
from humanmcp.protocol.problems import Level
from humanmcp.protocol.visible import one_line
from humanmcp.terminal import Painted

if TYPE_CHECKING:
    from humanmcp.protocol.problems import Problem

_COLOUR: Final = {
    Level.ERROR: "red",
    Level.WARNING: "yellow",
    Level.HINT: "cyan",
    Level.REPAIRED: "green",
}


def told(problem: Problem, language: str) -> tuple[str | Painted, ...]:
    """Return the parts of the line."""
    place = problem.pointer
    if not place and problem.line:
        place = say("check", "place", language, line=problem.line, column=problem.column)
    return (
        "  ",
        Painted(say("check", problem.level.value, language), _COLOUR[problem.level]),
        f" {problem.code}{f' {place}' if place else ''}: {one_line(sentence(problem, language))}",
        Painted(f"  {problem.page}" if problem.page else "", "dim"),
    )


def sentence(problem: Problem, language: str) -> str:
    """Return a problem's sentence; its code where there is none."""
    try:
        return locales.problem(problem, language)
    except UnknownSentenceError:
        return problem.code
