"""Sessions in the database: who owns them, their facts, and their letters."""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING, Final

from humanmcp.extensions.postgres.database import SOON
from humanmcp.inbox import records
from humanmcp.inbox.contract import (
    Key,
    Life,
    NotHeldError,
    SessionFacts,
    StoreError,
    Tail,
    UnknownItemError,
)
from humanmcp.inbox.guest_folder import present_name
from humanmcp.inbox.letters import letter_of
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.transcript import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.extensions.postgres.database import Database, Row
    from humanmcp.protocol.conversation.transcript import Frame

_INBOX: Final = """
INSERT INTO humanmcp.inboxes (name) VALUES (%(name)s)
ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id"""
_BEGIN: Final = """
INSERT INTO humanmcp.sessions (inbox, name, http_id, visitor, facts, probe, owner)
VALUES (%(inbox)s, %(name)s, %(http_id)s, %(visitor)s, %(facts)s, true, %(owner)s)
ON CONFLICT DO NOTHING RETURNING id"""
_RESUME: Final = """
UPDATE humanmcp.sessions SET owner = %(owner)s, changed = pg_current_xact_id()
WHERE id = %(session)s AND NOT ended AND (owner = %(owner)s OR NOT humanmcp.lives(owner))
RETURNING id"""
_SIGN_OF_LIFE: Final = """
SELECT (p.id, p.seen)::text FROM humanmcp.processes p JOIN humanmcp.sessions s ON s.owner = p.id
WHERE s.id = %(session)s"""
_LEAVE: Final = """
UPDATE humanmcp.sessions SET owner = 0, changed = pg_current_xact_id()
WHERE id = %(session)s AND owner = %(owner)s"""
_AGAIN: Final = """
UPDATE humanmcp.replies SET taken = NULL WHERE session = %(session)s AND EXISTS (
    SELECT FROM humanmcp.exchanges e WHERE e.session = replies.session
    AND e.number = replies.number AND e.state = 'pending')"""
_WAITING: Final = """
SELECT number FROM humanmcp.exchanges
WHERE session = %(session)s AND state = 'pending' ORDER BY number"""
_DESCRIBE: Final = f"""
UPDATE humanmcp.sessions SET facts = %(facts)s, probe = %(probe)s, ended = %(ended)s,
    negotiated = coalesce(%(negotiated)s, negotiated), changed = pg_current_xact_id()
FROM {SOON} WHERE id = %(session)s"""
_LETTER: Final = """
WITH one AS (
    UPDATE humanmcp.inboxes SET letters = letters + 1
    WHERE id = %(inbox)s AND EXISTS (
        SELECT FROM humanmcp.sessions WHERE id = %(session)s AND letter IS NULL)
    RETURNING letters - 1 AS letter)
UPDATE humanmcp.sessions SET letter = one.letter, changed = pg_current_xact_id()
FROM one WHERE sessions.id = %(session)s AND sessions.letter IS NULL"""
_FACTS: Final = """
SELECT name, facts, letter, CASE WHEN shared THEN EXISTS (
    SELECT FROM humanmcp.exchanges e WHERE e.session = sessions.id
        AND e.state = 'pending' AND humanmcp.lives(e.owner))
    ELSE ended OR humanmcp.lives(owner) END
FROM humanmcp.sessions WHERE inbox = %(inbox)s"""
_JOIN: Final = """
INSERT INTO humanmcp.sessions (inbox, name, http_id, facts, probe, owner, shared)
VALUES (%(inbox)s, %(name)s, '', %(facts)s, false, 0, true)
ON CONFLICT DO NOTHING RETURNING id"""
FORGET_SESSION: Final = "DELETE FROM humanmcp.sessions WHERE id = %(session)s"
_FORGOTTEN: Final = """
SELECT true FROM humanmcp.forgotten WHERE inbox = %(inbox)s AND name = %(name)s"""
_SWEEP_LEFT: Final = """
UPDATE humanmcp.exchanges SET state = 'abandoned', changed = pg_current_xact_id()
WHERE session = %(session)s AND humanmcp.state_of(state, owner) <> state"""
_ENTER: Final = """
UPDATE humanmcp.sessions SET entered = entered + 1 WHERE id = %(session)s RETURNING entered"""
_TURN: Final = "SELECT facts FROM humanmcp.sessions WHERE id = %(session)s FOR UPDATE"
_LAST: Final = "SELECT coalesce(max(seq), 0) FROM humanmcp.frames WHERE session = %(session)s"
_APPEND: Final = """
INSERT INTO humanmcp.frames (session, seq, number, record)
VALUES (%(session)s, %(seq)s, %(number)s, humanmcp.keep(%(session)s, %(number)s, %(record)s))"""
_SHARED: Final = """
UPDATE humanmcp.sessions SET facts = %(facts)s, changed = pg_current_xact_id()
WHERE id = %(session)s"""
_HOLDS: Final = "SELECT holds FROM humanmcp.sessions WHERE id = %(session)s FOR UPDATE"
_HOLD: Final = """
UPDATE humanmcp.sessions SET holds = %(holds)s, changed = pg_current_xact_id()
WHERE id = %(session)s"""


