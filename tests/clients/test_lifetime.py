"""What a host may do with the process: ids of every kind, giving up, going away."""

from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters

from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from tests.support.person import Person, weather
from tests.support.serve_process import COMMAND, Serving, bare_environment
from tests.support.waiting import until


@pytest.mark.parametrize(
    "token",
    [
        "0",
        "-7",
        "9007199254740993",
        '""',
        '"7"',
        '"00000000-0000-4000-8000-000000000002"',
        '"\\u6771\\u4eac"',
        '"東京"',
    ],
)
def test_every_id_comes_back_byte_for_byte(token: str, tmp_path: Path) -> None:
    """0, negative, beyond 2^53, empty, text, escaped and not."""
    with Serving(tmp_path / "home", "--by-hand") as serving:
        serving.say(f'{{"jsonrpc":"2.0","id":{token},"method":"ping"}}')
        serving.type(f'{{"jsonrpc": "2.0", "id": {token}, "result": {{}}}}')
        assert serving.hear() == f'{{"jsonrpc":"2.0","id":{token},"result":{{}}}}'


def test_a_call_that_the_client_gave_up_is_closed_for_the_person(tmp_path: Path) -> None:
    """The client says cancelled, and the item waits no more."""
    home = tmp_path / "home"

    def slow(request: dict[str, object]) -> str | None:
        return None if request["method"] == "tools/call" else weather(request)

    with Person(home, slow):
        anyio.run(_call_without_patience, home)
    inbox = FolderInbox(home)
    (name,) = (facts.name for facts in inbox.sessions())
    (call,) = inbox.items(name, ExchangeState.CANCELLED)
    assert call.method == "tools/call"
    assert call.answer is None


async def _call_without_patience(home: Path) -> None:
    server = [*COMMAND, "--home", str(home), "--by-hand"]
    parameters = StdioServerParameters(
        command=server[0], args=server[1:], env=bare_environment(home.parent)
    )
    async with Client(parameters, mode="legacy") as client:
        with pytest.raises(MCPError):
            await client.call_tool(
                "get-japan-forecast", {"location": "東京"}, read_timeout_seconds=0.2
            )
        inbox = FolderInbox(home)
        (name,) = (facts.name for facts in inbox.sessions())
        await anyio.to_thread.run_sync(
            lambda: until(lambda: inbox.items(name, ExchangeState.CANCELLED), "the call cancelled")
        )
