"""Fix all: a text with every fix applied that needs no look.

The one way to apply fixes in bulk, for the page, for `check --fix` and for the suggestion in
`problems.txt`. It takes nothing out that a person typed, makes up no answer and follows no guess:
such fixes are offered one at a time. Knows problems and their fixes, and not what a text is checked
against: the check comes in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from humanmcp.protocol.diagnostics.model import Applicability, applied, together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.diagnostics.verdict import Verdict

    Judge: TypeAlias = Callable[[str], Verdict]

__all__ = ["NO_SUGGESTION", "Autofix", "Suggestion", "autofix", "mended", "suggestion", "together"]

_ROUNDS: Final = 8  # a text that is no JSON hides its other mistakes: each round may show new ones
_LONGEST: Final = 20_000  # nobody reads more of it in problems.txt


class Autofix(NamedTuple):
    """A text after every safe fix, and what the check says of it."""

    text: str
    verdict: Verdict

    @property
    def left(self) -> tuple[Diagnostic, ...]:
        """Return the problems that have a fix which a person has to choose."""
        return tuple(one for one in self.verdict.diagnostics if one.fix and not one.fix.is_safe)


def autofix(text: str, judge: Judge) -> Autofix:
    """Apply every safe fix, in rounds, until there is none left."""
    verdict = judge(text)
    seen = {verdict.text}
    for _round in range(_ROUNDS):
        edits = together(_safe(verdict))
        fixed = applied(verdict.text, edits)
        if not edits or fixed in seen:
            break
        seen.add(fixed)
        verdict = judge(fixed)
    return Autofix(verdict.text, verdict)


def _safe(verdict: Verdict) -> Iterator[Diagnostic]:
    """Yield the problems whose fixes may be applied now.

    While a text is no JSON, what it says is read through guesses: then only its spelling as JSON
    is mended, and what it lacks as a message is looked at in the next round.
    """
    broken = any(one.blocks and one.code.startswith("J") for one in verdict.diagnostics)
    for one in verdict.diagnostics:
        if one.fix is not None and one.fix.is_safe and (one.code.startswith("J") or not broken):
            yield one


class Suggestion(NamedTuple):
    """A refused text as it passes; the grade says what it took to get it there."""

    text: str = ""
    applicability: Applicability = Applicability.SAFE


NO_SUGGESTION: Final = Suggestion()
"""There is no way that can be said."""


def mended(text: str, judge: Judge) -> str:
    """Return a refused text as it passes; "" where the safe fixes do not get it there."""
    if len(text) > _LONGEST:
        return ""
    fixed = autofix(text, judge)
    return fixed.text if fixed.verdict.sendable else ""


def suggestion(text: str, judge: Judge) -> Suggestion:
    """Return how a refused text would pass: by itself, or after one more fix, which is named.

    Empty where that does not get it there, and for a text that is too long to be read again.
    """
    whole = mended(text, judge)
    if whole or len(text) > _LONGEST:
        return Suggestion(whole)
    fixed = autofix(text, judge)
    doubtful = [one.fix for one in fixed.left if one.blocks and one.fix]
    if len(doubtful) != 1:
        return NO_SUGGESTION
    rest = mended(doubtful[0].apply(fixed.text), judge)
    return Suggestion(rest, doubtful[0].applicability) if rest else NO_SUGGESTION
