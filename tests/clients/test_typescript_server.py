"""A server of the official TypeScript SDK over HTTP, opposite our client and our tap."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.hosts import NODE
from tests.extensions.tap.tap_process import Tapped
from tests.support.serve_http import initialize
from tests.support.serve_process import bare_environment

pytestmark = pytest.mark.node
CLIENT = (sys.executable, "-m", "humanmcp", "client", "--json")
CALL = {"name": "weather", "arguments": {"city": "東京"}}


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """Start the server."""
    server = subprocess.Popen(
        ["node", str(NODE / "http_server.mjs")],
        stdout=subprocess.PIPE,
        text=True,
        env=bare_environment(tmp_path),
    )
    assert server.stdout is not None
    yield server.stdout.readline().strip()
    server.terminate()
    server.wait()
    server.stdout.close()


def test_our_client_and_our_tap_speak_with_a_server_of_the_typescript_sdk(
    url: str, tmp_path: Path
) -> None:
    """A whole session each; what the server forgot is begun anew before a pipe."""
    called = subprocess.run(
        [*CLIENT, url, "--home", str(tmp_path / "client"), *("--call", "weather", "city=東京")],
        capture_output=True,
        env=bare_environment(tmp_path),
        check=False,
    )
    assert called.returncode == 0, called.stderr
    assert json.loads(called.stdout)["content"] == [{"type": "text", "text": "sunny in 東京"}]
    with Tapped(tmp_path / "home", ("--", url)) as tapped:
        tapped.say(f"{initialize('2025-11-25')}\n".encode())
        assert json.loads(tapped.hear())["result"]["serverInfo"]["name"] == "typescript"
        tapped.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        for number in (2, 3):
            call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": CALL}
            tapped.say(f"{json.dumps(call)}\n".encode())
            answer = json.loads(tapped.hear())
            assert (answer["id"], answer["result"]["content"][0]["text"]) == (
                number,
                "sunny in 東京",
            )
            urllib.request.urlopen(url.replace("/mcp", "/forget")).close()
        tapped.close()
