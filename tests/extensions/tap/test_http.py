"""A tap and HTTP: before a server at an address, and at an address before any server."""

import asyncio
import contextlib
import http.client
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import pytest

from humanmcp.common.child import ChildCommand, ChildTransport
from humanmcp.extensions.host.client.callbacks import Nobody
from humanmcp.extensions.host.client.client import Client
from humanmcp.extensions.host.client.handshake import SessionStart
from humanmcp.extensions.tap import http_front
from humanmcp.extensions.tap.http_front import TapCommand, TapFront, TappedClient
from humanmcp.http.front import front_server
from humanmcp.http.listening import QuietServer, bind
from humanmcp.http.responses import BEGINNING, Stream
from humanmcp.http.server_address import ServerAddress
from humanmcp.http.transport import HttpTransport
from humanmcp.inbox.contract import Action, HttpFacts, Item, Reply, Role, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import HTTP, SAID_AGAIN, Direction, Frame
from humanmcp.protocol.http import session_ends
from humanmcp.protocol.http.http_headers import Headers
from humanmcp.protocol.http.inbound import HttpRequest, Posted, judge_request
from humanmcp.protocol.json import jsonrpc
from tests.extensions.host.seats import SCRIPTED, Notes, sample
from tests.extensions.tap.tap_process import COMMAND, Tapped
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
from tests.support.serve_http import INITIALIZED, initialize, modern
from tests.support.serve_process import bare_environment
from tests.support.waiting import PATIENCE, until

USUAL: Final = {"Content-Type": "application/json", "Accept": "*/*"}
LIST: Final = b'{"jsonrpc":"2.0","id":8,"method":"tools/list"}\n'
HELLO: Final = f"{initialize('2025-11-25')}\n".encode()
UPDATED: Final = (
    b'{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///b"}}'
)


def wanted(number: int, method: str, **params: str) -> bytes:
    """Write a request."""
    said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(said).encode() + b"\n"


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
        tapped.send(item.key, Reply(item.line, action=Action.FORWARD, by="test"))
        assert json.loads(tapped.hear()) == {"jsonrpc": "2.0", "id": 8, "result": {"tools": []}}
        tapped.say(b'{"jsonrpc":"2.0","id":9,"method":"ping"}\n')
        failed = json.loads(tapped.hear())
        status, rest, errors = tapped.close()
        frames = tapped.frames()
        keys = {asked.headers["authorization"] for asked in peer.asked}
        bodies = [asked.body for asked in peer.asked]
    assert (status, rest) == (0, b"")
    assert (failed["id"], failed["error"]["code"]) == (9, -32603)
    assert "does not answer with HTTP" in failed["error"]["message"]
    assert b"does not answer with HTTP" in errors
    assert bodies[:2] == [HELLO.strip(), LIST.strip()]
    http = [json.loads(frame.raw) for frame in frames if frame.note == HTTP]
    assert [part["status"] for part in http if "status" in part][:2] == [200, 200]
    assert http[0]["url"] == peer.url
    assert keys == {"Bearer very-secret"}
    assert "very-secret" not in str(frames) + errors.decode()


def test_a_session_that_the_server_ended_is_begun_anew_and_the_client_notices_nothing(
    tmp_path: Path,
) -> None:
    """The request that met 404 is answered; what the tap itself said stands in the record.

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
    assert errors.count(b"started a new one") == 3
    assert "mcp-session-id" not in begun[1].headers
    told = [json.loads(frame.raw)["carries"] for frame in frames if b'"carries"' in frame.raw]
    assert told.count('"humanmcp: begun anew" initialize') == 3


def posts(peer: Peer) -> list[Asked]:
    """Return the messages that a server was sent."""
    return [one for one in peer.asked if one.method == "POST"]


def test_what_a_client_asked_for_that_lasts_is_asked_for_again_in_a_session_begun_anew(
    tmp_path: Path,
) -> None:
    """At once, where the stream that the client hears is over; as the tap's own lines."""
    known = {"s-1": True}

    def forgetful(asked: Asked) -> bytes:
        known["s-1"] = known["s-1"] or asked.rpc == "initialize"
        match asked.rpc:
            case _ if not known["s-1"]:
                return response(status="404 Not Found", kind="")
            case "GET" if sum(one.rpc == "GET" for one in peer.asked) == 1:
                known["s-1"] = False
                return stream(b"retry: 1\n\n", b"data: %b\n\n" % UPDATED)
            case "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe":
                return answer(asked, {})
            case _:
                return remote(asked)

    lines = [
        HELLO,
        wanted(2, "logging/setLevel", level="info"),
        wanted(3, "resources/subscribe", uri="file:///a"),
        wanted(4, "resources/subscribe", uri="file:///b"),
        wanted(5, "resources/unsubscribe", uri="file:///a"),
    ]
    with Peer(forgetful) as peer, Tapped(tmp_path / "home", ("--", peer.url)) as tapped:
        for line in lines:
            tapped.say(line)
            assert b'"result"' in tapped.hear()
        tapped.say(f"{INITIALIZED}\n".encode())
        assert UPDATED in tapped.hear()
        until(lambda: len(posts(peer)) == 2 * len(lines), "asked again")
        until(lambda: [one.rpc for one in peer.asked].count("GET") == 3, "the stream comes back")
        _, rest, _ = tapped.close()
        frames = tapped.frames()
    again = ["initialize", "notifications/initialized", "logging/setLevel", "resources/subscribe"]
    asked = posts(peer)[len(lines) + 1 :]
    assert [one.rpc for one in asked] == again
    assert asked[-1].json["params"] == {"uri": "file:///b"}
    said = [json.loads(frame.raw)["method"] for frame in frames if frame.note == SAID_AGAIN]
    assert (rest, said) == (b"", again)


