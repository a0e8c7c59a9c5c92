"""Replay recorded answers: find the recorded answer to a received request.

The answer is found by method and parameters, by the order of the recording, or by similar
parameters, with a hint. Other requests are left to a person, refused, or forwarded to the real
server.
"""

from __future__ import annotations

import enum
import json
import re
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import Direction, seen_by_client
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json import jsonrpc, undecoded
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Message
from humanmcp.protocol.json.removed import fits, names_in
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.versions import features

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.conversation.state import ObservedMessage
    from humanmcp.protocol.conversation.transcript import Frame

BY_STUB: Final = "humanmcp"
"""The author of keepalive messages, which a replay does not repeat."""

_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
"""Every 2026-07-28 server sends it for each subscription: it is created anew, not replayed."""


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """A recorded line of the server. `message` is None for a malformed line."""

    seq: int
    raw: bytes
    message: Message | None = None

    @property
    def asks(self) -> bool:
        """True if the client must respond to it."""
        return self.message is not None and self.message.kind is Kind.REQUEST


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded message of the client, and all that the server sent because of it.

    `seq` is the frame number of the answer, or of the request if it has no answer. `text` is the
    JSON after `"result":` or `"error":`, by `form`; None without an answer. `params` are the
    parameters as `comparison_key` writes them. `raw` is the whole line if the text alone would not
    produce it: another id, two results, half a message.
    """

    seq: int
    method: str
    name: str
    params: str
    text: str | None
    form: TextForm
    modern: bool
    id: str = ""
    progress_token: str = ""
    raw: bytes | None = None
    before: tuple[RecordedMessage, ...] = ()
    after: tuple[RecordedMessage, ...] = ()
    took: float = 0.0
    """The seconds from the request to its answer."""

    def is_for(self, exchange: Exchange) -> bool:
        """Return True if it has the method, and the tool, prompt or address of a request."""
        return self.method == exchange.method and fits(self.name, exchange.name)

    def has_params(self, params: Mapping[str, Any]) -> bool:
        """Return True if its parameters are these; what was removed from them may be anything."""
        if not names_in(self.params):
            return self.params == comparison_key(params)
        return fits(json.loads(self.params), json.loads(comparison_key(params)))

    @property
    def answered(self) -> bool:
        return self.text is not None or self.raw is not None


def comparison_key(params: Mapping[str, Any]) -> str:
    """Write parameters for comparison: sorted, without `_meta`."""
    rest = {key: value for key, value in params.items() if key not in ("_meta", "requestState")}
    return json.dumps(rest, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def recorded(frames: Iterable[Frame]) -> tuple[Recorded, ...]:
    """Return the client's recorded messages with the answers, in the order of the answers.

    Notifications that the server reacted to, and requests that got messages but no answer, are
    included at their place.
    """
    reader = _Reader()
    for frame in seen_by_client(frames):
        reader.take(frame)
    return reader.all()


# -- reading the frames --------------------------------------------------------------------------


@dataclass(slots=True)
class _Part:
    """A client's message while the frames are read."""

    seq: int
    request: Exchange | None
    message: Message
    batch: bool = False
    at: str = ""
    cancelled: bool = False
    answer: tuple[Frame, Message] | None = None
    raw: bytes | None = None
    before: list[RecordedMessage] = field(default_factory=list)
    after: list[RecordedMessage] = field(default_factory=list)

    @property
    def progress_token(self) -> str:
        """The progress token of a request as written; "" for none."""
        return jsonrpc.member(self.message.raw, "params", "_meta", "progressToken") or ""

    @property
    def takes_what_comes(self) -> bool:
        """True if a line that names no request probably belongs to this request."""
        return not self.has_malformed_line and not methods.of(self.message.method).stays_open

    @property
    def has_malformed_line(self) -> bool:
        """Return True if a line that is not a message came first: perhaps the answer."""
        return any(recorded.message is None for recorded in self.before)


