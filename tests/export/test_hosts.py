"""`humanmcp hosts`: how hosts behave."""

import json
from typing import Final

import pytest

from humanmcp.cli import main
from humanmcp.export import hosts
from humanmcp.protocol.conversation.timeouts import CLIENTS, find_client

NONE: Final = "none"


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
    client = find_client(str(known.get("client", "")))
    if client is None:
        return
    assert client.label == known["name"]
    assert known["call"] == (NONE if client.call is None else client.call)
    assert client.progress_helps == known.get("progress", False)
    if client.handshake is not None:
        assert known["start"] == client.handshake


def test_every_client_that_was_measured_is_in_the_table() -> None:
    """A version that is measured anew is written in both."""
    names = {one["name"] for one in hosts.table()}
    measured = {one.label for one in CLIENTS if one.seen and "," not in one.label}
    assert measured <= names
