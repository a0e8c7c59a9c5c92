"""A tap and HTTP: before a server at an address, and at an address before any server."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import threading
from io import BytesIO
from typing import TYPE_CHECKING, Final

import pytest

from humanmcp.calling.address import ServerAddress
from humanmcp.calling.transport import HttpTransport
from humanmcp.common.child import ChildCommand
from humanmcp.host.client.client import Client
from humanmcp.host.client.handshake import Opening
from humanmcp.host.client.respondents import Nobody
from humanmcp.inbox.contract import Action, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.listening.addresses import bind
from humanmcp.protocol.conversation.transcript import HTTP, Direction
from humanmcp.protocol.http import lifetimes
from humanmcp.protocol.http.inbound import Posted
from humanmcp.protocol.json import jsonrpc
from humanmcp.tap import http_front, http_sessions
from humanmcp.tap.http_sessions import TapCommand, TapFront
from tests.calling.peer import ACCEPTED, NOT_ALLOWED, Asked, Peer, answer, initialized, response
from tests.host.seats import SCRIPTED, Notes, sample
from tests.serving import bare_environment
from tests.serving_http import initialize
from tests.tap.tapped import COMMAND, Tapped
from tests.waiting import PATIENCE, until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

USUAL: Final = {"Content-Type": "application/json", "Accept": "*/*"}
LIST: Final = b'{"jsonrpc":"2.0","id":8,"method":"tools/list"}\n'
HELLO: Final = f"{initialize('2025-11-25')}\n".encode()


# -- before a server at an address -----------------------------------------------------------------


def remote(asked: Asked) -> bytes:
    """Be a server that lists its tools."""
    match asked.rpc:
        case "initialize":
            return initialized(asked)
        case "tools/list":
            return answer(asked, {"tools": []})
        case "GET" | "DELETE":
            return NOT_ALLOWED
        case "ping":
            return b"no HTTP at all\r\n\r\n"
        case _:
            return ACCEPTED


def test_a_remote_server_gets_a_pipe(tmp_path: Path) -> None:
    """Lines go and come over HTTP, may be held, and stand in the record with what HTTP said.

    What gets no answer is answered with an error; the key is nowhere but on its way.
    """
    (tmp_path / "key").write_text("very-secret")
    (tmp_path / "key").chmod(0o600)
    home = tmp_path / "home"
    flags = ("--key-file", str(tmp_path / "key"), "--hold", "in:tools/list")
    with Peer(remote) as peer, Tapped(home, ("--", peer.url), *flags) as tapped:
        tapped.say(HELLO)
        assert b'"name": "peer"' in tapped.hear()
        tapped.say(LIST)
        (item,) = tapped.held()
        tapped.send(item.key, Reply(item.line, action=Action.PASS, by="test"))
        assert json.loads(tapped.hear()) == {"jsonrpc": "2.0", "id": 8, "result": {"tools": []}}
        tapped.say(b'{"jsonrpc":"2.0","id":9,"method":"ping"}\n')
        failed = json.loads(tapped.hear())
        status, rest, errors = tapped.close()
        frames = tapped.frames()
        keys = {asked.headers["authorization"] for asked in peer.asked}
        bodies = [asked.body for asked in peer.asked]
    assert (status, rest) == (0, b"")
    assert (failed["id"], failed["error"]["code"]) == (9, -32603)
    assert "does not answer as HTTP does" in failed["error"]["message"]
    assert b"does not answer as HTTP does" in errors
    assert bodies[:2] == [HELLO.strip(), LIST.strip()]
    http = [json.loads(frame.raw) for frame in frames if frame.note == HTTP]
    assert [part["status"] for part in http if "status" in part][:2] == [200, 200]
    assert http[0]["url"] == peer.url
    assert keys == {"Bearer very-secret"}
    assert "very-secret" not in str(frames) + errors.decode()


def test_a_session_that_the_server_ended_is_begun_anew_and_the_client_notices_nothing(
    tmp_path: Path,
) -> None:
    """HTTP-24: the request that met 404 is answered; what the tap itself said stands in the record.

    A server that knows no session at all is not asked for ever.
    """
    known = {"s-1": True}

    def forgetful(asked: Asked) -> bytes:
        if asked.rpc == "initialize":
            known["s-1"] = True
        elif not known["s-1"] or asked.rpc == "prompts/list":
            return response(status="404 Not Found", kind="")
        return remote(asked)

    with Peer(forgetful) as peer, Tapped(tmp_path / "home", ("--", peer.url)) as tapped:
        tapped.say(HELLO)
        assert b'"id": 1' in tapped.hear()
        known["s-1"] = False
        tapped.say(LIST)
        assert json.loads(tapped.hear()) == {"jsonrpc": "2.0", "id": 8, "result": {"tools": []}}
        tapped.say(LIST.replace(b"tools", b"prompts"))
        assert "404" in json.loads(tapped.hear())["error"]["message"]
        _, rest, errors = tapped.close()
        frames = tapped.frames()
        begun = [asked for asked in peer.asked if asked.rpc == "initialize"]
    assert rest == b""
    assert errors.count(b"begun in its place") == 3
    assert "mcp-session-id" not in begun[1].headers
    told = [json.loads(frame.raw)["carries"] for frame in frames if b'"carries"' in frame.raw]
    assert told.count('"humanmcp: begun anew" initialize') == 3


@pytest.mark.parametrize("words", [("http://a b/",), ("http://127.0.0.1:9/", "more")])
def test_what_is_no_server_is_said(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A URL stands alone; nothing is recorded."""
    with Tapped(tmp_path / "home", ("--", *words)) as tapped:
        status, _, errors = tapped.ended()
    assert status == 2
    assert errors.strip()


