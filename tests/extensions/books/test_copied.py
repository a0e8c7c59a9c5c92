"""A recorded session as an answer book: what becomes a rule, and what it cannot hold."""

import json
import tomllib
from typing import Any

import pytest

from humanmcp.common.toml_edit import element_text
from humanmcp.extensions.books.copied import CopiedBook, LeftOut, copied
from humanmcp.protocol.answer_book.book_format import parse
from humanmcp.protocol.answer_book.following import follow_entries
from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.validation.redaction import redact_recording

AT = "2026-11-20T00:00:00.000Z"


def book(*lines: tuple[Direction, str]) -> CopiedBook:
    """Copy a session of these lines."""
    numbered = enumerate(lines, 1)
    return copied([Frame(seq, AT, direction, line.encode()) for seq, (direction, line) in numbered])


def asked(name: str, number: int = 1) -> tuple[Direction, str]:
    """Write a call of a tool."""
    params = f'{{"name":"{name}","arguments":{{"n":1}}}}'
    line = f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{params}}}'
    return Direction.IN, line


def answered(result: str, number: int = 1) -> tuple[Direction, str]:
    """Write an answer."""
    return Direction.OUT, f'{{"jsonrpc":"2.0","id":{number},"result":{result}}}'


SIX = '{"content":[{"type":"text","text":"six"}]}'


def test_an_answer_becomes_a_rule_of_what_was_asked() -> None:
    """The tool and its arguments are the condition, a plain text is written as one."""
    (rule,) = book(asked("dice"), answered(SIX)).entries
    assert (rule["tool"], rule["where"], rule["text"]) == ("dice", {"n": 1}, "six")


def test_what_a_book_cannot_hold_is_named_with_its_reason() -> None:
    """TOML has no null; a broken answer is none."""
    assert book(asked("dice"), answered('{"content":[],"next":null}')).left_out == (
        LeftOut("null", "tools/call", "dice"),
    )
    assert book(asked("dice"), (Direction.OUT, '{"id":1,"resu')).left_out == (
        LeftOut("malformed", "tools/call", "dice"),
    )


@pytest.mark.parametrize(
    ("method", "count"),
    [
        ("ping", 0),
        ("logging/setLevel", 0),
        ("resources/subscribe", 0),
        ("prompts/list", 0),
        ("server/discover", 0),
        ("completion/complete", 1),
    ],
)
def test_what_every_server_answers_is_no_rule(method: str, count: int) -> None:
    """Nor is a list, which the book has itself."""
    line = f'{{"jsonrpc":"2.0","id":1,"method":"{method}"}}'
    assert len(book((Direction.IN, line), answered("{}")).entries) == count


def test_the_same_call_answered_otherwise_is_the_next_turn_of_its_rule() -> None:
    """Equal answers stay one."""
    one = '{"content":[{"type":"text","text":"one"}]}'
    lines = (asked("dice"), answered(SIX), asked("dice", 2), answered(one, 2))
    (rule,) = book(*lines).entries
    assert (rule["text"], [turn["text"] for turn in rule["then"]]) == ("six", ["one"])
    (rule,) = book(*lines[:3], answered(SIX, 2)).entries
    assert "then" not in rule


def test_an_error_becomes_the_error_of_a_rule() -> None:
    """With its code, its words and its data."""
    error = '{"code":-32602,"message":"no","data":{"a":1}}'
    answer = f'{{"jsonrpc":"2.0","id":1,"error":{error}}}'
    (rule,) = book(asked("dice"), (Direction.OUT, answer)).entries
    assert rule["error"] == {"code": -32602, "message": "no", "data": {"a": 1}}
    assert "text" not in rule


def client(method: str, number: int = 1, **params: Any) -> tuple[Direction, str]:  # noqa: ANN401 - any JSON value
    """Write a request of the client."""
    asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return Direction.IN, json.dumps(asked)


def server(method: str, number: int | None = None, **params: Any) -> tuple[Direction, str]:  # noqa: ANN401 - any JSON value
    """Write what the server says of its own: a notification, with a number a request."""
    said = {"jsonrpc": "2.0", **({"id": number} if number else {}), "method": method}
    return Direction.OUT, json.dumps({**said, "params": params} if params else said)


def result(number: int = 1, **members: Any) -> tuple[Direction, str]:  # noqa: ANN401 - any JSON value
    """Write an answer of the server."""
    return answered(json.dumps(members), number)


