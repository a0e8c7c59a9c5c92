"""What the check says of what the peer sent: never in anybody's way."""

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.json import jsonrpc, undecoded
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.validation import check
from tests.support.verdicts import R2024, R2025, R2026, asked, hold_diagnostic, stating

READY = NegotiatedState(initialized=True)
DICE = {
    "dice": {
        "name": "dice",
        "inputSchema": {
            "type": "object",
            "properties": {"sides": {"type": "integer", "minimum": 1}},
            "required": ["sides"],
        },
    }
}
KNOWN = NegotiatedState(initialized=True, tools=DICE)


def arrived(text: str) -> Message:
    """Read a line of the peer."""
    message = jsonrpc.read(text.encode("utf-8", "surrogatepass"))
    assert isinstance(message, Message)
    return message


def request(method: str, params: Any = None, **more: Any) -> Message:  # noqa: ANN401 - any JSON value
    """Make a request of the client."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, **more}
    return arrived(json.dumps(body if params is None else {**body, "params": params}))


def said(
    message: Message, version: str = R2025, negotiated: NegotiatedState = READY
) -> list[tuple[str, str]]:
    """List what is said of a message, as (code, pointer), and hold it to what remarks promise."""
    diagnostics = check.remarks(message, version, negotiated)
    for diagnostic in diagnostics:
        assert not diagnostic.blocks
        assert diagnostic.severity in (Severity.WARNING, Severity.HINT)
        assert diagnostic.fix is None
        hold_diagnostic(diagnostic, message.raw)
    return [(diagnostic.code, diagnostic.pointer) for diagnostic in diagnostics]


@pytest.mark.parametrize("version", versions.ALL)
def test_an_ordinary_request_is_nothing_to_speak_of(version: str) -> None:
    """tools/list with and without params, in every version."""
    meta = {"_meta": stating()} if version == R2026 else {}
    assert said(request("tools/list", meta), version) == []
    assert said(request("tools/call", {"name": "a", "arguments": {}, **meta}), version) == []
    if version != R2026:
        assert said(request("tools/list"), version) == []
        assert said(request("ping"), version) == []


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({"result": None, "error": None}, [("R35", "/result"), ("R35", "/error")]),
        ({"result": {}}, [("R35", "/result")]),
        ({"auth": "x"}, [("R17", "/auth")]),
    ],
)
def test_a_member_that_a_request_does_not_have_is_reported(
    more: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    """Servers with the TypeScript SDK drop the request."""
    assert said(request("ping", **more)) == found


def call(**params: Any) -> Message:  # noqa: ANN401 - any JSON value
    """Make a call of the dice."""
    return request("tools/call", {"name": "dice", **params})


def token(value: object) -> Message:
    """Make a request with a progress token."""
    return request("tools/list", {"_meta": {"progressToken": value}})


TOKEN: Final = "/params/_meta/progressToken"
CANCELLED: Final = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}'
INITIALIZED: Final = '{"jsonrpc":"2.0","method":"notifications/initialized"}'


@pytest.mark.parametrize(
    ("message", "version", "found"),
    [
        # the schema lets `args` pass, and the server sees no arguments
        (call(args={"sides": 6}), R2025, [("M87", "/params/args")]),
        # a server would answer -32602, or check the arguments itself
        (request("tools/call", {"name": "coin"}), R2025, [("M62", "/params/name")]),
        (call(arguments={"sides": 6}), R2025, []),
        (call(arguments={}), R2025, [("M08", "/params/arguments")]),
        (call(arguments={"sides": "six"}), R2025, [("M08", "/params/arguments/sides")]),
        (call(arguments={"sides": 0}), R2025, [("M08", "/params/arguments/sides")]),
        # a method of another version is named as such
        (request("server/discover", {"_meta": stating()}), R2025, [("M85", "/method")]),
        (request("ping", {"_meta": stating()}), R2026, [("M85", "/method")]),
        (request("x/y"), R2025, [("M83", "/method")]),
        (arrived('{"id":1,"method":"ping"}'), R2025, [("R01", "")]),
        # Python accepts what JSON does not allow, others drop the line
        (arrived('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'), R2025, [("J09", "")]),
        (arrived('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}'), R2025,
         [("M12", "/params/x"), ("J10", "")]),
        (arrived('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":"\\ud800"}}}'),
         R2025,
         [("J23", "")]),
        # a progress token is text or a whole number; the TypeScript clients start at 0
        *((each, R2025, []) for each in map(token, (1, 0, -1, "", "x"))),
        *((each, R2025, [("M81", TOKEN)]) for each in map(token, (1.5, [1], {"a": 1}))),
        (token(None), R2025, [("M20", TOKEN)]),
        # notifications are looked at, too
        (arrived(CANCELLED), R2024, [("M09", "/params")]),
        (arrived(INITIALIZED), R2025, []),
    ],
)  # fmt: skip
def test_what_a_client_does_wrong_is_said(
    message: Message, version: str, found: list[tuple[str, str]]
) -> None:
    """As a warning or a hint, at its place."""
    assert said(message, version, KNOWN) == found


@pytest.mark.parametrize(
    ("method", "meant"),
    [
        ("tool/list", "tools/list"),
        ("intilalize", "initialize"),
        ("tools/Call", "tools/call"),
        ("initialized", "notifications/initialized"),
        ("notification/initialized", "notifications/initialized"),
        ("list_tools", "tools/list"),
        ("ListToolsRequest", "tools/list"),
        ("mcp/listTools", "tools/list"),
        ("call_tool", "tools/call"),
        ("tools/invoke", "tools/call"),
        ("execute_tool", "tools/call"),
        ("getPrompt", "prompts/get"),
        ("resources/list_templates", "resources/templates/list"),
        ("set_logging_level", "logging/setLevel"),
        ("create_message", "sampling/createMessage"),
        ("toolListChanged", "notifications/tools/list_changed"),
    ],
)
def test_a_misspelt_method_is_told(method: str, meant: str) -> None:
    """Did you mean …?"""
    (diagnostic,) = check.remarks(request(method, {"name": "x", "arguments": {}}), R2025, READY)
    assert diagnostic.code == "M84"
    assert dict(diagnostic.detail)["meant"] == meant


def test_a_version_that_there_is_not_is_pointed_out_and_the_draft_says_so() -> None:
    """A server answers -32022 and lists its versions."""
    place = "/params/_meta/io.modelcontextprotocol~1protocolVersion"
    unserved = {**stating(), "io.modelcontextprotocol/protocolVersion": "2030-01-01"}
    unknown = request("tools/list", {"_meta": unserved})
    assert said(unknown, R2026) == [("M90", place)]
    exchange = Exchange(1, unknown, R2026)
    draft = json.loads(check.start(exchange))
    assert draft["error"]["code"] == -32022
    assert draft["error"]["data"]["requested"] == "2030-01-01"
    assert check.check(exchange, check.start(exchange)).sendable


@pytest.mark.parametrize(
    ("meta", "code", "key"),
    [
        (None, "M88", "io.modelcontextprotocol/protocolVersion"),
        ({}, "M88", "io.modelcontextprotocol/protocolVersion"),
        ({"io.modelcontextprotocol/protocolVersion": R2026}, "M88",
         "io.modelcontextprotocol/clientCapabilities"),
        (stating() | {"io.modelcontextprotocol/logLevel": "loud"}, "M21", ""),
        (stating() | {"progressToken": True}, "M81", ""),
    ],
)  # fmt: skip
def test_the_meta_of_2026_is_checked(meta: dict[str, Any] | None, code: str, key: str) -> None:
    """Missing members are answered with -32602 by a server."""
    params = {} if meta is None else {"_meta": meta}
    (diagnostic,) = check.remarks(request("tools/list", params), R2026, READY)
    assert diagnostic.code == code
    assert dict(diagnostic.detail)["key"] == key or not key


def test_a_real_servers_answer_is_reviewed() -> None:
    """A tap says of an answer what the check would say of a draft, and blocks nothing."""
    exchange = asked("tools/list", token="1")
    text = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","input_schema":{}}]},"x":1}'
    diagnostics = check.review(exchange, arrived(text))
    assert {diagnostic.code for diagnostic in diagnostics} == {"M10", "R17"}
    assert not any(diagnostic.blocks or diagnostic.fix for diagnostic in diagnostics)
    error = arrived('{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"x"}}')
    assert [diagnostic.code for diagnostic in check.review(exchange, error)] == ["R08"]
    fine = arrived('{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}')
    assert check.review(exchange, fine) == ()


@given(
    st.sampled_from([*methods.REQUESTS, "x"]),
    st.sampled_from(versions.ALL),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["name", "_meta", "uri", "arguments", "x"]), inner)
        ),
        max_leaves=8,
    ),
)
def test_no_request_whatever_raises(method: str, version: str, params: object) -> None:
    """A stranger sends what they like."""
    said(request(method, params), version, KNOWN)
    exchange = asked(method, params if isinstance(params, dict) else {}, version=version)
    answer = arrived(json.dumps({"jsonrpc": "2.0", "id": 3, "result": params}))
    for diagnostic in check.review(exchange, answer, KNOWN):
        hold_diagnostic(diagnostic, answer.raw)


def test_a_large_message_is_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sessions of a process would wait for it; who writes one is told all the same."""
    message = arrived('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"args":{}}}')
    assert said(message)
    monkeypatch.setattr(undecoded, "LARGEST", 10)
    assert said(message) == []
    assert check.remarks(message, R2025, READY, strict=True)
    exchange = Exchange(1, message, R2025)
    answer = arrived('{"jsonrpc":"2.0","id":1,"result":{"content":7}}')
    assert check.review(exchange, answer) == ()
    assert check.review(exchange, answer, strict=True)


@pytest.mark.parametrize("version", [R2024, R2026])
@pytest.mark.parametrize(
    ("line", "code", "pointer", "place"),
    [
        ('{"jsonrpc":"2.0","method":"tools/list"}', "M89", "/method", (26, 38, 27)),
        (
            '{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}',
            "M123",
            "/id",
            (22, 23, 23),
        ),
    ],
)
def test_a_request_without_an_id_and_a_notification_with_one_are_named(
    line: str, code: str, pointer: str, place: tuple[int, int, int], version: str
) -> None:
    """At what is there: in every version, also where the method is gone."""
    (one,) = check.remarks(arrived(line), version, READY)
    assert (one.code, one.severity, one.pointer) == (code, Severity.WARNING, pointer)
    assert one.detail == (("method", json.loads(line)["method"]),)
    assert (one.start, one.end, one.column, one.line) == (*place, 1)
