"""Real clients and real servers with a tap between them: nobody notices it."""

import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters

from humanmcp.export.recording import build_conversation, find_recording
from humanmcp.inbox.contract import Reply, Role, TakenError
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm
from tests.clients.hosts import (
    CLIENT_2_AUTO,
    CLIENT_2_LEGACY,
    CLIENT_2_PIN,
    NODE,
    PYTHON_AUTO,
    PYTHON_LEGACY,
    SDK_1,
    Host,
)
from tests.extensions.tap.tap_process import COMMAND
from tests.support.serve_process import bare_environment
from tests.support.waiting import EVERY, PATIENCE

HERE: Final = Path(__file__).parents[2]
EVERYTHING: Final = NODE / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"

PYTHON_SERVER: Final = (sys.executable, str(HERE / "extensions" / "host" / "sdk_greeter.py"))
NPM_1_SERVER: Final = ("node", str(NODE / "server1.mjs"))
NPM_2_SERVER: Final = ("node", str(NODE / "server2.mjs"))
EVERYTHING_SERVER: Final = ("node", str(EVERYTHING), "stdio")

PARTIES: Final = {
    "python": (PYTHON_LEGACY, PYTHON_SERVER),
    "python to npm-2": (PYTHON_AUTO, NPM_2_SERVER),
    "npm-1": (SDK_1, NPM_1_SERVER),
    "npm-2 to python": (CLIENT_2_AUTO, PYTHON_SERVER),
    "npm-2": (CLIENT_2_LEGACY, NPM_2_SERVER),
}
"""Each client and each server, with its own party and with another one."""


def tapped(home: Path, server: Sequence[str], *flags: str) -> list[str]:
    """Return the command of a server with a tap before it."""
    return [*COMMAND, "--home", str(home), *flags, "--", *server]


@pytest.mark.node
@pytest.mark.parametrize(("host", "server"), PARTIES.values(), ids=PARTIES)
def test_a_client_understands_the_same_with_and_without_a_tap(
    tmp_path: Path, host: Host, server: Sequence[str]
) -> None:
    """The tools, the answers, the version; and the whole session stands in the inbox."""
    home = tmp_path / "home"
    plain = host.play_with(server, home)
    assert plain.answers[0] == {"text": "sunny"}
    assert host.play_with(tapped(home, server), home) == plain
    inbox = FolderInbox(home)
    (facts,) = inbox.sessions()
    assert (facts.role, facts.protocol_version) == (
        Role.TAP,
        plain.version or facts.protocol_version,
    )
    conversation = build_conversation(find_recording(facts.name, home))
    assert [call.asked.name for call in conversation.asked_by_client("tools/call")] == [
        "get-japan-forecast"
    ] * 3
    assert all(call.answer for call in conversation.calls)


@pytest.mark.node
def test_a_closed_gate_is_not_noticed_either(tmp_path: Path) -> None:
    """Every line is looked at before it goes on, in both eras."""
    home = tmp_path / "home"
    for host in (PYTHON_LEGACY, CLIENT_2_PIN):
        plain = host.play_with(NPM_2_SERVER, home)
        assert host.play_with(tapped(home, NPM_2_SERVER, "--hold", "tool:no"), home) == plain


async def ask_everything(server: Sequence[str], home: Path) -> dict[str, Any]:
    """Use the server from the registry with the Python SDK's client, in many ways."""
    parameters = StdioServerParameters(
        command=server[0], args=list(server[1:]), env=bare_environment(home.parent)
    )
    steps: list[tuple[float, float | None]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, total))

    said: dict[str, Any] = {}
    with anyio.fail_after(PATIENCE * 2):
        async with Client(parameters, mode="legacy") as client:
            said["tools"] = (await client.list_tools()).model_dump(mode="json")
            said["prompts"] = (await client.list_prompts()).model_dump(mode="json")
            said["echo"] = (
                await client.call_tool("echo", {"message": "東京 \\ud83c"})
            ).model_dump()
            said["image"] = (await client.call_tool("get-tiny-image", {})).model_dump()
            said["long"] = (
                await client.call_tool(
                    "trigger-long-running-operation",
                    {"duration": 0.2, "steps": 2},
                    progress_callback=progress,
                )
            ).model_dump()
    return said | {"progress": steps}


