"""The list of what waits: by agent and folder, searched, and after a change only what is new."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from humanmcp.common.settings import Settings
from humanmcp.desk.board import Board
from humanmcp.desk.command import make_desk
from humanmcp.desk.guard import Address
from humanmcp.desk.inbox import waiting_list
from humanmcp.desk.inbox.inbox_page import opens_first
from humanmcp.desk.inbox.waiting_list import EVERYTHING, ListFilter, listed
from humanmcp.inbox.contract import Answer, Item, Key, Parked, SessionFacts, Waiting
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from tests.support.desk_process import Desking

AGENTS = 20
PROMPTS = 10
AT = "2026-11-20T18:49:07.123Z"


class Agents:
    """Agents whose prompts wait, each in a session of its own, as `humanmcp hook` does it."""

    def __init__(self, home: Path) -> None:
        self.inbox = FolderInbox(home)
        self.sessions: list[str] = []

    def asks(self, agent: int, command: str = "make", folder: str = "") -> Key:
        """Let a prompt arrive."""
        at = f"2026-11-20T18:{len(self.sessions) // 60:02}:{len(self.sessions) % 60:02}.000Z"
        facts = SessionFacts(
            "", at, client="Codex", folder=folder or f"/work/app{agent}", agent=f"session-{agent}"
        )
        name = self.inbox.begin_session(facts)
        self.sessions.append(name)
        params = {
            "name": "approve",
            "arguments": {"tool_name": "Bash", "input": {"command": command}},
        }
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        self.inbox.record(name, Frame(1, at, Direction.IN, line.encode(), 1))
        self.inbox.deliver(Item(Key(name, 1), line, "tools/call", "1", "2025-11-25", at))
        return Key(name, 1)

    def over(self, key: Key) -> None:
        """Let a prompt be answered."""
        self.inbox.close(key, ExchangeState.ANSWERED, Answer("{}", "desk", "2026-11-20T18:49:07Z"))


@pytest.fixture
def agents(home: Path) -> Iterator[Agents]:
    found = Agents(home)
    yield found
    for name in found.sessions:
        found.inbox.end(name)


def read(agents: Agents) -> Board:
    board = Board(agents.inbox)
    board.refresh_all()
    return board


def sections(board: Board, shown: ListFilter = EVERYTHING, since: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = listed(board, shown, since)["sections"]
    return found


def rows(found: list[dict[str, Any]]) -> list[Key]:
    return [row.key for section in found for group in section["groups"] for row in group["rows"]]


def test_what_waits_is_grouped_by_agent_and_folder(agents: Agents) -> None:
    """The longest waiting agent comes first; two in one folder are told apart."""
    first, second = agents.asks(1), agents.asks(2)
    third, other = agents.asks(1), agents.asks(3, folder="/work/app2")
    waiting, parked, subscriptions = sections(read(agents))
    assert [[row.key for row in group["rows"]] for group in waiting["groups"]] == [
        [first, third],
        [second],
        [other],
    ]
    assert [(group["place"], group["count"]) for group in waiting["groups"]] == [
        ("Codex · …/work/app1", 2),
        ("Codex · …/work/app2 · on-2", 1),
        ("Codex · …/work/app2 · on-3", 1),
    ]
    assert not parked["groups"]
    assert not subscriptions["groups"]


def test_a_search_finds_what_and_where(agents: Agents) -> None:
    """All words, in any order, of what is asked and who asks."""
    made, pushed = agents.asks(1, "make"), agents.asks(2, "git push")
    board = read(agents)
    for words, expected in {
        "": [made, pushed],
        "PUSH git": [pushed],
        "app1": [made],
        "make app2": [],
        "codex": [made, pushed],
    }.items():
        assert rows(sections(board, ListFilter("", words))) == expected, words


def test_one_event_costs_one_row(agents: Agents, desk: Desking) -> None:
    """Of 200 prompts of 20 agents a page gets the one that came, changed or went."""
    keys = [agents.asks(number % AGENTS) for number in range(AGENTS * PROMPTS - 1)]

    def drawn(since: int = 0) -> tuple[list[str], str, int]:
        page = desk.page(f"/list?since={since}")
        gone = re.search(r'data-gone="([^"]*)"', page)
        version = re.search(r'data-version="(\d+)"', page)
        assert version is not None
        found = re.findall(r'class="row[^>]*data-key="([^"]+)"', page)
        return found, "all" if gone is None else gone[1].strip(), int(version[1])

    found, gone, version = drawn()
    assert len(found) == len(keys)
    assert gone == "all"
    key = agents.asks(0)
    found, gone, version = drawn(version)
    assert found == [f"{key.session}/1"]
    assert gone == ""
    agents.over(keys[0])
    found, gone, version = drawn(version)
    assert found == []
    assert gone == f"{keys[0].session}/1"
    assert drawn(version)[:2] == ([], "")
    assert drawn(version + 1000)[1] == "all"  # of another desk


def test_of_a_long_list_the_next_rows_follow(
    agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that has the first rows gets those that take the places of what has gone."""
    monkeypatch.setattr(waiting_list, "SHOWN", 4)
    keys = [agents.asks(number) for number in range(6)]
    board = read(agents)
    page = set(rows(sections(board)))
    assert page == set(keys[:4])
    for gone in (keys[1], keys[3], keys[0], keys[4]):
        version = board.version
        agents.over(gone)
        board.refresh(gone.session)
        values = listed(board, EVERYTHING, version)
        page = (page | set(rows(values["sections"]))) - set(values["gone"])
        assert page == set(rows(sections(board)))
    late = agents.asks(9)
    version = board.version
    board.refresh(late.session)
    assert rows(sections(board, since=version)) == [late]


