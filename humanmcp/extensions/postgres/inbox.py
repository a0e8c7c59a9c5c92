"""The inbox on PostgreSQL, whole: exchanges with their drafts and replies, the transcript, the end.

Each change of an exchange is one statement. The text files of a session lie on the machine of the
process that runs it.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

from humanmcp.common.settings import make_private
from humanmcp.extensions.postgres.database import SINCE, SOON, PostgresWatch, opened
from humanmcp.extensions.postgres.sessions import FORGET_SESSION, SessionRows, line_of, text_of
from humanmcp.inbox import forgetting, records
from humanmcp.inbox.contract import (
    WRITES_FOR,
    InboxError,
    Key,
    Life,
    OutgoingResult,
    Purpose,
    StoreError,
    TakenError,
    UnknownItemError,
    Writer,
)
from humanmcp.inbox.form_drafts import FormDrafts
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from psycopg import Connection

    from humanmcp.extensions.postgres.database import Database, Row
    from humanmcp.inbox.contract import Answer, Draft, Item, Reply, SessionFacts, Waiting
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.diagnostics.model import Diagnostic

_Value = TypeVar("_Value")
_LARGEST: Final = 2**63 - 1
_THIS: Final = "session = %(session)s AND number = %(number)s"
_NOW: Final = "changed = pg_current_xact_id()"

_DELIVER: Final = """
WITH new AS (
    INSERT INTO humanmcp.exchanges (session, number, request, wait, problems, owner, state, ending)
    VALUES (%(session)s, %(number)s, humanmcp.keep(%(session)s, %(number)s, %(request)s),
            %(wait)s, %(problems)s, %(owner)s, %(state)s, %(ending)s)
    RETURNING session, number)
INSERT INTO humanmcp.drafts (session, number, place, saved, record)
SELECT session, number, 0, 0, %(draft)s::text FROM new WHERE %(draft)s::text IS NOT NULL"""
_UPDATE: Final = f"""
UPDATE humanmcp.exchanges SET {_NOW}, wait = %(wait)s, request = CASE
    WHEN %(request)s::text IS NULL THEN request
    ELSE humanmcp.keep(%(session)s, %(number)s, %(request)s) END
FROM {SOON} WHERE {_THIS} AND state = 'pending'"""
_CLOSE: Final = f"""
UPDATE humanmcp.exchanges SET {_NOW}, state = %(state)s, ending = %(ending)s
FROM {SOON} WHERE {_THIS} AND state = 'pending' RETURNING number"""
_ITEMS: Final = """
SELECT e.number, humanmcp.state_of(e.state, e.owner), humanmcp.whole(e.request), e.wait,
    e.problems, e.ending, d.record, r.record, e.state <> 'pending' AND r.taken IS NULL,
    ARRAY(SELECT k.record FROM humanmcp.drafts k WHERE k.session = e.session
          AND k.number = e.number AND k.place > 0 ORDER BY k.place)
FROM humanmcp.exchanges e
LEFT JOIN humanmcp.drafts d ON d.session = e.session AND d.number = e.number AND d.place = 0
LEFT JOIN humanmcp.replies r ON r.session = e.session AND r.number = e.number
WHERE e.session = %(session)s AND """
_SAVE: Final = f"""
WITH one AS (UPDATE humanmcp.exchanges SET {_NOW} WHERE {_THIS} RETURNING session, number)
INSERT INTO humanmcp.drafts (session, number, place, saved, record)
SELECT session, number, 0, nextval('humanmcp.order_of'), %(record)s FROM one
ON CONFLICT (session, number, place) DO UPDATE SET saved = excluded.saved, record = excluded.record
RETURNING saved"""
_KEEP: Final = f"""
WITH one AS (UPDATE humanmcp.exchanges SET {_NOW} WHERE {_THIS} RETURNING session, number)
INSERT INTO humanmcp.drafts (session, number, place, saved, record)
SELECT session, number, nextval('humanmcp.order_of'), 0, %(record)s FROM one RETURNING place"""
_DROP: Final = f"DELETE FROM humanmcp.drafts WHERE {_THIS} AND place = %(place)s"
_DRAFT: Final = f"SELECT record FROM humanmcp.drafts WHERE {_THIS} AND place = 0"
_KEPT: Final = f"""
SELECT place, record FROM humanmcp.drafts WHERE {_THIS} AND place > 0 ORDER BY place"""
_SEND: Final = f"""
WITH pending AS (
    UPDATE humanmcp.exchanges SET {_NOW} WHERE {_THIS} AND state = 'pending'
    RETURNING session, number)
