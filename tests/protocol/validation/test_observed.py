"""What the check says of messages that pass, in both directions."""

import json
from typing import Any

import pytest

from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.validation.whole_conversation import hints
from tests.asking import stating


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


def test_a_broken_answer_of_a_real_server_is_explained() -> None:
    """Content that is no list."""
    assert said((Direction.IN, CALL), (Direction.OUT, {"id": 1, "result": {"content": 4}})) == [
        "M01"
    ]


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


def test_a_wrong_id_hides_no_other_mistake_where_one_request_waits() -> None:
    """What is judged is the answer to that one; with two nobody can tell."""
    wrong = (Direction.OUT, {"id": 2, "result": {"content": 4}})
    assert said((Direction.IN, CALL), wrong) == ["N30", "M01"]
    assert said((Direction.IN, CALL), (Direction.IN, {**CALL, "id": 7}), wrong) == ["N30"]
    assert said(wrong) == ["N30"]


def test_an_answer_that_comes_late_is_not_judged_as_another() -> None:
    """Its request was cancelled, and another waits: races are to be expected."""
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 2}}
    late = (Direction.OUT, {"id": 2, "result": {"tools": []}})
    listed = {"id": 2, "method": "tools/list"}
    before = ((Direction.IN, listed), (Direction.IN, CALL), (Direction.IN, cancelled))
    assert said(*before, late) == ["N30"]
    answered = ((Direction.IN, listed), (Direction.IN, CALL), late)
    assert said(*answered, late) == ["N30"]


def test_a_wrong_request_of_a_real_client_is_explained() -> None:
    """`args` for `arguments`."""
    assert said((Direction.IN, {**CALL, "params": {"name": "t", "args": {}}})) == ["M87", "M86"]


def test_a_request_is_held_against_the_version_that_it_states_itself() -> None:
    """2026-07-28 has no ping, also where the session speaks another version."""
    stated = {"_meta": stating({})}
    assert said((Direction.IN, {"id": 1, "method": "ping", "params": stated})) == ["M85"]
    assert said((Direction.IN, {"id": 1, "method": "tools/list", "params": stated})) == []
    assert said((Direction.IN, {"id": 1, "method": "ping"})) == []


@pytest.mark.parametrize(
    ("method", "version", "wrong"),
    [
        ("roots/list", "2025-06-18", False),
        ("roots/list", "2026-07-28", True),
        ("tools/list", "2025-06-18", True),
        ("notifications/message", "2025-06-18", False),
        ("notifications/initialized", "2025-06-18", True),
    ],
)
def test_what_a_server_may_not_send_is_said(method: str, version: str, wrong: bool) -> None:  # noqa: FBT001 - a column of the table
    """Methods go one way only; 2026-07-28 took requests to the client out."""
    body: dict[str, Any] = {"method": method}
    if not method.startswith("notifications/"):
        body["id"] = 1
    if method == "notifications/message":
        body["params"] = {"level": "info", "data": "ready"}
    assert said((Direction.OUT, body), version=version) == (["N31"] if wrong else [])


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ({"method": "notifications/message", "params": {"level": "loud", "data": 1}}, ["M21"]),
        ({"method": "notifications/message", "params": {"level": "info"}}, ["M09"]),
        ({"id": 1, "method": "roots/list", "params": []}, ["R38"]),
        ({"id": 1, "method": "sampling/createMessage", "params": {"messages": []}}, ["M09"]),
    ],
)
def test_what_a_server_says_by_itself_is_held_against_its_shape(
    body: dict[str, Any], codes: list[str]
) -> None:
    """A log line without a level, a question to the model without a limit."""
    assert said((Direction.OUT, body)) == codes
