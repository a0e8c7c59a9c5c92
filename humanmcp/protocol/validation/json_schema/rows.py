"""A JSON Schema as rows that a person fills in: name, type, choices, needed, description.

A name says where its value stands: `city`, `address.city`, `tags[]` (each of a list),
`rooms[].beds`. What rows do not show (a default, a pattern) stays as it was. A schema that is put
together in another way (`oneOf`, several types) has no rows: it is written as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from humanmcp.protocol.json.jsonrpc import JsonObject

KINDS: Final = ("string", "number", "integer", "boolean", "choice", "object")
"""What a row can be: a type of JSON, or one of its `choices`."""
_EACH: Final = "[]"
_DEEPEST: Final = 8
_SHOWN: Final = frozenset({"type", "properties", "required", "items", "enum", "description"})
"""What rows show of a schema."""


@dataclass(frozen=True, slots=True)
class SchemaRow:
    """One value of a schema. `choices` make it one of these; `object` has rows below its name."""

    name: str
    kind: str = "string"
    needed: bool = False
    choices: tuple[str, ...] = ()
    description: str = ""


def schema_of(rows: Iterable[SchemaRow], base: Any = None) -> JsonObject:  # noqa: ANN401 - it came over a wire
    """Return the schema of an object that has these rows.

    What else `base`, the schema as it was, says of a value of the same type stays as it is there.
    """
    root: JsonObject = {"type": "object", "properties": {}, **_rest(base, "object")}
    for row in rows:
        _put(root, row.name.split(".")[:_DEEPEST], row, base)
    return root


def _put(place: JsonObject, steps: list[str], row: SchemaRow, base: Any) -> None:  # noqa: ANN401 - as above
    """Write a row into the object that it stands in."""
    step, *deeper = steps
    name, many = step.removesuffix(_EACH), step.endswith(_EACH)
    properties, before = place["properties"], _at(_at(base, "properties"), name)
    if deeper:
        value = properties.get(name) or _value(SchemaRow(name, "object"), before, many=many)
        inner = value["items"] if many and "items" in value else value
        inner["type"] = "object"
        inner.setdefault("properties", {})
        _put(inner, deeper, row, _at(before, "items") if many else before)
    else:
        value = _value(row, before, many=many)
        if row.needed and name not in place.setdefault("required", []):
            place["required"].append(name)
    properties[name] = value


def _value(row: SchemaRow, before: Any, *, many: bool) -> JsonObject:  # noqa: ANN401 - as above
    kind = "string" if row.kind == "choice" else row.kind
    one: JsonObject = {"type": kind, **_rest(_at(before, "items") if many else before, kind)}
    if row.kind == "object":
        one["properties"] = {}
    if row.choices:
        one["enum"] = list(row.choices)
    value: JsonObject = {"type": "array", "items": one, **_rest(before, "array")} if many else one
    return {**value, "description": row.description} if row.description else value


def _rest(base: Any, kind: str) -> JsonObject:  # noqa: ANN401 - as above
    """Return what a schema of this type says beside what rows show."""
    if not isinstance(base, dict) or base.get("type") != kind:
        return {}
    return {key: one for key, one in base.items() if key not in _SHOWN}


def _at(value: Any, name: str) -> Any:  # noqa: ANN401 - as above
    return value.get(name) if isinstance(value, dict) else None


def rows_of(schema: Any) -> tuple[SchemaRow, ...] | None:  # noqa: ANN401 - it came over a wire
    """Return the rows of a schema; None where rows cannot show all that a person would change."""
    if not isinstance(schema, dict):
        return None
    try:
        rows = tuple(_rows(schema, "", 0))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return rows if _plain(schema_of(rows, schema)) == _plain(schema) else None


def _rows(place: JsonObject, above: str, depth: int) -> Iterator[SchemaRow]:
    if depth == _DEEPEST:
        raise ValueError(above)
    for name, value in place.get("properties", {}).items():
        many = value.get("type") == "array"
        one = value["items"] if many else value
        path = f"{above}{name}{_EACH if many else ''}"
        choices = tuple(one.get("enum", ()))
        if not all(
            isinstance(one, str) and one == one.strip() and "," not in one for one in choices
        ):
            raise ValueError(path)
        kind = "choice" if choices else str(one.get("type"))
        needed, words = name in place.get("required", ()), str(value.get("description", ""))
        inner = list(_rows(one, f"{path}.", depth + 1)) if kind == "object" else []
        if needed or words or not inner:
            yield SchemaRow(path, kind, needed, choices, words)
        yield from inner


def _plain(schema: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a schema with the order of what is needed and empty members left out."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _plain(one) for key, one in schema.items()}
    needed = kept.pop("required", None)
    if isinstance(needed, list) and needed:
        kept["required"] = sorted(map(str, needed))
    if kept.get("type") == "object" and not kept.get("properties"):
        kept.pop("properties", None)
    return kept
