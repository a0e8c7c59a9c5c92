"""A client that calls a server over HTTP: sessions, streams, and peers that behave badly."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.extensions.host.client.callbacks import MisdirectedResponse, Nobody
from humanmcp.extensions.host.client.client import Client
from humanmcp.extensions.host.client.handshake import SessionStart
from humanmcp.extensions.host.config import parse
from humanmcp.extensions.host.conversation import ToolUse
from humanmcp.extensions.host.servers import Servers
from humanmcp.http import transport as exchanges
from humanmcp.http.server_address import CallError, ServerAddress
from humanmcp.http.transport import HttpPart, HttpTransport
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.state import StrayCause
from humanmcp.protocol.http.client import IncomingResponse, OutgoingRequest
from humanmcp.protocol.http.events import EventId, ServerSentEvent, UnreadBytes, event, priming
from tests.extensions.host.seats import Notes
from tests.http.peer import (
    ACCEPTED,
    NOT_ALLOWED,
    Asked,
    Peer,
    answer,
    initialized,
    response,
    stream,
)
from tests.support.waiting import until

Say = Callable[[Asked], Any]

MODERN: Final = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
LISTED: Final = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
NAMELESS: Final = b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"},"id":null}'


class HttpNotes(Notes):
    """An onlooker that writes down what HTTP says, too."""

    def __init__(self) -> None:
        """Begin with an empty page."""
        super().__init__()
        self.parts: list[HttpPart] = []
        self.refused: list[str] = []
        self.strays: list[MisdirectedResponse] = []

    def answer_went_astray(self, response: MisdirectedResponse) -> None:
        """Note it."""
        self.strays.append(response)

    def http_passed(self, number: int, what: HttpPart) -> None:
        """Note it."""
        assert number
        self.parts.append(what)

    def not_taken(self, error: StopError) -> None:
        """Note it."""
        self.refused.append(str(error))

    def ids(self) -> list[str]:
        """List the ids of the events that came."""
        return [one.id for one in self.parts if isinstance(one, ServerSentEvent)]


def outgoing(answers: Mapping[str, Say | bytes | None]) -> Say:
    """Answer by method; a handshake where no other answer is given for it."""
    usual: dict[str, Say | bytes | None] = {
        "initialize": initialized,
        "notifications/initialized": ACCEPTED,
        "notifications/cancelled": ACCEPTED,
        "server/discover": lambda asked: answer(asked, MODERN),
        "GET": NOT_ALLOWED,
        "DELETE": NOT_ALLOWED,
    }

    def say(asked: Asked) -> Any:  # noqa: ANN401 - what a peer does
        found = {**usual, **answers}[asked.rpc]
        return found(asked) if callable(found) else found

    return say


@contextmanager
def seated(
    peer: Peer, session_start: SessionStart = SessionStart.HANDSHAKE, *headers: tuple[str, str]
) -> Iterator[tuple[Client, HttpNotes]]:
    """Take the client's seat opposite a peer, and open the session."""
    notes = HttpNotes()
    transport = HttpTransport(ServerAddress.of(peer.url, headers, {}))
    client = Client(transport, Nobody(), observers=[notes], timeout=10)
    try:
        client.open(session_start)
        yield client, notes
    finally:
        client.close()


def http(client: Client) -> HttpTransport:
    """Return the way of a client."""
    assert isinstance(client.transport, HttpTransport)
    return client.transport


# -- sessions --------------------------------------------------------------------------------------


def test_a_session_is_opened_named_and_ended() -> None:
    """Handshake, requests that name the session, DELETE at the end."""
    with Peer(outgoing({"tools/list": lambda asked: answer(asked, LISTED)})) as peer:
        with seated(peer) as (client, _):
            assert client.request("tools/list").result == LISTED
        methods = [asked.rpc for asked in peer.asked if asked.rpc != "GET"]
        named = [asked.headers.get("mcp-session-id") for asked in peer.asked]
    assert methods == ["initialize", "notifications/initialized", "tools/list", "DELETE"]
    assert named == [None, *["s-1"] * (len(named) - 1)]


def test_2026_07_28_has_no_session() -> None:
    """Each request says all of itself; nothing is ended, and no stream is asked for."""
    with Peer(outgoing({"tools/list": lambda asked: answer(asked, LISTED)})) as peer:
        with seated(peer, SessionStart.MODERN) as (client, _):
            client.request("tools/list")
        heads = [
            (one.method, one.headers["mcp-protocol-version"], one.headers["mcp-method"])
            for one in peer.asked
        ]
    assert heads == [
        ("POST", "2026-07-28", "server/discover"),
        ("POST", "2026-07-28", "tools/list"),
    ]


