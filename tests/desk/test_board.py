"""The desk's view of all sessions: what waits, what changed, who writes."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.answering.standing import Urgency
from humanmcp.answering.summary import Row, row
from humanmcp.desk.board import Board, Following, opens_next
from humanmcp.inbox import shelves
from humanmcp.inbox.contract import (
    FOLLOWS,
    SUBSCRIBED,
    Answer,
    Draft,
    Item,
    Key,
    Life,
    Parked,
    Purpose,
    Reply,
    SessionFacts,
    Waiting,
    Writer,
)
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.json import jsonrpc
from tests.support.waiting import PATIENCE, until

AT = "2026-11-20T18:49:07.123Z"


@pytest.fixture
def inbox(home: Path) -> FolderInbox:
    """An inbox in which the test is the server."""
    return FolderInbox(home)


def deliver(inbox: FolderInbox, session: str, number: int, at: str = AT) -> Key:
    """Let a request arrive."""
    line = f'{{"jsonrpc":"2.0","id":{number},"method":"ping"}}'
    key = Key(session, number)
    inbox.deliver(Item(key, line, "ping", str(number), "2025-11-25", at))
    return key


def changes(board: Board, since: int) -> list[tuple[str, int]]:
    """Return what changed after a version."""
    found = board.since(since)
    assert found is not None
    return [(change.what, change.number) for change in found]


def test_what_arrives_changes_and_closes_is_noted(inbox: FolderInbox) -> None:
    """Each once, in order; a second look at the same thing notes nothing."""
    name = inbox.begin_session(SessionFacts("", AT))
    board = Board(inbox)
    heard: list[int] = []
    board.listen(lambda: heard.append(board.version))
    board.refresh_all()
    version = board.version
    key = deliver(inbox, name, 1)
    board.refresh(name)
    board.refresh(name)
    inbox.save(key, Draft("{}", touched=True))
    board.refresh(name)
    inbox.close(key, ExchangeState.ANSWERED, Answer("{}", "desk", AT))
    board.refresh(name)
    assert changes(board, version) == [("arrived", 1), ("changed", 1), ("closed", 1)]
    assert heard == [version, version + 1, version + 2, version + 3]


def test_the_longest_waiting_comes_first_across_sessions(inbox: FolderInbox) -> None:
    """By arrival, whichever session it is of; one session alone when it is named."""
    first, second = (inbox.begin_session(SessionFacts("", AT)) for _ in range(2))
    deliver(inbox, first, 1, "2026-11-20T18:00:02Z")
    deliver(inbox, second, 1, "2026-11-20T18:00:01Z")
    board = Board(inbox)
    board.refresh_all()
    assert [row.key.session for row in board.waiting()] == [second, first]
    assert [row.key.session for row in board.waiting(first)] == [first]
    assert board.count() == 2


KINDS: Final[dict[str, dict[str, Any]]] = {
    "request": {},
    "held message": {"purpose": Purpose.HELD},
    "subscription": {"waiting": Waiting(keepalive=SUBSCRIBED)},
    "follower": {"waiting": Waiting(keepalive=FOLLOWS)},
    "parked": {"waiting": Waiting(parked=Parked("ticket", "task"))},
    "answered": {"reply": Reply("{}")},
    "with a draft": {"draft": Draft("{}", touched=True)},
}
"""What can be in an inbox."""


def rows_of(kinds: str) -> list[Row]:
    """Return the rows of an inbox into which these came one after the other."""
    return [
        row(
            Item(Key("s", at), "{}", "m", "1", "", f"2026-11-20T18:00:{at:02}Z")._replace(
                **KINDS[kind]
            ),
            SessionFacts("s", AT),
        )
        for at, kind in enumerate(kinds.split(", "))
    ]


@pytest.mark.parametrize(
    ("kinds", "opened"),
    [
        ("request", "request"),
        ("held message, request", "held message"),
        ("subscription, request", "request"),
        ("subscription", None),
        ("subscription, follower", None),
        ("parked, request", "request"),
        ("parked, subscription", "parked"),
        ("answered, request", "request"),
        ("answered", None),
        ("subscription, parked, answered, with a draft, request", "with a draft"),
    ],
)
def test_a_page_opens_what_has_waited_longest_for_a_decision(
    kinds: str, opened: str | None
) -> None:
    """What needs nobody is never opened, and what is parked only where nothing else waits."""
    found = opens_next(rows_of(kinds))
    assert (kinds.split(", ")[found.key.number] if found else None) == opened


@pytest.mark.parametrize(
    ("open_now", "kinds", "opened"),
    [
        ("request", "held message, request, with a draft", None),
        ("held message", "request", None),
        ("with a draft", "request", None),
        ("parked", "subscription, parked", None),
        ("parked", "parked, request", "request"),
        ("subscription", "parked", "parked"),
        ("subscription", "parked, request", "request"),
        ("answered", "subscription, request", "request"),
    ],
)
def test_a_page_leaves_only_for_what_is_more_urgent(
    open_now: str, kinds: str, opened: str | None
) -> None:
    """A page that waits for a decision stays, whatever else waits longer."""
    (mine,) = rows_of(open_now)
    found = opens_next(rows_of(kinds), mine.standing.urgency)
    assert (kinds.split(", ")[found.key.number] if found else None) == opened


def test_only_what_waits_for_a_decision_is_counted(inbox: FolderInbox) -> None:
    """The number in the title is that of the requests that a page opens now."""
    name = inbox.begin_session(SessionFacts("", AT))
    for number, one in enumerate(KINDS.values(), 1):
        key = Key(name, number)
        inbox.deliver(Item(key, "{}", "m", str(number), "", AT)._replace(**one))
        if one.get("reply"):
            inbox.send(key, Reply("{}"))
    board = Board(inbox)
    board.refresh_all()
    assert board.count() == sum(one.standing.urgency is Urgency.NOW for one in board.waiting()) == 3


def test_what_a_session_leaves_behind_waits_for_nobody(inbox: FolderInbox) -> None:
    """When it ends, its rows go, and it stays in the list of sessions."""
    name = inbox.begin_session(SessionFacts("", AT))
    deliver(inbox, name, 1)
    board = Board(inbox)
    board.refresh_all()
    assert board.count() == 1
    version = board.version
    inbox.end(name)
    board.refresh(name)
    assert board.count() == 0
    assert ("closed", 1) in changes(board, version)
    assert [one.facts.name for one in board.sessions()] == [name]


def test_what_waited_when_a_server_was_killed_waits_again_when_it_goes_on(
    inbox: FolderInbox,
) -> None:
    """Whoever reads only that the session goes on reads with it what waits there."""
    name = inbox.begin_session(SessionFacts("", AT))
    key = deliver(inbox, name, 1)
    following = FolderInbox(inbox.home)
    board = Board(FolderInbox(inbox.home))
    board.refresh_all()
    inbox.leave_session(name)
    board.refresh(name, 0)
    assert board.waiting() == []
    following.resume(name)
    board.refresh(name, 0)
    assert [row.key for row in board.waiting()] == [key]
    following.end(name)


def test_a_probe_is_no_session_until_it_speaks(inbox: FolderInbox) -> None:
    """A process that was only asked what it speaks is not shown."""
    facts = SessionFacts("", AT, probe=True)
    name = inbox.begin_session(facts)
    board = Board(inbox)
    board.refresh(name)
    assert board.sessions() == []
    inbox.describe(SessionFacts(name, AT, client="host"), NegotiatedState())
    board.refresh(name)
    assert [one.facts.client for one in board.sessions()] == ["host"]


def test_who_missed_too_much_looks_at_everything(
    inbox: FolderInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The changes are bounded; a number of the future is of another desk."""
    monkeypatch.setattr("humanmcp.desk.board.REMEMBERED", 8)
    name = inbox.begin_session(SessionFacts("", AT))
    board = Board(inbox)
    board.refresh_all()
    began = board.version
    key = deliver(inbox, name, 1)
    for number in range(10):
        inbox.save(key, Draft(f"{number}", touched=bool(number % 2)))
        board.refresh(name)
    assert board.since(began) is None
    assert board.since(board.version + 1) is None
    assert board.since(board.version) == ()
    assert board.since(board.version - 1) is not None