def test_who_the_server_is_stands_in_its_section() -> None:
    """As its handshake said it; nothing empty, no null, nothing that it did not say."""
    info = {"name": "s", "version": "1", "title": "", "icons": []}
    hello = client("initialize", protocolVersion="2025-11-25")
    capabilities: dict[str, Any] = {"tools": {}, "none": None}
    told = result(serverInfo=info, instructions="Ask.", capabilities=capabilities)
    found = book(hello, told)
    assert dict(found.server) == {
        "instructions": "Ask.",
        "name": "s",
        "version": "1",
        "capabilities": {"tools": {}},
    }
    assert found.wait == {"*": 0}
    assert found.entries == []
    assert found.left_out == (LeftOut("null member", "initialize", ""),)
    assert book(hello, result(serverInfo={"name": "s"})).server["instructions"] == ""
    assert book(asked("dice"), answered(SIX)).server == {}


def test_the_name_of_a_server_of_2026_stands_in_the_meta_of_its_answer() -> None:
    """And one that refuses to be discovered knows the versions with a handshake."""
    discover = client("server/discover")
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "s"}}
    assert book(discover, result(_meta=meta)).server == {"instructions": "", "name": "s"}
    refused = (Direction.OUT, '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}')
    assert book(discover, refused).server == {
        "instructions": "",
        "protocol_versions": ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"],
    }


def test_a_list_is_collected_page_by_page_as_it_was_said_last() -> None:
    """What has no name cannot be listed."""
    found = book(
        client("tools/list"),
        result(tools=[{"name": "a", "title": "old"}, {"title": "?"}, 7], nextCursor="2"),
        client("tools/list", 2, cursor="2"),
        result(2, tools=[{"name": "b", "_meta": {"x": None, "y": [None, 1]}}]),
        client("tools/list", 3),
        result(3, tools=[{"name": "a", "title": "new"}]),
        client("resources/templates/list", 4),
        result(4, resourceTemplates="none"),
    )
    assert found.lists["tools"] == [
        {"name": "a", "title": "new"},
        {"name": "b", "_meta": {"y": [1]}},
    ]
    assert found.lists["resourceTemplates"] == []
    assert found.entries == []


@pytest.mark.parametrize(
    ("request_", "condition"),
    [
        (client("tools/call", name="t"), {"tool": "t"}),
        (
            client("prompts/get", name="p", arguments={"a": "1"}),
            {"prompt": "p", "where": {"a": "1"}},
        ),
        (client("resources/read", uri="file:///a"), {"resource": "file:///a"}),
        (
            client("resources/read", uri="file:///{a}"),
            {"method": "resources/read", "where": {"uri": "file:///{a}"}},
        ),
        (client("x/y", a=1), {"method": "x/y", "where": {"a": 1}}),
        (client("x/y"), {"method": "x/y"}),
    ],
)
def test_a_rule_asks_for_what_the_request_named(
    request_: tuple[Direction, str], condition: dict[str, Any]
) -> None:
    """An address with a brace would be read as a template, so it is compared as a parameter."""
    (rule,) = book(request_, result(x=1)).entries
    assert rule == {**condition, "result": {"x": 1}}


def test_the_retry_with_answers_comes_first() -> None:
    """2026-07-28: it asks for more than the request that it repeats."""
    call: dict[str, Any] = {"name": "t", "arguments": {}}
    asked_back: dict[str, Any] = {"resultType": "input_required", "inputRequests": {}}
    first, second = book(
        client("tools/call", **call),
        result(**asked_back),
        client("tools/call", 2, **call, inputResponses={"a": {}}),
        answered(SIX, 2),
    ).entries
    assert first == {"tool": "t", "inputResponses": True, "text": "six"}
    assert second == {"tool": "t", "inputResponses": False, "result": asked_back}


@pytest.mark.parametrize(
    ("said", "written"),
    [
        (
            server("notifications/progress", progressToken=1, progress=1, total=2),
            {"progress": 1, "total": 2},
        ),
        (
            server("notifications/progress", progressToken=1, progress=1, message="m"),
            {"progress": 1, "message": "m"},
        ),
        (
            server("notifications/message", level="info", logger="l", data=[1]),
            {"log": [1], "level": "info", "logger": "l"},
        ),
        (server("notifications/message", data="x"), {"log": "x"}),
        (
            server("notifications/message", level="info"),
            {"method": "notifications/message", "params": {"level": "info"}},
        ),
        (server("notifications/tools/list_changed"), {"list_changed": "tools"}),
        (server("notifications/resources/updated", uri="u"), {"updated": "u"}),
        (server("notifications/resources/updated"), {"updated": ""}),
        (server("notifications/x", a=1), {"method": "notifications/x", "params": {"a": 1}}),
    ],
)
def test_a_notification_before_the_answer_is_written_in_the_shortest_way(
    said: tuple[Direction, str], written: dict[str, Any]
) -> None:
    """`notify` of the rule has a word for each that is common."""
    (rule,) = book(asked("dice"), said, answered(SIX)).entries
    assert rule["notify"] == [written]
    assert "ask" not in rule


