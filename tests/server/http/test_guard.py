"""What may not reach a server over HTTP, and what it does about peers that mean harm."""

import http.client
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from humanmcp.http.front import LARGEST_MESSAGE
from humanmcp.http.listening import HttpServeError, address_of, bind, own_addresses, own_names
from humanmcp.server.http.sessions import read_key
from tests.support.serve_http import JSON, MODERN, Got, ServingHttp, call, initialize
from tests.support.waiting import PATIENCE, until


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServingHttp]:
    """Return a server that answers by itself."""
    with ServingHttp(tmp_path_factory.mktemp("home") / "inbox", "--auto") as running:
        yield running


def ask(server: ServingHttp, **headers: str) -> Got:
    """Send an `initialize` with these headers."""
    return server.ask(body=initialize("2025-11-25"), headers=headers)


def test_a_page_of_another_address_is_403(server: ServingHttp) -> None:
    """The rule: "If the `Origin` header is present and invalid, servers MUST respond" with 403."""
    got = ask(server, Origin="http://evil.example")
    assert (got.status, got.json["error"]["code"]) == (403, -32600)
    assert "access-control-allow-origin" not in got.headers


def test_a_refused_page_is_told_of_once(server: ServingHttp) -> None:
    """With the flag that lets it in; of many pages, only of some."""
    for origin in ("http://localhost:6274", "http://localhost:6274", "null"):
        assert ask(server, Origin=origin).status == 403
    until(lambda: "--allow-origin null" in server.said, "the second page")
    assert server.said.count("--allow-origin http://localhost:6274") == 1
    for number in range(30):
        ask(server, Origin=f"http://{number}.example")
    assert server.said.count("--allow-origin") <= 10


def test_a_page_that_is_let_in_is_served_as_a_client(tmp_path: Path) -> None:
    """Its browser asks first, without the key; another page is still refused."""
    page = {"Origin": "http://localhost:6274"}
    wanted = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,mcp-session-id",
    }
    key = tmp_path / "key"
    flags = ("--auto", "--key", str(key), "--allow-origin", "http://localhost:6274/")
    with ServingHttp(tmp_path / "inbox", *flags) as server:
        asked = server.ask("OPTIONS", headers={**page, **wanted})
        assert asked.status == 200
        allowed = asked.headers["access-control-allow-headers"]
        assert allowed == wanted["Access-Control-Request-Headers"]
        assert asked.headers["access-control-allow-methods"] == "POST, GET, DELETE"
        token = {"Authorization": f"Bearer {key.read_text().strip()}"}
        begun, refused = ask(server, **page, **token), ask(server, **page)
        assert (begun.status, refused.status) == (200, 401)
        for got in (asked, begun, refused):
            assert got.headers["access-control-allow-origin"] == "http://localhost:6274"
            assert "Mcp-Session-Id" in got.headers["access-control-expose-headers"]
            assert got.headers["vary"] == "origin"
        other = server.ask("OPTIONS", headers={"Origin": "http://evil.example", **wanted})
        assert other.status == 403
        plain = ask(server, **token)
        assert plain.status == 200
        for got in (other, plain):
            assert "access-control-allow-origin" not in got.headers


def test_a_key_is_asked_for_and_nothing_is_said_without_it(tmp_path: Path) -> None:
    """401 with Bearer; the metadata of OAuth still is not there."""
    file = tmp_path / "key"
    with ServingHttp(tmp_path / "inbox", "--auto", "--key", str(file)) as server:
        key = file.read_text().strip()
        assert file.stat().st_mode & 0o077 == 0
        assert key not in server.said
        got = ask(server)
        assert (got.status, got.headers["www-authenticate"]) == (401, "Bearer")
        for wrong in ("Bearer", f"Bearer {key}x", f"Basic {key}", f"Bearer {'x' * 5000}"):
            assert ask(server, Authorization=wrong).status == 401
        assert ask(server, Authorization=f"Bearer {key}").status == 200
        assert server.ask("GET", path="/.well-known/oauth-protected-resource").status == 404
    assert read_key(str(file)) == (key, None)


