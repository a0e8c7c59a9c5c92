"""What a request over HTTP may be, and who may send one."""

import json
from typing import Any, Final

import pytest

from humanmcp.protocol.conversation.exchange import TransportFacts
from humanmcp.protocol.http.events import EventId, event, priming
from humanmcp.protocol.http.http_headers import Headers
from humanmcp.protocol.http.inbound import (
    ELSEWHERE,
    FOREIGN,
    MANY_VALUES,
    NO_KEY,
    NO_SESSION,
    ONE_HOST,
    UNKNOWN_SESSION,
    WRONG_HOST,
    Acknowledged,
    EndWanted,
    HttpAddress,
    HttpRefusal,
    HttpRequest,
    Posted,
    StreamWanted,
    bearer,
    facts_stated_in,
    for_page,
    is_stateless,
    judge_request,
    on_one_line,
    preflight,
    refusal_of,
    repeated,
)
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.tables import versions

JSON: Final = ("content-type", "application/json")
SESSION: Final = ("Mcp-Session-Id", "s")
META: Final = {versions.META_VERSION: "2026-07-28", versions.META_CAPABILITIES: {}}


def post(body: Any, *headers: tuple[str, str]) -> HttpRequest:  # noqa: ANN401 - any JSON value
    """Make a POST of a body."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HttpRequest("POST", Headers.of([JSON, *headers]), raw)


def message(method: str, **params: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Make a request."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def status(request: HttpRequest) -> int:
    """Return the status of a refusal."""
    refused = judge_request(request)
    assert isinstance(refused, HttpRefusal), refused
    return refused.status


@pytest.mark.parametrize("protocol_version", versions.HANDSHAKE[1:])
def test_initialize_opens_a_session_and_nothing_else_goes_without_one(
    protocol_version: str,
) -> None:
    """400 without a session, in every version that has them."""
    opened = judge_request(post(message("initialize", protocolVersion=protocol_version)))
    assert isinstance(opened, Posted)
    assert opened.opens
    version = ("MCP-Protocol-Version", protocol_version)
    assert status(post(message("tools/list"), version)) == 400
    within = judge_request(post(message("tools/list"), version, SESSION))
    assert isinstance(within, Posted)
    assert (within.session, within.transport_facts, within.opens) == ("s", None, False)


def test_a_version_that_does_not_exist_is_400_within_a_session() -> None:
    """2025-06-18: "invalid or unsupported" versions "MUST respond with 400"."""
    assert status(post(message("tools/list"), SESSION, ("MCP-Protocol-Version", "x"))) == 400
    assert status(HttpRequest("GET", Headers.of([SESSION, ("MCP-Protocol-Version", "x")]))) == 400


def test_an_initialize_whose_version_does_not_exist_is_told_which_ones_there_are() -> None:
    """It was judged as one of 2026-07-28, and told that its `_meta` lacks something."""
    refused = judge_request(post(message("initialize"), ("MCP-Protocol-Version", "2025-3-26")))
    assert isinstance(refused, HttpRefusal)
    assert (refused.status, refused.why) == (400, "version")


@pytest.mark.parametrize(
    "twice", ["Mcp-Session-Id", "MCP-Protocol-Version", "Last-Event-ID", "Content-Type"]
)
@pytest.mark.parametrize("value", ["s", "2025-11-25", "application/json"])
def test_a_header_that_is_there_twice_is_400(twice: str, value: str) -> None:
    """Also where both say the same: who reads the first, and who reads the last."""
    both = ((twice, value), (twice, value))
    refused = judge_request(post(message("tools/list"), SESSION, *both))
    assert isinstance(refused, HttpRefusal)
    assert (refused.status, refused.why) == (400, "twice")
    assert dict(refused.fillings)["header"] == twice
    if twice != "Content-Type":
        events = ("Accept", "text/event-stream")
        for method in ("GET", "DELETE"):
            assert status(HttpRequest(method, Headers.of([SESSION, events, *both]))) == 400


def test_a_request_of_2026_is_taken_without_a_session_and_ignores_one() -> None:
    """The rule: "An `Mcp-Session-Id` header on a request: ignore it"."""
    taken = judge_request(
        post(
            message("tools/list", _meta=META),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/list"),
            SESSION,
        )
    )
    assert isinstance(taken, Posted)
    assert taken.session == ""
    assert taken.transport_facts is not None
    assert (taken.transport_facts.version, taken.transport_facts.error) == ("2026-07-28", None)


def test_headers_that_lie_are_no_reason_to_refuse() -> None:
    """The message is there, with the error that it should get and what to say of it."""
    wrong = judge_request(
        post(
            message("tools/call", name="a", _meta=META),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "b"),
        )
    )
    assert isinstance(wrong, Posted)
    assert wrong.transport_facts is not None
    assert wrong.transport_facts.error is not None
    assert wrong.transport_facts.error["code"] == -32020
    assert [one.code for one in wrong.transport_facts.found] == ["N13"]


@pytest.mark.parametrize(
    ("body", "error"),
    [(b"{", -32700), (b"\xff", -32700), (b"[]", -32600), (b"7", -32600), (b"", -32700)],
)
def test_a_body_that_is_no_message_is_400(body: bytes, error: int) -> None:
    """With the error of JSON-RPC; within a session it is shown besides."""
    refused = judge_request(post(body))
    assert isinstance(refused, HttpRefusal)
    assert (refused.status, refused.error) == (400, error)
    shown = judge_request(post(body, SESSION))
    assert isinstance(shown, Posted)


def test_what_2026_does_not_take_is_400() -> None:
    """No batches and no answers of a client."""
    modern = ("MCP-Protocol-Version", "2026-07-28")
    assert status(post([message("tools/list")], modern)) == 400
    assert status(post({"jsonrpc": "2.0", "id": 1, "result": {}}, modern)) == 400
    gone = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert judge_request(post(gone, modern)) == Acknowledged()


def test_a_message_of_too_many_values_is_refused_before_it_is_decoded() -> None:
    """A million of them fit into 4 MiB, and all sessions would wait. A long text is one value."""
    assert judge_request(post(message("ping", a=[{}] * 100_001), SESSION)) == MANY_VALUES
    assert isinstance(judge_request(post(message("ping", a="1,2,3;" * 100_000), SESSION)), Posted)


def test_a_batch_of_too_many_messages_is_too_large() -> None:
    """They are processed at once, while others wait."""
    refused = judge_request(post([message("ping")] * 101))
    assert isinstance(refused, HttpRefusal)
    assert (refused.status, refused.why) == (413, "long batch")
    assert refused.fillings == (("limit", "100"),)
    assert judge_request(post([message("ping")] * 100)) == NO_SESSION


def test_a_batch_goes_into_its_session() -> None:
    """2025-03-26 "MUST support receiving JSON-RPC batches"; others show them."""
    posted = judge_request(post([message("tools/list"), message("prompts/list")], SESSION))
    assert isinstance(posted, Posted)


def test_a_stream_and_an_end_need_a_session() -> None:
    """And 2026-07-28 has neither: 405 with what is allowed."""
    events = ("Accept", "text/event-stream")
    modern = Headers.of([("MCP-Protocol-Version", "2026-07-28"), SESSION, events])
    for method in ("GET", "DELETE"):
        refused = judge_request(HttpRequest(method, modern))
        assert isinstance(refused, HttpRefusal)
        assert (refused.status, refused.headers) == (405, (("allow", "POST"),))
    assert judge_request(HttpRequest("GET", Headers.of([SESSION, events]))) == StreamWanted("s")
    again = Headers.of([SESSION, events, ("Last-Event-ID", "3-2")])
    assert judge_request(HttpRequest("GET", again)) == StreamWanted("s", EventId(3, 2))
    assert judge_request(HttpRequest("DELETE", Headers.of([SESSION]))) == EndWanted("s")
    assert status(HttpRequest("GET", Headers.of([SESSION, events, ("Last-Event-ID", "x")]))) == 400
    assert status(HttpRequest("GET", Headers.of([SESSION, ("Accept", "text/html")]))) == 406
    assert status(HttpRequest("PUT", Headers.of([SESSION]))) == 405


def test_the_transport_of_2024_is_recognised() -> None:
    """Its GET has no session, and is told what is here instead."""
    refused = judge_request(HttpRequest("GET", Headers.of([("Accept", "text/event-stream")])))
    assert isinstance(refused, HttpRefusal)
    assert (refused.status, refused.why) == (405, "old transport")


def test_types_that_are_not_spoken_are_refused() -> None:
    """415 for another body, 406 for a client that wants neither of ours."""
    form = Headers.of([("content-type", "text/plain")])
    assert status(HttpRequest("POST", form, b"{}")) == 415
    plain = post(message("initialize"), ("content-encoding", "Identity"))
    assert isinstance(judge_request(plain), Posted)
    packed = Headers.of([JSON, ("content-encoding", "gzip")])
    assert status(HttpRequest("POST", packed, b"{}")) == 415
    for charset in ("utf-16", "iso-8859-1", "us-ascii"):
        encoded = Headers.of([("content-type", f"application/json; charset={charset}")])
        refused = judge_request(HttpRequest("POST", encoded, b"{}"))
        assert isinstance(refused, HttpRefusal)
        assert (refused.status, refused.why) == (415, "no utf-8")
    said = Headers.of([("content-type", 'application/json;charset="UTF-8"')])
    assert isinstance(judge_request(post(message("initialize"))._replace(headers=said)), Posted)
    assert status(post(message("initialize"), ("Accept", "text/html"))) == 406
    assert isinstance(judge_request(post(message("initialize"), ("Accept", "*/*"))), Posted)


def test_a_body_over_several_lines_becomes_one_line() -> None:
    """With nothing else changed: numbers, escapes and the order of members stay."""
    raw = (
        b'{\r\n "jsonrpc": "2.0", "id": 1e0,\n "method": "initialize",\n "params": {"b": 1.0}\n}\n'
    )
    posted = judge_request(post(raw))
    assert isinstance(posted, Posted)
    assert posted.line == b'{"jsonrpc":"2.0","id":1e0,"method":"initialize","params":{"b":1.0}}'


def test_an_answer_stands_in_its_event_byte_for_byte() -> None:
    """With a name, by which it can be asked for again."""
    line = '{"jsonrpc":"2.0","id":1,"result":{"n":1e5,"s":"天\\u6c17"}}'.encode()
    assert event(line, EventId(3, 1)) == b"event: message\nid: 3-1\ndata: " + line + b"\n\n"
    assert event(b"half\r\na line") == b"event: message\ndata: half\ndata: a line\n\n"
    assert priming(EventId(3, 0), 15_000) == b"id: 3-0\nretry: 15000\ndata: \n\n"


def test_the_name_of_an_event_comes_back() -> None:
    """And nothing else is taken for one."""
    assert EventId.read(str(EventId(12, 3))) == EventId(12, 3)
    for text in ("", "1", "01-2", "1-2-3", "-1-2", "1-²", "9" * 30 + "-1"):
        assert EventId.read(text) is None


def test_a_refusal_is_a_json_rpc_error_with_the_id_of_its_request() -> None:
    """Null where no id can be read."""
    error = {"code": -32600, "message": "no \u201csession\u201d"}
    plain = HttpRefusal(400, "no session").body("no \u201csession\u201d")
    assert json.loads(plain) == {"jsonrpc": "2.0", "id": None, "error": error}
    assert "\u201csession\u201d" in plain.decode()  # as a person reads it
    assert json.loads(HttpRefusal(400, "no session", id='"7"').body(""))["id"] == "7"


HERE = HttpAddress("127.0.0.1", 8080)
HOST = ("Host", "localhost:8080")


def refusal(*pairs: tuple[str, str], address: HttpAddress = HERE) -> HttpRefusal | None:
    """Judge a request for the endpoint."""
    return refusal_of("/mcp", Headers.of(pairs), address)


@pytest.mark.parametrize(
    ("host", "port", "url"),
    [
        ("127.0.0.1", 8080, "http://127.0.0.1:8080/mcp"),
        ("::1", 80, "http://[::1]:80/mcp"),
    ],
)
def test_the_address_is_one_that_a_client_can_be_given(host: str, port: int, url: str) -> None:
    """RFC 3986, 3.2.2: an address of IPv6 stands in brackets."""
    assert HttpAddress(host, port).url == url


def test_the_port_is_left_out_where_it_is_the_usual_one() -> None:
    """RFC 9110, 4.2.1: 80 is that of http."""
    names = {"127.0.0.1", "localhost", "[::1]"}
    assert HERE.authorities == {f"{name}:8080" for name in names}
    assert HttpAddress("localhost", 80).authorities == names | {f"{name}:80" for name in names}


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ((HOST,), None),
        ((("host", "LOCALHOST:8080"),), None),
        ((HOST, ("Origin", "http://localhost:8080")), None),
        ((), ONE_HOST),
        ((HOST, HOST), ONE_HOST),
        ((("Host", "evil.example:8080"),), WRONG_HOST),
        ((HOST, ("Origin", "http://evil.example")), FOREIGN),
        ((HOST, ("Origin", "https://localhost:8080")), FOREIGN),
        ((HOST, ("Origin", "http://localhost:8080/")), FOREIGN),
        ((HOST, ("Origin", "http://[::1")), FOREIGN),
        ((HOST, ("Origin", "http://localhost:1")), FOREIGN),
        ((HOST, ("Origin", "x")), FOREIGN),
        ((HOST, ("Origin", "http://localhost:8080"), ("Origin", "null")), FOREIGN),
    ],
)
def test_a_page_of_another_address_is_kept_out(
    pairs: tuple[tuple[str, str], ...], expected: HttpRefusal | None
) -> None:
    """By the name that it says in `Host`, and by its own in `Origin`."""
    assert refusal(*pairs) == expected


def test_an_open_address_is_called_by_its_own_names_alone() -> None:
    """A page that rebinds its name to this address says that name in `Host` and in `Origin`."""
    names = ("192.168.1.5", "desk.local")
    here = HttpAddress("0.0.0.0", 8080, is_open=True, names=names)
    for name in (*names, "127.0.0.1"):
        own = (("Host", f"{name}:8080"), ("Origin", f"http://{name}:8080"))
        assert refusal(*own, address=here) is None
    evil = (("Host", "evil.example:8080"), ("Origin", "http://evil.example:8080"))
    assert refusal(*evil, address=here) == WRONG_HOST


def test_a_proxy_calls_it_by_the_address_that_was_given() -> None:
    """With the scheme that the browser sees, and with no other."""
    here = HttpAddress("127.0.0.1", 8080, outside=("https://mcp.example",))
    host = ("Host", "mcp.example")
    assert refusal(host, ("Origin", "https://mcp.example"), address=here) is None
    assert refusal(host, ("Origin", "https://evil.example"), address=here) == FOREIGN
    assert refusal(("Host", "evil.example"), address=here) == WRONG_HOST
    assert refusal(host, address=HERE) == WRONG_HOST


def test_nothing_but_the_endpoint_is_there_even_without_the_key() -> None:
    """A 401 elsewhere would begin a login that cannot end."""
    address = HttpAddress("127.0.0.1", 8080, key="k")
    assert refusal_of("/.well-known/x", Headers.of([HOST]), address) == ELSEWHERE
    assert refusal(HOST, address=address) == NO_KEY
    assert refusal(HOST, ("Authorization", "Bearer k"), address=address) is None
    assert refusal(HOST, ("Authorization", "Bearer x"), address=address) == NO_KEY
    twice = [HOST, *[("Authorization", "Bearer k")] * 2]
    assert refusal(*twice, address=address) == repeated("authorization")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/mcp?key=1", None),
        ("http://127.0.0.1:8080/mcp", None),
        ("HTTP://LOCALHOST:8080/mcp?a://b", None),
        ("http://evil.example/mcp", WRONG_HOST),
        ("http://evil.example:8080@localhost:8080/mcp", WRONG_HOST),
        ("https://localhost:8080/mcp", ELSEWHERE),
        ("http://localhost:8080", ELSEWHERE),
        ("/mcp/", ELSEWHERE),
        ("//mcp", ELSEWHERE),
        ("/http://localhost:8080/mcp", ELSEWHERE),
    ],
)
def test_a_target_may_name_the_host_and_have_a_query(
    target: str, expected: HttpRefusal | None
) -> None:
    """RFC 9112, 3.2.2; its host counts then, and not that of the header."""
    assert refusal_of(target, Headers.of([HOST]), HERE) == expected


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("Bearer abc", "abc"),
        ("bearer   abc ", "abc"),
        ("Basic abc", ""),
        ("Bearer", ""),
        ("Bearer " + "x" * 600, "x" * 505),
    ],
)
def test_the_key_is_what_follows_the_word_bearer(sent: str, key: str) -> None:
    """RFC 9110, 11.1: schemes are compared without case. No more is read than a key may have."""
    assert bearer(Headers.of([("Authorization", sent)])) == key
    assert bearer(Headers.of([("Other", sent)])) == ""


def refused(request: HttpRequest) -> HttpRefusal:
    """Return the refusal of a request."""
    found = judge_request(request)
    assert isinstance(found, HttpRefusal), found
    return found


EVENTS: Final = ("Accept", "text/event-stream")
MODERN: Final = ("MCP-Protocol-Version", "2026-07-28")
UNKNOWN: Final = ("MCP-Protocol-Version", "v" * 81)
EVERY: Final = (("allow", "GET, POST, DELETE"),)
KNOWN: Final = "2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (HttpRequest("PUT", Headers.of([SESSION])), HttpRefusal(405, "method", headers=EVERY)),
        (
            HttpRequest("GET", Headers.of([MODERN, SESSION, EVENTS])),
            HttpRefusal(405, "post only", headers=(("allow", "POST"),)),
        ),
        (
            HttpRequest("GET", Headers.of([EVENTS])),
            HttpRefusal(405, "old transport", headers=EVERY),
        ),
        (
            HttpRequest("GET", Headers.of([EVENTS, ("MCP-Protocol-Version", "2025-11-25")])),
            HttpRefusal(400, "no session"),
        ),
        (HttpRequest("DELETE", Headers.of([])), HttpRefusal(400, "no session")),
        (
            HttpRequest("DELETE", Headers.of([SESSION, UNKNOWN])),
            HttpRefusal(400, "version", fillings=(("version", "v" * 80), ("known", KNOWN))),
        ),
        (
            HttpRequest("GET", Headers.of([SESSION, ("Accept", "application/json")])),
            HttpRefusal(406, "not accepted"),
        ),
        (
            HttpRequest("GET", Headers.of([SESSION, EVENTS, ("Last-Event-ID", "")])),
            HttpRefusal(400, "no event"),
        ),
        (
            HttpRequest("POST", Headers.of([("Content-Type", "x")]), b"{}"),
            HttpRefusal(415, "no json"),
        ),
        (HttpRequest("POST", Headers.of([]), b"{}"), HttpRefusal(415, "no json")),
        (
            post(message("ping"), ("Content-Type", "application/json")),
            HttpRefusal(400, "twice", fillings=(("header", "Content-Type"),)),
        ),
        (
            post(message("ping"), SESSION, ("Mcp-Session-Id", "t")),
            HttpRefusal(400, "twice", fillings=(("header", "Mcp-Session-Id"),), id="1"),
        ),
        (post(message("ping"), ("Accept", "text/html")), HttpRefusal(406, "not accepted")),
        (post(message("ping")), HttpRefusal(400, "no session", id="1")),
        (post(b'{"id":7.0,"method":"x"}'), HttpRefusal(400, "no session", id="7.0")),
        (post(b'{"method":"x"}'), HttpRefusal(400, "no session")),
        (post(b'{"id":7,"result":{}}'), HttpRefusal(400, "no session")),
        (post(b"{"), HttpRefusal(400, "no message", -32700)),
        (post(b"[" * 200), HttpRefusal(400, "no message", -32700)),
        (post(b'{"id":' + b"1" * 5000 + b"}"), HttpRefusal(400, "no message", -32700)),
        (post(b'{"id":1}'), HttpRefusal(400, "no message", -32600)),
        (post(b'{"id":true,"method":"x"}'), HttpRefusal(400, "no message", -32600)),
        (post(b"7", MODERN), HttpRefusal(400, "no message", -32600)),
        (post([message("ping")], MODERN), HttpRefusal(400, "batch")),
        (post({"id": 1, "result": {}}, MODERN), HttpRefusal(400, "response")),
        (
            post(message("ping", a=[{}] * 100_001)),
            HttpRefusal(413, "many values", fillings=(("limit", "100,000"),)),
        ),
    ],
    ids=range(26),
)
def test_a_refusal_says_what_is_wrong_in_each_of_its_members(
    request_: HttpRequest, expected: HttpRefusal
) -> None:
    """Status, sentence, code of the error, headers, what fills the sentence, id."""
    assert refused(request_) == expected


@pytest.mark.parametrize(
    ("refusal_", "expected"),
    [
        (ONE_HOST, HttpRefusal(400, "one host")),
        (WRONG_HOST, HttpRefusal(403, "host")),
        (FOREIGN, HttpRefusal(403, "origin")),
        (NO_KEY, HttpRefusal(401, "key", headers=(("www-authenticate", "Bearer"),))),
        (ELSEWHERE, HttpRefusal(404, "path")),
        (UNKNOWN_SESSION, HttpRefusal(404, "unknown session")),
        (
            repeated("authorization"),
            HttpRefusal(400, "twice", fillings=(("header", "Authorization"),)),
        ),
    ],
)
def test_a_refusal_by_the_address_has_its_status(
    refusal_: HttpRefusal, expected: HttpRefusal
) -> None:
    """401 alone asks for a key."""
    assert refusal_ == expected
    assert refusal_.error == -32600


STATED: Final = {**message("tools/list", _meta=META)}


@pytest.mark.parametrize(
    ("body", "headers", "stateless"),
    [
        (STATED, [], True),
        (STATED, [("MCP-Protocol-Version", "2025-11-25")], True),
        (message("ping"), [MODERN], True),
        (message("ping"), [], False),
        (message("ping"), [("MCP-Protocol-Version", "2025-11-25")], False),
        (message("ping"), [UNKNOWN], True),
        (message("ping"), [UNKNOWN, SESSION], False),
        (message("initialize"), [UNKNOWN], False),
        (message("initialize"), [MODERN], True),
        ([message("initialize")], [UNKNOWN], True),
    ],
)
def test_the_era_of_a_request_is_told_by_its_body_or_its_header(
    body: object, headers: list[tuple[str, str]], *, stateless: bool
) -> None:
    """An unknown version without a session can only be one of later."""
    read_ = jsonrpc.read(json.dumps(body).encode())
    assert is_stateless(read_, Headers.of(headers)) is stateless


@pytest.mark.parametrize(
    ("meta", "version", "error"),
    [
        (META, "2026-07-28", None),
        ({**META, versions.META_VERSION: "9999-01-01"}, "2026-07-28", None),
        ({versions.META_VERSION: "2026-07-28"}, "2026-07-28", -32602),
        ({versions.META_CAPABILITIES: {}}, "2026-07-28", -32602),
        ({}, "2026-07-28", -32602),
    ],
)
def test_a_request_of_2026_lacks_what_its_meta_must_have(
    meta: dict[str, object], version: str, error: int | None
) -> None:
    """Before its headers are looked at."""
    call = jsonrpc.read(json.dumps(message("tools/list", _meta=meta)).encode())
    assert isinstance(call, jsonrpc.Message)
    stated = meta.get(versions.META_VERSION, "")
    said = [("MCP-Protocol-Version", str(stated)), ("Mcp-Method", "tools/list")]
    facts = facts_stated_in(call, Headers.of(said if error is None else []))
    assert (facts.version, facts.error and facts.error["code"]) == (version, error)
    assert facts.found == ()


def test_a_notification_of_2026_has_the_version_that_it_states() -> None:
    """It is not checked against its headers."""
    notice = {"jsonrpc": "2.0", "method": "notifications/x"}
    for params in ({}, {"_meta": {versions.META_VERSION: "x"}}, {"_meta": META}):
        posted = judge_request(post({**notice, "params": params}, MODERN))
        assert isinstance(posted, Posted)
        assert posted.transport_facts == TransportFacts("2026-07-28")
        assert not posted.opens


def test_a_call_alone_is_compared_with_a_schema() -> None:
    """No other request has arguments that headers repeat."""
    asked_for = []

    def schema_of(call: jsonrpc.Message) -> dict[str, Any]:
        asked_for.append(call.method)
        return {"properties": {"city": {"type": "string", "x-mcp-header": "City"}}}

    for method, codes in (("tools/call", ["N12"]), ("tools/list", [])):
        body = message(method, arguments={"city": "x"}, _meta=META)
        posted = judge_request(post(body, MODERN, ("Mcp-Method", method)), schema_of)
        assert isinstance(posted, Posted)
        assert posted.transport_facts is not None
        assert [one.code for one in posted.transport_facts.found] == codes
    assert asked_for == ["tools/call"]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b" \t{ } \r\n", b"{ }"),
        (b'{\r"a": 1}', b'{"a":1}'),
        (b"a\nb", b"ab"),
        (b'"a\r\nb"', b'"a  b"'),
        (b"\xff\nb\r", b"\xff b"),
        (b"", b""),
    ],
)
def test_a_body_is_one_line(body: bytes, line: bytes) -> None:
    """A line break within a string is no JSON, and stays a place."""
    assert on_one_line(body) == line


def test_the_next_process_listens_where_this_one_does() -> None:
    """By its port."""
    assert HERE.at == "8080"
    assert HttpAddress("127.0.0.1", 8080, outside=("https://mcp.example:1",)).authorities == (
        HERE.authorities | {"mcp.example:1"}
    )


PAGED: Final = HttpAddress("127.0.0.1", 8080, pages=("https://page.example",))


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ([("Origin", "https://page.example")], "https://page.example"),
        ([("Origin", "https://PAGE.example")], "https://PAGE.example"),
        ([("Origin", "https://other.example")], ""),
        ([("Origin", "")], ""),
        ([], ""),
    ],
)
def test_a_page_may_read_a_response_if_it_may_send_requests(
    origin: list[tuple[str, str]], allowed: str
) -> None:
    """The headers of MCP, too; a cache keeps the response for this page alone."""
    exposed = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate"
    told = (
        ("access-control-allow-origin", allowed),
        ("access-control-expose-headers", exposed),
        ("vary", "origin"),
    )
    assert for_page(Headers.of(origin), PAGED) == (told if allowed else ())
    assert for_page(Headers.of(origin), HERE) == ()


WANTS_POST: Final = ("Access-Control-Request-Method", "POST")


@pytest.mark.parametrize(
    ("method", "pairs", "allowed"),
    [
        ("OPTIONS", [WANTS_POST], ()),
        (
            "OPTIONS",
            [WANTS_POST, ("Access-Control-Request-Headers", "mcp-session-id, x")],
            (("access-control-allow-headers", "mcp-session-id, x"),),
        ),
        ("OPTIONS", [], None),
        ("POST", [WANTS_POST], None),
    ],
)
def test_a_browser_is_told_what_a_page_may_send(
    method: str, pairs: list[tuple[str, str]], allowed: tuple[tuple[str, str], ...] | None
) -> None:
    """What it asks for, and for ten minutes; any other request is none of a browser."""
    told = (
        ()
        if allowed is None
        else (
            ("access-control-allow-methods", "POST, GET, DELETE"),
            *allowed,
            ("access-control-max-age", "600"),
        )
    )
    assert preflight(method, Headers.of(pairs)) == told
