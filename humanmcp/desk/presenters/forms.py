"""Which form an answer has: the few fields that a person fills in, as a JSON Schema.

A tool that declares an `outputSchema` brings its own. The other answers get the fields that people
really write; everything else of the message stays as it is, and stays reachable in JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.case import read_line
from humanmcp.desk.presenters.rendering import ROOM
from humanmcp.locales import say
from humanmcp.protocol.json.jsonrpc import Message, is_large
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.spec import methods, types
from humanmcp.protocol.spec.examples import example
from humanmcp.protocol.spec.objects import SHAPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.inbox.contract import Item
    from humanmcp.protocol.conversation.exchange import Established
    from humanmcp.protocol.spec.types import Kind, Member

LARGEST_SCHEMA: Final = 200_000
"""Characters of a declared schema that is still made a form of."""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """A schema, and the place in the message that it describes (a JSON Pointer).

    `mirror` says that the same value is also written as text for the model, as the specification
    asks of structured content.
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
"""The members that people write, by object of the specification; one that is missing is JSON."""

_LONG: Final = frozenset({"description", "instructions", "text"})
"""The members that may have many lines."""


class Switch(dict[str, Any]):
    """The schema of a member that is there, as an empty object or `true`, or is not."""


class ByType(dict[str, Any]):
    """The schemas of an object, by what its member `type` says."""


def _object(needed: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"type": "object", "properties": properties, "required": list(needed)}


def _object_of(name: str, revision: str) -> dict[str, Any]:
    members = {each: SHAPES[name].members[each] for each in _SHOWN[name]}
    known = {each: member for each, member in members.items() if member.exists(revision)}
    needed = tuple(each for each, member in known.items() if revision in member.required)
    return _object(
        needed, **{each: _schema(each, member, revision) for each, member in known.items()}
    )


def _schema(name: str, member: Member, revision: str) -> dict[str, Any]:
    if name == "type":  # nothing to choose here: which one it is, the arm says
        return {"const": None}
    schema = _schema_of(member.kind(revision), revision)
    if "enum" in schema:  # what one begins with stands first
        first = example(member, revision)
        schema["enum"].sort(key=lambda one: one != first)
    if name == "data":
        return {**schema, "format": "media"}
    if schema == {"type": "string"} and name in _LONG:
        return {**schema, "format": "long"}
    return schema or {"default": example(member, revision)}


def _schema_of(kind: Kind, revision: str) -> dict[str, Any]:  # noqa: PLR0911 - one line a kind
    """Return the JSON Schema of a kind of value; an empty one for what is written as JSON."""
    match kind:
        case str():
            return _object_of(kind, revision) if kind in _SHOWN else {}
        case types.Text():
            return {"type": "string"}
        case types.Boolean():
            return {"type": "boolean"}
        case types.Number():
            return {"type": "integer" if kind.whole else "number"}
        case types.OneOf():
            return {"type": "string", "enum": list(kind.values)}
        case types.ListOf():
            return {"type": "array", "items": _schema_of(kind.item, revision)}
        case types.OneOrMany():  # the list of a form begins with the one that is there
            one = _schema_of(kind.item, revision)
            return {"type": "array", "items": one} if kind.many_since <= revision else one
        case types.ByMember():
            return ByType(
                (arm, _object_of(shape, revision))
                for arm, shape in kind.shapes.items()
                if shape in _SHOWN and SHAPES[shape].since <= revision
            )
        case types.ByPresence():  # what has a `blob` need not have a text
            schema = _schema_of(kind.shapes["text"], revision)
            needed = [one for one in schema["required"] if one not in kind.shapes]
            blob = {"blob": {"type": "string", "format": "media"}} if "blob" in kind.shapes else {}
            return {**schema, "properties": {**schema["properties"], **blob}, "required": needed}
        case _:
            return {}


_OFFERED: Final = ("tools", "resources", "prompts", "completions", "logging")
"""The capabilities of a server that a person turns on and off; others are JSON."""


def _capabilities(revision: str, language: str) -> dict[str, Any]:
    """Return a switch a line, each with what the other side may do then, and those in it."""
    known = SHAPES["ServerCapabilities"].members
    return _object(
        **{
            one: Switch(
                description=say(ROOM, f"offers.{one}", language),
                properties={
                    name: Switch(type="boolean", description=say(ROOM, f"offers.{name}", language))
                    for name in SHAPES[str(known[one].kind(revision))].members
                },
            )
            for one in _OFFERED
            if known[one].exists(revision)
        }
    )


def form_of(item: Item, established: Established, tool: str, language: str) -> AnswerForm | None:
    """Return the form of an answer, None when there is nothing to fill in."""
    if item.method == "tools/call":
        schema = _tool_schema(established, tool, "outputSchema")
        if schema is not None:
            return AnswerForm("/result/structuredContent", schema, mirror=True)
    if item.method == "elicitation/create":
        return AnswerForm("/result", _asked_for(item, language))
    result = methods.of(item.method).result_in(item.revision)
    if result not in _SHOWN:
        return None
    schema = _object_of(result, item.revision)
    if "capabilities" in schema["properties"]:
        schema["properties"]["capabilities"] = _capabilities(item.revision, language)
    return AnswerForm("/result", schema)


def _asked_for(item: Item, language: str) -> Mapping[str, Any]:
    """Return the form that a server asks its user to fill in, below what the user decides."""
    words = [
        {"const": one, "title": say(ROOM, f"elicit.{one}", language)}
        for one in ("accept", "decline", "cancel")
    ]
    action = {"type": "string", "title": say(ROOM, "elicit.action", language), "oneOf": words}
    asked = None if is_large(item.line) else read_line(item.line)
    schema = asked.params.get("requestedSchema") if isinstance(asked, Message) else None
    if not isinstance(schema, dict) or len(json.dumps(schema)) > LARGEST_SCHEMA:
        return _object(("action",), action=action)
    content = {"title": say(ROOM, "elicit.content", language), **schema}
    return _object(("action",), action=action, content=content)


def arguments_form(established: Established, tool: str) -> AnswerForm | None:
    """Return the form of the arguments of a held call, None when the tool declared none."""
    schema = _tool_schema(established, tool, "inputSchema")
    if schema is None or not schema.get("properties"):
        return None
    return AnswerForm("/params/arguments", schema)


def _tool_schema(established: Established, tool: str, member: str) -> Mapping[str, Any] | None:
    """Return a schema that a tool declared. It came over a wire: it may be anything."""
    schema = follow((established.tools or {}).get(tool), member)
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return None
    return schema if len(json.dumps(schema)) <= LARGEST_SCHEMA else None
