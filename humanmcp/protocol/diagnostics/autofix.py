"""Fix all: apply every fix that a person need not review.

The page, `check --fix` and the suggestion in `problems.txt` use it. It removes nothing that a
person typed, invents no answer and applies no guess: such fixes are offered one at a time. It knows
problems and their fixes only; the check is an argument.
"""

from __future__ import annotations

import json
import re
import unicodedata
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from humanmcp.protocol.diagnostics.model import Applicability, applied, together
from humanmcp.protocol.diagnostics.problem import HOLE, PLACEHOLDER, FixKind
from humanmcp.protocol.json.jsonrpc import TOKEN
from humanmcp.protocol.json.spelling import alike, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from humanmcp.protocol.diagnostics.model import Diagnostic, Verdict
    from humanmcp.protocol.diagnostics.problem import FixAction, Path, RawDiagnostic

    Judge: TypeAlias = Callable[[str], Verdict]

_ROUNDS: Final = 8  # a syntax error hides other problems: each round may show new ones
_LONGEST: Final = 20_000  # longer suggestions are not useful in problems.txt


class Autofix(NamedTuple):
    """A text after every safe fix, and the verdict of the check on it."""

    text: str
    verdict: Verdict

    @property
    def left(self) -> tuple[Diagnostic, ...]:
        """Return the problems that have a fix which a person has to choose."""
        return tuple(one for one in self.verdict.diagnostics if one.fix and not one.fix.is_safe)


def autofix(text: str, judge: Judge) -> Autofix:
    """Apply every safe fix, in rounds, until none is left."""
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

    While a text is not JSON, its content is guessed: then only its syntax is fixed, and the next
    round checks the message.
    """
    malformed = any(one.blocks and one.code.startswith("J") for one in verdict.diagnostics)
    for one in verdict.diagnostics:
        if one.fix is not None and one.fix.is_safe and (one.code.startswith("J") or not malformed):
            yield one


class Suggestion(NamedTuple):
    """A refused text after the fixes that make it pass, and the lowest grade among them."""

    text: str = ""
    applicability: Applicability = Applicability.SAFE


NO_SUGGESTION: Final = Suggestion()
"""No fixes make the text pass."""


def fully_fixed(text: str, judge: Judge) -> str:
    """Return a refused text after its safe fixes; "" if it still does not pass."""
    if len(text) > _LONGEST:
        return ""
    fixed = autofix(text, judge)
    return fixed.text if fixed.verdict.sendable else ""


def suggestion(text: str, judge: Judge) -> Suggestion:
    """Return how a refused text would pass: with the safe fixes, or with one more fix.

    Empty if it does not pass then, and for a text that is too long to check again.
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
"""The members of the envelope, which humanmcp writes if a person omits them."""
_HOLDS_MORE: Final = re.compile(r'[\[{]|\\"')
"""An id or a version that is an object, or that contains other members after a missing quote."""
_FILLERS: Final = frozenset({"jsonrpc", "id", "resultType", "ttlMs", "cacheScope", "type"})
"""Members without content of the answer: a fix may add them."""
_SCAFFOLD: Final = frozenset(
    {
        *("jsonrpc", "2.0", "id", "result", "error", "method", "params"),
        *("content", "type", "text", "contents", "messages", "role", "user", "assistant", "model"),
        *("tools", "resources", "resourcetemplates", "prompts", "name"),
        *("resulttype", "complete", "ttlms", "0", "cachescope", "private", "public"),
        *("code", "-32603", "message"),  # the code for an error that is only a text
    }
)
"""The names of the structure around an answer, as `_leaves` spells them."""
_RESPELT: Final = frozenset({"M10", "R15"})
"""Problems of a name that is known to be missing: one wrong letter is not a guess there."""
_TRUTHS: Final = {"yes": "true", "on": "true", "no": "false", "off": "false"}
"""Words that mean true or false: replacing them is not a guess."""


def trust(diagnostic: RawDiagnostic, fix: FixAction, old: str, new: str) -> Applicability:
    """Grade a fix that replaces the JSON text `old` with `new`."""
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
    """Return True for members of the envelope, and for true or false written as a word."""
    enveloped = fix.path in _ENVELOPE and not _HOLDS_MORE.search(old)
    return enveloped or _TRUTHS.get(_spelt(old.strip('"'))) == new


def _renaming(diagnostic: RawDiagnostic, old: str, new: str) -> Applicability:
    # `meta` and `_meta` are two names: the underscore makes it a name of the protocol
    same = plain(old) == plain(new) and old.startswith("_") == new.startswith("_")
    slip = diagnostic.code in _RESPELT and alike(old, (new,)) is not None
    return Applicability.SAFE if same or slip else Applicability.GUESS


def _made_up(new: str) -> Applicability:
    return Applicability.PLACEHOLDER if PLACEHOLDER in new else Applicability.GUESS


def _replacing(old: str, new: str, path: Path) -> Applicability:
    """Grade by the texts and numbers: which ones disappear, and which ones were not typed."""
    before, after = set(_leaves(old)), set(_leaves(new))
    steps = {_spelt(step) for step in path if isinstance(step, str)}
    if before - after - _SCAFFOLD - {"null"}:
        return Applicability.REMOVES if before > after else _made_up(new)
    if after - before - _SCAFFOLD - steps:
        return _made_up(new)
    return Applicability.SAFE


def _leaves(text: str) -> Iterator[str]:
    """Yield the names, texts and numbers of a JSON text, normalised in case and spaces."""
    found = (one for one in TOKEN.finditer(text) if one.lastgroup in ("string", "word"))
    for token in {one[0] for one in found}:
        word = token
        if token.startswith('"'):
            with suppress(ValueError):  # what is in a text may be no JSON
                word = json.loads(token, strict=False)
        if word.startswith(("{", "[")):
            yield from _leaves(word)  # JSON in a string: its words were typed
        else:
            yield _spelt(word)


def _spelt(word: str) -> str:
    return "".join(unicodedata.normalize("NFKC", word).casefold().split())
