"""Who wants to know when something changes in an inbox is woken; what changed, it reads itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from humanmcp.inbox.postgres.following import EVERY, SINCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from humanmcp.inbox.postgres.database import Database

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
    AND owner NOT IN (SELECT id FROM humanmcp.processes WHERE humanmcp.lives(id))"""


class PostgresWatch:
    """Wakes with a session and the number of its exchange that may have changed, 0 for the rest.

    `wake` is called from the follower's thread and must not block. Watching starts with the `with`
    block: read everything after it was entered.
    """

    def __init__(self, database: Database, inbox: int, wake: Callable[[str, int], None]) -> None:
        """Watch one inbox of the database."""
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
        """Start to watch."""
        self._since = self._db.run(SINCE)[0][0]
        self._db.follower.follow(self._inbox, self._look)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._db.follower.leave(self._look)

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
