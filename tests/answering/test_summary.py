"""A message in a few words, the same in every list."""

import json

import pytest

from humanmcp.answering import summary
from humanmcp.answering.summary import GIST, Summary, summary_of
from humanmcp.export.recording import Recording, build_conversation
from humanmcp.inbox.contract import Item, Key
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.terminal.inbox import request_in_short


def line(method: str, params: dict[str, object]) -> str:
    """Write a request."""
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})


CALL = line("tools/call", {"name": "dice", "arguments": {"sides": 6, "city": "東京"}})
ASK = line("tools/call", {"name": "ask", "arguments": {"question": "**Tea** or `milk`?"}})
READ = line("resources/read", {"uri": "file:///a"})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (CALL, Summary("dice", 'sides: 6, city: "東京"')),
        (ASK, Summary("ask", "Tea or milk?")),
        (READ, Summary("", "file:///a")),
    ],
)
def test_a_row_says_the_same_in_page_terminal_and_exports(text: str, wanted: Summary) -> None:
    """Redesign, section 2: three lists had three forms of it."""
    message = read(text.encode())
    assert isinstance(message, Message)
    assert summary_of(message) == wanted
    item = Item(Key("s", 1), text, message.method, "7", "2025-11-25", "2026-11-20T18:49:07.123Z")
    row = summary.row(item, summary.badge(0))
    assert (row.name, row.gist) == wanted
    words = (message.method, *wanted)
    assert request_in_short(item) == "  ".join(filter(None, words))
    frame = Frame(1, item.arrived, Direction.IN, text.encode(), 1)
    (entry,) = build_conversation(Recording("s", (frame,))).entries
    assert entry.gist == wanted.gist


def test_an_answer_is_told_by_all_of_its_texts() -> None:
    """Cut before they are joined, and on one line."""
    content = [
        {"type": "text", "text": "sunny\n"},
        {"type": "image"},
        {"type": "text", "text": "x" * 999},
    ]
    message = read(json.dumps({"jsonrpc": "2.0", "id": 7, "result": {"content": content}}).encode())
    assert isinstance(message, Message)
    gist = summary_of(message).gist
    assert gist.startswith("sunny\\n x")
    assert len(gist) <= GIST
