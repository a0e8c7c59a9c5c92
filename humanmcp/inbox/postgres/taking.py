"""What a process takes from the database for the sessions that it runs: replies, drafts, sayings.

One look serves all sessions of the process. Where a bell hangs, looks are taken by the follower's
thread and a session is told when there is something for it; else each question takes one.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, TypeVar

from humanmcp.inbox import layout, records
from humanmcp.inbox.contract import Key, UnknownItemError
from humanmcp.inbox.postgres.exchanges import ExchangeRows
from humanmcp.inbox.postgres.following import SINCE, SOON
from humanmcp.inbox.postgres.sessions import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from humanmcp.inbox.contract import Draft, Reply, SessionFacts
    from humanmcp.inbox.postgres.database import Database
    from humanmcp.protocol.diagnostics.model import Diagnostic

_Came = TypeVar("_Came")
_MINE: Final = "s.owner = %(owner)s AND s.inbox = %(inbox)s AND NOT s.ended"
_TAKE: Final = f"""
UPDATE humanmcp.replies r SET taken = %(owner)s
FROM humanmcp.sessions s, humanmcp.exchanges e, {SOON}
WHERE {{}} AND s.id = r.session AND {_MINE}
    AND e.session = r.session AND e.number = r.number AND e.state = 'pending'
RETURNING s.name, r.number, r.record, r.sent"""
_NEW: Final = _TAKE.format("r.taken IS NULL")
_AGAIN: Final = _TAKE.format("(r.taken IS NULL OR r.taken = %(owner)s)")
_DRAFTS: Final = f"""
SELECT s.name, e.number, d.record, d.saved
FROM humanmcp.exchanges e JOIN humanmcp.sessions s ON s.id = e.session AND {_MINE}
JOIN humanmcp.drafts d ON d.session = e.session AND d.number = e.number AND d.place = 0
WHERE e.changed >= %(since)s::xid8 AND e.state = 'pending' AND d.saved > 0"""
_OUTGOING: Final = f"""
SELECT s.name, y.ticket, y.record FROM humanmcp.sayings y
JOIN humanmcp.sessions s ON s.id = y.session AND {_MINE}
WHERE y.result IS NULL ORDER BY y.ticket"""
_SAY: Final = """
WITH one AS (UPDATE humanmcp.sessions SET said = said + 1 WHERE id = %(session)s RETURNING said)
INSERT INTO humanmcp.sayings (session, ticket, record)
SELECT %(session)s, said, %(record)s FROM one RETURNING ticket"""
_SETTLE: Final = """
UPDATE humanmcp.sayings SET result = %(result)s
WHERE session = %(session)s AND ticket = %(ticket)s RETURNING ticket"""
_NOW: Final = f"{SINCE}, (SELECT opening_held FROM humanmcp.inboxes WHERE id = %(inbox)s)"
_LOST: Final = """
SELECT name, id FROM humanmcp.sessions WHERE id = ANY(%(mine)s) AND owner <> %(owner)s"""
_RESULT: Final = """
SELECT result FROM humanmcp.sayings WHERE session = %(session)s AND ticket = %(ticket)s"""


class PostgresBell:
    """The bell of a session of this process."""

    def __init__(self, inbox: Taking, session: str) -> None:
        """Make the bell of this session."""
        self._inbox = inbox
        self._session = session

    def listen(self, rung: Callable[[], object]) -> None:
        """Call `rung` from the follower's thread when there is something for the session."""
        self._inbox.hear(self._session, rung)


