"""What may reach the desk: table A of the security checklist, against a running desk."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from fastapi.routing import APIRoute

from humanmcp.common.settings import Settings
from humanmcp.desk import command, guard, rights
from humanmcp.desk.app import Speaking, make_app
from humanmcp.desk.guard import Address, Guard, judge
from humanmcp.http import bodies
from tests.support.desk_process import COMMAND, JSON, Desking
from tests.support.waiting import PATIENCE


def scope(path: str = "/", method: str = "GET", **headers: str) -> dict[str, Any]:
    """Return the scope of a request from a page of our own, with other headers where named."""
    named = {"host": "127.0.0.1:8765", **{key.replace("_", "-"): v for key, v in headers.items()}}
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "headers": [(key.encode(), value.encode("latin-1")) for key, value in named.items()],
    }


OURS = Address(8765)


# -- the Host header -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8765",
        "",
        "127.0.0.1",
        "127.0.0.1:8766",
        "127.0.0.1:8765@evil",
        "localhost:8765/x?",
        "127.0.0.1.evil.com:8765",
        "127.0.0.1.:8765",
        "localhost.:8765",
        " 127.0.0.1:8765",
        "127.0.0.1:08765",
        "0.0.0.0:8765",
        "[::]:8765",
        "[::ffff:127.0.0.1]:8765",
        "127.1:8765",
    ],
)
def test_a_host_that_is_not_ours_is_misdirected(host: str) -> None:
    """Rebinding and every crooked spelling of our own name get 421."""
    assert judge(scope(host=host), OURS) is guard.WRONG_HOST


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "LOCALHOST:8765", "[::1]:8765"])
def test_the_loopback_names_with_our_port_are_ours(host: str) -> None:
    """The legal forms pass, in any case of letters."""
    assert judge(scope(host=host), OURS) is None


def test_two_host_headers_are_none() -> None:
    """Of two Host headers neither is believed."""
    asked = scope()
    asked["headers"].append((b"host", b"127.0.0.1:8765"))
    assert judge(asked, OURS) is guard.WRONG_HOST


def test_a_missing_host_is_refused_on_the_wire(desking: Desking) -> None:
    """HTTP/1.1 without Host gets 400 and nothing of the page."""
    answer = desking.raw(b"GET / HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"humanmcp" not in answer


def test_the_answer_to_a_wrong_host_says_nothing(desking: Desking) -> None:
    """The body has neither a page nor a token, and does not repeat the host."""
    answer = desking.ask("GET", "/", headers={"Host": f"evil.example:{desking.port}"})
    assert answer.status == 421
    assert "evil" not in answer.text
    assert "<html" not in answer.text
    assert desking.facts.token not in answer.text


# -- every route, enumerated ----------------------------------------------------------------


def flat(routes: Iterable[Any]) -> Iterator[APIRoute]:
    """List routes, those of included routers as well."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from flat(inner.routes)
            continue
        assert isinstance(route, APIRoute), f"{route} is no plain route: is it guarded?"
        yield route


def routes(home: Path) -> Iterator[tuple[str, str]]:
    """List every method and path that the desk has, with something in place of each parameter."""
    app = make_app(command.make_desk(home, Address(8765), Settings()))
    assert isinstance(app, Speaking)
    guard = app._app
    assert isinstance(guard, Guard)
    found = list(flat(guard._app.routes))  # type: ignore[attr-defined] # FastAPI's, behind the guard
    assert len(found) > 30
    for route in found:
        path = re.sub(r"\{\w+(:path)?\}", "1", route.path)
        for method in route.methods or ():
            yield method, path


def test_no_route_answers_a_foreign_host(desking: Desking, tmp_path: Path) -> None:
    """Assets, stream, login, interface and pages alike; a new route is tested by itself."""
    for method, path in [*routes(tmp_path / "other"), ("GET", "/no/such/page")]:
        headers = {"Host": "evil.example", "Content-Type": "application/json"}
        answer = desking.ask(method, path, headers={**headers, **desking.bearer})
        assert answer.status == 421, (method, path)


def is_published(method: str, path: str) -> bool:
    """Return True if it may be seen without a login: the door, the icon, the files of the page."""
    return method == "GET" and (path in rights.PUBLIC or path.startswith(guard.STATIC))


def content_type(path: str) -> str:
    """Return the type of the bodies that a route takes."""
    if path in guard._OF_FILES:
        return guard._FILE
    return "application/json" if path.startswith("/api/") else guard._FORM


