"""`humanmcp diff FILE --server COMMAND` asks a server again, and can write its recording anew."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from humanmcp.cli import main
from humanmcp.extensions.testing.plugin import MockServer, humanmcp_server
from tests.support.recordings import HANDSHAKE, answer, ask, recording, text, write

__all__ = ["humanmcp_server"]

BOOK = '[[rules]]\ntool = "t"\ntext = "it is {day}: %s"\n'
KEY = "first-key-1"


@pytest.fixture
def server(humanmcp_server: Callable[..., MockServer]) -> MockServer:
    """A server that answers otherwise than it was recorded."""
    return humanmcp_server(BOOK % "sunny")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A recording of a call with a key, of which the key was removed."""
    calls = (
        ask(2, "tools/call", name="t", arguments={"day": 1, "apiKey": KEY}),
        answer(2, result=text("it is 1: rain")),
    )
    raw = write(tmp_path / "raw.jsonl", recording(*HANDSHAKE, *calls))
    file = tmp_path / "weather.jsonl"
    words = ("--format", "jsonl", "--output", str(file))
    assert main(["export", str(raw), "--home", str(tmp_path / "home"), *words]) == 0
    return file


@pytest.mark.parametrize("way", ["command", "URL"])
def test_a_server_is_compared_with_its_recording(
    server: MockServer,
    recorded: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    """The removed key comes from the environment; what is ignored is no difference."""
    monkeypatch.setenv("MCP_SECRET_API_KEY", "other-key")
    target = [server.address] if way == "URL" else ["--server", " ".join(server.command)]
    before = recorded.read_bytes()
    words = ["diff", str(recorded), *target, "--lang", "en"]
    ignored = ["--ignore", "serverInfo", "--ignore", "instructions", "--ignore", "capabilities"]
    assert main([*words, *ignored]) == 1
    told = capsys.readouterr().out
    assert "! tools/call t (client): different answer (dangerous)" in told
    assert "it is 1: sunny" in told
    assert main([*words, *ignored, "--fail-on", "breaking"]) == 0
    assert main([*words, *ignored, "--ignore", "$.result.content[*].text"]) == 0
    assert recorded.read_bytes() == before
    assert server.calls("tools/call")[0].arguments["apiKey"] == "other-key"
    assert main([*words, "--update"]) == 0
    assert b"it is 1: sunny" in recorded.read_bytes()
    assert b"other-key" not in recorded.read_bytes()
    capsys.readouterr()
    assert main(words) == 0
    assert "no differences" in capsys.readouterr().out


def test_a_server_that_does_not_answer_leaves_its_recording(
    recorded: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So does a secret that is not there."""
    before = recorded.read_bytes()
    monkeypatch.setenv("MCP_SECRET_API_KEY", "x")
    gone = f"{sys.executable} -c pass"
    for command, why in ((gone, "initialize|has ended"), ("nowhere", "nowhere")):
        words = ["diff", str(recorded), "--server", command, "--update", "--lang", "en"]
        assert main(words) == 2
        assert re.search(why, capsys.readouterr().err)  # it may end before it is asked
    assert recorded.read_bytes() == before


def test_a_removed_secret_that_is_not_there_is_named(
    server: MockServer, recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["diff", str(recorded), "--server", " ".join(server.command), "--lang", "en"]
    assert main(words) == 2
    assert "MCP_SECRET_API_KEY" in capsys.readouterr().err