def test_a_question_before_the_answer_is_asked_by_the_rule() -> None:
    """In their order, with the parameters where there are any."""
    (rule,) = book(
        asked("dice"),
        server("roots/list", 7),
        (Direction.IN, '{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}'),
        server("elicitation/create", 8, message="?"),
        (Direction.IN, '{"jsonrpc":"2.0","id":8,"result":{"action":"cancel"}}'),
        answered(SIX),
    ).entries
    assert rule["ask"] == [
        {"question1": {"method": "roots/list"}},
        {"question2": {"method": "elicitation/create", "params": {"message": "?"}}},
    ]
    assert "notify" not in rule


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        ({"content": [{"type": "text", "text": "x"}], "isError": True}, {"tool_error": "x"}),
        ({"content": [{"type": "text", "text": "x"}], "isError": False}, {"text": "x"}),
        (
            {"content": [{"type": "text", "text": "x"}], "resultType": "complete", "_meta": {}},
            {"text": "x"},
        ),
        ({"content": [{"type": "text", "text": "x"}], "isError": 1}, None),
        ({"content": [{"type": "text", "text": "x"}], "more": 1}, None),
        ({"content": [{"type": "text", "text": "x", "annotations": {}}]}, None),
        ({"content": [{"type": "text", "text": " "}]}, None),
        ({"content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}, None),
    ],
)
def test_one_text_of_a_tool_is_written_as_words(
    answer: dict[str, Any], written: dict[str, Any] | None
) -> None:
    """Whatever has more to it stays the result that it was."""
    (rule,) = book(client("tools/call", name="t"), result(**answer)).entries
    assert rule == {"tool": "t", **(written or {"result": answer})}


def test_what_looks_like_a_placeholder_stays_as_it_was_said() -> None:
    """The book would fill it in."""
    said = '{"content":[{"type":"text","text":"{params.arguments.n}"}]}'
    (rule,) = book(asked("dice"), answered(said)).entries
    assert rule["fill"] is False


def test_half_of_a_character_is_replaced() -> None:
    """A file of TOML is UTF-8, which has no half of a surrogate pair."""
    said = r'{"content":[{"type":"text","text":"a\ud83d"}]}'
    (rule,) = book(asked("dice"), answered(said)).entries
    assert rule["text"] == "a\ufffd"
    tool = '{"tools":[{"name":"t\\ud800","description":"\\udc00","inputSchema":{"type":"object"}}]}'
    hello = '{"protocolVersion":"2025-11-25","instructions":"\\ud800","capabilities":{}}'
    listed = book(
        (Direction.IN, '{"jsonrpc":"2.0","id":1,"method":"initialize"}'),
        answered(hello),
        (Direction.IN, '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'),
        answered(tool, 2),
    )
    (entry,) = listed.lists["tools"]
    assert (entry["name"], entry["description"]) == ("t\ufffd", "\ufffd")
    assert listed.server["instructions"] == "\ufffd"


