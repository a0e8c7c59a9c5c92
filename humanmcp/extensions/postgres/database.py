"""The database: its connections, its trouble, and the one thread of a process that waits on it.

Theory of operation
-------------------
A database that is away is away for every caller at once: the first who notices says so, and until
one of our own threads has reached it again (`Follower`) none waits for it. What was written
without waiting for its disk (`run_soon`) is kept here until the disk has it, and written again when
the database comes back: it may have died before.

One thread listens, looks, and keeps the lease of its process.
A ring wakes, once a second a look is taken anyway, and what has changed is
found by number, never by the ring. The number is that of the transaction which changed a row last
(`changed`). Transactions do not end in the order of their numbers; but each that a look could not
see has a number that is not below the *xmin* of its snapshot ("All transaction IDs less than xmin
are either committed and visible, or rolled back and dead",
https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SNAPSHOT). So a look asks
for what is not below the xmin of the look before it, and may see something twice, never not at all.

Behind a pooler that gives each transaction another connection no ring is heard. So this rings
once at the start and waits two seconds for it; where nothing is heard, the looks alone must do.
"""

from __future__ import annotations

import atexit
import logging
import os
import socket
import threading
import time
from collections import deque
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from humanmcp.common.own_process import leave_signals_to_the_main_thread
from humanmcp.inbox.contract import InboxError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    from psycopg import Connection
    from psycopg_pool import ConnectionPool

_log = logging.getLogger(__name__)


PAUSE: Final = 0.05
"""Seconds between two rings for one inbox: PostgreSQL lets one transaction with a ring end after
the other (https://www.postgresql.org/docs/current/sql-notify.html), so a ring is one of its own."""


class Ringer:
    """Rings immediately, and at most once more after a pause for everything within it."""

    def __init__(self, ring: Callable[[int], object]) -> None:
        """Ring by calling `ring` with the number of an inbox."""
        self._ring = ring
        self._changing = threading.Lock()
        self._rung: dict[int, float] = {}
        self._late: set[int] = set()

    def ring(self, inbox: int) -> None:
        with self._changing:
            now = time.monotonic()
            if now - self._rung.get(inbox, -PAUSE) < PAUSE:
                if not self._late:
                    timer = threading.Timer(PAUSE, self.flush)
                    timer.daemon = True
                    timer.start()
                self._late.add(inbox)
                return
            self._rung[inbox] = now
        self._call(inbox)

    def flush(self) -> None:
        """Ring for what came within a pause."""
        with self._changing:
            late, self._late = self._late, set()
            self._rung.update(dict.fromkeys(late, time.monotonic()))
        for inbox in late:
            self._call(inbox)

    def _call(self, inbox: int) -> None:
        with suppress(InboxError):  # the database is away: who waits looks when it is back
            self._ring(inbox)


SOON: Final = "set_config('synchronous_commit', 'off', true)"
"""In the FROM of a statement: its transaction does not wait for the disk."""
SINCE: Final = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text"
"""The number of the first transaction that may not be visible yet (`following.py`)."""


EVERY: Final = 1.0
"""Seconds between two looks without a ring, and between two renewals of the lease, which
counts for five unless the database is set to more (`humanmcp.lives`)."""

PROBED_FOR: Final = 2.0
FIRST_TRY: Final = 0.1
RAREST_TRY: Final = 2.0
"""Seconds between two tries to reach a database that is away: they double."""

_LEASE: Final = """
INSERT INTO humanmcp.processes (host, pid) VALUES (%(host)s, %(pid)s)
RETURNING id, extract(epoch FROM humanmcp.lease())"""
_RENEW: Final = f"""
WITH before AS MATERIALIZED (SELECT humanmcp.lives(%(lease)s) AS lived)
INSERT INTO humanmcp.processes (id, host, pid) OVERRIDING SYSTEM VALUE
SELECT %(lease)s, %(host)s, %(pid)s FROM {SOON}
ON CONFLICT (id) DO UPDATE SET seen = clock_timestamp()
RETURNING (SELECT lived FROM before)"""

_PROBE: Final = "SELECT pg_notify('humanmcp', '0')"
"""Rings for no inbox."""


