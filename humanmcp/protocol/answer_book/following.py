"""What the entries of an answer book do about one request: the steps before it, the answer."""

from __future__ import annotations

import binascii
import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.answer_book.book import with_result_envelope
from humanmcp.protocol.answer_book.book_entry import EntryAction
from humanmcp.protocol.answer_book.decision import BY_PERSON, Decision, by_entry
from humanmcp.protocol.answer_book.placeholders import fill, fill_text
from humanmcp.protocol.conversation.state import declared_by
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.tree import object_at
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.versions import features

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from humanmcp.protocol.answer_book.book import Book
    from humanmcp.protocol.answer_book.book_entry import BookEntry
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.json.jsonrpc import JsonObject

BAD_STATE: Final[Mapping[str, Any]] = {
    "code": -32602,
    "message": "Invalid params: requestState is not one that this server gave for this request",
}


class Retry(NamedTuple):
    """The content of a `requestState`: the entry, its turn, the round, the answers so far."""

    entry: int
    turn: int
    round: int = 0
    answers: Mapping[str, Any] = {}


def read_state(state: object) -> Retry | None:
    """Read a `requestState` without verifying it; None if it is not one of ours."""
    if not isinstance(state, str) or "." not in state:
        return None
    try:
        entry, turn, count, answers = json.loads(binascii.a2b_base64(state.split(".")[0]))
        return Retry(int(entry), int(turn), int(count), dict(answers))
    except (ValueError, TypeError):
        return None


def write_state(retry: Retry, entry: BookEntry, secret: bytes) -> str:
    """Write a `requestState`, signed for the current content of this entry."""
    text = json.dumps(retry, separators=(",", ":")).encode()
    body = binascii.b2a_base64(text, newline=False).decode()
    return f"{body}.{_signature(body, entry, secret)}"


def is_signed(state: str, entry: BookEntry, secret: bytes) -> bool:
    """Return True if the signature is ours, for the current content of this entry."""
    import hmac  # noqa: PLC0415 - brings OpenSSL, and only entries that ask pay for it

    body, _, signature = state.partition(".")
    wanted = _signature(body, entry, secret)
    return hmac.compare_digest(wanted.encode(), signature.encode("utf-8", "replace"))


def next_round(
    exchange: Exchange, entry: BookEntry, retry: Retry, secret: bytes
) -> tuple[JsonObject | None, JsonObject]:
    """Return the result that asks the questions that are left, None for none, and the answers.

    Missing and invalid answers are asked again; other answers are ignored.
    """
    came = object_at(exchange.request.params, "inputResponses")
    answers = dict(retry.answers)
    for number, questions in enumerate(entry.ask):
        answers |= {name: came[name] for name in questions if isinstance(came.get(name), dict)}
        missing = [name for name in questions if name not in answers]
        if missing:
            values = {**entry.values(exchange), **answers}
            state = write_state(retry._replace(round=number, answers=answers), entry, secret)
            asked = {
                name: {
                    "method": questions[name].method,
                    "params": fill(questions[name].params, values),
                }
                for name in missing
            }
            result = {"resultType": "input_required", "inputRequests": asked}
            return {**result, "requestState": state}, answers
    return None, answers


def _signature(body: str, entry: BookEntry, secret: bytes) -> str:
    import hmac  # noqa: PLC0415 - as above

    return hmac.new(secret, f"{entry!r}\n{body}".encode(), "sha256").hexdigest()[:32]


MOST_RECORDS: Final = 10_000
"""The maximum number of kept records; the oldest is dropped."""

GIVEN: Final = frozenset({"kept", "records", "new", "now"})
"""The values of an entry beside those of its request, if it keeps records."""


class BookMemory:
    """What the entries of a book have done in a session. It is cleared when the entries change."""

    def __init__(
        self,
        secret: bytes = b"",
        now: Callable[[], str] = str,
        used: Mapping[int, int] | None = None,
    ) -> None:
        """Start empty. `secret` signs the `requestState`, and must be unguessable."""
        self.secret = secret
        self.used = dict(used or {})
        """The number of times that each entry was applied, by its index."""
        self.records: dict[str, dict[str, Any]] = {}
        self._now = now

    def clear(self) -> None:
        """Forget counts and records; signed states stay valid."""
        self.used.clear()
        self.records.clear()

    def count(self, decision: Decision) -> None:
        """Count one more use of an entry."""
        if decision.entry is not None and decision.counts:
            self.used[decision.entry] = self.used.get(decision.entry, 0) + 1

    def keep(self, decision: Decision) -> None:
        """Keep the record of a decision after its answer."""
        if decision.keep:
            self.records.setdefault(decision.key, {}).update(decision.keep)
            if len(self.records) > MOST_RECORDS:
                del self.records[next(iter(self.records))]

    def values(self, entry: BookEntry, exchange: Exchange) -> Mapping[str, Any]:
        """Return the values for the placeholders of an entry; those of its request come first."""
        asked = entry.values(exchange)
        if not entry.remembers:
            return asked
        return {
            "kept": self.records.get(entry.key_for(exchange), {}),
            "records": [*self.records.values()],
            "new": self._new(exchange),
            "now": self._now(),
            **asked,
        }

    def _new(self, exchange: Exchange) -> str:
        """Return a new unguessable key of a record, the same for each call with this request."""
        import hmac  # noqa: PLC0415 - only entries that keep something pay for it

        return hmac.new(self.secret, str(exchange.number).encode(), "sha256").hexdigest()[:24]


