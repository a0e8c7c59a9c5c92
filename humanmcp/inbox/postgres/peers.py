"""The other processes at the same inbox: which one runs a session, and what all of them share.

A process that serves an address writes it into the row of its lease, with a secret: who says the
secret has read the database, and so may pass requests on. An address on loopback means something
on its own machine only.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from humanmcp.inbox import records
from humanmcp.inbox.contract import Holder, Life
from humanmcp.protocol.http.lifetimes import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from humanmcp.inbox.contract import SessionFacts
    from humanmcp.inbox.postgres.database import Database

_HOLDER: Final = """
SELECT p.id, p.address, p.secret
FROM humanmcp.sessions s JOIN humanmcp.processes p ON p.id = s.owner
WHERE NOT s.ended AND s.owner <> %(lease)s AND humanmcp.lives(s.owner) AND p.address <> ''
AND (p.host = %(host)s OR p.address !~ '^(127[.]|[[]::1)') AND """
_OF_CLIENT: Final = f"{_HOLDER} s.http_id = %(http_id)s LIMIT 1"
_OF_VISITOR: Final = f"{_HOLDER} s.visitor = %(visitor)s LIMIT 1"
_LEFT_BY: Final = """
SELECT name, facts FROM humanmcp.sessions
WHERE visitor = %(visitor)s AND NOT ended AND NOT humanmcp.lives(owner) ORDER BY id"""
_LIVES: Final = "SELECT humanmcp.lives(%(process)s)"
_VISITED: Final = """
UPDATE humanmcp.sessions SET visitor = %(visitor)s WHERE name = %(name)s AND owner = %(owner)s"""


class PostgresPeers:
    """The processes of one database that serve an address, as one of them sees the others."""

    def __init__(self, database: Database, address: str) -> None:
        """Tell the others to reach this process at `address`, a host and port."""
        self._db = database
        follower = database.follower
        follower.serve(address)
        self.secret = str(follower.process["secret"])
        self._own = {"lease": follower.lease, "host": follower.process["host"]}

    def of_client(self, http_id: str) -> Holder | None:
        """Return the other process that runs the session of this `Mcp-Session-Id`."""
        if not http_id.isascii() or "\0" in http_id:
            return None
        return self._found(_OF_CLIENT, http_id=http_id)

    def of_visitor(self, who: Sequence[str]) -> Holder | None:
        """Return the other process that has sessions of a visitor."""
        return self._found(_OF_VISITOR, visitor=digest_of(who))

    def left_by(self, who: Sequence[str]) -> Sequence[SessionFacts]:
        """List the sessions of a visitor that no process runs, oldest first."""
        rows = self._db.run(_LEFT_BY, visitor=digest_of(who))
        found = (records.read_facts(name, records.decode(record)) for name, record in rows)
        return [facts._replace(life=Life.GONE) for facts in found]

    def _found(self, sql: str, **named: str) -> Holder | None:
        rows = self._db.run(sql, **self._own, **named)
        return Holder(*rows[0]) if rows else None

    def visited(self, session: str, who: Sequence[str]) -> None:
        """Tell the others that this session is one of a visitor's."""
        self._db.run(_VISITED, name=session, visitor=digest_of(who), owner=self._own["lease"])

    def lives(self, holder: Holder) -> bool:
        """Return True if a process renews its lease."""
        return bool(self._db.run(_LIVES, process=holder.process)[0][0])


_MAKE: Final = "INSERT INTO humanmcp.shared (name) VALUES (%(name)s) ON CONFLICT DO NOTHING"
_READ: Final = "SELECT record FROM humanmcp.shared WHERE name = %(name)s"
_WRITE: Final = "UPDATE humanmcp.shared SET record = %(record)s WHERE name = %(name)s"


class PostgresRecord:
    """A text under a name."""

    def __init__(self, database: Database, name: str) -> None:
        """Have it in the database."""
        self._db = database
        self._name = name
        database.run(_MAKE, name=name)

    def read(self) -> str:
        """Return the text, "" at first."""
        return str(self._db.run(_READ, name=self._name)[0][0])

    @contextmanager
    def changing(self) -> Iterator[list[str]]:
        """Lend the text in a list, and keep what stands there at the end of the block."""
        with self._db.connection() as on, on.transaction():
            before = str(self._db.run(f"{_READ} FOR UPDATE", on, name=self._name)[0][0])
            box = [before]
            yield box
            if box[0] != before:
                self._db.run(_WRITE, on, name=self._name, record=box[0])
