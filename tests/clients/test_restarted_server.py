"""Real servers that are restarted in the middle of a session, and real clients that stay."""

import contextlib
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from humanmcp.extensions.host.client.callbacks import Nobody
from humanmcp.extensions.host.client.client import Client
from humanmcp.extensions.host.client.handshake import SessionStart
from humanmcp.http.server_address import ServerAddress
from humanmcp.http.transport import HttpTransport
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import BY_CHECK
from humanmcp.protocol.json import jsonrpc
from tests.clients.hosts import NODE
from tests.extensions.tap.tap_process import COMMAND, Tapped
from tests.http.test_transport import HttpNotes
from tests.support.ports import own_port
from tests.support.serve_http import answers_whole
from tests.support.serve_process import bare_environment
from tests.support.waiting import PATIENCE, until
from tools.install import sdk_1

SDK_1: Final = """
import sys
from mcp.server.fastmcp import FastMCP

server = FastMCP("sdk1", port=int(sys.argv[1]))
server.tool(name="rain")(lambda: "no")
server.run(transport="streamable-http")
"""
SDK_2: Final = """
import sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("sdk2")
server.tool(name="rain")(lambda: "no")
server.run(transport="streamable-http", port=int(sys.argv[1]))
"""


class Restarted:
    """A server of a Python SDK at an address that stays the same."""

    def __init__(self, python: str, program: str, folder: Path) -> None:
        """Start it."""
        self.port = own_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self._words = (python, "-c", program, str(self.port))
        self._folder = folder
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._words,
            env=bare_environment(self._folder),
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(lambda: answers_whole(self.port), "the server", within=3 * PATIENCE)

    def restart(self) -> None:
        """Kill it, and start it again: it knows none of its sessions any more."""
        self.end()
        self._start()

    def end(self) -> None:
        """Kill it."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


@pytest.fixture(params=["1.x", "2.x"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Restarted]:
    """A server of the Python SDK, in both editions."""
    python = Path(sys.executable) if request.param == "2.x" else sdk_1()
    if python is None:
        pytest.skip("the Python SDK 1.x is not installed: make node")
    running = Restarted(str(python), SDK_2 if request.param == "2.x" else SDK_1, tmp_path)
    yield running
    running.end()


def test_our_client_begins_a_new_session_and_repeats_the_request(server: Restarted) -> None:
    """The SDK 1.x answers 404 with `"id": "server-error"`, the 2.x with null."""
    notes = HttpNotes()
    client = Client(
        HttpTransport(ServerAddress(server.url)), Nobody(), observers=[notes], timeout=PATIENCE
    )
    try:
        client.open(SessionStart.HANDSHAKE)
        before = client.request("tools/list").result
        server.restart()
        assert client.request("tools/list").result == before
    finally:
        client.close()
    assert "does not have this session (404)" in notes.refused[0]


def test_a_tap_begins_a_new_session_and_its_client_notices_nothing(
    server: Restarted, tmp_path: Path
) -> None:
    """The client has a pipe, and reads one answer to each request."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }

    def asked(number: int, method: str, params: object) -> bytes:
        said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        return json.dumps(said).encode() + b"\n"

    with Tapped(tmp_path / "home", ("--", server.url)) as tapped:
        tapped.say(asked(1, "initialize", hello))
        assert json.loads(tapped.hear())["id"] == 1
        tapped.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        found = []
        for number in (2, 3):
            tapped.say(asked(number, "tools/list", {}))
            found.append(json.loads(tapped.hear()))
            server.restart()
        _, rest, errors = tapped.close()
    assert [one["id"] for one in found] == [2, 3]
    assert found[0]["result"] == found[1]["result"]
    assert rest == b""
    assert b"started a new one" in errors


@pytest.mark.node
@pytest.mark.parametrize("sdk", ["1", "2"])
def test_a_real_client_goes_on_through_a_tap_at_an_address(
    server: Restarted, sdk: str, tmp_path: Path
) -> None:
    """A TypeScript client that calls the server itself is told "Session not found"."""
    words = (*COMMAND, "--home", str(tmp_path / "home"), "--http", "127.0.0.1:0", server.url)
    with running(words, tmp_path) as tap:
        assert tap.stderr is not None
        _, url = re.findall(r"http://\S+?/mcp", tap.stderr.readline().decode())
        script = ("node", str(NODE / "restart.mjs"), sdk, url)
        with running(script, tmp_path) as client:
            assert client.stdout is not None
            assert client.stdin is not None
            assert client.stdout.readline() == b"rain\n"
            server.restart()
            client.stdin.write(b"\n")
            client.stdin.flush()
            assert client.stdout.readline() == b"rain\n"


