"""JSON Schemas that this program writes, and URI templates.

`Schemas` turns the table of objects into a schema for an editor, which offers names, types and
allowed values of a version; the check reports errors. A URI template (RFC 6570) of a resource
becomes a form of its variables. The rows of a form in which a person describes a tool become a
schema, and a schema becomes rows. `Field` reads a schema as a form does.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.json.tree import array_at, follow, object_at, text_at
from humanmcp.protocol.tables import types
from humanmcp.protocol.tables.methods import NOTIFICATIONS, REQUESTS
from humanmcp.protocol.tables.objects import SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from humanmcp.protocol.json.jsonrpc import Json, JsonObject
    from humanmcp.protocol.tables.types import Kind


class Schemas:
    """The schemas of one version; each object is described once, in `$defs`."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.defs: dict[str, Any] = {}

    def answer(self, result: str, more: Mapping[str, Any]) -> dict[str, Any]:
        """Return the schema of an answer. `more` describes members of its result."""
        described = {**self.of(result), "properties": dict(more)} if result else {}
        return self._message({"result": described, "error": self.of("Error")})

    def requests(self, tools: Mapping[str, Any]) -> dict[str, Any]:
        """Return the schema of a client's messages. `tools` are the `inputSchema` by tool name."""
        arms = [
            {"properties": {"method": {"const": one.name}, "params": self.of(one.params)}}
            for one in (*REQUESTS.values(), *NOTIFICATIONS.values())
            if self.version in one.to_server and one.name != "tools/call"
        ]
        called = [
            {"properties": {"name": {"const": name}, "arguments": schema}}
            for name, schema in tools.items()
        ]
        call = {**self.of(REQUESTS["tools/call"].params), "oneOf": called}
        arms.append({"properties": {"method": {"const": "tools/call"}, "params": call}})
        return {**self._message({}), "oneOf": arms}

    def _message(self, members: Mapping[str, Any]) -> dict[str, Any]:
        head = {"jsonrpc": {"const": "2.0"}, "id": {}}
        return {"type": "object", "properties": {**head, **members}, "$defs": self.defs}

    def of(self, kind: Kind) -> dict[str, Any]:  # noqa: PLR0911 - one arm a kind
        """Return the schema of a kind of value."""
        match kind:
            case str():
                return self._named(kind)
            case types.OneOf():
                return {"enum": list(kind.values)}
            case types.Boolean():
                return {"type": "boolean"}
            case types.ListOf():
                return {"type": "array", "items": self.of(kind.item)}
            case types.MapOf():
                return {"type": "object", "additionalProperties": self.of(kind.value)}
            case types.ByMember():
                arms = [
                    {**self.of(name), "properties": {kind.member: {"const": value}}}
                    for value, name in kind.shapes.items()
                    if SHAPES[name].since <= self.version
                ]
                return {"oneOf": arms}
            case types.ByPresence():
                return {"anyOf": [self.of(one) for one in kind.shapes.values()]}
            case types.OneOrMany():
                many = {"type": "array", "items": self.of(kind.many)}
                later = [many] if kind.many_since <= self.version else []
                return {"anyOf": [self.of(kind.item), *later]}
            case types.OrNull():
                return {"anyOf": [self.of(kind.value), {"const": None}]}
            case _:
                return {}

    def _named(self, name: str) -> dict[str, Any]:
        if name not in self.defs:
            self.defs[name] = {}  # an object may contain itself
            known = types.members_in(SHAPES[name], self.version)
            self.defs[name] = {
                "type": "object",
                "properties": {each: self.of(one.kind) for each, one in known.items()},
                "required": [each for each, one in known.items() if one.required],
            }
        return {"$ref": f"#/$defs/{name}"}


# -- URI templates (RFC 6570) --------------------------------------------------------------------

