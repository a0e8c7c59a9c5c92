"""What the check says of messages that pass, in both directions."""

import json
from typing import Any

import pytest

from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.validation.whole_conversation import hints
from tests.support.verdicts import R2025, R2026, stating


def said(*messages: tuple[Direction, dict[str, Any]], version: str = "2025-06-18") -> list[str]:
    """Let messages pass and collect what is said of the last one."""
    state = ConversationState()
    codes: list[str] = []
    for direction, body in messages:
        found = read(json.dumps({"jsonrpc": "2.0", **body}).encode())
        assert isinstance(found, Message)
        observed = state.observe(direction, found)
        codes = [diagnostic.code for diagnostic in hints(observed, state.negotiated, version)]
    return codes


def line_of(line: str) -> Message:
    """Read a line as it was recorded."""
    found = read(line.encode())
    assert isinstance(found, Message)
    return found


def levels(*passed: tuple[Direction, Message]) -> list[tuple[str, Severity]]:
    """Let recorded lines pass; return what is said of the last one, and how loudly."""
    state = ConversationState()
    told: list[tuple[str, Severity]] = []
    for direction, message in passed:
        observed = state.observe(direction, message)
        found = hints(observed, state.negotiated, "2025-11-25")
        told = [(diagnostic.code, diagnostic.severity) for diagnostic in found]
    return told


CALL = {"id": 1, "method": "tools/call", "params": {"name": "t"}}


IN, OUT = Direction.IN, Direction.OUT
LISTED = {"id": 2, "method": "tools/list"}
CANCELLED = {"method": "notifications/cancelled", "params": {"requestId": 2}}
LATE = (OUT, {"id": 2, "result": {"tools": []}})
WRONG = (OUT, {"id": 2, "result": {"content": 4}})
LOGGED = {"method": "notifications/message", "params": {"level": "info", "data": "ready"}}
STATED = {"_meta": stating({})}


@pytest.mark.parametrize(
    ("version", "messages", "codes"),
    [
        (R2025, [(IN, CALL), (OUT, {"id": 1, "result": {"content": 4}})], ["M01"]),
        (R2025, [(IN, {**CALL, "params": {"name": "t", "args": {}}})], ["M87", "M86"]),
        # a wrong id hides no other mistake where one request waits; with two nobody can tell
        (R2025, [(IN, CALL), WRONG], ["N30", "M01"]),
        (R2025, [(IN, CALL), (IN, {**CALL, "id": 7}), WRONG], ["N30"]),
        (R2025, [WRONG], ["N30"]),
        # an answer that comes late is not judged as another: races are to be expected
        (R2025, [(IN, LISTED), (IN, CALL), (IN, CANCELLED), LATE], ["N47"]),
        (R2025, [(IN, LISTED), (IN, CALL), LATE, LATE], ["N44"]),
        (R2025, [(IN, LISTED), LATE, (OUT, {**LATE[1], "id": "2"})], ["R04"]),
        # 2026-07-28 has no ping, also where the session speaks another version
        (R2025, [(IN, {"id": 1, "method": "ping", "params": STATED})], ["M85"]),
        (R2025, [(IN, {"id": 1, "method": "tools/list", "params": STATED})], []),
        (R2025, [(IN, {"id": 1, "method": "ping"})], []),
        # methods go one way only; 2026-07-28 took requests to the client out
        ("2025-06-18", [(OUT, {"id": 1, "method": "roots/list"})], []),
        (R2026, [(OUT, {"id": 1, "method": "roots/list"})], ["N31"]),
        ("2025-06-18", [(OUT, {"id": 1, "method": "tools/list"})], ["N31"]),
        ("2025-06-18", [(OUT, LOGGED)], []),
        ("2025-06-18", [(OUT, {"method": "notifications/initialized"})], ["N31"]),
        # what a server says by itself has a shape
        (R2025, [(OUT, {**LOGGED, "params": {"level": "loud", "data": 1}})], ["M21"]),
        (R2025, [(OUT, {**LOGGED, "params": {"level": "info"}})], ["M09"]),
        (R2025, [(OUT, {"id": 1, "method": "roots/list", "params": []})], ["R38"]),
        (R2025, [(OUT, {"id": 1, "method": "sampling/createMessage", "params": {"messages": []}})],
         ["M09"]),
    ],
)  # fmt: skip
def test_what_passes_is_explained(
    version: str, messages: list[tuple[Direction, dict[str, Any]]], codes: list[str]
) -> None:
    """What a real client or server does wrong, as a tap hears it."""
    assert said(*messages, version=version) == codes


def test_a_server_that_chooses_another_version_makes_no_mistake() -> None:
    """MCP: else "the server MUST respond with another protocol version it supports".

    The line is from the server of Python's `mcp` 1.9.4.
    """
    request = line_of(
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
        '"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
    )
    answer = line_of(
        '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":'
        '{"experimental":{},"prompts":{"listChanged":false},"resources":{"subscribe":false,'
        '"listChanged":false},"tools":{"listChanged":false}},"serverInfo":{"name":"fm",'
        '"version":"1.9.4"}}}'
    )
    assert levels((Direction.IN, request), (Direction.OUT, answer)) == [("M04", Severity.HINT)]


def test_a_form_that_a_program_made_of_a_class_is_a_form() -> None:
    """The question is one of Python's `mcp` 1.30: the title is JSON Schema's, and harms nobody."""
    question = line_of(
        '{"method":"elicitation/create","params":{"mode":"form","message":"Who?",'
        '"requestedSchema":{"properties":{"name":{"title":"Name","type":"string"}},'
        '"required":["name"],"title":"N","type":"object"}},"jsonrpc":"2.0","id":0}'
    )
    assert levels((Direction.OUT, question)) == []
