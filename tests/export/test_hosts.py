"""`humanmcp hosts`: how hosts behave, and how one behaved in a session."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Final

import pytest

from humanmcp.cli import main
from humanmcp.export import hosts
from humanmcp.protocol.policy.known_clients import CLIENTS, find

HOME: Final = Path(__file__).parent.parent / "first_edition" / "home"
NONE: Final = "none"


def row(session: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """Measure a recorded session; return its row."""
    assert main(["hosts", "--home", str(HOME), "--measure", session]) == 0
    (found,) = tomllib.loads(capsys.readouterr().out)["host"]
    assert isinstance(found, dict)
    return found


def test_a_call_that_was_given_up_shows_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """The time between the call and its cancellation."""
    assert row("20261121T221454Z", capsys) == {
        "name": "slow-client",
        "client": "slow-client",
        "version": "1.99.2",
        "opens": "handshake",
        "revision": "2025-11-25",
        "capabilities": ["elicitation", "roots.listChanged"],
        "token": "never",
        "call": 5,
        "cancels": True,
    }


def test_a_session_that_began_with_a_probe_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    """And what the client declared in each request."""
    found = row("20261121T221425Z", capsys)
    assert (found["opens"], found["revision"]) == ("probe", "2026-07-28")
    assert found["capabilities"] == ["elicitation.form"]
    assert "call" not in found


def test_a_host_that_is_known_by_its_client_gets_its_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As every other page names it."""
    assert row("20261121T221422Z", capsys)["name"] == "VS Code"


def test_a_row_can_be_added_to_a_file(tmp_path: Path) -> None:
    """The file stays one that can be read."""
    file = tmp_path / "hosts.toml"
    words = ["hosts", "--home", str(HOME), "-o", str(file), "--measure"]
    assert main([*words, "20261121T221454Z"]) == 0
    assert main([*words, "20261121T221425Z"]) == 0
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["host"]
    assert [one["client"] for one in rows] == ["slow-client", "mcp"]


def test_the_table_is_a_row_a_host(capsys: pytest.CaptureFixture[str]) -> None:
    """For people in their language, for machines as JSON."""
    assert main(["hosts", "--lang", "ja"]) == 0
    shown = capsys.readouterr().out
    assert "| Codex | 0.169.0 | initialize | 30 s | 300 s | いつも | いいえ | はい |" in shown
    assert main(["hosts", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == list(hosts.table())


@pytest.mark.parametrize("known", hosts.table(), ids=lambda one: f"{one['name']} {one['version']}")
def test_the_table_agrees_with_what_the_server_knows(known: dict[str, object]) -> None:
    """Of the clients that are known by their name."""
    client = find(str(known.get("client", "")))
    if client is None:
        return
    assert client.label == known["name"]
    assert known["call"] == (NONE if client.call is None else client.call)
    assert client.progress_helps == known.get("progress", False)
    if client.opening is not None:
        assert known["start"] == client.opening


def test_every_client_that_was_measured_is_in_the_table() -> None:
    """A version that is measured anew is written in both."""
    names = {one["name"] for one in hosts.table()}
    measured = {one.label for one in CLIENTS if one.seen and "," not in one.label}
    assert measured <= names