@pytest.mark.node
def test_a_server_from_a_registry_is_used_through_the_tap(tmp_path: Path) -> None:
    """Lists, text, an image, progress: the same objects arrive."""
    home = tmp_path / "home"
    plain = anyio.run(ask_everything, EVERYTHING_SERVER, home)
    assert plain["echo"]["content"][0]["text"].startswith("Echo: 東京")
    assert anyio.run(ask_everything, tapped(home, EVERYTHING_SERVER), home) == plain
    (facts,) = FolderInbox(home).sessions()
    conversation = build_conversation(find_recording(facts.name, home))
    assert conversation.server == "mcp-servers/everything"


async def greet(server: Sequence[str], mode: str) -> str:
    """Call a tool that asks its user something before it answers."""

    async def answer(context: Any, params: Any) -> types.ElicitResult:  # noqa: ANN401 - the SDK's own types, of no interest here
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    parameters = StdioServerParameters(command=server[0], args=list(server[1:]))
    with anyio.fail_after(PATIENCE * 2):
        async with Client(parameters, mode=mode, elicitation_callback=answer) as client:
            result = await client.call_tool("greet", {})
    assert isinstance(result.content[0], types.TextContent)
    return result.content[0].text


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_a_question_in_the_middle_of_a_call_is_told_apart(
    tmp_path: Path, mode: str, version: str
) -> None:
    """A request of the server's before, a repeat with the same state from 2026-07-28 on."""
    home = tmp_path / "home"
    assert anyio.run(greet, tapped(home, PYTHON_SERVER), mode) == "hello Ada"
    (facts,) = FolderInbox(home).sessions()
    conversation = build_conversation(find_recording(facts.name, home))
    assert conversation.version == version
    calls = [call for call in conversation.calls if call.asked.method == "tools/call"]
    asked_back = [call for call in conversation.calls if call.asked.direction is Direction.OUT]
    if mode == "legacy":
        assert [call.asked.method for call in asked_back] == ["elicitation/create"]
        assert len(calls) == 1
    else:
        first, again = calls
        assert asked_back == []
        assert again.asked.continues == first.asked.number
        assert again.asked.request.id != first.asked.request.id


@pytest.mark.node
@pytest.mark.parametrize("host", [PYTHON_AUTO, SDK_1], ids=str)
def test_a_recorded_session_is_played_again_without_its_server(tmp_path: Path, host: Host) -> None:
    """With serve --replay the real client understands the same as from the real server."""
    home = tmp_path / "home"
    plain = host.play_with(tapped(home, NPM_1_SERVER), home)
    (facts,) = FolderInbox(home).sessions()
    replayed = host.play(home, "--replay", facts.name, "--by-hand")
    assert replayed == plain


@pytest.mark.node
def test_a_recorded_session_runs_on_as_an_exported_server(tmp_path: Path) -> None:
    """The exported server answers the real client as the npm server did."""
    home = tmp_path / "home"
    plain = SDK_1.play_with(tapped(home, NPM_1_SERVER), home)
    exported = tmp_path / "server.py"
    (facts,) = FolderInbox(home).sessions()
    words = ("export", facts.name, "--format", "server", "--home", str(home), "-o", str(exported))
    subprocess.run([sys.executable, "-m", "humanmcp", *words], check=True, timeout=PATIENCE)
    again = SDK_1.play_with((sys.executable, str(exported)), home)
    assert (again.tools, again.answers) == (plain.tools, plain.answers)


@pytest.mark.node
@pytest.mark.parametrize("host", [PYTHON_LEGACY, CLIENT_2_PIN], ids=str)
def test_a_person_answers_a_real_client_instead_of_a_real_server(
    tmp_path: Path, host: Host
) -> None:
    """In both eras: plain text becomes the result that this client's version asks for."""
    home = tmp_path / "home"
    with Stepping(home):
        understood = host.play_with(tapped(home, NPM_2_SERVER, "--hold", "in:tools/call"), home)
    assert understood.answers == [{"text": f"answered {number}"} for number in (1, 2, 3)]


class Stepping:
    """Somebody who answers whatever a tap holds, at the inbox as any desk does."""

    def __init__(self, home: Path) -> None:
        """Sit down."""
        self._inbox = FolderInbox(home)
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> None:
        """Begin."""
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        """Leave."""
        self._leave.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._leave.wait(EVERY):
            for facts in self._inbox.sessions():
                for item in self._inbox.items(facts.name):
                    if item.reply is None:
                        reply = Reply(f"answered {item.key.number}", TextForm.TEXT, by="desk")
                        with suppress(TakenError):
                            self._inbox.send(item.key, reply)