def test_a_server_that_says_404_of_a_stream_that_it_does_not_have_keeps_its_session(
    tmp_path: Path,
) -> None:
    """Where it should say 405, as a server does that knows no GET at all."""

    def without_get(asked: Asked) -> bytes:
        if asked.rpc == "GET":
            return response(b"Cannot GET /mcp", status="404 Not Found", kind="text/html")
        return remote(asked)

    with Peer(without_get) as peer, Tapped(tmp_path / "home", ("--", peer.url)) as tapped:
        tapped.say(HELLO)
        assert b'"id": 1' in tapped.hear()
        tapped.say(f"{INITIALIZED}\n".encode())
        until(lambda: [one for one in tapped.frames() if b'"status":404' in one.raw], "the 404")
        tapped.say(LIST)
        assert b'"id": 8' in tapped.hear()
        tapped.close()
    (listed,) = (one for one in peer.asked if one.rpc == "tools/list")
    assert listed.headers["mcp-session-id"] == "s-1"


@pytest.mark.parametrize("words", [("http://a b/",), ("http://127.0.0.1:9/", "more")])
def test_what_is_no_server_is_said(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A URL stands alone; nothing is recorded."""
    with Tapped(tmp_path / "home", ("--", *words)) as tapped:
        status, _, errors = tapped.ended()
    assert status == 2
    assert errors.strip()


# -- at an address ---------------------------------------------------------------------------------


@pytest.fixture
def front(tmp_path: Path) -> Iterator[str]:
    """Serve a scripted server over HTTP, without a tap in between: the sessions are what counts."""
    listening, address = bind("127.0.0.1:0", "", lan=False)
    begun: SimpleQueue[QuietServer] = SimpleQueue()

    async def run() -> None:
        sessions = TapFront(
            TapCommand((sys.executable, str(SCRIPTED)), ("paged",), is_keyed=False), tmp_path
        )
        server = front_server(sessions, address, lambda: begun.put(server), most=100)
        await server.serve([listening])
        await sessions.ended()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    server = begun.get(timeout=PATIENCE)
    yield address.url
    server.should_exit = True
    thread.join()


def seat(url: str, session_start: SessionStart = SessionStart.HANDSHAKE) -> tuple[Client, Notes]:
    """Take the client's seat at an address."""
    notes = Notes()
    client = Client(
        HttpTransport(ServerAddress(url)), Nobody(), observers=[notes], timeout=PATIENCE
    )
    client.open(session_start)
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
    client, _ = seat(front, SessionStart.PROBE)
    try:
        assert client.request("tools/list").result is not None
    finally:
        client.close()


def test_a_client_too_many_takes_the_place_of_the_one_that_is_idle_longest(
    front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Visitors and clients that never send DELETE keep nobody out; their id is 404 from then on."""
    where = front.removeprefix("http://").removesuffix("/mcp")
    monkeypatch.setattr(http_front, "MOST_SESSIONS", 1)
    first = {"Mcp-Session-Id": posted(where, HELLO)[0]["mcp-session-id"]}
    assert json.loads(posted(where, HELLO)[1])["error"]["code"] == -32603  # it was there just now
    monkeypatch.setattr(session_ends, "MAKES_ROOM_AFTER", 0.0)
    second = {"Mcp-Session-Id": posted(where, HELLO)[0]["mcp-session-id"]}
    assert "error" in json.loads(posted(where, LIST, first)[1])
    assert "result" in json.loads(posted(where, LIST, second)[1])


def test_a_refusal_names_the_request_that_it_is_about(front: str) -> None:
    """A client that compares ids would wait for ever."""
    where = front.removeprefix("http://").removesuffix("/mcp")
    assert json.loads(posted(where, LIST, {"Mcp-Session-Id": "x"})[1])["id"] == 8
    refused = json.loads(posted(where, LIST, {"MCP-Protocol-Version": "2026-07-28"})[1])
    assert (refused["id"], "_meta lacks" in refused["error"]["message"]) == (8, True)


def test_what_a_listener_did_not_hear_is_kept_for_the_next_one() -> None:
    """A stream of the server's own messages that ended takes none of them with it."""
    said = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    program = f"import sys; [print({said!r}, flush=True) for _ in sys.stdin]"

    async def run() -> None:
        tap = ChildTransport(ChildCommand((sys.executable, "-c", program)))
        client = TappedClient(tap, "id", "", "2025-11-25")
        first, second = Stream(), Stream()
        try:
            client.streams.listen(first)
            client.post(Posted(b"{}", jsonrpc.read(b"{}")))
            event = await first.next(PATIENCE)
            assert event is not None
            first.put(event)
            client.gone(first, cancels=False)
            client.streams.listen(second)
            assert [event.content for event in client.missed(BEGINNING)] == [said.encode()]
        finally:
            client.close()

    asyncio.run(run())


ASKS: Final = """
import json, sys
asked = []
for line in sys.stdin:
    request = json.loads(line)
    params = request["params"]
    if request["method"] == "tools/list":
        continue  # it waits
    if "inputResponses" in params:
        result = {"resultType": "complete", "asked": asked}
    else:
        asked.append(params["name"])
        result = {"resultType": "input_required", "inputRequests": {params["name"]: {}}}
        if params["name"] != "stateless":
            result["requestState"] = params["name"]
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


def test_what_a_server_asked_for_is_brought_to_the_process_that_asked(tmp_path: Path) -> None:
    """Of a visitor's two, by `requestState`, and where there is none by what was asked."""

    async def run() -> None:
        sessions = TapFront(TapCommand((sys.executable, "-c", ASKS), (), is_keyed=False), tmp_path)

        async def bring(method: str, number: int, **params: Any) -> Stream:  # noqa: ANN401 - any JSON value
            said = modern(method, number, **params)
            headers = Headers.of({**USUAL, **said.headers}.items())
            request = HttpRequest("POST", headers, said.body.encode(), address="127.0.0.1")
            found = judge_request(request)
            assert isinstance(found, Posted)
            client = await sessions.session_of(found, request)
            assert isinstance(client, TappedClient)
            return client.post(found)

        try:
            await bring("tools/list", 1)
            for number, name in enumerate(("state", "stateless"), start=2):
                await bring("tools/list", number)  # in the first one, which so has both ids in use
                await (await bring("tools/call", number, name=name, arguments={})).next(PATIENCE)
                state = {"requestState": name} if name == "state" else {}
                more = {"inputResponses": {name: {}}, **state}
                brought = await bring("tools/call", number + 10, name=name, arguments={}, **more)
                answered = await brought.next(PATIENCE)
                assert answered is not None
                assert name in json.loads(answered.content)["result"]["asked"]
        finally:
            await sessions.ended()

    asyncio.run(run())


def test_a_stdio_server_gets_an_address_and_is_tapped(tmp_path: Path) -> None:
    """`tap --http`: recorded, held and let go as over a pipe; the body arrives byte for byte."""
    home = tmp_path / "home"
    body = b'{ "jsonrpc" : "2.0", "id":1.0, "method":"tools/list" }'
    with tap_at_an_address(home, "--hold", "in:tools/list", "--", *sample("dice").words) as url:
        headers, _ = posted(url, HELLO)
        found: list[bytes] = []
        named = {"Mcp-Session-Id": headers["mcp-session-id"]}
        asking = threading.Thread(target=lambda: found.append(posted(url, body, named)[1]))
        asking.start()
        inbox = FolderInbox(home)
        item = first_held(home)
        inbox.send(item.key, Reply(item.line, action=Action.FORWARD, by="test"))
        asking.join(PATIENCE)
        frames = list(inbox.frames(item.key.session))
    assert body in [frame.raw for frame in frames if frame.direction is Direction.IN]
    assert found[0] in [frame.raw for frame in frames if frame.direction is Direction.OUT]
    assert json.loads(found[0])["id"] == 1.0


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"dice"}}', "N07"),
        (b'{"id":1,"method":"tools/call","params":{"name":"\xff"}}', "N02"),
        (b'{"id":1,"method":"ping"} {"id":2,"method":"tools/call"}', "N54"),
        (b'{"jsonrpc":"2.0","id":2,"method":"ping","method":"tools/call"}', "J09"),
    ],
    ids=["an id that is null", "no UTF-8", "two in one body", "two methods"],
)
def test_a_body_that_is_not_understood_is_held_over_http(
    tmp_path: Path, body: bytes, code: str
) -> None:
    """The server does not get it: what it said stands in the record, and this does not."""
    home, server = tmp_path / "home", sample("dice").words
    with tap_at_an_address(home, "--hold", "tools/call", "--", *server) as url:
        headers, _ = posted(url, HELLO)
        named = {"Mcp-Session-Id": headers["mcp-session-id"]}
        threading.Thread(target=posted, args=(url, body, named), daemon=True).start()
        item = first_held(home)
        assert [one.code for one in item.held.unread] == [code]
        assert json.loads(posted(url, LIST, named)[1])["id"] == 8  # nothing else is held up
        frames = list(FolderInbox(home).frames(item.key.session))
        out = [json.loads(one.raw)["id"] for one in frames if one.direction is Direction.OUT]
    assert out == [1, 8]


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a\nb"}}',
        b'{"id":1,"method":"ping"}\r{"id":2,"method":"tools/call"}',
        b'\n{"id":1,\n"method":"\xff"}\n',
    ],
    ids=["within a string", "between two messages", "no UTF-8"],
)
def test_a_broken_body_of_several_lines_is_refused_and_not_changed(front: str, body: bytes) -> None:
    """A pipe takes one line: a space in the place of the line break would be another message."""
    where = front.removeprefix("http://").partition("/")[0]
    named = {"Mcp-Session-Id": posted(where, HELLO)[0]["mcp-session-id"]}
    error = json.loads(posted(where, body, named)[1])["error"]
    assert (error["code"], "has line breaks" in error["message"]) == (-32700, True)
    assert b'"result"' in posted(where, LIST.replace(b",", b",\n"), named)[1]