# -- at an address ---------------------------------------------------------------------------------


@pytest.fixture
def front() -> Iterator[str]:
    """Serve a scripted server over HTTP, without a tap in between: the sessions are what counts."""
    listening, address = bind("127.0.0.1:0", "", lan=False)
    words = (sys.executable, str(SCRIPTED))
    sessions = TapFront(address, TapCommand(words, ("paged",), passes_key=False))
    server = http_front.FrontServer(listening, http_front.handler_of(sessions))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield address.url
    server.shutdown()
    thread.join()
    server.server_close()
    sessions.close()


def seat(url: str, opening: Opening = Opening.HANDSHAKE) -> tuple[Client, Notes]:
    """Take the client's seat at an address."""
    notes = Notes()
    client = Client(HttpTransport(ServerAddress(url)), Nobody(), onlooker=notes, patience=PATIENCE)
    client.open(opening)
    return client, notes


def test_each_client_has_a_session_of_its_own(front: str) -> None:
    """The same ids in both, and each gets its own answers; DELETE ends one and not the other."""
    (one, _), (other, _) = seat(front), seat(front)
    try:
        first = [page.result for page in one.pages("tools/list")]
        assert [page.result for page in other.pages("tools/list")] == first
        one.close()
        assert [page.result for page in other.pages("tools/list")] == first
    finally:
        one.close()
        other.close()


def test_a_client_without_a_handshake_is_known_by_its_name(front: str) -> None:
    """2026-07-28: requests under one clientInfo reach one server."""
    client, _ = seat(front, Opening.PROBE)
    try:
        assert client.request("tools/list").result is not None
    finally:
        client.close()