INSERT INTO humanmcp.replies (session, number, record)
SELECT session, number, %(record)s FROM pending ON CONFLICT DO NOTHING RETURNING sent"""
_TAKE_PARKED: Final = f"""
UPDATE humanmcp.replies SET taken = %(owner)s WHERE {_THIS} RETURNING record"""
_IN_TURN: Final = f"SELECT FROM humanmcp.exchanges WHERE {_THIS} FOR UPDATE"
_FETCHED: Final = f"""
UPDATE humanmcp.exchanges SET {_NOW}, ending = %(ending)s WHERE {_THIS}"""
_NOTE_WRITER: Final = """
INSERT INTO humanmcp.writers (inbox, page, name, session, number)
VALUES (%(inbox)s, %(page)s, %(name)s, %(session)s, %(number)s)
ON CONFLICT (inbox, page) DO UPDATE SET seen = excluded.seen, name = excluded.name,
    session = excluded.session, number = excluded.number"""
_CLEAR_WRITER: Final = """
DELETE FROM humanmcp.writers WHERE inbox = %(inbox)s AND page = %(page)s"""
_WRITERS: Final = f"""
SELECT s.name, w.number, w.page, w.name FROM humanmcp.writers w
JOIN humanmcp.sessions s ON s.id = w.session
WHERE w.inbox = %(inbox)s
    AND w.seen BETWEEN clock_timestamp() - interval '{WRITES_FOR} s' AND clock_timestamp()