@contextlib.contextmanager
def tap_at_an_address(home: Path, *words: str) -> Iterator[str]:
    """Run `tap --http`, and yield where it is."""
    tap = subprocess.Popen(
        [*COMMAND[:-1], "--home", str(home), "--http", "127.0.0.1:0", *words],
        stderr=subprocess.PIPE,
        env=bare_environment(home.parent),
        cwd=home.parent,
    )
    assert tap.stderr is not None
    try:
        url = re.search(r"http://(\S+)/mcp", tap.stderr.readline().decode())
        assert url is not None
        yield url[1]
    finally:
        tap.terminate()
        tap.wait()
        tap.stderr.close()


def test_a_page_of_a_client_in_a_browser_is_let_in(home: Path) -> None:
    """By its origin, which is told when it was refused; its browser asks before."""
    page = {"Origin": "http://localhost:6274", "Access-Control-Request-Method": "POST"}
    with tap_at_an_address(home, "--allow-origin", page["Origin"], "--", "true") as where:
        for origin, status in ((page["Origin"], 200), ("http://localhost:1", 403)):
            connection = http.client.HTTPConnection(where, timeout=PATIENCE)
            connection.request("OPTIONS", "/mcp", headers={**page, "Origin": origin})
            response = connection.getresponse()
            allowed = response.getheader("access-control-allow-origin")
            assert (response.status, allowed) == (status, origin if status == 200 else None)
            connection.close()


@pytest.mark.parametrize("known", [True, False])
def test_a_session_that_cannot_be_begun_again_is_refused_at_once(
    home: Path, *, known: bool
) -> None:
    """Its server ends before it answers; and there is nothing to begin where no record is."""
    inbox = FolderInbox(home)
    facts = SessionFacts("", "2026-11-21T01:00:00Z", Role.TAP, http=HttpFacts("s-1"))
    name = inbox.begin_session(facts)
    inbox.record(name, Frame(1, "2026-11-21T01:00:00.000Z", Direction.IN, HELLO.strip()))
    inbox.end(name)
    with tap_at_an_address(home, "--", sys.executable, "-c", "pass") as where:
        session = {"Mcp-Session-Id": "s-1" if known else "s-2"}
        assert json.loads(posted(where, LIST, session)[1])["error"]
    again = [one for one in FolderInbox(home).sessions() if one.name != name]
    assert len(again) <= known


def first_held(home: Path) -> Item:
    """Wait for the first message that is held in this home, and return it."""
    (place,) = until(lambda: sorted(home.glob("sessions/*/pending/*")), "a held message")
    (item,) = FolderInbox(home).items(place.parent.parent.name)
    return item


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