# Strings, not compiled patterns: `re` compiles each at its first use, not at the start of a server.
_EXPRESSION: Final = r"\{([+#./;?&]?)([^{}]+)\}"
_VARIABLE: Final = r"([^:*]+)(?::(\d{1,4})|\*)?$"
_RESERVED: Final = ":/?#[]@!$&'()*+,;=%"
"""The characters that `+` and `#` do not encode, beside encoded ones (RFC 6570, 3.2.1)."""


class _Operator(NamedTuple):
    """An operator of RFC 6570, appendix A: the prefix, the separator, and the form of values."""

    first: str
    between: str
    is_named: bool = False
    kept: str = ""


_OPERATORS: Final[Mapping[str, _Operator]] = MappingProxyType(
    {
        "": _Operator("", ","),
        "+": _Operator("", ",", kept=_RESERVED),
        "#": _Operator("#", ",", kept=_RESERVED),
        ".": _Operator(".", "."),
        "/": _Operator("/", "/"),
        ";": _Operator(";", ";", is_named=True),
        "?": _Operator("?", "&", is_named=True),
        "&": _Operator("&", "&", is_named=True),
    }
)


def template_form(template: str) -> dict[str, Any]:
    """Return the form of a template's variables; variables of a query are optional."""
    found = [
        (name, not _OPERATORS[sign].is_named)
        for sign, names in re.findall(_EXPRESSION, template)
        for name, _length in _variables(names)
    ]
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name, _needed in found},
        "required": list(dict.fromkeys(name for name, needed in found if needed)),
    }


def expanded(template: str, values: Mapping[str, str]) -> str:
    """Return a template with values for its variables; those without a value are omitted."""

    def put_in(found: re.Match[str]) -> str:
        operator = _OPERATORS[found[1]]
        parts = [
            _part(operator, name, values[name][:length])
            for name, length in _variables(found[2])
            if name in values
        ]
        return operator.first + operator.between.join(parts) if parts else ""

    return re.sub(_EXPRESSION, put_in, template)


def _part(operator: _Operator, name: str, value: str) -> str:
    from urllib.parse import quote  # noqa: PLC0415 - seldom needed

    text = quote(value, safe=operator.kept)
    return f"{name}={text}" if operator.is_named else text


def _variables(names: str) -> Iterator[tuple[str, int | None]]:
    """Yield the variables of an expression, each with its maximum length."""
    for name in names.split(","):
        found = re.match(_VARIABLE, name.strip())
        if found is not None:
            yield found[1], int(found[2]) if found[2] else None


# -- rows that a person fills in -----------------------------------------------------------------
#
# A name gives the place of its value: `city`, `address.city`, `tags[]` (each item of a list),
# `rooms[].beds`. What rows do not show (a default, a pattern) stays as it was. A schema of another
# structure (`oneOf`, several types) has no rows: a person edits its JSON.

KINDS: Final = ("string", "number", "integer", "boolean", "choice", "object")
"""The kinds of a row: a JSON type, or one of its `choices`."""
_EACH: Final = "[]"
_DEEPEST: Final = 8
_SHOWN: Final = frozenset({"type", "properties", "required", "items", "enum", "description"})
"""The keywords of a schema that rows show."""


class SchemaRow(NamedTuple):
    """A value in a schema. With `choices` it is one of these; an `object` has rows below it."""

    name: str
    kind: str = "string"
    needed: bool = False
    choices: tuple[str, ...] = ()
    description: str = ""


def schema_of(rows: Iterable[SchemaRow], base: Any = None) -> JsonObject:  # noqa: ANN401 - it came over a wire
    """Return the schema of an object with these rows.

    `base` is the schema before; its other keywords are kept for values of the same type.
    """
    root: JsonObject = {"type": "object", "properties": {}, **_rest(base, "object")}
    for row in rows:
        _put(root, row.name.split(".")[:_DEEPEST], row, base)
    return root


