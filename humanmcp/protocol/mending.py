"""A text with every fix applied: what a person may copy instead of correcting it piece by piece.

Knows problems and their fixes, and not what a text is checked against: the check comes in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.problems import Edit, Fix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from humanmcp.protocol.problems import Problem
    from humanmcp.protocol.verdict import Verdict

_ROUNDS: Final = 8  # a text that is no JSON hides its other mistakes: each round may show new ones
_LONGEST: Final = 20_000  # nobody reads more of it, and each round is a check of the whole text


def mended(text: str, judge: Callable[[str], Verdict]) -> str:
    """Return a refused text as it passes; "" where the fixes that there are do not get it there."""
    for _round in range(_ROUNDS):
        if len(text) > _LONGEST:
            break
        verdict = judge(text)
        if verdict.sendable:
            return verdict.text
        edits = together(verdict.errors)
        if not edits:
            break
        text = Fix(tuple(edits)).apply(verdict.text)
    return ""


def together(problems: Iterable[Problem]) -> list[Edit]:
    """Return the edits of all fixes that do not touch what an earlier one changes."""
    taken: list[Edit] = []
    for problem in problems:
        edits = problem.fix.edits if problem.fix is not None else ()
        if not any(_meet(new, old) for new in edits for old in taken):
            taken += edits
    return taken


def _meet(one: Edit, other: Edit) -> bool:
    """Say whether two edits change the same place."""
    return one.start < other.end and other.start < one.end
