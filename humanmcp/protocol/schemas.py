"""JSON Schemas that a tool declares: whether one is valid, and whether a value keeps to one.

The schemas come from strangers, so nothing here may take long or reach out: no `$ref` is fetched,
sizes are capped, patterns that could run away are left out, and where that leaves nothing certain
the answer is None. What is found is advice. `jsonschema` is imported only when it is needed: a
plain schema is judged without it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from humanmcp.protocol.mismatches import detail_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.findings import Path
    from humanmcp.protocol.messages import Json, JsonObject

    Detail: TypeAlias = tuple[tuple[str, str], ...]

MOST_NODES: Final = 2_000
"""Values in a schema, or in a value held against one, above which nothing is said."""
MOST_STEPS: Final = 200_000
"""Values times schemas, above which nothing is said."""
MOST_REFERENCES: Final = 500
"""References followed in one comparison; a few lines of schema can ask for billions."""
LONGEST_MATCHED: Final = 200
"""Characters of a text that a pattern is tried on."""

_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_TEXTS: Final = frozenset(
    {"description", "title", "$comment", "format", "contentMediaType", "contentEncoding"}
)
_COUNTS: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems"})
_NUMBERS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_FREE: Final = frozenset({"default", "const", "examples"})
_DIALECTS: Final = frozenset(
    {
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-07/schema",
    }
)


def trouble_in(schema: JsonObject) -> tuple[Path, Detail] | None:
    """Return what makes a schema no valid JSON Schema, as (path, detail), or None.

    The dialect is the one that `$schema` names, else 2020-12 as MCP says.
    """
    if _plain(schema) or is_large(schema):
        return None
    from jsonschema import exceptions, validators  # noqa: PLC0415 - seldom needed, and not small

    validator = validators.validator_for(schema, default=validators.Draft202012Validator)
    try:
        validator.check_schema(schema)
    except exceptions.SchemaError as error:
        return tuple(error.absolute_path), detail_of(error)
    except Exception:  # noqa: BLE001 - a stranger's schema may trip the library in any way
        return None
    return None


def mismatch(value: Json, schema: Json, *, formats: bool = False) -> tuple[Path, Detail] | None:
    """Return where and why a value does not keep to a schema, or None when nothing is certain.

    `formats` asks for `format` too, which JSON Schema 2020-12 leaves to whoever compares: in the
    forms of MCP a server means it.
    """
    if not isinstance(schema, (dict, bool)):
        return None
    size, weight = _nodes(schema), _nodes(value)
    if size > MOST_NODES or weight > MOST_NODES or size * weight > MOST_STEPS:
        return None
    try:
        error = next(_careful(schema, formats=formats).iter_errors(value), None)
    except Exception:  # noqa: BLE001 - unresolvable, endless or malformed: nothing is certain
        return None
    return (tuple(error.absolute_path), detail_of(error)) if error else None


class _TooMuchError(Exception):
    """A comparison that follows more references than any honest schema needs."""


# ruff: noqa: ANN401 - the library's validators and keywords have no public types
def _careful(schema: Json, *, formats: bool = False) -> Any:
    """Make a validator that fetches nothing, follows few references and tries tame patterns."""
    from jsonschema import validators  # noqa: PLC0415 - seldom needed, and not small
    from referencing import Registry  # noqa: PLC0415 - the same

    base: Any = validators.validator_for(schema, default=validators.Draft202012Validator)
    followed = 0

    def limited(keyword: str) -> Any:
        original = base.VALIDATORS[keyword]

        def follow(validator: Any, value: Any, instance: Any, parent: Any) -> Iterator[Any]:
            nonlocal followed
            followed += 1
            if followed > MOST_REFERENCES:
                raise _TooMuchError
            yield from original(validator, value, instance, parent) or ()

        return follow

    def pattern(validator: Any, value: Any, instance: Any, parent: Any) -> Iterator[Any]:
        if isinstance(instance, str) and len(instance) <= LONGEST_MATCHED and tame(value):
            yield from base.VALIDATORS["pattern"](validator, value, instance, parent) or ()

    changes = {
        keyword: limited(keyword)
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef")
        if keyword in base.VALIDATORS
    }
    wild = any(not tame(each) for each in _patterns(schema))
    changes["pattern"] = pattern
    if wild:  # which names such a pattern covers cannot be told: say nothing of names
        names = ("patternProperties", "additionalProperties", "unevaluatedProperties")
        changes |= dict.fromkeys(names, _nothing)
    extend: Any = validators.extend
    checker = base.FORMAT_CHECKER if formats else None
    return extend(base, changes)(schema, registry=Registry(), format_checker=checker)


def _nothing(*_args: Any) -> Iterator[Any]:
    return iter(())


def _patterns(schema: Json) -> Iterator[Json]:
    """List the names that `patternProperties` uses as patterns, anywhere in a schema."""
    if isinstance(schema, dict):
        for name, item in schema.items():
            if name == "patternProperties" and isinstance(item, dict):
                yield from item
            yield from _patterns(item)
    elif isinstance(schema, list):
        for item in schema:
            yield from _patterns(item)


# Texts: `re` compiles each when it is first used, which the start of a server need not pay for.
_UNBOUNDED: Final = r"(?<!\\)(?:[*+]|\{\d+,(?:\d{2,})?\})"
_GROUP_REPEATED: Final = r"\)(?:[*+]|\{\d*,?\d*\})"


def tame(pattern: Json) -> bool:
    r"""Say whether a pattern surely takes little time: no repeated group, few repetitions.

    `^(a+)+$` takes longer than anybody waits on 30 letters; `^[a-z]+-\d+$` never does.
    """
    if not isinstance(pattern, str) or len(pattern) > LONGEST_MATCHED:
        return False
    bare = re.sub(r"\\.|\[\^?\]?[^\]]*\]", "x", pattern)
    if re.search(_GROUP_REPEATED, bare) or re.search(r"\\[1-9]|\(\?P=", pattern):
        return False
    return len(re.findall(_UNBOUNDED, bare)) <= 3


def is_large(value: Json) -> bool:
    """Say whether a value is too large to be compared or shown."""
    return _nodes(value) > MOST_NODES


def _nodes(value: Json) -> int:
    """Count the values in a value, up to a little above the most."""
    count = 0
    waiting = [value]
    while waiting and count <= MOST_NODES:
        item = waiting.pop()
        count += 1
        if isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item[: MOST_NODES + 1])
    return count


# -- plain schemas ------------------------------------------------------------------------------


def _plain(schema: Json, depth: int = 0) -> bool:
    """Say whether a schema is valid beyond doubt: everyday keywords, each of its right kind."""
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, dict) or depth > 20:
        return False
    return all(_plain_keyword(name, item, depth) for name, item in schema.items())


def _plain_keyword(name: str, item: Json, depth: int) -> bool:  # noqa: PLR0911 - one line a kind
    if name == "type":
        return isinstance(item, str) and item in _TYPES
    if name == "$schema":
        return item in _DIALECTS if isinstance(item, str) else False
    if name in _TEXTS:
        return isinstance(item, str)
    if name == "properties":
        return isinstance(item, dict) and all(_plain(each, depth + 1) for each in item.values())
    if name in ("items", "additionalProperties"):
        return _plain(item, depth + 1)
    if name == "required":
        texts = isinstance(item, list) and all(isinstance(each, str) for each in item)
        return texts and len(set(item)) == len(item)
    if name == "enum":
        return isinstance(item, list)
    if name in _COUNTS:
        return type(item) is int and item >= 0
    if name in _NUMBERS:
        return type(item) in (int, float)
    return name in _FREE
