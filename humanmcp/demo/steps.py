"""What the demo's host says: the weather session, with the tools that it was offered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.validation.starting_draft import empty_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from humanmcp.protocol.json.jsonrpc import JsonObject

TOOL: Final = "get-japan-forecast"
REVISION: Final = "2024-11-05"
HOST: Final = "humanmcp demo host"
"""What the demo's host calls itself."""

_PLACES: Final = {
    "en": ("Tokyo", "Osaka", "Hokkaido"),
    "ja": ("東京", "大阪", "北海道"),
}
_ANSWERS: Final = {
    "en": ("sunny", "too far away, look it up yourself", "I only know the weather in Tokyo"),
    "ja": ("晴れ", "遠い。自分で調べて", "東京の天気以外知りません。自分でググって"),
}
_SCHEMA: Final = {
    "type": "object",
    "properties": {"location": {"type": "string", "description": "location name"}},
    "required": ["location"],
}


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One message of the host. `code` names its sentences; `example` is an answer to copy.

    `params` is None for a tool call: which tool there is turns out on the way. A step without an
    example is a notification: it has no answer.
    """

    code: str
    method: str
    params: Mapping[str, Any] | None
    example: Mapping[str, Any] | None = None
    place: str = ""


LIST_AGAIN: Final = DemoStep("tools-again", "tools/list", {})
"""What the host asks when it was told that the tools have changed."""


def script(language: str) -> tuple[DemoStep, ...]:
    """Return the weather session: the messages that a real host sent to the first such server."""
    codes = ("call-tokyo", "call-osaka", "call-hokkaido")
    places = _PLACES.get(language, _PLACES["en"])
    said, *refusals = _ANSWERS.get(language, _ANSWERS["en"])
    answers: list[JsonObject] = [{"result": {"content": [{"type": "text", "text": said}]}}]
    answers += [{"error": {"code": -32602, "message": why}} for why in refusals]
    calls = zip(codes, answers, places, strict=True)
    return (
        DemoStep("initialize", "initialize", _INITIALIZE, {"result": _SERVER}),
        DemoStep("initialized", "notifications/initialized", {}),
        DemoStep("tools-list", "tools/list", {}, {"result": {"tools": [_FORECAST]}}),
        *(DemoStep(code, "tools/call", None, answer, place) for code, answer, place in calls),
    )


_INITIALIZE: Final = {
    "protocolVersion": REVISION,
    "capabilities": {"roots": {"listChanged": True}},
    "clientInfo": {"name": HOST, "version": "1.0.0"},
}
_SERVER: Final = {
    "protocolVersion": REVISION,
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "humanmcp", "version": "1.0.0"},
}
_FORECAST: Final = {
    "name": TOOL,
    "description": "Get weather forecast",
    "inputSchema": _SCHEMA,
}


def requests(language: str) -> tuple[DemoStep, ...]:
    """Return the steps that want an answer: what a person has to do in the session."""
    return tuple(step for step in script(language) if step.example is not None)


def call_of(tools: Sequence[JsonObject], place: str) -> JsonObject | None:
    """Let a model choose: the first tool, every argument filled in. None when there is no tool."""
    if not tools:
        return None
    tool = tools[0]
    return {"name": tool["name"], "arguments": _arguments(tool, place)}


def _arguments(tool: JsonObject, place: str) -> JsonObject:
    """Fill in every argument that the schema names; a text says the place that it is about."""
    schema = tool.get("inputSchema")
    fields = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(fields, dict):
        return {}
    all_needed = {"inputSchema": {**schema, "required": list(fields)}} if schema else {}
    return {
        name: place if value == "" else value for name, value in empty_arguments(all_needed).items()
    }
