"""What a model is asked, as its person reads it: turns, calls, tools, and hostile input."""

import json
import re
from types import SimpleNamespace
from typing import Any, Final

import pytest

from humanmcp.desk import nodes
from humanmcp.desk.nodes import Conversation, Node, conversation_of
from humanmcp.desk.rendering import LONGEST, render
from humanmcp.inbox.contract import HeldFacts, Item, Key, Role
from humanmcp.locales import LANGUAGES
from tests.support.speaking import said_in

ASKED: Final = {"role": "user", "content": {"type": "text", "text": "Weather in 東京?"}}
CALLED: Final = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "I will look."},
        {"type": "tool_use", "id": "c1", "name": "forecast", "input": {"city": "東京", "days": 3}},
    ],
}
FAILED: Final = {
    "role": "user",
    "content": {
        "type": "tool_result",
        "toolUseId": "c1",
        "content": [{"type": "text", "text": "too far"}],
        "isError": True,
    },
}
TOOL: Final = {
    "name": "forecast",
    "description": "Tell the weather",
    "inputSchema": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "which one"},
            "days": {"type": ["integer", "null"]},
            "unit": {"enum": ["C", "F", 1.0]},
            "any": True,
        },
        "required": ["city"],
    },
}


def item(params: str, method: str = nodes.SAMPLING, **more: Any) -> Item:  # noqa: ANN401 - its fields
    """Return a request with these parameters that waits."""
    line = f'{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}'
    return Item(Key("s", 1), line, method, "7", "2025-11-25", "2026-11-20T18:49:07.123Z", **more)


def read(*messages: Any, **more: Any) -> Conversation:  # noqa: ANN401 - any JSON value
    """Return the conversation of these messages."""
    found = conversation_of(item(json.dumps({"messages": messages, **more})))
    assert found is not None
    return found


def part(block: Any) -> Any:  # noqa: ANN401 - any JSON value, any of the parts
    """Return what is made of one block of content."""
    (turn,) = read({"role": "user", "content": block}).turns
    (found,) = turn.children
    return found


def shown(talk: Conversation, language: str = "en", role: Role = Role.MODEL) -> str:
    """Return the part of the page."""
    return said_in(
        language, render, "inbox/conversation.html", talk=talk, facts=SimpleNamespace(role=role)
    )


def words(page: str) -> str:
    """Return what a person reads of it, on one line."""
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_each_message_is_a_turn_with_its_speaker() -> None:
    """A tool's result is a turn of its own, though MCP has it come as the user's."""
    talk = read(ASKED, CALLED, FAILED, systemPrompt="Be kind.", tools=[TOOL], maxTokens=5)
    speakers = [turn.type for turn in talk.turns]
    assert speakers == ["user", "model", "tool"]
    assert talk.turns[0].children == (Node("words", "Weather in 東京?"),)
    assert talk.turns[1].children == (
        Node("words", "I will look."),
        Node("call", 'city: "東京", days: 3', name="forecast"),
    )
    assert talk.turns[2].children == (
        Node("result", name="forecast", type="failed", children=(Node("words", "too far"),)),
    )
    assert talk.system == Node("words", "Be kind.")
    assert talk.covered == {"messages", "systemPrompt", "tools"}, "maxTokens is listed as before"


