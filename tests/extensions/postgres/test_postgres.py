"""The inbox on PostgreSQL keeps every promise, and what is its own: bells, leases, migrations."""

import itertools
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

import psycopg
import pytest

from humanmcp.extensions.postgres.database import (
    NEWEST,
    Database,
    DatabaseAwayError,
    DatabaseError,
    Follower,
)
from humanmcp.extensions.postgres.inbox import PostgresInbox
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import (
    Draft,
    HttpFacts,
    Inbox,
    InboxError,
    Key,
    Life,
    NotHeldError,
    Reply,
    SessionFacts,
    TakenError,
)
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import FORGOTTEN
from humanmcp.server.journal import Clock, Journal
from tests.inbox.contract import AT, InboxContract, frame_of, item_of
from tests.inbox.crashing import Countdown, Crash
from tests.support.postgres_server import PostgresServer
from tests.support.speaking import said_in
from tests.support.waiting import PATIENCE, until

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("postgres")]

NAMES: Final = itertools.count(1)
RACES: Final = 1000


class PostgresStore:
    """One inbox of the database; each view has connections of its own, as a process has."""

    def __init__(self, url: str, home: Path) -> None:
        """Keep things in an inbox that no other test uses."""
        self.url = url
        self.home = home
        self.name = f"test {next(NAMES)}"
        self.databases: list[Database] = []

    def view(self) -> PostgresInbox:
        """Open the inbox once more."""
        self.databases.append(Database(self.url))
        return PostgresInbox(self.databases[-1], self.home, self.name)

    def kill(self, inbox: Inbox) -> None:
        """Let its lease lapse, as that of a process that died does after five seconds."""
        assert isinstance(inbox, PostgresInbox)
        lease = inbox._db.follower.lease
        inbox._db.follower.stop()
        inbox._db.run("DELETE FROM humanmcp.processes WHERE id = %(lease)s", lease=lease)

    @contextmanager
    def killed(self, step: int, *inboxes: Inbox) -> Iterator[Countdown]:
        """Die at a statement: what was not committed is as if it had not been."""
        countdown = Countdown(step, Crash, once=False)
        with ExitStack() as stack, suppress(Crash):
            for inbox in inboxes:
                stack.enter_context(_with_run(inbox, countdown.wrap))
            yield countdown

    @contextmanager
    def watch(self, look: Callable[[], object], *inboxes: Inbox) -> Iterator[None]:
        """Look before each statement."""

        def looked(run: Callable[..., object]) -> Callable[..., object]:
            return lambda *words, **values: (look(), run(*words, **values))[1]

        with ExitStack() as stack:
            for inbox in inboxes:
                stack.enter_context(_with_run(inbox, looked))
            yield
        look()

    def age_writers(self, seconds: float) -> None:
        """Change the times in their rows."""
        sql = "UPDATE humanmcp.writers SET seen = seen - make_interval(secs => %(seconds)s)"
        self.databases[-1].run(sql, seconds=seconds)


@contextmanager
def _with_run(
    inbox: Inbox, change: Callable[[Callable[..., object]], Callable[..., object]]
) -> Iterator[None]:
    """Run each statement of this thread, and of no other one of the process, in another way."""
    assert isinstance(inbox, PostgresInbox)
    run, own = inbox._db.run, threading.get_ident()
    changed = change(run)

    def choose(*words: object, **values: object) -> object:
        chosen: Callable[..., object] = changed if threading.get_ident() == own else run
        return chosen(*words, **values)

    with patch.object(inbox._db, "run", choose):
        yield


@pytest.fixture
def store(postgres: PostgresServer, tmp_path: Path) -> Iterator[PostgresStore]:
    """Keep things in a database."""
    store = PostgresStore(postgres.url, tmp_path)
    yield store
    for database in store.databases:
        database.close()


class TestPostgresInbox(InboxContract):
    """PostgreSQL passes what every inbox passes."""


def test_every_table_and_column_is_documented(postgres: PostgresServer) -> None:
    """The manual names what one finds with psql."""
    Database(postgres.url).close()
    page = (Path(__file__).parents[3] / "docs" / "reference" / "database.md").read_text("utf-8")
    with psycopg.connect(postgres.url) as connection:
        found = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = 'humanmcp'"
        ).fetchall()
    assert len(found) > 40
    rows = dict(re.findall(r"^\| `(\w+)` \|(.*)$", page, re.MULTILINE))
    plain = {"id", "inbox", "session", "number", "changed", "probe", "record"}
    missing = [
        (table, column)
        for table, column in found
        if column not in plain and f"`{column}`" not in rows[table]
    ]
    assert missing == []