@pytest.mark.parametrize(
    "refusal",
    [response(NAMELESS, status="400 Bad Request"), response(b"<p>", status="404 No", kind="x/y")],
)
def test_a_probe_falls_back_to_the_handshake(refusal: bytes) -> None:
    """An older server refuses what it does not know, in one way or another."""
    with (
        Peer(outgoing({"server/discover": refusal})) as peer,
        seated(peer, SessionStart.PROBE) as (
            client,
            _,
        ),
    ):
        assert client.session.version == "2025-11-25"


ERROR: Final = b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"},"id":%b}'
IDS: Final = (b"null", b'"server-error"', b"1.5", b"true", b"[]", b"102", b'"102"', b"7")
"""The ids of an error that comes instead of an answer to the request 102."""
REFUSALS: Final = (
    b"",
    NAMELESS,
    b"Session not found",
    b'{"detail":"Not Found"}',
    b'{"jsonrpc":"2.0","id":102,"result":{"tools":[]}}',
    b"[%b]" % NAMELESS,
    *(ERROR % own for own in IDS),
)


@pytest.mark.parametrize("body", REFUSALS)
def test_a_404_begins_the_session_anew(body: bytes) -> None:
    """A client "MUST start a new session by sending a new `InitializeRequest`"; it asks again.

    Whatever the body says: the status decides.
    """
    over = [response(body, status="404 Not Found", kind="application/json" if body else "")]
    listed = outgoing({"tools/list": lambda asked: over.pop() if over else answer(asked, LISTED)})
    with Peer(listed) as peer, seated(peer) as (client, notes):
        assert client.request("tools/list").result == LISTED
        methods = [asked.rpc for asked in peer.asked if asked.method == "POST"]
    assert "does not have this session (404)" in notes.refused[0]
    assert methods == [*["initialize", "notifications/initialized", "tools/list"] * 2]


@pytest.mark.parametrize("status", ["400 Bad Request", "500 Oh", "200 OK"])
@pytest.mark.parametrize("own", [b"null", b'"server-error"', b"7", b"102", b'"102"'])
def test_an_error_answers_the_request_whose_response_it_is(status: str, own: bytes) -> None:
    """Over HTTP a response belongs to its request, whatever its id is; it is shown as it came."""
    refusal = ERROR % own
    say = outgoing({"tools/list": response(refusal, status=status)})
    with Peer(say) as peer, seated(peer) as (client, notes):
        assert client.request("tools/list").error == (-32000, "no")
    assert refusal.decode() in notes.arrived
    assert notes.refused == []


@pytest.mark.parametrize("body", REFUSALS)
@pytest.mark.parametrize("status", ["400 Bad Request", "406 No", "500 Oh"])
def test_a_status_of_an_error_ends_the_request(status: str, body: bytes) -> None:
    """No body makes a client wait for its whole timeout, and none is taken for a success."""
    say = outgoing({"tools/list": response(body, status=status)})
    with Peer(say) as peer, seated(peer) as (client, notes):
        begun = client.begin("tools/list")
        assert client.wait_for_first(begun)
        assert notes.strays == []
    if error := begun.future.exception():
        assert f"status {status}" in str(error)
    else:
        assert begun.response.error == (-32000, "no")


OTHER: Final = b'{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}'


@pytest.mark.parametrize(
    "came",
    [
        response(OTHER),
        response(b"[%b]" % OTHER.replace(b"7", b"102")),
        stream(b"data: %b\n\n" % OTHER),
        stream(b"data: %b\n\n" % (ERROR % b'"server-error"')),
    ],
    ids=["a body", "an array", "a stream", "an error in a stream"],
)
def test_a_response_that_is_over_without_an_answer_is_not_waited_for(came: bytes) -> None:
    """The sentence says what came instead; to wait longer would not help."""
    with (
        Peer(outgoing({"tools/list": came})) as peer,
        seated(peer) as (client, _),
        pytest.raises(CallError, match=r'without an answer to it. Server: .*"jsonrpc":"2.0"'),
    ):
        client.request("tools/list")


