"""The past, read backwards over all sessions at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from humanmcp.desk.state import history
from humanmcp.desk.state.board import Board
from humanmcp.inbox.contract import Item, Key, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import Direction, Frame

if TYPE_CHECKING:
    from pathlib import Path


def at(second: int) -> str:
    """Return a moment of one day, in the form of a transcript."""
    return f"2026-11-20T18:{second // 60:02}:{second % 60:02}.000Z"


class Past:
    """Two sessions, into which a test writes lines."""

    def __init__(self, home: Path) -> None:
        """Begin both at once."""
        self.inbox = FolderInbox(home)
        self.names = [self.inbox.begin(SessionFacts("", at(0))) for _ in range(2)]
        self.seq = dict.fromkeys(self.names, 0)

    def say(self, session: int, second: int, line: str) -> None:
        """Record a line of one of them."""
        name = self.names[session]
        self.seq[name] += 1
        frame = Frame(self.seq[name], at(second), Direction.IN, line.encode())
        self.inbox.record(name, frame)

    def progress(self, second: int, token: int = 7) -> None:
        """Record that a request goes on."""
        params = f'{{"progressToken":{token},"progress":{second}}}'
        line = f'{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}'
        self.say(0, second, line)

    @property
    def board(self) -> Board:
        """A desk's view of both."""
        board = Board(self.inbox)
        board.refresh_all()
        return board


@pytest.fixture
def past(home: Path) -> Past:
    """An inbox with two sessions at the same time."""
    return Past(home)


def ping(number: int) -> str:
    """Return a request."""
    return f'{{"jsonrpc":"2.0","id":{number},"method":"ping"}}'


def test_d9_lines_of_all_sessions_come_newest_first(past: Past) -> None:
    """D9: two sessions that talk in turn are read in turn, not one after the other."""
    for number in range(60):
        past.say(number % 2, number, ping(number))
    found = history.look(past.board, history.Query(), most=10)
    assert [one.at for one in found.steps] == [at(second) for second in range(59, 49, -1)]
    rest = history.look(past.board, history.Query(), start=found.further, most=100)
    assert [one.at for one in rest.steps] == [at(second) for second in range(49, -1, -1)]
    assert rest.further is None


def test_d9_recent_lines_are_those_of_any_session(past: Past) -> None:
    """D9: also the oldest session may have spoken last."""
    past.say(1, 1, ping(1))
    past.say(0, 2, ping(2))
    past.say(1, 3, ping(3))
    assert [one.at for one in history.recent(past.board, 2)] == [at(3), at(2)]


def test_d5_progress_is_one_row_and_moves_nothing(past: Past) -> None:
    """D5: it stands where it began, and takes the place of no other line."""
    past.say(0, 0, ping(1))
    for second in range(5, 55, 5):
        past.progress(second)
        past.say(1, second + 1, ping(second))
    past.progress(60, token=8)
    rows = history.recent(past.board, 12)
    assert len(rows) == 13
    (row,) = [one for one in rows if one.times > 1]
    assert (row.at, row.times, row.lasted) == (at(5), 10, 45.0)
    picture = history.conversation(past.board, past.names[0], 3)
    assert [one.word for one in picture] == ["ping", *["notifications/progress"] * 2]


def test_d5_who_searches_for_progress_finds_each_line(past: Past) -> None:
    """D5: folding is for reading along, not for looking something up."""
    for second in range(3):
        past.progress(second)
    found = history.look(past.board, history.parse("method:notifications/progress"))
    assert [one.times for one in found.steps] == [1, 1, 1]


def test_desk_3_a_word_is_found_in_any_of_many_lines_without_reading_them_all(past: Past) -> None:
    """Whatever its case, also where it stands at the seam of two blocks; other words count, too."""
    filler = "x" * 3000
    for number in range(1000):
        word = "Needle" if number in (3, 350, 700) else "hay"
        past.say(0, number, f'{{"jsonrpc":"2.0","method":"{word}","params":"{filler}"}}')
    found = history.look(past.board, history.parse("needle xxx"))
    assert [one.seq for one in found.steps] == [701, 351, 4]
    assert (found.further, found.complete) == (None, True)
    assert history.look(past.board, history.parse("needle hay")).steps == ()


def test_desk_2_6_errors_are_found_by_the_tool_that_was_called(past: Past) -> None:
    """`kind:error tool:dice`: an answer names no tool, its request does."""
    for number, tool in ((1, "dice"), (2, "coin")):
        params = f'{{"name":"{tool}"}}'
        line = f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{params}}}'
        key = Key(past.names[0], number)
        asked = Item(key, line, "tools/call", str(number), "2025-11-25", arrived=at(number))
        past.inbox.deliver(asked)
        error = f'{{"jsonrpc":"2.0","id":{number},"error":{{"code":-32602,"message":"No."}}}}'
        frame = Frame(number, at(number), Direction.OUT, error.encode(), number)
        past.inbox.record(key.session, frame)
    for query in ("kind:error tool:dice", "kind:error method:tools/call tool:dice"):
        found = history.look(past.board, history.parse(query))
        assert [one.number for one in found.steps] == [1]