def test_the_page_says_who_speaks_what_is_called_and_what_failed() -> None:
    """In the model's role the model is you; elsewhere it is the model."""
    talk = read(ASKED, CALLED, FAILED, systemPrompt="Be kind.", tools=[TOOL])
    read_as = words(shown(talk))
    assert "System prompt Be kind. User Weather in 東京?" in read_as
    assert "You (the model) I will look. call forecast(city: &#34;東京&#34;, days: 3)" in read_as
    assert "Tool result forecast failed too far" in read_as
    assert (
        "forecast Tell the weather city string, required which one days integer | null" in read_as
    )
    assert "unit C | F | 1.0 any" in read_as
    assert "You (the model)" not in shown(talk, role=Role.CLIENT)
    assert "これまでの会話" in shown(talk, "ja")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_of_the_view_is_there_in_both_languages(language: str) -> None:
    """A conversation with something of everything is shown without a missing sentence."""
    block = {"type": "text", "text": "x" * (LONGEST + 1)}
    several = {"role": "user", "content": [block, *([{"type": "image"}] * nodes.MOST)]}
    many = {"name": "b", "inputSchema": {"properties": {str(at): {} for at in range(50)}}}
    wide = {"type": "tool_result", "toolUseId": "c1", "content": [block] * 50}
    talk = read(
        *([ASKED] * (nodes.MOST + 5)),
        *(several, 5, {"role": "bard", "content": []}, {"content": {}}),
        *({"role": "user", "content": [wide, {**wide, "content": []}]}, CALLED, FAILED),
        tools=[many, 5, *([{"name": "c"}] * nodes.MOST)],
    )
    assert talk.left_out > 0
    assert talk.tool_count == nodes.MOST + 2
    assert words(shown(talk, language))
    assert words(shown(read(), language))


def test_only_a_question_to_a_model_has_a_conversation() -> None:
    """Another method has none; nor has the answer to such a question, which a tap holds."""
    params = json.dumps({"messages": [ASKED]})
    assert conversation_of(item(params)) is not None
    assert conversation_of(item(params, "tools/call")) is None
    assert conversation_of(item(params, held=HeldFacts(asked="{}"))) is None


@pytest.mark.parametrize(
    "params",
    [
        "{}",
        "[]",
        "7",
        "null",
        '{"messages":{}}',
        '{"messages":"x"}',
        '{"messages":null}',
        "{broken",
    ],
)
def test_params_without_a_list_of_messages_are_shown_raw(params: str) -> None:
    """There is no conversation then: the page lists what came, as of any other request."""
    assert conversation_of(item(params)) is None


def test_a_line_that_nests_too_deep_or_counts_too_far_is_shown_raw() -> None:
    """B: what no parser takes raises nothing."""
    assert conversation_of(item('{"messages":' + "[" * 5000 + "]" * 5000 + "}")) is None
    assert conversation_of(item('{"messages":[' + "9" * 5000 + "]}")) is None


@pytest.mark.parametrize(
    "message",
    [7, None, "hello", [], {}, {"role": "user"}, {"role": 7, "content": {"type": "text"}}],
)
def test_a_message_that_is_none_is_shown_as_it_came(message: Any) -> None:  # noqa: ANN401 - any JSON value
    """The others are still read."""
    talk = read(ASKED, message)
    assert talk.turns[0].type == "user"
    assert talk.turns[1].type == "other"
    assert talk.turns[1].children[0].kind == "raw"
    assert "raw:" in shown(talk)


@pytest.mark.parametrize(
    "block",
    [
        "hello",
        7,
        None,
        {},
        {"type": 7},
        {"type": "text", "text": 7},
        {"type": "tool_use", "name": 7},
        {"type": "tool_result", "content": "sunny"},
        {"type": "tool_result"},
    ],
)
def test_a_content_that_is_none_is_shown_as_it_came(block: Any) -> None:  # noqa: ANN401 - any JSON value
    """It stands at its place, as JSON."""
    assert part(block) == Node("raw", json.dumps(block))


def test_a_result_keeps_its_call_and_its_structured_content() -> None:
    """Without a known call the id says which; a result within a result is not read further."""
    block = {"type": "tool_result", "toolUseId": "c9", "content": [], "structuredContent": {"a": 1}}
    content = (Node("raw", '{"a": 1}', name="structuredContent"),)
    assert part(block) == Node("result", name="c9", children=content)
    inner = {"type": "tool_result", "content": []}
    nested = part({"type": "tool_result", "toolUseId": 7, "content": [inner], "isError": "true"})
    assert nested == Node("result", children=(Node("raw", json.dumps(inner)),))
    assert "structuredContent:" in shown(read({"role": "user", "content": block}))


