"""How far a mend of a message may be trusted: whether it keeps what was typed, and adds nothing.

Compares what a mend takes away with what it puts there, and knows nothing of what is wrong: a new
rule of the check need not grade its own mend.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics.model import Applicability
from humanmcp.protocol.diagnostics.raw import HOLE, PLACEHOLDER, FixKind
from humanmcp.protocol.json.similar import alike, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.diagnostics.raw import FixAction, Path, RawDiagnostic

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
_LEAF: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s\[\]{},:"]+', re.DOTALL)


def trust(diagnostic: RawDiagnostic, fix: FixAction, old: str, new: str) -> Applicability:
    """Grade a mend that puts the JSON text `new` in the place of `old`."""
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
    for token in set(_LEAF.findall(text)):
        word = json.loads(token, strict=False) if token.startswith('"') else token
        if word.startswith(("{", "[")):
            yield from _leaves(word)  # JSON in a text: its words are what was typed
        else:
            yield _spelt(word)


def _spelt(word: str) -> str:
    return "".join(unicodedata.normalize("NFKC", word).casefold().split())