def line_of(frame: Frame) -> str:
    """Return the line of a frame for the database."""
    return to_json(frame).encode("utf-8", "backslashreplace").decode()


def text_of(value: records.Record | tuple[object, ...]) -> str:
    """Return a record as text for the database; what UTF-8 cannot hold is escaped."""
    return records.encode(value).decode()


class _Owned:
    """A session that this process runs."""

    def __init__(self, facts: SessionFacts | None = None) -> None:
        self.facts = facts
        self.negotiated: NegotiatedState | None = None


class SessionRows:
    """The part of the inbox that knows sessions; the other parts stand on it."""

    def __init__(self, database: Database, name: str) -> None:
        self._db = database
        self._inbox = int(database.run(_INBOX, name=name)[0][0])
        self._ids: dict[str, int] = {}
        self._own: dict[int, _Owned] = {}

    @property
    def away(self) -> str:
        """Why the database cannot be reached now; "" while it can."""
        return self._db.away

    def _id(self, session: str) -> int:
        """Return the number of a session.

        Raises:
            UnknownItemError: there is none of this name.
        """
        if (known := self._ids.get(session)) is not None:
            return known
        if not records.is_session_name(session):
            raise UnknownItemError(repr(session))
        found = self._db.run(
            "SELECT id FROM humanmcp.sessions WHERE inbox = %(inbox)s AND name = %(name)s",
            inbox=self._inbox,
            name=session,
        )
        if not found:
            raise UnknownItemError(session)
        return self._ids.setdefault(session, int(found[0][0]))

    # -- the process that runs it ---------------------------------------------------------------

    def begin_session(self, facts: SessionFacts) -> str:
        if facts.name and not records.is_session_name(facts.name):
            raise ValueError(facts.name)
        started = facts.started or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        facts = facts._replace(started=started, life=Life.OPEN)
        while True:
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
            name = facts.name or records.session_name(stamp, os.urandom(2).hex())
            record = text_of(records.facts_record(facts))
            found = self._db.run(
                _BEGIN,
                inbox=self._inbox,
                name=name,
                http_id=facts.http.id,
                visitor=facts.http.visitor,
                facts=record,
                owner=self._db.follower.lease,
            )
            if found:
                break
            if facts.name:
                raise StoreError(FileExistsError(), "new session")
        self._ids[name] = int(found[0][0])
        owned = self._own[self._ids[name]] = _Owned()
        self._write_facts(owned, facts._replace(name=name))
        return name

    # -- a guest's session ----------------------------------------------------------------------

    def guest_session(self, name: str) -> str:
        return present_name(name, self._is_forgotten)

    def _is_forgotten(self, session: str) -> bool:
        return bool(self._db.run(_FORGOTTEN, inbox=self._inbox, name=session))

    def join(self, facts: SessionFacts) -> str:
        if not records.is_session_name(facts.name):
            raise ValueError(facts.name)
        name = self.guest_session(facts.name)
        record = text_of(records.facts_record(facts._replace(name=name)))
        with self._db.connection() as on, on.transaction():
            made = self._db.run(_JOIN, on, inbox=self._inbox, name=name, facts=record)
            if made:
                self._ids[name] = int(made[0][0])
            number = self._id(name)
            self._db.run(_LETTER, on, inbox=self._inbox, session=number)
            self._db.run(_SWEEP_LEFT, on, session=number)
        if self._is_forgotten(name):  # meanwhile: its name must not begin anew
            if made:
                self._db.run(FORGET_SESSION, session=number)
            self._ids.pop(name, None)
            return self.join(facts)
        self._own.setdefault(number, _Owned())
        return name

    def enter(self, session: str) -> Key:
        found = self._db.run(_ENTER, session=self._id(session))
        if not found:
            raise UnknownItemError(session)
        return Key(session, int(found[0][0]))

    def share(self, session: str, write: Callable[[Tail], tuple[Sequence[Frame], Tail]]) -> None:
        number = self._id(session)
        with self._db.connection() as on, on.transaction():
            rows = self._db.run(_TURN, on, session=number)
            if not rows:
                raise UnknownItemError(session)
            seq = int(self._db.run(_LAST, on, session=number)[0][0])  # it sees what came before us
            facts = records.read_facts(session, records.decode(rows[0][0]))
            frames, after = write(Tail(seq, facts.decisions, facts.last_decision))
            for frame in frames:
                named = {"seq": frame.seq, "number": frame.number, "record": line_of(frame)}
                self._db.run(_APPEND, on, session=number, **named)
            facts = facts._replace(decisions=after.decisions, last_decision=after.last_decision)
            record = text_of(records.facts_record(facts))
            self._db.run(_SHARED, on, session=number, facts=record)
        self._ring()

    def _owned(self, session: str) -> _Owned:
        owned = self._own.get(self._id(session))
        if owned is None:
            raise NotHeldError(session)
        return owned

    def orphaned_sessions(self, at: str) -> Sequence[SessionFacts]:
        rows = self._db.run(
            f"{_FACTS} AND NOT ended AND NOT humanmcp.lives(owner)",
            inbox=self._inbox,
        )
        return [facts for facts in map(_facts, rows) if facts.comes_back(at)]

    def session_by_http_id(self, http_id: str) -> SessionFacts | None:
        if not http_id.isascii() or "\0" in http_id:
            return None
        rows = self._db.run(f"{_FACTS} AND http_id = %(id)s", inbox=self._inbox, id=http_id)
        return next(map(_facts, rows), None)

    def of_visitor(self, visitor: str, /) -> Sequence[SessionFacts]:
        rows = self._db.run(
            f"{_FACTS} AND visitor = %(visitor)s AND NOT ended AND owner <> %(own)s ORDER BY id",
            inbox=self._inbox,
            visitor=visitor,
            own=self._db.follower.lease,
        )
        return [*map(_facts, rows)]

    def sign_of_life(self, session: str, /) -> str:
        """Return when the process that owns a session last renewed its lease."""
        rows = self._db.run(_SIGN_OF_LIFE, session=self._id(session))
        return str(rows[0][0]) if rows else "none"

    def resume(self, session: str) -> tuple[SessionFacts, Sequence[int]]:
        number = self._id(session)
        if number in self._own or not self._db.run(
            _RESUME, session=number, owner=self._db.follower.lease
        ):
            if self.facts(session).life is Life.CLOSED:
                raise UnknownItemError(session)
            raise StoreError(BlockingIOError(errno.EAGAIN, ""), "session", session=session)
        self._db.run(_AGAIN, session=number)
        facts = self.facts(session)._replace(pid=os.getpid(), letter="")
        owned = self._own[number] = _Owned()
        self._write_facts(owned, facts, lettered=True)
        waiting = self._db.run(_WAITING, session=number)
        return facts, [row[0] for row in waiting]

    def leave_session(self, session: str) -> None:
        self._owned(session)
        number = self._id(session)
        self._db.run(_LEAVE, session=number, owner=self._db.follower.lease)
        self._let_go(number, session)
        self._ring()

    def _let_go(self, number: int, session: str) -> None:  # noqa: ARG002 - for the parts above
        """Forget a session of this process."""
        self._own.pop(number, None)

    def describe(self, facts: SessionFacts, negotiated: NegotiatedState) -> None:
        owned = self._owned(facts.name)
        facts = facts._replace(life=Life.OPEN, letter="")
        if facts != owned.facts or negotiated != owned.negotiated:
            self._write_facts(owned, facts, negotiated)

    def _write_facts(
        self,
        owned: _Owned,
        facts: SessionFacts,
        negotiated: NegotiatedState | None = None,
        *,
        lettered: bool = False,
    ) -> None:
        new = negotiated is not None and negotiated != owned.negotiated
        number = self._ids[facts.name]
        if not facts.probe and not lettered and (owned.facts is None or owned.facts.probe):
            self._db.run(_LETTER, inbox=self._inbox, session=number)
        self._db.run_soon(
            _DESCRIBE,
            session=number,
            facts=text_of(records.facts_record(facts)),
            probe=facts.probe,
            ended=facts.life is not Life.OPEN,
            negotiated=text_of(negotiated) if new and negotiated else None,
        )
        owned.facts = facts
        owned.negotiated = negotiated or owned.negotiated
        self._ring()

    def _ring(self) -> None:
        """Wake all who wait for something in this inbox."""
        self._db.ring(self._inbox)

    # -- everybody ------------------------------------------------------------------------------

    def sessions(self) -> Sequence[SessionFacts]:
        rows = self._db.run(f"{_FACTS} AND NOT probe ORDER BY letter DESC", inbox=self._inbox)
        return [_facts(row) for row in rows]

    def probes(self) -> Sequence[SessionFacts]:
        """List the open sessions that were asked nothing but `server/discover` so far."""
        rows = self._db.run(f"{_FACTS} AND probe", inbox=self._inbox)
        return [one for one in map(_facts, rows) if one.is_open]

    def facts(self, session: str) -> SessionFacts:
        number = self._id(session)
        rows = self._db.run(f"{_FACTS} AND id = %(session)s", inbox=self._inbox, session=number)
        if not rows:
            raise UnknownItemError(session)
        return _facts(rows[0])

    def _column(self, session: str, column: str) -> str | None:
        rows = self._db.run(
            f"SELECT {column} FROM humanmcp.sessions WHERE id = %(session)s",
            session=self._id(session),
        )
        if not rows:
            raise UnknownItemError(session)
        kept: str | None = rows[0][0]
        return kept

    def negotiated(self, session: str) -> NegotiatedState:
        kept = self._column(session, "negotiated")
        return (
            NegotiatedState()
            if kept is None
            else records.read(NegotiatedState, records.decode(kept))
        )

    def holds(self, session: str) -> Sequence[str]:
        kept = self._column(session, "holds")
        return () if kept is None else records.read_holds(records.decode(kept))

    def change_holds(self, session: str, change: Callable[[Sequence[str]], Sequence[str]]) -> None:
        number = self._id(session)
        with self._db.connection() as on, on.transaction():
            rows = self._db.run(_HOLDS, on, session=number)
            kept = rows[0][0] if rows else None
            before = () if kept is None else records.read_holds(records.decode(kept))
            holds = text_of(records.holds_record(change(before)))
            self._db.run(_HOLD, on, session=number, holds=holds)
        self._ring()

    def hold(self, session: str, patterns: Sequence[str]) -> None:
        """Replace the patterns of messages that a tap holds."""
        holds = text_of(records.holds_record(patterns))
        self._db.run(_HOLD, session=self._id(session), holds=holds)
        self._ring()

    def handshake_is_by_hand(self) -> bool:
        sql = "SELECT handshake_by_hand FROM humanmcp.inboxes WHERE id = %(inbox)s"
        return bool(self._db.run(sql, inbox=self._inbox)[0][0])

    def answer_handshake_by_hand(self, *, on: bool) -> None:
        sql = "UPDATE humanmcp.inboxes SET handshake_by_hand = %(on)s WHERE id = %(inbox)s"
        self._db.run(sql, inbox=self._inbox, on=on)
        self._ring()


def _facts(row: Row) -> SessionFacts:
    name, record, letter, lives = row
    facts = records.read_facts(name, records.decode(record))
    facts = facts._replace(letter="" if letter is None else letter_of(letter))
    gone = Life.CLOSED if facts.role.traits.is_guest else Life.GONE
    return facts if lives else facts._replace(life=gone)