class _Reader:
    def __init__(self) -> None:
        self._conversation = ConversationState()
        self._parts: list[_Part] = []
        self._waiting: dict[int, _Part] = {}
        """The requests without an answer, by the number of their frame, in order."""
        self._by_request: dict[int, _Part] = {}
        self._by_number: dict[int, _Part] = {}
        self._last: _Part | None = None
        self._early: list[RecordedMessage] = []

    def all(self) -> tuple[Recorded, ...]:
        made = [_recorded(part) for part in self._parts]
        worth = [
            recorded for recorded in made if recorded.answered or recorded.before or recorded.after
        ]
        return tuple(sorted(worth, key=lambda one: one.seq))

    def take(self, frame: Frame) -> None:
        if not frame.raw.strip():
            return
        found = jsonrpc.read(frame.raw)
        if frame.direction is Direction.IN:
            items = found.items if isinstance(found, Batch) else (found,)
            for item in items:
                if isinstance(item, Message):
                    self._from_client(frame, item, batch=isinstance(found, Batch))
        elif isinstance(found, Message):
            self._from_server(frame, found)
        elif isinstance(found, Batch):
            self._batch(frame, found)
        else:
            self._place(frame, RecordedMessage(frame.seq, frame.raw))

    # -- the client -------------------------------------------------------------------------------

    def _from_client(self, frame: Frame, message: Message, *, batch: bool) -> None:
        observed = self._conversation.observe(Direction.IN, message)
        if message.kind is Kind.REQUEST:
            part = self._waiting[frame.seq] = _Part(
                frame.seq, observed.request, message, batch, frame.at
            )
            if observed.request is not None:
                self._by_request[observed.request.number] = part
            if frame.number:
                self._by_number[frame.number] = part
        elif message.kind is Kind.NOTIFICATION:
            if (cancelled := self._of(observed)) is not None:
                self._give_up(cancelled)
            part = self._last = _Part(frame.seq, None, message)
        else:
            return
        part.before, self._early = self._early, []
        self._parts.append(part)

    def _give_up(self, part: _Part) -> None:
        part.cancelled = True
        self._waiting.pop(part.seq, None)

    def _of(self, observed: ObservedMessage) -> _Part | None:
        return (
            self._by_request.get(observed.request.number) if observed.request is not None else None
        )

    # -- the server -------------------------------------------------------------------------------

    def _from_server(self, frame: Frame, message: Message) -> None:
        observed = self._conversation.observe(Direction.OUT, message)
        if message.kind.is_answer:
            part = self._of(observed)
            if part is None:
                self._place(frame, RecordedMessage(frame.seq, frame.raw))
            elif frame.by == BY_STUB:  # a keepalive or a lack of space: not a real answer
                self._give_up(part)
            else:
                self._answered(part, frame, message)
        elif frame.by != BY_STUB and message.method != _ACKNOWLEDGED:
            self._place(frame, RecordedMessage(frame.seq, frame.raw, message))

    def _batch(self, frame: Frame, batch: Batch) -> None:
        """Read an array of answers; if its requests came one by one, it is a malformed line."""
        parts = []
        for item in batch.items:
            if not isinstance(item, Message):
                continue
            part = self._of(self._conversation.observe(Direction.OUT, item))
            if part is not None and item.kind.is_answer:
                self._answered(part, frame, item)
                parts.append(part)
        if not parts:
            self._place(frame, RecordedMessage(frame.seq, frame.raw))
        elif not parts[0].batch:
            parts[0].raw = frame.raw

    def _answered(self, part: _Part, frame: Frame, message: Message) -> None:
        part.answer = (frame, message)
        self._waiting.pop(part.seq, None)
        if not part.batch and not _is_plain(part, frame, message):
            part.raw = frame.raw
        self._last = part

    def _place(self, frame: Frame, recorded: RecordedMessage) -> None:
        """Find the request that a line of the server belongs to."""
        owner = self._by_number.get(frame.number) if frame.number else None
        if owner is None or owner.seq not in self._waiting:
            owner = _named_in(recorded, self._waiting.values()) or next(
                (part for part in reversed(self._waiting.values()) if part.takes_what_comes), None
            )
        if owner is not None:
            owner.before.append(recorded)
        elif self._last is not None:
            self._last.after.append(recorded)
        else:
            self._early.append(recorded)


