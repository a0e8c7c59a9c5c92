"""A retry with the user's input (2026-07-28) is judged against what the server asked for."""

import json
from typing import Any, Final

import pytest

from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import HINTS
from humanmcp.protocol.session import McpSession
from humanmcp.protocol.validation.whole_conversation import ConversationJudge
from tests.support.verdicts import stating

FORM: Final = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}
WHO: Final = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "Who?", "requestedSchema": FORM},
}
MODEL: Final = {
    "method": "sampling/createMessage",
    "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "x"}}],
        "maxTokens": 9,
    },
}
ASKED: Final = {"inputRequests": {"who": WHO}, "requestState": "s1"}
RIGHT: Final = {"who": {"action": "accept", "content": {"name": "x"}}}


def call(token: int, tool: str = "t", /, **params: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """Write a call."""
    meta = stating({"elicitation": {"form": {}}, "sampling": {}, "roots": {}})
    params = {"name": tool, "arguments": {}, "_meta": meta, **params}
    body = {"jsonrpc": "2.0", "id": token, "method": "tools/call", "params": params}
    return json.dumps(body).encode()


def question(asked: dict[str, Any]) -> bytes:
    """Write the result that asks back."""
    result = {"resultType": "input_required", **asked}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()


def judged(asked: dict[str, Any], *retries: bytes) -> list[tuple[str, str]]:
    """Return what is said of the retries of a call."""
    judge = ConversationJudge()
    for direction, line in ((Direction.IN, call(1)), (Direction.OUT, question(asked))):
        assert [one.diagnostics for one in judge.line(1, direction, line)] == [()]
    found = [one for line in retries for one in judge.line(2, Direction.IN, line)]
    said = [one for each in found for one in each.diagnostics if one.severity not in HINTS]
    return [(one.code, one.pointer.removeprefix("/params")) for one in said]


AT: Final = "/inputResponses"


@pytest.mark.parametrize(
    ("asked", "params", "found"),
    [
        (ASKED, {"inputResponses": RIGHT, "requestState": "s1"}, []),
        (ASKED, {"inputResponses": RIGHT, "requestState": "s2"}, [("M132", "/requestState")]),
        (ASKED, {"inputResponses": RIGHT}, [("M132", "")]),
        (
            {"inputRequests": {"who": WHO}},
            {"inputResponses": RIGHT, "requestState": "s1"},
            [("M132", "/requestState")],
        ),
        ({"inputRequests": {"who": WHO}}, {"inputResponses": RIGHT}, []),
        ({"requestState": "s1"}, {"requestState": "s1"}, []),
        (ASKED, {"requestState": "s1"}, [("M131", "")]),
        (ASKED, {"inputResponses": {}, "requestState": "s1"}, [("M131", AT)]),
        (
            ASKED,
            {"inputResponses": {**RIGHT, "whom": {"action": "cancel"}}, "requestState": "s1"},
            [("M130", f"{AT}/whom")],
        ),
        *(
            (ASKED, {"inputResponses": {"who": given}, "requestState": "s1"}, [(code, AT + at)])
            for given, code, at in (
                ({"action": "decline", "content": {"name": "x"}}, "M77", "/who/content"),
                ({"action": "cancel", "content": {"name": "x"}}, "M77", "/who/content"),
                ({"action": "accept", "content": {}}, "M78", "/who"),
                ({"action": "accept", "content": {"name": 5}}, "M79", "/who/content/name"),
                ({"action": "agree"}, "M21", "/who/action"),
                ({}, "M09", "/who"),
            )
        ),
        (
            {"inputRequests": {"m": MODEL}},
            {"inputResponses": {"m": {"role": "assistant", "model": "m", "content": "x"}}},
            [("M16", f"{AT}/m/content")],
        ),
        ({"inputRequests": {"r": {"method": "roots/list"}}}, {"inputResponses": {"r": {}}},
         [("M09", f"{AT}/r")]),
    ],
)  # fmt: skip
def test_a_retry_is_judged_against_its_question(
    asked: dict[str, Any], params: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    """By the rules of earlier versions; the state and the keys by the question."""
    assert judged(asked, call(2, **params)) == found


def test_a_retry_has_an_id_of_its_own() -> None:
    """It is an independent request."""
    right: dict[str, Any] = {"inputResponses": RIGHT, "requestState": "s1"}
    assert judged(ASKED, call(1, **right)) == [("M133", "/id")]


def test_what_is_no_retry_is_not_compared() -> None:
    """Another call, the same call anew, a retry that came already, and one without its question."""
    wrong: dict[str, Any] = {"inputResponses": {}, "requestState": "other"}
    assert judged(ASKED, call(2), call(3, "other", **wrong)) == []
    right: dict[str, Any] = {"inputResponses": RIGHT, "requestState": "s1"}
    assert judged(ASKED, call(2, **right), call(3, **right)) == []
    assert ConversationJudge().line(1, Direction.IN, call(1, **wrong))[0].diagnostics == ()


def test_a_server_is_told_of_it_too() -> None:
    """The same remarks where a person is the server."""
    session = McpSession()
    session.receive(call(1))
    (asked,) = session.pending
    session.reply(asked.number, question(ASKED).decode())
    session.receive(call(2, inputResponses={"who": {"action": "agree"}}, requestState="s1"))
    (retry,) = session.pending
    assert [one.code for one in retry.remarks] == ["M21"]
