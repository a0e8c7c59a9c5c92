"""The tables, as numbered files: each is applied once, in order, by the process that comes first.

A file that was published is never changed; what has to change comes in the next one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection

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