def test_of_a_thousand_races_each_has_one_winner(store: PostgresStore) -> None:
    """Two processes answer each of the same thousand exchanges at the same time."""
    server, views = store.view(), [store.view() for _ in range(2)]
    session = server.begin_session(SessionFacts("", AT))
    for number in range(1, RACES + 1):
        server.deliver(item_of(session, number))

    ready = threading.Barrier(2)

    def send(who: int) -> int:
        won = 0
        for number in range(1, RACES + 1):
            ready.wait(PATIENCE)
            with suppress(TakenError):
                views[who].send(Key(session, number), Reply(f"{who}"))
                won += 1
        return won

    with ThreadPoolExecutor(2) as pool:
        won = list(pool.map(send, range(2)))
    assert sum(won) == RACES
    assert all(won), "they raced"
    assert len(server.take_replies(session)) == RACES
    item = server.item(Key(session, RACES))
    assert item.reply is not None
    assert {item.reply.text, *(draft.text for draft in item.kept)} == {"0", "1"}


def test_a_bell_rings_when_another_process_sends(store: PostgresStore) -> None:
    """The reply is there when it rings, with nothing but the ring to look for."""
    server, desk = store.view(), store.view()
    session = server.begin_session(SessionFacts("", AT))
    server.deliver(item_of(session))
    rung = threading.Event()
    server.bell(session).listen(rung.set)
    assert server._db.follower.hears.wait(PATIENCE)
    desk.send(Key(session, 1), Reply("sunny"))
    assert rung.wait(PATIENCE)
    assert server.take_replies(session) == [(Key(session, 1), Reply("sunny"))]


