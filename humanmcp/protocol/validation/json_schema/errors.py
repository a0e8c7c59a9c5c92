"""Why a value does not keep to a JSON Schema: the rule it breaks, and what fills the sentence.

Knows the keywords of JSON Schema and what the library tells of an error; nothing of languages. The
sentence of a rule stands in `locales/`, room `schema_rule`; where there is no rule of ours, the
library's own words (`why`) are all there is.
"""

# ruff: noqa: ANN401 - the library is imported where it is needed, and so are its types
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from humanmcp.protocol.diagnostics.raw import LONGEST_QUOTE, quoted, shown
from humanmcp.protocol.json.tree import follow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from humanmcp.protocol.json.jsonrpc import Json

Fillings: TypeAlias = "Mapping[str, str] | None"

RULE: Final = "rule"
"""The filling that names the rule."""

_UNCERTAIN: Final = frozenset({"BacktrackLimitExceeded", "RegexEngineFailure", "Referencing"})


def unchecked(rule: str, value: Json = "") -> tuple[tuple[str, str], ...]:
    """Return what fills the sentence on why there was no comparison."""
    return ((RULE, rule), ("why", rule), ("value", quoted(value)))


def uncertain(error: Any) -> bool:
    """Return True if an error means that the library gave up, there or in a form that it tried."""
    if type(error.kind).__name__ in _UNCERTAIN:
        return True
    forms = getattr(error.kind, "context", None) or ()
    inner = getattr(error.kind, "error", None)
    return any(uncertain(each) for form in forms for each in form) or (
        hasattr(inner, "kind") and uncertain(inner)
    )


def detail_of(error: Any, schema: Json) -> tuple[tuple[str, str], ...]:
    """Return what fills the sentence on one error of the library, which broke `schema`."""
    keyword = error.kind.name
    if keyword == "propertyNames":
        return detail_of(error.kind.error, schema)
    detail = {"why": f"{shown(error.message).removesuffix('.')}.", "value": quoted(error.instance)}
    rule = _RULES.get(keyword, keyword)
    if error.schema_path[-1:] and error.schema_path[-1] in _OTHERWISE:
        rule = _OTHERWISE[error.schema_path[-1]]
    try:
        fillings = _TELLERS[rule](error, schema)
    except (KeyError, TypeError, AttributeError, IndexError):  # not ours, or meant otherwise
        fillings = None
    if fillings is not None:
        detail |= {RULE: rule, **fillings}
    return tuple(detail.items())


_RULES: Final[Mapping[str, str]] = {
    "falseSchema": "false",
    "unevaluatedProperties": "additionalProperties",
}
"""What the library calls otherwise than the sentences do."""

_OTHERWISE: Final[Mapping[str, str]] = {
    "dependentRequired": "dependentRequired",
    "dependencies": "dependentRequired",
    "minContains": "",
    "maxContains": "",
}
"""Keywords whose errors the library gives the name of another; "" where no sentence of ours is."""


def _plain(_error: Any, _schema: Json) -> Fillings:
    return {}


def _limit(error: Any, _schema: Json) -> Fillings:
    return {"limit": quoted(error.kind.value)}


def _count(error: Any, _schema: Json) -> Fillings:
    return {"limit": quoted(error.kind.value), "count": str(len(error.instance))}


def _text(error: Any, _schema: Json) -> Fillings:
    return {"limit": shown(error.kind.value)}


def _type(error: Any, schema: Json) -> Fillings:
    typed = _broken(error, schema)  # in the order in which they stand there
    return {"limit": ", ".join(typed if isinstance(typed, list) else error.kind.types)}


def _choices(error: Any, _schema: Json) -> Fillings:
    first = error.kind.options[:LONGEST_QUOTE]  # no sentence has room for more of them
    return {"limit": shown(", ".join(quoted(each) for each in first))}


def _missing(error: Any, schema: Json) -> Fillings:
    needed = _broken(error, schema)
    if not isinstance(needed, list):
        return _named([error.kind.property])
    return _named(name for name in needed if name not in error.instance)


def _extra(error: Any, _schema: Json) -> Fillings:
    return _named(error.kind.unexpected)


def _depends(error: Any, schema: Json) -> Fillings:
    for name, needed in _broken(error, schema).items():
        missing = [each for each in needed if each not in error.instance]
        if name in error.instance and missing:
            return {"key": shown(name), **(_named(missing) or {})}
    return None


def _one_of(error: Any, _schema: Json) -> Fillings:
    several = type(error.kind).__name__.endswith("MultipleValid")
    return {RULE: "oneOf several"} if several else {}


def _named(names: Iterable[str]) -> Fillings:
    return {"names": shown(", ".join(names))}


def _broken(error: Any, schema: Json) -> Any:
    """Return the value of the keyword that was broken, None where it is not found."""
    return follow(schema, *error.schema_path)


_LIMITS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS: Final = tuple(
    f"{least}{what}" for least in ("min", "max") for what in ("Length", "Items", "Properties")
)
_TELLERS: Final[Mapping[str, Callable[[Any, Json], Fillings]]] = {
    "type": _type,
    "required": _missing,
    "enum": _choices,
    **dict.fromkeys(("const", *_LIMITS), _limit),
    "additionalProperties": _extra,
    **dict.fromkeys(_COUNTS, _count),
    **dict.fromkeys(("pattern", "format"), _text),
    **dict.fromkeys(("uniqueItems", "contains", "anyOf", "not", "false"), _plain),
    "dependentRequired": _depends,
    "oneOf": _one_of,
}
