"""What was written to the same request before its host ended is offered again."""

from pathlib import Path

import pytest

from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.desk.board import Board
from humanmcp.desk.history.search import earlier_draft
from humanmcp.inbox.contract import Draft, Item, Key, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm

AT = "2026-11-20T18:00:00.000Z"


def ask(inbox: FolderInbox, id_: int, city: str) -> Item:
    """Put a call before a person, in a session of its own."""
    name = inbox.begin_session(SessionFacts("", AT, client="host"))
    params = f'{{"name":"sky","arguments":{{"city":"{city}"}},"_meta":{{"progressToken":{id_}}}}}'
    line = f'{{"jsonrpc":"2.0","id":{id_},"method":"tools/call","params":{params}}}'
    inbox.deliver(Item(Key(name, 1), line, "tools/call", str(id_), "2025-11-25", arrived=AT))
    return inbox.item(Key(name, 1))


def found(inbox: FolderInbox, item: Item) -> str:
    """Return what a desk offers."""
    board = Board(inbox)
    board.refresh_all()
    return earlier_draft(board, open_exchange_of(inbox, item.key))


@pytest.mark.parametrize(
    ("draft", "offered"),
    [
        (Draft("sunny", TextForm.TEXT, touched=True), '"text": "sunny"'),
        (Draft('{"jsonrpc":"2.0","id":1,"result":{}}', touched=True), '"id":2'),
        (Draft('{"id":1, "result": {"content"', touched=True), '"result": {"content"'),
    ],
    ids=["text", "a message", "broken JSON"],
)
def test_a_host_that_comes_again_finds_the_draft_of_the_first(
    tmp_path: Path, draft: Draft, offered: str
) -> None:
    """The same request under another id; what was only a template is no draft."""
    inbox = FolderInbox(tmp_path / "home")
    first = ask(inbox, 1, "Tokyo")
    inbox.save(first.key, draft)
    second = ask(inbox, 2, "Tokyo")
    assert not found(inbox, second)  # the first still runs
    inbox.end(first.key.session)
    assert offered in found(inbox, second)
    assert not found(inbox, ask(inbox, 3, "Kyoto"))
