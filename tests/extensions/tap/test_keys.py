"""`tap --http` before a remote server: whose key goes where, and what a refusal becomes."""

import asyncio
import http.client
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from humanmcp.extensions.tap.http_front import TappedClient
from humanmcp.extensions.tap.keyed_server import (
    Keys,
    Order,
    OrderLine,
    Refusal,
    Told,
    marked,
    refusal_in,
)
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import HTTP, Direction
from humanmcp.protocol.http.client import IncomingResponse
from humanmcp.protocol.http.http_headers import Headers
from humanmcp.protocol.http.inbound import HttpRequest, Posted
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from tests.extensions.tap.tap_process import COMMAND
from tests.http.peer import (
    ACCEPTED,
    Asked,
    Peer,
    answer,
    initialized,
    response,
    stream,
)
from tests.support.ports import own_port
from tests.support.serve_http import initialize as initialize_line
from tests.support.serve_process import bare_environment
from tests.support.waiting import PATIENCE

CHALLENGE: Final = 'Bearer error="invalid_token", resource_metadata="https://server.example/meta"'
STEP_UP: Final = 'Bearer error="insufficient_scope", scope="write"'
USUAL: Final = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Got(NamedTuple):
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes


def ask(
    where: str, method: str, body: bytes = b"", key: str = "", session: str = "", **more: str
) -> Got:
    """Send a request of a client."""
    connection = http.client.HTTPConnection(where, timeout=PATIENCE)
    headers = {**USUAL, **more}
    headers |= {"Authorization": f"Bearer {key}"} if key else {}
    headers |= {"Mcp-Session-Id": session} if session else {}
    try:
        connection.request(method, "/mcp", body or None, headers)
        got = connection.getresponse()
        named = {name.lower(): value for name, value in got.getheaders()}
        return Got(
            got.status,
            named,
            b"" if "event-stream" in named.get("content-type", "") else got.read(),
        )
    finally:
        connection.close()