def test_a_body_that_is_too_large_is_413(server: ServingHttp) -> None:
    """By what it declares, before it comes."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.putrequest("POST", "/mcp")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(1 << 40))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
    assert ask(server).status == 200


@pytest.mark.parametrize("chunked", [False, True])
def test_who_sends_a_body_that_is_too_large_to_its_end_hears_why(
    server: ServingHttp,
    chunked: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """A connection that is closed with bytes in it is reset, and takes the response back.

    https://www.rfc-editor.org/rfc/rfc9112#section-9.6
    """
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    body = b" " * (10 * LARGEST_MESSAGE)
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/mcp", iter([body]) if chunked else body, headers)
    response = connection.getresponse()
    assert (response.status, "too large" in response.read().decode()) == (413, True)
    connection.close()
    assert ask(server).status == 200


def test_a_body_without_end_is_cut(server: ServingHttp) -> None:
    """Whatever it declares or does not."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.putrequest("POST", "/mcp")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    piece = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    cut = False
    for _ in range(200):
        try:
            connection.send(piece)
        except OSError:  # reset, or a broken pipe
            cut = True
            break
    assert cut
    connection.close()
    assert ask(server).status == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"GARBAGE\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\n" + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
        b"POST http://evil.example/mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"CONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        (
            b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0"
        ),
    ],
)
def test_whatever_bytes_come_are_answered_or_cut(server: ServingHttp, raw: bytes) -> None:
    """And the next client is served."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        line.sendall(raw)
        said = line.recv(4096)
    assert not said or said.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5"))
    assert ask(server).status == 200


def test_a_subscription_that_is_wrong_is_refused_and_not_acknowledged(server: ServingHttp) -> None:
    """2026-07-28: it begins a stream only where its `_meta` says what it must."""
    listen = '{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{}}'
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen"}
    got = server.ask(body=listen, headers=headers)
    assert (got.status, got.json["error"]["code"]) == (400, -32602)


def test_half_a_request_is_no_message(server: ServingHttp) -> None:
    """A whole message in a body that promised more came from a client that is gone."""
    headers = {**JSON, "Host": f"127.0.0.1:{server.port}", **server.initialize()}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        line.sendall(f"POST /mcp HTTP/1.1\r\n{head}Content-Length: 5000\r\n\r\n{call(77)}".encode())
    until(lambda: any('"status\\":400' in said for said in transcripts(server)), "it is refused")
    assert [said for said in transcripts(server) if "ask_human" in said and ":77" in said] == []


def transcripts(server: ServingHttp) -> list[str]:
    """Return what is written down of the sessions."""
    files = server.home.glob("sessions/*/transcript.jsonl")
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_stream_that_a_session_never_had_is_400(server: ServingHttp) -> None:
    """An empty one would be asked for again for ever."""
    session = server.initialize()
    ping = '{"jsonrpc":"2.0","id":2,"method":"ping"}'
    assert server.ask(body=ping, headers=session).status == 200
    for name, status in (("1-0", 200), ("2-9", 200), ("3-0", 400), ("9999-1", 400)):
        assert server.ask("GET", headers={**session, "Last-Event-ID": name}).status == status
    # what is noted of the refused request is no stream either
    until(lambda: any('"number":9999' in line for line in transcripts(server)), "its note")
    assert server.ask("GET", headers={**session, "Last-Event-ID": "9999-1"}).status == 400


@pytest.mark.parametrize(
    ("twice", "status", "why"),
    [
        (b"Host: x", 400, b"Host"),
        (b"Content-Length: 5\r\nContent-Length: 6", 400, b"Content-Length"),
        (b"Authorization: Bearer a\r\nAuthorization: Bearer b", 400, b"Authorization"),
        (b"Mcp-Session-Id: a\r\nMcp-Session-Id: b", 400, b"Mcp-Session-Id"),
    ],
)
def test_a_header_that_is_there_twice_is_400_and_named(
    server: ServingHttp, twice: bytes, status: int, why: bytes
) -> None:
    """RFC 9112, 3.2 and 6.3; RFC 6750, 3.1; RFC 9110, 5.3."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        host = f"127.0.0.1:{server.port}".encode()
        head = b"GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n" % host
        line.sendall(head + twice + b"\r\n\r\n")
        said = b""
        while piece := line.recv(4096):
            said += piece
    assert said.startswith(b"HTTP/1.1 %d" % status)
    assert why in said.partition(b"\r\n\r\n")[2]


