"""A message in a few words, the same in every list."""

import json
from typing import Any

import pytest

from humanmcp.answering import summary
from humanmcp.answering.summary import GIST, Summary, answered_by, place_of, summary_of
from humanmcp.export.recording import Recording, build_conversation
from humanmcp.inbox.contract import Answer, Item, Key, Reply, SessionFacts
from humanmcp.locales import LANGUAGES, speaking
from humanmcp.protocol.conversation.decisions import DecisionChain, DecisionRecord
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import DECIDED, Direction, Frame
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.terminal.inbox import request_in_short


def line(method: str, params: dict[str, object]) -> str:
    """Write a request."""
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})


def permission(tool: str, **given: object) -> str:
    """Write a permission prompt."""
    return line("tools/call", {"name": "approve", "arguments": {"tool_name": tool, "input": given}})


def asking(tool: str, **arguments: object) -> str:
    """Write a call of a tool."""
    return line("tools/call", {"name": tool, "arguments": arguments})


SEVERAL = [{"question": "Which?", "options": ["a", "b"]}, {"question": "Where?"}]


@pytest.mark.parametrize(
    ("text", "wanted", "short"),
    [
        (
            asking("dice", sides=6, city="東京"),
            Summary("dice", 'sides: 6, city: "東京"'),
            'tools/call  dice  sides: 6, city: "東京"',
        ),
        (
            line("resources/read", {"uri": "file:///a"}),
            Summary("", "file:///a"),
            "resources/read  file:///a",
        ),
        (
            asking("ask", question="**Tea** or `milk`?"),
            Summary("ask", "Tea or milk?", "answer"),
            "Answer a question  Tea or milk?",
        ),
        (
            asking("ask_human", questions=SEVERAL),
            Summary("ask_human", "Which? · Where?", "answer"),
            "Answer a question  Which? · Where?",
        ),
        (
            permission("AskUserQuestion", questions=SEVERAL),
            Summary("approve", "Which? · Where?", "answer"),
            "Answer a question  Which? · Where?",
        ),
        (
            permission("Bash", command="git\npush", description="Publish"),
            Summary("approve", "git ⏎ push", "command", "Bash"),
            "Run a command  git ⏎ push",
        ),
        (
            permission("Edit", file_path="/a", old_string="x", new_string="y"),
            Summary("approve", "/a", "edit", "Edit"),
            "Change a file  /a",
        ),
        (
            permission("Write", file_path="/a", content="x"),
            Summary("approve", "/a", "file", "Write"),
            "Write a file  /a",
        ),
        (
            permission("WebFetch", url="https://a.example"),
            Summary("approve", 'url: "https://a.example"', "other", "WebFetch"),
            'Use WebFetch  url: "https://a.example"',
        ),
    ],
)
def test_a_row_says_the_same_in_page_terminal_and_exports(
    text: str, wanted: Summary, short: str
) -> None:
    """What a person is asked for is in a person's words; other messages are in those of MCP."""
    message = read(text.encode())
    assert isinstance(message, Message)
    assert summary_of(message) == wanted
    item = Item(Key("s", 1), text, message.method, "7", "2025-11-25", "2026-11-20T18:49:07.123Z")
    row = summary.row(item, SessionFacts("s", ""))
    assert row.summary == wanted
    assert request_in_short(item) == short
    frame = Frame(1, item.arrived, Direction.IN, text.encode(), 1)
    (entry,) = build_conversation(Recording("s", (frame,))).entries
    assert entry.gist == wanted.gist


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"protocolVersion": "2025-11-25", "capabilities": {}}, "weather 2.1, 2025-11-25"),
        ({"supportedVersions": ["2026-07-28"], "capabilities": {}}, "weather 2.1"),
    ],
)
def test_a_server_that_introduces_itself_is_named_first_as_its_client_is(
    members: dict[str, Any], said: str
) -> None:
    """A row of a list is narrow: the capabilities are on the page of the line."""
    given = {**members, "serverInfo": {"name": "weather", "version": "2.1"}}
    message = read(json.dumps({"jsonrpc": "2.0", "id": 1, "result": given}).encode())
    assert isinstance(message, Message)
    assert summary_of(message).gist == said
    for odd in ("weather", {}, None, {"name": 3}):
        message = read(
            json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"serverInfo": odd}}).encode()
        )
        assert isinstance(message, Message)
        assert summary_of(message).gist.startswith("serverInfo: ")