def test_no_route_answers_a_stranger(desking: Desking, tmp_path: Path) -> None:
    """What is not the door or a published file wants to know who asks."""
    for method, path in routes(tmp_path / "other"):
        kind = content_type(path)
        body = b"{}" if method == "POST" else None
        answer = desking.ask(method, path, body=body, headers={"Content-Type": kind})
        assert (answer.status == 401) != is_published(method, path), (method, path)


def test_no_route_answers_another_page(desking: Desking, tmp_path: Path) -> None:
    """A logged-in browser acting for another page is refused everywhere."""
    cookie = desking.cookie()
    for method, path in routes(tmp_path / "other"):
        kind = content_type(path)
        headers = {**cookie, "Content-Type": kind, "Origin": "http://evil.example"}
        answer = desking.ask(
            method,
            desking.in_login(path),
            body=b"{}" if method == "POST" else None,
            headers=headers,
        )
        assert answer.status == 403, (method, path)


# -- targets --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        "@google.com",
        "http://evil/",
        "//evil",
        "/\\evil",
        "/%2e%2e/desk.json",
        "/static/%2E%2E/%2e%2e/desk.json",
        "/static/..%2f..%2fdesk.json",
        "/static/%5c",
        "/a#b",
        "/\x00",
        "/ü",
    ],
)
def test_a_crooked_target_is_no_path(desking: Desking, target: str) -> None:
    """Decided on the raw path, before any route; never a redirect, never a 500."""
    host = f"127.0.0.1:{desking.port}"
    request = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    status = int(desking.raw(request.encode("utf-8")).split(b" ", 2)[1])
    assert status in (400, 404)


def test_a_static_name_cannot_leave_its_folder(desking: Desking) -> None:
    """Only names that were read at the start lead to a file."""
    for name in ("../templates/base.html", "/etc/passwd", "desk.css/", ".", ""):
        assert desking.ask("GET", f"/static/{name}").status in (400, 404)


# -- who sends -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        "http://localhost.evil.com:8765",
        "https://127.0.0.1:8765",
        "http://127.0.0.1:8765.evil.com",
        "http://127.0.0.1:8765/",
        "",
    ],
)
def test_an_origin_that_is_not_exactly_ours_is_foreign(origin: str) -> None:
    """Compared as a whole, not by its beginning or a pattern."""
    asked = scope(
        "/api/answers", "POST", origin=origin, content_type="application/json", cookie="a=b"
    )
    assert judge(asked, OURS) is guard.FOREIGN


def test_a_cookie_alone_does_not_act() -> None:
    """A POST with a cookie must say where it comes from."""
    asked = scope("/api/answers", "POST", content_type="application/json", cookie="a=b")
    assert judge(asked, OURS) is guard.FOREIGN


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "other"])
def test_the_stream_and_the_interface_are_for_our_pages_only(site: str) -> None:
    """What a browser says of another page never opens the stream."""
    for path in ("/api/events", "/api/exchanges", "/api/state"):
        assert judge(scope(path, sec_fetch_site=site), OURS) is guard.FOREIGN


def test_a_page_may_be_opened_by_hand_and_the_door_by_a_link() -> None:
    """A typed address is `none`; a link from elsewhere leads to the door and no further."""
    assert judge(scope("/m/a/1", sec_fetch_site="none"), OURS) is None
    assert judge(scope("/login", sec_fetch_site="cross-site"), OURS) is None
    assert judge(scope("/", sec_fetch_site="cross-site"), OURS) is guard.FOREIGN
    form = scope("/m/a/1", "POST", sec_fetch_site="none", content_type=guard._FORM)
    assert judge(form, OURS) is guard.FOREIGN


# -- methods and types ---------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/api/events", "/%61pi/events", "/ws", "/static/desk.js"])
def test_there_is_no_websocket(desking: Desking, path: str) -> None:
    """An upgrade is refused on every path, whoever asks."""
    host = f"127.0.0.1:{desking.port}"
    request = (
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade, close\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: http://{host}\r\n"
        f"Authorization: Bearer {desking.facts.token}\r\n\r\n"
    )
    assert desking.raw(request.encode()).startswith(b"HTTP/1.1 426 ")


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE"])
def test_other_methods_do_nothing(desking: Desking, method: str) -> None:
    """A preflight gets 405 and not one header that would allow anything."""
    answer = desking.ask(method, "/api/exchanges", headers={"Origin": "http://evil.example"})
    assert answer.status == 405
    assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    ("kind", "extra"),
    [
        ("text/plain", {}),
        ("application/x-www-form-urlencoded", {}),
        ("multipart/form-data; boundary=x", {}),
        ("application/jsonp", {}),
        ("application/json; charset=utf-16", {}),
        ("", {}),
        ("application/json", {"content_encoding": "gzip"}),
    ],
)
def test_the_interface_takes_json_and_nothing_else(kind: str, extra: dict[str, str]) -> None:
    """A simple request of another page cannot even have this content type."""
    asked = scope("/api/answers", "POST", content_type=kind, **extra)
    assert judge(asked, OURS) is guard.NOT_JSON