def test_clients_that_say_nothing_keep_nobody_out(server: ServingHttp) -> None:
    """Three hundred of them at once."""
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
    assert ask(server).status == 200
    for one in silent:
        one.close()


def test_a_client_that_reads_nothing_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Its stream fills up, and the other client is answered."""
    with ServingHttp(tmp_path / "inbox", "--auto", quick=1) as server:
        headers = server.initialize()
        stuck = server.open(headers, verb="GET")
        until(lambda: stuck.response.status == 200, "a stream")
        for number in range(2, 30):
            body = f'{{"jsonrpc":"2.0","id":{number},"method":"tools/list"}}'
            assert server.ask(body=body, headers=headers).status == 200


def test_a_session_is_found_by_its_whole_id_only(server: ServingHttp) -> None:
    """Ids cannot be guessed, and what looks like a path is none."""
    headers = server.initialize()
    name = headers["Mcp-Session-Id"]
    assert len(name) >= 32
    for wrong in (name[:-1], name + "x", name.swapcase(), "../" + name, "", "\x7f", "a" * 5000):
        got = server.ask(
            body='{"jsonrpc":"2.0","id":2,"method":"ping"}', headers={"Mcp-Session-Id": wrong}
        )
        assert got.status in (400, 404)
    assert {*JSON} <= {*JSON, *headers}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ("127.0.0.1", 0)),
        ("8000", ("127.0.0.1", 8000)),
        ("localhost:8000", ("127.0.0.1", 8000)),
        ("127.0.0.1", ("127.0.0.1", 0)),
        ("[::1]:8000", ("::1", 8000)),
        ("::1", ("::1", 0)),
        (":8000", ("127.0.0.1", 8000)),
    ],
)
def test_an_address_is_read(text: str, found: tuple[str, int]) -> None:
    """What is missing is loopback."""
    assert address_of(text) == found


@pytest.mark.parametrize("text", ["x", "127.0.0.1:x", "127.0.0.1:70000", "e.example:80", "1:2:3"])
def test_what_is_no_address_is_refused(text: str) -> None:
    """With a sentence."""
    with pytest.raises(HttpServeError):
        address_of(text)


def test_other_computers_reach_it_only_where_that_was_said() -> None:
    """By a flag, or with a key."""
    with pytest.raises(HttpServeError, match=r"0\.0\.0\.0"):
        bind("0.0.0.0:0", "", lan=False)
    for key, lan in (("k", False), ("", True)):
        listening, address = bind("0.0.0.0", key, lan=lan)
        listening.close()
        assert address.is_open
    listening, address = bind("", "", lan=True)
    listening.close()
    assert (address.host, address.is_open) == ("0.0.0.0", True)
    assert {*own_addresses(), *own_names()} <= {*address.names}
    listening, address = bind("", "", lan=False, url="https://MCP.example/")
    listening.close()
    assert (address.outside, address.names) == (("https://mcp.example",), ())


def test_a_page_that_rebinds_its_name_reaches_no_open_server(tmp_path: Path) -> None:
    """Also where `Origin` says the same as `Host`."""
    with ServingHttp(tmp_path / "inbox", "--auto", "--lan") as server:
        host = f"evil.example:{server.port}"
        evil = server.ask(
            body=initialize("2025-11-25"), headers={"Host": host, "Origin": f"http://{host}"}
        )
        assert evil.status == 403
        assert "--url" in evil.json["error"]["message"]
        assert server.ask(body=initialize("2025-11-25")).status == 200


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    """And not another one used, which no client would find."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(HttpServeError, match=str(port)):
            bind(str(port), "", lan=False)
    empty = tmp_path / "empty"
    empty.write_text("\n")
    with pytest.raises(HttpServeError, match="empty"):
        read_key(str(empty))