class Follower:
    """Follows a database in one thread, for all callers of this process."""

    def __init__(
        self, database: Database, channel: str = "humanmcp", probed_for: float = PROBED_FOR
    ) -> None:
        """Take a lease, and begin. `channel` is where the rings are heard."""
        self._db = database
        self._channel = channel
        self._probed_for = probed_for
        self._process: Final = {"host": socket.gethostname(), "pid": os.getpid()}
        self._renewed = time.monotonic()
        lease, lasts = database.run(_LEASE, **self._process)[0]
        self.lease = int(lease)
        self._lasts = float(lasts)
        self.lapses = 0
        """How often the lease may have ended: after each, sessions may be another process's."""
        self._looks: list[tuple[int, Callable[[], object]]] = []
        self._stop = threading.Event()
        self.hears = threading.Event()
        self.why_polling = ""
        """Why no ring is heard; "" where one is."""
        self._thread = threading.Thread(target=self._work, name="database", daemon=True)
        self._thread.start()

    def follow(self, inbox: int, look: Callable[[], object]) -> None:
        """Call `look` after each ring for this inbox, and once a second."""
        self._looks.append((inbox, look))

    def stop_following(self, look: Callable[[], object]) -> None:
        """Stop calling it."""
        for one in [one for one in self._looks if one[1] == look]:
            self._looks.remove(one)

    @property
    def is_lapsed(self) -> bool:
        """Return True if the lease has not been renewed in time: it may have ended."""
        return time.monotonic() - self._renewed > self._lasts

    def stop(self) -> None:
        """End, and let the lease lapse."""
        self._stop.set()
        with suppress(InboxError):
            self._db.run(_PROBE)  # it waits for a ring
        self._thread.join(2 * EVERY)

    # -- the thread -------------------------------------------------------------------------------

    def _work(self) -> None:
        leave_signals_to_the_main_thread()
        pause = FIRST_TRY
        while not self._stop.is_set():
            try:
                with self._db.connect() as connection:
                    self._renew(connection)
                    pause = FIRST_TRY
                    self._probe(connection)
                    self._listen(connection)
            except InboxError:
                pass  # it is away, and the log says so
            except self._db.errors as error:
                self._db.lost(error)
            self._stop.wait(pause)
            pause = min(2 * pause, RAREST_TRY)

    def _renew(self, connection: Connection[Row]) -> None:
        """Renew the lease; through the same connection, to know that the database is there."""
        now = time.monotonic()
        ((lived,),) = self._db.run(_RENEW, connection, lease=self.lease, **self._process)
        self.lapses += self.is_lapsed or not lived  # by our clock, or by that of the database
        self._renewed = now
        if self._db.away:
            self._db.back(connection)

    def _probe(self, connection: Connection[Row]) -> None:
        connection.execute(f"LISTEN {self._channel}".encode())
        self._db.run(_PROBE, connection)
        heard = tuple(connection.notifies(timeout=self._probed_for, stop_after=1))
        self.why_polling = "" if heard else "no rings are heard through this address (a pooler?)"
        if heard:
            self.hears.set()
        else:
            _log.warning("%s: %s", self._db.where, self.why_polling)
            self._db.forget_prepared()

    def _listen(self, connection: Connection[Row]) -> None:
        """Look whenever it rings, and once a second."""
        self._look(None)
        renewed = time.monotonic()
        while not self._stop.is_set():
            left = renewed + EVERY - time.monotonic()
            if left <= 0:
                self._renew(connection)
                self._look(None)
                renewed = time.monotonic()
            elif rung := self._rung(connection, left):
                self._look(rung)
                self._stop.wait(PAUSE)

    def _rung(self, connection: Connection[Row], seconds: float) -> set[int]:
        """Wait for rings, but not longer. Returns the inboxes that they are for."""
        if self.why_polling:
            self._stop.wait(seconds)
            return set()
        heard = connection.notifies(timeout=seconds, stop_after=1)
        return {int(one.payload) for one in heard if one.payload.isdecimal()}

    def _look(self, rung: set[int] | None) -> None:
        for inbox, look in tuple(self._looks):  # other threads add to them
            if rung is not None and inbox not in rung:
                continue
            try:
                look()
            except InboxError as error:
                _log.info("a look at inbox %s: %s", inbox, error)
            except Exception:  # noqa: BLE001 - whatever goes wrong there, following goes on
                _log.exception("a look at inbox %s failed", inbox)


