"""The inbox on PostgreSQL keeps every promise, and what is its own: bells, leases, migrations."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg
import pytest

from humanmcp.inbox.postgres.database import Database
from humanmcp.inbox.postgres.inbox import PostgresInbox
from tests.inbox.contract import InboxContract

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.inbox.contract import Inbox
    from tests.postgres_server import PostgresServer

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("postgres")]

NAMES: Final = itertools.count(1)


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
    page = (Path(__file__).parents[2] / "docs" / "reference" / "database.md").read_text("utf-8")
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
