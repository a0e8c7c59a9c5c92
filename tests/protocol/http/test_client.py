"""What a client sends beside its messages, and what it makes of the head of a response."""

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.http.client import (
    HeaderChanges,
    HeaderError,
    HttpConversation,
    IncomingResponse,
    OutgoingRequest,
    ResponseKind,
    is_error,
    kind_of_response,
    metadata_in,
    named_after,
    trouble_with,
)
from humanmcp.protocol.http.http_headers import HIDDEN, Headers
from humanmcp.protocol.http.inbound import HttpRequest, Posted, judge_request
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.tables import versions

MODERN: Final = "2026-07-28"
PACKED: Final = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
SCHEMA: Final = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "x-mcp-header": "City"},
        "days": {"type": "integer", "x-mcp-header": "Days"},
    },
}


def line(method: str, number: int | None = 1, **params: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """Write a message."""
    named = {} if number is None else {"id": number}
    said = {"jsonrpc": "2.0", **named, "method": method, "params": params}
    return json.dumps(said, ensure_ascii=False).encode()


def modern(method: str, **params: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """Write a request of 2026-07-28."""
    meta = {versions.META_VERSION: MODERN, versions.META_CAPABILITIES: {}}
    return line(method, **params, _meta=meta)


def answered(conversation: HttpConversation, asked: bytes, result: object) -> None:
    """Let an answer come."""
    request = jsonrpc.read(asked)
    answer = jsonrpc.read(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode())
    assert isinstance(request, Message)
    assert isinstance(answer, Message)
    conversation.answer_came(request, answer)


def in_session(version: str) -> HttpConversation:
    """Return a conversation after its handshake."""
    conversation = HttpConversation("test")
    hello = jsonrpc.read(line("initialize"))
    assert isinstance(hello, Message)
    head = IncomingResponse(200, "OK", (("mcp-session-id", "s"),))
    conversation.response_came(hello, head)
    answered(conversation, line("initialize"), {"protocolVersion": version})
    return conversation


def headers(request: OutgoingRequest) -> dict[str, str]:
    """Return what is MCP's in the headers."""
    return {name: value for name, value in request.headers if name.lower().startswith("mcp")}


def test_initialize_goes_out_with_nothing_known() -> None:
    """There is no session yet, and no version."""
    request = HttpConversation("test").posted(line("initialize"))
    assert headers(request) == {}
    assert ("Content-Type", "application/json") in request.headers
    assert ("Accept", "application/json, text/event-stream") in request.headers


@pytest.mark.parametrize(
    ("version", "said"),
    [("2025-03-26", {}), ("2025-11-25", {"MCP-Protocol-Version": "2025-11-25"})],
)
def test_a_session_is_named_with_every_request(version: str, said: dict[str, str]) -> None:
    """The version has a header from 2025-06-18 on; POST, GET and DELETE say the same."""
    conversation = in_session(version)
    end = conversation.end()
    assert end is not None
    requests = (conversation.posted(line("ping")), conversation.stream_wanted(), end)
    assert [headers(one) for one in requests] == [{**said, "Mcp-Session-Id": "s"}] * 3


def test_a_stream_is_resumed_after_an_event() -> None:
    """`Last-Event-ID` is the id as it came."""
    request = in_session("2025-11-25").stream_wanted("3-1")
    assert ("Last-Event-ID", "3-1") in request.headers
    assert request.method == "GET"


def test_a_session_that_is_over_is_not_named() -> None:
    """404: the client begins anew, without a session."""
    conversation = in_session("2025-11-25")
    conversation.is_over(conversation.session)
    assert conversation.end() is None
    assert headers(conversation.posted(line("initialize"))) == {}


@given(
    st.text(max_size=8),
    st.dictionaries(st.sampled_from(["city", "days"]), st.text(max_size=5) | st.integers()),
)
def test_what_2026_repeats_in_headers_agrees_with_the_body(
    tool: str, arguments: dict[str, Any]
) -> None:
    """Whatever a tool is called and given, our own server finds nothing that disagrees."""
    tool = tool.encode("utf-8", "ignore").decode()
    conversation = HttpConversation("test")
    answered(conversation, line("tools/list"), {"tools": [{"name": tool, "inputSchema": SCHEMA}]})
    body = modern("tools/call", name=tool, arguments=arguments)
    request = conversation.posted(body)
    came = HttpRequest("POST", Headers.of(request.headers), body)
    found = judge_request(came, lambda _call: SCHEMA)
    assert isinstance(found, Posted)
    assert found.transport_facts is not None
    assert found.transport_facts.error is None, found.transport_facts


def test_changes_by_hand_win_and_keys_are_hidden() -> None:
    """Set, left out, taken back; what is a key by name or by origin is never shown."""
    changes = HeaderChanges()
    changes.put("mcp-method", "wrong")
    changes.put("Authorization", "Bearer secret")
    changes.put("X-Tenant", "secret", secret=True)
    changes.leave_out("Accept")
    sent = dict(HttpConversation("test", changes).posted(modern("ping")).headers)
    assert sent["mcp-method"] == "wrong"
    assert "Mcp-Method" not in sent
    assert "Accept" not in sent
    shown = dict(changes.shown(tuple(sent.items())))
    assert shown["Authorization"] == shown["X-Tenant"] == HIDDEN
    assert "secret" not in str(shown)
    changes.take_back("Mcp-Method")
    assert ("Mcp-Method", "ping") in HttpConversation("t", changes).posted(modern("ping")).headers


@pytest.mark.parametrize(("name", "value"), [("a b", "x"), ("", "x"), ("a", "x\ny"), ("a", "→")])
def test_what_http_cannot_carry_is_no_header(name: str, value: str) -> None:
    """A line break would be another header."""
    with pytest.raises(HeaderError):
        HeaderChanges().put(name, value)


@pytest.mark.parametrize(
    ("status", "said", "kind", "code"),
    [
        (200, {"Content-Type": "application/json; charset=utf-8"}, ResponseKind.MESSAGE, ""),
        (200, {"Content-Type": "text/event-stream"}, ResponseKind.EVENTS, ""),
        (202, {}, ResponseKind.NOTHING, ""),
        (400, {"Content-Type": "application/json"}, ResponseKind.MESSAGE, ""),
        (307, {"Location": "/x"}, ResponseKind.MOVED, ""),
        (200, {"Content-Type": "text/html"}, ResponseKind.TROUBLE, "no message"),
        (200, {}, ResponseKind.TROUBLE, "no type"),
        (200, PACKED, ResponseKind.TROUBLE, "compressed"),
        (401, {}, ResponseKind.TROUBLE, "wants key"),
        (403, {}, ResponseKind.TROUBLE, "forbidden"),
        (404, {}, ResponseKind.TROUBLE, "not there"),
        (405, {}, ResponseKind.TROUBLE, "no post"),
        (503, {}, ResponseKind.TROUBLE, "busy"),
        (500, {}, ResponseKind.TROUBLE, "status"),
        (429, {}, ResponseKind.TROUBLE, "busy"),
        (300, {}, ResponseKind.TROUBLE, "status"),
        (307, {}, ResponseKind.TROUBLE, "status"),
        (204, {}, ResponseKind.NOTHING, ""),
        (200, {"Content-Length": "0"}, ResponseKind.NOTHING, ""),
        (200, {"Content-Length": "1"}, ResponseKind.TROUBLE, "no type"),
        (
            200,
            {"Content-Type": "application/json", "Content-Encoding": "identity"},
            ResponseKind.MESSAGE,
            "",
        ),
        (401, {"Content-Type": "application/json"}, ResponseKind.TROUBLE, "wants key"),
        (
            401,
            {"WWW-Authenticate": 'Bearer resource_metadata="https://h/.well-known/x"'},
            ResponseKind.TROUBLE,
            "wants sign-in",
        ),
    ],
)
def test_the_head_says_what_a_response_brings(
    status: int, said: dict[str, str], kind: ResponseKind, code: str
) -> None:
    """A message, events, nothing, another address, or trouble that has a sentence."""
    response = IncomingResponse(status, "", tuple(said.items()))
    assert kind_of_response(response) is kind
    if code:
        assert trouble_with(response) == code


@pytest.mark.parametrize(
    ("challenges", "address"),
    [
        (['Bearer realm="x", resource_metadata="https://h/m", scope="a"'], "https://h/m"),
        (["Basic", "Bearer resource_metadata = https://h/m"], "https://h/m"),
        (["Bearer"], ""),
        ([], ""),
    ],
)
def test_a_server_says_where_to_sign_in(challenges: list[str], address: str) -> None:
    """MCP, authorization: the `resource_metadata` of `WWW-Authenticate`, which may be repeated."""
    pairs = tuple(("WWW-Authenticate", one) for one in challenges)
    assert metadata_in(IncomingResponse(401, "", pairs)) == address


ASKED: Final = '{"jsonrpc":"2.0","id":"a","method":"ping"}'
ERROR: Final = b'{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}'
NULL: Final = b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}'


def test_an_error_is_named_after_the_request_that_it_answers() -> None:
    """MCP: the body of a refusal "MAY comprise a JSON-RPC error response that has no id"."""
    other = NULL.replace(b"null", b'"server-error"')
    assert json.loads(named_after(other, ASKED))["id"] == "a"
    same = NULL.replace(b"null", b'"7"')
    assert named_after(same, ASKED.replace('"a"', "7")) == same
    named = json.loads(named_after(ERROR, ASKED))
    assert named == {**json.loads(ERROR), "id": "a"}
    assert json.loads(named_after(NULL, ASKED)) == named
    assert named_after(b"no message", ASKED) == b"no message"
    notice = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    assert named_after(ERROR, notice) == named_after(ERROR, "no message") == ERROR


def test_an_error_is_one_whatever_its_id_is() -> None:
    """The Python SDK 1.x names a session that is over "server-error"."""
    assert is_error(ERROR)
    assert is_error(NULL)
    assert is_error(b'{"jsonrpc":"2.0","id":"server-error","error":{"code":1,"message":"x"}}')
    assert not is_error(ASKED.encode())
    assert not is_error(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert not is_error(b"no message")


def test_a_version_that_was_discovered_is_stated_by_what_follows() -> None:
    """2026-07-28: where the server supports what the client asked with."""
    for supported, version in (([MODERN], MODERN), (["other"], ""), (MODERN, "")):
        conversation = HttpConversation("test")
        answered(conversation, modern("server/discover"), {"supportedVersions": supported})
        assert conversation.version == version
    conversation = HttpConversation("test")
    answered(conversation, line("server/discover"), {"supportedVersions": [MODERN, None]})
    assert conversation.version == ""
    answered(conversation, modern("server/discover"), {"supportedVersions": [MODERN]})
    assert headers(conversation.posted(line("notifications/x", None))) == {
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "notifications/x",
    }


def test_a_version_that_has_no_handshake_is_not_settled_by_one() -> None:
    """Whatever the server says in the answer to `initialize`."""
    assert in_session("9999-01-01").version == ""
    conversation = HttpConversation("test")
    answered(conversation, line("initialize"), "2025-11-25")
    assert conversation.version == ""


def test_only_the_answer_to_initialize_names_the_session() -> None:
    """And a session that has begun since is not forgotten with the one before it."""
    conversation = in_session("2025-11-25")
    head = IncomingResponse(200, "OK", (("Mcp-Session-Id", "other"),))
    ping = jsonrpc.read(line("ping"))
    assert isinstance(ping, Message)
    conversation.response_came(ping, head)
    conversation.response_came(None, head)
    assert conversation.session == "s"
    conversation.is_over("other")
    assert (conversation.session, conversation.version) == ("s", "2025-11-25")


def test_what_names_the_request_stands_in_a_header() -> None:
    """2026-07-28: the tool, the prompt or the address; not of a method that names nothing."""
    said = HttpConversation("test").posted(modern("resources/read", uri="file:///ä"))
    assert headers(said) == {
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "resources/read",
        "Mcp-Name": "=?base64?ZmlsZTovLy/DpA==?=",
    }
    for request in (modern("tools/list", name="x"), modern("resources/read", uri=7)):
        assert "Mcp-Name" not in headers(HttpConversation("test").posted(request))


def test_the_arguments_that_a_tool_marks_stand_in_headers() -> None:
    """2026-07-28: those that are given; none of a tool that was not listed properly."""
    conversation = HttpConversation("test")
    tools = [{"name": "t", "inputSchema": SCHEMA}, {"name": "u", "inputSchema": "x"}, 7]
    answered(conversation, line("tools/list"), {"tools": tools})
    answered(conversation, line("tools/list"), {"tools": "none"})

    def mirrored(name: str, arguments: object) -> dict[str, str]:
        said = headers(conversation.posted(modern("tools/call", name=name, arguments=arguments)))
        return {key: value for key, value in said.items() if key.startswith("Mcp-Param-")}

    assert mirrored("t", {"city": "Tokyo", "other": 1}) == {"Mcp-Param-City": "Tokyo"}
    for name, arguments in (("t", "x"), ("u", {"city": "x"}), ("v", {"city": "x"})):
        assert mirrored(name, arguments) == {}


def test_what_goes_out_says_how_long_it_is_and_who_sends_it() -> None:
    """A GET and a DELETE have no body, so no length; a broken line goes out, too."""
    conversation = in_session("2025-11-25")
    said = dict(conversation.posted(b"no message").headers)
    assert (said["Content-Length"], said["User-Agent"]) == ("10", "test")
    assert said["Mcp-Session-Id"] == "s"
    end = conversation.end()
    assert end is not None
    assert (end.method, dict(end.headers).get("Content-Length")) == ("DELETE", None)
    assert ("Accept", "text/event-stream") in conversation.stream_wanted().headers


@pytest.mark.parametrize(
    ("status", "said", "kind", "code"),
    [
        (301, {"location": "/x"}, ResponseKind.MOVED, "status"),
        (302, {"location": "/x"}, ResponseKind.MOVED, "status"),
        (303, {"location": "/x"}, ResponseKind.MOVED, "status"),
        (308, {"location": "/x"}, ResponseKind.MOVED, "status"),
        (304, {"location": "/x"}, ResponseKind.TROUBLE, "status"),
        (200, {"location": "/x"}, ResponseKind.TROUBLE, "no type"),
        (299, {"Content-Type": "application/json"}, ResponseKind.MESSAGE, "no message"),
        (299, {}, ResponseKind.TROUBLE, "no type"),
        (199, {"Content-Type": "text/event-stream"}, ResponseKind.TROUBLE, "status"),
        (300, {"Content-Type": "text/event-stream"}, ResponseKind.TROUBLE, "status"),
        (300, {"Content-Type": "application/json"}, ResponseKind.MESSAGE, "status"),
        (203, {}, ResponseKind.TROUBLE, "no type"),
        (202, {"Content-Type": "text/html"}, ResponseKind.NOTHING, "no message"),
        (202, PACKED, ResponseKind.TROUBLE, "compressed"),
        (402, {}, ResponseKind.TROUBLE, "status"),
        (502, {}, ResponseKind.TROUBLE, "busy"),
        (504, {}, ResponseKind.TROUBLE, "busy"),
        (
            403,
            {"WWW-Authenticate": 'Bearer resource_metadata="https://h/m"'},
            ResponseKind.TROUBLE,
            "forbidden",
        ),
    ],
)
def test_each_status_is_one_of_its_kind(
    status: int, said: dict[str, str], kind: ResponseKind, code: str
) -> None:
    """And no other is."""
    response = IncomingResponse(status, "", tuple(said.items()))
    assert kind_of_response(response) is kind
    assert trouble_with(response) == code


@pytest.mark.parametrize(("length", "found"), [(500, "x" * 500), (501, "x" * 500), (0, "")])
def test_no_more_of_an_address_is_read_than_is_shown(length: int, found: str) -> None:
    """A server may say anything in a header."""
    pairs = (("WWW-Authenticate", f'Bearer resource_metadata="{"x" * length}"'),)
    assert metadata_in(IncomingResponse(401, "", pairs)) == found


def test_a_header_that_a_person_sets_is_sent_as_it_is_spelled() -> None:
    """The last value counts; one that was left out is sent again once it is set."""
    changes = HeaderChanges()
    changes.put("X-A", " 1 ")
    changes.put("x-a", "2\t3")
    changes.put("X-B", "é", secret=True)
    changes.leave_out("X-C")
    changes.leave_out("x-b")
    assert changes == HeaderChanges({"x-a": "2\t3"}, {"x-c", "x-b"}, {"x-b"})
    sent = (("X-A", "0"), ("x-c", "0"), ("X-D", "0"))
    assert changes.over(sent) == (("X-D", "0"), ("x-a", "2\t3"))
    changes.put("x-C", "4")
    assert changes.over(sent) == (("X-D", "0"), ("x-a", "2\t3"), ("x-C", "4"))


def test_what_goes_out_has_its_headers_in_one_order() -> None:
    """All of them: a proxy may look at any."""
    conversation = in_session("2025-11-25")
    session = (("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Session-Id", "s"))
    body = line("ping")
    assert conversation.posted(body) == OutgoingRequest(
        "POST",
        (
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            *session,
            ("Content-Length", str(len(body))),
            ("User-Agent", "test"),
        ),
        body,
    )
    assert conversation.stream_wanted("3-1") == OutgoingRequest(
        "GET",
        (
            ("Accept", "text/event-stream"),
            *session,
            ("Last-Event-ID", "3-1"),
            ("User-Agent", "test"),
        ),
    )
    assert conversation.end() == OutgoingRequest("DELETE", (*session, ("User-Agent", "test")))


def test_a_result_of_a_method_that_teaches_nothing_changes_nothing() -> None:
    """Whatever members it has; nor does the answer of a client without a method."""
    conversation = in_session("2025-11-25")
    told = {"protocolVersion": MODERN, "supportedVersions": [MODERN]}
    answered(conversation, modern("tools/call", name="x"), told)
    assert conversation.version == "2025-11-25"
    answered(conversation, modern("server/discover"), {"supportedVersions": [MODERN]})
    reply = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}).encode()
    assert headers(conversation.posted(reply)) == {"MCP-Protocol-Version": MODERN}


def test_a_handshake_within_a_session_begins_another_one() -> None:
    """It names neither the session nor its version."""
    assert headers(in_session("2025-11-25").posted(line("initialize"))) == {}
    assert headers(in_session("2025-11-25").posted(modern("initialize"))) == {}


def test_a_session_without_a_name_has_its_version_alone() -> None:
    """A server need not give one; there is nothing to end then."""
    conversation = HttpConversation("test")
    answered(conversation, line("initialize"), {"protocolVersion": "2025-11-25"})
    assert headers(conversation.posted(line("ping"))) == {"MCP-Protocol-Version": "2025-11-25"}
    assert conversation.end() is None


def test_an_error_keeps_all_but_its_id() -> None:
    """White space and the order of members too."""
    assert named_after(
        b' { "error":{"code":1.0}}', ASKED
    ) == b' { "id":"a", "error":{"code":1.0}}'.replace(b'{ "id":"a", ', b'{"id":"a", ')
    assert named_after(b'{"error":{"code":1.0}, "id" : null }', ASKED) == (
        b'{"error":{"code":1.0}, "id" : "a" }'
    )