def first_entry(
    exchange: Exchange,
    book: Book,
    used: Mapping[int, int],
    negotiated: NegotiatedState,
    records: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> tuple[int, BookEntry] | None:
    """Return the action of the first entry that matches an exchange, and the entry's index.

    None if no entry matches. `used` counts how often each entry was applied; `records` are the kept
    ones.
    """
    for index, entry in enumerate(book.entries):
        count = used.get(index, 0)
        is_left = entry.times is None or count < entry.times
        if is_left and entry.matches(exchange, negotiated, records):
            return index, entry.turn(count)
    return None


def follow_entries(
    exchange: Exchange, book: Book, negotiated: NegotiatedState, memory: BookMemory | None = None
) -> Decision | None:
    """Apply the first entry that matches a request; None if none does.

    A request that answers an entry's questions continues with that entry. The secret of `memory`
    verifies that we asked them.
    """
    memory = memory or BookMemory()
    retry = _retry(exchange, book, negotiated, memory)
    if retry is None:
        found = first_entry(exchange, book, memory.used, negotiated, memory.records)
        if found is None:
            return None
        index, entry = found
        retry = Retry(index, book.entries[index].turns.index(entry))
    entry = book.entries[retry.entry].turns[retry.turn]
    if entry.action is not EntryAction.ANSWER:
        return BY_PERSON
    return _followed(exchange, book, negotiated, memory, entry, retry)


def _retry(
    exchange: Exchange, book: Book, negotiated: NegotiatedState, memory: BookMemory
) -> Retry | None:
    """Return the state of the entry whose questions a request answers, unverified, else None."""
    if not features(exchange.version).input_required:
        return None
    retry = read_state(exchange.request.params.get("requestState"))
    if retry is None or not 0 <= retry.entry < len(book.entries):
        return None
    entry = book.entries[retry.entry]
    is_turn = 0 <= retry.turn < len(entry.turns) and entry.turns[retry.turn].ask
    return retry if is_turn and entry.matches(exchange, negotiated, memory.records) else None


def _followed(  # noqa: PLR0913, PLR0917 - what an entry depends on
    exchange: Exchange,
    book: Book,
    negotiated: NegotiatedState,
    memory: BookMemory,
    entry: BookEntry,
    retry: Retry,
) -> Decision:
    """Apply an entry: return its answer, or its questions."""
    values = memory.values(entry, exchange) if entry.fills or entry.keep else {}
    decision = Decision(
        entry.after,
        entry.text,
        entry.form,
        by_entry(retry.entry),
        retry.entry,
        notices=entry.notices,
        ask=entry.ask,
        change=entry.change,
        fault=entry.fault,
        values=values if entry.fills else None,
        key=fill_text(entry.key, values) if entry.keep else "",
        keep=entry.keep,
    )
    if not entry.ask:
        return _whole(decision.answered({}), exchange, book)
    undeclared = _undeclared(exchange, entry, negotiated)
    if undeclared:
        return decision.refused(_lacks_capability(exchange.version, undeclared))
    if not features(exchange.version).input_required:
        return decision
    # The questions are asked by a result (2026-07-28), until all are answered.
    secret = memory.secret
    state = exchange.request.params.get("requestState")
    if state is not None and not is_signed(str(state), entry, secret):
        return decision.refused(BAD_STATE)
    if state is not None:
        decision = decision._replace(notices=(), counts=False)
    asked, answers = next_round(exchange, entry, retry, secret)
    if asked is None:
        return _whole(decision.answered(answers), exchange, book)
    text = as_json(asked)
    return decision._replace(
        text=text, form=TextForm.RESULT, ask=(), change=None, fault="", keep={}
    )


def _undeclared(exchange: Exchange, entry: BookEntry, negotiated: NegotiatedState) -> str:
    """Return a capability that the entry's questions need and the client did not declare, or ""."""
    declared = declared_by(exchange, negotiated)
    asked = (question for questions in entry.ask for question in questions.values())
    lacking = (methods.undeclared(one.method, one.params, declared) for one in asked)
    return next(filter(None, lacking), "")


def _lacks_capability(version: str, capability: str) -> Mapping[str, Any]:
    """Return the error for a request that needs an undeclared capability.

    2026-07-28: "the server MUST return a MissingRequiredClientCapabilityError (-32021)".
    """
    message = f"The client has not declared {capability}"
    if not features(version).error_codes:
        return {"code": -32600, "message": message}
    required: dict[str, Any] = {}
    inner = required
    for name in capability.split("."):
        inner = inner.setdefault(name, {})
    return {"code": -32021, "message": message, "data": {"requiredCapabilities": required}}


def _whole(decision: Decision, exchange: Exchange, book: Book) -> Decision:
    """Add the members that every result of its version has."""
    if decision.form is not TextForm.RESULT or not features(exchange.version).result_types:
        return decision
    result = json.loads(decision.text)
    if "inputRequests" in result and methods.of(exchange.method).asks_back:
        return decision
    whole = with_result_envelope(result, exchange.method, exchange.version, book)
    return decision._replace(text=as_json(whole))