def test_a_row_that_is_parked_moves_and_a_renamed_agent_is_drawn_again(agents: Agents) -> None:
    """Both are changes of the exchange: the page asks for no other row."""
    key, _other = agents.asks(1), agents.asks(2)
    board = read(agents)
    version = board.version
    item = agents.inbox.item(key)
    parked_call = Waiting(parked=Parked("ticket", "task"))
    agents.inbox.update(key, line=item.line, id="1", waiting=parked_call)
    board.refresh(*key)
    waiting, parked, _ = sections(board, since=version)
    assert (rows([waiting]), rows([parked])) == ([], [key])
    version = board.version
    facts = agents.inbox.facts(key.session)
    agents.inbox.describe(facts._replace(client="Qwen Code"), NegotiatedState())
    board.refresh(key.session, 0)
    _, parked, _ = sections(board, since=version)
    assert [group["place"] for group in parked["groups"]] == ["Qwen Code · …/work/app1"]


@pytest.mark.parametrize("became", ["answered", "closed", "deleted"])
def test_a_page_never_opens_by_itself_what_is_over(agents: Agents, became: str) -> None:
    """Although the list has not heard of it yet: the next one is open, or nothing."""
    desk = make_desk(agents.inbox.home, Address(8765), Settings())
    first, second = agents.asks(1), agents.asks(2)
    desk.board.refresh_all()
    for key, opens in ((first, second), (second, None)):
        match became:
            case "answered":
                agents.over(key)
            case "closed":
                agents.inbox.close(key, ExchangeState.ABANDONED)
            case _:
                agents.over(key)
                agents.inbox.end(key.session)
                agents.inbox.forget_session(key.session)
                agents.sessions.remove(key.session)
        opened = opens_first(desk, EVERYTHING)
        assert (opened and opened.key) == opens
    assert len(desk.board.waiting()) == 2, "the list had not heard of it"


def test_what_waits_until_something_else_is_over_is_in_no_list(agents: Agents) -> None:
    """Not in the count and not among the sessions either; who names its session sees it."""
    shown, aside = (agents.inbox.begin_session(SessionFacts("", AT)) for _ in range(2))
    agents.sessions += shown, aside
    for name in (shown, aside):
        line = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
        agents.inbox.deliver(Item(Key(name, 1), line, "ping", "1", "2025-11-25", AT))
    board = Board(agents.inbox, is_aside=lambda session: session == aside)
    board.refresh_all()
    assert ([one.facts.name for one in board.listed()], board.count()) == ([shown], 1)
    assert [one.key.session for one in EVERYTHING.rows(board)] == [shown]
    assert [one.facts.name for one in listed(board, EVERYTHING)["running"]] == [shown]
    assert [one.key.session for one in ListFilter(aside).rows(board)] == [aside]
