"""Results with something of everything in them, for `recording`, and what is wrong with them."""
# ruff: noqa: E501 - the values stand as they are

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from humanmcp.protocol.answer_book.following import BookMemory
from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.verdicts import R2025, R2026, asked, stating

_PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_SCHEMA: Final = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "n": {"type": "integer", "minimum": 1}},
    "required": ["a"],
}
_NOTE: Final = {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-02T03:04:05Z"}
_CAN: Final[dict[str, Any]] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}},
    "roots": {},
}


class Case(NamedTuple):
    """A right result: of which request, and after what."""

    method: str
    params: dict[str, Any]
    result: dict[str, Any]
    negotiated: NegotiatedState = NegotiatedState()
    versions: tuple[str, ...] = (R2025, R2026)

    def exchange(self, version: str) -> Exchange:
        """Return the request that it answers."""
        meta = {"_meta": stating(_CAN)} if version == R2026 else {}
        return asked(self.method, {**self.params, **meta}, version=version)

    def text(self, value: object, version: str) -> str:
        """Write a value as the result, with what 2026-07-28 wants in each."""
        done = (
            {"resultType": "complete"}
            if version == R2026 and self.method != "sampling/createMessage"
            else {}
        )
        kept = (
            {"ttlMs": 0, "cacheScope": "private"}
            if done and ("list" in self.method or "read" in self.method)
            else {}
        )
        return json.dumps(
            {**done, **kept, **value} if isinstance(value, dict) else value, ensure_ascii=False
        )


