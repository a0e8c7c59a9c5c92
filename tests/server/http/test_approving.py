"""Permission prompts over HTTP: what is allowed for a session is allowed to its one client."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from humanmcp.answering import approvals
from humanmcp.answering.approvals import ApprovalError
from humanmcp.answering.open_exchange import OpenExchange, open_exchange_of
from humanmcp.answering.standing import Standing, standing_of
from humanmcp.common.book_file import BookFile
from humanmcp.inbox.contract import HttpFacts, Life, Reply, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.answer_book.decide import HandshakePolicy
from humanmcp.protocol.conversation.allow_patterns import patterns_for
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.server.memory_connection import MemoryConnection
from humanmcp.server.serve import ServerParts
from humanmcp.server.waiting import ServeOptions
from tests.support.ports import own_port
from tests.support.serve_http import INITIALIZED, ServingHttp, initialize, modern
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


class _Kept(MemoryConnection):
    """Its client does not say that it got a line."""

    def receipts(self) -> Iterator[tuple[int, bool]]:
        """Yield none."""
        return iter(())


@pytest.mark.parametrize(
    ("text", "standing"),
    [
        ('{"behavior": "deny", "message": "no"}', Standing.DENIED),
        ('{"behavior": "allow", "updatedInput": {"command": "git status"}}', Standing.ALLOW_UNTOLD),
        ('{"behavior": "allow", "updatedInput": {"command": "ls"}}', Standing.ALLOW_UNTOLD),
    ],
)
def test_a_decision_stays_one_when_its_server_was_killed(
    tmp_path: Path, text: str, standing: Standing
) -> None:
    """The next process reads from the transcript what was decided, and the desk still says so."""
    inbox, desk = FolderInbox(tmp_path), FolderInbox(tmp_path)
    book = BookFile(tmp_path / "book.toml", approvals=True)
    parts = ServerParts(tmp_path, book, ServeOptions(handshake=HandshakePolicy.BOOK))
    facts = SessionFacts("", "", http=HttpFacts("id", "1"))
    connection = _Kept()
    server = parts.session(connection, inbox, lambda _one: None, facts)
    name = server.journal.name
    server.begin_steps(lambda: None)
    params = {"name": "approve", "arguments": PROMPT}
    asked = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}
    listing = '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
    for line in (initialize("2025-11-25"), INITIALIZED, listing, json.dumps(asked)):
        connection.say(line.encode())
        server.step(time.monotonic())
    item = until(lambda: next(iter(desk.items(name)), None), "the prompt waits")
    desk.send(item.key, Reply(text, TextForm.TEXT, by="desk"))

    def is_recorded() -> bool:
        server.step(time.monotonic())
        return any(
            frame.number == item.key.number and frame.decision for frame in desk.frames(name)
        )

    until(is_recorded, "the answer is in the transcript")
    inbox._own[name].lock.release()  # as the system does for a process that died
    following = FolderInbox(tmp_path)
    (facts,) = following.orphaned_sessions("1")
    came_again = MemoryConnection()
    after = parts.session(came_again, following, lambda _one: None, facts)
    after.begin_steps(lambda: None)
    came_again._receipts.put(item.key.number)  # its client has come again, and got it
    after.step(time.monotonic())
    after.leave(to_others=True)
    assert standing_of(desk.item(item.key), Life.OPEN) is standing