def test_an_id_of_another_type_answers_its_request() -> None:
    """The official SDKs convert it, and nothing is said to be missing."""
    came = response(OTHER.replace(b"7", b'"102"'))
    with Peer(outgoing({"tools/list": came})) as peer, seated(peer) as (client, notes):
        found = client.request("tools/list")
        assert found.result == {"tools": []}
        assert [one.code for one in found.diagnostics] == ["R04"]
    assert notes.strays == []


def test_an_answer_on_another_stream_is_said_to_be_there() -> None:
    """The POST brought 202; what comes on the stream of a GET was not asked for there."""
    late = threading.Event()

    def hears(connection: socket.socket) -> None:
        late.wait(10)
        connection.sendall(stream(b"data: %b\n\n" % OTHER.replace(b"7", b"102")))

    say = outgoing({"tools/list": ACCEPTED, "GET": lambda _asked: hears})
    with Peer(say) as peer, seated(peer) as (client, notes):
        with pytest.raises(CallError, match="status 202 is for notifications"):
            client.request("tools/list")
        late.set()
        until(lambda: notes.strays, "the answer")
    assert [one.cause for one in notes.strays] == [StrayCause.ELSEWHERE]


def test_a_body_over_several_lines_is_one_message() -> None:
    """A server may lay its JSON out."""

    def laid_out(asked: Asked) -> bytes:
        said = {"jsonrpc": "2.0", "id": asked.json["id"], "result": LISTED}
        return response(json.dumps(said, indent=2).encode())

    with Peer(outgoing({"tools/list": laid_out})) as peer, seated(peer) as (client, _):
        assert client.request("tools/list").result == LISTED


def test_a_host_uses_a_remote_entry_like_any_other() -> None:
    """An entry with `url` and `headers`: its tools are called, with the key it needs."""
    say = outgoing(
        {
            "tools/list": lambda asked: answer(asked, LISTED),
            "tools/call": lambda asked: answer(
                asked, {"content": [{"type": "text", "text": "hi"}]}
            ),
        }
    )
    with Peer(say) as peer:
        entry = {"url": peer.url, "headers": {"Authorization": "Bearer ${KEY}"}}
        config = json.dumps({"mcpServers": {"far": entry}})
        servers = Servers(parse(config, Path("x"), {"KEY": "secret"}), lambda _name: Nobody())
        try:
            servers.start()
            (tool,) = servers.model_tools()
            called = servers.call(ToolUse("1", tool.name), servers.place(tool.name))
        finally:
            servers.close()
        keys = {asked.headers.get("authorization") for asked in peer.asked}
    assert (tool.name, called.text, keys) == ("far__echo", "hi", {"Bearer secret"})


@pytest.mark.parametrize("refusal", ["wants key", "wants sign-in"])
def test_the_key_of_an_entry_belongs_into_the_entry(refusal: str) -> None:
    """`--key-file` of the host is the key of its model, which no server may get."""
    refused = SIGN_IN if refusal == "wants sign-in" else response(status="401 No")
    with Peer(lambda _asked: refused) as peer:
        config = json.dumps({"mcpServers": {"far": {"url": peer.url}}})
        servers = Servers(parse(config, Path("x")), lambda _name: Nobody())
        servers.start()
        servers.close()
    (far,) = servers.all
    assert far.trouble is not None
    assert (far.trouble.code, "--key-file" in str(far.trouble)) == (refusal, False)
    assert '"headers": {"Authorization": "Bearer ${NAME}"}' in str(far.trouble)


@pytest.mark.parametrize(
    ("came", "told"),
    [
        (response(b"<p>No", status="404 No", kind="text/html"), "status 404 text/html.*: No$"),
        (response(NAMELESS, status="400 Bad Request"), "status 400 application/json"),
        (response(b'{"status":"ok"}'), 'status 200 application/json.*{"status":"ok"}'),
        (ACCEPTED, "status 202"),
        (NOT_ALLOWED, ""),
    ],
    ids=["404", "400", "JSON", "202", "405"],
)
def test_what_a_get_brings_instead_of_a_stream_is_said(came: bytes, told: str) -> None:
    """Clients drop the connection, or ask again for ever; the session itself goes on."""
    say = outgoing({"GET": came, "tools/list": lambda asked: answer(asked, LISTED)})
    with Peer(say) as peer, seated(peer) as (client, notes):
        assert client.request("tools/list").result == LISTED
        until(
            lambda: notes.refused or (not told and "GET" in [one.rpc for one in peer.asked]), "it"
        )
        assert notes.strays == []
    assert [bool(re.search(told, one)) for one in notes.refused] == ([True] if told else [])
    assert all("405" in one for one in notes.refused)


