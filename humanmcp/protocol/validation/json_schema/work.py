"""How much work a comparison with a JSON Schema would be, told before it begins.

A schema comes from a stranger and may ask for anything: forty lines of `$ref` can stand for a
billion comparisons, and a hundred thousand levels of a list end the process that follows them. So
the work is counted first, in steps of about 15 nanoseconds, and what is too much is not begun.
Knows the keywords of JSON Schema that lead to other schemas, and not what they mean for a value.
The way from a reference to what it names stands in `references.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.validation.json_schema.references import REFERENCES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from humanmcp.protocol.json.jsonrpc import Json, JsonObject
    from humanmcp.protocol.validation.json_schema.references import References

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
_LOOKED_THROUGH: Final = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contains"}
    | {"dependentSchemas", *REFERENCES, *_UNEVALUATED}
)
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
        self._known: dict[tuple[int, int], int] = {}
        self._open: set[tuple[int, int]] = set()
        self._kept = 0

    def of(self, schema: Json, value: Json) -> int:
        """Return the steps of holding a value against a schema.

        Raises:
            UncheckedError: it would take too long, or end the process.
        """
        nodes, values = size(schema), size(value)
        self._limit_depth(schema)
        steps = nodes * _PER_NODE + values * 5 + self._compiling()
        if self._references.simple and steps + nodes * values <= MOST_STEPS:
            return steps + nodes * values  # no schema meets a value twice: there is no more
        steps += self._pair(schema, value, 0) + self._kept * _PER_ERROR
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

    def _pair(self, schema: Json, value: Json, inside: int) -> int:
        """Count one schema at one value, with all that follows."""
        if not isinstance(schema, dict):
            return 1
        key = (id(schema), id(value))
        known = self._known.get(key)
        if known is not None:
            return known
        # A schema that asks for itself at the same value never comes to an end.
        if key in self._open or inside > _MOST_INSIDE or len(self._known) > _MOST_PAIRS:
            raise UncheckedError("too costly")
        self._open.add(key)
        steps = len(schema)
        anew = () if _UNEVALUATED.isdisjoint(schema) else _LOOKED_THROUGH
        for name, item in schema.items():
            count = _COUNTED.get(name)
            if count is not None:
                times = _ANEW if name in anew else 1
                steps += times * count(self, schema, item, value, inside + 1)
            if steps > MOST_STEPS:
                raise UncheckedError("too costly")
        self._open.discard(key)
        self._known[key] = steps
        return steps

    # -- keywords --------------------------------------------------------------------------------

    def here(self, _schema: JsonObject, item: Json, value: Json, inside: int) -> int:
        """One schema, a list or an object of them, at the same value."""
        return sum(self._pair(each, value, inside) for each in _schemas(item))

    def named(self, _schema: JsonObject, item: Json, value: Json, inside: int) -> int:
        """Schemas by name at the same value: only under `dependencies` is one a list of names."""
        parts = item.values() if isinstance(item, dict) else ()
        return sum(
            len(each) if isinstance(each, list) else self._pair(each, value, inside)
            for each in parts
        )

    def forms(self, schema: JsonObject, item: Json, value: Json, inside: int) -> int:
        """Forms of which one must fit: what is wrong with each is kept where none does."""
        steps = self.here(schema, item, value, inside)
        self._kept = max(self._kept, steps)
        return steps

    def followed(self, schema: JsonObject, _item: Json, value: Json, inside: int) -> int:
        """Count what a reference names, at the same value."""
        return sum(self._pair(each, value, inside) for each in self._references.of(schema))

    def members(self, _schema: JsonObject, item: Json, value: Json, inside: int) -> int:
        """`properties`: each at the member of its name."""
        if not isinstance(item, dict) or not isinstance(value, dict):
            return 0
        shared = item.keys() & value.keys()
        return sum(self._pair(item[name], value[name], inside) for name in shared)

    def every_member(self, _schema: JsonObject, item: Json, value: Json, inside: int) -> int:
        """`additionalProperties` and its like: perhaps each member of the value."""
        if not isinstance(value, dict) or not isinstance(item, (dict, bool)):
            return 0
        return sum(self._pair(item, each, inside) for each in value.values())

    def by_pattern(self, _schema: JsonObject, item: Json, value: Json, inside: int) -> int:
        """`patternProperties`: each pattern at each name, and perhaps each schema at each value."""
        if not isinstance(item, dict) or not isinstance(value, dict):
            return sum(self._weigh(pattern) for pattern in item) if isinstance(item, dict) else 0
        letters = sum(len(name) + 1 for name in value)
        steps = 0
        for pattern, each in item.items():
            steps += letters * self._weigh(pattern)
            steps += sum(self._pair(each, one, inside) for one in value.values())
        return steps

    def names(self, _schema: JsonObject, item: Json, value: Json, inside: int) -> int:
        """`propertyNames`: each name."""
        return sum(self._pair(item, name, inside) for name in value) if _is(value, dict) else 0

    def items(self, _schema: JsonObject, item: Json, value: Json, inside: int) -> int:
        """`items` and its like: one schema, or in older dialects a list, at each item."""
        if not isinstance(value, list):
            return 0
        parts = item if isinstance(item, list) else [item]
        return sum(self._pair(part, each, inside) for each in value for part in parts)

    def first_items(self, _schema: JsonObject, item: Json, value: Json, inside: int) -> int:
        """`prefixItems`: each at the item of its place."""
        if not isinstance(item, list) or not isinstance(value, list):
            return 0
        return sum(self._pair(part, each, inside) for part, each in zip(item, value, strict=False))

    def pattern(self, _schema: JsonObject, item: Json, value: Json, _inside: int) -> int:
        """`pattern`: each character of a text, at the price of this pattern."""
        if not isinstance(item, str):
            return 0
        letters = len(value) if isinstance(value, str) else 0
        return (letters + 1) * self._weigh(item)

    def form(self, _schema: JsonObject, _item: Json, value: Json, _inside: int) -> int:
        """`format`: one look at each character."""
        return len(value) if isinstance(value, str) else 0

    def choices(self, _schema: JsonObject, item: Json, value: Json, _inside: int) -> int:
        """`enum`, `uniqueItems`: as many looks as there are values."""
        several = item if isinstance(item, list) else value
        return len(several) if isinstance(several, list) else 0


def _is(value: Json, kind: type) -> bool:
    return isinstance(value, kind)


def _schemas(item: Json) -> list[Json]:
    """Return the schemas under a keyword that takes one, or a list of them."""
    return item if isinstance(item, list) else [item]


_COUNTED: Final[Mapping[str, Callable[[Work, JsonObject, Json, Json, int], int]]] = {
    **dict.fromkeys(REFERENCES, Work.followed),
    **dict.fromkeys(("allOf", "not", "if", "then", "else"), Work.here),
    **dict.fromkeys(("anyOf", "oneOf"), Work.forms),
    **dict.fromkeys(("dependentSchemas", "dependencies"), Work.named),
    "properties": Work.members,
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties"), Work.every_member),
    "patternProperties": Work.by_pattern,
    "propertyNames": Work.names,
    **dict.fromkeys(("items", "additionalItems", "unevaluatedItems", "contains"), Work.items),
    "prefixItems": Work.first_items,
    "pattern": Work.pattern,
    "format": Work.form,
    **dict.fromkeys(("enum", "uniqueItems"), Work.choices),
}
"""What each keyword adds. Every other one is a step of its own."""
