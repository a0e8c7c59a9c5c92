"""The plugin for opencode, with an opencode that only says and hears what the real one does."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.answering import approvals
from humanmcp.answering.open_exchange import OpenExchange
from humanmcp.extensions.agents.hook_entries import HOOKS, plugin_text
from humanmcp.inbox.contract import Reply
from humanmcp.protocol.conversation.stages import ExchangeState
from tests.extensions.agents.test_hook import COMMAND, Agent, allow, send
from tests.protocol.conversation.test_prompts import WORDS
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.node

OPENCODE: Final = """
import { humanmcp } from "./humanmcp.mjs"
const post = async (sent) => console.log(JSON.stringify(sent))
const plugin = await humanmcp({ client: { _client: { post } }, directory: "/p" })
for await (const line of (await import("node:readline")).createInterface(process.stdin))
  await plugin.event({ event: JSON.parse(line) })
"""
ASKED: Final = {
    "id": "per_1",
    "sessionID": "ses_1",
    "permission": "bash",
    "patterns": ["touch made.txt"],
    "metadata": {"command": "touch made.txt"},
    "always": ["touch *"],
}
"""What opencode 1.18.33 was seen to say."""


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """Return an agent with an inbox of its own."""
    return Agent(tmp_path / "inbox")


@contextmanager
def opencode(agent: Agent, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start an opencode with our plugin, which asks for a command."""
    words = [*(command or COMMAND), "--host", "opencode", "--home", str(agent.home)]
    folder = agent.home.parent
    (folder / "humanmcp.mjs").write_text(plugin_text(HOOKS["opencode"], words), "utf-8")
    (folder / "opencode.mjs").write_text(OPENCODE, "utf-8")
    with subprocess.Popen(
        ["node", str(folder / "opencode.mjs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        say(process, "permission.asked", ASKED)
        yield process
        process.kill()


def say(process: subprocess.Popen[bytes], event: str, properties: object) -> None:
    """Tell the plugin of an event."""
    assert process.stdin is not None
    process.stdin.write(json.dumps({"type": event, "properties": properties}).encode() + b"\n")
    process.stdin.flush()


def deny(opened: OpenExchange) -> Reply:
    """Return the reply of the key D."""
    return approvals.deny(opened, WORDS)


@pytest.mark.parametrize(
    ("decide", "body"),
    [(allow, {"reply": "once"}), (deny, {"reply": "reject", "message": WORDS})],
)
def test_a_decision_is_the_reply(agent: Agent, decide: Any, body: dict[str, str]) -> None:  # noqa: ANN401 - two functions
    """The person sees the command and its patterns, and the model reads the words of a denial."""
    with opencode(agent) as process:
        opened = agent.card()
        assert opened.asked is not None
        assert json.loads(opened.asked.text) == {
            "command": "touch made.txt",
            "patterns": ["touch made.txt"],
        }
        assert (opened.facts.client, opened.facts.folder) == ("opencode", "/p")
        assert opened.asked.is_fixed
        send(opened, decide(opened))
        assert process.stdout is not None
        sent = json.loads(process.stdout.readline())
        assert (sent["path"], sent["body"]) == ({"requestID": "per_1"}, body)


def test_a_card_goes_when_its_dialog_is_answered(agent: Agent) -> None:
    """Nothing is replied then, nor where the hook says nothing."""
    with opencode(agent) as process:
        opened = agent.card()
        say(process, "permission.replied", {"requestID": "per_1", "reply": "once"})
        until(lambda: not agent.inbox.item(opened.key).waits, "the card goes")
        assert agent.inbox.item(opened.key).state is ExchangeState.ABANDONED
        say(process, "permission.asked", {**ASKED, "id": "per_2"})
        until(agent.waiting, "another card")
        opened = agent.card()
        send(opened, approvals.hand_back(opened))
        assert process.stdin is not None
        process.stdin.close()
        assert process.stdout is not None
        assert process.stdout.read() == b""
        assert process.wait(PATIENCE) == 0


def test_without_humanmcp_its_dialog_alone_asks(agent: Agent) -> None:
    """The plugin says nothing, and opencode goes on."""
    for command in ("/nowhere/humanmcp", sys.executable):
        with opencode(agent, command) as process:
            assert process.stdin is not None
            process.stdin.close()
            assert process.stdout is not None
            assert process.stdout.read() == b""
            assert process.wait(PATIENCE) == 0
