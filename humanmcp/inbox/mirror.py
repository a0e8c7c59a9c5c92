"""A session seen from another machine: what changed in it goes there, what people send comes back.

The original is the inbox beside the process that speaks to the client: it holds the truth. The
mirror is an inbox elsewhere, in which people answer. What is posted can be posted again: a line is
known by its number, an exchange by what it is now. So whatever was missed is made good by the next
post, and a reply counts as sent when the original says so, as every other reader of it learns.
Knows no network.
"""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING, Any, Final

from humanmcp.inbox import records
from humanmcp.inbox.contract import Item, Key, Life, UnknownItemError, Waiting
from humanmcp.inbox.layout import is_session_name
from humanmcp.protocol.conversation.exchange import Established, ExchangeState
from humanmcp.protocol.conversation.transcript import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from humanmcp.inbox.contract import DeskInbox, Inbox, SessionFacts
    from humanmcp.inbox.records import Record

MOST_AT_ONCE: Final = 500
"""Lines of one post; more follow in the next."""
MOST_TEXT: Final = 2 * 1024 * 1024
"""Characters of lines after which a post is full."""
_PAST: Final = 1_000_000


class Original:
    """What is to be posted of a session. One thread uses it."""

    def __init__(self, inbox: DeskInbox, session: str) -> None:
        """Begin with nothing posted."""
        self._inbox = inbox
        self._session = session
        self._last: dict[int, Item] = {}
        self._facts: object = None
        self._highest = 0
        self.tickets: dict[str, str] = {}
        """For what was said elsewhere, its ticket here."""

    def forget(self) -> None:
        """Post everything again but the lines: the other side does not remember."""
        self._last.clear()
        self._facts = None

    def news(self, after: int | None) -> tuple[Record, Callable[[], object]] | None:
        """Return what changed, and what to call when it is there.

        Its lines are those since number `after`; None where it is not known what the mirror has.
        """
        frames, size = [], 0
        for frame in () if after is None else self._inbox.frames(self._session, after):
            frames.append(to_json(frame))
            self._highest = max(self._highest, frame.number)
            size += len(frames[-1])
            if len(frames) == MOST_AT_ONCE or size > MOST_TEXT:
                break
        facts = self._inbox.facts(self._session)
        established = self._inbox.established(self._session)
        items = list(self._changed())
        settled = self._settled()
        same = (facts, established) == self._facts
        if not (frames or items or settled) and same:
            return None
        record = {
            "session": self._session,
            "facts": records.facts_record(_from_elsewhere(facts)),
            "established": records.record_of(established),
            "frames": frames,
            "items": [_item_record(one) for one in items],
            "settled": settled,
        }

        def posted() -> None:
            self._last |= {one.key.number: one for one in items}
            self._facts = facts, established
            for ticket in settled:
                del self.tickets[ticket]

        return record, posted

    def send(self, record: Record) -> None:
        """Put what was sent elsewhere into this inbox, like any other desk.

        Raises:
            TakenError: another desk was first.
        """
        reply = records.read_reply(record["reply"])
        if "ticket" not in record:
            self._last.pop(int(record["number"]), None)  # what becomes of it is told in any case
            self._inbox.send(Key(self._session, int(record["number"])), reply)
        elif record["ticket"] not in self.tickets:
            self.tickets[record["ticket"]] = self._inbox.submit(self._session, reply)

    def _changed(self) -> list[Item]:
        waiting = {one.key.number: one for one in self._inbox.items(self._session)}
        self._highest = max((self._highest, *waiting))
        found = []
        for number in range(1, self._highest + 1):
            before = self._last.get(number)
            if before is not None and before.state is not ExchangeState.PENDING:
                continue
            try:
                item = waiting.get(number) or self._inbox.item(Key(self._session, number))
            except UnknownItemError:
                continue
            if item.state is ExchangeState.PENDING and item.reply is not None:
                item = item._replace(diagnostics=())  # those of a reply before this one
            sent = item.reply if item.state is ExchangeState.ANSWERED else None
            item = item._replace(draft=None, reply=sent, kept=())
            if item != before:
                found.append(item)
        return found

    def _settled(self) -> dict[str, Record]:
        became = {
            theirs: self._inbox.refused(self._session, ours)
            for theirs, ours in self.tickets.items()
        }
        return {
            ticket: records.diagnostics_record(diagnostics)
            for ticket, diagnostics in became.items()
            if diagnostics is not None
        }


def _from_elsewhere(facts: SessionFacts) -> SessionFacts:
    """Return facts without what means something on one machine only: paths, processes, ports."""
    return facts._replace(files="", pid=0, http_id="", http_port=0, http_visitor="", room="")