def test_a_form_of_a_page_has_its_own_type() -> None:
    """Pages without a script post forms; JSON goes to the interface."""
    assert judge(scope("/m/a/1", "POST", content_type=guard._FORM), OURS) is None
    assert judge(scope("/m/a/1", "POST", content_type="application/json"), OURS) is guard.NOT_FORM


# -- secrets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        "Bearer wrong",
        "Bearer ",
        "Bearer \xe9\xff",
        "Basic Og==",
        "bearer",
        "Bearer " + "x" * 60_000,
    ],
)
def test_a_wrong_token_is_a_stranger(desking: Desking, header: str) -> None:
    """Also one that is not ASCII, on which a comparison of text would fail with 500."""
    answer = desking.ask("GET", "/api/exchanges", headers={"Authorization": header})
    assert answer.status in (400, 401)  # a header beyond 64 KiB is cut off by the HTTP parser


def test_a_visit_counts_for_its_own_desk_only(desking: Desking, tmp_path: Path) -> None:
    """The cookie of one desk opens no other, even under the other's name."""
    value = desking.cookie()["Cookie"].partition("=")[2]
    here = desking.in_login("/api/state")
    with Desking(tmp_path / "home") as other:
        for cookie in (f"humanmcp-{desking.port}={value}", f"humanmcp-{other.port}={value}"):
            assert other.ask("GET", here, headers={"Cookie": cookie}).status == 401


def test_the_cookie_is_kept_from_scripts_and_other_sites(desking: Desking) -> None:
    """HttpOnly, SameSite=Strict, for the whole desk; the desk speaks plain HTTP to itself."""
    answer = desking.ask(
        "POST", "/api/login", body=json.dumps({"key": desking.key()}).encode(), headers=JSON
    )
    flags = {part.strip() for part in answer.headers["set-cookie"].split(";")[1:]}
    path = f"Path={answer.json['path']}"  # its case counts
    assert path in flags
    flags = {flag.lower() for flag in flags}
    assert {"httponly", "samesite=strict"} <= flags
    assert "secure" not in flags


def test_no_secret_is_where_others_can_read_it(home: Path) -> None:
    """Not in an argument list, the environment or what the desk logs."""
    with Desking(home, command=COMMAND) as desking:
        key = desking.key()
        desking.ask("GET", "/api/state", headers=desking.bearer)
        process = Path("/proc") / str(desking.process.pid)
        places = [process / "cmdline", process / "environ"] if process.exists() else []
        for place in [*places, desking.err, *desking.home.glob("*.log")]:
            content = place.read_bytes()
            assert desking.facts.token.encode() not in content
            assert key.encode() not in content


def test_the_token_is_in_a_file_of_its_owner_only(desking: Desking) -> None:
    """Desk.json is 0600 in a folder that is 0700."""
    assert (desking.home / "desk.json").stat().st_mode & 0o777 == 0o600
    assert desking.home.stat().st_mode & 0o777 == 0o700


# -- the headers of every answer -----------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/login", "/static/desk.css", "/api/state", "/none", "/%2e"])
def test_every_answer_carries_the_same_protection(desking: Desking, path: str) -> None:
    """No framing, no sniffing, no reading from elsewhere, no inline script or style."""
    for headers in ({}, desking.bearer):
        answer = desking.ask("GET", path, headers=headers)
        for name, value in guard.HEADERS.items():
            assert answer.headers[name] == value
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy


@pytest.mark.extension("apps")
def test_only_the_frame_of_a_strangers_page_has_a_policy_of_its_own(desking: Desking) -> None:
    """It is a file without a secret, in an origin of its own, for a page of the desk."""
    for path in ("/static/apps/frame.html", "/static/~x/apps/frame.html"):
        for headers in ({}, {"If-None-Match": desking.ask("GET", path).headers["etag"]}):
            answer = desking.ask("GET", path, headers=headers)
            for name, value in {**guard.HEADERS, **guard.FRAMED}.items():
                assert answer.headers[name] == value
    policy = dict(one.strip().partition(" ")[::2] for one in guard.FRAMED[POLICY].split(";"))
    assert policy == {
        "sandbox": "allow-scripts",
        "default-src": "'none'",
        "script-src": "'unsafe-inline'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "form-action": "'none'",
        "base-uri": "'none'",
        "frame-ancestors": "'self'",
    }
    assert "frame-src 'self'" in guard.HEADERS[POLICY]


