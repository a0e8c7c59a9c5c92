# ruff: noqa: ANN401 - the library is imported where it is needed, and so are its types
"""Check JSON Schemas, and compare values with them.

It serves the arguments and results of tools, the forms of an elicitation and their drafts. Schemas
come from unknown authors, so nothing here takes long, fetches anything or raises: the cost is
counted before (`references.py`), regular expressions run in linear time, and those that cannot
(look-around, back-reference) with bounded backtracking. What was not compared is reported as
unchecked. `jsonschema_rs` is imported only when it is needed.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import LONGEST_QUOTE, quoted, shown
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.validation.json_schema.references import (
    References,
    UncheckedError,
    Work,
    may_break,
    size,
    within_limits,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from humanmcp.protocol.diagnostics.problem import Path, ProblemKind, RawDiagnostic
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject

    Detail: TypeAlias = tuple[tuple[str, str], ...]

Result = TypeVar("Result")

FEW_STEPS: Final = 20_000
"""The maximum number of steps to search for all differences instead of only the first."""
MOST_DIFFERENCES: Final = 20
MOST_BACKTRACKS: Final = 10_000
"""The maximum number of backtracking steps of a pattern, per place of a text."""

_PROGRAMS: Final = (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 3 << 19)
"""The sizes of a compiled pattern in bytes. A larger one may take longer per character.

The last one admits `^.{1,999}$`: 1.4 MB with jsonschema-rs 0.61.0, 1.1 MB with 0.60.3.
"""
_BYTES_PER_STEP: Final = 150
"""At most 6 ns per 100 bytes and character were measured with 0.61.0; a step may take 15 ns."""
_BACKTRACKING: Final = MOST_BACKTRACKS // 4
LONGEST_PATTERN: Final = 10_000
"""The maximum length of a pattern, in characters."""

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
"""The dialect of a schema without `$schema`: MCP says so since 2025-11-25."""
_DIALECTS: Final = {
    "draft/2020-12": ("Draft202012Validator", DIALECT),
    "draft/2019-09": ("Draft201909Validator", "https://json-schema.org/draft/2019-09/schema"),
    "draft-07": ("Draft7Validator", "http://json-schema.org/draft-07/schema#"),
    "draft-06": ("Draft6Validator", "http://json-schema.org/draft-06/schema#"),
    "draft-04": ("Draft4Validator", "http://json-schema.org/draft-04/schema#"),
}
"""The supported dialects, each with the library's class and its full name."""


class SchemaDifference(NamedTuple):
    """One difference of a value from a schema: its place, and the fillings of the sentence."""

    path: Path
    detail: Detail


class Comparison(NamedTuple):
    """The differences of a comparison, or in `unchecked` the reason why there was none."""

    differences: tuple[SchemaDifference, ...] = ()
    unchecked: Detail = ()


def trouble_in(schema: JsonObject) -> RawDiagnostic | None:
    """Return the problem of a schema with its place; None if there is none.

    The schema is not valid in the dialect of `$schema`, by default 2020-12 as MCP says, or clients
    cannot use it: an unknown dialect, or a reference without a target. "Implementations MUST NOT
    automatically dereference" references to other documents.
    https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage Too large
    schemas are not checked.
    """
    dialect, stated = _dialect_of(schema), _stated(schema)
    if dialect is None and isinstance(stated, str):
        return kinds.unusable_schema(("$schema",), broken=unchecked("unknown dialect", stated))
    if not within_limits(schema):
        return None
    named = {**schema, "$schema": dialect[1]} if dialect else schema
    try:
        error = _quietly(lambda: _meta_error(named))
    except UncheckedError as missing:
        return kinds.schema_not_checked((), broken=unchecked(missing.why))
    if error is not None:
        return kinds.invalid_json_schema(tuple(error.instance_path), broken=detail_of(error, {}))
    return _broken_in(schema) if may_break(schema) else None


def _broken_in(schema: JsonObject) -> RawDiagnostic | None:
    """Return the problem of the first pattern or reference that leads nowhere."""
    references = References(schema)
    for path, pattern in references.patterns:
        found = compare(pattern, _REGEX).differences if len(pattern) <= LONGEST_PATTERN else ()
        if found:
            return kinds.invalid_json_schema(path, broken=found[0].detail)
    broken = references.broken
    why = unchecked(broken.why, broken.text) if broken else ()
    return kinds.unusable_schema(broken.path, broken=why) if broken else None


_REGEX: Final = {"format": "regex"}


def compare(value: Json, schema: Json) -> Comparison:
    """Compare a value with a schema. It never raises and takes at most a tenth of a second.

    For a large value it returns the first difference, else up to `MOST_DIFFERENCES`.
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
        UncheckedError: a limit is exceeded.
    """
    size(value)
    dialect = _dialect_of(schema)
    if dialect is None:
        raise UncheckedError("unknown dialect", _stated(schema))
    references = _references(schema)
    steps = Work(references, _weight).of(schema, value)
    errors = _quietly(lambda: _errors(dialect[0], schema, value, steps))
    if errors is None:
        named = {**schema, "$schema": dialect[1]} if isinstance(schema, dict) else {}
        is_invalid = _quietly(lambda: _meta_error(named)) is not None
        raise UncheckedError("invalid schema" if is_invalid else "failed")
    if any(type(each.kind).__name__ in _UNCERTAIN for each in errors):
        raise UncheckedError("too costly")
    return _differences(errors, value, schema)


