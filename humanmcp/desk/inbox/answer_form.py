"""The form of an answer: the fields that a person fills in, as a JSON Schema.

A tool with an `outputSchema` has that form. Other answers have the fields that people usually
write; the rest of the message is unchanged and can be edited as JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.open_exchange import read_line
from humanmcp.desk.rendering import SECTION
from humanmcp.locales import say
from humanmcp.protocol.conversation.approvals import QUESTION, kind_of_tool
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.diagnostics.model import Applicability, Fix, TextEdit
from humanmcp.protocol.diagnostics.problem import json_text
from humanmcp.protocol.json.jsonrpc import Message, is_large
from humanmcp.protocol.json.tree import follow, object_at
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
    from humanmcp.protocol.json.jsonrpc import JsonObject
    from humanmcp.protocol.tables.types import Kind, Member

LARGEST_SCHEMA: Final = 200_000
"""The maximum size of a declared schema that becomes a form, in characters."""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """A schema, and the place in the message that it describes (a JSON Pointer).

    `mirror`: the value is also written as text for the model, as the specification requires for
    structured content.
    """

    pointer: str
    schema: Mapping[str, Any]
    mirror: bool = False


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

_LONG: Final = frozenset({"description", "instructions", "text"})
"""The members that may have many lines."""


class Switch(dict[str, Any]):
    """The schema of a member that is either absent, or an empty object or `true`."""


class ByType(dict[str, Any]):
    """The schemas of an object, by its member `type`."""


def _object(needed: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"type": "object", "properties": properties, "required": list(needed)}


def _object_of(name: str, version: str) -> dict[str, Any]:
    members = {each: SHAPES[name].members[each] for each in _SHOWN[name]}
    known = {each: member for each, member in members.items() if member.exists(version)}
    needed = tuple(each for each, member in known.items() if version in member.required)
    return _object(
        needed, **{each: _schema(each, member, version) for each, member in known.items()}
    )


def _schema(name: str, member: Member, version: str) -> dict[str, Any]:
    if name == "type":  # no choice: the arm defines it
        return {"const": None}
    schema = _schema_of(member.kind(version), version)
    if "enum" in schema:  # the default first
        first = example(member, version)
        schema["enum"].sort(key=lambda one: one != first)
    if name == "data":
        return {**schema, "format": "media"}
    if schema == {"type": "string"} and name in _LONG:
        return {**schema, "format": "long"}
    return schema or {"default": example(member, version)}


def _schema_of(kind: Kind, version: str) -> dict[str, Any]:  # noqa: PLR0911 - one line a kind
    """Return the JSON Schema of a kind of value; {} for a value that is written as JSON."""
    match kind:
        case str():
            return _object_of(kind, version) if kind in _SHOWN else {}
        case types.Text():
            return {"type": "string"}
        case types.Boolean():
            return {"type": "boolean"}
        case types.Number():
            return {"type": "integer" if kind.whole else "number"}
        case types.OneOf():
            return {"type": "string", "enum": list(kind.values)}
        case types.ListOf():
            return {"type": "array", "items": _schema_of(kind.item, version)}
        case types.OneOrMany():  # the list of a form begins with the existing value
            one = _schema_of(kind.item, version)
            return {"type": "array", "items": one} if kind.many_since <= version else one
        case types.ByMember():
            return ByType(
                (arm, _object_of(shape, version))
                for arm, shape in kind.shapes.items()
                if shape in _SHOWN and SHAPES[shape].since <= version
            )
        case types.ByPresence():  # with a `blob`, no text is needed
            schema = _schema_of(kind.shapes["text"], version)
            needed = [one for one in schema["required"] if one not in kind.shapes]
            blob = {"blob": {"type": "string", "format": "media"}} if "blob" in kind.shapes else {}
            return {**schema, "properties": {**schema["properties"], **blob}, "required": needed}
        case _:
            return {}


_CAPABILITIES: Final = ("tools", "resources", "prompts", "completions", "logging")
"""The server capabilities that a person turns on and off; others are JSON."""


def _capabilities(version: str) -> dict[str, Any]:
    """Return one switch per capability, and switches for its parts."""
    known = SHAPES["ServerCapabilities"].members
    return _object(
        **{
            one: Switch(
                description=say(SECTION, f"declares.{one}"),
                properties={
                    name: Switch(type="boolean", description=say(SECTION, f"declares.{name}"))
                    for name in SHAPES[str(known[one].kind(version))].members
                },
            )
            for one in _CAPABILITIES
            if known[one].exists(version)
        }
    )


def form_of(item: Item, negotiated: NegotiatedState, tool: str) -> AnswerForm | None:
    """Return the form of an answer, None if there is nothing to fill in."""
    if item.method == "tools/call":
        schema = _tool_schema(negotiated, tool, "outputSchema")
        if schema is not None and kind_of_tool(tool, negotiated.tools) != QUESTION:
            return AnswerForm("/result/structuredContent", schema, mirror=True)
    if item.method == "elicitation/create":
        return AnswerForm("/result", _asked_for(item))
    result = methods.of(item.method).result_in(item.protocol_version)
    if result not in _SHOWN:
        return None
    schema = _object_of(result, item.protocol_version)
    if "capabilities" in schema["properties"]:
        schema["properties"]["capabilities"] = _capabilities(item.protocol_version)
    return AnswerForm("/result", schema)


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
        return _object(("action",), action=action)
    content = {"title": say(SECTION, "elicit.content"), **schema}
    return _object(("action",), action=action, content=content)


def arguments_form(negotiated: NegotiatedState, tool: str) -> AnswerForm | None:
    """Return the form of the arguments of a held call, None if the tool declared none."""
    schema = _tool_schema(negotiated, tool, "inputSchema")
    if schema is None or not schema.get("properties"):
        return None
    return AnswerForm("/params/arguments", schema)


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
    title of its schema, or its name. `blank` is the JSON of a new item, or of what is turned on. A
    choice is its JSON and its title. `arms` are the forms of an object, named by its member `type`.
    """

    kind: str
    name: str
    label: str
    help: str
    needed: bool
    fields: tuple[FormField, ...] = ()
    item: FormField | None = None
    blank: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    arms: tuple[FormField, ...] = ()


