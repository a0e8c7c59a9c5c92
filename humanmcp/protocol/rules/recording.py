"""What a server did in a recording: its answers, and what it said before and after each of them.

    from the client         from the server
    tools/call      ───▶
                    ◀───    notifications/progress      said before the answer
                    ◀───    elicitation/create          said before the answer, and waited for
    its answer      ───▶
                    ◀───    the answer                  as a result, an error, or a broken line
                    ◀───    tools/list_changed          said after it

A line that is no answer to anything belongs to the request that waits: by the number that our own
server writes into its transcript, by the id that can be read in it, else to the last that waits.
Whatever is left of it when the recording ends is how that request was answered.

Pure: reads frames, and knows nothing of who will ask again.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.conversation.perspective import seen_by_client
from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Message
from humanmcp.protocol.spec import methods
from humanmcp.protocol.spec.versions import features

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from humanmcp.protocol.conversation.state import ObservedMessage, ObservedRequest
    from humanmcp.protocol.conversation.transcript import Frame

BY_STUB: Final = "humanmcp"
"""Who wrote what a server says to keep a client waiting: nothing that a server would say again."""

_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
"""What each server of 2026-07-28 says to each subscription: it is said anew, not again."""


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """A line of the server's own. `message` is None for what was none: a print, half an answer."""

    seq: int
    raw: bytes
    message: Message | None = None

    @property
    def asks(self) -> bool:
        """Return True if the client has to answer it."""
        return self.message is not None and self.message.kind is Kind.REQUEST


@dataclass(frozen=True, slots=True)
class Recorded:
    """Something of the client's, and all that the server did about it.

    `seq` is the number of the answer's frame, or of the request's where there was no answer;
    `text` is what stands after `"result":` or `"error":`, as `form` says, None for no answer.
    `params` is what counts of the parameters when two requests are compared. `raw` is the line
    itself where it was not such an answer as the text makes: another id, two results, half of it.
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

    @property
    def answered(self) -> bool:
        """Return True if there is anything to answer with."""
        return self.text is not None or self.raw is not None


def comparison_key(params: Mapping[str, Any]) -> str:
    """Write what counts of the parameters: not the `_meta`, and in an order of its own."""
    rest = {key: value for key, value in params.items() if key not in ("_meta", "requestState")}
    return json.dumps(rest, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def recorded(frames: Iterable[Frame]) -> tuple[Recorded, ...]:
    """Collect what the client asked and was answered, in the order of the answers.

    Notifications of the client's that the server reacted to, and requests that were left without
    an answer but not without a word, follow at their place.
    """
    reader = _Reader()
    for frame in seen_by_client(frames):
        reader.take(frame)
    return reader.all()


# -- going through the frames ---------------------------------------------------------------------


@dataclass(slots=True)
class _Part:
    """A request or a notification of the client's, while it is read."""

    seq: int
    request: ObservedRequest | None
    message: Message
    batch: bool = False
    cancelled: bool = False
    answer: tuple[Frame, Message] | None = None
    raw: bytes | None = None
    before: list[RecordedMessage] = field(default_factory=list)
    after: list[RecordedMessage] = field(default_factory=list)

    @property
    def progress_token(self) -> str:
        """The token that a request gives for its progress, as it is written; "" for none."""
        return jsonrpc.member(self.message.raw, "params", "_meta", "progressToken") or ""

    @property
    def takes_what_comes(self) -> bool:
        """Return True if a line that names no request is likely to be about this one."""
        return not self.broken and not methods.of(self.message.method).stays_open

    @property
    def broken(self) -> bool:
        """Return True if something came that may have been meant as the answer."""
        return any(recorded.message is None for recorded in self.before)


class _Reader:
    def __init__(self) -> None:
        self._conversation = ConversationState()
        self._parts: list[_Part] = []
        self._waiting: dict[int, _Part] = {}
        """The requests without an answer, by the number of their frame, in their order."""
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
            part = self._waiting[frame.seq] = _Part(frame.seq, observed.request, message, batch)
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
            elif frame.by == BY_STUB:  # to gain time, or for want of room: not what was meant
                self._give_up(part)
            else:
                self._answered(part, frame, message)
        elif frame.by != BY_STUB and message.method != _ACKNOWLEDGED:
            self._place(frame, RecordedMessage(frame.seq, frame.raw, message))

    def _batch(self, frame: Frame, batch: Batch) -> None:
        """Read an array of answers; of requests that came alone it is none, but a broken one."""
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
        """Find out which request a line of the server's own belongs to."""
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
    """Find the request that a line names: by its progress token, or by the id in a broken line."""
    if recorded.message is not None:
        token = jsonrpc.member(recorded.message.raw, "params", "progressToken")
        return next((part for part in waiting if token and part.progress_token == token), None)
    text = recorded.raw.decode("utf-8", "replace")
    named = {token.strip('"') for token in jsonrpc.ids_in(text)}
    fitting = [part for part in waiting if _id(part.message).strip('"') in named]
    return fitting[-1] if fitting else None


def _is_plain(part: _Part, frame: Frame, message: Message) -> bool:
    """Return True if an answer is what its result or error makes with the client's own id."""
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
    elif part.request is not None and part.broken and not part.cancelled:
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
        modern=part.request is not None and features(part.request.revision).stateless,
        id=_id(part.message),
        progress_token=part.progress_token,
        raw=raw,
        before=tuple(before),
        after=tuple(after),
    )


def _id(message: Message) -> str:
    return message.id.token if message.id is not None else ""


# -- the same line for another request ------------------------------------------------------------


def renewed(raw: bytes, tokens: Mapping[str, tuple[str, str]]) -> bytes:
    """Write a recorded line for the request at hand: only what names the recorded one changes.

    `tokens` says for a member's name (`id`, `progressToken`, …) what it was and what it becomes, as
    they are written. An id that was spelt in another way (`"7"` for 7, `7.0`) stays so.
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
