"""What a server writes down, and with how many writes."""

import errno
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.common.book_file import BookFile
from humanmcp.inbox.attendant import Attendant
from humanmcp.inbox.contract import HttpFacts, Order, Reply, SessionFacts, StoreError
from humanmcp.inbox.folder import FolderInbox
from humanmcp.inbox.inbox_session import TransportNote
from humanmcp.protocol.answer_book.decide import HandshakePolicy
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.transcript import HTTP, Direction, Frame
from humanmcp.server.journal import Clock, Journal
from humanmcp.server.memory_connection import MemoryConnection
from humanmcp.server.resuming import resumed
from humanmcp.server.serve import ServerParts
from humanmcp.server.waiting import ServeOptions
from tests.server.test_serve import INITIALIZE

AT: Final = "2026-11-22T10:00:00.000Z"
PING: Final = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


class Notes:
    """What HTTP says: the head of the request that brings a line, and what was said meanwhile."""

    def __init__(self) -> None:
        self.head = ""
        self.waiting: list[TransportNote] = []

    def take(self) -> list[TransportNote]:
        """Take what was said meanwhile."""
        found, self.waiting = self.waiting, []
        return found


def journal(home: Path) -> tuple[Journal, Notes, FolderInbox]:
    """Begin a session whose transport says things beside the lines."""
    inbox, connection, notes = FolderInbox(home), MemoryConnection(), Notes()
    connection.notes = notes
    facts = SessionFacts("", "", http=HttpFacts("id", "1"))
    journal = Journal(
        connection, inbox, facts._replace(name=inbox.begin_session(facts)), Clock(), Path(home)
    )
    return journal, notes, inbox


def test_what_http_says_goes_out_in_the_write_of_the_next_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said before it stands before it, the head that it came with behind it."""
    ledger, notes, inbox = journal(tmp_path)
    written: list[int] = []

    def record(session: str, *frames: Frame, durable: bool = False) -> None:
        written.append(len(frames))
        FolderInbox.record(inbox, session, *frames, durable=durable)

    monkeypatch.setattr(inbox, "record", record)
    notes.waiting, notes.head = [TransportNote(AT, "status", 7)], "head"
    ledger.record(Direction.IN, PING, 8, durable=True)
    ledger.cannot_read_last()
    ledger.keep_notes()  # nothing is left: nothing is written
    ledger.write("answer", 8)
    assert written == [3, 1]
    assert ledger.facts.unreadable_at == 2
    frames = [*inbox.frames(ledger.name)]
    said = [(frame.seq, frame.direction.value, frame.text, frame.number) for frame in frames]
    assert said == [
        (1, "note", "status", 7),
        (2, "in", PING.decode(), 8),
        (3, "note", "head", 8),
        (4, "out", "answer", 8),
    ]
    assert (frames[0].at, frames[2].at) == (AT, frames[1].at)


def test_what_went_out_by_an_outgoing_message_names_it_whatever_is_said_after_it(
    tmp_path: Path,
) -> None:
    """The process that goes on settles it, and numbers on after the notes."""
    ledger, notes, inbox = journal(tmp_path)
    ledger.ticket = inbox.submit(ledger.name, Reply(PING.decode(), order=Order.SAY))
    ledger.write(PING)
    ledger.ticket = ""
    ledger.write(PING)
    notes.waiting = [TransportNote(AT, '{"call":1,"event":"message","id":"0-1"}', 0)]
    ledger.keep_notes()
    found = resumed(inbox, ledger.name, ())
    assert (found.tickets, found.seq) == ({"0001", ""}, 3)
    frames = [*inbox.frames(ledger.name)]
    assert [(one.note, one.ticket) for one in frames] == [("", "0001"), ("", ""), (HTTP, "")]


def test_what_is_known_of_a_session_is_kept_as_soon_as_the_disk_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was learned last counts, also when the disk refused both."""
    ledger, _, inbox = journal(tmp_path)

    def full(*_args: object) -> None:
        raise StoreError(OSError(errno.ENOSPC, "full"), "session")

    with monkeypatch.context() as patch:
        patch.setattr(inbox, "describe", full)
        for version in ("2025-06-18", "2025-11-25"):
            ledger.keep_facts(NegotiatedState(), protocol_version=version)
    assert inbox.facts(ledger.name).protocol_version == ""
    ledger.catch_up()
    assert inbox.facts(ledger.name).protocol_version == "2025-11-25"


@pytest.mark.parametrize("line", [INITIALIZE.encode(), PING], ids=["initialize", "ping"])
def test_who_hears_the_first_answer_finds_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    """A test that looks for a call right after its answer found none, now and then."""
    home, connection = tmp_path / "inbox", MemoryConnection()
    shown: list[str] = []

    def send(content: bytes, **more: Any) -> None:  # noqa: ANN401 - as `send`
        shown.extend(one.client for one in FolderInbox(home).sessions())
        MemoryConnection.send(connection, content, **more)

    monkeypatch.setattr(connection, "send", send)
    options = ServeOptions(handshake=HandshakePolicy.BOOK)
    served = ServerParts(home, BookFile(tmp_path / "book.toml"), options)
    session = served.session(connection, FolderInbox(home))
    connection.say(line)
    connection.hang_up()
    attendant = Attendant()
    attendant.attend(session)
    attendant.run()
    assert shown == ["test" if line != PING else ""]