def field_of(schema: Any) -> FormField:  # noqa: ANN401 - it came over a wire
    return form_field(Field("", object_at(schema)))


def form_field(field: Field, depth: int = 0) -> FormField:
    """Return a field, with its inner fields, for the page."""
    label, about = field.title[:LONGEST_HELP] or field.name, field.about[:LONGEST_HELP]
    found = FormField("json", field.name, label, about, field.needed)
    schema = field.schema
    if isinstance(schema, Switch):
        found.kind, found.fields = "switch", _inner(field, depth)
        found.blank = "true" if field.kind == "boolean" else "{}"
    elif isinstance(schema, ByType):
        found.kind = "arms"
        found.arms = tuple(_arm(name, one, depth) for name, one in schema.items())
    elif choices := _choices(field):
        found.kind, found.choices = "choice", choices
    elif depth >= DEEPEST or any(word in schema for word in _COMBINED):
        pass
    elif field.kind == "object" and isinstance(schema.get("properties"), dict):
        found.kind, found.fields = "group", _inner(field, depth)
    elif field.item is not None:
        found.kind, found.item = "list", form_field(field.item, depth + 1)
        found.blank = json.dumps(_blank(field.item.schema), ensure_ascii=False, indent=2)
    elif field.kind == "string":
        wanted = str(schema.get("format"))
        found.kind = wanted if wanted in {"long", "media"} else "text"
    elif field.kind in {"number", "integer"}:
        found.kind = "number"
    return found


def _blank(schema: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the initial value of an item; for an object with several forms, the first one."""
    if isinstance(schema, ByType):
        name, arm = next(iter(schema.items()))
        return {**_blank(arm), "type": name}
    value = first_value(schema)
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        value |= {one: _blank(parts[one]) for one in value if isinstance(parts.get(one), ByType)}
    return value


def _arm(name: str, schema: JsonObject, depth: int) -> FormField:
    arm = form_field(Field(name, schema), depth + 1)
    arm.blank = json_text({**first_value(schema), "type": name})
    return arm


def _inner(field: Field, depth: int) -> tuple[FormField, ...]:
    """Return the fields of an object without those that have only one possible value."""
    parts = (one for one in field.fields if "const" not in one.schema)
    return tuple(form_field(one, depth + 1) for one in parts)


def _choices(field: Field) -> tuple[tuple[str, str], ...]:
    """Return the allowed values as JSON, each with its title or itself."""
    if field.kind == "boolean":
        return ("true", say(SECTION, "field.yes")), ("false", say(SECTION, "field.no"))
    return tuple((json_text(one.value), one.title or _shown(one.value)) for one in field.choices)


def _shown(value: Any) -> str:  # noqa: ANN401 - any JSON value
    return value if isinstance(value, str) else json_text(value)


def unread(raw: str) -> tuple[Diagnostic, ...]:
    """Return why the text of one field is not JSON."""
    found = [one for one in read_json(raw).diagnostics if one.blocks]
    return tuple(_quoted(one, raw) if one.code == "J20" else one for one in found)


def _quoted(diagnostic: Diagnostic, raw: str) -> Diagnostic:
    """Offer quotes for words: in a field, unlike in a message, a string can be the whole value."""
    edit = TextEdit(0, len(raw), json_text(raw.strip()))
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
    say = Start("", "", message(exchange, "result", said), AnswerForm("/result/content", SAY))
    tools = tools_in(exchange)
    return (
        say,
        *(
            Start(
                name,
                _about(tools[name]),
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


def _about(tool: Mapping[str, Any]) -> str:
    return str(tool.get("description") or "")


def _form(tool: Mapping[str, Any]) -> AnswerForm:
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or len(json.dumps(schema)) > LARGEST_SCHEMA:
        schema = {}
    return AnswerForm("/result/content/input", schema)