@pytest.mark.parametrize(
    "came",
    [
        response(kind=""),
        response(b"{}"),
        response(NAMELESS, status="400 Bad Request"),
        response(b"<p>No", status="404 No", kind="text/html"),
        ACCEPTED,
        NOT_ALLOWED,
    ],
    ids=["200", "JSON", "400", "404", "202", "405"],
)
def test_nothing_is_said_of_the_answer_to_the_end_of_a_session(came: bytes) -> None:
    """A plain 200 was told as the answer to a GET."""
    with Peer(outgoing({"DELETE": came})) as peer, seated(peer) as (client, notes):
        client.close()
        assert "DELETE" in [one.rpc for one in peer.asked]
    assert (notes.refused, notes.strays) == ([], [])


@pytest.mark.parametrize(
    ("session", "told"),
    [
        ("1868a90c-4e43", ""),
        ("!~{}", ""),
        ("my session", '"my session"'),
        ("caf\u00e9", '"caf\u00e9"'),
        ("a\tb", '"a'),
    ],
)
def test_a_session_id_that_is_not_visible_ascii_is_said(session: str, told: str) -> None:
    """The session goes on: other clients may refuse it."""

    def begun(asked: Asked) -> bytes:
        return initialized(asked).replace(b"Id: s-1", f"Id: {session}".encode("latin-1"))

    answers = {"initialize": begun, "tools/list": lambda asked: answer(asked, LISTED)}
    with Peer(outgoing(answers)) as peer, seated(peer) as (client, notes):
        assert client.request("tools/list").result == LISTED
    assert [told in one and "visible ASCII" in one for one in notes.refused] == [True][: len(told)]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", ""),
        (b" \n", ""),
        (b"no &amp; no", "no &amp; no"),
        (b"<!DOCTYPE html><title>Not logged in</title><p>a &lt; b", "Not logged in a < b"),
        (b"\xef\xbb\xbf <html><style>p {}</style><!-- x --><script>y</script>No", "No"),
        (b"<html><script>" + b"x" * 9000, "<html><script>xxx"),
        (b"<html><body></body></html>", "<html><body></body></html>"),
    ],
)
def test_the_words_of_a_body_are_quoted(body: bytes, told: str) -> None:
    """Of a page its text; where there is nothing, no empty "Server:"."""
    page = response(body, status="405 Not Allowed", kind="text/html")
    with (
        Peer(outgoing({"initialize": page, "GET": page})) as peer,
        pytest.raises(CallError) as raised,
        seated(peer),
    ):
        pass
    quoted = str(raised.value).partition("often ends in /mcp.")[2]
    assert quoted.startswith(f" Server: {told}") if told else not quoted


@pytest.mark.parametrize(
    ("content", "unread"),
    [
        (b"event: message\ndata: {}\n", "event: message\ndata: {}"),
        (b"Event: message\nData: {}\n\n", "Event: message\nData: {}"),
        (b'{"jsonrpc":"2.0"}\n\n: ping\n\n', '{"jsonrpc":"2.0"}'),
        (b": ping\n\n", None),
    ],
)
def test_bytes_that_make_no_event_are_shown(content: bytes, unread: str | None) -> None:
    """A blank line is missing, or nothing is a field: what came is not lost."""
    say = outgoing({"tools/list": stream(content)})
    with Peer(say) as peer, seated(peer) as (client, notes):
        with pytest.raises(CallError):
            client.request("tools/list")
        shown = [one.text for one in notes.parts if isinstance(one, UnreadBytes)]
    assert shown == ([] if unread is None else [unread])


# -- streams ---------------------------------------------------------------------------------------


def said(asked: Asked, result: object) -> bytes:
    """Write the message that answers a request."""
    return json.dumps({"jsonrpc": "2.0", "id": asked.json["id"], "result": result}).encode()


def test_events_come_with_their_ids() -> None:
    """What belongs to a request may come before its answer; each event is shown as it comes."""
    note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'

    def listed(asked: Asked) -> bytes:
        return stream(event(note, EventId(1, 1)), event(said(asked, LISTED), EventId(1, 2)))

    with Peer(outgoing({"tools/list": listed})) as peer, seated(peer) as (client, notes):
        assert client.request("tools/list").result == LISTED
    assert notes.ids() == ["1-1", "1-2"]
    assert note.decode() in notes.arrived


