"""Two servers on one database behind nginx and HAProxy, configured as the manual says."""

import re
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import anyio
import pytest
from mcp import Client

from humanmcp.inbox.contract import Inbox
from tests.extensions.postgres.test_two_servers import asked, desk, running, where
from tests.support.ports import own_port
from tests.support.proxies import PROXIES, proxy_program
from tests.support.serve_http import JSON, Got, ServingHttp, ask_http, initialize
from tests.support.waiting import PATIENCE, until

__all__ = ["desk", "where"]  # fixtures

pytestmark = [pytest.mark.postgres, pytest.mark.proxies, pytest.mark.xdist_group("postgres")]

PAGE: Final = Path(__file__).parents[3] / "docs" / "how-to" / "several-machines.md"
NGINX: Final = """
daemon off; user root; pid {folder}/pid; error_log stderr; events {{ }}
http {{
    access_log off; client_body_temp_path {folder}; proxy_temp_path {folder};
    fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
    include {folder}/nginx.conf;
}}
"""
VERSION: Final = {"MCP-Protocol-Version": "2025-11-25"}


def configuration(name: str, port: str, servers: tuple[str, str]) -> str:
    """Return the configuration in the manual, with the addresses of this test."""
    found = re.search(rf"```{name}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    text, count = re.subn(r"(listen |bind ):?80", rf"\g<1>127.0.0.1:{port}", found[1])
    assert count == 1
    for example, server in zip(("a.example:8766", "b.example:8766"), servers, strict=True):
        assert example in text
        text = text.replace(example, f"127.0.0.1:{server}")
    return text


def ask(port: int, body: str, headers: Mapping[str, str]) -> Got:
    """Send a request and read the whole response."""
    return ask_http(port, "POST", "/mcp", body, {**JSON, **headers})


def listens(port: str) -> bool:
    """Return True if somebody listens at a port of this computer."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", int(port))) == 0


@pytest.fixture
def port() -> str:
    """Return where the proxy listens."""
    return str(own_port())


@pytest.fixture
def servers(tmp_path: Path, where: str, port: str) -> Iterator[tuple[ServingHttp, ServingHttp]]:
    """Start two servers on one database that let in who calls them by the proxy's name."""
    flags = ("--auto", "--url", f"http://127.0.0.1:{port}", "--inbox", where)
    ports = (own_port(), own_port())
    with (
        ServingHttp(tmp_path / "one", *flags, address=ports[0]) as one,
        ServingHttp(tmp_path / "two", *flags, address=ports[1]) as two,
    ):
        yield one, two


@pytest.fixture(params=PROXIES)
def proxy(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    servers: tuple[ServingHttp, ServingHttp],
    port: str,
) -> Iterator[str]:
    """Start a proxy before the servers. Gives its address."""
    name = str(request.param)
    one, two = (str(server.port) for server in servers)
    (tmp_path / f"{name}.conf").write_text(configuration(name, port, (one, two)))
    (tmp_path / "whole.conf").write_text(NGINX.format(folder=tmp_path))
    program = proxy_program(name)
    assert program
    words = [program, *(word.format(folder=tmp_path) for word in PROXIES[name])]
    with (tmp_path / "proxy.log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        until(lambda: process.poll() is not None or listens(port), "the proxy listens")
        assert process.poll() is None, (tmp_path / "proxy.log").read_text()
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(PATIENCE)


def test_a_client_behind_a_proxy_keeps_its_session_when_the_server_that_owns_it_is_killed(
    proxy: str, servers: tuple[ServingHttp, ServingHttp], desk: Inbox
) -> None:
    """The other one goes on with it."""

    async def play() -> None:
        with anyio.fail_after(2 * PATIENCE):
            async with Client(proxy, mode="legacy") as client:
                for turn in range(3):
                    assert f"sunny {turn}" in await asked(client, desk, f"sunny {turn}")
                name, pid = running(desk).name, running(desk).pid
                owner = next(one for one in servers if one.process.pid == pid)
                owner.kill()
                assert "after" in await asked(client, desk, "after")
                assert (running(desk).name, running(desk).pid != pid) == (name, True)

    anyio.run(play)


def test_each_request_reaches_the_server_that_owns_its_session(
    proxy: str, servers: tuple[ServingHttp, ServingHttp], desk: Inbox
) -> None:
    """Sessions of several clients are on both servers; a request without an id goes by its key."""
    port = int(proxy.split(":")[2].partition("/")[0])
    for client in range(8):
        key = {"Authorization": f"Bearer {client}"}
        begun = ask(port, initialize("2025-11-25"), key)
        assert begun.status == 200, begun
        session = {"Mcp-Session-Id": begun.headers["mcp-session-id"], **VERSION}
        for turn in range(3):
            got = ask(port, f'{{"jsonrpc":"2.0","id":{turn},"method":"ping"}}', session)
            assert (got.status, got.json["id"]) == (200, turn), got
    assert {one.pid for one in desk.sessions()} == {one.process.pid for one in servers}
