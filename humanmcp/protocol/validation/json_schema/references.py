"""Analyse a JSON Schema: its references, the cost of a comparison, and its headers.

A schema comes from an unknown author: forty lines of `$ref` can mean a billion comparisons, and a
hundred thousand levels overflow the stack. So the cost is counted before a comparison, in steps of
about 15 nanoseconds, and too expensive comparisons are not made. This module only knows which
keywords contain schemas for the same value or for its parts.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.json.tree import at as value_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from humanmcp.protocol.diagnostics.problem import Path
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
"""The keywords that refer to another schema."""
DATA: Final = frozenset({"const", "enum", "default", "examples"})
"""The keywords whose values are data, not schemas."""
MOST_REFERENCES: Final = 2_000
"""The maximum number of references of one schema; with more, they count as broken."""
_ANCHORS: Final = ("$anchor", "$dynamicAnchor")
_AGAIN: Final = frozenset({"anyOf", "oneOf", "unevaluatedProperties", "unevaluatedItems"})
"""The keywords that evaluate a value more than once."""
_BREAKABLE: Final = frozenset({"pattern", "patternProperties", *REFERENCES})
_ANALYSED: Final = _AGAIN | {"$id", "pattern", "patternProperties", *_ANCHORS, *REFERENCES}


class Reference:
    """One reference: its place, its text, and the schema that it refers to, if any."""

    __slots__ = ("holder", "path", "remote", "targets", "text")

    def __init__(self, holder: JsonObject, path: Path, text: str) -> None:
        self.holder = holder
        self.path = path
        self.text = text
        self.targets: tuple[Json, ...] = ()
        self.remote = False

    @property
    def why(self) -> str:
        """The code of the sentence for a reference without a target."""
        return "remote reference" if self.remote else "broken reference"


class References:
    """All references and patterns of one schema, with their places."""

    def __init__(self, schema: Json) -> None:
        self._resources: dict[str, Json] = {"": schema}
        self._anchors: dict[str, dict[str, Json]] = {}
        self._by_holder: dict[int, list[Reference]] = {}
        self.patterns: list[tuple[Path, str]] = []
        self.simple = True
        """True if no value is evaluated twice: no reference, no pattern, no alternatives."""
        found: list[tuple[str, Reference]] = []
        for path, part, base, _names, _reachable in objects_in(schema):
            if _ANALYSED.isdisjoint(part):
                continue
            if path == () or part.get("$id") is not None:
                self._resources[base] = part
            for keyword in _ANCHORS:
                anchor = part.get(keyword)
                if isinstance(anchor, str):
                    self._anchors.setdefault(anchor, {})[base] = part
            for keyword in REFERENCES:
                text = part.get(keyword)
                if isinstance(text, str):
                    found.append((base, Reference(part, (*path, keyword), text)))
            self._patterns_of(part, path)
            self.simple = self.simple and _AGAIN.isdisjoint(part)
        self.simple = self.simple and not found and not self.patterns
        self.all: tuple[Reference, ...] = tuple(each for _base, each in found)
        for base, each in found[:MOST_REFERENCES]:
            self._resolve(base, each)
            self._by_holder.setdefault(id(each.holder), []).append(each)

    def _patterns_of(self, part: JsonObject, path: Path) -> None:
        pattern, named = part.get("pattern"), part.get("patternProperties")
        if isinstance(pattern, str):
            self.patterns.append(((*path, "pattern"), pattern))
        for name in named if isinstance(named, dict) else ():
            self.patterns.append(((*path, "patternProperties", name), name))

    def _resolve(self, base: str, reference: Reference) -> None:
        address, fragment = _split(base, reference.text)
        if address is None or address not in self._resources:
            reference.remote = True
            return
        if reference.path[-1] == "$dynamicRef" and fragment in self._anchors:
            # the target depends on the path of the evaluation: it can be any of them
            reference.targets = tuple(self._anchors[fragment].values())
        elif fragment and not fragment.startswith("/"):
            reference.targets = _one(self._anchors.get(fragment, {}).get(address))
        else:
            reference.targets = _one(value_at(self._resources[address], fragment))

    def of(self, holder: JsonObject) -> list[Json]:
        found = self._by_holder.get(id(holder), [])
        return [target for each in found for target in each.targets]

    @property
    def targets(self) -> list[Json]:
        return list({id(one): one for each in self.all for one in each.targets}.values())

    @property
    def broken(self) -> Reference | None:
        """The first reference without a target in the schema."""
        return next((each for each in self.all if not each.targets), None)


class Part(NamedTuple):
    """An object of a schema: a subschema, or with `names` an object whose members are subschemas.

    `base` is the address for its references. `reachable`: only `properties` lead to it.
    """

    path: Path
    value: Json
    base: str = ""
    names: bool = False
    reachable: bool = True


def objects_in(schema: Json) -> Iterator[Part]:
    """Yield the objects of a schema in their order, without data."""
    waiting: list[tuple[Path, Json, str, bool, bool]] = [((), schema, "", False, True)]
    while waiting:
        path, value, base, names, reachable = waiting.pop()
        inner: list[tuple[Path, Json, str, bool, bool]] = []
        if isinstance(value, dict):
            own = value.get("$id")
            if isinstance(own, str):
                base = _split(base, own)[0] or base
            yield Part(path, value, base, names, reachable)
            inner = [
                (
                    (*path, name),
                    item,
                    base,
                    not names and name in _NAMED,
                    reachable and (names or name == "properties"),
                )
                for name, item in value.items()
                if isinstance(item, (dict, list)) and (names or name not in DATA)
            ]
        elif isinstance(value, list):
            inner = [
                ((*path, at), item, base, False, False)
                for at, item in enumerate(value)
                if isinstance(item, (dict, list))
            ]
        waiting += reversed(inner)


def may_break(schema: Json) -> bool:
    """Return False for a schema without a reference or a pattern, at a fifth of an analysis."""
    waiting = [schema]
    for value in waiting:
        if isinstance(value, dict):
            if not _BREAKABLE.isdisjoint(value):
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False


def _split(base: str, text: str) -> tuple[str | None, str]:
    """Return the address of a reference, None without one, and its fragment."""
    from urllib.parse import unquote, urldefrag, urljoin  # noqa: PLC0415 - seldom needed

    if text.startswith("#"):
        return base, unquote(text[1:])
    try:
        address, fragment = urldefrag(urljoin(base, text))
        return address, unquote(fragment)
    except ValueError:  # "http://[" is not an address
        return None, ""


def _one(found: Json) -> tuple[Json, ...]:
    return (found,) if isinstance(found, (dict, bool)) else ()


# -- the cost of a comparison --------------------------------------------------------------------

MOST_STEPS: Final = 4_000_000
"""The maximum number of steps of a comparison, about 60 milliseconds."""
MOST_VALUES: Final = 100_000
"""The maximum number of values in a schema, or in the value that is compared."""
MOST_DEEP: Final = 100
"""The maximum depth of both: the library recurses on the native stack, whose overflow is fatal."""
MOST_NESTED: Final = 600
"""The maximum depth of a schema with all its references followed."""

_MOST_PAIRS: Final = 30_000
_MOST_INSIDE: Final = 300
_ANEW: Final = 3
"""The number of evaluations of a part of a value beside `unevaluatedItems`.

