"""The form of an answer: the fields that a person fills in, as a JSON Schema.

A tool with an `outputSchema` has that form. Other answers have the fields that people usually
write; the rest of the message is unchanged and can be edited as JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.open_exchange import read_line
from humanmcp.desk.rendering import SECTION
from humanmcp.locales import say
from humanmcp.protocol.conversation.exchange import QUESTION, NegotiatedState, kind_of_tool
from humanmcp.protocol.diagnostics.model import Applicability, Fix, TextEdit
from humanmcp.protocol.json.jsonrpc import Message, as_json
from humanmcp.protocol.json.tree import follow, object_at
from humanmcp.protocol.json.undecoded import is_large
from humanmcp.protocol.repair.reading import read_json
from humanmcp.protocol.tables import methods, types
from humanmcp.protocol.tables.examples import example
from humanmcp.protocol.tables.objects import SHAPES
from humanmcp.protocol.tables.schemas import KINDS, Field, SchemaRow
from humanmcp.protocol.validation.results import plain_result
from humanmcp.protocol.validation.starting_draft import calls, first_value, message, tools_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from humanmcp.inbox.contract import Item
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import Json
    from humanmcp.protocol.tables.types import Kind

LARGEST_SCHEMA: Final = 200_000
"""The maximum size of a declared schema that becomes a form, in characters."""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The field for a place in the message (a JSON Pointer), and the schema if one was received.

    `mirror`: the value is also written as text for the model, as the specification requires for
    structured content.
    """

    pointer: str
    field: FormField
    schema: Mapping[str, Any]
    mirror: bool = False

    @classmethod
    def of(cls, pointer: str, schema: Mapping[str, Any], *, mirror: bool = False) -> AnswerForm:
        """Return the form that a received schema describes."""
        return cls(pointer, field_of(schema), schema, mirror)


_SHOWN: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "InitializeResult": ("protocolVersion", "capabilities", "serverInfo", "instructions"),
        "Implementation": ("name", "version"),
        "DiscoverResult": ("supportedVersions", "capabilities", "instructions"),
        "ListToolsResult": ("tools",),
        "Tool": ("name", "title", "description", "inputSchema"),
        "ListResourcesResult": ("resources",),
        "Resource": ("uri", "name", "title", "description", "mimeType"),
        "ListTemplatesResult": ("resourceTemplates",),
        "ResourceTemplate": ("uriTemplate", "name", "title", "description"),
        "ListPromptsResult": ("prompts",),
        "Prompt": ("name", "title", "description", "arguments"),
        "PromptArgument": ("name", "description", "required"),
        "GetPromptResult": ("description", "messages"),
        "PromptMessage": ("role", "content"),
        "TextContent": ("type", "text"),
        "ReadResourceResult": ("contents",),
        "TextResourceContents": ("uri", "mimeType", "text"),
        "CallToolResult": ("content",),
        "ImageContent": ("type", "data", "mimeType"),
        "AudioContent": ("type", "data", "mimeType"),
        "ResourceLink": ("type", "uri", "name", "description", "mimeType"),
        "EmbeddedResource": ("type", "resource"),
        "CreateMessageResult": ("content",),
        "CompleteResult": ("completion",),
        "Completion": ("values", "total", "hasMore"),
    }
)
"""The members that people write, by object of the specification; others are JSON."""

_RARE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "Tool": ("_meta",),
        "Resource": ("_meta",),
        "TextResourceContents": ("_meta",),
        "CallToolResult": ("structuredContent",),
    }
)
"""The members that few people write, as JSON; folded until the answer has one."""

_LONG: Final = frozenset({"description", "instructions", "text"})
"""The members that may have many lines."""


