"""JSON Schemas that this program writes, and URI templates, from which one is made.

`Schemas` is the table of objects for an editor that offers what can be written at a place: names,
kinds and the few allowed values of a version. The check says what is wrong. A template of RFC 6570,
as resources have them, becomes a form of its variables. The rows of a table in which a person
describes a tool become a schema, and a schema rows. `Field` reads a schema as a form does.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.json.tree import array_at, object_at, text_at
from humanmcp.protocol.spec import types
from humanmcp.protocol.spec.methods import NOTIFICATIONS, REQUESTS
from humanmcp.protocol.spec.objects import SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from humanmcp.protocol.json.jsonrpc import Json, JsonObject
    from humanmcp.protocol.spec.types import Kind, Member


class Schemas:
    """The schemas of one version; each object is described once, in `$defs`."""

    def __init__(self, version: str) -> None:
        """Begin with none."""
        self.version = version
        self.defs: dict[str, Any] = {}

    def answer(self, result: str, more: Mapping[str, Any]) -> dict[str, Any]:
        """Return the schema of an answer. `more` describes members of its result."""
        described = {**self.of(result), "properties": dict(more)} if result else {}
        return self._message({"result": described, "error": self.of("Error")})

    def requests(self, tools: Mapping[str, Any]) -> dict[str, Any]:
        """Return the schema of what a client may say. `tools` are the `inputSchema` of each."""
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
                return {"oneOf": [self._arm(kind, value) for value in self._arms(kind)]}
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

    def _arms(self, kind: types.ByMember) -> list[str]:
        return [one for one, name in kind.shapes.items() if SHAPES[name].since <= self.version]

    def _arm(self, kind: types.ByMember, value: str) -> dict[str, Any]:
        return {**self.of(kind.shapes[value]), "properties": {kind.member: {"const": value}}}

    def _named(self, name: str) -> dict[str, Any]:
        if name not in self.defs:
            self.defs[name] = {}  # an object may hold itself
            known = {
                each: member
                for each, member in SHAPES[name].members.items()
                if member.exists(self.version)
            }
            self.defs[name] = {
                "type": "object",
                "properties": {each: self._member(one) for each, one in known.items()},
                "required": [each for each, one in known.items() if self.version in one.required],
            }
        return {"$ref": f"#/$defs/{name}"}

    def _member(self, member: Member) -> dict[str, Any]:
        return self.of(member.kind(self.version))


# -- URI templates (RFC 6570) --------------------------------------------------------------------

# Texts: `re` compiles each when it is first used, which the start of a server need not pay for.
_EXPRESSION: Final = r"\{([+#./;?&]?)([^{}]+)\}"
_VARIABLE: Final = r"([^:*]+)(?::(\d{1,4})|\*)?$"
_RESERVED: Final = ":/?#[]@!$&'()*+,;=%"
"""What `+` and `#` leave as it is, with what is already encoded (RFC 6570, 3.2.1)."""


class _Operator(NamedTuple):
    """RFC 6570, appendix A: what stands first and between, and what each value looks like."""

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
    """Return the form of a template's variables; those of a query may be left out."""
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
    """Put values into a template. A variable without one is left out."""

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
    """Return the variables of an expression, with the length that is wanted of each."""
    for name in names.split(","):
        found = re.match(_VARIABLE, name.strip())
        if found is not None:
            yield found[1], int(found[2]) if found[2] else None


# -- rows that a person fills in -----------------------------------------------------------------
#
# A name says where its value stands: `city`, `address.city`, `tags[]` (each of a list),
# `rooms[].beds`. What rows do not show (a default, a pattern) stays as it was. A schema that is put
# together in another way (`oneOf`, several types) has no rows: it is written as JSON.

KINDS: Final = ("string", "number", "integer", "boolean", "choice", "object")
"""What a row can be: a type of JSON, or one of its `choices`."""
_EACH: Final = "[]"
_DEEPEST: Final = 8
_SHOWN: Final = frozenset({"type", "properties", "required", "items", "enum", "description"})
"""What rows show of a schema."""


class SchemaRow(NamedTuple):
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


# -- fields that a person fills in -----------------------------------------------------------------


class Choice(NamedTuple):
    """One of the few values that a schema allows, and its title, "" for none."""

    value: Json
    title: str = ""


def choices(schema: JsonObject) -> list[Choice]:
    """List the few values that a schema allows; none where it allows others, too.

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
    """One value that a schema describes; forms are made of these. The schema may be anything."""

    name: str
    schema: JsonObject
    needed: bool = False

    @property
    def kind(self) -> str:
        """Its type in JSON; of several the first that is not null; "" for any."""
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
        """The few values that it can have; () for others."""
        return tuple(choices(self.schema))

    @property
    def item(self) -> Field | None:
        """What each item of a list is; None if it is no list."""
        return Field("", object_at(self.schema, "items")) if self.kind == "array" else None

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of an object."""
        needed = array_at(self.schema, "required")
        return tuple(
            Field(str(name), object_at(part), name in needed)
            for name, part in object_at(self.schema, "properties").items()
        )
