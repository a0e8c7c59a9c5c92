"""What matters in each kind of answer, for a projector."""

import json

import pytest

from humanmcp.desk.nodes import MOST_ROWS, answer_card
from humanmcp.locales import LANGUAGES, say

CASES = [
    ("initialize", {"protocolVersion": "2025-11-25", "_meta": {}}, "agreed", "protocolVersion"),
    (
        "tools/list",
        {"tools": [{"name": "dice", "description": "Rolls"}]},
        "definition",
        "dice Rolls",
    ),
    (
        "resources/templates/list",
        {"resourceTemplates": [{"uriTemplate": "a:{b}"}]},
        "definition",
        "a:",
    ),
    (
        "prompts/get",
        {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}]},
        "prompt",
        "user Hi",
    ),
    ("resources/read", {"contents": [{"uri": "a:b", "text": "T"}]}, "contents", "a:b T"),
    (
        "sampling/createMessage",
        {"model": "m", "role": "assistant", "content": {"type": "text", "text": "Hi"}},
        "sampled",
        "content Hi",
    ),
    (
        "elicitation/create",
        {"action": "accept", "content": {"n": 1.0}},
        "elicited",
        "action accept",
    ),
    ("example/own", {"n": 1.0}, "other", "n 1.0"),
]


@pytest.mark.parametrize(("method", "result", "kind", "said"), CASES)
def test_each_answer_has_a_card(
    method: str, result: dict[str, object], kind: str, said: str
) -> None:
    """Its headline is a sentence of the page, and its rows say what matters."""
    card = answer_card(method, json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}))
    assert card is not None
    assert card.type == kind
    assert said in " ".join(f"{row.name} {row.text}" for row in card.children)
    assert all(say("desk", f"present.card.{kind}", language) for language in LANGUAGES)


def test_an_error_says_its_code_and_message() -> None:
    """Whatever it answers."""
    card = answer_card("", '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"No."}}')
    assert card is not None
    rows = [(row.name, row.text) for row in card.children]
    assert (card.type, rows) == ("error", [("code", "-32602"), ("message", "No.")])


@pytest.mark.parametrize(
    "result",
    [
        *(7, None, [], {}, {"_meta": {}}),
        *({"tools": 7}, {"messages": 7}, {"contents": {}}, {"tools": []}),
    ],
)
def test_what_says_nothing_has_no_card(result: object) -> None:
    """The message itself stands below."""
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result})
    for method in ("tools/list", "prompts/get", "resources/read"):
        card = answer_card(method, line)
        assert card is None or not isinstance(result, dict)


@pytest.mark.parametrize("entry", [7, None, "a", [], {"name": 7, "uri": {}, "role": 1, "text": 1}])
def test_what_is_not_what_it_should_be_is_shown_as_it_came(entry: object) -> None:
    """Nothing of a line is trusted."""
    found = {one: [entry] * (MOST_ROWS + 1) for one in ("tools", "messages", "contents", "content")}
    found["resourceTemplates"] = [entry]
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": found})
    for method, *_ in CASES:
        card = answer_card(method, line)
        assert card is not None
        assert len(card.children) <= MOST_ROWS + 1