def _references(schema: Json) -> References:
    """Resolve the references of a schema.

    Raises:
        UncheckedError: it is too large, or a reference has no target.
    """
    size(schema)
    references = References(schema)
    broken = references.broken
    if broken is not None:
        raise UncheckedError(broken.why, broken.text)
    return references


def mismatch(value: Json, schema: Json) -> tuple[Path, Detail] | None:
    """Return the place and the reason of a difference, or None if none is certain."""
    differences = compare(value, schema).differences
    return (differences[0].path, differences[0].detail) if differences else None


def first_found(kind: ProblemKind, value: Json, schema: Json, path: Path) -> list[RawDiagnostic]:
    """Report the first difference as this kind, or as a hint if there was no comparison."""
    differences, missed = compare(value, schema)
    if differences:
        inside, detail = differences[0]
        return [kind((*path, *inside), broken=detail)]
    return unchecked_at(path, missed)


def unchecked_at(path: Path, missed: Detail) -> list[RawDiagnostic]:
    """Report as a hint that a value was not compared with its schema."""
    return [kinds.schema_not_checked(path, broken=missed)] if missed else []


def is_large(value: Json) -> bool:
    """Return True if a value is too large to show or repeat."""
    values, leaves = [value], 0
    while values and leaves <= MOST_SHOWN:
        one = values.pop()
        if isinstance(one, (dict, list)):
            values += one.values() if isinstance(one, dict) else one
        else:
            leaves += 1
    return leaves > MOST_SHOWN


MOST_SHOWN: Final = 2_000
"""The maximum number of values in a value that is repeated as text."""


# -- the library -------------------------------------------------------------------------------


def _library() -> Any:
    """Return the library.

    Raises:
        UncheckedError: it cannot be loaded here, so nothing can be said of any schema.
    """
    try:
        import jsonschema_rs  # noqa: PLC0415 - seldom needed, and not small
    except ImportError as error:
        raise UncheckedError("no library") from error
    return jsonschema_rs


def is_here() -> bool:
    """Return True if values can be compared with schemas at all: a browser has no such library."""
    try:
        _library()
    except UncheckedError:
        return False
    return True


def _quietly(do: Callable[[], Result]) -> Result | None:
    """Return the library's result, None if it fails.

    A schema may make it fail in any way; a panic in its native code is not an `Exception`.
    """
    try:
        return do()
    except (KeyboardInterrupt, SystemExit, UncheckedError):
        raise
    except BaseException:  # noqa: BLE001 - see above
        return None


def _dialect_of(schema: Json) -> tuple[str, str] | None:
    stated = _stated(schema)
    if stated == DIALECT:
        return _DIALECTS["draft/2020-12"]
    if not isinstance(stated, str):
        return None
    found = re.fullmatch(r"(?:https?://)?json-schema\.org/(.+)/schema#?", stated)
    return _DIALECTS.get(found[1]) if found else None


def _stated(schema: Json) -> Json:
    return schema.get("$schema", DIALECT) if isinstance(schema, dict) else DIALECT


def _meta_error(schema: JsonObject) -> Any:
    jsonschema_rs = _library()
    try:
        jsonschema_rs.meta.validate(schema, registry=_nothing())
    except jsonschema_rs.ValidationError as error:
        return error
    return None


@cache
def _nothing() -> Any:
    """Return a registry without documents, which fetches none."""
    return _library().Registry([], retriever=_refuse)


def _refuse(address: str) -> Json:
    """Refuse to fetch a schema."""
    raise ValueError(address)


def _errors(dialect: str, schema: Json, value: Json, steps: int) -> list[Any]:
    jsonschema_rs = _library()
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


def _differences(errors: list[Any], value: Json, schema: Json) -> tuple[SchemaDifference, ...]:
    """Return the differences to report.

    Several missing members of one object become one. Members that may not be there become one,
    too, at the first of them.
    """
    found: dict[tuple[Path, str], SchemaDifference] = {}
    for error in errors:
        path = tuple(error.instance_path)
        key = (path, "/".join(map(str, error.schema_path)))
        if key not in found:
            names = _forbidden(error, follow(value, *path))
            detail = detail_of(error, schema, names)
            found[key] = SchemaDifference((*path, *names[:1]), detail)
    return tuple(found.values())[:MOST_DIFFERENCES]


def _forbidden(error: Any, place: Json) -> list[str]:
    """Return the members of the object at an error's place that may not be there."""
    kind = error.kind
    if kind.name == "propertyNames":
        return [kind.error.instance] if isinstance(kind.error.instance, str) else []
    if not isinstance(place, dict):
        return []
    if kind.name == "falseSchema":
        above, keyword = ([None, None, *error.schema_path])[-2:]
        is_name = above in _BY_NAME and above not in error.instance_path[-1:]
        return list(place) if keyword == "additionalProperties" and not is_name else []
    return list(getattr(kind, "unexpected", ()))