@contextlib.contextmanager
def running(words: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program with three pipes, and end it."""
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=bare_environment(folder),
        cwd=folder,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


TEXT_IDS: Final = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {"tools": [{"name": "rain", "inputSchema": {"type": "object"}}]}
    if asked["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        result["serverInfo"] = {"name": "text", "version": "1"}
    said = {"jsonrpc": "2.0", "id": str(asked["id"]), "result": result}
    print(json.dumps(said), flush=True)
"""
"""A server that writes each id as a text, which the SDKs of TypeScript and Python convert."""


@pytest.mark.node
@pytest.mark.parametrize("sdk", ["1", "2"])
def test_an_id_of_another_type_is_taken_as_real_clients_take_it(sdk: str, tmp_path: Path) -> None:
    """Through a tap at an address as well; the record says what is wrong, and misses no answer."""
    home = tmp_path / "home"
    at = ("--http", "127.0.0.1:0", "--", sys.executable, "-c", TEXT_IDS)
    with running((*COMMAND[:-1], "--home", str(home), *at), tmp_path) as tap:
        assert tap.stderr is not None
        (url,) = re.findall(r"http://\S+?/mcp", tap.stderr.readline().decode())
        with running(("node", str(NODE / "restart.mjs"), sdk, url), tmp_path) as client:
            out, _ = client.communicate(b"\n", timeout=PATIENCE)
        tap.terminate()
        told = tap.stderr.read().decode()
    inbox = FolderInbox(home)
    (facts,) = inbox.sessions()
    told_of = (jsonrpc.object_in(one.raw) for one in inbox.frames(facts.name) if one.by == BY_CHECK)
    assert out == b"rain\nrain\n"
    assert "Requests without a response" not in told
    assert {one["code"] for one in told_of if one} == {"R04"}


LISTS_1: Final = """
import sys, anyio
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

async def main(url, mode):
    async with streamablehttp_client(url) as (read, write, _), ClientSession(read, write) as client:
        await client.initialize()
        while True:
            print(*(one.name for one in (await client.list_tools()).tools), flush=True)
            await anyio.to_thread.run_sync(sys.stdin.readline)

anyio.run(main, *sys.argv[1:])
"""
LISTS_2: Final = """
import sys, anyio
from mcp import Client

async def main(url, mode):
    async with Client(url, mode=mode) as client:
        while True:
            print(*(one.name for one in (await client.list_tools()).tools), flush=True)
            await anyio.to_thread.run_sync(sys.stdin.readline)

anyio.run(main, *sys.argv[1:])
"""
"""Clients of the Python SDK: they list the tools, wait for a line, and list them again."""
RAIN: Final = TEXT_IDS.replace('str(asked["id"])', 'asked["id"]')


@pytest.mark.parametrize("client", ["1.x", "2.x legacy", "2.x auto"])
def test_a_python_client_goes_on_when_the_tap_at_its_address_was_killed(
    client: str, tmp_path: Path
) -> None:
    """It is told 404 by any other server, and gives up: the SDK begins no new session."""
    edition, _, mode = client.partition(" ")
    python = Path(sys.executable) if edition == "2.x" else sdk_1()
    if python is None:
        pytest.skip("the Python SDK 1.x is not installed: make node")
    port = own_port()
    at = (f"127.0.0.1:{port}", "--", sys.executable, "-c", RAIN)
    tap = (*COMMAND[:-1], "--home", str(tmp_path / "home"), "--http", *at)
    script = LISTS_2 if edition == "2.x" else LISTS_1
    words = (str(python), "-c", script, f"http://127.0.0.1:{port}/mcp", mode or "-")
    with contextlib.ExitStack() as taps:
        front = taps.enter_context(running(tap, tmp_path))
        assert front.stderr is not None
        front.stderr.readline()
        playing = taps.enter_context(running(words, tmp_path))
        assert playing.stdin is not None
        assert playing.stdout is not None
        assert playing.stdout.readline() == b"rain\n"
        for _ in range(2):
            front.kill()
            front.wait(PATIENCE)
            front = taps.enter_context(running(tap, tmp_path))
            assert front.stderr is not None
            front.stderr.readline()
            for _ in range(2):
                playing.stdin.write(b"\n")
                playing.stdin.flush()
                assert playing.stdout.readline() == b"rain\n"
