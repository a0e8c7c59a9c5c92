"""A turn in a model's place, held against what the host offered, before it is sent."""

import json
from typing import Any

import pytest

from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.rules import sampling
from humanmcp.protocol.validation.rules.sampling import TEXT_ONLY
from tests.support.verdicts import asked

SIDES = {
    "type": "object",
    "properties": {"sides": {"type": "integer"}},
    "required": ["sides"],
}
TOOLS = [{"name": "dice__dice", "inputSchema": SIDES}]
BEFORE = [
    {"role": "user", "content": {"type": "text", "text": "roll"}},
    {
        "role": "assistant",
        "content": {
            "type": "tool_use",
            "id": "call-1",
            "name": "dice__dice",
            "input": {"sides": 6},
        },
    },
    {
        "role": "user",
        "content": {"type": "tool_result", "toolUseId": "call-1", "content": []},
    },
]
IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
TEXT = {"type": "text", "text": "There you are."}


def call(name: str = "dice__dice", own: str = "call-2", **given: object) -> dict[str, Any]:
    """Write a call."""
    return {"type": "tool_use", "id": own, "name": name, "input": given}


def found(content: object, client: str = TEXT_ONLY, **more: object) -> list[str]:
    """Return the codes of the errors that a turn has."""
    params = {"messages": BEFORE, "maxTokens": 10, "tools": TOOLS, **more}
    exchange = asked("sampling/createMessage", params)
    negotiated = NegotiatedState(
        client, client_capabilities={"sampling": {"tools": {}}}, initialized=True
    )
    turn = {"role": "assistant", "model": "a person", "content": content}
    verdict = check.check(exchange, json.dumps(turn), TextForm.RESULT, negotiated)
    assert verdict.sendable is (not verdict.errors)
    return [one.code for one in verdict.errors]


@pytest.mark.parametrize(
    ("mode", "content", "codes"),
    [
        ("required", TEXT, ["M137"]),
        ("required", [], []),
        ("required", [TEXT, call(sides=6)], []),
        ("none", call(sides=6), ["M138"]),
        ("none", [TEXT, call(sides=6), call(own="call-3", sides=6)], ["M138"]),
        ("none", TEXT, []),
        ("auto", TEXT, []),
        ("auto", call(sides=6), []),
    ],
)
def test_a_turn_keeps_what_the_server_chose(mode: str, content: object, codes: list[str]) -> None:
    """It is sent anyway, or not at all."""
    assert found(content, toolChoice={"mode": mode}) == codes


@pytest.mark.parametrize(
    ("content", "codes"),
    [
        (TEXT, []),
        (call(sides=6), []),
        ([TEXT, call(sides=6), call(own="call-3", sides=8)], []),
        (call("dice__dyce", sides=6), ["M95"]),
        (call(sides="six"), ["M96"]),
        (call(), ["M96"]),
        ([call(sides=6), call(sides=6)], ["M97"]),
        (call(own="call-1", sides=6), ["M97"]),
        (IMAGE, ["M98"]),
        ([TEXT, IMAGE], ["M98"]),
    ],
)
def test_a_turn_that_the_host_cannot_use_is_not_sendable(content: object, codes: list[str]) -> None:
    """Another tool, another input, an id that is taken, a picture that would be lost."""
    assert found(content) == codes


def test_a_picture_is_right_where_a_server_asked_for_a_model() -> None:
    """MCP allows it; only our own host has no place for it."""
    assert found(IMAGE, "another host") == []


def test_the_fixes_name_the_tool_that_was_meant_and_a_free_id() -> None:
    """What has one meaning can be fixed by a click."""
    exchange = asked("sampling/createMessage", {"messages": [], "maxTokens": 1, "tools": TOOLS})
    text = json.dumps(
        {
            "role": "assistant",
            "model": "x",
            "content": [call("dice__dise", sides=6), call(sides=6), call(sides=6)],
        }
    )
    for _ in range(2):
        verdict = check.check(exchange, text, TextForm.RESULT, NegotiatedState(TEXT_ONLY))
        fix = next(one.fix for one in verdict.diagnostics if one.fix is not None)
        text = fix.apply(text)
    content = json.loads(text)["content"]
    assert [block["name"] for block in content] == ["dice__dice"] * 3
    assert (
        len({block["id"] for block in content}) == 3
        or check.check(exchange, text, TextForm.RESULT, NegotiatedState(TEXT_ONLY)).errors
    )


