"""One attendant serves many sessions: each answer finds its client, its request and its stream."""

import itertools
import json
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from humanmcp.common.book_file import BookFile
from humanmcp.inbox.attendant import Attendant
from humanmcp.inbox.contract import Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.answer_book.decide import HandshakePolicy, Mode
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.server.exchanges import AT_ONCE, LARGE
from humanmcp.server.memory_connection import MemoryConnection
from humanmcp.server.serve import ServerParts
from humanmcp.server.session import ServedSession
from humanmcp.server.waiting import ServeOptions
from tests.support.serve_http import initialize
from tests.support.waiting import PATIENCE, until

SESSIONS: Final = 200
CALLS: Final = 3


class Room(NamedTuple):
    """An inbox, and the one thread that serves its sessions."""

    inbox: FolderInbox
    attendant: Attendant
    thread: threading.Thread

    def join(self) -> tuple[MemoryConnection, ServedSession]:
        """Begin a session whose client is the test."""
        home = self.inbox.home
        connection, home = MemoryConnection(), self.inbox.home
        book, options = BookFile(home / "book.toml"), ServeOptions(Mode.BY_HAND)
        parts = ServerParts(home, book, options)
        session = parts.session(connection, self.inbox)
        self.attendant.attend(session)
        return connection, session


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """Let one thread work, and nothing else of ours."""
    attendant = Attendant()
    thread = threading.Thread(target=attendant.run, name="attendant")
    made = Room(FolderInbox(tmp_path / "inbox"), attendant, thread)
    made.join()  # it works as long as somebody is there
    thread.start()
    yield made
    attendant.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def call(number: object, place: str) -> bytes:
    """Write a tool call that says whose it is."""
    asked = {"name": "t", "arguments": {"place": place}}
    said = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": asked}
    return json.dumps(said).encode()


def test_two_hundred_sessions_of_one_thread_get_each_answer_in_its_place(room: Room) -> None:
    """The same ids everywhere, answered in an order of chance: nothing is mixed up or lost."""
    before = threading.active_count()
    joined = [room.join() for _ in range(SESSIONS)]
    keys = {}
    for who, (connection, session) in enumerate(joined):
        for number in range(1, CALLS + 1):
            connection.say(call(number, f"{who}/{number}"))
            keys[who, number] = Key(session.journal.name, number)
    for key in keys.values():
        path = room.inbox.folder(key.session) / "pending" / f"{key.number:04d}"
        until(path.exists, f"{key} in the inbox")
    assert threading.active_count() <= before + 1  # one for all bells
    order = random.Random(7).sample(sorted(keys), len(keys))
    for who, number in order:
        text = f"for {who}/{number}"
        room.inbox.send(keys[who, number], Reply(text, TextForm.TEXT, by="test"))
    wanted = {at: [number for who, number in order if who == at] for at in range(SESSIONS)}
    for who, (connection, _session) in enumerate(joined):
        for _ in range(CALLS):
            heard = connection.hear(PATIENCE)
            assert heard is not None
            answer = json.loads(heard.content)
            assert heard.related_to == answer["id"]
            assert answer["result"]["content"][0]["text"] == f"for {who}/{answer['id']}"
            wanted[who].remove(answer["id"])
        assert connection.hear() is None
    assert not any(wanted.values())


def test_a_session_that_ends_is_no_business_of_the_others(room: Room) -> None:
    """Its client hangs up: it is closed in the inbox, and the next one is served."""
    (left, gone), (stays, _session) = room.join(), room.join()
    left.say(call(1, "left"))
    until(lambda: left.numbers == (1,), "the call")
    left.hang_up()
    until(lambda: not room.inbox.facts(gone.journal.name).is_open, "the end of the session")
    stays.say(b'{"jsonrpc":"2.0","id":5,"method":"nonsense"}')
    stays.say(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}')
    until(lambda: stays.numbers == (2,), "the second request of the other session")


def test_others_have_their_turn_within_a_long_array(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One step takes in requests for a moment: one where each takes that long, and each once."""
    parts = ServerParts(
        tmp_path,
        BookFile(tmp_path / "book.toml"),
        ServeOptions(Mode.NORMAL, handshake=HandshakePolicy.BOOK),
    )
    inbox, connection = FolderInbox(tmp_path / "inbox"), MemoryConnection()
    session = parts.session(connection, inbox)
    moments = itertools.count(step=AT_ONCE)
    monkeypatch.setattr(session.journal.clock, "now", lambda: next(moments))
    session.begin_steps(lambda: None)
    connection.say(initialize("2025-03-26").encode())
    connection.say(b"[" + b",".join(call(at, "here") for at in range(2, 102)) + b"]")
    counted: list[int] = []
    while len(counted) < 2 or counted[-1] > counted[-2] or not counted[-1]:
        session.step(time.monotonic())
        counted.append(len(list((inbox.folder(session.journal.name) / "pending").glob("0*"))))
    session.leave()
    assert counted[-1] == 100
    assert max(later - before for before, later in itertools.pairwise(counted)) == 1


def test_others_have_their_turn_within_a_large_line(tmp_path: Path) -> None:
    """It is in the transcript after one step, and in the inbox after another one."""
    book = BookFile(tmp_path / "book.toml")
    parts = ServerParts(tmp_path, book, ServeOptions(Mode.NORMAL, handshake=HandshakePolicy.BOOK))
    inbox, connection = FolderInbox(tmp_path / "inbox"), MemoryConnection()
    session = parts.session(connection, inbox)
    session.begin_steps(lambda: None)
    large = call(2, "x" * LARGE)
    for line in (initialize("2025-06-18").encode(), large):
        connection.say(line)
        session.step(time.monotonic())
    name = session.journal.name
    assert [one.raw for one in inbox.frames(name)][-1] == large
    assert not inbox.items(name)
    now = time.monotonic()
    assert session.step(now) == now
    assert [one.line.encode() for one in inbox.items(name)] == [large]
    session.leave()


def test_a_line_says_to_which_request_it_belongs(room: Room) -> None:
    """The inbox's number, not the client's id: a POST of HTTP is found by it."""
    connection, session = room.join()
    connection.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    log = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'
    key = Key(session.journal.name, 1)
    room.inbox.submit(key.session, Reply(log, by="test"))
    heard = connection.hear(PATIENCE)
    assert heard == (log.encode(), 0)
    connection.say(call("seventeen", "here"))
    until((room.inbox.folder(key.session) / "pending" / "0001").exists, "the call in the inbox")
    assert connection.numbers == (1,)
    room.inbox.submit(key.session, Reply(log, by="test"))
    assert connection.hear(PATIENCE) == (log.encode(), 1)  # it is about the one that is open
    room.inbox.send(key, Reply("sunny", TextForm.TEXT, by="test"))
    heard = connection.hear(PATIENCE)
    assert heard is not None
    assert heard.related_to == 1
    assert json.loads(heard.content)["id"] == "seventeen"
