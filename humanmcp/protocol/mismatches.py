"""Why a value does not keep to a JSON Schema: the rule it breaks, and what fills the sentence.

Knows the keywords of JSON Schema and what the library tells of an error; nothing of languages. The
sentence of a rule stands in `locales/`, room `schema_rule`; where there is no rule of ours, the
library's own words (`why`) are all there is.
"""

# ruff: noqa: ANN401 - the library's errors have no public type
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from humanmcp.protocol.findings import quoted, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Fillings: TypeAlias = "Mapping[str, str] | None"

RULE: Final = "rule"
"""The filling that names the rule."""


def detail_of(error: Any) -> tuple[tuple[str, str], ...]:
    """Return what fills the sentence on one error of the library."""
    told = {"why": f"{shown(error.message).removesuffix('.')}.", "value": quoted(error.instance)}
    keyword = "false" if error.validator is None else error.validator
    try:
        fillings = _TELLERS[keyword](error)
    except (KeyError, TypeError, AttributeError):  # not ours, or another dialect means it otherwise
        fillings = None
    if fillings is not None:
        told |= {RULE: keyword, **fillings}
    return tuple(told.items())


def _plain(_error: Any) -> Fillings:
    return {}


def _limit(error: Any) -> Fillings:
    return {"limit": quoted(error.validator_value)}


def _count(error: Any) -> Fillings:
    return {"limit": quoted(error.validator_value), "count": str(len(error.instance))}


def _text(error: Any) -> Fillings:
    return {"limit": shown(error.validator_value)}


def _type(error: Any) -> Fillings:
    types = error.validator_value
    return {"limit": types if isinstance(types, str) else ", ".join(types)}


def _choices(error: Any) -> Fillings:
    return {"limit": shown(", ".join(quoted(each) for each in error.validator_value))}


def _missing(error: Any) -> Fillings:
    return _named(name for name in error.validator_value if name not in error.instance)


def _extra(error: Any) -> Fillings:
    if "patternProperties" in error.schema:
        return None  # which of the names are extra, only the library has found out
    return _named(name for name in error.instance if name not in error.schema.get("properties", {}))


def _depends(error: Any) -> Fillings:
    for name, needed in error.validator_value.items():
        missing = [each for each in needed if each not in error.instance]
        if name in error.instance and missing:
            return {"key": shown(name), **(_named(missing) or {})}
    return None


def _one_of(error: Any) -> Fillings:
    return {} if error.context else {RULE: "oneOf several"}


def _named(names: Iterable[str]) -> Fillings:
    return {"names": shown(", ".join(names))}


_TELLERS: Final[Mapping[str, Callable[[Any], Fillings]]] = {
    "type": _type,
    "required": _missing,
    "enum": _choices,
    "const": _limit,
    "additionalProperties": _extra,
    "minimum": _limit,
    "maximum": _limit,
    "exclusiveMinimum": _limit,
    "exclusiveMaximum": _limit,
    "multipleOf": _limit,
    "minLength": _count,
    "maxLength": _count,
    "pattern": _text,
    "format": _text,
    "minItems": _count,
    "maxItems": _count,
    "uniqueItems": _plain,
    "contains": _plain,
    "minProperties": _count,
    "maxProperties": _count,
    "dependentRequired": _depends,
    "anyOf": _plain,
    "oneOf": _one_of,
    "not": _plain,
    "false": _plain,
}
