# ruff: noqa: ANN401 - the library is imported where it is needed, and so are its types
"""JSON Schemas: whether one is valid, and whether a value keeps to one.

The one place that does so, for the arguments and results of tools, the forms of an elicitation and
the drafts that start from one. The schemas come from strangers, so nothing here takes long, fetches
anything or raises: the work is counted before it begins (`references.py`), regular expressions run
in linear time, and those that cannot (a look-around, a reference back) with bounded backtracking.
What is not compared is said to be unchecked. `jsonschema_rs` is imported only when it is needed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.locate import LONGEST_QUOTE, quoted, shown
from humanmcp.protocol.json.tree import follow, leaves
from humanmcp.protocol.validation.json_schema.references import (
    References,
    UncheckedError,
    Work,
    size,
    within_limits,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from humanmcp.protocol.diagnostics.kinds import ProblemKind
    from humanmcp.protocol.diagnostics.locate import Path, RawDiagnostic
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject

    Detail: TypeAlias = tuple[tuple[str, str], ...]

Result = TypeVar("Result")

FEW_STEPS: Final = 20_000
"""Steps up to which every difference is looked for, and not the first one alone."""
MOST_DIFFERENCES: Final = 20
MOST_BACKTRACKS: Final = 10_000
"""Steps of a pattern that has to go back, for one place of a text."""

_PROGRAMS: Final = (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20)
"""Sizes of a compiled pattern in bytes. The larger one is, the longer each character may take."""
_BYTES_PER_STEP: Final = 100
_BACKTRACKING: Final = MOST_BACKTRACKS // 4
LONGEST_PATTERN: Final = 10_000
"""Characters of a pattern that is still tried."""

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
"""What a schema is written in that says nothing: MCP says so since 2025-11-25."""
_DIALECTS: Final = {
    "draft/2020-12": ("Draft202012Validator", DIALECT),
    "draft/2019-09": ("Draft201909Validator", "https://json-schema.org/draft/2019-09/schema"),
    "draft-07": ("Draft7Validator", "http://json-schema.org/draft-07/schema#"),
    "draft-06": ("Draft6Validator", "http://json-schema.org/draft-06/schema#"),
    "draft-04": ("Draft4Validator", "http://json-schema.org/draft-04/schema#"),
}
"""The dialects that can be read, each with the library's class and its full name."""


class SchemaDifference(NamedTuple):
    """One way in which a value does not keep to a schema: where, and what fills the sentence."""

    path: Path
    detail: Detail


class Comparison(NamedTuple):
    """What a comparison found. `unchecked` says why there was none, where there was none."""

    differences: tuple[SchemaDifference, ...] = ()
    unchecked: Detail = ()


def trouble_in(schema: JsonObject) -> RawDiagnostic | None:
    """Return what is wrong with a schema, by its place in it; None for nothing.

    It is no valid JSON Schema, in the dialect that `$schema` names, else in 2020-12 as MCP says. Or
    clients cannot use it: an unknown dialect, or a reference that leads to nothing in it.
    "Implementations MUST NOT automatically dereference" those that lead out of it.
    https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage
    What is too large to be looked through is taken at its word.
    """
    dialect, stated = _dialect_of(schema), _stated(schema)
    if dialect is None and isinstance(stated, str):
        return kinds.unusable_schema(("$schema",), broken=unchecked("unknown dialect", stated))
    if not within_limits(schema):
        return None
    named = {**schema, "$schema": dialect[1]} if dialect else schema
    error = _quietly(lambda: _meta_error(named))
    if error is not None:
        return kinds.invalid_json_schema(tuple(error.instance_path), broken=detail_of(error, {}))
    references = References(schema)
    for path, pattern in references.patterns:
        found = compare(pattern, _REGEX).differences if len(pattern) <= LONGEST_PATTERN else ()
        if found:
            return kinds.invalid_json_schema(path, broken=found[0].detail)
    broken = references.broken
    if broken is None:
        return None
    return kinds.unusable_schema(broken.path, broken=unchecked(broken.why, broken.text))


_REGEX: Final = {"format": "regex"}


def compare(value: Json, schema: Json) -> Comparison:
    """Hold a value against a schema. Never raises, and never takes longer than a tenth of a second.

    Of a large value the first difference is told, of others up to `MOST_DIFFERENCES`.
    """
    if not isinstance(schema, (dict, bool)):
        return Comparison()
    try:
        return Comparison(_compared(value, schema))
    except UncheckedError as error:
        return Comparison(unchecked=unchecked(error.why, error.value))


def _compared(value: Json, schema: Json) -> tuple[SchemaDifference, ...]:
    """Compare within all limits.

    Raises:
        UncheckedError: one of them is in the way.
    """
    size(value)
    dialect = _dialect_of(schema)
    if dialect is None:
        raise UncheckedError("unknown dialect", _stated(schema))
    references = _references(schema)
    steps = Work(references, _weight).of(schema, value)
    errors = _quietly(lambda: _errors(dialect[0], schema, value, steps))
    if errors is None:
        raise UncheckedError("failed")
    if any(uncertain(each) for each in errors):
        raise UncheckedError("too costly")
    return _differences(errors, schema)


def _references(schema: Json) -> References:
    """Follow the references of a schema.

    Raises:
        UncheckedError: it is too large, or one leads to nothing in it.
    """
    size(schema)
    references = References(schema)
    broken = references.broken
    if broken is not None:
        raise UncheckedError(broken.why, broken.text)
    return references


