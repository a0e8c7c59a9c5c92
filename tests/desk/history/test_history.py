"""The past, read backwards over all sessions at once."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from humanmcp.desk.board import Board
from humanmcp.desk.history import search
from humanmcp.desk.history.rows import Pair, pairs
from humanmcp.inbox.contract import Draft, Item, Key, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import HTTP, Direction, Frame
from humanmcp.protocol.http.client import cut_part, event_part, request_part, response_part
from humanmcp.protocol.json import jsonrpc


def at(second: int) -> str:
    """Return a moment of one day, in the form of a transcript."""
    return f"2026-11-20T18:{second // 60:02}:{second % 60:02}.000Z"


class Past:
    """Two sessions, into which a test writes lines."""

    def __init__(self, home: Path) -> None:
        """Begin both at once."""
        self.inbox = FolderInbox(home)
        self.names = [self.inbox.begin_session(SessionFacts("", at(0))) for _ in range(2)]
        self.seq = dict.fromkeys(self.names, 0)

    def say(
        self,
        session: int,
        second: int,
        line: str,
        direction: Direction = Direction.IN,
        note: str = "",
        *,
        number: int = 0,
    ) -> None:
        """Record a line of one of them."""
        name = self.names[session]
        self.seq[name] += 1
        frame = Frame(self.seq[name], at(second), direction, line.encode(), number, note=note)
        self.inbox.record(name, frame)

    def http(self, second: int, part: str) -> None:
        """Record what HTTP says."""
        self.say(0, second, part, Direction.NOTE, HTTP)

    def call_over_http(self, call: int, second: int) -> None:
        """Record a ping with its answer, and what HTTP says around them."""
        self.say(0, second, ping(call))
        self.http(second, request_part(call, "POST", "/mcp", (("host", "h"),), f"{call} ping"))
        self.say(0, second, f'{{"jsonrpc":"2.0","id":{call},"result":{{}}}}', Direction.OUT)
        self.http(second, response_part(call, 200, "OK", (("x", "y"),)))

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


def test_lines_of_all_sessions_come_newest_first(past: Past) -> None:
    """Two sessions that talk in turn are read in turn, not one after the other."""
    for number in range(60):
        past.say(number % 2, number, ping(number))
    match = search.look(past.board, search.Query(), most=10)
    assert [step.at for step in match.steps] == [at(second) for second in range(59, 49, -1)]
    rest = search.look(past.board, search.Query(), start=match.further, most=100)
    assert [step.at for step in rest.steps] == [at(second) for second in range(49, -1, -1)]
    assert rest.further is None


def test_recent_lines_are_those_of_any_session(past: Past) -> None:
    """Also the oldest session may have spoken last."""
    past.say(1, 1, ping(1))
    past.say(0, 2, ping(2))
    past.say(1, 3, ping(3))
    assert [step.at for step in search.recent(past.board, 2)] == [at(3), at(2)]


def test_a_recent_response_has_the_name_of_a_request_before_these_lines(past: Past) -> None:
    """The oldest line of the list, too; the request may be any number of lines away."""
    past.say(0, 1, call(1), number=1)
    for second in range(2, 9):
        past.say(0, second, '{"jsonrpc":"2.0","method":"notifications/initialized"}')
    for id_, said in ((1, '"result":{"content":[],"isError":true}'), (7, '"result":{}')):
        past.say(0, 10, f'{{"jsonrpc":"2.0","id":{id_},{said}}}', Direction.OUT, number=id_)
    nobodys, answer = search.recent(past.board, 2)
    assert (answer.answers, answer.method, answer.failed) == ("dice", "tools/call", True)
    assert nobodys.answers == ""


def test_of_many_open_sessions_only_those_are_read_that_spoke_last(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is drawn anew after each event: what that costs must not grow with the sessions."""
    inbox = FolderInbox(home)
    names = [inbox.begin_session(SessionFacts("", at(0))) for _ in range(40)]
    for second, name in enumerate(names):
        inbox.record(name, Frame(1, at(second), Direction.IN, ping(1).encode()))
    board = Board(inbox)
    board.refresh_all()
    read: list[str] = []
    before = inbox.last_frames_before

    def counted(session: str, seq: int, count: int, word: str = "") -> Sequence[Frame]:
        read.append(session)
        return before(session, seq, count, word)

    monkeypatch.setattr(inbox, "last_frames_before", counted)
    found = search.recent(board, 3)
    assert [step.session for step in found] == names[:-4:-1]
    assert set(read) <= set(names[-4:])
    inbox.record(names[0], Frame(2, at(59), Direction.IN, ping(2).encode()))
    board.refresh(names[0], 0)
    assert search.recent(board, 1)[0].session == names[0]


