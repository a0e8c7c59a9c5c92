"""The server against our client and against the SDK's: the same transcript."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from humanmcp.common.child import ChildCommand, ChildTransport
from humanmcp.extensions.host.client.callbacks import Nobody
from humanmcp.extensions.host.client.client import Client
from humanmcp.extensions.host.client.handshake import SessionStart
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import Direction
from tests.support.person import Person

PLACES: Final = ("東京", "大阪", "北海道")


def words(home: Path) -> tuple[str, ...]:
    """Return the command of the server."""
    return (sys.executable, "-m", "humanmcp", "serve", "--by-hand", "--home", str(home))


def transcript(home: Path) -> list[tuple[str, Any]]:
    """Return what went over the wire, without what differs between two honest clients.

    A client chooses its ids, its name and what it declares of itself.
    """
    inbox = FolderInbox(home)
    (facts,) = inbox.sessions()
    found: list[tuple[str, Any]] = []
    for frame in inbox.frames(facts.name):
        if frame.direction not in (Direction.IN, Direction.OUT):
            continue
        message = json.loads(frame.raw)
        message.pop("id", None)
        if message.get("method") == "initialize":
            message["params"] = {}
        if message.get("params", {}).get("_meta") is not None:
            del message["params"]["_meta"]
        if not message.get("params"):
            message.pop("params", None)
        found.append((frame.direction.value, message))
    return found


def ours(home: Path) -> None:
    """Have the weather session with our client."""
    client = Client(ChildTransport(ChildCommand(words(home))), Nobody())
    try:
        client.open(SessionStart.HANDSHAKE)
        client.call("tools/list")
        for place in PLACES:
            call = {"name": "get-japan-forecast", "arguments": {"location": place}}
            client.call("tools/call", call)
    finally:
        client.close()


async def theirs(home: Path) -> None:
    """Have the weather session with the client of the official SDK."""
    command, *arguments = words(home)
    server = StdioServerParameters(command=command, args=arguments)
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await session.list_tools()
        for place in PLACES:
            try:
                await session.call_tool("get-japan-forecast", {"location": place})
            except MCPError as error:
                assert place != "東京", error  # noqa: PT017 - the other two are refused by the person


def test_a_person_sees_no_difference_between_our_client_and_an_sdk(tmp_path: Path) -> None:
    """One person, two clients, one transcript."""
    with Person(tmp_path):
        ours(tmp_path / "ours")
        asyncio.run(theirs(tmp_path / "theirs"))
    assert transcript(tmp_path / "ours") == transcript(tmp_path / "theirs")
    assert len(transcript(tmp_path / "ours")) == 11


@pytest.mark.parametrize("session_start", [SessionStart.MODERN, SessionStart.PROBE])
def test_our_client_and_our_server_speak_the_modern_era_too(
    tmp_path: Path, session_start: SessionStart
) -> None:
    """2026-07-28: the weather session without a handshake, answered by the same person."""
    with Person(tmp_path):
        client = Client(ChildTransport(ChildCommand(words(tmp_path / "home"))), Nobody())
        try:
            client.open(session_start)
            assert client.stated == "2026-07-28"
            listed = client.call("tools/list")
            assert (listed.result or {})["tools"][0]["name"] == "get-japan-forecast"
            answers = [
                client.call("tools/call", {"name": "x", "arguments": {"location": place}})
                for place in PLACES
            ]
        finally:
            client.close()
    assert (answers[0].result or {})["content"][0]["text"] == "sunny"
    assert [one.error for one in answers[1:]] == [
        (-32602, "遠い。自分で調べて"),
        (-32602, "東京の天気以外知りません。自分でググって"),
    ]
