"""Who wants to know when something changes in an inbox is woken; what changed, it reads itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.inbox.postgres.statements import SINCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from humanmcp.inbox.postgres.database import Database

_OF: Final = "JOIN humanmcp.sessions s ON s.id = session AND s.inbox = %(inbox)s"
_NEW: Final = "changed >= %(since)s::xid8"
_CHANGED: Final = f"""
SELECT s.name, number, e.changed::text FROM humanmcp.exchanges e {_OF} WHERE e.{_NEW}
UNION ALL SELECT name, 0, changed::text FROM humanmcp.sessions
    WHERE inbox = %(inbox)s AND {_NEW}
UNION ALL SELECT s.name, 0, max(seq)::text FROM humanmcp.frames f {_OF} WHERE f.{_NEW}
    GROUP BY s.name
UNION ALL SELECT name, 0, 'gone' FROM humanmcp.sessions
    WHERE inbox = %(inbox)s AND NOT ended AND NOT humanmcp.lives(owner)"""


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
        self._told: set[tuple[str, int, str]] = set()

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
        found = set(self._db.run(_CHANGED, inbox=self._inbox, since=self._since))
        for name, number, _ in sorted(found - self._told):
            self._wake(name, number)
        self._told, self._since = found, until