def said(method: str, number: int | None = None, **params: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """Write a message."""
    named = {} if number is None else {"id": number}
    return json.dumps({"jsonrpc": "2.0", **named, "method": method, "params": params}).encode()


HELLO: Final = initialize_line("2025-11-25").encode()


@contextmanager
def tap(
    home: Path, server: str, *flags: str, port: int = 0
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run `tap --http` before a server; yield where it is."""
    running = subprocess.Popen(
        [*COMMAND[:-1], "--home", str(home), "--http", f"127.0.0.1:{port}", *flags, "--", server],
        stderr=subprocess.PIPE,
        env=bare_environment(home.parent),
        cwd=home.parent,
    )
    assert running.stderr is not None
    try:
        found = re.search(r" at http://(\S+)/mcp", running.stderr.readline().decode())
        assert found is not None
        yield found[1], running
    finally:
        running.terminate()
        running.wait()
        running.stderr.close()


class Guarded:
    """A server that takes some keys, and binds no session to any of them."""

    def __init__(self) -> None:
        self.valid: set[str] = set()
        self.may_write: set[str] = set()
        self.sessions: set[str] = set()
        self.given: dict[int, int] = {}
        """The status that each message got, by its number."""
        self._names = count(1)

    def __call__(self, asked: Asked) -> bytes:
        if asked.body.startswith(b"["):
            return response(b"", status="401 No", headers=(("WWW-Authenticate", CHALLENGE),))
        key = asked.headers.get("authorization", "").removeprefix("Bearer ")
        session = asked.headers.get("mcp-session-id", "")
        status, headers = 200, list[tuple[str, str]]()
        if key not in self.valid:
            status, headers = 401, [("WWW-Authenticate", CHALLENGE)]
        elif asked.rpc != "initialize" and session not in self.sessions:
            status = 404
        elif asked.rpc == "GET":
            status = 405
        elif asked.rpc == "tools/call" and key not in self.may_write:
            status, headers = 403, [("WWW-Authenticate", STEP_UP)]
        if asked.method == "POST":
            number = asked.json.get("params", {}).get("n", 0)
            self.given[number] = status if "id" in asked.json or status != 200 else 202
        if status != 200:
            return response(b'{"error":"refused"}', status=f"{status} No", headers=headers)
        if asked.rpc == "initialize":
            name = f"s-{next(self._names)}"
            self.sessions.add(name)
            return initialized(asked).replace(b"s-1", name.encode())
        if asked.rpc == "DELETE":
            self.sessions.discard(session)
            return response()
        return answer(asked, {"of": key[7:]}) if "id" in asked.json else ACCEPTED


# -- one client ------------------------------------------------------------------------------------


def test_a_request_goes_with_the_key_that_it_came_with_and_a_refusal_comes_back_as_it_is(
    tmp_path: Path,
) -> None:
    """Shown and recorded with its reason; a key is written nowhere."""
    home, server = tmp_path / "home", Guarded()
    server.valid = {"secret-1", "secret-2"}
    with Peer(server) as peer, tap(home, peer.url) as (where, running):
        refused = ask(where, "POST", HELLO, "secret-0")
        assert (refused.status, refused.headers["www-authenticate"]) == (401, CHALLENGE)
        assert (refused.body, "mcp-session-id" in refused.headers) == (
            b'{"error":"refused"}',
            False,
        )
        session = ask(where, "POST", HELLO, "secret-1").headers["mcp-session-id"]
        for key, status in {"secret-1": 200, "secret-2": 200, "secret-3": 401, "": 401}.items():
            assert ask(where, "POST", said("tools/list", 5), key, session).status == status
            told = said("notifications/progress")
            assert ask(where, "POST", told, key, session).status == (202 if status == 200 else 401)
        write = ask(where, "POST", said("tools/call", 6), "secret-2", session)
        assert (write.status, write.headers["www-authenticate"]) == (403, STEP_UP)
        batch = b"[%b]" % said("tools/list", 8)
        refused = ask(where, "POST", batch, "secret-3", session)
        assert (refused.status, refused.headers["www-authenticate"]) == (401, CHALLENGE)
        server.sessions.clear()
        assert ask(where, "POST", said("tools/list", 7), "secret-1", session).status == 404
        running.terminate()
        assert running.stderr is not None
        errors = running.stderr.read().decode()
    inbox = FolderInbox(home)
    frames = [one for facts in inbox.sessions() for one in inbox.frames(facts.name)]
    statuses = [json.loads(one.raw).get("status") for one in frames if one.note == HTTP]
    assert {401, 403, 404} <= {*statuses}
    answers = [one.text for one in frames if one.direction is Direction.OUT]
    assert any("401 No" in one and "invalid_token" in one for one in answers)
    assert "403 No. Bearer error=" in errors.replace("'", "")
    written = [one.read_bytes() for one in home.rglob("*") if one.is_file()]
    assert not [one for one in (*written, errors.encode()) if b"secret-" in one]


def test_a_stream_is_the_servers_and_hears_nothing_before_the_server_takes_the_key(
    tmp_path: Path,
) -> None:
    """What waits for the client is for none who only knows its session."""
    heard = said("notifications/tools/list_changed")
    server = Guarded()
    server.valid = {"own", "new"}

    def streams(asked: Asked) -> bytes:
        found = server(asked)
        is_own = asked.rpc == "GET" and b" 405 " in found[:20]
        return stream(b"data: %b\n\n" % heard) if is_own else found

    with Peer(streams) as peer, tap(tmp_path / "home", peer.url) as (where, _):
        session = ask(where, "POST", HELLO, "own").headers["mcp-session-id"]
        assert [one.method for one in peer.asked] == ["POST"]
        for key in ("", "stolen"):
            got = ask(where, "GET", key=key, session=session)
            assert (got.status, got.headers["www-authenticate"]) == (401, CHALLENGE)
        connection = http.client.HTTPConnection(where, timeout=PATIENCE)
        names = {**USUAL, "Authorization": "Bearer new", "Mcp-Session-Id": session}
        connection.request("GET", "/mcp", headers=names)
        heard_on = connection.getresponse()
        assert heard_on.status == 200
        while (line := heard_on.readline()) and not line.startswith(b"data: {"):
            pass
        assert line.strip() == b"data: " + heard
        connection.close()
        assert ask(where, "DELETE", key="stolen", session=session).status == 401
        assert ask(where, "DELETE", key="own", session=session).status == 204
        assert ask(where, "POST", said("tools/list", 2), "own", session).status == 404
    gets = [one.headers.get("authorization") for one in peer.asked if one.method == "GET"]
    assert gets[:3] == [None, "Bearer stolen", "Bearer new"]
    ends = [one.headers.get("authorization") for one in peer.asked if one.method == "DELETE"]
    assert ends == ["Bearer stolen", "Bearer own"]


def test_a_session_of_a_tap_that_was_killed_is_begun_again_with_the_key_that_began_it_alone(
    tmp_path: Path,
) -> None:
    """Else a request of its client would go into a session that another one began."""
    home, server, port = tmp_path / "home", Guarded(), own_port()
    server.valid = {"own", "other"}
    with Peer(server) as peer:
        with tap(home, peer.url, port=port) as (where, running):
            session = ask(where, "POST", HELLO, "own").headers["mcp-session-id"]
            running.kill()
            running.wait()
        with tap(home, peer.url, port=port) as (where, _):
            assert ask(where, "POST", said("tools/list", 2), "other", session).status == 404
            server.valid.discard("own")
            got = ask(where, "POST", said("tools/list", 3), "own", session)
            assert (got.status, got.headers["www-authenticate"]) == (401, CHALLENGE)
            server.valid.add("own")
            assert ask(where, "POST", said("tools/list", 4), "own", session).status == 200
            assert ask(where, "POST", HELLO, "other", session).status == 404
    keys = {one.headers.get("authorization") for one in peer.asked}
    assert keys == {"Bearer own"}


def test_a_session_that_the_server_ended_is_begun_anew_with_the_key_of_who_asks(
    tmp_path: Path,
) -> None:
    """If the server took it last, and takes it for that: else the client is told 404, as before.

    What the server refuses in the new session is refused as it came.
    """
    server, is_closed = Guarded(), False
    server.valid = {"own", "other"}

    def closing(asked: Asked) -> bytes:
        refuses = is_closed and asked.rpc == "initialize"
        return response(b"", status="403 No") if refuses else server(asked)

    with Peer(closing) as peer, tap(tmp_path / "home", peer.url) as (where, _):
        session = ask(where, "POST", HELLO, "own").headers["mcp-session-id"]
        begun = len(peer.asked)
        server.sessions.clear()
        assert ask(where, "POST", said("tools/list", 2), "other", session).status == 404
        assert ask(where, "POST", said("tools/list", 3), "own", session).status == 200
        server.sessions.clear()
        assert ask(where, "POST", said("notifications/progress"), "own", session).status == 202
        again = [one.headers["authorization"] for one in peer.asked[begun:]]
        names = [one.rpc for one in peer.asked[begun:]]
        server.sessions.clear()
        told = ask(where, "POST", said("tools/call", 6), "own", session)
        assert (told.status, told.headers.get("www-authenticate")) == (403, STEP_UP)
        server.sessions.clear()
        is_closed = True
        assert ask(where, "POST", said("tools/list", 4), "own", session).status == 404
        is_closed = False
        assert ask(where, "POST", said("tools/list", 5), "own", session).status == 200
    initialized_again = ["initialize", "notifications/initialized"]
    assert names == [
        *("tools/list", "tools/list", *initialized_again, "tools/list"),
        *("notifications/progress", *initialized_again, "notifications/progress"),
    ]
    assert again == ["Bearer other", *["Bearer own"] * 8]


def test_the_key_of_a_flag_counts_more_than_that_of_a_client(tmp_path: Path) -> None:
    """And no key of a client leaves then."""
    server = Guarded()
    server.valid = {"flag"}
    with (
        Peer(server) as peer,
        tap(tmp_path / "home", peer.url, "--header", "Authorization: Bearer flag") as (where, _),
    ):
        session = ask(where, "POST", HELLO, "client").headers["mcp-session-id"]
        assert ask(where, "POST", said("tools/list", 2), "client", session).status == 200
    assert {one.headers["authorization"] for one in peer.asked} == {"Bearer flag"}


def test_a_client_that_hangs_up_cancels_with_its_own_key() -> None:
    """By an order, as everything else: a bare line ended the session for all who use it."""
    sent: list[str] = []
    pipe: Any = SimpleNamespace(start=lambda _: None, send=sent.append)
    message = said("tools/list", 8)
    request = HttpRequest("POST", Headers.of((("Authorization", "Bearer own"),)))

    async def run() -> None:
        client = TappedClient(pipe, "", "who", "2026-07-28", "s3cret")
        notes = client.begin_notes(request)
        stream = client.post(Posted(message, jsonrpc.read(message)), notes.head)
        client.gone(stream, cancels=True)

    asyncio.run(run())
    orders = [OrderLine.read(one.encode()) for one in sent]
    assert [(one.order, one.key) for one in orders] == [(Order.SEND, "Bearer own")] * 2
    assert json.loads(orders[1].line)["method"] == "notifications/cancelled"
    assert json.loads(orders[1].line)["params"]["requestId"] == 8


# -- the parts -------------------------------------------------------------------------------------


def test_the_key_of_a_line_is_found_whatever_became_of_the_line() -> None:
    """By the line, then by its id or method: of two, a person may have dropped the first.

    What is the person's own has the last key that the server took.
    """
    keys = Keys()
    keys.accepted = "taken"
    first, second = ('{"id":1,"method":"a"}', '{"id":2,"method":"a"}')
    for number, (line, key) in enumerate([(first, "1"), (second, "2"), (first, "3")]):
        keys.note(OrderLine.read(str(OrderLine(Order.SEND, number, key, line)).encode()))
    assert keys.take(second.encode()) == (1, "2")
    assert keys.take(b'{"id":1,"method":"changed"}') == (2, "3")
    assert keys.take(first.encode()) == (0, "1")
    assert keys.take(first.encode()) == (0, "taken")


@pytest.mark.parametrize("body", [b"", "拒否".encode(), b"\x1f\x8b\x00\xff"])
def test_a_refusal_is_in_an_error_and_comes_out_as_it_went_in(body: bytes) -> None:
    """The rest of the error stays as it was written; no header can add a second one."""
    headers = (("WWW-Authenticate", "Bearer a\r\n b\0"), ("Set-Cookie", "a=b"))
    refusal = Refusal.of(IncomingResponse(401, "No", headers), body)
    line = marked(b'{ "jsonrpc":"2.0","id":1,"error":{"code":1,"message":"\\u00e9"} }', refusal)
    assert line.startswith(b'{ "jsonrpc":"2.0","id":1,"error":{"code":1,"message":"\\u00e9"}')
    message = jsonrpc.read(line)
    assert isinstance(message, Message)
    found = refusal_in(message)
    assert found == refusal
    assert found.content == body
    assert found.headers == (("www-authenticate", "Bearer a  b"),)
    told = Told(3, refusal)
    assert Told.read(told.line("s3cret").strip(b"\n"), "s3cret") == told
    assert Told.read(told.line("other").strip(b"\n"), "s3cret") is None


def test_a_server_that_writes_a_refusal_itself_adds_no_header_that_it_could_not_have_added() -> (
    None
):
    """It may say a status in this way, too, and nothing that another program would obey."""
    value = '[401,[["set-cookie","a=b"],["content-length","1"],["allow","a\\r\\nb"]],"",false]'
    line = f'{{"jsonrpc":"2.0","id":1,"error":{{"code":1,"message":""}},"humanmcp/http":{value}}}'
    message = jsonrpc.read_text(line)
    assert isinstance(message, Message)
    found = refusal_in(message)
    assert found is not None
    assert found.headers == (("allow", "a b"),)


@pytest.mark.parametrize(
    "value", ["1", "[]", '[200,[],"",false]', '[401,[["a"]],"",false]', '[401,[],"%",1]']
)
def test_what_a_person_made_of_a_refusal_is_an_error_like_any_other(value: str) -> None:
    """A server cannot say a status with it either, except one that it could have sent."""
    line = f'{{"jsonrpc":"2.0","id":1,"error":{{"code":1,"message":""}},"humanmcp/http":{value}}}'
    message = jsonrpc.read_text(line)
    assert isinstance(message, Message)
    assert refusal_in(message) is None


# -- two clients -----------------------------------------------------------------------------------

NAMES: Final = ("ann", "bob")
SERVER: Final = Guarded()


class TwoClients(RuleBasedStateMachine):
    """Two clients of one tap; their keys expire, and one may know the session id of the other.

    The server may forget its sessions. Then the tap begins another one, for the key alone that the
    server took last in that session; any other one is told 404, and gets nothing begun.
    """

    where: str
    peer: Peer

    def __init__(self) -> None:
        super().__init__()
        self.numbers = count(1)
        self.asked_before = len(self.peer.asked)
        self.sent: list[tuple[int, str, str]] = []
        """Each message: its number, its key, the session of the server."""
        self.keys: dict[str, str] = {}
        self.sessions: dict[str, tuple[str, str]] = {}
        """The id at the tap and that of the server."""
        self.began: dict[str, int] = {}
        """The number of the message that began each session at the tap."""
        self.accepted: dict[str, str] = {}
        """The key that the server took last in each session at the tap."""

    @initialize()
    def begin_both(self) -> None:
        """Each has a key that the server takes."""
        SERVER.given.clear()
        for name in NAMES:
            self.renew(name)
            self.begin(name)

    @rule(name=st.sampled_from(NAMES))
    def renew(self, name: str) -> None:
        """Get a new key; the old one counts no more."""
        self.expire(name)
        self.keys[name] = f"{name}-{id(self)}-{next(self.numbers)}"
        SERVER.valid.add(self.keys[name])

    @rule(name=st.sampled_from(NAMES))
    def expire(self, name: str) -> None:
        """Let a key expire."""
        SERVER.valid.discard(self.keys.get(name, ""))

    @rule(name=st.sampled_from(NAMES))
    def step_up(self, name: str) -> None:
        """Let a key do more."""
        SERVER.may_write.add(self.keys[name])

    def teardown(self) -> None:
        """End the sessions: each is a process."""
        for name, (session, own) in self.sessions.items():
            SERVER.valid.add(self.keys[name])
            SERVER.sessions.add(own)
            ask(self.where, "DELETE", key=self.keys[name], session=session)

    @precondition(lambda self: len(self.sessions) < len(NAMES))
    @rule(name=st.sampled_from(NAMES))
    def begin(self, name: str) -> None:
        """Begin a session."""
        before, number = set(SERVER.sessions), next(self.numbers)
        hello = {**json.loads(HELLO)}
        hello["params"]["n"] = number
        got = ask(self.where, "POST", json.dumps(hello).encode(), self.keys[name])
        self.sent.append((number, self.keys[name], ""))
        assert got.status == SERVER.given[number]
        assert (got.status == 200) is ("mcp-session-id" in got.headers)
        if got.status == 200:
            (new,) = SERVER.sessions - before
            session = got.headers["mcp-session-id"]
            self.sessions[name] = (session, new)
            self.began[session], self.accepted[session] = number, self.keys[name]
        else:
            assert got.headers["www-authenticate"] == CHALLENGE

    @precondition(lambda self: self.sessions)
    @rule(
        data=st.data(),
        who=st.sampled_from(NAMES),
        method=st.sampled_from(["tools/list", "tools/call", "notifications/progress"]),
        forgets=st.booleans(),
    )
    def post(self, data: st.DataObject, who: str, method: str, forgets: bool) -> None:  # noqa: FBT001 - drawn
        """Send a message with one's own key, in any session. The server may forget it before."""
        whose = data.draw(st.sampled_from(sorted(self.sessions)))
        SERVER.sessions -= {self.sessions[whose][1]} if forgets else set()
        (session, own), key, before = self.sessions[whose], self.keys[who], {*SERVER.sessions}
        number = next(self.numbers)
        is_request = not method.startswith("notifications")
        body = said(method, number if is_request else None, n=number)
        got = ask(self.where, "POST", body, key, session)
        self.sent.append((number, key, own))
        is_over = key in SERVER.valid and own not in before
        if is_over and key == self.accepted[session]:
            (new,) = SERVER.sessions - before
            self.sessions[whose] = (session, new)
            self.sent += [(self.began[session], key, ""), (0, key, new), (number, key, new)]
        assert SERVER.sessions - before == {self.sessions[whose][1]} - {own}
        assert got.status == SERVER.given[number]
        assert (got.status == 404) is (is_over and key != self.accepted[session])
        self.accepted[session] = key if got.status in (200, 202) else self.accepted[session]
        if got.status == 200:
            assert json.loads(got.body)["result"] == {"of": self.keys[who][7:]}
        wanted = {401: CHALLENGE, 403: STEP_UP}.get(got.status)
        assert got.headers.get("www-authenticate") == wanted
        assert got.status in (200, 202) or got.body == b'{"error":"refused"}'

    @precondition(lambda self: self.sessions)
    @rule(data=st.data(), who=st.sampled_from(NAMES))
    def listen(self, data: st.DataObject, who: str) -> None:
        """Ask for a stream, which the server has for nobody."""
        session, own = self.sessions[data.draw(st.sampled_from(sorted(self.sessions)))]
        got = ask(self.where, "GET", key=self.keys[who], session=session)
        is_valid = self.keys[who] in SERVER.valid
        assert got.status == (401 if not is_valid else 405 if own in SERVER.sessions else 404)

    @precondition(lambda self: self.sessions)
    @rule(data=st.data(), who=st.sampled_from(NAMES))
    def end(self, data: st.DataObject, who: str) -> None:
        """End a session: the server says whether one may."""
        whose = data.draw(st.sampled_from(sorted(self.sessions)))
        session, own = self.sessions[whose]
        is_there = own in SERVER.sessions
        got = ask(self.where, "DELETE", key=self.keys[who], session=session)
        if self.keys[who] not in SERVER.valid:
            assert got.status == 401
        elif not is_there:
            assert got.status == 404
        else:
            assert (got.status, own in SERVER.sessions) == (204, False)
            del self.sessions[whose]

    @invariant()
    def each_message_came_once_and_with_its_key(self) -> None:
        """In its session; and no key was used for anything else. Once more only after 404."""
        posts = [one for one in self.peer.asked[self.asked_before :] if one.method == "POST"]
        came = [
            (
                one.json.get("params", {}).get("n", 0),
                one.headers.get("authorization", "").removeprefix("Bearer "),
                one.headers.get("mcp-session-id", ""),
            )
            for one in posts
        ]
        assert sorted(came) == sorted(self.sent)


def test_no_key_goes_where_it_was_not_sent_and_no_message_is_lost(tmp_path: Path) -> None:
    """Keys that expire, a server that refuses and forgets, a session id that both clients know."""
    with Peer(SERVER) as peer, tap(tmp_path / "home", peer.url, "--quiet") as (where, _):

        class Here(TwoClients):
            """At this tap."""

        Here.where, Here.peer = where, peer
        Here.TestCase.settings = settings(
            max_examples=6,
            stateful_step_count=25,
            deadline=None,
            phases=[
                Phase.generate
            ],  # a step takes a process: to look for a shorter way takes hours
            suppress_health_check=list(HealthCheck),
        )
        Here.TestCase("runTest").runTest()