_FEW: Final = 200
"""Rows of a table that a look expects at most; where there are more it asks for all of them."""


def _of(table: str, limit: str) -> str:
    """Return the rows of a table that have changed, as a part of a statement.

    In this order the first of them come from the index: a plan that is made once for any number
    expects a third of the table, and would read all of it.
    """
    of = f"FROM humanmcp.{table} WHERE changed >= %(since)s::xid8"
    return f"(SELECT * {of} ORDER BY changed {limit})"


def _changed(limit: str = "") -> str:
    this = "JOIN humanmcp.sessions s ON s.id = session"
    return f"""
SELECT s.name, number, e.changed::text, inbox FROM {_of("exchanges", limit)} e {this}
UNION ALL SELECT name, 0, changed::text, inbox FROM {_of("sessions", limit)} s
UNION ALL SELECT s.name, 0, seq::text, inbox FROM {_of("frames", limit)} f {this}"""


_CHANGED: Final = _changed(f"LIMIT {_FEW}")
_ALL_CHANGED: Final = f"SELECT * FROM ({_changed()}) one WHERE inbox = %(inbox)s"
_GONE: Final = """
SELECT name, 0, 'gone' FROM humanmcp.sessions WHERE inbox = %(inbox)s AND NOT ended
    AND owner NOT IN (SELECT id FROM humanmcp.processes WHERE humanmcp.lives(id)) AND NOT shared
UNION ALL SELECT s.name, e.number, 'gone' FROM humanmcp.exchanges e
    JOIN humanmcp.sessions s ON s.id = e.session AND s.inbox = %(inbox)s
    WHERE e.state = 'pending' AND e.owner IS NOT NULL AND NOT humanmcp.lives(e.owner)"""


class PostgresWatch:
    """Wakes with a session and the number of its exchange that may have changed, 0 for the rest.

    `wake` is called from the follower's thread and must not block. Watching starts with the `with`
    block: read everything after it was entered.
    """

    def __init__(self, database: Database, inbox: int, wake: Callable[[str, int], None]) -> None:
        self._db = database
        self._inbox = inbox
        self._wake = wake
        self._since = ""
        self._reported: set[tuple[str, int, str]] = set()
        self._gone: set[tuple[str, int, str]] = set()
        self._look_for_gone_at = 0.0

    @property
    def why_polling(self) -> str:
        """Why changes are found by looking only; "" while rings are heard."""
        return self._db.follower.why_polling

    def __enter__(self) -> Self:
        self._since = self._db.run(SINCE)[0][0]
        self._db.follower.follow(self._inbox, self._look)
        return self

    def __exit__(self, *_: object) -> None:
        self._db.follower.stop_following(self._look)

    def _look(self) -> None:
        until = self._db.run(SINCE)[0][0]
        rows = self._db.run(_CHANGED, since=self._since)
        if len(rows) >= _FEW:  # of any inbox
            rows = self._db.run(_ALL_CHANGED, inbox=self._inbox, since=self._since)
        found = {(name, number, mark) for name, number, mark, of in rows if of == self._inbox}
        now, gone = time.monotonic(), self._gone
        if now >= self._look_for_gone_at:  # nobody rings for it
            self._look_for_gone_at = now + EVERY / 2
            gone = set(self._db.run(_GONE, inbox=self._inbox))
        new = (found - self._reported) | (gone - self._gone)
        for name, number in sorted({(name, number) for name, number, _ in new}):
            self._wake(name, number)
        self._reported, self._since, self._gone = found, until, gone


TABLES: Final = Path(__file__).parent / "tables"
LOCK: Final = 0x68756D616E  # "human": one process at a time


def migrations() -> Iterator[tuple[int, str]]:
    """Return the number and the statements of each file, in order."""
    for file in sorted(TABLES.glob("[0-9]*.sql")):
        yield int(file.name[:4]), file.read_text(encoding="utf-8")