@pytest.mark.parametrize(
    ("block", "what", "about", "size"),
    [
        ({"type": "image", "data": "AAAA" * 9, "mimeType": "image/png"}, "image", "image/png", 27),
        ({"type": "audio", "data": "AAA=", "mimeType": "audio/wav"}, "audio", "audio/wav", 2),
        (
            {"type": "resource", "resource": {"uri": "f:///a", "mimeType": "t/p", "text": "東"}},
            *("resource", "f:///a · t/p", 3),
        ),
        (
            {"type": "resource", "resource": {"uri": "f:///a", "blob": "AAAA"}},
            "resource",
            "f:///a",
            3,
        ),
        (
            {"type": "resource_link", "uri": "f:///a", "name": "a", "size": 1234},
            *("resource_link", "f:///a · a", 1234),
        ),
        ({"type": "resource_link", "uri": "f:///a"}, "resource_link", "f:///a", None),
        ({"type": "resource_link", "size": -1}, "resource_link", "", None),
        ({"type": "resource_link", "size": "9"}, "resource_link", "", None),
        ({"type": "image", "data": 7}, "image", "", 28),
        ({"type": "hologram"}, "hologram", "", 20),
    ],
)
def test_what_is_no_text_is_named_with_its_size(
    block: dict[str, Any], what: str, about: str, size: int | None
) -> None:
    """A picture, a sound, a file, and what no version knows: never its data."""
    assert part(block) == Node("media", about, name=what, size=size)
    page = words(shown(read({"role": "user", "content": block})))
    assert f"[{what}]" in page
    assert ("bytes" in page) == (size is not None)


def test_numbers_are_shown_as_they_were_written() -> None:
    """What a decoder would round stays what it is."""
    call = '{"type":"tool_use","name":"f","input":{"a":9007199254740993,"b":[1.0,1e400],"c":true}}'
    talk = conversation_of(item(f'{{"messages":[{{"role":"assistant","content":{call}}}]}}'))
    assert talk is not None
    assert talk.turns[0].children == (
        Node("call", "a: 9007199254740993, b: [1.0, 1e400], c: true", name="f"),
    )


def test_arguments_that_are_no_object_are_shown_as_they_came() -> None:
    """And a call without any has none."""
    assert part({"type": "tool_use", "name": "f", "input": [1, "a"]}) == Node(
        "call", '[1, "a"]', name="f"
    )
    assert part({"type": "tool_use", "name": "f"}) == Node("call", name="f")


EVIL: Final = "<script>x</script>\"'&\u202e\x1b[31m\x00\ud800{{ 7 * 7 }}"


def test_nothing_that_came_acts_on_the_page() -> None:
    """Markup is text, controls and direction marks are code points, everywhere."""
    evil: dict[str, Any] = {"type": EVIL, "uri": EVIL, "name": EVIL, "mimeType": EVIL}
    blocks = [
        {"type": "text", "text": EVIL * 50},
        {"type": "tool_use", "id": EVIL, "name": EVIL, "input": {EVIL: {EVIL: [EVIL]}}},
        {"type": "tool_result", "toolUseId": EVIL, "content": [evil], "structuredContent": EVIL},
        evil,
        EVIL,
    ]
    schema = {"properties": {EVIL: {"type": EVIL, "description": EVIL}, "b": {"enum": [EVIL]}}}
    tools = [{"name": EVIL, "description": EVIL, "inputSchema": schema}, EVIL]
    talk = read(
        *({"role": role, "content": blocks} for role in ("user", "assistant", EVIL)),
        EVIL,
        systemPrompt=EVIL,
        tools=tools,
    )
    page = shown(talk)
    assert "<script" not in page
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e\ud800-\udfff]", page)
    assert "⟦U+202E⟧" in page
    assert "⟦U+001B⟧" in page
    assert "{{ 7 * 7 }}" in page
    assert not re.search(r"<[^>]*\sstyle=", page)