def test_a_stream_that_ends_early_is_asked_for_again() -> None:
    """The server hangs up and is polled (SEP-1699): `Last-Event-ID`, after the pause it wanted."""
    waiting: list[Asked] = []

    def first(asked: Asked) -> bytes:
        waiting.append(asked)
        return stream(priming(EventId(4, 0), 1))

    def again(asked: Asked) -> bytes:
        if "last-event-id" not in asked.headers:
            return NOT_ALLOWED
        return stream(event(said(waiting[0], LISTED), EventId(4, 1)))

    with Peer(outgoing({"tools/list": first, "GET": again})) as peer, seated(peer) as (client, _):
        assert client.request("tools/list").result == LISTED
        resumed = [one.headers.get("last-event-id") for one in peer.asked if one.method == "GET"]
    assert "4-0" in resumed


@pytest.mark.parametrize(
    ("came", "said"),
    [
        (b": hello\n\n", "ended the response without an answer to tools/list"),
        (b'data: {"id":1}\n', 'the blank line after it is missing.* Server: {"id":1}'),
        (b'event: message\ndata: {"id"', 'the blank line after it is missing.* Server: .*{"id"'),
        (b"event: result\ndata: {}\n\n", "the answer to tools/list as the event result"),
    ],
)
def test_a_stream_that_says_no_id_is_over_when_it_is_cut(came: bytes, said: str) -> None:
    """There is nothing to come again with: the request ends, and what came is shown."""
    with (
        Peer(outgoing({"tools/list": stream(came)})) as peer,
        seated(peer) as (client, _),
        pytest.raises(CallError, match=said),
    ):
        client.request("tools/list")


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        ("200 OK", "application/json", b"null"),
        ("200 OK", "application/json", NAMELESS),
        ("200 OK", "text/plain", b"Accepted"),
        ("204 No Content", "", b""),
    ],
)
def test_what_answers_a_notification_is_told_in_words_of_http(
    status: str, kind: str, body: bytes
) -> None:
    """It was taken, and the session goes on; its body is no message."""
    head = f"HTTP/1.1 {status}\r\n" + (f"Content-Type: {kind}\r\n" if kind else "")
    odd = head.encode() + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    answers: dict[str, Say | bytes | None] = {
        "notifications/initialized": odd,
        "tools/list": lambda asked: answer(asked, LISTED),
    }
    with Peer(outgoing(answers)) as peer, seated(peer) as (client, notes):
        assert client.request("tools/list").result == LISTED
    (told,) = notes.refused
    assert f"answered notifications/initialized with status {status[:3]}" in told
    assert "gets 202 without a body" in told
    assert notes.strays == []


def test_what_belongs_to_no_request_is_heard() -> None:
    """The GET stream brings the server's own requests; they are answered by a POST."""
    ping = b'{"jsonrpc":"2.0","id":"p","method":"ping"}'
    sent: list[bytes] = []

    def own(asked: Asked) -> bytes:
        sent.append(asked.body)
        return stream(event(ping, EventId(0, 1))) if len(sent) == 1 else NOT_ALLOWED

    with Peer(outgoing({"GET": own, "": ACCEPTED, "POST": ACCEPTED})) as peer, seated(peer):
        answered = until(
            lambda: [one for one in peer.asked if one.body and one.json.get("id") == "p"], "pong"
        )
    assert answered[0].json == {"jsonrpc": "2.0", "id": "p", "result": {}}


def hold(connection: socket.socket) -> None:
    """Begin a stream with an id, and say nothing more until the other side hangs up."""
    connection.sendall(stream(priming(EventId(9, 0))))
    connection.recv(1)


def test_by_hand_a_connection_is_dropped_and_resumed() -> None:
    """*Drop the connection now*, *resume from event n*: nobody comes again by itself."""
    waiting: list[Asked] = []

    def first(asked: Asked) -> Callable[[socket.socket], None]:
        waiting.append(asked)
        return hold

    def again(asked: Asked) -> bytes:
        if "last-event-id" not in asked.headers:
            return NOT_ALLOWED
        return stream(event(said(waiting[0], LISTED), EventId(9, 1)))

    with (
        Peer(outgoing({"tools/list": first, "GET": again})) as peer,
        seated(peer) as (client, notes),
    ):
        begun = client.begin("tools/list")
        until(lambda: "9-0" in notes.ids(), "the first event")
        assert http(client).drop() >= 1  # also one that was answered and is just ending
        assert not begun.is_answered
        assert http(client).resume() == "9-0"
        assert client.wait(begun).result == LISTED