def test_a_reply_is_not_lost_with_the_connection_that_took_it(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database took note and died before it could say so: the next look has it, once."""
    server, desk = store.view(), store.view()
    session = server.begin_session(SessionFacts("", AT))
    server.deliver(item_of(session))
    desk.send(Key(session, 1), Reply("sunny"))
    run, own = server._db.run, threading.current_thread()

    def lost(*words: Any, **values: object) -> object:  # noqa: ANN401 - what `run` takes
        found = run(*words, **values)
        if threading.current_thread() is own:  # the follower's are none of this
            raise DatabaseAwayError("postgresql://x", "gone")
        return found

    monkeypatch.setattr(server._db, "run", lost)
    with pytest.raises(DatabaseAwayError):
        server._take({"owner": server._db.follower.lease, "inbox": server._inbox})
    monkeypatch.undo()
    assert server.take_replies(session) == [(Key(session, 1), Reply("sunny"))]
    assert server.take_replies(session) == []


def test_a_watch_wakes_for_an_exchange_a_line_and_a_death(store: PostgresStore) -> None:
    """What changed is found by number, also what came between two looks."""
    server, desk = store.view(), store.view()
    session = server.begin_session(SessionFacts("", AT))
    woken: set[tuple[str, int]] = set()
    with desk.watch(lambda *what: woken.add(what)):
        server.deliver(item_of(session, 7))
        until(lambda: (session, 7) in woken, "the exchange is told")
        woken.clear()
        server.record(session, frame_of(1))
        until(lambda: (session, 0) in woken, "the line is told")
        woken.clear()
        store.kill(server)
        until(lambda: (session, 0) in woken, "the death is told")


def test_a_watch_tells_of_more_changes_than_a_look_expects(store: PostgresStore) -> None:
    """Those of another inbox among them."""
    server, desk = store.view(), store.view()
    session = server.begin_session(SessionFacts("", AT))
    woken: set[tuple[str, int]] = set()
    watch = desk.watch(lambda *what: woken.add(what))
    with watch:
        desk._db.follower.stop_following(watch._look)
        for number in range(1, 260):
            server.deliver(item_of(session, number))
        other = PostgresInbox(server._db, store.home, f"{store.name} beside")
        beside = other.begin_session(SessionFacts("", AT))
        other.record(beside, frame_of(1))
        watch._look()
    assert {(session, number) for number in range(1, 260)} <= woken
    assert beside not in {name for name, _ in woken}


def test_a_process_whose_session_another_has_taken_says_nothing_more(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stood still: unsure at first, it changes nothing, and knows after its next look."""
    one, two = store.view(), store.view()
    session = one.begin_session(SessionFacts("", AT, http=HttpFacts("id")))
    one.deliver(item_of(session))
    rung = threading.Event()
    one.bell(session).listen(rung.set)
    assert one.is_held(session)
    store.kill(one)
    monkeypatch.setattr(one._db.follower, "_lasts", 0.0)
    assert one.is_held(session) is None, "it may have lost it"
    two.resume(session)
    one._db.follower.lapses += 1  # as a renewal does that comes too late
    rung.clear()
    one._look_and_wake()
    assert (one.is_held(session), rung.is_set()) == (False, True)
    with pytest.raises(NotHeldError):
        one.close(Key(session, 1), ExchangeState.ANSWERED)
    assert two.is_held(session)
    assert [item.key.number for item in two.items(session)] == [1]


def test_a_line_of_a_process_that_lost_its_session_is_neither_recorded_nor_sent(
    store: PostgresStore,
) -> None:
    """Also where it has not noticed yet: the row of the session decides."""
    one, two = store.view(), store.view()
    session = one.begin_session(SessionFacts("", AT, http=HttpFacts("id")))
    sent: list[bytes] = []
    connection = SimpleNamespace(
        send=lambda raw, **_: sent.append(raw), send_raw=sent.append, notes=None
    )
    facts = SessionFacts(session, AT)
    journal = Journal(connection, one, facts, Clock(), store.home)
    journal.write('{"a":1}')
    store.kill(one)
    two.resume(session)
    assert one.is_held(session), "nobody has told it"
    journal.write('{"a":2}')
    journal.write_raw(b"raw", by="desk")
    assert sent == [b'{"a":1}']
    assert [frame.text for frame in two.frames(session)] == ['{"a":1}']
    assert one.is_held(session) is False


def set_clock(process: PostgresInbox, seconds: int) -> None:
    """Let the clock of the database be set on, or back, after the last renewal of a lease."""
    process._db.run(
        "UPDATE humanmcp.processes SET seen = seen - %(by)s * interval '1 s' WHERE id = %(lease)s",
        by=seconds,
        lease=process._db.follower.lease,
    )


def test_a_clock_that_is_set_back_keeps_no_dead_process_alive(store: PostgresStore) -> None:
    """Its session would wait for an hour, and nobody could go on with it."""
    one, two = store.view(), store.view()
    session = one.begin_session(SessionFacts("", AT, http=HttpFacts("id")))
    one._db.follower.stop()
    set_clock(one, -2)
    assert two.facts(session).life is Life.OPEN, "within the time of a lease nothing is known"
    set_clock(one, -3600)
    until(lambda: two.facts(session).life is Life.GONE, "the database has run for five seconds")
    two.resume(session)
    assert two.is_held(session)


def test_a_process_learns_that_a_clock_that_was_set_forward_ended_its_lease(
    store: PostgresStore,
) -> None:
    """By its own clock it is in time; another process has gone on with its session meanwhile."""
    one, two = store.view(), store.view()
    session = one.begin_session(SessionFacts("", AT, http=HttpFacts("id")))
    rung = threading.Event()
    one.bell(session).listen(rung.set)
    one._db.follower.stop()
    set_clock(one, 3600)
    until(lambda: two.facts(session).life is Life.GONE, "the database has run for five seconds")
    two.resume(session)
    rung.clear()
    with one._db.connect() as connection:
        one._db.follower._renew(connection)
    one._look_and_wake()
    assert (one.is_held(session), rung.is_set()) == (False, True)
    assert two.is_held(session)


def test_behind_a_pooler_looks_alone_find_what_comes(store: PostgresStore) -> None:
    """A connection that hears nothing: it is found out at the start, and said."""
    server, desk = store.view(), store.view()
    server._db.__dict__["follower"] = Follower(server._db, channel="elsewhere", probed_for=0.1)
    session = server.begin_session(SessionFacts("", AT))
    server.deliver(item_of(session))
    server.bell(session).listen(lambda: None)
    until(lambda: "pooler" in server._db.follower.why_polling, "it is found out")
    desk.send(Key(session, 1), Reply("sunny"))
    until(lambda: bool(server.take_replies(session)), "the reply is found")


def test_a_large_message_lies_in_a_table_of_its_own(store: PostgresStore) -> None:
    """Lists do not carry it along, whoever asks for it gets it whole, and it can be forgotten."""
    server = store.view()
    session = server.begin_session(SessionFacts("", AT))
    line = '{"id":1,"x":"' + "東" * 100_000 + '"}'
    server.deliver(item_of(session)._replace(line=line))
    server.record(session, frame_of(1, line.encode(), number=1))
    assert server.item(Key(session, 1)).line == line
    assert [frame.text for frame in server.frames(session)] == [line]
    count = "SELECT count(*) FROM humanmcp.large JOIN humanmcp.sessions s ON s.id = session"
    assert server._db.run(f"{count} WHERE s.name = %(name)s", name=session) == [(2,)]
    server.end(session)
    server.forget(Key(session, 1))
    assert server._db.run(f"{count} WHERE s.name = %(name)s", name=session) == [(0,)]
    assert [(frame.note, frame.raw) for frame in server.frames(session)] == [(FORGOTTEN, b"")]


def test_processes_that_start_together_make_the_tables_once(postgres: PostgresServer) -> None:
    """The first of them; the others wait for it, and find them there."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE fresh")
    url = postgres.url.replace("/postgres?", "/fresh?")
    with ThreadPoolExecutor(4) as pool:
        databases = list(pool.map(Database, [url] * 4))
    for database in databases:
        assert database.run("SELECT count(*) FROM humanmcp.migrations") == [(NEWEST,)]
        database.close()


def test_tables_of_a_newer_humanmcp_are_left_alone(postgres: PostgresServer) -> None:
    """An older one says so and does nothing; likewise where the encoding cannot hold every text."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE newer")
        connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    url = postgres.url.replace("/postgres?", "/newer?")
    Database(url).close()
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO humanmcp.migrations VALUES (%s)", [NEWEST + 1])
    with pytest.raises(DatabaseError, match="newer"):
        Database(url)
    with pytest.raises(DatabaseError, match="UTF8"):
        Database(postgres.url.replace("/postgres?", "/latin?"))


