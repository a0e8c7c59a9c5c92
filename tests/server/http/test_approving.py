"""Permission prompts over HTTP: what is allowed for a session is allowed to its one client."""

import json
from pathlib import Path

import pytest

from humanmcp.answering import approvals
from humanmcp.answering.approvals import ApprovalError
from humanmcp.answering.open_exchange import OpenExchange, open_exchange_of
from humanmcp.inbox.contract import Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.approvals import patterns_for
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import as_json
from tests.support.ports import own_port
from tests.support.serve_http import ServingHttp, modern
from tests.support.waiting import until

PROMPT = {"tool_name": "Bash", "input": {"command": "git status"}}


def _asked(inbox: FolderInbox, count: int) -> list[OpenExchange]:
    """Wait until so many prompts are in the inbox."""

    def found() -> list[OpenExchange]:
        items = [item for facts in inbox.sessions() for item in inbox.items(facts.name)]
        asked = [open_exchange_of(inbox, item.key) for item in items if item.waits]
        return asked if len(asked) == count else []

    return until(found, f"{count} prompts")


def test_clients_that_call_themselves_the_same_are_each_asked_for(tmp_path: Path) -> None:
    """Without a session id nobody knows which of them calls: no pattern is offered, or followed."""
    home = tmp_path / "inbox"
    inbox = FolderInbox(home)
    with ServingHttp(home, "--handshake", "book", "--approvals") as server:
        body, headers = modern("tools/call", 1, name="approve", arguments=PROMPT)
        server.open({**headers, "Mcp-Name": "approve"}, body)
        (first,) = _asked(inbox, 1)
        assert first.approval is not None
        (same, begins) = patterns_for(first.approval)
        assert approvals.patterns_of(first) == ()
        for pattern in (same, begins):
            with pytest.raises(ApprovalError):
                approvals.allow_like(first, pattern)
        inbox.hold(first.key.session, [str(same), str(begins)])
        body, headers = modern("tools/call", 2, name="approve", arguments=PROMPT)
        server.open({**headers, "Mcp-Name": "approve"}, body)
        assert {one.key.session for one in _asked(inbox, 2)} == {first.key.session}


def test_a_client_with_a_session_id_may_be_allowed_the_same_again(tmp_path: Path) -> None:
    """Only it knows the id."""
    home = tmp_path / "inbox"
    inbox = FolderInbox(home)
    with ServingHttp(home, "--handshake", "book", "--approvals") as server:
        headers = server.initialize()

        def ask(number: int) -> str:
            params = {"name": "approve", "arguments": PROMPT}
            return json.dumps(
                {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            )

        server.ask(body='{"jsonrpc":"2.0","id":9,"method":"tools/list"}', headers=headers)
        server.open(headers, ask(10))
        (first,) = _asked(inbox, 1)
        (same, _begins) = approvals.patterns_of(first)
        approvals.allow_like(first, same)
        other = server.initialize()
        server.ask(body='{"jsonrpc":"2.0","id":9,"method":"tools/list"}', headers=other)
        server.open(other, ask(10))
        assert len({one.key.session for one in _asked(inbox, 2)}) == 2
        decided = server.ask(body=ask(11), headers=headers).json
        assert json.loads(decided["result"]["content"][0]["text"])["behavior"] == "allow"


def test_a_press_for_a_prompt_of_a_killed_server_allows_no_later_call(tmp_path: Path) -> None:
    """2026-07-28: the same request may be another call, so a person decides again."""
    home = tmp_path / "inbox"
    inbox, port, flags = FolderInbox(home), own_port(), ("--handshake", "book", "--approvals")
    with ServingHttp(home, *flags, address=port) as server:
        one = modern("tools/call", 1, name="approve", arguments=PROMPT)
        server.open(one.headers, one.body)
        (first,) = _asked(inbox, 1)
        server.kill()
    pressed = as_json({"behavior": "allow", "updatedInput": PROMPT["input"]})
    inbox.send(first.key, Reply(pressed, TextForm.TEXT))
    with ServingHttp(home, *flags, address=port) as server:
        two = modern("tools/call", 2, name="approve", arguments=PROMPT)
        server.open(two.headers, two.body)
        (second,) = _asked(inbox, 1)
        assert second.key != first.key
        assert inbox.item(first.key).state is ExchangeState.CANCELLED
        frames = [*inbox.frames(first.key.session)]
        assert not any(one.direction is Direction.OUT for one in frames)
