"""Held messages of a tap: what is held, and the line that a person makes of one.

The same check runs at a desk while the person types and in the tap, whose result decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from humanmcp.protocol.conversation.exchange import NOTHING_ESTABLISHED, Exchange
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import TextForm, Verdict, line_and_column, unreadable
from humanmcp.protocol.diagnostics.problem import quoted
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import (
    Batch,
    Flaw,
    Kind,
    Malformed,
    Message,
    read_text,
    wire_line,
)
from humanmcp.protocol.repair.reading import json_doubts, read_json
from humanmcp.protocol.tables import methods
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.addressing import kind_typed
from humanmcp.protocol.validation.secret_shapes import warn_of_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from humanmcp.protocol.conversation.exchange import NegotiatedState
    from humanmcp.protocol.conversation.state import ObservedMessage
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.repair.reading import Reading


def requests_in(batch: Batch, version: str) -> tuple[Exchange, ...]:
    """Return the requests of a batch as exchanges that can be answered."""
    return tuple(
        Exchange(0, item, version)
        for item in batch.items
        if isinstance(item, Message) and item.kind is Kind.REQUEST
    )


def is_answers(text: str) -> bool:
    """Return True if a text is an array of responses, valid or not: it contains no request."""
    found = _array(read_json(text))
    messages = [item for item in found.items if isinstance(item, Message)] if found else []
    return bool(messages) and all(one.kind.is_answer for one in messages)


def judge_answers(asked: tuple[Exchange, ...], text: str, negotiated: NegotiatedState) -> Verdict:
    """Check an array of responses, and make the line to send. It must answer each request once."""
    reading = read_json(text)
    found = _array(reading)
    if found is None:
        return Verdict(text, None, None, reading.diagnostics)
    waiting = {one.id.key: one for one in reversed(asked)}
    diagnostics = list(reading.diagnostics)
    lines = []
    inner: tuple[Diagnostic, ...]
    for index, (item, at) in enumerate(_placed(found, reading.json)):
        if isinstance(item, Malformed):
            lines.append(jsonrpc.compact(item.text))
            inner = (unreadable(item),)
        else:
            exchange = waiting.pop(item.id.key, None) if item.id else None
            line, inner = _judge_one(exchange, item, negotiated)
            lines.append(line)
        diagnostics += (_moved(one, index, at, reading, text) for one in inner)
    if waiting:
        ids = ", ".join(one.id.token for one in asked if one in waiting.values())
        diagnostics.append(kinds.missing_batch_answers(ids=ids).unplaced())
    line = f"[{','.join(lines)}]"
    blocked = any(diagnostic.blocks for diagnostic in diagnostics)
    return Verdict(text, None if blocked else line, line, check.in_order(tuple(diagnostics)))


def _judge_one(
    exchange: Exchange | None, item: Message, negotiated: NegotiatedState
) -> tuple[str, tuple[Diagnostic, ...]]:
    if exchange is None:
        return jsonrpc.compact(item.raw), (_unmatched(item),)
    verdict = check.check(exchange, item.raw, negotiated=negotiated)
    return verdict.line or verdict.forced or jsonrpc.compact(item.raw), verdict.diagnostics


def _unmatched(item: Message) -> Diagnostic:
    token = item.id.token if item.id is not None else "null"
    return kinds.unmatched_response(("id",), id=token).unplaced()


def _array(reading: Reading) -> Batch | None:
    if not reading.readable:
        return None
    found = jsonrpc.read_text(reading.json)
    return found if isinstance(found, Batch) else None


def _placed(batch: Batch, text: str) -> Iterator[tuple[Message | Malformed, int]]:
    """Yield the items of an array with their offsets."""
    at = 0
    for item in batch.items:
        raw = item.raw if isinstance(item, Message) else item.text
        at = text.index(raw, at)
        yield item, at
        at += len(raw)


def _moved(diagnostic: Diagnostic, index: int, at: int, reading: Reading, text: str) -> Diagnostic:
    """Place a problem of one response in the whole text; without its fix, whose offsets differ."""
    start, end = reading.as_written(at + diagnostic.start), reading.as_written(at + diagnostic.end)
    line, column = line_and_column(text, start)
    return diagnostic._replace(
        pointer=f"/{index}{diagnostic.pointer}",
        start=start,
        end=end,
        line=line,
        column=column,
        fix=None,
    )


@dataclass(frozen=True, slots=True)
class HeldMessage:
    """A held message, and what is needed to check the line that replaces it.

    `direction` is where it came from. For a response, `asked` is its request. `unread` says that
    nobody can be sure what the line says (`doubts`).
    """

    line: str
    direction: Direction
    version: str
    asked: str = ""
    unread: bool = False

    @property
    def message(self) -> jsonrpc.DecodedLine:
        """The held line, decoded; no message if nobody is sure what it says."""
        if self.unread:
            return Malformed(jsonrpc.encoded(self.line), Flaw.NO_MESSAGE)
        return read_text(self.line)

    @property
    def question(self) -> Exchange | None:
        """The held request, as an exchange that can be answered; None for other messages."""
        held = self.message
        if isinstance(held, Message) and held.kind is Kind.REQUEST:
            return Exchange(0, held, self.version)
        return None

    @property
    def questions(self) -> tuple[Exchange, ...]:
        """The requests in a held batch (2025-03-26), which an array of responses answers."""
        held = self.message
        return requests_in(held, self.version) if isinstance(held, Batch) else ()

    @property
    def answered(self) -> Exchange | None:
        held, asked = self.message, read_text(self.asked)
        is_answer = isinstance(held, Message) and held.kind.is_answer
        if is_answer and isinstance(asked, Message) and asked.id is not None:
            return Exchange(0, asked, self.version)
        return None


def answers(held: HeldMessage, text: str, form: TextForm, *, answer: bool = False) -> bool:
    """Return True if a text answers the held request or batch, instead of replacing it.

    `answer`: the person means it as the answer to a held request, whatever its form.
    """
    if held.question is None:
        return bool(held.questions) and form is TextForm.MESSAGE and is_answers(text)
    kind = kind_typed(text)
    return answer or form is not TextForm.MESSAGE or (kind is not None and kind.is_answer)


def judge(
    held: HeldMessage,
    text: str,
    form: TextForm = TextForm.MESSAGE,
    negotiated: NegotiatedState = NOTHING_ESTABLISHED,
    *,
    answer: bool = False,
) -> Verdict:
    """Check a text for a held message, and make the line to send.

    `answer`: the person means the text as the answer to a held request. An unchanged text can
    always be sent, because it is not the person's.
    """
    if held.unread:
        return _judge_unread(held, text)
    question, answered = held.question, held.answered
    if answers(held, text, form, answer=answer):
        if question is None:
            return judge_answers(held.questions, text, negotiated)
        return check.check(question, text, form, negotiated)
    if jsonrpc.compact(text) == jsonrpc.compact(held.line):
        return Verdict(text, held.line, held.line)
    if answered is not None:
        return check.check(answered, text, form, negotiated)
    return _judge_edited(held, text)


def _judge_unread(held: HeldMessage, text: str) -> Verdict:
    """Check a text for a line that nobody is sure of: it goes on as it came, or not at all."""
    if text == held.line:
        return Verdict(text, text, text)
    return Verdict(text, None, None, (kinds.unread_line_changed().unplaced(),))


def _judge_edited(held: HeldMessage, text: str) -> Verdict:
    """Check a request, a notification or a malformed line after the person edited it."""
    reading = read_json(text)
    forced = wire_line(text)
    if not reading.readable:
        return Verdict(text, None, forced, reading.diagnostics)
    line = jsonrpc.compact(reading.json)
    secrets = warn_of_secrets(text, known=held.line)
    diagnostics = (*reading.diagnostics, *_changes(held, line), *secrets)
    blocked = any(diagnostic.blocks for diagnostic in diagnostics)
    edited = read_text(line)
    kind = edited.kind if isinstance(edited, Message) else None
    return Verdict(text, None if blocked else line, line, diagnostics, kind)


def _changes(held: HeldMessage, line: str) -> tuple[Diagnostic, ...]:
    """Report changes of the kind of the message and of its id, which must stay."""
    before, after = held.message, read_text(line)
    if isinstance(after, jsonrpc.Malformed):
        return (unreadable(after),)
    if isinstance(before, jsonrpc.Malformed):
        return ()
    was, now = _kind(before), _kind(after)
    if was != now:
        return (kinds.message_kind_changed(was=was, now=now).unplaced(),)
    if not isinstance(before, Message) or not isinstance(after, Message):
        return ()  # batches: their messages cannot be matched
    if before.id is not None and after.id is not None and before.id.key != after.id.key:
        return (kinds.id_changed(("id",), was=before.id.token, now=after.id.token).unplaced(),)
    return ()


def _kind(message: Message | Batch) -> str:
    return message.kind.value if isinstance(message, Message) else "batch"


# -- what is understood ---------------------------------------------------------------------------
#
# A line is understood if each program that takes it reads the same messages in it. What is not
# understood may be anything to another program: a hold stops it, and a person decides.

_DECIDING: Final = frozenset(
    {"jsonrpc", "id", "method", "params", "result", "error", "name", "arguments"}
)
"""The members by which it is decided whether a message is held."""

_METHODS: Final = frozenset(name.casefold() for name in (*methods.REQUESTS, *methods.NOTIFICATIONS))


def doubts(raw: bytes, found: jsonrpc.DecodedLine) -> tuple[Diagnostic, ...]:
    """Return why nobody can be sure what a line says; () for one that is understood.

    `found` is what `jsonrpc.read` makes of it. Escapes, a byte-order mark and a missing `jsonrpc`
    raise no doubt: who reads the line at all reads this message.
    """
    if b"\r" in raw.strip():
        return (kinds.carriage_return_inside().unplaced(),)
    match found:
        case Malformed():
            return (unreadable(found),)
        case Batch(items=items):
            each = [item for item in items if isinstance(item, Malformed)]
            if each:
                return (unreadable(each[0]),)
            messages = [item for item in items if isinstance(item, Message)]
        case Message():
            messages = [found]
    if doubtful := json_doubts(found.raw):
        return doubtful
    names = (name for one in messages for name in _read_differently(one))
    return tuple(kinds.name_read_differently(name=quoted(name)).unplaced() for name in names)[:1]


def _read_differently(message: Message) -> Iterator[str]:
    """Yield the names that programs do not agree on.

    Go's `encoding/json` ignores the case of a member's name; C ends a text at a NUL.
    """
    for member in (*message.body, *message.params):
        if member not in _DECIDING and member.casefold() in _DECIDING:
            yield member
    method, named = message.method, message.params.get("name")
    if method.strip().casefold() in _METHODS and not methods.of(method).name:
        yield method
    for name in (method, named if isinstance(named, str) else ""):
        if not name.isprintable():
            yield name


# -- the patterns of messages to hold ------------------------------------------------------------
#
# The patterns that a person types: `tools/call`, `tool:NAME`, `in`, `out`, `next`. A leading `in:`
# or `out:` adds the direction: `tools/call` is the request, `out:tools/call` its response.

NEXT: Final = "next"
_TOOL: Final = "tool:"
_WAYS: Final[Mapping[str, Direction]] = {"in": Direction.IN, "out": Direction.OUT}


class PatternError(ValueError):
    """A pattern is not valid."""

    section: ClassVar = "pattern"
    code: Final = "unknown"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    @property
    def fillings(self) -> Mapping[str, str]:
        """The fillings of the sentence with the valid forms."""
        return {"text": self.text}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern of messages to hold. Empty fields match all; `once` holds one message only."""

    text: str
    direction: Direction | None = None
    method: str = ""
    tool: str = ""
    once: bool = False

    def fits(self, observed: ObservedMessage) -> bool:
        if self.direction is not None and observed.direction is not self.direction:
            return False
        if self.tool:
            if observed.method != "tools/call" or not self._asked_of(observed):
                return False
            about = observed.request.request if observed.request else observed.message
            name = about.params.get("name")  # what is no text may be any tool to another program
            return name.strip() == self.tool.strip() if isinstance(name, str) else True
        return not self.method or self._asked_of(observed) == self.method

    def covers(self, direction: Direction) -> bool:
        """Return True if a message from this side may match."""
        if self.direction is not None or not (self.tool or self.method):
            return self.direction in (None, direction)
        record = methods.of("tools/call" if self.tool else self.method)
        senders = record.to_server if direction is Direction.IN else record.to_client
        return bool(senders) or not record.name

    def _asked_of(self, observed: ObservedMessage) -> str:
        """Return the method to compare; without a direction, a response has none."""
        return observed.message.method if self.direction is None else observed.method


def parse_pattern(text: str) -> Pattern:
    """Read a pattern.

    Raises:
        PatternError: it is not valid.
    """
    first, colon, rest = text.partition(":")
    direction = _WAYS.get(first)
    what = (rest if colon else "") if direction else text
    if not what:
        if direction is None or colon:
            raise PatternError(text)
        return Pattern(text, direction)
    if what == NEXT:
        return Pattern(text, direction, once=True)
    if what.startswith(_TOOL):
        tool = what.removeprefix(_TOOL)
        if not tool:
            raise PatternError(text)
        return Pattern(text, direction, tool=tool)
    if not what.strip() or what != what.strip():
        raise PatternError(text)
    return Pattern(text, direction, method=what)


def parse_patterns(texts: Iterable[str]) -> tuple[Pattern, ...]:
    """Read several patterns.

    Raises:
        PatternError: one of them is not valid.
    """
    return tuple(parse_pattern(text) for text in texts)
