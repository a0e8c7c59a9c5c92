"""Descriptions that ask a model to act behind the back of its user.

A host gives the descriptions of tools, prompts and resources to its model, and many do not show
them to people. The patterns look for an order to be silent, never for a bare word: "do not tell the
user to restart" is advice, and "never delete a file without asking the user" is the opposite.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import shown
from humanmcp.protocol.json.tree import leaves
from humanmcp.protocol.tables import methods
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.diagnostics.problem import RawDiagnostic
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer

_NOT: Final = r"\b(?:do not|don['\u2019]t|never|must not|should not|without)\s+(?:ever\s+)?"
_SAYING: Final = r"(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|warn(?:ing)?)"
_NAMING: Final = r"(?:mention(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|admit(?:ting)?)"
_USER: Final = r"(?:the\s+|any\s+)?(?:users?|humans?|person|people|operator|owner|customer)"
_PRIVATE: Final = (
    r"(?:~/\.(?:ssh|aws|cursor|kube|gnupg|netrc|claude)(?!/[\w.-]{0,40}\.pub\b)"
    r"|id_(?:rsa|ed25519)(?!\.pub\b)|mcp\.json|/etc/(?:passwd|shadow)|credentials\.json|\.env\b)"
)
_SILENT: Final = (
    # An order, if no negation and no condition comes before it.
    (
        rf"(?<!not )(?<!never ){_NOT}{_SAYING}\s+{_USER}\b"
        r"(?!\s+(?:to|they|it|its|when|which|who|how)\b)"
        r"(?!\s+about\s+(?!(?:this|these|that|it|any|the|your|what you)\b))"
    ),
    rf"{_NOT}{_NAMING}\s+(?:this|these|that you|it|any of this|the (?:above|file|instructions?))\b",
    rf"\b(?:hide|conceal|keep)\b[^.!?\n]{{0,60}}\b(?:from|secret to)\s+{_USER}\b",
    (
        rf"\b(?:so that|make sure(?: that)?|ensure(?: that)?)\s+{_USER}\s+(?:does|do|will|is|are)"
        r"(?:\s+not|n['\u2019]t)\s+(?:notice|know|see|find out|aware)"
    ),
    r"\b(?:secretly|covertly|quietly)\s+(?:read|send|call|copy|upload|include|forward|add|pass|run)",
    # A private file that is to be handed on.
    (
        rf"\b(?:read|open|cat|load|get)\b[^!?\n]{{0,80}}{_PRIVATE}[^!?]{{0,120}}"
        r"\b(?:pass|send|include|append|provide|put|as)\b"
    ),
    (
        r"\b(?:ignore|disregard|forget)\s+(?:all\s+|any\s+)?(?:of\s+)?(?:the\s+|your\s+)?"
        r"(?:previous|prior|above|earlier|system)\s+(?:instructions|prompts?|rules)"
    ),
    # Letters that no screen shows: they spell ASCII for models.
    "[\U000e0020-\U000e007e]{4,}",
)
_PERMISSION: Final = re.compile(
    r"(?i)\b(?:not|never|don['\u2019]t|avoid|unless|refuse to|instead of)\b[^.!?\n]{0,80}$"
)
_LONGEST: Final = 20_000
"""The characters of one description that are looked at."""
_READ_BY_MODELS: Final = frozenset({"description", "instructions", "title"})


@cache
def _silent() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in _SILENT), re.IGNORECASE)


def secret_order(text: str) -> str:
    """Return the words of a description that ask a model to act in secret, "" for none."""
    for found in _silent().finditer(text[:_LONGEST]):
        words = found[0]
        before = text[max(0, found.start() - 120) : found.start()]
        if words.lower().startswith("without") and _PERMISSION.search(before):
            continue
        return words
    return ""


@rule("initialize", "server/discover", *(one.name for one in methods.LISTS))
def orders_to_be_silent(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Report the first such order in each tool, prompt or resource."""
    told: set[object] = set()
    for path, leaf in leaves(answer.value, answer.at(), _READ_BY_MODELS):
        words = secret_order(leaf) if isinstance(leaf, str) else ""
        if words and path[:3] not in told:
            told.add(path[:3])
            yield kinds.order_to_be_silent(path, words=shown(words))