def test_progress_is_one_row_and_moves_nothing(past: Past) -> None:
    """It stands where it began, and takes the place of no other line."""
    past.say(0, 0, ping(1))
    for second in range(5, 55, 5):
        past.progress(second)
        past.say(1, second + 1, ping(second))
    past.progress(60, token=8)
    rows = search.look(past.board, search.Query(), most=12).steps
    assert len(rows) == 13
    (row,) = [step for step in rows if step.more]
    assert (row.at, len(row.more), row.lasted) == (at(5), 9, 45.0)
    picture = search.conversation(past.board, past.names[0], 3)
    assert [step.word for step in picture] == ["ping", *["notifications/progress"] * 2]


def test_progress_is_no_recent_message(past: Past) -> None:
    """A row that only counts up takes the eye from what was said; the history has it."""
    past.say(0, 0, ping(1))
    for second in range(1, 20):
        past.progress(second)
    assert [step.word for step in search.recent(past.board, 8)] == ["ping"]


def test_who_searches_for_progress_finds_each_line(past: Past) -> None:
    """Folding is for reading along, not for looking something up."""
    for second in range(3):
        past.progress(second)
    match = search.look(past.board, search.parse("method:notifications/progress"))
    assert [step.more for step in match.steps] == [(), (), ()]


@pytest.mark.parametrize(
    "typed",
    ["東京", "😀", r"C:\Users", 'say "hi"', "it/is", "(a+b)*", r"\u6771", "two lines", "É"],
)
def test_words_are_found_as_they_are_written_and_as_they_are_read(past: Past, typed: str) -> None:
    """A host may write any character as an escape; the list shows the character."""
    words = r"\u6771\u4eac \ud83d\ude00 C:\\Users say \"hi\" it\/is (a+b)* two lines \u00c9"
    past.say(0, 1, ping(1))
    past.say(0, 2, f'{{"jsonrpc":"2.0","method":"x","params":{{"a":"{words}"}}}}')
    past.say(0, 3, "no JSON: \\q")
    assert [one.seq for one in search.look(past.board, search.parse(typed)).steps] == [2]