class Taking(ExchangeRows):
    """The part of the inbox that delivers what people submit to a session."""

    def __init__(self, database: Database, name: str) -> None:
        """Use the inbox of this name in the database."""
        super().__init__(database, name)
        self._looking = threading.RLock()
        self._rung: dict[str, Callable[[], object]] = {}
        self._since = "0"
        self._replies: dict[str, list[tuple[Key, Reply]]] = {}
        self._drafts: dict[str, list[tuple[Key, Draft]]] = {}
        self._saved: dict[Key, int] = {}
        self._taken: dict[Key, int] = {}
        self._unsure = False
        self._outgoing: dict[str, list[tuple[str, Reply]]] = {}
        self._opening_held = False
        self._is_followed = False
        self._lapses = 0
        """How many lapses of the lease were looked into."""

    # -- looking ----------------------------------------------------------------------------------

    def bell(self, session: str) -> PostgresBell:
        """Return what rings when there is something for a session of this process."""
        self._owned(session)
        return PostgresBell(self, session)

    def hear(self, session: str, rung: Callable[[], object]) -> None:
        """Call `rung` when there is something for a session."""
        self._rung[session] = rung
        if not self._is_followed:
            self._look_and_wake()
            self._is_followed = True
            self._db.follower.follow(self._inbox, self._look_and_wake)

    def _look_and_wake(self) -> None:
        for session in self._look():
            if (rung := self._rung.get(session)) is not None:
                rung()

    def _look_now(self) -> None:
        if not self._is_followed:
            self._look()

    def _look(self) -> set[str]:
        """Read what came for the sessions of this process. Return those sessions."""
        mine = {"owner": self._db.follower.lease, "inbox": self._inbox}
        with self._looking:
            if (lapses := self._db.follower.lapses) != self._lapses:
                self._find_lost()
                self._lapses = lapses
            until, opening_held = self._db.run(_NOW, **mine)[0]
            self._take(mine)
            for name, number, record, saved in self._db.run(_DRAFTS, since=self._since, **mine):
                key = Key(name, number)
                if self._saved.get(key) != saved:
                    self._saved[key] = saved
                    draft = records.read_draft(records.decode(record))
                    self._drafts.setdefault(name, []).append((key, draft))
            outgoing: dict[str, list[tuple[str, Reply]]] = {}
            for name, ticket, record in self._db.run(_OUTGOING, **mine):
                reply = records.read_reply(records.decode(record))
                outgoing.setdefault(name, []).append((layout.exchange_name(ticket), reply))
            self._outgoing = outgoing
            self._opening_held = bool(opening_held)
            self._since = until
            return {*self._replies, *self._drafts, *outgoing}

    def _take(self, mine: Mapping[str, int]) -> None:
        """Return the new replies; also those of a failed attempt, which may have taken them."""
        again, self._unsure = self._unsure, True
        taken = self._db.run(_AGAIN if again else _NEW, **mine)
        self._unsure = False
        for name, number, record, sent in sorted(taken, key=lambda row: row[3]):
            key = Key(name, number)
            if self._taken.get(key) != sent:
                self._taken[key] = sent
                reply = records.read_reply(records.decode(record))
                self._replies.setdefault(name, []).append((key, reply))

    def _find_lost(self) -> None:
        """Release the sessions that another process owns now, and notify them."""
        mine = {"mine": list(self._own), "owner": self._db.follower.lease}
        for name, number in self._db.run(_LOST, **mine):
            rung = self._rung.get(name)
            self._let_go(number, name)
            if rung is not None:
                rung()

    def is_held(self, session: str) -> bool | None:
        """Return True while this process runs the session; None while it cannot know."""
        follower = self._db.follower
        if self._ids.get(session) not in self._own:
            return False
        return None if follower.is_lapsed or self._lapses != follower.lapses else True

    # -- the server's side ------------------------------------------------------------------------

    def take(self, session: str) -> Sequence[tuple[Key, Reply]]:
        """Return the replies that were sent since the last call, oldest first."""
        return self._come(session, self._replies)

    def drafts(self, session: str) -> Sequence[tuple[Key, Draft]]:
        """Return the drafts that were saved since the last call."""
        return self._come(session, self._drafts)

    def outgoing(self, session: str) -> Sequence[tuple[str, Reply]]:
        """Return the unsettled outgoing messages as (ticket, reply)."""
        self._look_now()
        return self._outgoing.get(session, [])

    def _come(self, session: str, came: dict[str, list[_Came]]) -> list[_Came]:
        self._look_now()
        with self._looking:
            return came.pop(session, [])

    def resume(self, session: str) -> tuple[SessionFacts, Sequence[int]]:
        """Take over a session whose process is gone, and read everything saved in it."""
        found = super().resume(session)
        self._since = "0"
        return found

    def _let_go(self, number: int, session: str) -> None:
        super()._let_go(number, session)
        with self._looking:
            self._rung.pop(session, None)
            for came in (self._replies, self._drafts, self._outgoing):
                came.pop(session, None)
            for seen in (self._saved, self._taken):
                for key in [key for key in seen if key.session == session]:
                    del seen[key]

    def opening_is_held(self) -> bool:
        """Return True if people answer the handshake of every session."""
        return self._opening_held if self._is_followed else super().opening_is_held()

    def settle(self, session: str, ticket: str, diagnostics: Sequence[Diagnostic]) -> None:
        """Store the result of an outgoing message."""
        result = text_of(records.diagnostics_record(diagnostics))
        this = self._outgoing_place(session, ticket)
        if not self._db.run(_SETTLE, **this, result=result):
            raise UnknownItemError(f"{session}/{ticket}")
        with self._looking:
            left = [one for one in self._outgoing.get(session, []) if one[0] != ticket]
            self._outgoing[session] = left
        self._ring()

    # -- the desk's side ------------------------------------------------------------------------

    def submit(self, session: str, reply: Reply) -> str:
        """Submit an outgoing message. Return its ticket."""
        record = text_of(records.record_of(reply))
        found = self._db.run(_SAY, session=self._id(session), record=record)
        if not found:
            raise UnknownItemError(session)
        self._ring()
        return layout.exchange_name(found[0][0])

    def refused(self, session: str, ticket: str) -> tuple[Diagnostic, ...] | None:
        """Return an outgoing message's result: None while it waits, () if sent, else problems."""
        found = self._db.run(_RESULT, **self._outgoing_place(session, ticket))
        if not found:
            raise UnknownItemError(f"{session}/{ticket}")
        result = found[0][0]
        return None if result is None else records.read_diagnostics(records.decode(result))

    def _outgoing_place(self, session: str, ticket: str) -> dict[str, int]:
        number = layout.exchange_number(ticket)
        if number is None or number >= 2**31:
            raise UnknownItemError(f"{session}/{ticket!r}")
        return {"session": self._id(session), "ticket": number}