def recorded(direction: Direction, action: str, text: str = "", number: int = 1) -> Frame:
    """Return a line with the record of a decision."""
    record = DecisionChain().add(DecisionRecord("s", 1, "m", "", text, action=action))
    return Frame(2, "", direction, text.encode(), number, note=DECIDED, decision=record)


def result(text: str) -> str:
    """Return a response with a text."""
    content = [{"type": "text", "text": text}]
    return json.dumps({"jsonrpc": "2.0", "id": 3, "result": {"content": content}})


@pytest.mark.parametrize(
    ("frame", "wanted"),
    [
        (recorded(Direction.NOTE, "ran"), "decided ran"),
        (recorded(Direction.NOTE, "equal ran"), "decided equal ran"),
        (recorded(Direction.NOTE, "late"), "decided late"),
        (recorded(Direction.NOTE, "unconfirmed"), "decided unconfirmed"),
        (recorded(Direction.NOTE, "deny", number=0), ""),  # of a batch: it goes out later
        (recorded(Direction.NOTE, "drop"), ""),
        (recorded(Direction.OUT, "answer", result('{"behavior": "allow"}')), "decided answer"),
        (recorded(Direction.OUT, "answer", result("tea")), ""),
        (recorded(Direction.OUT, "decline", result("no")), ""),
        (recorded(Direction.IN, "allow", result("no")), ""),  # what a tap let through
        (Frame(2, "", Direction.NOTE, b"", 1, note="x"), ""),
    ],
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_became_of_a_decision_has_words_of_its_own(
    frame: Frame, wanted: str, language: str
) -> None:
    """Answers to a question of the host's own tool are a decision as well, and no JSON."""
    said = summary.summary_of_frame(frame)
    assert (said.wants if said is not None else "") == wanted
    with speaking(language):
        assert not wanted or summary.row_title(said or Summary())


def ended(by: str, who: str = "", device: str = "") -> Item:
    """Return an answered exchange; without a person's `by`, a rule answered."""
    reply = None if by.startswith("book") else Reply("{}", by=by, who=who, device=device)
    return Item(
        Key("s", 1),
        *("{}", "m", "1", "", "2026-11-20T18:49:07.123Z", ExchangeState.ANSWERED),
        answer=Answer("{}", by, ""),
        reply=reply,
    )


@pytest.mark.parametrize(
    ("item", "here", "said"),
    [
        (ended("desk"), "", "you, on the page"),
        (ended("desk"), "Ben's phone", "the computer"),
        (ended("desk", "Ben"), "", "Ben"),
        (ended("desk", "Ben"), "Ben's phone", "Ben, on the computer"),
        (ended("terminal"), "Ben's phone", "the computer"),
        (ended("desk", "Ben's phone", "Ben's phone"), "Ben's phone", "Ben's phone"),
        (ended("desk", "Ben's phone", "Ben's phone"), "", "Ben's phone"),
        (ended("desk", "Anna", "Ben's phone"), "Ben's phone", "Anna (Ben's phone)"),
        (ended("desk", "Anna", "Ben's phone"), "Anna's phone", "Anna (Ben's phone)"),
        (ended("terminal"), "", "you, in the terminal"),
        (ended("book: rule 2"), "Ben's phone", "rule 2 of the answer book"),
    ],
)
def test_who_answered_is_said_from_where_the_reader_is(item: Item, here: str, said: str) -> None:
    """Nobody is told that they answered what another device did."""
    assert answered_by(item, here) == said


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (SessionFacts("s", ""), ""),
        (SessionFacts("s", "", client="claude-code", client_version="2"), "claude-code"),
        (
            SessionFacts("s", "", client="c", folder="/home/me/shop/web"),
            "c · …/shop/web",
        ),
        (SessionFacts("s", "", client="c", folder="/web"), "c · web"),
        (
            SessionFacts("s", "", client="c", title="my site", folder=r"C:\shop\web"),
            "my site · …/shop/web",
        ),
    ],
)
def test_two_agents_are_told_apart_by_their_folders(facts: SessionFacts, said: str) -> None:
    """The end of the folder is where two projects differ."""
    assert place_of(facts) == said


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
