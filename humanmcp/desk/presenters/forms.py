"""Which form an answer has: the few fields that a person fills in, as a JSON Schema.

A tool that declares an `outputSchema` brings its own. The other answers get the fields that people
really write; everything else of the message stays as it is, and stays reachable in JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.inbox.contract import Item
    from humanmcp.protocol.conversation.exchange import Established

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


_TEXT: Final = {"type": "string"}
_LONG: Final = {"type": "string", "format": "long"}


def _object(needed: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"type": "object", "properties": properties, "required": list(needed)}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


_ANY: Final[dict[str, Any]] = {}
_SCHEMA: Final = {"default": {"type": "object"}}
_ROLE: Final = {"type": "string", "enum": ["user", "assistant"]}
_TEXT_ITEM: Final = _object(("type", "text"), type={"const": "text"}, text=_LONG)
_ENTRY: Final = {"title": _TEXT, "description": _LONG}
_SERVER: Final = _object(("name", "version"), name=_TEXT, version=_TEXT)

_BY_METHOD: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "initialize": _object(
            ("protocolVersion", "serverInfo", "capabilities"),
            protocolVersion=_TEXT,
            serverInfo=_SERVER,
            instructions=_LONG,
            capabilities=_ANY,
        ),
        "server/discover": _object(
            ("supportedVersions", "capabilities"),
            supportedVersions=_list(_TEXT),
            instructions=_LONG,
            capabilities=_ANY,
        ),
        "tools/list": _object(
            ("tools",),
            tools=_list(
                _object(("name", "inputSchema"), name=_TEXT, **_ENTRY, inputSchema=_SCHEMA)
            ),
        ),
        "resources/list": _object(
            ("resources",),
            resources=_list(
                _object(("uri", "name"), uri=_TEXT, name=_TEXT, **_ENTRY, mimeType=_TEXT)
            ),
        ),
        "resources/templates/list": _object(
            ("resourceTemplates",),
            resourceTemplates=_list(
                _object(("uriTemplate", "name"), uriTemplate=_TEXT, name=_TEXT, **_ENTRY)
            ),
        ),
        "prompts/list": _object(
            ("prompts",),
            prompts=_list(
                _object(
                    ("name",),
                    name=_TEXT,
                    **_ENTRY,
                    arguments=_list(
                        _object(
                            ("name",), name=_TEXT, description=_TEXT, required={"type": "boolean"}
                        )
                    ),
                )
            ),
        ),
        "prompts/get": _object(
            ("messages",),
            description=_TEXT,
            messages=_list(_object(("role", "content"), role=_ROLE, content=_TEXT_ITEM)),
        ),
        "resources/read": _object(
            ("contents",),
            contents=_list(_object(("uri",), uri=_TEXT, mimeType=_TEXT, text=_LONG)),
        ),
        "sampling/createMessage": _object(("content",), content=_object(("text",), text=_LONG)),
        "completion/complete": _object(
            ("completion",),
            completion=_object(
                ("values",),
                values=_list(_TEXT),
                total={"type": "integer"},
                hasMore={"type": "boolean"},
            ),
        ),
    }
)


def form_of(item: Item, established: Established, tool: str) -> AnswerForm | None:
    """Return the form of an answer, None when there is nothing to fill in."""
    if item.method == "tools/call":
        schema = _output_schema(established, tool)
        return (
            None if schema is None else AnswerForm("/result/structuredContent", schema, mirror=True)
        )
    if item.method == "elicitation/create":
        return AnswerForm("/result", _asked_for(item))
    found = _BY_METHOD.get(item.method)
    return None if found is None else AnswerForm("/result", found)


def _asked_for(item: Item) -> Mapping[str, Any]:
    """Return the form that a server asks its user to fill in, below what the user decides."""
    action = {"type": "string", "enum": ["accept", "decline", "cancel"]}
    try:
        schema = json.loads(item.line)["params"]["requestedSchema"]
    except (ValueError, KeyError, TypeError):
        return _object(("action",), action=action)
    if not isinstance(schema, dict) or len(json.dumps(schema)) > LARGEST_SCHEMA:
        return _object(("action",), action=action)
    return _object(("action",), action=action, content=schema)


def _output_schema(established: Established, tool: str) -> Mapping[str, Any] | None:
    """Return what a tool declared of its answers. It came over a wire: it may be anything."""
    declared = (established.tools or {}).get(tool)
    schema = declared.get("outputSchema") if isinstance(declared, dict) else None
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return None
    return schema if len(json.dumps(schema)) <= LARGEST_SCHEMA else None
