"""Read the recorded answers of a server: what each request got, and what was sent around it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import Direction, seen_by_client
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json import jsonrpc, undecoded
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Message
from humanmcp.protocol.json.removed import fits, names_in
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.versions import features

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.conversation.state import ObservedMessage
    from humanmcp.protocol.conversation.transcript import Frame

BY_STUB: Final = "humanmcp"
"""The author of keepalive messages, which a replay does not repeat."""
BY_NOTHING: Final = "replay: not recorded"
"""The author of the error for a request that was not recorded."""

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
            elif frame.by == BY_STUB or jsonrpc.is_stand_in(message):
                # A keepalive, a lack of space, a server that was not there: not a real answer.
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


class TextOfTool(NamedTuple):
    """The text of a simple tool result, and whether the tool failed."""

    text: str
    form: TextForm


def plain_text(result: object) -> TextOfTool | None:
    """Return the one text of a result; None if the result has other members."""
    match result:
        case {"content": [{"type": "text", "text": str(text), **rest}], **more} if not rest:
            failed = more.pop("isError", False)
            if not more.keys() - {"resultType", "_meta"} and isinstance(failed, bool):
                return TextOfTool(text, TextForm.TOOL_ERROR if failed else TextForm.TEXT)
    return None