def _item_record(item: Item) -> dict[str, Any]:
    ended = records.close_record(item.state, item.answer, item.reason)
    return {
        "number": item.key.number,
        "request": records.request_record(item),
        "waiting": records.record_of(item.waiting),
        "problems": records.diagnostics_record(item.diagnostics),
        "ended": ended,
        "sent": "" if item.reply is None else item.reply.text,
    }


class Mirror:
    """The session as people elsewhere see it. Several threads may use it."""

    def __init__(self, inbox: Inbox, session: str) -> None:
        """Open it in an inbox: a new one, or the one that was left here before.

        Raises:
            ValueError: this is no name of a session.
            InboxError: another process, or another learner, has it.
        """
        if not is_session_name(session):
            raise ValueError(session)
        self.boot = secrets.token_hex(8)
        """Names this mirror: after another one, what was counted before counts no more."""
        self.session = session
        self._inbox = inbox
        self._is_open = False
        self._out: list[Record] = []
        self._tickets: set[str] = set()
        self._lock = threading.Lock()

    @property
    def last(self) -> int:
        """The number of the last line that is here."""
        try:
            found = self._inbox.before(self.session, 0, 1)
        except UnknownItemError:
            return 0
        return found[0].seq if found else 0

    def take_in(self, record: Record) -> None:
        """Take in what was posted.

        Raises:
            UnreadableError: it is no post of ours.
        """
        with self._lock:
            facts = _from_elsewhere(records.read_facts(self.session, record.get("facts", {})))
            self._open(facts)
            if not self._is_open:
                return  # it has ended
            established = records.read(Established, record.get("established", {}))
            last = self.last
            for line in record.get("frames", ()):
                frame = from_json(str(line))
                if last < frame.seq < _PAST * _PAST:
                    self._inbox.record(self.session, frame)
            self._inbox.describe(facts, established)
            for one in record.get("items", ()):
                self._item(one)
            for ticket, diagnostics in record.get("settled", {}).items():
                if ticket in self._tickets:
                    self._inbox.settle(self.session, ticket, records.read_diagnostics(diagnostics))
            if not facts.is_open:
                self.end()

    def _open(self, facts: SessionFacts) -> None:
        if self._is_open:
            return
        try:
            here = self._inbox.facts(self.session)
        except UnknownItemError:
            self._inbox.begin(facts._replace(life=Life.OPEN))
        else:
            if here.life is not Life.GONE:
                return
            self._inbox.resume(self.session)
        self._is_open = True

    def _item(self, record: Mapping[str, Any]) -> None:
        key = Key(self.session, int(record["number"]))
        if not 0 < key.number < _PAST:
            raise records.UnreadableError("number")
        ended = record["ended"]
        state = ExchangeState(ended["state"])
        item = records.read_request(key, ExchangeState.PENDING, record["request"])
        item = item._replace(waiting=records.read(Waiting, record["waiting"]))
        try:
            here = self._inbox.item(key)
        except UnknownItemError:
            self._inbox.deliver(item)
            here = item
        if here.state is not ExchangeState.PENDING:
            return
        if (here.line, here.id, here.waiting) != (item.line, item.id, item.waiting):
            self._inbox.update(key, line=item.line, id=item.id, waiting=item.waiting)
        diagnostics = records.read_diagnostics(record["problems"])
        if state is not ExchangeState.PENDING:
            if here.reply is not None and here.reply.text != record.get("sent"):
                self._inbox.put_aside(key, here.reply.as_draft)
            answer, reason = records.read_close(ended)
            self._inbox.close(key, state, answer, reason)
        elif diagnostics and here.reply is not None:
            self._inbox.refuse(key, diagnostics)

    def sent(self, after: int, boot: str) -> tuple[int, Sequence[Record]]:
        """Return what people have sent since the count `after` of this mirror, and the count."""
        with self._lock:
            if self._is_open:
                self._collect()
            start = after if boot == self.boot and 0 <= after <= len(self._out) else 0
            return len(self._out), self._out[start:]

    def _collect(self) -> None:
        for key, reply in self._inbox.take(self.session):
            self._out.append({"number": key.number, "reply": records.record_of(reply)})
        for ticket, outgoing in self._inbox.outgoing(self.session):
            if ticket not in self._tickets:
                self._tickets.add(ticket)
                self._out.append({"ticket": ticket, "reply": records.record_of(outgoing)})

    def listen(self, rung: Callable[[], object]) -> bool:
        """Call `rung` when something is sent. False where one has to look."""
        with self._lock:
            bell = self._inbox.bell(self.session) if self._is_open else None
            if bell is not None:
                bell.listen(rung)
            return bell is not None

    def leave(self) -> None:
        """Show the session as gone: nothing is heard of it. It may come back."""
        with self._lock:
            if self._is_open:
                self._inbox.leave(self.session)
                self._is_open = False

    def end(self) -> None:
        """Close it in order: its client is gone."""
        if self._is_open:
            self._inbox.end(self.session)
            self._is_open = False