Measured: two, the second to find what was evaluated. Each nested one doubles it.
"""
_UNEVALUATED: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_PER_NODE: Final = 300
"""The steps to convert one value of a schema for the library."""
_PER_ERROR: Final = 500
"""The steps to keep one error. All errors inside `anyOf` and `oneOf` are kept."""
_PER_PATTERN: Final = 40
"""The steps to compile a pattern, per step that it may need for a character."""


class UncheckedError(Exception):
    """A comparison was not made. `why` is the code of the sentence, `value` fills it."""

    def __init__(self, why: str, value: Json = "") -> None:
        super().__init__(why, value)
        self.why = why
        self.value = value


def size(value: Json) -> int:
    """Count the values in a value.

    Raises:
        UncheckedError: there are too many, they nest too deeply, or a number is not valid in JSON.
    """
    return _extent(value)[0]


def _extent(value: Json) -> tuple[int, int]:
    """Count the values in a value and its levels, without recursion.

    Raises:
        UncheckedError: see `size`.
    """
    count, deep, level = 0, 0, [value]
    while level:
        count, deep = count + len(level), deep + 1
        if count > MOST_VALUES or deep > MOST_DEEP:
            raise UncheckedError("too large")
        below: list[Json] = []
        for item in level:
            if isinstance(item, (dict, list)):
                below.extend(item.values() if isinstance(item, dict) else item)
            elif type(item) is float and not math.isfinite(item):
                raise UncheckedError("no JSON")
        level = below
    return count, deep


def within_limits(schema: Json) -> bool:
    """Return True if a schema is small enough for an analysis."""
    try:
        size(schema)
    except UncheckedError:
        return False
    return True


class Work:
    """Counts the steps of one comparison. `weigh` returns the steps of a pattern per character."""

    def __init__(self, references: References, weigh: Callable[[str], int]) -> None:
        self._references = references
        self._weigh = weigh
        self._known: dict[tuple[int, int], tuple[int, int]] = {}
        self._open: set[tuple[int, int]] = set()
        self._kept = 0

    def of(self, schema: Json, value: Json) -> int:
        """Return an upper limit of the steps to compare a value with a schema.

        Raises:
            UncheckedError: it would take too long, or end the process.
        """
        nodes, values = size(schema), size(value)
        self._limit_depth(schema)
        steps = nodes * _PER_NODE + values * 5 + self._compiling()
        if self._references.simple and steps + nodes * values <= MOST_STEPS:
            return steps + nodes * values  # no schema evaluates a value twice: this is the maximum
        steps += self._pair(schema, value, 0)[0] + self._kept * _PER_ERROR
        if steps > MOST_STEPS:
            raise UncheckedError("too costly")
        return steps

    def _compiling(self) -> int:
        """Return the steps to compile all patterns, used or not."""
        steps = 0
        for pattern in dict.fromkeys(pattern for _path, pattern in self._references.patterns):
            steps += self._weigh(pattern) * _PER_PATTERN
            if steps > MOST_STEPS:
                raise UncheckedError("too costly")
        return steps

    def _limit_depth(self, schema: Json) -> None:
        """Refuse a schema that is too deep with every reference followed."""
        nested = _extent(schema)[1]
        for target in self._references.targets:
            nested += _extent(target)[1]
            if nested > MOST_NESTED:
                raise UncheckedError("too large")

    def _pair(self, schema: Json, value: Json, inside: int) -> tuple[int, int]:
        """Return the steps and errors of one schema at one value, with all its parts."""
        if not isinstance(schema, dict):
            return 1, 1
        key = (id(schema), id(value))
        if key in self._known:
            return self._known[key]
        # A schema that refers to itself at the same value would never end.
        if key in self._open or inside > _MOST_INSIDE or len(self._known) > _MOST_PAIRS:
            raise UncheckedError("too costly")
        self._open.add(key)
        errors, forms = len(schema), 0
        steps = errors + self._letters(schema, value)
        for name, part, met in self._met(schema, value):
            more_steps, more_errors = self._pair(part, met, inside + 1)
            steps += more_steps
            errors += more_errors
            forms += more_errors if name in _FORMS else 0
            if steps > MOST_STEPS:
                raise UncheckedError("too costly")
        self._kept = max(self._kept, forms)
        if not _UNEVALUATED.isdisjoint(schema):
            steps, errors = steps * _ANEW, errors * _ANEW
        self._open.discard(key)
        self._known[key] = steps, errors
        return steps, errors

    def _letters(self, schema: JsonObject, value: Json) -> int:
        """Return the cost of the characters that the patterns of one schema read."""
        names = value if isinstance(value, dict) else ()
        own, named = schema.get("pattern"), schema.get("patternProperties")
        letters = len(value) if isinstance(value, str) else 0
        steps = self._weigh(own) * (letters + 1) if isinstance(own, str) else 0
        for pattern in named if isinstance(named, dict) else ():
            steps += self._weigh(pattern) * sum(len(name) + 1 for name in names)
        return steps

    def _met(self, schema: JsonObject, value: Json) -> Iterator[tuple[str, Json, Json]]:
        """Yield each subschema with its keyword and each value that it may be compared with."""
        for target in self._references.of(schema):
            yield "$ref", target, value
        for name, item in schema.items():
            if name == "properties" and isinstance(item, dict) and isinstance(value, dict):
                for each in item.keys() & value.keys():
                    yield name, item[each], value[each]
                continue
            for part in _parts(name, item):
                for one in _below(name, value):
                    yield name, part, one


def _parts(name: str, item: Json) -> Iterable[Json]:
    """Return the schemas of a keyword: one, a list or an object of them."""
    if isinstance(item, dict) and name in _NAMED:
        return item.values()
    return item if isinstance(item, list) else (item,)


def _below(name: str, value: Json) -> Iterable[Json]:
    """Return the values that the schemas of a keyword may be compared with."""
    if name in _HERE:
        return (value,)
    if name == "propertyNames":
        return value if isinstance(value, dict) else ()
    if name not in _INSIDE:
        return ()
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


_NAMED: Final = frozenset(
    {
        *("properties", "patternProperties", "dependentSchemas", "dependencies"),
        *("$defs", "definitions"),
    }
)
"""The keywords whose members are names, each with a schema."""
_FORMS: Final = frozenset({"anyOf", "oneOf"})
_HERE: Final = _FORMS | {"allOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
"""The keywords whose schemas apply to the same value."""
_INSIDE: Final = _UNEVALUATED | {
    *("additionalProperties", "patternProperties", "items", "additionalItems"),
    *("prefixItems", "contains"),
}
"""The keywords whose schemas apply to the parts of the value, possibly to all."""


# -- which arguments of a tool are mirrored into HTTP headers ------------------------------------
#
# The `x-mcp-header` of its schema:
# https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header

HEADER: Final = "x-mcp-header"
_NAME: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TYPES: Final = ("string", "integer", "boolean")


def misplaced_header(schema: JsonObject) -> tuple[Path, Json] | None:
    """Return the first annotation that makes a tool invalid, with its place; None if all are valid.

    "An `x-mcp-header` annotation anywhere else makes the annotation — and thus the tool definition
    — invalid."
    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#schema-extension
    """
    seen: set[str] = set()
    for at, part, reachable in _marked(schema) if within_limits(schema) else ():
        name = part[HEADER]
        fits = isinstance(name, str) and re.fullmatch(_NAME, name) and name.lower() not in seen
        if not fits or not reachable or part.get("type") not in _TYPES:
            return (*at, HEADER), name
        seen.add(name.lower())
    return None


def mirrored_headers(schema: JsonObject) -> tuple[tuple[tuple[str, ...], str, str], ...]:
    """Return the mirrored arguments: path, name of the header, type.

    () for an invalid schema: "the client MUST exclude the invalid tool".
    """
    if misplaced_header(schema) is not None:
        return ()
    marked = _marked(schema) if within_limits(schema) else ()
    return tuple(
        (tuple(str(step) for step in at[1::2]), part[HEADER], part["type"])
        for at, part, _reachable in marked
    )


def _marked(schema: JsonObject) -> Iterator[tuple[Path, JsonObject, bool]]:
    """Yield the subschemas with a header: path, subschema, True if only properties lead there."""
    for part in objects_in(schema):
        if HEADER in part.value and not part.names:
            yield part.path, part.value, part.reachable and bool(part.path)