def mismatch(value: Json, schema: Json) -> tuple[Path, Detail] | None:
    """Return where and why a value does not keep to a schema, or None when nothing is certain."""
    differences = compare(value, schema).differences
    return (differences[0].path, differences[0].detail) if differences else None


def first_found(kind: ProblemKind, value: Json, schema: Json, path: Path) -> list[RawDiagnostic]:
    """Report the first difference as of this kind, or as a hint that there was no comparison."""
    differences, missed = compare(value, schema)
    if differences:
        inside, detail = differences[0]
        return [kind((*path, *inside), broken=detail)]
    return unchecked_at(path, missed)


def unchecked_at(path: Path, missed: Detail) -> list[RawDiagnostic]:
    """Report as a hint that something was not held against its schema, where it was not."""
    return [kinds.schema_not_checked(path, broken=missed)] if missed else []


def is_large(value: Json) -> bool:
    """Return True if a value is too large to be shown or repeated."""
    return any(at == MOST_SHOWN for at, _leaf in enumerate(leaves(value)))


MOST_SHOWN: Final = 2_000
"""Values in a value that is still repeated as text."""


# -- the library -------------------------------------------------------------------------------


def _quietly(do: Callable[[], Result]) -> Result | None:
    """Return what the library says, None where it fails.

    A stranger's schema may trip it in any way; where its own code panics it raises what is no
    `Exception`.
    """
    try:
        return do()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - see above
        return None


def _dialect_of(schema: Json) -> tuple[str, str] | None:
    stated = _stated(schema)
    if not isinstance(stated, str):
        return None
    found = re.fullmatch(r"(?:https?://)?json-schema\.org/(.+)/schema#?", stated)
    return _DIALECTS.get(found[1]) if found else None


def _stated(schema: Json) -> Json:
    return schema.get("$schema", DIALECT) if isinstance(schema, dict) else DIALECT


def _meta_error(schema: JsonObject) -> Any:
    import jsonschema_rs  # noqa: PLC0415 - seldom needed, and not small

    nothing = jsonschema_rs.Registry([], retriever=_refuse)
    try:
        jsonschema_rs.meta.validate(schema, registry=nothing)
    except jsonschema_rs.ValidationError as error:
        return error
    return None


def _refuse(address: str) -> Json:
    """Fetch nothing, whatever a schema asks for."""
    raise ValueError(address)


def _errors(dialect: str, schema: Json, value: Json, steps: int) -> list[Any]:
    import jsonschema_rs  # noqa: PLC0415 - seldom needed, and not small

    validator = getattr(jsonschema_rs, dialect)(
        schema, validate_formats=True, offline=True, pattern_options=_pattern_options()
    )
    if steps <= FEW_STEPS:
        return list(validator.iter_errors(value))
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return [error]
    return []


def _differences(errors: list[Any], schema: Json) -> tuple[SchemaDifference, ...]:
    """Return what is told: of several members that one object lacks the first names them all."""
    found: dict[tuple[Path, str], SchemaDifference] = {}
    for error in errors:
        path = tuple(error.instance_path)
        key = (path, "/".join(map(str, error.schema_path)))
        if key not in found:
            found[key] = SchemaDifference(path, detail_of(error, schema))
    return tuple(found.values())[:MOST_DIFFERENCES]


# -- patterns ------------------------------------------------------------------------------------


def _weight(pattern: str) -> int:
    """Return the steps that a pattern may take for a character.

    Raises:
        UncheckedError: it is too large, or no pattern.
    """
    weight = _weigh(pattern)
    if not weight:
        raise UncheckedError("odd pattern")
    return weight


@lru_cache(maxsize=1024)
def _weigh(pattern: str) -> int:
    """Compile a pattern within ever larger limits: its size is what a character may cost.

    0 for one that does not compile.
    """
    import jsonschema_rs as library  # noqa: PLC0415 - seldom needed, and not small

    def compiles(options: Any) -> bool:
        schema = {"pattern": pattern}
        make = library.Draft202012Validator
        return _quietly(lambda: make(schema, pattern_options=options, offline=True)) is not None

    if len(pattern) > LONGEST_PATTERN:
        return 0
    for limit in _PROGRAMS:
        if compiles(library.RegexOptions(limit, limit)):
            return limit // _BYTES_PER_STEP
    return _BACKTRACKING if compiles(_pattern_options()) else 0


def _pattern_options() -> Any:
    """Return the limits of the engine, which goes back only where a pattern asks for that."""
    import jsonschema_rs as library  # noqa: PLC0415 - the same

    return library.FancyRegexOptions(MOST_BACKTRACKS, _PROGRAMS[-1], _PROGRAMS[-1])


# -- why a value does not keep to a schema -------------------------------------------------------

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
_COUNTED: Final = tuple(
    f"{least}{what}" for least in ("min", "max") for what in ("Length", "Items", "Properties")
)
_TELLERS: Final[Mapping[str, Callable[[Any, Json], Fillings]]] = {
    "type": _type,
    "required": _missing,
    "enum": _choices,
    **dict.fromkeys(("const", *_LIMITS), _limit),
    "additionalProperties": _extra,
    **dict.fromkeys(_COUNTED, _count),
    **dict.fromkeys(("pattern", "format"), _text),
    **dict.fromkeys(("uniqueItems", "contains", "anyOf", "not", "false"), _plain),
    "dependentRequired": _depends,
    "oneOf": _one_of,
}