def test_a_client_too_many_takes_the_place_of_the_one_that_is_idle_longest(
    front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Visitors and clients that never send DELETE keep nobody out; their id is 404 from then on."""
    where = front.removeprefix("http://").removesuffix("/mcp")
    monkeypatch.setattr(http_sessions, "MOST_SESSIONS", 1)
    first = {"Mcp-Session-Id": posted(where, HELLO)[0]["mcp-session-id"]}
    assert json.loads(posted(where, HELLO)[1])["error"]["code"] == -32603  # it was there just now
    monkeypatch.setattr(lifetimes, "MAKES_ROOM_AFTER", 0.0)
    second = {"Mcp-Session-Id": posted(where, HELLO)[0]["mcp-session-id"]}
    assert "error" in json.loads(posted(where, LIST, first)[1])
    assert "result" in json.loads(posted(where, LIST, second)[1])


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "OPTIONS"])
def test_another_method_is_405_and_says_which_there_are(front: str, method: str) -> None:
    """It was 501, with a page of HTML."""
    where = front.removeprefix("http://").removesuffix("/mcp")
    connection = http.client.HTTPConnection(where, timeout=PATIENCE)
    try:
        connection.request(method, "/mcp", headers={"Mcp-Session-Id": "x"})
        got = connection.getresponse()
        assert (got.status, got.headers["Allow"]) == (405, "GET, POST, DELETE")
    finally:
        connection.close()


def test_a_refusal_names_the_request_that_it_is_about(front: str) -> None:
    """A client that compares ids would wait for ever."""
    where = front.removeprefix("http://").removesuffix("/mcp")
    assert json.loads(posted(where, LIST, {"Mcp-Session-Id": "x"})[1])["id"] == 8


def test_bodies_have_no_more_memory_and_time_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many large ones at once, one that comes byte by byte, and one that breaks off."""
    reading = http_front.BodyReading()
    monkeypatch.setattr(http_front, "LARGEST_TOGETHER", 4)
    assert reading.body(BytesIO(b"12345"), 5) is http_sessions.BUSY
    assert reading.body(BytesIO(b"123"), 4) is http_front.SLOW
    assert reading.body(BytesIO(b"1234"), 4) == b"1234"
    monkeypatch.setattr(http_front, "SLOWEST", -1.0)
    assert reading.body(BytesIO(b"1"), 1) is http_front.SLOW


def test_what_a_listener_did_not_hear_is_kept_for_the_next_one() -> None:
    """A stream of the server's own messages that ended takes none of them with it."""
    said = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    program = f"import sys; [print({said!r}, flush=True) for _ in sys.stdin]"
    command = ChildCommand((sys.executable, "-c", program))
    client = http_sessions.TappedClient(command, "id", ("", ""), "2025-11-25")
    try:
        own = client.listen()
        client.post(Posted(b"{}", jsonrpc.read(LIST)))
        until(lambda: not own.lines.empty(), "a notification")
        client.leave(own)
        assert client.listen().lines.get(timeout=PATIENCE) == said.encode()
    finally:
        client.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Mcp-Session-Id": "unknown"}, 404),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/json; charset=utf-16"}, 415),
        ({"Transfer-Encoding": "chunked"}, 411),
        ({"Content-Length": "99999999999"}, 413),
        ({"Content-Length": "²"}, 400),
        ({"Content-Length": "1" * 5000}, 413),
    ],
)
def test_a_stranger_gets_a_status(front: str, headers: dict[str, str], status: int) -> None:
    """As at the server's own address: a page of another origin reaches nothing."""
    where = front.removeprefix("http://").removesuffix("/mcp")
    connection = http.client.HTTPConnection(where, timeout=PATIENCE)
    try:
        connection.request("POST", "/mcp", LIST, {**USUAL, **headers})
        assert connection.getresponse().status == status
    finally:
        connection.close()


def test_a_stdio_server_gets_an_address_and_is_tapped(tmp_path: Path) -> None:
    """`tap --http`: recorded, held and let go as over a pipe; the body arrives byte for byte."""
    home = tmp_path / "home"
    words = [*COMMAND[:-1], "--home", str(home), "--http", "127.0.0.1:0", "--hold", "in:tools/list"]
    tap = subprocess.Popen(
        [*words, "--", *sample("dice").words],
        stderr=subprocess.PIPE,
        env=bare_environment(tmp_path),
        cwd=tmp_path,
    )
    assert tap.stderr is not None
    url = re.search(r"http://(\S+)/mcp", tap.stderr.readline().decode())
    assert url is not None
    body = b'{ "jsonrpc" : "2.0", "id":1.0, "method":"tools/list" }'
    try:
        headers, _ = posted(url[1], HELLO)
        found: list[bytes] = []
        named = {"Mcp-Session-Id": headers["mcp-session-id"]}
        asking = threading.Thread(target=lambda: found.append(posted(url[1], body, named)[1]))
        asking.start()
        inbox = FolderInbox(home)
        (place,) = until(lambda: sorted(home.glob("sessions/*/pending/*")), "a held message")
        (item,) = inbox.items(place.parent.parent.name)
        inbox.send(item.key, Reply(item.line, action=Action.PASS, by="test"))
        asking.join(PATIENCE)
        frames = list(inbox.frames(item.key.session))
    finally:
        tap.terminate()
        tap.wait()
        tap.stderr.close()
    assert body in [frame.raw for frame in frames if frame.way is Direction.IN]
    assert found[0] in [frame.raw for frame in frames if frame.way is Direction.OUT]
    assert json.loads(found[0])["id"] == 1.0


def posted(
    where: str, body: bytes, headers: Mapping[str, str] | None = None
) -> tuple[dict[str, str], bytes]:
    """Post a message; return the headers and the body of the response."""
    connection = http.client.HTTPConnection(where, timeout=PATIENCE)
    try:
        connection.request("POST", "/mcp", body, {**USUAL, **(headers or {})})
        got = connection.getresponse()
        return {name.lower(): value for name, value in got.getheaders()}, got.read()
    finally:
        connection.close()