def test_lines_of_a_text_stay_lines_and_a_name_is_one() -> None:
    """A line feed is kept where words stand, and is visible in a name."""
    assert part({"type": "text", "text": "a\nb\tc"}) == Node("words", "a\nb\tc")
    assert part({"type": "tool_use", "name": "a\nb", "input": {}}) == Node("call", name="a\\nb")


def test_a_long_text_is_cut_and_says_so() -> None:
    """A megabyte is not put into the page."""
    found = part({"type": "text", "text": "y" * 1_000_000})
    assert found == Node("words", "y" * LONGEST, 1_000_000 - LONGEST)


def test_of_a_long_conversation_the_newest_turns_are_shown() -> None:
    """Those before the last ones are folded, those before them only in the raw message."""
    said = [
        {"role": "user", "content": {"type": "text", "text": str(at)}}
        for at in range(nodes.MOST + 10)
    ]
    talk = read(*said)
    assert talk.turns[-1].children == (Node("words", str(nodes.MOST + 9)),)
    assert len(talk.turns) == nodes.MOST
    assert talk.left_out == 10
    assert talk.turns[0].children == (Node("words", "10"),)


def test_a_page_of_a_conversation_is_bounded() -> None:
    """Turn after turn of long texts: as many as a page can hold, one at least."""
    long = {"role": "user", "content": [{"type": "text", "text": "y" * LONGEST}] * 10}
    talk = read(*([long] * 50))
    assert len(talk.turns) == nodes.MOST_CHARACTERS // (LONGEST * 10)
    assert talk.left_out == 50 - len(talk.turns)
    huge = {"role": "user", "content": [{"type": "text", "text": "y" * LONGEST}] * 40}
    assert len(read(huge).turns) == 1


@pytest.mark.parametrize("tools", ["x", {}, 7, None])
def test_tools_that_are_no_list_are_listed_with_the_other_parameters(tools: Any) -> None:  # noqa: ANN401 - any JSON value
    """So is a system prompt that is no text: what is not told here stays in the table."""
    talk = read(ASKED, tools=tools, systemPrompt=7)
    assert talk.tools == ()
    assert talk.system is None
    assert talk.covered == {"messages"}


@pytest.mark.parametrize(
    "schema",
    [7, None, [], {"properties": 7}, {"properties": {"a": 7}, "required": 7}, {"properties": []}],
)
def test_a_tool_with_a_broken_schema_is_still_named(schema: Any) -> None:  # noqa: ANN401 - any JSON value
    """Nothing is raised; what cannot be told is left out."""
    (tool,) = read(ASKED, tools=[{"name": "a", "inputSchema": schema, "description": 7}]).tools
    assert (tool.name, tool.about) == ("a", "")
    assert len(tool.children) <= 1


def test_what_is_no_tool_is_shown_as_it_came() -> None:
    """It stands among the tools, as JSON."""
    talk = read(ASKED, tools=[{"title": "no name"}, 7])
    assert talk.tools == (Node("raw", '{"title": "no name"}'), Node("raw", "7"))


@pytest.mark.parametrize(
    ("tool", "raw"),
    [
        ({}, ""),
        ({"inputSchema": {"type": "object"}}, ""),
        ({"inputSchema": {"type": "object", "properties": {}, "additionalProperties": False}}, ""),
        ({"inputSchema": {"type": "object", "properties": 5}}, '"properties": 5'),
        ({"inputSchema": "none"}, '"none"'),
        ({"inputSchema": {"$ref": "#/$defs/a"}}, "$ref"),
        ({"inputSchema": {"type": "object", "anyOf": [{"required": ["a"]}]}}, "anyOf"),
        ({"inputSchema": {"additionalProperties": {"type": "string"}}}, "additionalProperties"),
    ],
)
def test_a_schema_that_names_its_parameters_otherwise_is_shown_as_it_is(
    tool: dict[str, Any], raw: str
) -> None:
    """It was said to have no parameters."""
    shown = nodes.tool({"name": "x", **tool}).children
    assert [raw in one.text for one in shown] == ([True] if raw else [])