def test_what_is_dropped_before_any_event_ends_with_a_sentence() -> None:
    """There is nothing to come again with: nobody may wait for ever."""
    asked = threading.Event()

    def silent(connection: socket.socket) -> None:
        asked.set()
        connection.recv(1)

    with Peer(outgoing({"tools/list": lambda _asked: silent})) as peer, seated(peer) as (client, _):
        begun = client.begin("tools/list")
        until(asked.is_set, "the request")
        http(client).drop()
        with pytest.raises(CallError):
            client.wait(begun)


def test_in_2026_07_28_hanging_up_is_the_cancel() -> None:
    """No `notifications/cancelled` goes out; the server sees the connection end."""
    gone = threading.Event()

    def waits(connection: socket.socket) -> None:
        connection.sendall(stream(b": waiting\n\n"))
        connection.recv(1)
        gone.set()

    say = outgoing({"tools/list": lambda _asked: waits})
    with Peer(say) as peer, seated(peer, SessionStart.MODERN) as (client, notes):
        begun = client.begin("tools/list")
        until(lambda: len(notes.parts) == 4, "the head of the response")
        client.give_up(begun.request)
        until(gone.is_set, "the end of the connection")
        assert [asked.rpc for asked in peer.asked] == ["server/discover", "tools/list"]


# -- bad peers -------------------------------------------------------------------------------------

SIGN_IN: Final = response(
    b'{"error":"invalid_token"}',
    status="401 Unauthorized",
    headers=[("WWW-Authenticate", 'Bearer resource_metadata="https://a.example/meta"')],
)
LISTING: Final = b'{"jsonrpc":"2.0","id":102,"result":{"tools":[]}}'
HTML: Final = response(b"<html><h1>Welcome</h1>", kind="text/html")