_THERE: Final = """
SELECT 1 FROM pg_tables WHERE schemaname = 'humanmcp' AND tablename = 'migrations'"""
NEWEST: Final = max(number for number, _ in migrations())
"""The number of the last file here."""


def migrate(connection: Connection[Any]) -> int:
    """Bring the tables up to date. Returns the number of the last migration that is there.

    0 stands for a database that cannot hold every text: its encoding is not UTF-8.
    """
    encoding = connection.execute("SHOW server_encoding").fetchone()
    if encoding != ("UTF8",):
        return 0
    if (applied := _applied(connection)) >= NEWEST:
        return applied
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        applied = _applied(connection)
        if not applied:
            connection.execute("CREATE SCHEMA IF NOT EXISTS humanmcp")
            connection.execute(
                "CREATE TABLE humanmcp.migrations (number int PRIMARY KEY,"
                " applied timestamptz NOT NULL DEFAULT now())"
            )
        for number, statements in migrations():
            if number > applied:
                connection.execute(statements.encode())
                connection.execute("INSERT INTO humanmcp.migrations VALUES (%s)", [number])
    return max(applied, NEWEST)


def _applied(connection: Connection[Any]) -> int:
    # Not `to_regclass`: who waited for the lock may remember that there was none.
    if not connection.execute(_THERE).fetchone():
        return 0
    found = connection.execute("SELECT coalesce(max(number), 0) FROM humanmcp.migrations")
    return int((found.fetchone() or (0,))[0])


Row = tuple[Any, ...]  # `Any`: what the columns of a statement hold

FLUSHED_AFTER: Final = 2.0
"""Seconds after which such a transaction is on the disk: at most three times `wal_writer_delay`,
which is 200 ms (https://www.postgresql.org/docs/current/wal-async-commit.html)."""

MOST_CONNECTIONS: Final = 8
WAITS: Final = 5.0
"""Seconds until an address that does not answer counts as away."""


SECTION: Final = "postgres"


class DatabaseError(InboxError):
    """The database cannot be used as it is: too old, too new, or without our tables."""

    section = SECTION


class DatabaseAwayError(StoreError):
    """The database does not answer, or does not take it. Nothing half-done is left."""

    section = SECTION

    def __init__(self, where: str, why: str) -> None:
        """Remember which one, and in its own words why."""
        InboxError.__init__(self, "database away", where=where, why=why)
        self.number = 0


def shown(url: str) -> str:
    """Return an address without what is secret in it: the scheme, the host and the name."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _reason(error: Exception, url: str) -> str:
    """Return the first line of the library's words, without the address: it may hold a password."""
    text = str(error).replace(url, shown(url))
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)


