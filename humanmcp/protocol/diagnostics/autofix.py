"""Fix all: a text with every fix applied that needs no look.

The one way to apply fixes in bulk, for the page, for `check --fix` and for the suggestion in
`problems.txt`. It takes nothing out that a person typed, makes up no answer and follows no guess:
such fixes are offered one at a time. Knows problems and their fixes, and not what a text is checked
against: the check comes in.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from humanmcp.protocol.diagnostics.locate import HOLE, PLACEHOLDER, FixKind
from humanmcp.protocol.diagnostics.model import Applicability, applied, together
from humanmcp.protocol.json.jsonrpc import TOKEN
from humanmcp.protocol.json.tree import alike, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from humanmcp.protocol.diagnostics.locate import FixAction, Path, RawDiagnostic
    from humanmcp.protocol.diagnostics.model import Diagnostic, Verdict

    Judge: TypeAlias = Callable[[str], Verdict]

__all__ = [
    "NO_SUGGESTION",
    "Autofix",
    "Suggestion",
    "autofix",
    "fully_fixed",
    "suggestion",
    "together",
]

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
    is fixed, and what it lacks as a message is looked at in the next round.
    """
    malformed = any(one.blocks and one.code.startswith("J") for one in verdict.diagnostics)
    for one in verdict.diagnostics:
        if one.fix is not None and one.fix.is_safe and (one.code.startswith("J") or not malformed):
            yield one


class Suggestion(NamedTuple):
    """A refused text as it passes; the grade says what it took to get it there."""

    text: str = ""
    applicability: Applicability = Applicability.SAFE


NO_SUGGESTION: Final = Suggestion()
"""There is no way that can be said."""


def fully_fixed(text: str, judge: Judge) -> str:
    """Return a refused text as it passes; "" where the safe fixes do not get it there."""
    if len(text) > _LONGEST:
        return ""
    fixed = autofix(text, judge)
    return fixed.text if fixed.verdict.sendable else ""


def suggestion(text: str, judge: Judge) -> Suggestion:
    """Return how a refused text would pass: by itself, or after one more fix, which is named.

    Empty where that does not get it there, and for a text that is too long to be read again.
    """
    whole = fully_fixed(text, judge)
    if whole or len(text) > _LONGEST:
        return Suggestion(whole)
    fixed = autofix(text, judge)
    doubtful = [one.fix for one in fixed.left if one.blocks and one.fix]
    if len(doubtful) != 1:
        return NO_SUGGESTION
    rest = fully_fixed(doubtful[0].apply(fixed.text), judge)
    return Suggestion(rest, doubtful[0].applicability) if rest else NO_SUGGESTION


_ENVELOPE: Final = frozenset({("jsonrpc",), ("id",)})
"""What belongs to the envelope, which humanmcp writes where a person leaves it out."""
_HOLDS_MORE: Final = re.compile(r'[\[{]|\\"')
"""An id or a version that is an object, or that swallowed other members after a lost quote."""
_FILLERS: Final = frozenset({"jsonrpc", "id", "resultType", "ttlMs", "cacheScope", "type"})
"""Members that carry no answer: they may be added without anybody having typed them."""
_SCAFFOLD: Final = frozenset(
    {
        *("jsonrpc", "2.0", "id", "result", "error", "method", "params"),
        *("content", "type", "text", "contents", "messages", "role", "user", "assistant", "model"),
        *("tools", "resources", "resourcetemplates", "prompts", "name"),
        *("resulttype", "complete", "ttlms", "0", "cachescope", "private", "public"),
        *("code", "-32603", "message"),  # an error that is only words is an internal one
    }
)
"""The words of the structure around an answer, as `_leaves` spells them."""
_RESPELT: Final = frozenset({"M10", "R15"})
"""Problems that know the name to be missing: one slip of the fingers is no guess there."""
_TRUTHS: Final = {"yes": "true", "on": "true", "no": "false", "off": "false"}
"""Words that say the same as JSON's two: where one of those is wanted, they are no guess."""


def trust(diagnostic: RawDiagnostic, fix: FixAction, old: str, new: str) -> Applicability:
    """Grade a fix that puts the JSON text `new` in the place of `old`."""
    match fix.does:
        case FixKind.DELETE:
            return Applicability.REMOVES
        case FixKind.RENAME:
            return _renaming(diagnostic, json.loads(old), json.loads(fix.new))
        case FixKind.INSERT:
            return Applicability.SAFE if fix.path[-1] in _FILLERS else _made_up(new)
        case _ if _is_meant(fix, old, new):
            return Applicability.SAFE
        case FixKind.WRAP:
            return _replacing("", fix.new.replace(HOLE, " "), fix.path)
        case _:
            return _replacing(old, new, fix.path)


def _is_meant(fix: FixAction, old: str, new: str) -> bool:
    """Return True for what the envelope wants, and for a truth that is written as a word."""
    enveloped = fix.path in _ENVELOPE and not _HOLDS_MORE.search(old)
    return enveloped or _TRUTHS.get(_spelt(old.strip('"'))) == new


def _renaming(diagnostic: RawDiagnostic, old: str, new: str) -> Applicability:
    # `meta` and `_meta` are two names: the underscore makes it a name of the protocol's own
    same = plain(old) == plain(new) and old.startswith("_") == new.startswith("_")
    slip = diagnostic.code in _RESPELT and alike(old, (new,)) is not None
    return Applicability.SAFE if same or slip else Applicability.GUESS


def _made_up(new: str) -> Applicability:
    return Applicability.PLACEHOLDER if PLACEHOLDER in new else Applicability.GUESS


def _replacing(old: str, new: str, path: Path) -> Applicability:
    """Grade by the texts and numbers: which are gone, and which were not typed."""
    before, after = set(_leaves(old)), set(_leaves(new))
    steps = {_spelt(step) for step in path if isinstance(step, str)}
    if before - after - _SCAFFOLD - {"null"}:
        return Applicability.REMOVES if before > after else _made_up(new)
    if after - before - _SCAFFOLD - steps:
        return _made_up(new)
    return Applicability.SAFE


def _leaves(text: str) -> Iterator[str]:
    """Yield the names, texts and numbers of a JSON text, without regard to case and spaces."""
    found = (one for one in TOKEN.finditer(text) if one.lastgroup in ("string", "word"))
    for token in {one[0] for one in found}:
        word = json.loads(token, strict=False) if token.startswith('"') else token
        if word.startswith(("{", "[")):
            yield from _leaves(word)  # JSON in a text: its words are what was typed
        else:
            yield _spelt(word)


def _spelt(word: str) -> str:
    return "".join(unicodedata.normalize("NFKC", word).casefold().split())