ORDER BY w.seen"""
_LOCK: Final = f"""
SELECT state FROM humanmcp.exchanges WHERE {_THIS} FOR UPDATE"""
_REFUSE: Final = f"""
UPDATE humanmcp.exchanges SET {_NOW}, problems = %(problems)s WHERE {_THIS}"""
_GIVE_BACK: Final = f"""
WITH gone AS (DELETE FROM humanmcp.replies WHERE {_THIS})
INSERT INTO humanmcp.drafts (session, number, place, saved, record)
VALUES (%(session)s, %(number)s, 0, 0, %(record)s)
ON CONFLICT (session, number, place) DO UPDATE SET saved = 0, record = excluded.record"""


class ExchangeRows(SessionRows):
    """The part of the inbox that knows exchanges."""

    def _this(self, key: Key) -> dict[str, int]:
        """Return what names an exchange in a statement."""
        session = self._id(key.session)
        if not 0 < key.number <= _LARGEST:
            raise UnknownItemError(f"{key.session}/{key.number}")
        return {"session": session, "number": key.number}

    # -- the server's side ------------------------------------------------------------------------

    def deliver(self, item: Item) -> None:
        if item.key.number < 1:
            raise ValueError(item.key)
        self._owned(item.key.session)
        is_over = item.state is not ExchangeState.PENDING
        ending = records.close_record(item.state, item.answer, item.reason) if is_over else None
        try:
            self._db.run(
                _DELIVER,
                **self._this(item.key),
                request=text_of(records.request_record(item)),
                wait=text_of(item.waiting),
                problems=text_of(records.diagnostics_record(item.diagnostics))
                if item.diagnostics
                else None,
                draft=None if item.draft is None else text_of(item.draft),
                state=item.state.value,
                ending=None if ending is None else text_of(ending),
                owner=self._db.follower.lease if item.purpose is Purpose.PROMPT else None,
            )
        except self._db.integrity_error as error:
            raise StoreError(FileExistsError(), "item", number=item.key.number) from error
        self._ring()

    def update(self, key: Key, *, line: str, id: str, waiting: Waiting) -> None:  # noqa: A002 - the protocol's own word
        """Replace the request and how long it may wait. After it was closed nothing changes."""
        self._may_settle(key)
        item = self.item(key)
        same = (item.line, item.id) == (line, id)
        request = None if same else records.request_record(item._replace(line=line, id=id))
        self._db.run_soon(
            _UPDATE,
            **self._this(key),
            wait=text_of(waiting),
            request=None if request is None else text_of(request),
        )
        self._ring()

    def refuse(self, key: Key, diagnostics: Sequence[Diagnostic]) -> None:
        self._may_settle(key)
        this = self._this(key)
        with self._db.connection() as on, on.transaction():
            self._db.run(_LOCK, on, **this)
            item = self._read(key, on)
            if item.state is not ExchangeState.PENDING:  # there is nobody to give it back to
                return
            if item.reply is not None:
                text, beside = item.reply.given_back(item.draft)
                if beside is not None:
                    self._db.run(_KEEP, on, **this, record=text_of(beside))
                self._db.run(_GIVE_BACK, on, **this, record=text_of(text))
            why = text_of(records.diagnostics_record(diagnostics))
            self._db.run(_REFUSE, on, **this, problems=why)
        self._ring()

    def close(
        self, key: Key, state: ExchangeState, answer: Answer | None = None, reason: str = ""
    ) -> None:
        """Move an exchange to its last state. The draft is kept beside it.

        A reply that was not taken then came too late: something else was sent, or nothing. Its text
        is read as a kept one (`_item`).
        """
        if state is ExchangeState.PENDING:
            raise ValueError(state)
        self._may_settle(key)
        ending = None
        if answer is not None or reason:
            ending = text_of(records.close_record(state, answer, reason))
        this = self._this(key)
        if not self._db.run_soon(_CLOSE, **this, state=state.value, ending=ending):
            self.item(key)  # closed before: nothing to do
        self._ring()

    def _may_settle(self, key: Key) -> None:
        """Raise an error unless it is ours or a guest's, or parked in a session that is over."""
        if self.facts(key.session).role.traits.is_guest:
            return
        if self.facts(key.session).is_open or not self.item(key).waiting.parked.ticket:
            self._owned(key.session)

    def take_parked(self, key: Key) -> Reply | None:
        rows = self._db.run(_TAKE_PARKED, **self._this(key), owner=self._db.follower.lease)
        return records.read_reply(records.decode(rows[0][0])) if rows else None

    def leave(self, key: Key) -> None:
        with suppress(InboxError):
            self.close(key, ExchangeState.ABANDONED)

    def fetched(self, key: Key, at: str, became: str = "", after: str = "") -> bool:
        with self._db.connection() as on, on.transaction():
            self._db.run(_IN_TURN, on, **self._this(key))
            item = self.item(key)
            if item.answer is None:
                return False
            if (item.answer.became if after else item.answer.fetched) != after:
                return False
            answer = item.answer._replace(fetched=at, became=became)
            ending = text_of(records.close_record(item.state, answer, item.reason))
            self._db.run(_FETCHED, on, **self._this(key), ending=ending)
        self._ring()
        return True

    # -- the desk's side ------------------------------------------------------------------------

    def items(
        self, session: str, state: ExchangeState = ExchangeState.PENDING, most: int = 0
    ) -> Sequence[Item]:
        number = self._id(session)
        sql = f"{_ITEMS} humanmcp.state_of(e.state, e.owner) = %(state)s ORDER BY e.number DESC"
        sql = f"{sql} LIMIT %(most)s"
        rows = self._db.run(sql, session=number, state=state.value, most=most or None)
        return [_item(session, row) for row in reversed(rows)]

    def item(self, key: Key) -> Item:
        return self._read(key)

    def _read(self, key: Key, on: Connection[Row] | None = None) -> Item:
        rows = self._db.run(f"{_ITEMS} e.number = %(number)s", on, **self._this(key))
        if not rows:
            raise UnknownItemError(f"{key.session}/{key.number}")
        return _item(key.session, rows[0])

    def save(self, key: Key, draft: Draft, since: str = "") -> None:
        this = self._this(key)
        with self._db.connection() as on, on.transaction():
            if not self._db.run(_LOCK, on, **this):
                raise UnknownItemError(f"{key.session}/{key.number}")
            for record, *_ in self._db.run(_DRAFT, on, **this):
                before = records.read_draft(records.decode(record))
                if not draft.replaces(before, since):
                    self._keep(this, before, on)
            self._db.run(_SAVE, on, **this, record=text_of(draft))
        self._ring()

    def _keep(self, this: dict[str, int], draft: Draft, on: Connection | None = None) -> None:
        """Keep a text beside the draft, unless it is there already."""
        rows = self._db.run(_KEPT, on, **this)
        kept = {place: records.read_draft(records.decode(record)) for place, record in rows}
        if draft.is_in(kept.values()):
            return
        record = text_of(draft._replace(touched=True))
        self._db.run(_KEEP, on, **this, record=record)
        for place, old in kept.items():
            if draft.follows(old):
                self._db.run(_DROP, on, **this, place=place)

    def change_draft(self, key: Key, change: Callable[[Draft | None], Draft]) -> None:
        this = self._this(key)
        with self._db.connection() as on, on.transaction():
            self._db.run(_LOCK, on, **this)
            record = text_of(change(self._read(key, on).draft))
            self._db.run(_SAVE, on, **this, record=record)
        self._ring()

    def note_writer(self, key: Key, writer: Writer) -> None:
        named = {"page": writer.page, "name": writer.name}
        self._db.run(_NOTE_WRITER, inbox=self._inbox, **named, **self._this(key))

    def clear_writer(self, page: str) -> None:
        self._db.run(_CLEAR_WRITER, inbox=self._inbox, page=page)

    def writers(self) -> Mapping[Key, tuple[Writer, ...]]:
        """Return who is writing an answer, by exchange."""
        found: dict[Key, tuple[Writer, ...]] = {}
        for session, number, page, name in self._db.run(_WRITERS, inbox=self._inbox):
            key = Key(session, number)
            found[key] = (*found.get(key, ()), Writer(page, name))
        return found

    def put_aside(self, key: Key, draft: Draft) -> None:
        self._keep(self._this(key), draft._replace(page=""))
        self._ring()

    def send(self, key: Key, reply: Reply) -> None:
        this = self._this(key)
        if self._db.run(_SEND, **this, record=text_of(reply)):
            self._ring()
            return
        self.put_aside(key, reply.as_draft)
        item = self.item(key)
        first = item.answer or item.reply
        raise TakenError(key, item.state, first.by if first else "")


