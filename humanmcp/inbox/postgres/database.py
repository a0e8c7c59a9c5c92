"""The database: its address, its connections, and what becomes of trouble with it.

A database that is away is away for every caller at once: the first who notices says so, and until
one of our own threads has reached it again (`following.py`) none waits for it. What was written
without waiting for its disk (`run_soon`) is kept here until the disk has it, and written again when
the database comes back: it may have died before.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import deque
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from humanmcp.inbox.contract import InboxError, StoreError
from humanmcp.inbox.postgres.following import Follower, Ringer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from psycopg import Connection
    from psycopg_pool import ConnectionPool

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


_log = logging.getLogger(__name__)

Row = tuple[Any, ...]  # `Any`: what the columns of a statement hold

FLUSHED_AFTER: Final = 2.0
"""Seconds after which such a transaction is on the disk: at most three times `wal_writer_delay`,
which is 200 ms (https://www.postgresql.org/docs/current/wal-async-commit.html)."""

SCHEMES: Final = ("postgresql://", "postgres://")
MOST_CONNECTIONS: Final = 8
WAITS: Final = 5.0
"""Seconds until an address that does not answer counts as away."""


class DatabaseError(InboxError):
    """The database cannot be used as it is: too old, too new, or without our tables."""


class DatabaseAwayError(StoreError):
    """The database does not answer, or does not take it. Nothing half-done is left."""

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
        if not url.startswith(SCHEMES):
            raise DatabaseError("no address", where=url.partition(":")[0])
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
        """Run a statement that has `statements.SOON` in it, and may be run twice.

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
        """Ring what is still to be rung, and give the connections back."""
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
