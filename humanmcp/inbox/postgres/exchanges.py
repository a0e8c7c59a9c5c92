"""Exchanges in the database, their drafts and replies: each change is one statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from humanmcp.inbox import layout, records
from humanmcp.inbox.contract import Key, StoreError, TakenError, UnknownItemError
from humanmcp.inbox.postgres.following import SOON
from humanmcp.inbox.postgres.sessions import SessionRows, text_of
from humanmcp.protocol.conversation.exchange import ExchangeState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from psycopg import Connection

    from humanmcp.inbox.contract import Answer, Draft, Item, Reply, Waiting
    from humanmcp.inbox.postgres.database import Row
    from humanmcp.protocol.diagnostics.model import Diagnostic

_Value = TypeVar("_Value")
_LARGEST: Final = 2**63 - 1
_THIS: Final = "session = %(session)s AND number = %(number)s"
_NOW: Final = "changed = pg_current_xact_id()"

_DELIVER: Final = """
WITH new AS (
    INSERT INTO humanmcp.exchanges (session, number, request, wait, problems)
    VALUES (%(session)s, %(number)s, humanmcp.keep(%(session)s, %(number)s, %(request)s),
            %(wait)s, %(problems)s)
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
SELECT e.number, e.state, humanmcp.whole(e.request), e.wait, e.problems, e.ending, d.record,
    r.record, e.state <> 'pending' AND r.taken IS NULL,
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
_SEND: Final = f"""
WITH pending AS (
    UPDATE humanmcp.exchanges SET {_NOW} WHERE {_THIS} AND state = 'pending'
    RETURNING session, number)
INSERT INTO humanmcp.replies (session, number, record)
SELECT session, number, %(record)s FROM pending ON CONFLICT DO NOTHING RETURNING sent"""
_LOCK: Final = f"""
SELECT number FROM humanmcp.exchanges WHERE {_THIS} AND state = 'pending' FOR UPDATE"""
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
        """Put an exchange where people can see it."""
        if item.key.number < 1:
            raise ValueError(item.key)
        self._owned(item.key.session)
        try:
            self._db.run(
                _DELIVER,
                **self._this(item.key),
                request=text_of(records.request_record(item)),
                wait=text_of(records.record_of(item.waiting)),
                problems=text_of(records.diagnostics_record(item.diagnostics))
                if item.diagnostics
                else None,
                draft=None if item.draft is None else text_of(records.record_of(item.draft)),
            )
        except self._db.integrity_error as error:
            raise StoreError(FileExistsError(), "item", number=item.key.number) from error
        self._ring()

    def update(self, key: Key, *, line: str, id: str, waiting: Waiting) -> None:  # noqa: A002 - the protocol's own word
        """Replace the request and how long it may wait. After it was closed nothing changes."""
        self._owned(key.session)
        item = self.item(key)
        same = (item.line, item.id) == (line, id)
        request = None if same else records.request_record(item._replace(line=line, id=id))
        self._db.run_soon(
            _UPDATE,
            **self._this(key),
            wait=text_of(records.record_of(waiting)),
            request=None if request is None else text_of(request),
        )
        self._ring()

    def refuse(self, key: Key, diagnostics: Sequence[Diagnostic]) -> None:
        """Return the taken reply to the person, as the draft, with its problems."""
        self._owned(key.session)
        this = self._this(key)
        with self._db.connection() as on, on.transaction():
            if not self._db.run(_LOCK, on, **this):
                self.item(key)  # closed meanwhile: there is nobody to give it back to
                return
            item = self._read(key, on)
            if item.reply is not None:
                text, draft = item.reply.as_draft, item.draft
                if draft and draft.touched and draft.text != text.text:
                    self._db.run(_KEEP, on, **this, record=text_of(records.record_of(draft)))
                self._db.run(_GIVE_BACK, on, **this, record=text_of(records.record_of(text)))
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
        self._owned(key.session)
        ending = None
        if answer is not None or reason:
            ending = text_of(records.close_record(state, answer, reason))
        this = self._this(key)
        if not self._db.run_soon(_CLOSE, **this, state=state.value, ending=ending):
            self.item(key)  # closed before: nothing to do
        self._ring()

    # -- the desk's side ------------------------------------------------------------------------

    def items(self, session: str, state: ExchangeState = ExchangeState.PENDING) -> Sequence[Item]:
        """List the exchanges of a session in one state, oldest first."""
        number = self._id(session)
        sql = f"{_ITEMS} e.state = %(state)s ORDER BY e.number"
        rows = self._db.run(sql, session=number, state=state.value)
        return [_item(session, row) for row in rows]

    def item(self, key: Key) -> Item:
        """Return one exchange, whatever its state."""
        return self._read(key)

    def _read(self, key: Key, on: Connection[Row] | None = None) -> Item:
        rows = self._db.run(f"{_ITEMS} e.number = %(number)s", on, **self._this(key))
        if not rows:
            raise UnknownItemError(f"{key.session}/{key.number}")
        return _item(key.session, rows[0])

    def save(self, key: Key, draft: Draft) -> None:
        """Save the person's draft, even after the exchange was closed."""
        record = text_of(records.record_of(draft))
        if not self._db.run(_SAVE, **self._this(key), record=record):
            raise UnknownItemError(f"{key.session}/{key.number}")
        self._ring()

    def put_aside(self, key: Key, draft: Draft) -> None:
        """Keep a text beside the draft, unless it is there already."""
        kept = self.item(key).kept
        if any(old.text == draft.text and old.form is draft.form for old in kept):
            return
        record = text_of(records.record_of(draft._replace(touched=True)))
        self._db.run(_KEEP, **self._this(key), record=record)
        self._ring()

    def send(self, key: Key, reply: Reply) -> None:
        """Send a reply. The server checks it; a refused one comes back as the draft."""
        this = self._this(key)
        if self._db.run(_SEND, **this, record=text_of(records.record_of(reply))):
            self._ring()
            return
        self.put_aside(key, reply.as_draft)
        item = self.item(key)
        first = item.answer or item.reply
        raise TakenError(key, item.state, first.by if first else "")


def _item(session: str, row: Row) -> Item:
    number, state, request, wait, diagnostics, ending, draft, reply, late, kept = row
    found: dict[str, str | None] = {
        layout.REQUEST: request,
        layout.WAIT: wait,
        layout.PROBLEMS: diagnostics,
        layout.ANSWER: ending,
        layout.DRAFT: draft,
        layout.REPLY: None if late else reply,
    }
    names = [layout.KEPT.format(place) for place in range(len(kept))]
    found.update(zip(names, kept, strict=True))

    def read(name: str, reader: Callable[[records.Record], _Value]) -> _Value | None:
        record = found[name]
        return None if record is None else reader(records.decode(record))

    item = records.read_item(Key(session, number), ExchangeState(state), read, names)
    if item is None:
        raise UnknownItemError(f"{session}/{number}")
    if late and reply is not None:
        text = records.read_reply(records.decode(reply)).as_draft
        item = item._replace(kept=(*item.kept, text))
    return item