def test_a_desk_that_starts_anew_within_the_second_counts_on(
    inbox: FolderInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that was connected to the one before must not take its numbers for the new ones."""
    began = 1_800_000_000_000_000_000
    monkeypatch.setattr("humanmcp.desk.board.time.time_ns", lambda: began)
    name = inbox.begin_session(SessionFacts("", AT))
    before = Board(inbox)
    before.refresh_all()
    seen = [before.version]
    for number in range(1, 4):
        deliver(inbox, name, number)
        before.refresh(name)
        seen.append(before.version)
    monkeypatch.setattr("humanmcp.desk.board.time.time_ns", lambda: began + 1_000_000)
    anew = Board(inbox)
    for _look in range(2):
        assert [anew.since(version) for version in seen] == [None] * len(seen)
        anew.refresh_all()
    assert before.version < anew.version < 2**53
    assert before.since(1) is None


def test_pages_look_again_when_somebody_begins_to_write_and_when_they_stop(
    inbox: FolderInbox,
) -> None:
    """In this desk or in another one; and not at each sign between."""
    board = Board(inbox)
    key = Key(inbox.begin_session(SessionFacts(name="", started="")), 1)
    version = board.version
    for _ in range(3):
        inbox.note_writer(key, Writer("a", "花子"))
        board.look_at_writers()
    assert board.writers == {key: (Writer("a", "花子"),)}
    assert changes(board, version) == [("changed", 1)]
    version = board.version
    inbox.clear_writer("a")
    board.look_at_writers()
    assert board.writers == {}
    assert changes(board, version) == [("changed", 1)]


def test_a_change_of_one_exchange_reads_that_one(
    inbox: FolderInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many wait beside it; a line in the transcript reads none of them."""
    name = inbox.begin_session(SessionFacts("", AT))
    keys = [deliver(inbox, name, number) for number in range(1, 31)]
    board = Board(inbox)
    board.refresh_all()
    version = board.version
    read: list[Key] = []
    item = inbox.item

    def reading(key: Key) -> Item:
        read.append(key)
        return item(key)

    monkeypatch.setattr(inbox, "item", reading)
    monkeypatch.setattr(inbox, "items", lambda *_: 1 / 0)
    inbox.save(keys[6], Draft("{}", touched=True))
    board.refresh(*keys[6])
    board.refresh(name, 0)
    inbox.close(keys[8], ExchangeState.CANCELLED)
    board.refresh(*keys[8])
    deliver(inbox, name, 31)
    board.refresh(name, 31)
    assert changes(board, version) == [("changed", 7), ("closed", 9), ("arrived", 31)]
    assert set(read) == {keys[6], keys[8], Key(name, 31)}
    assert board.count() == 30


def test_what_comes_and_goes_between_two_looks_is_told(inbox: FolderInbox) -> None:
    """Once, whether it is named itself or a later one is."""
    name = inbox.begin_session(SessionFacts("", AT))
    board = Board(inbox)
    board.refresh_all()
    version = board.version
    for number in (1, 2, 3):
        inbox.close(deliver(inbox, name, number), ExchangeState.CANCELLED)
    board.refresh(name, 1)
    deliver(inbox, name, 7)  # those between were answered by the book: nobody could see them
    board.refresh(name, 7)
    board.refresh(name, 2)
    board.refresh(name, 3)
    board.refresh(name)
    gone = [(what, number) for number in (1, 2, 3) for what in ("arrived", "closed")]
    assert changes(board, version) == [*gone, ("arrived", 7)]


def test_a_line_is_decoded_once(inbox: FolderInbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not again with each wake, nor with each question about it, nor while pages wait."""
    decoded: list[bytes] = []
    read = jsonrpc.read

    def counting(raw: bytes) -> jsonrpc.Message | jsonrpc.Batch | jsonrpc.Malformed:
        decoded.append(raw)
        counter = threading.Thread(target=board.count, daemon=True)
        counter.start()
        counter.join(PATIENCE)
        assert not counter.is_alive(), "a page waits while a line is decoded"
        return read(raw)

    monkeypatch.setattr(jsonrpc, "read", counting)
    name = inbox.begin_session(SessionFacts("", AT))
    board = Board(inbox)
    keys = [deliver(inbox, name, number) for number in (7001, 7002)]
    board.refresh_all()
    inbox.save(keys[0], Draft("{}", touched=True))
    board.refresh(name)
    board.refresh(*keys[0])
    assert len(decoded) == 2


@pytest.mark.parametrize("reading", ["facts", "items", "item", "last_frames_before", "is_held"])
def test_a_folder_that_is_away_for_a_moment_takes_nothing_from_a_page(
    reading: str, inbox: FolderInbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is away while a desk reads, and back before the next look; the session lives on."""
    session = inbox.begin_session(SessionFacts("", AT))
    key = deliver(inbox, session, 1)
    board = Board(FolderInbox(inbox.home))
    where: Any = shelves if reading == "is_held" else board.inbox
    real: Callable[..., object] = getattr(where, reading)

    def away_once(*given: object) -> object:
        monkeypatch.undo()
        inbox.home.rename(tmp_path / "aside")
        try:
            return real(*given)
        finally:
            (tmp_path / "aside").rename(inbox.home)

    with Following(board):
        monkeypatch.setattr(where, reading, away_once)
        board.refresh(session, 1 if reading == "item" else None)
        assert getattr(where, reading) != away_once
        until(lambda: [row.key for row in board.waiting()] == [key], "it is shown")
        assert [one.facts.life for one in board.sessions()] == [Life.OPEN]
    inbox.end(session)


def test_what_cannot_be_read_at_the_second_look_ends_no_following(
    inbox: FolderInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk may fail just then; the next change is told all the same."""
    session = inbox.begin_session(SessionFacts("", AT))
    key = deliver(inbox, session, 1)
    board = Board(FolderInbox(inbox.home))
    tried = threading.Event()

    def fail(_session: str) -> SessionFacts:
        if not board._less:  # it was taken for the second look
            tried.set()
        raise OSError

    with Following(board):
        inbox.close(key, ExchangeState.CANCELLED)
        until(lambda: board._less, "it will be looked for once more")
        with monkeypatch.context() as broken:
            broken.setattr(board.inbox, "facts", fail)
            assert tried.wait(PATIENCE)
        key = deliver(inbox, session, 2)
        until(lambda: [row.key for row in board.waiting()] == [key], "the next one is shown")
    inbox.end(session)