class Database:
    """One database, as a process sees it. Threads share it."""

    def __init__(self, url: str) -> None:
        """Connect, and bring the tables up to date.

        Raises:
            DatabaseAwayError: it does not answer.
            DatabaseError: it cannot be used, or the library for it is missing.
        """
        self.url = url
        self.where = shown(url)
        try:
            import psycopg  # noqa: PLC0415 - only those who have a database pay for it
            from psycopg_pool import ConnectionPool  # noqa: PLC0415 - likewise
        except ImportError as error:
            raise DatabaseError("no psycopg") from error
        self._psycopg = psycopg
        self._settings: dict[str, Any] = {  # `Any`: what the library takes
            "autocommit": True,
            "client_encoding": "utf8",
            "connect_timeout": int(WAITS),
            "tcp_user_timeout": int(WAITS * 1000),
        }
        self._unflushed: deque[tuple[float, str, Mapping[str, object]]] = deque()
        self._changing = threading.Lock()
        self._ringer = Ringer(self._ring)
        self.away = ""
        """Why the database is away, in its own words; "" while it is there."""
        with self.connect() as connection:
            self._migrate(connection)
        self._pool: ConnectionPool[Connection[Row]] = ConnectionPool(
            url,
            kwargs=self._settings,
            min_size=1,
            max_size=MOST_CONNECTIONS,
            timeout=WAITS,
            reconnect_timeout=0.0,
            open=True,
        )

    def _migrate(self, connection: Connection[Row]) -> None:
        try:
            there = migrate(connection)
        except self._psycopg.Error as error:
            raise DatabaseError(
                "no tables", where=self.where, why=_reason(error, self.url)
            ) from error
        if there == 0:
            raise DatabaseError("no utf-8", where=self.where)
        if there > NEWEST:
            raise DatabaseError("newer tables", where=self.where)

    def connect(self) -> Connection[Row]:
        """Open a connection of one's own.

        Raises:
            DatabaseAwayError: it does not answer.
        """
        try:
            return self._psycopg.connect(self.url, **self._settings)
        except self._psycopg.Error as error:
            self.away = _reason(error, self.url)
            raise DatabaseAwayError(self.where, self.away) from error

    def lost(self, error: Exception) -> DatabaseAwayError:
        """Note that the database is away. Returns what to raise."""
        why = _reason(error, self.url)
        if not self.away:
            _log.warning("%s is away: %s", self.where, why)
        self.away = why
        return DatabaseAwayError(self.where, why)

    def forget_prepared(self) -> None:
        """Prepare no statements any more: behind a pooler the next one may reach another server."""
        self._pool.kwargs = {**self._settings, "prepare_threshold": None}
        self._pool.drain()

    # -- statements -------------------------------------------------------------------------------

    def run(
        self, sql: str, on: Connection[Row] | None = None, /, **values: object
    ) -> Sequence[Row]:
        """Run one statement, which is one transaction unless it is part of one. Returns its rows.

        Raises:
            DatabaseAwayError: it was not done, or the connection was lost before one could tell.
        """
        if on is not None:
            return self._rows(on, sql, values)
        with self.connection() as connection:
            return self._rows(connection, sql, values)

    def run_soon(self, sql: str, **values: object) -> Sequence[Row]:
        """Run a statement that has `SOON` in it, and may be run twice.

        One that fails is run when the database is back.
        """
        with self._changing:
            now = time.monotonic()
            self._unflushed.append((now, sql, values))
            while not self.away and self._unflushed[0][0] < now - FLUSHED_AFTER:
                self._unflushed.popleft()
        return self.run(sql, **values)

    @contextmanager
    def connection(self) -> Iterator[Connection[Row]]:
        """Lend a connection of the pool; with `transaction()` for several statements in one."""
        if self.away:
            raise DatabaseAwayError(self.where, self.away)
        try:
            with self._pool.connection() as connection:
                yield connection
        except (self._psycopg.OperationalError, self._psycopg.InterfaceError) as error:
            raise self.lost(error) from error

    def _rows(
        self, connection: Connection[Row], sql: str, values: Mapping[str, object]
    ) -> list[Row]:
        cursor = connection.execute(sql.encode(), values)
        return cursor.fetchall() if cursor.description else []

    @property
    def errors(self) -> type[Exception]:
        """What the library raises, whatever went wrong."""
        return self._psycopg.Error

    @property
    def integrity_error(self) -> type[Exception]:
        """What a statement raises that would write something twice."""
        return self._psycopg.IntegrityError

    # -- coming back ------------------------------------------------------------------------------

    def back(self, connection: Connection[Row]) -> None:
        """Go on through a new connection. First comes what the disk may not have, once more."""
        with self._changing:
            now = time.monotonic()
            for index, (_, sql, values) in enumerate(self._unflushed):
                self._rows(connection, sql, values)
                self._unflushed[index] = now, sql, values
            self._pool.drain()
            self.away = ""
        _log.warning("%s is there again", self.where)

    # -- bells and leases -------------------------------------------------------------------------

    @cached_property
    def follower(self) -> Follower:
        """The one thread that serves all who wait or run sessions. It begins here."""
        return Follower(self)

    def ring(self, inbox: int) -> None:
        """Wake all who wait for something in an inbox."""
        self._ringer.ring(inbox)

    def _ring(self, inbox: int) -> None:
        self.run("SELECT pg_notify('humanmcp', %(inbox)s::text)", inbox=inbox)

    def close(self) -> None:
        """Send the pending rings, and close the connections."""
        self._ringer.flush()
        if "follower" in self.__dict__:
            self.follower.stop()
        self._pool.close()


@cache
def opened(url: str) -> Database:
    """Return the one database of this address in this process; it is closed at the end."""
    database = Database(url)
    atexit.register(database.close)
    return database