def _named_in(recorded: RecordedMessage, waiting: Collection[_Part]) -> _Part | None:
    """Find the request that a line names: by progress token, or by the id in a malformed line."""
    if recorded.message is not None:
        token = jsonrpc.member(recorded.message.raw, "params", "progressToken")
        return next((part for part in waiting if token and part.progress_token == token), None)
    text = recorded.raw.decode("utf-8", "replace")
    named = {token.strip('"') for token in undecoded.ids_in(text)}
    fitting = [part for part in waiting if _id(part.message).strip('"') in named]
    return fitting[-1] if fitting else None


def _is_plain(part: _Part, frame: Frame, message: Message) -> bool:
    """Return True if the recorded line follows from its result or error and the client's id."""
    names = [name for name, _start, _end in jsonrpc.members(message.raw)]
    return (
        sorted(names) in (["id", "jsonrpc", "result"], ["error", "id", "jsonrpc"])
        and message.body["jsonrpc"] == "2.0"
        and message.id is not None
        and message.id.token == _id(part.message)
        and not frame.raw.startswith(b"\xef\xbb\xbf")
    )


def _recorded(part: _Part) -> Recorded:
    before, after, raw = part.before, part.after, part.raw
    seq = part.seq
    if part.answer is not None:
        seq = part.answer[0].seq
    elif part.request is not None and part.has_malformed_line and not part.cancelled:
        at = max(at for at, recorded in enumerate(before) if recorded.message is None)
        seq, raw = before[at].seq, before[at].raw
        before, after = before[:at], before[at + 1 :] + after
    answer = part.answer[1] if part.answer is not None else None
    form = TextForm.ERROR if answer is not None and answer.kind is Kind.ERROR else TextForm.RESULT
    return Recorded(
        seq=seq,
        method=part.message.method,
        name=part.request.name if part.request is not None else "",
        params=comparison_key(part.message.params),
        text=None if answer is None else jsonrpc.member(answer.raw, form.value) or "{}",
        form=form,
        modern=part.request is not None and features(part.request.version).stateless,
        id=_id(part.message),
        progress_token=part.progress_token,
        raw=raw,
        before=tuple(before),
        after=tuple(after),
        took=0.0 if part.answer is None else _seconds_between(part.at, part.answer[0].at),
    )


def _seconds_between(start: str, end: str) -> float:
    """Return the seconds between two times of one day, or over one midnight."""
    found = [re.search(r"T(\d\d):(\d\d):(\d\d(?:\.\d{1,6})?)", one) for one in (start, end)]
    first, last = (
        0.0 if one is None else int(one[1]) * 3600 + int(one[2]) * 60 + float(one[3])
        for one in found
    )
    return round((last - first) % 86_400, 3)


def _id(message: Message) -> str:
    return message.id.token if message.id is not None else ""


# -- the same line for another request -----------------------------------------------------------


def renewed(raw: bytes, tokens: Mapping[str, tuple[str, str]]) -> bytes:
    """Return a recorded line with the ids of the current request.

    `tokens` has the old and the new token for each member (`id`, `progressToken`, …), as written. A
    wrong id of the recording (`"7"` for 7, `7.0`) stays.
    """
    text = raw.decode("utf-8", "surrogateescape")
    for name, (was, becomes) in tokens.items():
        bare, new = was.strip('"'), becomes.strip('"')
        pattern = rf'("{re.escape(name)}"\s*:\s*)("?){re.escape(bare)}(\.0+)?(")?(?![\w.])'
        text = re.sub(pattern, partial(_spelt, new), text)
    return text.encode("utf-8", "surrogateescape")