def _item(session: str, row: Row) -> Item:
    number, state, request, wait, diagnostics, ending, draft, reply, late, kept = row
    found: dict[str, str | None] = {
        records.REQUEST: request,
        records.WAIT: wait,
        records.PROBLEMS: diagnostics,
        records.ANSWER: ending,
        records.DRAFT: draft,
        records.REPLY: None if late else reply,
    }
    names = [records.KEPT.format(place) for place in range(len(kept))]
    found.update(zip(names, kept, strict=True))

    def read(name: str, reader: Callable[[records.Record], _Value]) -> _Value | None:
        record = found.get(name)
        return None if record is None else reader(records.decode(record))

    item = records.read_item(Key(session, number), ExchangeState(state), read, names)
    if item is None:
        raise UnknownItemError(f"{session}/{number}")
    if late and reply is not None:
        text = records.read_reply(records.decode(reply)).as_draft
        item = item._replace(kept=(*item.kept, text))
    return item


_Came = TypeVar("_Came")
_MINE: Final = "s.owner = %(owner)s AND s.inbox = %(inbox)s AND NOT s.ended"
_OURS: Final = _MINE.replace("s.owner", "coalesce(e.owner, s.owner)")
_TAKE: Final = f"""
UPDATE humanmcp.replies r SET taken = %(owner)s
FROM humanmcp.sessions s, humanmcp.exchanges e, {SOON}
WHERE {{}} AND s.id = r.session AND {_OURS}
    AND e.session = r.session AND e.number = r.number AND e.state = 'pending'
RETURNING s.name, r.number, r.record, r.sent"""
_NEW: Final = _TAKE.format("r.taken IS NULL")
_AGAIN: Final = _TAKE.format("(r.taken IS NULL OR r.taken = %(owner)s)")
_DRAFTS: Final = f"""
SELECT s.name, e.number, d.record, d.saved
FROM humanmcp.exchanges e JOIN humanmcp.sessions s ON s.id = e.session AND {_OURS}
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
_READ_CLOCK: Final = (
    f"{SINCE}, (SELECT handshake_by_hand FROM humanmcp.inboxes WHERE id = %(inbox)s)"
)
_LOST: Final = """
SELECT name, id FROM humanmcp.sessions
WHERE id = ANY(%(mine)s) AND owner <> %(owner)s AND NOT shared"""
_RESULT: Final = """
SELECT result FROM humanmcp.sayings WHERE session = %(session)s AND ticket = %(ticket)s"""


class PostgresBell:
    """The bell of a session of this process."""

    def __init__(self, inbox: Taking, session: str) -> None:
        self._inbox = inbox
        self._session = session

    def listen(self, rung: Callable[[], object]) -> None:
        """Call `rung` from the follower's thread when there is something for the session."""
        self._inbox.hear(self._session, rung)