@pytest.mark.parametrize("word", ["pending", "waiting"])
def test_a_state_is_found_by_its_name_and_by_the_word_that_the_list_shows(
    past: Past, word: str
) -> None:
    """A notification has none."""
    past.say(0, 1, ping(1))
    past.say(0, 2, '{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert [one.step.seq for one in rows_of(past, f"state:{word}")] == [1]
    assert rows_of(past, "state:answered") == []


def test_the_history_of_a_served_session_is_its_messages(past: Past) -> None:
    """Three calls are six lines; the heads stand in the row of the request."""
    for call in (1, 2, 3):
        past.call_over_http(call, call)
    steps = search.look(past.board, search.Query()).steps
    assert [step.kind for step in steps] == ["result", "request"] * 3
    assert [step.http for step in steps[:2]] == [
        (),
        ("HTTP 3 -> POST /mcp\nhost: h", "HTTP 3 <- 200 OK\nx: y"),
    ]
    found = search.look(past.board, search.parse("kind:note")).steps
    assert [step.summary.gist for step in found[:2]] == ["HTTP 3 <- 200 OK", "HTTP 3 -> POST /mcp"]
    assert len(search.look(past.board, search.parse("/mcp post")).steps) == 3


def test_heads_take_the_place_of_nothing(past: Past) -> None:
    """A page, the newest lines and the picture have as many lines as without HTTP."""
    for call in range(20):
        past.call_over_http(call, call)
    page = search.look(past.board, search.Query(), most=8)
    assert len(page.steps) == 8
    rest = search.look(past.board, search.Query(), start=page.further)
    assert len(rest.steps) == 32
    assert len(search.recent(past.board, 8)) == 8
    assert len(search.conversation(past.board, past.names[0], 8)) == 8


def test_a_request_that_brought_no_line_is_a_row_with_its_status(past: Past) -> None:
    """A stream, one that was refused, the end of a session; and who hung up."""
    for call, (method, status) in enumerate([("GET", 200), ("POST", 415), ("DELETE", 204)], 1):
        past.http(call, request_part(call, method, "/mcp", (), ""))
        past.http(call, response_part(call, status, "", ()))
    past.http(4, event_part(1, "0-1"))
    past.http(5, cut_part(1, "client"))
    assert [step.summary.gist for step in search.look(past.board, search.Query()).steps] == [
        "HTTP 1 -- hung up by the client",
        "HTTP 3 -> DELETE /mcp <- 204",
        "HTTP 2 -> POST /mcp <- 415",
        "HTTP 1 -> GET /mcp <- 200",
    ]


def test_heads_find_their_line_while_several_are_on_the_way(past: Past) -> None:
    """As a tap writes them down; also where a line has to be brought twice."""
    changed = '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'
    for line in (changed, changed, ping(9)):
        past.say(0, 1, line)
    names = ("9 ping", *["notifications/roots/list_changed"] * 2, "9 ping")
    for call, carries in enumerate(names):
        past.http(2, request_part(call, "POST", "/mcp", (), carries))
    for call in (2, 1, 0, 3):
        past.http(3, response_part(call, 200 + call, "", ()))
    steps = search.look(past.board, search.Query()).steps
    assert [[text.split(" ", 2)[1] for text in step.http] for step in steps] == [
        ["0", "3", "0", "3"],
        ["2", "2"],
        ["1", "1"],
    ]


def test_a_word_is_found_in_any_of_many_lines_without_reading_them_all(past: Past) -> None:
    """Whatever its case, also where it stands at the seam of two blocks; other words count, too."""
    filler = "x" * 3000
    for number in range(1000):
        word = "Needle" if number in (3, 350, 700) else "hay"
        past.say(0, number, f'{{"jsonrpc":"2.0","method":"{word}","params":"{filler}"}}')
    match = search.look(past.board, search.parse("needle xxx"))
    assert [step.seq for step in match.steps] == [701, 351, 4]
    assert (match.further, match.complete) == (None, True)
    assert search.look(past.board, search.parse("needle hay")).steps == ()


def test_a_phrase_is_found_where_its_words_stand_together(past: Past) -> None:
    """The words alone are found in any order."""
    for number, said in enumerate(("rain in Tokyo", "in Tokyo no rain"), 1):
        past.say(0, number, f'{{"jsonrpc":"2.0","method":"{said}"}}')
    for typed, lines in (("rain in", [2, 1]), ('"Rain in"', [1]), ('"in rain"', [])):
        match = search.look(past.board, search.parse(typed))
        assert [step.seq for step in match.steps] == lines


def test_errors_are_found_by_the_tool_that_was_called(past: Past) -> None:
    """`kind:error tool:dice`: an answer names no tool, its request does."""
    for number, tool in ((1, "dice"), (2, "coin")):
        line = call(number, tool)
        key = Key(past.names[0], number)
        asked = Item(key, line, "tools/call", str(number), "2025-11-25", arrived=at(number))
        past.inbox.deliver(asked)
        error = f'{{"jsonrpc":"2.0","id":{number},"error":{{"code":-32602,"message":"No."}}}}'
        frame = Frame(number, at(number), Direction.OUT, error.encode(), number)
        past.inbox.record(key.session, frame)
    for query in ("kind:error tool:dice", "kind:error method:tools/call tool:dice"):
        match = search.look(past.board, search.parse(query))
        assert [step.number for step in match.steps] == [1]


def call(id_: int, tool: str = "dice") -> str:
    """Return a call of a tool."""
    params = f'{{"name":"{tool}","arguments":{{}}}}'
    return f'{{"jsonrpc":"2.0","id":{id_},"method":"tools/call","params":{params}}}'


def rolled(id_: int, *, failed: bool = False) -> str:
    """Return the result of a call."""
    flag = "true" if failed else "false"
    content = f'[{{"type":"text","text":"rolled {id_}"}}]'
    return f'{{"jsonrpc":"2.0","id":{id_},"result":{{"content":{content},"isError":{flag}}}}}'


def rows_of(past: Past, words: str, most: int = search.PAGE) -> list[Pair]:
    """Return the rows of the history page for a search."""
    board = past.board
    return paired_up(board, search.look(board, search.parse(words), most=most))


def paired_up(board: Board, match: search.HistoryMatch) -> list[Pair]:
    """Return the rows of a page, newest first."""
    return search.paired_up(board, pairs(reversed(match.steps)))[::-1]


def test_a_call_that_the_book_answered_is_answered_wherever_its_answer_stands(past: Past) -> None:
    """No item of the inbox: the transcript has both lines, also where a search shows one half."""
    past.say(0, 1, call(7), number=1)
    past.say(0, 2, rolled(7), Direction.OUT, number=1)
    for second in range(3, 60):
        past.say(0, second, ping(second))
    for words in ("tool:dice", "method:tools/call", "state:answered tool:dice", "kind:result"):
        (row,) = rows_of(past, words)
        assert (row.step.summary.name, row.state) == ("dice", "answered")
        assert row.answer is not None
        assert (row.answer.summary.gist, row.answer.seq) == ("rolled 7", 2)


def test_errors_of_calls_that_the_book_answered_are_found_by_their_tool(past: Past) -> None:
    """A tool that failed is an error, too: its row says so."""
    past.say(0, 1, call(1), number=1)
    past.say(0, 2, rolled(1, failed=True), Direction.OUT, number=1)
    past.say(0, 3, call(2, "coin"), number=2)
    error = '{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"No."}}'
    past.say(0, 4, error, Direction.OUT, number=2)
    past.say(0, 5, call(3), number=3)
    past.say(0, 6, rolled(3), Direction.OUT, number=3)
    assert [one.step.number for one in rows_of(past, "kind:error")] == [2, 1]
    assert [one.step.number for one in rows_of(past, "kind:error tool:coin")] == [2]
    assert [one.state for one in rows_of(past, "kind:error tool:dice")] == ["error"]


def test_a_request_of_a_tap_says_what_became_of_it(past: Past) -> None:
    """Nothing that passes has a number there: ids tell, and so does the end of the session."""
    past.say(0, 1, call(1))
    past.say(0, 2, call(2))
    past.say(0, 3, call(3))
    cancelled = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}'
    past.say(0, 4, cancelled)
    past.say(1, 4, rolled(3), Direction.OUT)
    for second in range(5, 40):
        past.say(0, second, ping(second + 100))
    past.say(0, 40, rolled(1), Direction.OUT)
    assert [one.state for one in rows_of(past, "tool:dice")] == ["pending", "cancelled", "answered"]
    assert [one.step.seq for one in rows_of(past, "state:cancelled")] == [2]
    past.inbox.end(past.names[0])
    assert [one.step.seq for one in rows_of(past, "state:abandoned tool:dice")] == [3]


