"""The inbox on PostgreSQL, whole: its parts, the transcript, the end of sessions, and forgetting.

The text files of a session lie on the machine of the process that runs it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from humanmcp.common.settings import make_private
from humanmcp.inbox import forgetting
from humanmcp.inbox.contract import Life
from humanmcp.inbox.postgres.exchanges import Taking
from humanmcp.inbox.postgres.following import SOON, PostgresWatch
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from humanmcp.inbox.contract import Key
    from humanmcp.inbox.postgres.database import Database, Row
    from humanmcp.protocol.conversation.transcript import Frame

TEXTS: Final = "texts"
"""The folder below the home with a folder for each session that a process of this machine ran."""

_RECORD: Final = """
INSERT INTO humanmcp.frames (session, seq, number, record)
SELECT %(session)s, seq, number, humanmcp.keep(%(session)s, number, record)
FROM (SELECT FROM humanmcp.sessions WHERE id = %(session)s AND owner = %(owner)s FOR SHARE) AS own,
    (VALUES {}) AS line (seq, number, record), {} ON CONFLICT DO NOTHING RETURNING seq"""
_FRAMES: Final = """
SELECT humanmcp.whole(record), seq FROM humanmcp.frames WHERE session = %(session)s """
_PAGE: Final = 500
_ABANDON: Final = """
UPDATE humanmcp.exchanges SET state = 'abandoned', changed = pg_current_xact_id()
WHERE session = %(session)s AND state = 'pending'
AND coalesce(wait::json ->> 'parked', '') = ''"""
_FORGET: Final = """
WITH large AS (
    DELETE FROM humanmcp.large WHERE session = %(session)s AND number = %(number)s)
DELETE FROM humanmcp.exchanges WHERE session = %(session)s AND number = %(number)s"""
_BLANK: Final = """
UPDATE humanmcp.frames SET record = %(record)s, changed = pg_current_xact_id()
WHERE session = %(session)s AND seq = %(seq)s"""
_SWEEP: Final = (
    """DELETE FROM humanmcp.processes WHERE NOT humanmcp.lives(id)
    AND seen < clock_timestamp() - interval '1 minute'""",
    "DELETE FROM humanmcp.writers WHERE seen < clock_timestamp() - interval '1 hour'",
    # A dump that was read into another database has numbers that are still to come there.
    *(
        f"UPDATE humanmcp.{table} SET changed = '0' WHERE changed > pg_current_xact_id()"
        for table in ("sessions", "exchanges", "frames")
    ),
)


class PostgresInbox(Taking):
    """An inbox in a database. Threads may share one; every process makes its own."""

    def __init__(self, database: Database, home: Path, name: str = "") -> None:
        """Use the inbox of this name in the database; text files lie below `home`."""
        super().__init__(database, name)
        self.home = home

    def folder(self, session: str) -> Path:
        """Return the folder on this machine for the text files of a session."""
        self._id(session)
        return make_private(make_private(self.home / TEXTS) / session)

    def watch(self, wake: Callable[[str, int], None]) -> PostgresWatch:
        """Return what wakes with a session and the number of its exchange that may have changed."""
        return PostgresWatch(self._db, self._inbox, wake)

    def sweep(self) -> None:
        """Take away what belongs to no session any more."""
        for statement in _SWEEP:
            self._db.run(statement)

    # -- the transcript -------------------------------------------------------------------------

    def record(self, session: str, *frames: Frame, durable: bool = False) -> None:
        """Append frames to the transcript. Durable ones are on the disk when this returns.

        A process that does not run the session any more adds nothing to it, and so says nothing.
        """
        self._owned(session)
        run = self._db.run if durable else self._db.run_soon
        if not run(
            _recording(len(frames), durable=durable),
            session=self._ids[session],
            owner=self._db.follower.lease,
            **{f"seq{at}": one.seq for at, one in enumerate(frames)},
            **{f"number{at}": one.number for at, one in enumerate(frames)},
            **{f"record{at}": _line(one) for at, one in enumerate(frames)},
        ):
            self._find_lost()
            self._owned(session)
        self._ring()

    def frames(self, session: str, after: int = 0) -> Iterator[Frame]:
        """Read the frames of the transcript whose `seq` is greater than `after`."""
        return self._frames(self._id(session), after)

    def _frames(self, session: int, after: int) -> Iterator[Frame]:
        sql = f"{_FRAMES} AND seq > %(after)s ORDER BY seq LIMIT {_PAGE}"
        while rows := self._db.run(sql, session=session, after=after):
            yield from map(_frame, rows)
            after = rows[-1][1]

    def last_frames_before(
        self, session: str, seq: int, count: int, word: str = ""
    ) -> Sequence[Frame]:
        """Read the last `count` frames of the transcript before number `seq`."""
        bound = "AND seq < %(seq)s" if seq else ""
        held = "AND humanmcp.whole(record) ILIKE %(held)s" if word else ""
        sql = f"{_FRAMES} {bound} {held} ORDER BY seq DESC LIMIT %(count)s"
        values = {"seq": seq, "count": count, "held": f"%{word}%"}
        rows = self._db.run(sql, session=self._id(session), **values)
        return [_frame(row) for row in reversed(rows)]

    # -- the end --------------------------------------------------------------------------------

    def end(self, session: str) -> None:
        """Close a session in order. What is still pending and not parked becomes abandoned."""
        owned = self._own.get(self._id(session))
        if owned is None:
            self.facts(session)  # ended before, or never there
            return
        number = self._ids[session]
        try:
            self._db.run(_ABANDON, session=number)
            facts = owned.facts or self.facts(session)
            self._write_facts(owned, facts._replace(life=Life.CLOSED))
        finally:
            self._let_go(number, session)

    def forget(self, key: Key) -> None:
        """Forget a finished exchange, with every copy of its texts."""
        facts, item = self.facts(key.session), self.item(key)
        if item.state is ExchangeState.PENDING and facts.life is Life.OPEN:
            raise forgetting.NotForgottenError("still waits", number=key.number)
        mine = [frame for frame in self.frames(key.session) if frame.number == key.number]
        forgetting.forget_texts(self.home / TEXTS / key.session, facts, mine)
        this = self._this(key)
        with self._db.connection() as on, on.transaction():
            for frame in mine:
                left = _line(forgetting.without_words(frame))
                self._db.run(_BLANK, on, session=this["session"], seq=frame.seq, record=left)
            self._db.run(_FORGET, on, **this)
        self._ring()

    def forget_session(self, session: str) -> None:
        """Forget a session that is over, with everything in it."""
        facts = self.facts(session)
        if facts.life is Life.OPEN:
            raise forgetting.NotForgottenError("still runs", session=facts.letter or facts.name)
        forgetting.forget_texts(self.home / TEXTS / session, facts, self.frames(session))
        sql = "DELETE FROM humanmcp.sessions WHERE id = %(session)s"
        self._db.run(sql, session=self._ids.pop(session))
        self._ring()


@cache
def _recording(count: int, *, durable: bool) -> str:
    """Return the statement that records so many frames; an array of them takes twice as long."""
    rows = (
        f"(%(seq{at})s::bigint, %(number{at})s::bigint, %(record{at})s::text)"
        for at in range(count)
    )
    return _RECORD.format(", ".join(rows), "(SELECT) AS now" if durable else SOON)


def _line(frame: Frame) -> str:
    return to_json(frame).encode("utf-8", "backslashreplace").decode()


def _frame(row: Row) -> Frame:
    return from_json(row[0])