class Taking(ExchangeRows):
    """The part of the inbox that delivers what people submit to a session."""

    def __init__(self, database: Database, name: str) -> None:
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
        self._handshake_by_hand = False
        self._is_followed = False
        self._lapses = 0
        """How many lapses of the lease were looked into."""

    # -- looking ----------------------------------------------------------------------------------

    def bell(self, session: str, number: int = 0) -> PostgresBell:  # noqa: ARG002 - one for all
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
            until, handshake_by_hand = self._db.run(_READ_CLOCK, **mine)[0]
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
                outgoing.setdefault(name, []).append((records.exchange_name(ticket), reply))
            self._outgoing = outgoing
            self._handshake_by_hand = bool(handshake_by_hand)
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

    def take_replies(self, session: str) -> Sequence[tuple[Key, Reply]]:
        return self._come(session, self._replies)

    def drafts(self, session: str) -> Sequence[tuple[Key, Draft]]:
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

    def handshake_is_by_hand(self) -> bool:
        return self._handshake_by_hand if self._is_followed else super().handshake_is_by_hand()

    def settle_outgoing(self, session: str, ticket: str, diagnostics: Sequence[Diagnostic]) -> None:
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
        record = text_of(reply)
        found = self._db.run(_SAY, session=self._id(session), record=record)
        if not found:
            raise UnknownItemError(session)
        self._ring()
        return records.exchange_name(found[0][0])

    def outgoing_result(self, session: str, ticket: str) -> OutgoingResult | None:
        found = self._db.run(_RESULT, **self._outgoing_place(session, ticket))
        if not found:
            raise UnknownItemError(f"{session}/{ticket}")
        result = found[0][0]
        if result is None:
            return None
        return OutgoingResult(records.read_diagnostics(records.decode(result)))

    def _outgoing_place(self, session: str, ticket: str) -> dict[str, int]:
        number = records.exchange_number(ticket)
        if number is None or number >= 2**31:
            raise UnknownItemError(f"{session}/{ticket!r}")
        return {"session": self._id(session), "ticket": number}


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
AND coalesce(wait::json -> 'parked' ->> 'ticket', '') = ''"""
_FORGET: Final = """
WITH large AS (
    DELETE FROM humanmcp.large WHERE session = %(session)s AND number = %(number)s)
DELETE FROM humanmcp.exchanges WHERE session = %(session)s AND number = %(number)s"""
_FORGET_GUEST: Final = f"""
WITH gone AS ({FORGET_SESSION} RETURNING inbox, name)
INSERT INTO humanmcp.forgotten SELECT inbox, name FROM gone ON CONFLICT DO NOTHING"""
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
            **{f"record{at}": line_of(one) for at, one in enumerate(frames)},
        ):
            self._find_lost()
            self._owned(session)
        self._ring()

    def frames(self, session: str, after: int = 0) -> Iterator[Frame]:
        return self._frames(self._id(session), after)

    def _frames(self, session: int, after: int) -> Iterator[Frame]:
        sql = f"{_FRAMES} AND seq > %(after)s ORDER BY seq LIMIT {_PAGE}"
        while rows := self._db.run(sql, session=session, after=after):
            yield from map(_frame, rows)
            after = rows[-1][1]

    def last_frames_before(
        self, session: str, seq: int, count: int, word: str = ""
    ) -> Sequence[Frame]:
        bound = "AND seq < %(seq)s" if seq else ""
        held = "AND humanmcp.whole(record) ILIKE %(held)s" if word else ""
        sql = f"{_FRAMES} {bound} {held} ORDER BY seq DESC LIMIT %(count)s"
        values = {"seq": seq, "count": count, "held": f"%{word}%"}
        rows = self._db.run(sql, session=self._id(session), **values)
        return [_frame(row) for row in reversed(rows)]

    # -- the end --------------------------------------------------------------------------------

    def end(self, session: str) -> None:
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
        FormDrafts(self.home).forget_place(f"{key.session}/{key.number}")
        this = self._this(key)
        with self._db.connection() as on, on.transaction():
            for frame in mine:
                left = line_of(forgetting.without_words(frame))
                self._db.run(_BLANK, on, session=this["session"], seq=frame.seq, record=left)
            self._db.run(_FORGET, on, **this)
        self._ring()

    def forget_session(self, session: str) -> None:
        facts = self.facts(session)
        if facts.life is Life.OPEN:
            raise forgetting.NotForgottenError("still runs", session=facts.letter or facts.name)
        forgetting.forget_texts(self.home / TEXTS / session, facts, self.frames(session))
        FormDrafts(self.home).forget_place(session)
        sql = _FORGET_GUEST if facts.role.traits.is_guest else FORGET_SESSION
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


def _frame(row: Row) -> Frame:
    return from_json(row[0])


def open_inbox(where: str, home: Path, name: str = "") -> PostgresInbox:
    """Open the inbox of a name in the database at an address; `home` is for text files.

    Raises:
        DatabaseAwayError: it does not answer.
        DatabaseError: it cannot be used.
    """
    return PostgresInbox(opened(where), home, name)
