"""Asking back while a request waits: what may be asked, how it is written, and what was heard."""

import json
from typing import Any

import pytest

from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.tables.schemas import SchemaRow
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.input_requests import (
    InputRequest,
    Obstacle,
    Why,
    answer,
    asked_at,
    obstacle,
    params,
    request,
)

EVERYTHING: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
KNOWN = NegotiatedState(client_capabilities=EVERYTHING, initialized=True)
ERAS = ("2025-11-25", "2026-07-28")


def exchange(version: str = "2025-11-25", method: str = "tools/call", **declared: Any) -> Exchange:  # noqa: ANN401 - any JSON value
    """Make a request that waits."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": declared or EVERYTHING,
    }
    inside = {"name": "weather", **({"_meta": meta} if version == "2026-07-28" else {})}
    line = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": inside})
    found = jsonrpc.read(line.encode())
    assert isinstance(found, Message)
    return Exchange(3, found, version)


FIELDS = (
    SchemaRow("city", needed=True),
    SchemaRow("days", "integer"),
    SchemaRow("unit", choices=("C", "F")),
    SchemaRow("sure", "boolean"),
)


@pytest.mark.parametrize("input_request", list(InputRequest))
def test_what_a_client_declared_may_be_asked(input_request: InputRequest) -> None:
    """In both eras: as a request, or as the answer."""
    for version in ERAS:
        assert obstacle(input_request, exchange(version), KNOWN) is None


@pytest.mark.parametrize("input_request", list(InputRequest))
def test_what_it_did_not_declare_may_not(input_request: InputRequest) -> None:
    """R32 and M57: the capability is named."""
    nothing = KNOWN._replace(client_capabilities={})
    capability = {"user": "elicitation", "model": "sampling", "roots": "roots"}[input_request.value]
    for version in ERAS:
        asked = exchange(version, experimental={})
        assert obstacle(input_request, asked, nothing) == Obstacle(Why.CAPABILITY, capability)


def test_a_client_that_only_opens_pages_has_no_forms() -> None:
    """2025-11-25: `elicitation.form` is its own capability as soon as one is named."""
    negotiated = KNOWN._replace(client_capabilities={"elicitation": {"url": {}}})
    assert obstacle(InputRequest.USER, exchange(), negotiated) == Obstacle(
        Why.CAPABILITY, "elicitation.form"
    )


def test_old_versions_cannot_ask_the_user() -> None:
    """Elicitation came with 2025-06-18; the other two were always there."""
    asked = exchange("2025-03-26")
    assert obstacle(InputRequest.USER, asked, KNOWN) == Obstacle(Why.VERSION)
    assert obstacle(InputRequest.MODEL, asked, KNOWN) is None


def test_nothing_is_asked_before_the_handshake_is_over() -> None:
    """R24: "SHOULD NOT send requests other than pings and logging" before `initialized`."""
    early = KNOWN._replace(initialized=False)
    assert obstacle(InputRequest.USER, exchange(), early) == Obstacle(Why.EARLY)
    assert obstacle(InputRequest.USER, exchange(method="initialize"), KNOWN) == Obstacle(Why.EARLY)


def test_in_the_modern_era_three_requests_are_answered_with_a_question() -> None:
    """tools/call, prompts/get and resources/read."""
    assert obstacle(InputRequest.USER, exchange(ERAS[1], "tools/list"), KNOWN) == Obstacle(
        Why.METHOD
    )
    assert obstacle(InputRequest.USER, exchange(ERAS[1], "prompts/get"), KNOWN) is None


def test_a_request_without_capabilities_is_asked_nothing() -> None:
    """2026-07-28: each request says what its client can do."""
    line = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}'
    found = jsonrpc.read(line)
    assert isinstance(found, Message)
    bare = Exchange(1, found, ERAS[1])
    assert obstacle(InputRequest.ROOTS, bare, KNOWN) == Obstacle(Why.CAPABILITY, "roots")


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("input_request", list(InputRequest))
def test_a_question_passes_the_check_of_what_is_said_first(
    input_request: InputRequest, version: str
) -> None:
    """The same check that the server makes; the id names the request that waits."""
    text = request(exchange(version), input_request, params(input_request, "Which?", FIELDS), "1")
    verdict = check.check_outgoing(text, version, KNOWN)
    assert verdict.errors == ()
    assert json.loads(text)["id"] == "ask-3-1"


@pytest.mark.parametrize("input_request", list(InputRequest))
def test_a_question_in_the_place_of_an_answer_passes_the_check(input_request: InputRequest) -> None:
    """2026-07-28: `input_required`, with a state that the repeat will carry."""
    asked = exchange(ERAS[1])
    text = answer(asked, input_request, params(input_request, "Which?", FIELDS), "1")
    assert check.check(asked, text).errors == ()
    assert json.loads(text)["result"]["requestState"] == "ask-3-1"


def test_the_fields_become_the_schema_of_the_form() -> None:
    """Types, a choice, and what must be filled in."""
    found = params(InputRequest.USER, "Which?", FIELDS)
    assert found is not None
    assert found["requestedSchema"] == {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "unit": {"type": "string", "enum": ["C", "F"]},
            "sure": {"type": "boolean"},
        },
        "required": ["city"],
    }
    free = params(InputRequest.USER, "Go on?")
    assert free is not None
    assert "required" not in free["requestedSchema"]


ASKED = request(exchange(), InputRequest.USER, params(InputRequest.USER, "Which?"), "1").encode()
SAID = b'{"jsonrpc":"2.0","id":"ask-3-1","result":{"action":"decline"}}'


def test_an_answer_is_found_at_the_request_that_waits() -> None:
    """Open first, then with what was said."""
    (still,) = asked_at(3, [(Direction.OUT, ASKED)])
    assert (still.input_request, still.token, still.answer) == (InputRequest.USER, "ask-3-1", None)
    (done,) = asked_at(3, [(Direction.OUT, ASKED), (Direction.IN, SAID)])
    assert done.answer is not None
    assert done.answer.body["result"] == {"action": "decline"}


@pytest.mark.parametrize(
    "line",
    [
        b"no JSON about ask-3-",
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ask-3-1"}}',
        b'{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"ask-3-1"}]}}',
        b'{"jsonrpc":"2.0","id":"xask-3-1","result":{}}',
        b'{"jsonrpc":"2.0","id":"ask-3-2","result":{}}',
        b'{"jsonrpc":"2.0","id":"ask-3-1","method":"ping"}',
    ],
)
def test_a_line_that_only_speaks_of_it_is_no_answer(line: bytes) -> None:
    """Only a response with the very id is one, and only a question is a question."""
    found = asked_at(3, [(Direction.OUT, ASKED), (Direction.IN, line)])
    assert [one.answer for one in found] == [None]
    assert asked_at(3, [(Direction.OUT, line)]) == ()


def test_the_questions_of_another_request_are_not_shown() -> None:
    """Number 33 is not number 3."""
    other = ASKED.replace(b"ask-3-1", b"ask-33-1")
    assert asked_at(3, [(Direction.OUT, other)]) == ()


@pytest.mark.parametrize("input_request", list(InputRequest))
@pytest.mark.parametrize("task", ["", "t-1"])
def test_a_question_is_written_with_the_task_that_it_belongs_to(
    input_request: InputRequest, task: str
) -> None:
    """Beside its parameters, or as the only one; without a task and parameters there are none."""
    asked = {
        InputRequest.USER: {
            "message": "雨?",
            "requestedSchema": {"type": "object", "properties": {}},
        },
        InputRequest.MODEL: {
            "messages": [{"role": "user", "content": {"type": "text", "text": "雨?"}}],
            "maxTokens": 1000,
        },
        InputRequest.ROOTS: None,
    }[input_request]
    method = {
        InputRequest.USER: "elicitation/create",
        InputRequest.MODEL: "sampling/createMessage",
        InputRequest.ROOTS: "roots/list",
    }[input_request]
    assert params(input_request, "雨?") == asked
    meta = {"io.modelcontextprotocol/related-task": {"taskId": task}}
    whole = {**(asked or {}), "_meta": meta} if task else asked
    wanted = {"jsonrpc": "2.0", "id": "ask-3-9", "method": method}
    text = request(exchange(), input_request, asked, "9", task)
    assert text == json.dumps(
        wanted if whole is None else {**wanted, "params": whole}, ensure_ascii=False, indent=2
    )


@pytest.mark.parametrize(
    ("input_request", "asked", "inner"),
    [
        (
            InputRequest.USER,
            {"message": "?"},
            {"method": "elicitation/create", "params": {"mode": "form", "message": "?"}},
        ),
        (
            InputRequest.USER,
            {"mode": "url"},
            {"method": "elicitation/create", "params": {"mode": "url"}},
        ),
        (
            InputRequest.MODEL,
            {"maxTokens": 1},
            {"method": "sampling/createMessage", "params": {"maxTokens": 1}},
        ),
        (InputRequest.ROOTS, None, {"method": "roots/list"}),
    ],
)
def test_a_question_in_the_place_of_an_answer_has_the_name_of_who_is_asked(
    input_request: InputRequest, asked: dict[str, Any] | None, inner: dict[str, Any]
) -> None:
    """And the number of the request and the mark as its state."""
    assert json.loads(answer(exchange(ERAS[1]), input_request, asked, "9")) == {
        "jsonrpc": "2.0",
        "id": 7,
        "result": {
            "resultType": "input_required",
            "inputRequests": {input_request.value: inner},
            "requestState": "ask-3-9",
        },
    }
