"""What a side declared, it knows; a task is called as one; initialize comes first."""

import json
from typing import Any, Final

import pytest

from humanmcp.protocol.diagnostics.model import HINTS
from humanmcp.protocol.validation.captures import CapturedLine
from humanmcp.protocol.validation.whole_conversation import judge_capture

CLIENT: Final[dict[str, Any]] = {"elicitation": {}, "roots": {}}
SERVER: Final[dict[str, Any]] = {
    "tools": {},
    "resources": {},
    "logging": {},
    "tasks": {"requests": {"tools": {"call": {}}}},
}


def error(token: int, code: int = -32601) -> dict[str, Any]:
    """Make an error."""
    return {"id": token, "error": {"code": code, "message": "no"}}


def found(*messages: dict[str, Any], handshake: bool = True) -> list[tuple[int, str]]:
    """Judge a conversation: what is said, by the number of the message after the handshake."""
    hello: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": CLIENT}
    hello["clientInfo"] = {"name": "c", "version": "1"}
    first = [
        {"id": 0, "method": "initialize", "params": hello},
        {"id": 0, "result": {"protocolVersion": "2025-11-25", "capabilities": SERVER,
                             "serverInfo": {"name": "s", "version": "1"}}},
        {"method": "notifications/initialized"},
    ]  # fmt: skip
    lines = [
        CapturedLine(number, None, json.dumps({"jsonrpc": "2.0", **message}))
        for number, message in enumerate((*(first if handshake else ()), *messages), 1)
    ]
    offset = 3 if handshake else 0
    return [
        (judged.line - offset, one.code)
        for judged in judge_capture(lines, goes_on=True)
        for one in judged.diagnostics
        if one.severity not in HINTS
    ]


FORM: Final = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
URL: Final = {"mode": "url", "message": "?", "url": "https://a.example", "elicitationId": "1"}


@pytest.mark.parametrize(
    ("method", "params", "code", "is_told"),
    [
        ("tools/list", {}, -32601, True),
        ("resources/list", {}, -32601, True),
        ("logging/setLevel", {"level": "info"}, -32601, True),
        ("elicitation/create", FORM, -32601, True),
        ("roots/list", {}, -32601, True),
        ("tools/list", {}, -32603, False),
        ("elicitation/create", FORM, -1, False),
        ("prompts/list", {}, -32601, False),
        ("resources/templates/list", {}, -32601, False),
        ("resources/subscribe", {"uri": "file:///a"}, -32601, False),
        ("tools/call", {"name": "t"}, -32601, False),
        ("elicitation/create", URL, -32601, False),
    ],
)
def test_what_is_declared_is_not_refused_as_unknown(
    method: str, params: dict[str, Any], code: int, *, is_told: bool
) -> None:
    """What a part of a capability may lack, or what was not declared, may be unknown."""
    told = found({"id": 5, "method": method, "params": params}, error(5, code))
    assert ((2, "M134") in told) is is_told


@pytest.mark.parametrize(
    ("support", "more", "code"),
    [
        ("required", {}, "M135"),
        ("required", {"task": {}}, ""),
        ("optional", {}, ""),
        ("optional", {"task": {}}, ""),
        ("forbidden", {"task": {}}, "M136"),
        ("forbidden", {}, ""),
        (None, {"task": {}}, "M136"),
    ],
)
def test_a_tool_is_called_as_a_task_if_it_is_one(
    support: str | None, more: dict[str, Any], code: str
) -> None:
    """By what the list says of it."""
    tool: dict[str, Any] = {"name": "t", "inputSchema": {"type": "object"}}
    tool |= {} if support is None else {"execution": {"taskSupport": support}}
    listed = ({"id": 5, "method": "tools/list"}, {"id": 5, "result": {"tools": [tool]}})
    call = {"id": 6, "method": "tools/call", "params": {"name": "t", **more}}
    assert found(*listed, call) == ([(3, code)] if code else [])


@pytest.mark.parametrize(
    ("method", "params", "code", "is_told"),
    [
        ("tools/list", {}, -32602, True),
        ("prompts/list", {}, -32602, True),
        ("tools/list", {"cursor": "x"}, -32602, False),
        ("tools/list", {}, -32603, False),
        ("tools/call", {"name": "t"}, -32602, False),
    ],
)
def test_a_list_that_is_refused_without_a_handshake_is_explained(
    method: str, params: dict[str, Any], code: int, *, is_told: bool
) -> None:
    """A list has no parameters that could be invalid; the recording begins with it."""
    request = {"id": 5, "method": method, "params": params}
    assert found(request, error(5, code), handshake=False) == ([(2, "N60")] if is_told else [])
    assert (2, "N60") not in found(request, error(5, code))
    ping = ({"id": 4, "method": "ping"}, {"id": 4, "result": {}})
    assert found(*ping, request, error(5, code), handshake=False) == []
