"""A record that all processes of a database share."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.inbox.postgres.database import Database

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