_BY_NAME: Final = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)
"""The keywords that hold schemas by names, of which one may be a keyword."""


# -- patterns ------------------------------------------------------------------------------------


def _weight(pattern: str) -> int:
    """Return the steps of a pattern per character.

    Raises:
        UncheckedError: it is too large, or not a pattern.
    """
    weight = _weigh(pattern)
    if not weight:
        raise UncheckedError("odd pattern")
    return weight


@lru_cache(maxsize=1024)
def _weigh(pattern: str) -> int:
    """Compile a pattern within increasing limits: its size limits the cost per character.

    0 if it does not compile.
    """
    library = _library()

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
    """Return the limits of the engine, which only backtracks if a pattern needs it."""
    return _library().FancyRegexOptions(MOST_BACKTRACKS, _PROGRAMS[-1], _PROGRAMS[-1])


# -- the reasons of a difference -----------------------------------------------------------------

Fillings: TypeAlias = "Mapping[str, str] | None"

RULE: Final = "rule"
"""The filling with the name of the rule."""

_UNCERTAIN: Final = frozenset({"BacktrackLimitExceeded", "RegexEngineFailure", "Referencing"})
"""The errors by which the library gives up; one of an alternative is that of the whole."""


def unchecked(rule: str, value: Json = "") -> tuple[tuple[str, str], ...]:
    """Return the fillings of the sentence on why there was no comparison."""
    return ((RULE, rule), ("why", rule), ("value", quoted(value)))


def detail_of(
    error: Any, schema: Json, forbidden: Sequence[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Return the fillings of the sentence on one error of the library about `schema`.

    `forbidden` are the members that may not be there.
    """
    keyword = error.kind.name
    if keyword == "propertyNames":
        return detail_of(error.kind.error, schema)
    detail = {"why": f"{shown(error.message).removesuffix('.')}.", "value": quoted(error.instance)}
    if forbidden:
        return (*detail.items(), (RULE, "additionalProperties"), *_named(forbidden).items())
    rule = "false" if keyword == "falseSchema" else keyword
    if error.schema_path[-1:] and error.schema_path[-1] in _OTHERWISE:
        rule = _OTHERWISE[error.schema_path[-1]]
    try:
        fillings = _TELLERS[rule](error, schema)
    except (
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
    ):  # not one of ours, or of another structure
        fillings = None
    if fillings is not None:
        detail |= {RULE: rule, **fillings}
    return tuple(detail.items())


_OTHERWISE: Final[Mapping[str, str]] = {
    "dependentRequired": "dependentRequired",
    "dependencies": "dependentRequired",
    "minContains": "",
    "maxContains": "",
}
"""Keywords whose errors the library reports under another name; "" if we have no sentence."""


def _type(error: Any, schema: Json) -> Fillings:
    typed = _broken(error, schema)  # in the order of the schema
    return {"limit": ", ".join(typed if isinstance(typed, list) else error.kind.types)}


def _choices(error: Any, _schema: Json) -> Fillings:
    first = error.kind.options[:LONGEST_QUOTE]  # a sentence cannot list more
    return {"limit": shown(", ".join(quoted(each) for each in first))}


def _missing(error: Any, schema: Json) -> Fillings:
    needed = _broken(error, schema)
    if not isinstance(needed, list):
        return _named([error.kind.property])
    return _named(name for name in needed if name not in error.instance)


def _depends(error: Any, schema: Json) -> Fillings:
    for name, needed in _broken(error, schema).items():
        missing = [each for each in needed if each not in error.instance]
        if name in error.instance and missing:
            return {"key": shown(name), **_named(missing)}
    return None


def _one_of(error: Any, _schema: Json) -> Fillings:
    several = type(error.kind).__name__.endswith("MultipleValid")
    return {RULE: "oneOf several"} if several else {}


def _named(names: Iterable[str]) -> dict[str, str]:
    return {"names": shown(", ".join(names))}


def _broken(error: Any, schema: Json) -> Any:
    """Return the value of the violated keyword, None if it is not found."""
    return follow(schema, *error.schema_path)


_LIMITS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTED: Final = tuple(
    f"{least}{what}" for least in ("min", "max") for what in ("Length", "Items", "Properties")
)
_TELLERS: Final[Mapping[str, Callable[[Any, Json], Fillings]]] = {
    "type": _type,
    "required": _missing,
    "enum": _choices,
    **dict.fromkeys(("const", *_LIMITS), lambda error, _: {"limit": quoted(error.kind.value)}),
    **dict.fromkeys(
        _COUNTED,
        lambda error, _: {"limit": quoted(error.kind.value), "count": str(len(error.instance))},
    ),
    **dict.fromkeys(("pattern", "format"), lambda error, _: {"limit": shown(error.kind.value)}),
    **dict.fromkeys(("uniqueItems", "contains", "anyOf", "not", "false"), lambda *_: {}),
    "dependentRequired": _depends,
    "oneOf": _one_of,
}