def test_a_database_that_is_away_gets_a_sentence_without_the_password(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """At the start: the database, why, and what to do. An address of something else, too."""
    for rest in (f"?host={tmp_path}", ":1/x", ":no:port/x?password=secret"):
        with pytest.raises(InboxError) as caught:
            open_inbox(tmp_path, f"postgresql://me:secret@127.0.0.1{rest}")
        assert "cannot reach the database" in str(caught.value)
        assert "secret" not in f"{caught.value}{said_in('ja', caught.value.sentence)}{caplog.text}"
    with pytest.raises(InboxError, match="starts with mysql") as caught:
        open_inbox(tmp_path, "mysql://me:secret@127.0.0.1/x")
    assert "secret" not in str(caught.value)


def test_a_database_that_is_killed_has_all_that_was_acknowledged_when_it_is_back(
    postgres: PostgresServer, store: PostgresStore
) -> None:
    """In the middle of traffic: nothing is lost, nothing is there twice, and it goes on."""
    server, desk = store.view(), store.view()
    postgres.wait_for_disk()
    until(lambda: server._db.run("SHOW fsync") == [("on",)], "it waits for its disk")
    session = server.begin_session(SessionFacts("", AT))
    server.bell(session).listen(lambda: None)
    assert desk._db.follower.lease
    done: dict[str, list[int]] = {"delivered": [], "sent": [], "recorded": [], "taken": []}
    killed, back = threading.Event(), threading.Event()

    def work() -> None:
        for number in itertools.count(1):
            steps: tuple[tuple[str, Callable[[int], object]], ...] = (
                ("recorded", lambda n: server.record(session, frame_of(n))),
                ("delivered", lambda n: server.deliver(item_of(session, n))),
                ("sent", lambda n: desk.send(Key(session, n), Reply(str(n)))),
            )
            for what, act in steps:
                try:
                    act(number)
                    done[what].append(number)
                except InboxError:
                    back.wait(0.01)
            done["taken"] += [key.number for key, _ in server.take_replies(session)]
            if number > 20:
                killed.set()
            if back.is_set():
                return

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        try:
            assert killed.wait(PATIENCE)
            postgres.kill()
            with pytest.raises(InboxError, match="cannot reach the database"):
                until(lambda: desk.save(Key(session, 1), Draft("typed")), "it is noticed")
            postgres.start()
            until(lambda: not server._db.away and not desk._db.away, "both have found it again")
            before = len(done["sent"])
            until(lambda: len(done["sent"]) > before, "it goes on")
        finally:
            back.set()
        working.result(PATIENCE)
    sent = set(done["sent"])
    until(lambda: _take(server, session, done["taken"]) >= sent, "every reply is taken")
    assert len(done["taken"]) == len(set(done["taken"]))
    assert {item.key.number for item in server.items(session)} >= set(done["delivered"])
    assert {frame.seq for frame in server.frames(session)} >= set(done["recorded"])


def _take(server: PostgresInbox, session: str, taken: list[int]) -> set[int]:
    taken += [key.number for key, _ in server.take_replies(session)]
    return set(taken)