def _members(shape: str, version: str) -> tuple[FormField, ...]:
    """Return the fields of an object of the specification; its `type` is defined by an arm."""
    rare = _RARE.get(shape, ())
    names = [name for name in (*_SHOWN[shape], *rare) if name != "type"]
    members = {name: SHAPES[shape].members[name] for name in names}
    fields = []
    for name, one in members.items():
        if one.exists(version):
            if name in rare:
                fields.append(FormField("json", name, name, rare=True))
                continue
            field = _field(name, one.kind(version), version, example(one, version))
            fields.append(replace(field, needed=version in one.required))
    return tuple(fields)


def _field(name: str, kind: Kind, version: str, usual: Json = None) -> FormField:  # noqa: C901, PLR0912 - one case a kind
    """Return the field of a kind of value; one that has none is written as JSON."""
    found = FormField("json", name, name, value=usual)
    match kind:
        case "ServerCapabilities":
            found.kind, found.fields, found.value = "group", _capabilities(version), {}
        case str() if kind in _SHOWN:
            found.kind, found.fields = "group", _members(kind, version)
            found.value = {one.name: one.value for one in found.fields if one.needed}
        case types.Text():
            found.kind = "media" if name in _BYTES else "long" if name in _LONG else "text"
            found.value = ""
        case types.Boolean():
            found.kind, found.choices, found.value = "choice", _yes_or_no(), False
        case types.Number():
            found.kind, found.value = "number", 0
        case types.OneOf():  # the default first
            values = sorted(kind.values, key=lambda one: one != usual)
            found.kind, found.value = "choice", values[0]
            found.choices = tuple((as_json(one), one) for one in values)
        case types.OneOrMany() if kind.many_since > version:
            return _field(name, kind.item, version, usual)
        case types.ListOf() | types.OneOrMany():  # one value begins the list
            found.kind, found.item, found.value = "list", _field("", kind.item, version), []
        case types.ByMember():
            shapes = {arm: shape for arm, shape in kind.shapes.items() if shape in _SHOWN}
            known = {arm: one for arm, one in shapes.items() if SHAPES[one].since <= version}
            found.kind = "arms"
            found.arms = tuple(_field(arm, one, version) for arm, one in known.items())
            for arm in found.arms:
                arm.value["type"] = arm.name
            found.value = found.arms[0].value
        case types.ByPresence():  # with a `blob`, no text is needed
            found = _field(name, kind.shapes["text"], version, usual)
            found.fields += (_field("blob", types.Text(), version),)
            for one in found.fields:
                one.needed &= one.name not in kind.shapes
            found.value = {one.name: one.value for one in found.fields if one.needed}
        case _:
            pass
    return found


_BYTES: Final = frozenset({"data", "blob"})
_CAPABILITIES: Final = ("tools", "resources", "prompts", "completions", "logging")
"""The server capabilities that a person turns on and off; others are JSON."""


def _capabilities(version: str) -> tuple[FormField, ...]:
    """Return one switch per capability, and switches for its parts."""

    def switch(name: str, value: Json, *fields: FormField) -> FormField:
        about = say(SECTION, f"declares.{name}")
        return FormField("switch", name, name, about, fields=fields, value=value)

    known = SHAPES["ServerCapabilities"].members
    parts = {
        one: SHAPES[str(known[one].kind(version))].members
        for one in _CAPABILITIES
        if known[one].exists(version)
    }
    return tuple(
        switch(one, {}, *(switch(name, value=True) for name in names))
        for one, names in parts.items()
    )


def form_of(item: Item, negotiated: NegotiatedState, tool: str) -> AnswerForm | None:
    """Return the form of an answer, None if there is nothing to fill in."""
    if item.method == "tools/call":
        schema = _tool_schema(negotiated, tool, "outputSchema")
        if schema is not None and kind_of_tool(tool, negotiated.tools) != QUESTION:
            return AnswerForm.of("/result/structuredContent", schema, mirror=True)
    if item.method == "elicitation/create":
        return AnswerForm.of("/result", _asked_for(item))
    result = methods.of(item.method).result_in(item.protocol_version)
    if result not in _SHOWN:
        return None
    return AnswerForm("/result", _field("", result, item.protocol_version), {})