_CAPABILITIES: Final[dict[str, Any]] = {
    "tools": {},
    "prompts": {},
    "resources": {},
    "completions": {},
}
_LISTED: Final = NegotiatedState(
    server_capabilities=_CAPABILITIES,
    tools={"t": {"name": "t", "inputSchema": {}, "outputSchema": _SCHEMA}},
    initialized=True,
)
CASES: Final = (
    Case("tools/call", {"name": "t"}, {"content": [
        {"type": "text", "text": '{"a": "x", "n": 1}', "annotations": _NOTE},
        {"type": "image", "data": _PIXEL, "mimeType": "image/png"},
        {"type": "audio", "data": "SUQzAAAA", "mimeType": "audio/mpeg"},
        {"type": "resource_link", "uri": "file:///a", "name": "a", "title": "A", "mimeType": "text/plain", "size": 3},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "x", "mimeType": "text/plain"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": _PIXEL, "mimeType": "image/jpeg"}},
    ], "structuredContent": {"a": "x", "n": 1}, "isError": False}, _LISTED),
    Case("tools/call", {"name": "u"}, {"content": [], "isError": True}, NegotiatedState(server_capabilities={}, tools={})),
    Case("tools/list", {}, {"tools": [
        {"name": "t", "title": "T", "description": "D", "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "City"}, "b": {"type": "array", "items": {"type": "string", "x-mcp-header": "B"}}}},
         "outputSchema": _SCHEMA, "annotations": {"title": "T", "readOnlyHint": True, "destructiveHint": False}, "icons": [{"src": "https://h/i.png", "sizes": ["48x48"], "mimeType": "image/png"}]},
        {"name": "u", "inputSchema": {"type": "object", "$ref": "#/$defs/no"}},
        {"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"pattern": "("}}}},
    ], "nextCursor": "2"}, NegotiatedState(server_capabilities={"tools": {}})),
    Case("prompts/list", {}, {"prompts": [{"name": "p", "title": "P", "arguments": [{"name": "a", "description": "A", "required": True}, {"name": "a"}]}, {"name": "p"}]}, NegotiatedState(server_capabilities={})),
    Case("prompts/get", {"name": "p", "arguments": {"a": "x"}}, {"description": "D", "messages": [{"role": "user", "content": {"type": "text", "text": "x"}}, {"role": "assistant", "content": {"type": "image", "data": _PIXEL, "mimeType": "image/png"}}]}),
    Case("resources/list", {"cursor": "2"}, {"resources": [{"uri": "file:///a", "name": "a", "size": 1, "annotations": _NOTE}, {"uri": "file:///a", "name": "b"}], "nextCursor": "2"}),
    Case("resources/templates/list", {}, {"resourceTemplates": [{"uriTemplate": "file:///{a}", "name": "a"}, {"uriTemplate": "file:///{", "name": "b"}]}),
    Case("resources/read", {"uri": "file:///a"}, {"contents": [{"uri": "file:///a", "text": "x", "mimeType": "text/plain"}, {"uri": "other:", "blob": "AAAA"}]}),
    Case("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "x"}}, {"completion": {"values": ["xa", "b", "b"], "total": 1, "hasMore": True}}),
    Case("initialize", {"protocolVersion": "2025-11-25"}, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}, "experimental": {"x": {}}}, "serverInfo": {"name": "s", "version": "1", "capabilities": {"prompts": {}, "tools": {}}, "websiteUrl": "https://h"}, "tools": {}, "instructions": "x"}, versions=(R2025,)),
    Case("server/discover", {}, {"supportedVersions": ["2026-07-28", "2025-11-25"], "capabilities": {"tools": {}, "extensions": {"a/b": {}, "c": {}}}, "ttlMs": 1, "cacheScope": "public", "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}, "-a/b": 1}}, versions=(R2026,)),
    Case("tools/call", {"name": "t"}, {"resultType": "input_required", "requestState": "s", "inputRequests": {
        "a": {"method": "elicitation/create", "params": {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {
            "s": {"type": "string", "format": "email", "minLength": 1}, "e": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}, "o": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
            "m": {"type": "array", "items": {"type": "string", "enum": ["a"]}, "minItems": 1}, "n": {"type": "number", "default": 1}, "b": {"type": "boolean", "default": True}}, "required": ["s"]}}},
        "u": {"method": "elicitation/create", "params": {"mode": "url", "message": "?", "url": "https://h/", "elicitationId": "1"}},
        "m": {"method": "sampling/createMessage", "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}], "maxTokens": 1, "tools": [{"name": "t", "inputSchema": _SCHEMA}], "toolChoice": {"mode": "auto"}}},
        "r": {"method": "roots/list"}}}, versions=(R2026,)),
    Case("elicitation/create", {"message": "?", "requestedSchema": {"type": "object", "properties": {"s": {"type": "string", "format": "email"}, "n": {"type": "integer", "minimum": 2}, "m": {"type": "array", "items": {"type": "string", "enum": ["a"]}}, "b": {"type": "boolean"}}, "required": ["s", "n"]}}, {"action": "accept", "content": {"s": "a@b.c", "n": 2, "m": ["a"], "b": True}}, versions=(R2025,)),
    Case("sampling/createMessage", {"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}], "maxTokens": 9, "tools": [{"name": "weather", "inputSchema": _SCHEMA}, 7, {"name": 7}], "toolChoice": {"mode": "required"}}, {"role": "assistant", "model": "m", "stopReason": "toolUse", "content": [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "1", "name": "weather", "input": {"a": "x", "n": 1}}, {"type": "tool_use", "id": "1", "name": "wether", "input": {"a": 1}}]}, versions=(R2025,)),
    Case("roots/list", {}, {"roots": [{"uri": "file:///a", "name": "a"}, {"uri": "https://h"}]}, versions=(R2025,)),
    Case("tasks/get", {"taskId": "1"}, {"taskId": "1", "status": "working", "createdAt": "2026-01-02T03:04:05Z", "lastUpdatedAt": "2026-01-02", "ttl": None, "pollInterval": 5}, versions=(R2025,)),
    Case("tools/call", {"name": "t", "task": {"ttl": 1}}, {"task": {"taskId": "1", "status": "working", "createdAt": "2026-01-02T03:04:05Z", "lastUpdatedAt": "2026-01-02T03:04:05Z", "ttl": 1}}, versions=(R2025,)),
    Case("subscriptions/listen", {"notifications": {}}, {"_meta": {"io.modelcontextprotocol/subscriptionId": "x"}}, versions=(R2026,)),
)  # fmt: skip


PLAIN: Final = (
    ("words", TextForm.TEXT), ("", TextForm.TEXT), (" \n", TextForm.TOOL_ERROR), ("a\nb\u202e\ud800", TextForm.TOOL_ERROR),
    ("password=hunter2hunter2", TextForm.TEXT), ('{"a": "x"}', TextForm.TEXT), ('{"a": 1}', TextForm.TEXT), ("x" * 20, TextForm.ERROR),
)  # fmt: skip


def counted() -> Iterator[str]:
    """Yield what a session remembers of the rules that were followed."""
    from humanmcp.protocol.answer_book.decision import Decision  # noqa: PLC0415 - here only

    memory = BookMemory(b"s", used={1: 1})
    for decision in (
        Decision(entry=1, counts=True),
        Decision(entry=2, counts=True),
        Decision(entry=2),
        Decision(counts=True),
    ):
        memory.count(decision)
        yield f"{memory.used}"
    memory.clear()
    yield f"{memory.used} {memory.records}"