@pytest.mark.parametrize(
    ("peer_says", "sentence"),
    [
        (HTML, "answered with text/html, not with JSON or events.*Welcome"),
        (response(b"x", kind=""), "without a Content-Type"),
        (response(b"who?", status="401 Unauthorized", kind="text/plain"), "needs a key .401.*who"),
        (SIGN_IN, "needs OAuth.*See https://a.example/meta.*invalid_token"),
        (response(b'{"detail":"no"}', status="403 Forbidden"), "refused this .403.*detail"),
        (response(status="500 Oh", kind=""), "status 500 Oh"),
        (response(status="503 Busy", kind=""), "cannot answer now .503"),
        (ACCEPTED, "accepted tools/list but will not answer it: status 202"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "does not answer with HTTP"),
        (None, "does not answer with HTTP"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
            "before the end of its response",
        ),
        (response(b"{", headers=[("Content-Encoding", "gzip")]), "compressed its response .gzip"),
        (response(b'{"error":"no host"}', status="403 Forbidden"), "refused this .403.*no host"),
        (response(b'{"id":102,"result":{}'), "answered tools/list, but .* cannot be read"),
        (stream(b'data: {"id":102,"result":{}\n\n'), "answered tools/list, but .*be read"),
        (response(LISTING, kind="text/event-stream"), "else than .* .text/event-stream.*tools"),
        (response(b"data: " + LISTING + b"\n\n"), "else than .* .application/json.*data: "),
    ],
)
def test_a_bad_response_gets_a_sentence_and_the_session_goes_on(
    peer_says: bytes | None, sentence: str
) -> None:
    """Whatever a server says, a person reads what it was; the next request works."""
    bad = [peer_says]
    say = outgoing({"tools/list": lambda asked: bad.pop() if bad else answer(asked, LISTED)})
    with Peer(say) as peer, seated(peer) as (client, _):
        with pytest.raises(CallError, match=f"(?s){sentence}"):
            client.request("tools/list")
        assert client.request("tools/list").result == LISTED


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_an_endless_body_is_not_kept(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded: the connection ends, and a sentence says why."""
    monkeypatch.setattr(exchanges, "LONGEST_LINE", 1 << 20)

    def endless(connection: socket.socket) -> None:
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode())
        while True:
            connection.sendall(b"data: " + b"x" * 65536)

    with (
        Peer(outgoing({"tools/list": lambda _asked: endless})) as peer,
        seated(peer) as (client, _),
        pytest.raises(CallError, match="sent a message larger than 1 MiB"),
    ):
        client.request("tools/list")


def test_a_slow_drip_ends_with_the_timeout() -> None:
    """A byte now and then is no answer; nothing waits longer than the person wants."""

    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        while not done.wait(0.01):
            connection.sendall(b" ")

    done = threading.Event()
    say = outgoing({"tools/list": lambda _asked: drip})
    with Peer(say) as peer, seated(peer) as (client, _):
        client.timeout = 0.1
        with pytest.raises(StopError, match=r"no answer to tools/list within 0\.1 s"):
            client.request("tools/list")
        done.set()


def test_a_key_never_follows_to_another_origin() -> None:
    """A redirect elsewhere is said, and not followed: neither message nor key arrive there."""
    with Peer(outgoing({"tools/list": lambda asked: answer(asked, LISTED)})) as other:
        moved = response(status="307 Moved", kind="", headers=[("Location", other.url)])
        key = ("Authorization", "Bearer secret")
        with (
            Peer(outgoing({"tools/list": moved})) as peer,
            seated(peer, SessionStart.HANDSHAKE, key) as (client, notes),
        ):
            with pytest.raises(CallError, match="sends neither messages nor keys"):
                client.request("tools/list")
            assert peer.asked[-1].headers["authorization"] == "Bearer secret"
        assert other.asked == []
    assert "secret" not in str(notes.parts)
    assert any(isinstance(one, IncomingResponse) for one in notes.parts)
    assert any(isinstance(one, OutgoingRequest) for one in notes.parts)


def test_a_redirect_on_the_same_origin_is_followed() -> None:
    """`/mcp` to `/mcp/`, as many frameworks have it; the method stays with a 307."""

    def moved(asked: Asked) -> bytes:
        if asked.path == "/mcp":
            return response(status="307 Moved", kind="", headers=[("Location", "/mcp/")])
        return initialized(asked)

    with Peer(outgoing({"initialize": moved})) as peer, seated(peer):
        assert [asked.path for asked in peer.asked][:2] == ["/mcp", "/mcp/"]


@pytest.mark.parametrize("to", ["/mcp", "http://[", ""])
def test_a_redirect_that_leads_nowhere_ends(to: str) -> None:
    """In a circle, or to what is no address."""
    moved = response(status="308 Moved", kind="", headers=[("Location", to)])
    with Peer(outgoing({"initialize": moved})) as peer, pytest.raises(CallError), seated(peer):
        pass


def test_the_transport_of_2024_11_05_is_recognised() -> None:
    """POST is refused, GET brings an `endpoint` event: a sentence says what it is."""
    old = stream(b"event: endpoint\ndata: /messages?id=1\n\n")
    with (
        Peer(outgoing({"initialize": NOT_ALLOWED, "GET": old})) as peer,
        pytest.raises(CallError, match=r"HTTP\+SSE of 2024-11-05"),
        seated(peer),
    ):
        pass


def test_an_address_where_nothing_listens_gets_a_sentence() -> None:
    """Nobody is there."""
    with Peer(outgoing({})) as peer:
        pass
    with pytest.raises(CallError, match="cannot reach"), seated(peer):
        pass


def test_a_notification_that_is_refused_is_said() -> None:
    """Nobody waits for its answer; the person is told all the same."""
    refused = response(status="500 Oh", kind="")
    with Peer(outgoing({"notifications/x": refused})) as peer, seated(peer) as (client, notes):
        client.notify("notifications/x")
        until(lambda: notes.refused, "a sentence")
    assert "status 500" in notes.refused[0]


@pytest.mark.parametrize(
    "url", ["http://", "http://a:b/", "http://a:0/", "http://a b/", "ftp://a/", "http://a\n/"]
)
def test_what_is_no_address_is_said(url: str) -> None:
    """Before anything is sent."""
    with pytest.raises(StopError, match="is not a valid address"):
        ServerAddress.of(url)


def test_a_key_in_an_address_is_refused_and_one_in_a_query_hidden() -> None:
    """An address is a title, stands in logs and in the inbox."""
    with pytest.raises(StopError, match=r"^http://a/ has a name or a key"):
        ServerAddress.of("http://user:secret@a/")
    assert str(ServerAddress.of("http://a/?key=secret")) == "http://a/?…"
    assert str(ServerAddress.of("http://a/${K}/mcp", (), {"K": "secret"})) == "http://a/${K}/mcp"
