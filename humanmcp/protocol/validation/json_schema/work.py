"""How much work a comparison with a JSON Schema would be, told before it begins.

A schema comes from a stranger and may ask for anything: forty lines of `$ref` can stand for a
billion comparisons, and a hundred thousand levels of a list end the process that follows them. So
the work is counted first, in steps of about 15 nanoseconds, and what is too much is not begun.
Knows which keywords of JSON Schema lead to other schemas at the same value or in it, no more.
The way from a reference to what it names stands in `errors.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from humanmcp.protocol.json.jsonrpc import Json, JsonObject
    from humanmcp.protocol.validation.json_schema.errors import References

MOST_STEPS: Final = 4_000_000
"""Steps of a comparison: some 60 milliseconds."""
MOST_VALUES: Final = 100_000
"""Values in a schema, or in what is held against one."""
MOST_DEEP: Final = 100
"""Levels of either: the library recurses on the machine's stack, where no error can be caught."""
MOST_NESTED: Final = 600
"""Levels of a schema and of all that its references name, one below the other."""

_MOST_PAIRS: Final = 30_000
_MOST_INSIDE: Final = 300
_ANEW: Final = 3
"""How often what may evaluate a part of a value is held against it beside `unevaluatedItems`.

Measured is twice, the second time to find what was evaluated; one in another doubles that again.
"""
_UNEVALUATED: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_PER_NODE: Final = 300
"""Steps to make the library's own form of one value of a schema."""
_PER_ERROR: Final = 500
"""Steps to keep one error. Those inside `anyOf` and `oneOf` are all kept."""
_PER_PATTERN: Final = 40
"""Steps to compile a pattern, for each step that it may then take at a character."""


class UncheckedError(Exception):
    """A comparison that is not made. `why` names the sentence that says so, `value` fills it."""

    def __init__(self, why: str, value: Json = "") -> None:
        super().__init__(why, value)
        self.why = why
        self.value = value


def size(value: Json) -> int:
    """Count the values in a value.

    Raises:
        UncheckedError: there are too many, they nest too deep, or one is no number of JSON.
    """
    count = 0
    for deep, level in enumerate(_levels(value), 1):
        count += len(level)
        if count > MOST_VALUES or deep > MOST_DEEP:
            raise UncheckedError("too large")
        if any(type(item) is float and not math.isfinite(item) for item in level):
            raise UncheckedError("no JSON")
    return count


def _levels(value: Json) -> Iterator[list[Json]]:
    """Yield the values of each level of a value, without recursion: it may have any number."""
    level = [value]
    while level:
        yield level
        below: list[Json] = []
        for item in level:
            if isinstance(item, (dict, list)):
                below.extend(item.values() if isinstance(item, dict) else item)
        level = below


def _deep(value: Json) -> int:
    return sum(1 for _level in _levels(value))


class Work:
    """Counts the steps of one comparison. `weigh` gives the steps of a pattern for a character."""

    def __init__(self, references: References, weigh: Callable[[str], int]) -> None:
        self._references = references
        self._weigh = weigh
        self._known: dict[tuple[int, int], tuple[int, int]] = {}
        self._open: set[tuple[int, int]] = set()
        self._kept = 0

    def of(self, schema: Json, value: Json) -> int:
        """Return the steps of holding a value against a schema, or more than these.

        Raises:
            UncheckedError: it would take too long, or end the process.
        """
        nodes, values = size(schema), size(value)
        self._limit_depth(schema)
        steps = nodes * _PER_NODE + values * 5 + self._compiling()
        if self._references.simple and steps + nodes * values <= MOST_STEPS:
            return steps + nodes * values  # no schema meets a value twice: there is no more
        steps += self._pair(schema, value, 0)[0] + self._kept * _PER_ERROR
        if steps > MOST_STEPS:
            raise UncheckedError("too costly")
        return steps

    def _compiling(self) -> int:
        """Count the steps until every pattern is ready, met or not."""
        steps = 0
        for pattern in dict.fromkeys(pattern for _path, pattern in self._references.patterns):
            steps += self._weigh(pattern) * _PER_PATTERN
            if steps > MOST_STEPS:
                raise UncheckedError("too costly")
        return steps

    def _limit_depth(self, schema: Json) -> None:
        """Refuse what would nest too deep with every reference followed into the next."""
        nested = _deep(schema)
        for target in self._references.targets:
            nested += _deep(target)
            if nested > MOST_NESTED:
                raise UncheckedError("too large")

    def _pair(self, schema: Json, value: Json, inside: int) -> tuple[int, int]:
        """Count the steps of one schema at one value, and its errors, with all that follows."""
        if not isinstance(schema, dict):
            return 1, 1
        key = (id(schema), id(value))
        if key in self._known:
            return self._known[key]
        # A schema that asks for itself at the same value never comes to an end.
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
        """Count the characters that the patterns of one schema look at, at the price of each."""
        names = value if isinstance(value, dict) else ()
        own, named = schema.get("pattern"), schema.get("patternProperties")
        letters = len(value) if isinstance(value, str) else 0
        steps = self._weigh(own) * (letters + 1) if isinstance(own, str) else 0
        for pattern in named if isinstance(named, dict) else ():
            steps += self._weigh(pattern) * sum(len(name) + 1 for name in names)
        return steps

    def _met(self, schema: JsonObject, value: Json) -> Iterator[tuple[str, Json, Json]]:
        """Yield each part of a schema with its keyword and each value it may be held against."""
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
    """Return the schemas under a keyword: one, a list or an object of them."""
    if isinstance(item, dict) and name in _NAMED:
        return item.values()
    return item if isinstance(item, list) else (item,)


def _below(name: str, value: Json) -> Iterable[Json]:
    """Return the values that what stands under a keyword may be held against."""
    if name in _HERE:
        return (value,)
    if name == "propertyNames":
        return value if isinstance(value, dict) else ()
    if name not in _INSIDE:
        return ()
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


_NAMED: Final = frozenset({"patternProperties", "dependentSchemas", "dependencies"})
_FORMS: Final = frozenset({"anyOf", "oneOf"})
_HERE: Final = _FORMS | {"allOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
"""Keywords whose schemas look at the same value."""
_INSIDE: Final = _UNEVALUATED | {
    *("additionalProperties", "patternProperties", "items", "additionalItems"),
    *("prefixItems", "contains"),
}
"""Keywords whose schemas look at what is in the value, each perhaps at everything there."""