def _put(place: JsonObject, steps: list[str], row: SchemaRow, base: Any) -> None:  # noqa: ANN401 - as above
    step, *deeper = steps
    name, many = step.removesuffix(_EACH), step.endswith(_EACH)
    properties, before = place["properties"], follow(base, "properties", name)
    if deeper:
        value = properties.get(name) or _value(SchemaRow(name, "object"), before, many=many)
        inner = value["items"] if many and "items" in value else value
        inner["type"] = "object"
        inner.setdefault("properties", {})
        _put(inner, deeper, row, follow(before, "items") if many else before)
    else:
        value = _value(row, before, many=many)
        if row.needed and name not in place.setdefault("required", []):
            place["required"].append(name)
    properties[name] = value


def _value(row: SchemaRow, before: Any, *, many: bool) -> JsonObject:  # noqa: ANN401 - as above
    kind = "string" if row.kind == "choice" else row.kind
    one: JsonObject = {"type": kind, **_rest(follow(before, "items") if many else before, kind)}
    if row.kind == "object":
        one["properties"] = {}
    if row.choices:
        one["enum"] = list(row.choices)
    value: JsonObject = {"type": "array", "items": one, **_rest(before, "array")} if many else one
    return {**value, "description": row.description} if row.description else value


def _rest(base: Any, kind: str) -> JsonObject:  # noqa: ANN401 - as above
    """Return the keywords of a schema of this type that rows do not show."""
    if not isinstance(base, dict) or base.get("type") != kind:
        return {}
    return {key: one for key, one in base.items() if key not in _SHOWN}


def rows_of(schema: Any) -> tuple[SchemaRow, ...] | None:  # noqa: ANN401 - it came over a wire
    """Return the rows of a schema; None if rows cannot show all that a person may change."""
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
    """Return a schema with `required` sorted and without empty members."""
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


# -- fields that a person fills in -----------------------------------------------------------------


class Choice(NamedTuple):
    """One allowed value of a schema, and its title, "" for none."""

    value: Json
    title: str = ""


def choices(schema: JsonObject) -> list[Choice]:
    """List the allowed values of a schema; [] if it does not list them.

    MCP, elicitation: `enum`, with `enumNames` until 2025-11-25; `oneOf` and, in a list, `anyOf` of
    `const` and `title` since then.
    """
    values, names = schema.get("enum"), schema.get("enumNames")
    if isinstance(values, list):
        titles = names if isinstance(names, list) and len(names) == len(values) else []
        return [Choice(one, str(title)) for one, title in zip_longest(values, titles, fillvalue="")]
    if "const" in schema:
        return [Choice(schema["const"])]
    forms = (schema[key] for key in ("oneOf", "anyOf") if isinstance(schema.get(key), list))
    titled: list[Json] = next(forms, [])
    if not all(isinstance(one, dict) and "const" in one for one in titled):
        return []
    return [Choice(one["const"], str(one.get("title", ""))) for one in titled]


class Field(NamedTuple):
    """One value that a schema describes, as a field of a form. The schema may be any JSON."""

    name: str
    schema: JsonObject
    needed: bool = False

    @property
    def kind(self) -> str:
        """Its JSON type; of several the first that is not null; "" for any."""
        kind = self.schema.get("type")
        kinds = kind if isinstance(kind, list) else [kind]
        return next((one for one in kinds if isinstance(one, str) and one != "null"), "")

    @property
    def title(self) -> str:
        """Its title, "" without one."""
        return text_at(self.schema, "title")

    @property
    def about(self) -> str:
        """Its description, "" without one."""
        return text_at(self.schema, "description")

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Its allowed values; () for any value."""
        return tuple(choices(self.schema))

    @property
    def item(self) -> Field | None:
        """The items of a list; None if it is not a list."""
        return Field("", object_at(self.schema, "items")) if self.kind == "array" else None

    @property
    def fields(self) -> tuple[Field, ...]:
        needed = array_at(self.schema, "required")
        return tuple(
            Field(str(name), object_at(part), name in needed)
            for name, part in object_at(self.schema, "properties").items()
        )