def _spelt(new: str, found: re.Match[str]) -> str:
    before, opening, decimals, closing = found[1], found[2], found[3] or "", found[4] or ""
    number = re.fullmatch(r"-?\d+", new) is not None
    if not number and not opening:
        opening = closing = '"'
    return f"{before}{opening}{new}{decimals if number else ''}{closing}"


ALIKE: Final = 0.6
"""The minimum likeness of the parameters, from 0 to 1, for `SIMILAR`."""

NOT_RECORDED: Final = -32602
"""The error code for a request that was not recorded; exported servers use the same."""
BY_NOTHING: Final = "replay: not recorded"
"""Who answers such a request."""

_COMPARED: Final = 4000
"""The number of characters of the parameters that are compared for likeness."""


class Match(enum.Enum):
    """How a recorded answer is found. Each way includes the previous ones."""

    EXACT = "exact"
    """The same method and parameters; repeated requests get the recorded answers in turn."""
    ORDER = "order"
    """Else the next recorded answer for this method and tool, prompt or address."""
    SIMILAR = "similar"
    """Else the answer whose parameters are most similar, if they are similar enough."""


class Otherwise(enum.Enum):
    """What happens to a request that was not recorded."""

    HAND = "hand"
    """A person or the answer book answers it."""
    ERROR = "error"
    """It is refused, unless the book answers it at once."""
    FORWARD = "forward"
    """The real server gets it, unless an entry of the book matches."""


@dataclass(frozen=True, slots=True)
class UnrecordedRequest:
    """A request that was not recorded, by its number in the session."""

    number: int
    method: str
    name: str

    @property
    def words(self) -> str:
        return one_line(f"{self.number} {self.method} {self.name}".rstrip(), _SHOWN)


_SHOWN: Final = 120
"""The maximum length of a request in the list of unrecorded ones, in characters."""


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """A recorded answer to a request. `hint` says how it was found, "" for an exact match."""

    recorded: Recorded
    hint: str = ""

    @property
    def by(self) -> str:
        """The author of the answer in the transcript."""
        return f"replay: {self.recorded.seq}" + (f" ({self.hint})" if self.hint else "")

    def decision(self, *, after: float = 0.0, fault: str = "") -> Decision:
        """Return the answer as a decision of the answer book: as recorded, or with a fault."""
        recorded = self.recorded
        if fault and recorded.text is not None:
            by = f"{self.by} ({fault})"
            return Decision(after, recorded.text, recorded.form, by, fault=fault)
        text = recorded.text or ""
        return Decision(after, text, recorded.form, self.by, replayed=recorded.seq)


_HANDSHAKE_ONLY: Final = Recorded(
    seq=0,
    method="server/discover",
    name="",
    params="{}",
    text='{"code":-32601,"message":"Method not found"}',
    form=TextForm.ERROR,
    modern=True,
)
"""The error that makes a client start a handshake, if the recording has one."""