POLICY: Final = "content-security-policy"


def test_only_published_files_may_be_kept(desking: Desking) -> None:
    """What belongs to a person is never stored by a browser or a proxy."""
    assert desking.ask("GET", "/", headers=desking.bearer).headers["cache-control"] == "no-store"
    assert desking.ask("GET", "/static/desk.js").headers["cache-control"] == "no-cache"


def test_what_a_page_names_is_kept_for_good_as_long_as_it_is_the_same(desking: Desking) -> None:
    """A page asks about none of its forty scripts again; another edition has other addresses."""
    page = desking.ask("GET", "/login").text
    kept = re.findall(r'(?:src|href)="(/static/~[^"]+)"', page)
    assert len(kept) == 3
    for address in kept:
        answer = desking.ask("GET", address)
        assert (answer.status, "immutable" in answer.headers["cache-control"]) == (200, True)
    other = desking.ask("GET", re.sub("~[0-9a-f]+", "~0", kept[0]))
    assert (other.status, other.headers["cache-control"]) == (200, "no-cache")


# -- where it listens ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",
        "::",
        "0",
        "0x0",
        "::ffff:0.0.0.0",
        "*",
        "192.168.0.7",
        "evil.example",
        "[::]",
        "127.1",
    ],
)
def test_only_this_computer_is_listened_to(host: str) -> None:
    """Every spelling of "everywhere" is refused, and so is every other address."""
    with pytest.raises(command.NotLoopbackError):
        command.loopback(host)


def test_the_environment_alone_does_not_open_the_desk(tmp_path: Path) -> None:
    """HUMANMCP_HOST=0.0.0.0 ends with advice and a status that is not 0."""
    ended = subprocess.run(
        [sys.executable, "-m", "humanmcp", "desk", "--home", str(tmp_path / "home")],
        env={**os.environ, "HUMANMCP_HOST": "0.0.0.0"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode != 0
    assert "127.0.0.1" in ended.stderr
    assert ended.stdout == ""


# -- sizes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sends", ["nothing of it", "all of it first"])
def test_a_body_that_says_it_is_too_large_is_refused_in_words(desking: Desking, sends: str) -> None:
    """By the announced size; who reads only when all is sent hears of it, too."""
    large = 40 * 1024 * 1024
    assert large > bodies.LARGEST
    head = (
        f"POST /api/answers HTTP/1.1\r\nHost: 127.0.0.1:{desking.port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {large}\r\n"
        f"Authorization: Bearer {desking.facts.token}\r\n\r\n"
    ).encode()
    with (
        socket.create_connection(("127.0.0.1", desking.port), timeout=PATIENCE) as connection,
        connection.makefile("rb") as reading,
    ):
        connection.sendall(head + b" " * (large if sends == "all of it first" else 0))
        assert reading.readline().startswith(b"HTTP/1.1 413 ")
        headers = http.client.parse_headers(reading)
        told = reading.read(int(headers["content-length"]))
    assert "too large" in json.loads(told)["detail"]


def test_a_body_that_lies_about_its_size_is_counted(desking: Desking) -> None:
    """Chunks are counted: no header has to tell the truth."""
    host = f"127.0.0.1:{desking.port}"
    head = (
        f"POST /api/answers HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {desking.facts.token}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", desking.port), timeout=PATIENCE) as connection:
        connection.sendall(head.encode() + chunk * 32 + b"1\r\n \r\n0\r\n\r\n")
        assert connection.makefile("rb").readline().startswith(b"HTTP/1.1 413 ")


def test_a_range_is_not_to_be_had(desking: Desking) -> None:
    """A thousand ranges of a file are answered with the whole file, at once."""
    ranges = "bytes=" + ",".join("0-" for _ in range(1000))
    answer = desking.ask("GET", "/static/desk.css", headers={"Range": ranges})
    assert answer.status == 200


def test_the_guard_loads_no_server() -> None:
    """It can guard an application that something else than uvicorn serves."""
    look = "import sys, humanmcp.desk.guard; sys.exit('uvicorn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0