def _asked_for(item: Item) -> Mapping[str, Any]:
    """Return the form that a server asks its user to fill in, below the user's decision."""
    words = [
        {"const": one, "title": say(SECTION, f"elicit.{one}")}
        for one in ("accept", "decline", "cancel")
    ]
    action = {"type": "string", "title": say(SECTION, "elicit.action"), "oneOf": words}
    asked = None if is_large(item.line) else read_line(item.line)
    schema = asked.params.get("requestedSchema") if isinstance(asked, Message) else None
    if not isinstance(schema, dict) or len(json.dumps(schema)) > LARGEST_SCHEMA:
        fields = {"action": action}
    else:
        fields = {"action": action, "content": {"title": say(SECTION, "elicit.content"), **schema}}
    return {"type": "object", "properties": fields, "required": ["action"]}


def arguments_form(negotiated: NegotiatedState, tool: str) -> AnswerForm | None:
    """Return the form of the arguments of a held call, None if the tool declared none."""
    schema = _tool_schema(negotiated, tool, "inputSchema")
    if schema is None or not schema.get("properties"):
        return None
    return AnswerForm.of("/params/arguments", schema)


def _tool_schema(negotiated: NegotiatedState, tool: str, member: str) -> Mapping[str, Any] | None:
    """Return a schema that a tool declared. It was received, so it may be any JSON."""
    schema = follow((negotiated.tools or {}).get(tool), member)
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return None
    return schema if len(json.dumps(schema)) <= LARGEST_SCHEMA else None


DEEPEST: Final = 6
LONGEST_HELP: Final = 300
_COMBINED: Final = ("anyOf", "oneOf", "allOf", "$ref")


@dataclass(slots=True)
class FormField:
    """A field of a form, for `fields.html`.

    `kind`: group, list, choice, number, text, long, json, switch, media or arms. `label` is the
    title of its schema, or its name. `value` is that of a new item, or of what is turned on. A
    choice is its JSON and its title. `arms` are the forms of an object, named by its member `type`.
    What is `rare` is folded.
    """

    kind: str
    name: str
    label: str
    help: str = ""
    needed: bool = False
    fields: tuple[FormField, ...] = ()
    item: FormField | None = None
    value: Any = None
    choices: tuple[tuple[str, str], ...] = ()
    arms: tuple[FormField, ...] = ()
    rare: bool = False

    @property
    def blank(self) -> str:
        """The `value` as JSON."""
        return json.dumps(self.value, ensure_ascii=False, indent=2)


def field_of(schema: Any) -> FormField:  # noqa: ANN401 - it came over a wire
    return form_field(Field("", object_at(schema)))


def form_field(field: Field, depth: int = 0) -> FormField:
    """Return a field with its inner fields, without those that have only one possible value."""
    label, about = field.title[:LONGEST_HELP] or field.name, field.about[:LONGEST_HELP]
    found = FormField("json", field.name, label, about, field.needed)
    schema = field.schema
    if choices := _choices(field):
        found.kind, found.choices = "choice", choices
    elif depth >= DEEPEST or any(word in schema for word in _COMBINED):
        pass
    elif field.kind == "object" and isinstance(schema.get("properties"), dict):
        parts = (one for one in field.fields if "const" not in one.schema)
        found.kind, found.fields = "group", tuple(form_field(one, depth + 1) for one in parts)
    elif field.item is not None:
        found.kind, found.item = "list", form_field(field.item, depth + 1)
        found.item.value = first_value(field.item.schema)
    elif field.kind == "string":
        found.kind = "long" if schema.get("format") == "long" else "text"
    elif field.kind in {"number", "integer"}:
        found.kind = "number"
    return found


def _choices(field: Field) -> tuple[tuple[str, str], ...]:
    """Return the allowed values as JSON, each with its title or itself."""
    if field.kind == "boolean":
        return _yes_or_no()
    return tuple((as_json(one.value), one.title or _shown(one.value)) for one in field.choices)