def test_a_search_says_that_it_does_not_know_rather_than_that_nobody_answered(
    past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time for one page is over before the answer is found."""
    past.say(0, 1, call(1))
    past.say(0, 2, rolled(1), Direction.OUT)
    match = search.look(past.board, search.parse("tool:dice"))
    monkeypatch.setattr(search, "_SEARCH_FOR", 0.0)
    (row,) = paired_up(past.board, match)
    assert (row.state, row.answer) == ("unknown", None)


def test_a_page_of_open_calls_reads_each_line_that_follows_them_once(
    past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of a hundred calls is looked for to the end of the session: together, not one by one."""
    for number in range(1, 601):
        past.say(0, number, call(number), number=number)
    board = past.board
    match = search.look(board, search.Query(), start=(past.names[0], 301))
    assert len(match.steps) == search.PAGE
    read = 0
    before = past.inbox.last_frames_before

    def counted(session: str, seq: int, count: int, word: str = "") -> Sequence[Frame]:
        nonlocal read
        frames = before(session, seq, count, word)
        read += len(frames)
        return frames

    monkeypatch.setattr(past.inbox, "last_frames_before", counted)
    rows = paired_up(board, match)
    assert {one.state for one in rows} == {"pending"}
    assert read < 1_000 + 2 * search.PAGE


def test_a_row_has_the_standing_of_its_exchange(past: Past) -> None:
    """What the inbox knows is more than the lines say; a response that failed is an error."""
    for number in (1, 2, 3):
        past.say(0, number, call(number), number=number)
        key = Key(past.names[0], number)
        item = Item(key, call(number), "tools/call", f"{number}", "2025-11-25", at(number))
        if number != 3:  # the answer book had it
            past.inbox.deliver(item)
    past.inbox.save(Key(past.names[0], 2), Draft("{}", touched=True))
    past.say(0, 4, rolled(3, failed=True), Direction.OUT, number=3)
    assert [one.state for one in rows_of(past, "tool:dice")] == ["error", "writing", "waits"]
    past.inbox.end(past.names[0])
    assert [one.state for one in rows_of(past, "tool:dice")] == ["error", "closed", "closed"]


def test_one_session_is_read_from_its_first_line_on(past: Past) -> None:
    """The next page starts after the last row, whatever other sessions said meanwhile."""
    for number in range(30):
        past.say(0, number, ping(number))
        past.say(1, number, ping(100 + number))
    board, query = past.board, search.parse(f"session:{past.names[0]}")
    first = search.look(board, query, most=20, oldest=True)
    assert [step.at for step in reversed(first.steps)] == [at(second) for second in range(20)]
    rest = search.look(board, query, start=first.further, oldest=True)
    assert [step.at for step in reversed(rest.steps)] == [at(second) for second in range(20, 30)]
    assert rest.further is None


def test_a_line_comes_with_its_exchange_and_the_last_one_that_asked_the_same(past: Past) -> None:
    """The request first, whichever of the two was opened; a line of its own stays alone."""
    for second, line, way in (
        (1, call(1), Direction.IN),
        (2, rolled(1), Direction.OUT),
        (3, call(2, "coin"), Direction.IN),
        (4, call(3), Direction.IN),
        (5, rolled(3), Direction.OUT),
        (6, "no message", Direction.IN),
    ):
        past.say(0, second, line, way)
    board, name = past.board, past.names[0]
    lines = list(past.inbox.frames(name))
    for seq in (4, 5):
        assert [one.seq for one in search.exchange(board, name, lines[seq - 1])] == [4, 5]
    assert [one.seq for one in search.exchange(board, name, lines[5])] == [6]
    before = search.previous(board, name, lines[3])
    assert before is not None
    assert before.seq == 1
    assert search.previous(board, name, lines[2]) is None
    assert search.previous(board, name, lines[4]) is None


def test_a_recent_line_leads_to_a_page_that_there_is(past: Past) -> None:
    """What a person was asked has a page; what the book answered is a line of the transcript."""
    line = call(2)
    past.say(0, 1, '{"jsonrpc":"2.0","id":1,"method":"server/discover"}', number=1)
    past.say(0, 2, line, number=2)
    key = Key(past.names[0], 2)
    past.inbox.deliver(Item(key, line, "tools/call", "2", "2025-11-25", arrived=at(2)))
    name = past.names[0]
    addresses = [step.address for step in search.recent(past.board, 5)]
    assert addresses == [f"/m/{name}/2", f"/line/{name}/1"]


def test_a_long_line_is_decoded_once_however_often_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list that stands beside each page has a row for it."""
    past = Past(tmp_path / "home")
    past.say(0, 1, f'{{"jsonrpc":"2.0","id":1,"method":"{"x" * search.LONG}"}}')
    board, read, decoded = past.board, jsonrpc.read, []

    def counting(raw: bytes) -> jsonrpc.Message | jsonrpc.Batch | jsonrpc.Malformed:
        decoded.append(len(raw))
        return read(raw)

    monkeypatch.setattr(jsonrpc, "read", counting)
    rows = [search.recent(board, 12) for _ in range(3)]
    assert [len(one) for one in rows] == [1, 1, 1]
    assert [size > search.LONG for size in decoded] == [True]