def test_the_draft_of_a_call_begins_with_what_the_tool_needs() -> None:
    """A draft that cannot be sent as it is says at least what is missing."""
    exchange = asked("sampling/createMessage", {"messages": [], "maxTokens": 1, "tools": TOOLS})
    draft = check.templates(exchange)["call dice__dice"]
    assert json.loads(draft)["result"]["content"]["input"] == {"sides": "…"}


def test_a_form_begins_without_what_nobody_needs_and_nobody_filled_in() -> None:
    """An empty address would break the form, and is not required."""
    fields = {
        "mail": {"type": "string", "format": "email"},
        "name": {"type": "string", "minLength": 1},
        "colour": {"oneOf": [{"const": "#f00", "title": "Red"}]},
    }
    form = {"type": "object", "properties": fields, "required": ["name"]}
    exchange = asked("elicitation/create", {"message": "?", "requestedSchema": form})
    content = json.loads(check.start(exchange))["result"]["content"]
    assert content == {"name": "", "colour": "#f00"}


@pytest.mark.parametrize(
    ("reason", "codes"),
    [("toolUse", []), ("my own", []), ("tool_use", ["M126"]), ("end_turn", ["M126"])],
)
def test_a_reason_to_stop_has_the_name_of_mcp(reason: str, codes: list[str]) -> None:
    """The words of a model's own API are known; others are allowed."""
    exchange = asked("sampling/createMessage", {"messages": [], "maxTokens": 1})
    answer = {"role": "assistant", "model": "m", "content": TEXT, "stopReason": reason}
    verdict = check.check(exchange, json.dumps(answer), TextForm.RESULT)
    assert [one.code for one in verdict.diagnostics] == codes


def _use(*ids: str) -> list[dict[str, str]]:
    return [{"type": "tool_use", "id": one, "name": "dice"} for one in ids]


def _result(*ids: str) -> list[dict[str, str]]:
    return [{"type": "tool_result", "toolUseId": one} for one in ids]


TEXT = {"type": "text", "text": "x"}


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        ([], []),
        ([[TEXT]], []),
        ([_use("a"), _result("a")], []),
        ([_use("a")[0], _result("a")[0]], []),
        ([_use("a", "b"), _result("b", "a")], []),
        ([[TEXT, *_use("a")], _result("a"), _use("b"), _result("b")], []),
        ([_use("b", "a")], ['M124 /m "a", "b"']),
        ([_use("b", "a"), _result("b")], ['M124 /m/1/content "a"']),
        ([_use("a"), _result("c", "a", "b")], ['M124 /m/1/content "b", "c"']),
        ([_use("a"), _result("b")], ['M124 /m/1/content "a", "b"']),
        ([_result("a")], ['M124 /m/0/content "a"']),
        ([_use("a"), [TEXT], _result("a")], ['M124 /m/1/content "a"', 'M124 /m/2/content "a"']),
        ([_use("a"), [*_result("a"), TEXT]], ["M125 /m/1/content "]),
        ([_use("a"), [*_result("a", "b"), TEXT]], ['M124 /m/1/content "b"']),
        ([_use("a"), _result("a"), _use("z")], ['M124 /m "z"']),
    ],
)
def test_each_call_of_a_turn_has_its_result_in_the_next(
    turns: list[object], said: list[str]
) -> None:
    """Of what has none, the ids are told in their order; a result stands among results alone."""
    messages = [{"role": "user", "content": turn} for turn in turns]
    found = sampling.tool_results_of_turns(messages, ("m",))
    assert [
        f"{one.code} /{'/'.join(map(str, one.path))} {dict(one.detail).get('ids', '')}"
        for one in found
    ] == said