@pytest.mark.parametrize("member", ["inputSchema", "outputSchema"])
@pytest.mark.parametrize(
    "part",
    ['{"default":null}', '{"enum":["a",null,"b"]}', '{"const":null}', '{"anyOf":[{"const":null}]}'],
)
def test_a_schema_with_null_is_read_again_as_it_was(member: str, part: str) -> None:
    """The copy must take and refuse what the server does. A schema without null stays a table."""
    schemas: dict[str, Any] = {name: {"type": "object"} for name in ("inputSchema", "outputSchema")}
    schemas[member] = {"type": "object", "properties": {"q": json.loads(part)}}
    listed = {"tools": [{"name": "find", "description": None, **schemas}]}
    copy = book(
        (Direction.IN, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
        answered(json.dumps(listed)),
    )
    assert copy.left_out == (LeftOut("null member", "tools/list", "find"),)  # its description
    text = element_text("tools", copy.lists["tools"][0])
    (written,) = tomllib.loads(text)["tools"]
    assert [name for name in schemas if isinstance(written[name], str)] == [member]
    assert parse({"tools": [written]}).tools == ({"name": "find", **schemas},)


def test_a_server_without_a_section_of_a_kind_has_none_of_it() -> None:
    """Empty texts and lists are left out; a later answer counts before an earlier one."""
    hello = client("initialize")
    empty: list[dict[str, Any]] = [{}, {"serverInfo": None}, {"serverInfo": {}, "capabilities": {}}]
    for told in empty:
        assert book(hello, result(**told)).server == {}
    later = client("initialize", 2)
    found = book(
        hello,
        result(serverInfo={"name": "a", "version": "1"}, instructions="i"),
        later,
        result(2, serverInfo={"name": "b", "title": "T"}, capabilities={"tools": {}}),
    )
    assert found.server == {
        "instructions": "i",
        "name": "b",
        "version": "1",
        "title": "T",
        "capabilities": {"tools": {}},
    }
    error = (Direction.OUT, '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}')
    assert book(hello, error).server == {}


@pytest.mark.parametrize(
    "value",
    [
        '"x"',
        "[]",
        "5",
        "null",
        '{"serverInfo":"x","_meta":"y"}',
        '{"capabilities":null,"_meta":[]}',
    ],
)
@pytest.mark.parametrize("method", ["initialize", "tools/list", "x/y"])
def test_a_result_of_another_shape_is_copied_too(method: str, value: str) -> None:
    """Servers are recorded because something is wrong with them."""
    assert not book(client(method), answered(value)).lists["tools"]


def test_a_list_that_was_not_valid_is_named() -> None:
    """An empty book would say that the server has nothing."""
    torn = (Direction.OUT, '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"na')
    assert book(client("tools/list"), torn).left_out == (LeftOut("malformed", "tools/list", ""),)


def test_a_null_in_a_list_is_named_by_its_list_and_its_entry() -> None:
    """Once for each; a schema keeps it as text."""
    listed: dict[str, Any] = {
        "tools": [
            {"name": "a", "title": None, "annotations": {"x": None}},
            {"name": "b", "inputSchema": {"default": None}, "outputSchema": True},
            {"name": "c", "inputSchema": {"type": "object"}},
        ]
    }
    found = book(client("tools/list"), result(**listed))
    assert found.left_out == (LeftOut("null member", "tools/list", "a"),)
    assert found.lists["tools"] == [
        {"name": "a", "annotations": {}},
        {"name": "b", "inputSchema": '{"default": null}', "outputSchema": True},
        {"name": "c", "inputSchema": {"type": "object"}},
    ]


def test_what_was_not_answered_or_is_no_request_is_no_rule() -> None:
    """Nor a subscription, which has no answer."""
    listens = client("subscriptions/listen")
    notice = (Direction.IN, '{"jsonrpc":"2.0","method":"notifications/initialized"}')
    told = server("notifications/tools/list_changed")
    assert book(listens, result(a=1)).entries == []
    assert book(notice, told).entries == []
    assert book(asked("dice"), told).entries == []


def test_a_rule_without_arguments_has_no_condition_of_them() -> None:
    """A tool without any, and one with none."""
    for params in ({"name": "t"}, {"name": "t", "arguments": {}}):
        (rule,) = book(client("tools/call", **params), answered(SIX)).entries
        assert rule == {"tool": "t", "text": "six"}
    (rule,) = book(client("tools/call", name="t"), result()).entries
    assert rule == {"tool": "t", "result": {}}


def test_a_rule_whose_condition_was_removed_matches_any_value() -> None:
    """Of an argument, of a part of one, and of an address; the rest must be the same."""
    lines = (
        client(
            "tools/call", name="t", arguments={"apiKey": "first-1", "url": "https://me:pw-1@h/x"}
        ),
        result(content=[]),
        client("resources/read", 2, uri="db://me:s3cret@h/x"),
        result(2, contents=[]),
    )
    frames = [Frame(seq, AT, way, line.encode()) for seq, (way, line) in enumerate(lines, 1)]
    made = copied(redact_recording(frames).frames)
    text = "".join(element_text("rules", entry) for entry in made.entries)
    book = parse(tomllib.loads(text))

    def answers(line: tuple[Direction, str]) -> bool:
        request = read(line[1].encode())
        assert isinstance(request, Message)
        return (
            follow_entries(Exchange(1, request, "2025-11-25"), book, NegotiatedState()) is not None
        )

    def called(key: object, url: str) -> tuple[Direction, str]:
        return client("tools/call", name="t", arguments={"apiKey": key, "url": url})

    assert answers(called("other", "https://me:other@h/x"))
    assert answers(called(5, "https://me:other@h/x"))
    assert not answers(called("other", "https://me:other@h/y"))
    assert answers(client("resources/read", uri="db://me:other@h/x"))
    assert not answers(client("resources/read", uri="db://me:other@h/y"))