class Replay:
    """The recorded answers of one session, and which of them were used."""

    def __init__(
        self,
        answers: Iterable[Recorded],
        match: Match = Match.EXACT,
        otherwise: Otherwise = Otherwise.HAND,
        *,
        paced: bool = False,
        faults: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        """Begin with none used.

        With `paced`, each answer takes as long as then. `faults` are those of the recorded answers
        to calls of tools, by the number of the call in its session, from 1.
        """
        self.otherwise = otherwise
        self.paced = paced
        self.faults = faults
        self.misses: list[UnrecordedRequest] = []
        self.forwarded = 0
        """The number of requests that the real server has answered."""
        self._left: set[int] = set()
        self._all = tuple(answers)
        self._answers = tuple(recorded for recorded in self._all if recorded.answered)
        self._match = match
        self._modern = any(recorded.modern for recorded in self._answers)
        self._given: set[int] = set()

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, exchange: Exchange) -> FoundAnswer | None:
        """Find the answer to a request, without marking it as used; None if there is none."""
        modern = features(exchange.version).stateless
        fitting = [
            recorded
            for recorded in self._answers
            if recorded.modern == modern and recorded.is_for(exchange)
        ]
        if not fitting and exchange.method == "server/discover" and not self._modern:
            return FoundAnswer(_HANDSHAKE_ONLY)
        params = exchange.request.params
        # each client sends its own name and capabilities here: any recorded answer fits
        introduces = methods.of(exchange.method).introduces
        exact = [recorded for recorded in fitting if introduces or recorded.has_params(params)]
        if exact:
            return FoundAnswer(self._next(exact) or exact[-1])
        if self._match is not Match.EXACT and (following := self._next(fitting)):
            return FoundAnswer(following, "in order")
        if self._match is Match.SIMILAR and fitting:
            wanted = comparison_key(params)
            score, best = max(
                ((_alike(recorded.params, wanted), recorded) for recorded in fitting),
                key=lambda pair: pair[0],
            )
            return FoundAnswer(best, "similar") if score >= ALIKE else None
        return None

    @property
    def unused(self) -> list[str]:
        """Return the method and name of each recorded request that was not sent, in order."""
        return [
            one_line(f"{recorded.method} {recorded.name}".rstrip(), _SHOWN)
            for recorded in self._answers
            if recorded.id and recorded.seq not in self._given
            if not methods.of(recorded.method).introduces
        ]

    def around(self, seq: int) -> Recorded | None:
        """Return the record of an answer, with the messages before and after it."""
        return next((recorded for recorded in self._all if recorded.seq == seq), None)

    def find_unanswered(self, exchange: Exchange) -> Recorded | None:
        """Find the messages that a request got which was never answered, each in turn."""
        return self._take(
            recorded
            for recorded in self._all
            if recorded.id
            and not recorded.answered
            and recorded.is_for(exchange)
            and recorded.has_params(exchange.request.params)
        )

    def reaction(self, method: str) -> Recorded | None:
        """Find the messages that followed a client's notification, each in turn."""
        return self._take(
            recorded for recorded in self._all if not recorded.id and recorded.method == method
        )

    def instead(self, exchange: Exchange, decision: Decision) -> Decision:
        """Return what happens to an unrecorded request; `decision` is the answer book's."""
        if self.otherwise is Otherwise.FORWARD:
            return decision if self._is_ours(exchange, decision) else Decision(forward=True)
        if self.otherwise is not Otherwise.ERROR or decision.due(0):
            return decision
        asked = f"{exchange.method} {exchange.name}".strip()
        error = {"code": NOT_RECORDED, "message": f"no answer was recorded for {asked}"}
        return Decision(0.0, json.dumps(error), TextForm.ERROR, BY_NOTHING)

    def _is_ours(self, exchange: Exchange, decision: Decision) -> bool:
        """Return True if the real server must not get a request: it ended, or an entry matches."""
        left = exchange.number in self._left
        return left or decision.entry is not None or exchange.method == "ping"

    def leave_to_person(self, exchange: Exchange) -> None:
        """Leave a request to the person: the real server will not answer it."""
        self._left.add(exchange.number)
        self.miss(exchange)

    def miss(self, exchange: Exchange) -> None:
        """Count a request that was not recorded; a `ping` is never recorded."""
        if exchange.method != "ping":
            self.misses.append(UnrecordedRequest(exchange.number, exchange.method, exchange.name))

    def given(self, seq: int) -> None:
        """Mark the answer of this frame as used."""
        self._given.add(seq)

    def _next(self, answers: list[Recorded]) -> Recorded | None:
        return next((recorded for recorded in answers if recorded.seq not in self._given), None)

    def _take(self, answers: Iterable[Recorded]) -> Recorded | None:
        found = self._next(list(answers))
        if found is not None:
            self.given(found.seq)
        return found


def _alike(left: str, right: str) -> float:
    return SequenceMatcher(None, left[:_COMPARED], right[:_COMPARED], autojunk=False).ratio()