def _yes_or_no() -> tuple[tuple[str, str], ...]:
    return ("true", say(SECTION, "field.yes")), ("false", say(SECTION, "field.no"))


def _shown(value: Any) -> str:  # noqa: ANN401 - any JSON value
    return value if isinstance(value, str) else as_json(value)


def unread(raw: str) -> tuple[Diagnostic, ...]:
    """Return why the text of one field is not JSON."""
    found = [one for one in read_json(raw).diagnostics if one.blocks]
    return tuple(_quoted(one, raw) if one.code == "J20" else one for one in found)


def _quoted(diagnostic: Diagnostic, raw: str) -> Diagnostic:
    """Offer quotes for words: in a field, unlike in a message, a string can be the whole value."""
    edit = TextEdit(0, len(raw), as_json(raw.strip()))
    return diagnostic._replace(fix=Fix((edit,), "quote", Applicability.GUESS))


MOST: Final = 40
"""The maximum number of rows of one schema; larger ones are written as JSON."""


def rows_in(values: Mapping[str, str], prefix: str = "") -> tuple[SchemaRow, ...]:
    """Return the rows of a form that have a name."""
    found = []
    for at in range(MOST):
        name = values.get(f"{prefix}name {at}", "").strip()
        kind = values.get(f"{prefix}kind {at}", "")
        listed = values.get(f"{prefix}choices {at}", "").replace("、", ",").split(",")
        choices = tuple(one.strip() for one in listed if one.strip())
        if name:
            found.append(
                SchemaRow(
                    name,
                    kind if kind in KINDS else "string",
                    needed=f"{prefix}needed {at}" in values,
                    choices=choices if kind == "choice" else (),
                    description=values.get(f"{prefix}about {at}", "").strip(),
                )
            )
    return tuple(found)


def values_of(rows: Iterable[SchemaRow], prefix: str = "") -> dict[str, str]:
    """Return the form fields of these rows."""
    found: dict[str, str] = {}
    for at, row in enumerate(rows):
        found |= {f"{prefix}name {at}": row.name, f"{prefix}kind {at}": row.kind}
        found |= {f"{prefix}choices {at}": ", ".join(row.choices)} if row.choices else {}
        found |= {f"{prefix}about {at}": row.description} if row.description else {}
        found |= {f"{prefix}needed {at}": "on"} if row.needed else {}
    return found


SAY: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"text": {"type": "string", "format": "long"}},
    "required": ["text"],
}
MOST_STARTING_POINTS: Final = 40
"""The maximum number of tools that get a button."""


@dataclass(frozen=True, slots=True)
class Start:
    """A starting point. `tool` is the tool that it calls, "" for a notification."""

    tool: str
    about: str
    document: str
    form: AnswerForm


def starts_of(exchange: Exchange) -> tuple[Start, ...]:
    """Return the starting points; () if the request is not a turn of a model, or has no tools."""
    results = calls(exchange)
    if not results:
        return ()
    said = plain_result(exchange, "", NegotiatedState())
    say = Start("", "", message(exchange, "result", said), AnswerForm.of("/result/content", SAY))
    tools = tools_in(exchange)
    return (
        say,
        *(
            Start(
                name,
                str(tools[name].get("description") or ""),
                message(exchange, "result", result),
                _form(tools[name]),
            )
            for name, result in list(results.items())[:MOST_STARTING_POINTS]
        ),
    )


def chosen(starts: tuple[Start, ...], document: str) -> Start | None:
    """Return the starting point of a document; None if it is not certain."""
    try:
        content = json.loads(document)["result"]["content"]
        tool = content["name"] if content["type"] == "tool_use" else ""
    except (ValueError, KeyError, TypeError):
        return None
    return next((one for one in starts if one.tool == tool), None)


def _form(tool: Mapping[str, Any]) -> AnswerForm:
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or len(json.dumps(schema)) > LARGEST_SCHEMA:
        schema = {}
    return AnswerForm.of("/result/content/input", schema)
