"""Check a whole conversation: every line of both sides, in order.

It uses the same observer and check as a tap. It opens no file: each line comes with its number.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation.state import (
    MOST_OPEN,
    ConversationState,
    ObservedMessage,
    StrayCause,
)
from humanmcp.protocol.conversation.transcript import Direction, Perspective, is_foreign
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import Severity, unreadable
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Malformed, Message
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.json.undecoded import answered_in, ids_in
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.methods import LOG, PROGRESS
from humanmcp.protocol.tables.reactions import Reaction, in_detail, reactions_to
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation import captures, check
from humanmcp.protocol.validation.outgoing import gates

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.diagnostics.problem import RawDiagnostic
    from humanmcp.protocol.validation.captures import CapturedLine

_BOM: Final = b"\xef\xbb\xbf"


def line_hints(
    raw: bytes, found: jsonrpc.DecodedLine, version: str, *, strict: bool = False
) -> tuple[Diagnostic, ...]:
    """Return the problems of a line as such, regardless of its messages."""
    said = []
    if raw.startswith(_BOM):
        said.append(kinds.bom_before_line().unplaced())
    if isinstance(found, Batch) and not features(version).batches:
        severity = Severity.ERROR if strict else Severity.WARNING
        said.append(kinds.batch_not_allowed().without_fix(severity).unplaced())
    return tuple(said)


def hints(
    heard: ObservedMessage | Malformed,
    negotiated: NegotiatedState,
    version: str,
    *,
    strict: bool = False,
) -> tuple[Diagnostic, ...]:
    """Return the problems of a message, the most severe first; () if there are none.

    With `strict`, an error stays an error also in the peer's messages.
    """
    if isinstance(heard, Malformed):
        return (unreadable(heard),)
    found = _found(heard, negotiated, version or versions.LATEST_HANDSHAKE, strict=strict)
    return tuple(sorted(found, key=lambda diagnostic: _ORDER.index(diagnostic.severity)))


def _judged_for(observed: ObservedMessage, negotiated: NegotiatedState) -> tuple[Diagnostic, ...]:
    """Check a response with an unused id as the response to the only pending request."""
    if observed.likely is None:
        return ()
    found = check.review(observed.likely, observed.message, negotiated)
    return tuple(each for each in found if each.code not in kinds.WRONG_IDS)


_ORDER = tuple(Severity)


_STRAY: Final[Mapping[StrayCause | None, Callable[[str], RawDiagnostic]]] = {
    StrayCause.REPEATED: lambda token: kinds.second_response(("id",), id=token),
    StrayCause.LATE: lambda _token: kinds.late_response(("id",)),
    StrayCause.ANSWERED_NOTIFICATION: lambda _token: kinds.answered_notification(),
    StrayCause.WITHOUT_ID: lambda _token: kinds.response_without_id().without_fix(Severity.WARNING),
    StrayCause.OTHER_TYPE: lambda token: kinds.wrong_id_type(
        ("id",), typed=token, id=token.strip('"') if token.startswith('"') else f'"{token}"'
    ),
    StrayCause.HTTP_ERROR: lambda _token: kinds.http_error_id(("id",)),
}
"""The problem of a response that answers no open request, by its cause."""


def _stray(observed: ObservedMessage) -> RawDiagnostic:
    token = observed.message.id.token if observed.message.id is not None else "null"
    if observed.stray in _STRAY:
        return _STRAY[observed.stray](token)
    return kinds.unmatched_response(("id",), id=token)


def _found(
    observed: ObservedMessage, negotiated: NegotiatedState, version: str, *, strict: bool
) -> tuple[Diagnostic, ...]:
    message = observed.message
    if message.kind.is_answer:
        if observed.request is None:
            return (_stray(observed).unplaced(), *_judged_for(observed, negotiated))
        return check.review(observed.request, message, negotiated, strict=strict)
    if observed.direction is Direction.IN:
        request = observed.request if message.kind is Kind.REQUEST else None
        stated = request.version if request else version
        also = (*observed.found, *_in_use(observed))
        retried = request.retried if request else None
        return check.remarks(message, stated, negotiated, also, retried=retried, strict=strict)
    method = message.method
    record = methods.named(method, is_request=message.kind is Kind.REQUEST)
    if version not in record.to_client:
        return (
            kinds.unexpected_server_method(("method",), method=method, version=version).unplaced(),
        )
    also = (*observed.found, *_in_use(observed), *gates(message, version, negotiated))
    shakes_hands = negotiated.client_name and not negotiated.initialized
    if message.kind is Kind.REQUEST and shakes_hands and not record.early:
        also = (*also, kinds.server_request_too_early(("method",), method=method))
    return check.remarks(message, version, negotiated, also, sender=Direction.OUT, strict=strict)


def _in_use(observed: ObservedMessage) -> tuple[RawDiagnostic, ...]:
    """Report a request whose id another open request of its side has."""
    is_request = observed.message.kind is Kind.REQUEST
    return (kinds.id_in_use(("id",)),) if is_request and observed.ambiguous else ()


class NeverAnswered(NamedTuple):
    """A request without a response: the number of its line, and of the dropped line, 0 for none.

    `reactions` is what clients do with that line, as `in_detail` writes it. `nameless` is the line
    of a response without an id that came while only this request waited, 0 for none.
    """

    seq: int
    request: Exchange
    dropped: int = 0
    reactions: str = ""
    nameless: int = 0

    @property
    def diagnostic(self) -> Diagnostic:
        """The problem as the check reports it."""
        token = self.request.request.id.token if self.request.request.id is not None else ""
        method, line = self.request.method, str(self.dropped or self.nameless)
        if self.nameless:
            return kinds.maybe_answered_without_id(method=method, id=token, line=line).unplaced()
        if not self.dropped:
            return kinds.request_never_answered(method=method, id=token).unplaced()
        told = kinds.answer_dropped(method=method, id=token, line=line, reactions=self.reactions)
        return told.unplaced()


class Unanswered:
    """Tracks the open requests, and those whose response is dropped. Lines come in order."""

    def __init__(self) -> None:
        self._lines: OrderedDict[int, int] = OrderedDict()
        """The number of the line of each request."""
        self._in_vain: OrderedDict[int, NeverAnswered] = OrderedDict()

    def heard(self, seq: int, observed: ObservedMessage) -> None:
        """Record a request; responses only matter if they are dropped."""
        if observed.request is not None and observed.message.kind is Kind.REQUEST:
            self._lines[observed.request.number] = seq
            if len(self._lines) > MOST_OPEN:
                self._lines.popitem(last=False)

    def checked(
        self, seq: int, observed: ObservedMessage, said: Iterable[Diagnostic]
    ) -> NeverAnswered | None:
        """Record the problems of a response. Return its request if clients drop the response."""
        if observed.request is None or not observed.message.kind.is_answer:
            return None
        return self._failed(seq, observed.request, said)

    def malformed(
        self,
        seq: int,
        malformed: Malformed,
        waiting: Collection[Exchange],
        said: Iterable[Diagnostic],
    ) -> NeverAnswered | None:
        """Record a malformed line. Return the pending request whose response it looks like."""
        by_token = {one.request.id.token: one for one in waiting if one.request.id is not None}
        named = answered_in(malformed.text, by_token)
        request = next((one for token, one in by_token.items() if token in named), None)
        return None if request is None else self._failed(seq, request, said)

    def _failed(
        self, seq: int, request: Exchange, said: Iterable[Diagnostic]
    ) -> NeverAnswered | None:
        reactions = _reactions(said, request.version)
        if Reaction.SILENT not in reactions.values() or request.number in self._in_vain:
            return None
        told = in_detail(reactions)
        unanswered = NeverAnswered(self._lines.get(request.number, 0), request, seq, told)
        self._in_vain[request.number] = unanswered
        if len(self._in_vain) > MOST_OPEN:
            self._in_vain.popitem(last=False)
        return unanswered

    def left(self, conversation: ConversationState) -> tuple[NeverAnswered, ...]:
        """List the requests that got no response, at the end of the conversation, in order.

        A subscription (2026-07-28) stays open by design.
        """
        left = dict(self._in_vain)
        for request in conversation.open:
            if not methods.of(request.method).stays_open and request.number not in left:
                left[request.number] = NeverAnswered(self._lines.get(request.number, 0), request)
        return tuple(left[number] for number in sorted(left))


class Judged(NamedTuple):
    """A message or a malformed line, and its problems.

    `line` is its number. `method` is its own, or that of the request that it answers. `column` is
    where it begins in that line. `is_quoted`: places in it are no places in the file.
    `written_at` is its place in the file that a session was made of: `7:12`.
    """

    line: int
    direction: Direction
    text: str
    method: str = ""
    id: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    column: int = 1
    is_quoted: bool = False
    written_at: str = ""

    def placed(self, line: CapturedLine) -> Judged:
        """Return it with the place of its line in the file."""
        is_quoted = line.origin in (captures.Origin.QUOTED, captures.Origin.BARE)
        return self._replace(column=line.column, is_quoted=is_quoted)

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Return the place in the file of a line and column of its text, which count from 1."""
        if self.is_quoted:
            return self.line, self.column
        return self.line + line - 1, column + (self.column - 1 if line == 1 else 0)


class ConversationJudge:
    """Checks line after line. `version` applies until the two sides have negotiated one."""

    def __init__(
        self, version: str = "", *, initialized: bool = False, strict: bool = True
    ) -> None:
        """Start without any message; `initialized` for messages without their handshake.

        With `strict`, an error stays an error also in the peer's messages.
        """
        self.conversation = ConversationState()
        self.conversation.negotiated_version = version
        self._begins_later = initialized
        if initialized:
            self.conversation.negotiated = self.conversation.negotiated._replace(initialized=True)
        self._unanswered = Unanswered()
        self._strict = strict
        self._unread: OrderedDict[tuple[Direction, str], int] = OrderedDict()
        """The number of the line that could not be read, by its sender and each id in it."""
        self._nameless: OrderedDict[int, int] = OrderedDict()
        """The number of the line without an id that may answer a request, by its number."""
        self._unreadable: set[Direction] = set()
        """The sides that sent such a line since an error without an id came back."""

    @property
    def version(self) -> str:
        """The current protocol version."""
        return self.conversation.version or versions.LATEST_HANDSHAKE

    def line(self, number: int, direction: Direction, raw: bytes) -> tuple[Judged, ...]:
        """Check one line: the line as such, and each message in it."""
        if not raw.strip():
            return ()
        found = jsonrpc.read(raw)
        about = line_hints(raw, found, self.version, strict=self._strict)
        match found:
            case Message() as message:
                judged = self._message(number, direction, message, about)
                return (judged._replace(diagnostics=(*about, *judged.diagnostics)),)
            case Batch() as batch:
                items = [
                    self._message(number, direction, item, about)
                    if isinstance(item, Message)
                    else self._broken(number, direction, item)
                    for item in batch.items
                ]
                return (Judged(number, direction, batch.raw, diagnostics=about), *items)
            case Malformed() as malformed:
                return (self._broken(number, direction, malformed, about),)

    def _message(
        self, number: int, direction: Direction, message: Message, about: tuple[Diagnostic, ...]
    ) -> Judged:
        observed = self._observe(number, direction, message)
        found = hints(observed, self.conversation.negotiated, self.version, strict=self._strict)
        asker = Direction.IN if direction is Direction.OUT else Direction.OUT
        if observed.stray is StrayCause.WITHOUT_ID and asker in self._unreadable:
            self._unreadable.remove(asker)  # the error reports that line, which has no id
            found = ()
        elif observed.stray is StrayCause.NEVER_ASKED and message.id is not None:
            unread = self._unread.get((asker, message.id.token))
            if unread is not None:
                told = kinds.request_not_read(("id",), id=message.id.token, line=str(unread))
                found = (told.unplaced(),)
            elif self._begins_later and not self.conversation.count:
                found = (kinds.request_not_recorded(("id",), id=message.id.token).unplaced(),)
        if self._begins_later and _refused_first(observed):
            told = kinds.refused_before_initialize(("error",), method=observed.method)
            found = (*found, told.unplaced())
        waiting = self.conversation.in_flight(asker)
        if observed.stray is not None and message.id is None and len(waiting) == 1 and found:
            self._nameless[waiting[0].number] = number
            if len(self._nameless) > MOST_OPEN:
                self._nameless.popitem(last=False)
        if observed.method == "initialize" and message.kind is Kind.ERROR:
            self._expect_anything()
        said = (*about, *found)
        unanswered = self._unanswered.checked(number, observed, said)
        return _judged(number, observed, (*found, *_effect(unanswered, observed, said)))

    def _observe(self, number: int, direction: Direction, message: Message) -> ObservedMessage:
        observed = self.conversation.observe(direction, message)
        self._unanswered.heard(number, observed)
        return observed

    def follow(self, number: int, direction: Direction, raw: bytes) -> None:
        """Take note of a line without checking it."""
        for message in jsonrpc.items_in(raw):
            if isinstance(message, Message):
                self._observe(number, direction, message)

    def _broken(
        self,
        number: int,
        direction: Direction,
        malformed: Malformed,
        about: tuple[Diagnostic, ...] = (),
    ) -> Judged:
        waiting = [
            request for request in self.conversation.open if request.direction is not direction
        ]
        self._unreadable.add(direction)
        for token in ids_in(malformed.text):
            self._unread[direction, token] = number
            if len(self._unread) > MOST_OPEN:
                self._unread.popitem(last=False)
        self._expect_anything()
        notified = self.conversation.may_answer_notification(direction)
        if notified and not waiting and _lacks_id(malformed):
            told = kinds.answered_notification().unplaced()
            return Judged(number, direction, malformed.text, diagnostics=(*about, told))
        found = (*about, *hints(malformed, self.conversation.negotiated, self.version))
        unanswered = self._unanswered.malformed(number, malformed, waiting, found)
        effect = () if unanswered is None else (unanswered.diagnostic,)
        return Judged(number, direction, malformed.text, diagnostics=(*found, *effect))

    def _expect_anything(self) -> None:
        """Let the handshake be over: without a line of it, nobody knows what may follow."""
        self.conversation.negotiated = self.conversation.negotiated._replace(initialized=True)

    def unanswered_requests(self) -> tuple[NeverAnswered, ...]:
        """List the requests that got no response, at the end."""
        left = self._unanswered.left(self.conversation)
        return tuple(
            one if one.dropped else one._replace(nameless=self._nameless.get(one.request.number, 0))
            for one in left
        )

    def end(self) -> tuple[Judged, ...]:
        """Return the requests without a response; a dropped response was already reported."""
        return tuple(
            Judged(
                one.seq,
                one.request.direction,
                one.request.request.raw,
                one.request.method,
                diagnostics=(one.diagnostic,),
            )
            for one in self.unanswered_requests()
            if not one.dropped
        )

    def speaker(self, raw: bytes) -> Direction:
        """Guess the sender of a line without a direction."""
        return captures.speaker(self.conversation, raw)


def _refused_first(observed: ObservedMessage) -> bool:
    """Return True if the first request is a list that a server calls invalid.

    The Python SDK (1.30.0, 2.3.0) answers so before `initialize`: a list needs no parameters.
    """
    request, code = observed.request, follow(observed.message.body, "error", "code")
    if request is None or request.direction is Direction.OUT or request.number > 1:
        return False
    is_list = methods.of(request.method).listing and "cursor" not in request.request.params
    return bool(is_list) and code == _INVALID_PARAMS and not features(request.version).stateless


_INVALID_PARAMS: Final = -32602


def _lacks_id(malformed: Malformed) -> bool:
    """Return True for a result without an id, or with null."""
    body = jsonrpc.object_in(malformed.raw)
    return "result" in body and "method" not in body and body.get("id") is None


def _judged(number: int, observed: ObservedMessage, diagnostics: tuple[Diagnostic, ...]) -> Judged:
    token = observed.message.id.token if observed.message.id is not None else ""
    return Judged(
        number, observed.direction, observed.message.raw, observed.method, token, diagnostics
    )


def _effect(
    unanswered: NeverAnswered | None, observed: ObservedMessage, said: tuple[Diagnostic, ...]
) -> tuple[Diagnostic, ...]:
    """Return what clients do with a message: they drop it, or its caller gets an error."""
    if unanswered is not None:
        return (unanswered.diagnostic,)
    if observed.direction is not Direction.OUT:
        return ()
    version = observed.request.version if observed.request else ""
    return told_reactions(said, observed.message.kind, version)


def _reactions(said: Iterable[Diagnostic], version: str) -> Mapping[int, Reaction]:
    """Return what clients do with a response: nothing was measured with 2026-07-28."""
    return {} if features(version).stateless else reactions_to(said)


def told_reactions(
    said: Iterable[Diagnostic], kind: Kind | None, version: str
) -> tuple[Diagnostic, ...]:
    """Return what clients do with a response that has these problems; () if all take it."""
    reactions = _reactions(said, version)
    mild = {Reaction.TAKEN} | ({Reaction.FAILED} if kind is Kind.ERROR else set())
    if mild.issuperset(reactions.values()):
        return ()
    return (kinds.client_reactions(reactions=in_detail(reactions)).unplaced(),)


class RecordingJudge:
    """Checks a recording as its client saw it, frame after frame."""

    def __init__(self, version: str = "") -> None:
        self._overheard, self._view = ConversationJudge(version), Perspective(Direction.IN)
        self._lines: dict[int, int] = {}

    def feed(self, number: int, frame: Frame) -> Iterator[Judged]:
        """Check what the client saw because of the next frame; `number` is that of its line.

        An agent's prompt, a step of another kind and the answers to them are no messages of MCP.
        """
        if is_foreign(frame):
            return
        self._lines[frame.seq] = number
        for seen in self._view.feed(frame):
            yield from self._overheard.line(self._lines[seen.seq], seen.direction, seen.raw)

    def end(self) -> tuple[Judged, ...]:
        """Return the requests without a response, if the conversation is over."""
        return self._overheard.end()


def judge_frames(
    frames: Iterable[tuple[int, Frame]], version: str = "", *, goes_on: bool = False
) -> Iterator[Judged]:
    """Check a recording as its client saw it. Each frame comes with the number of its line.

    Where the conversation goes on, each request may still get its response.
    """
    judge = RecordingJudge(version)
    for number, frame in frames:
        yield from judge.feed(number, frame)
    if not goes_on:
        yield from judge.end()


def judge_capture(
    lines: Iterable[CapturedLine], version: str = "", *, goes_on: bool = False
) -> Iterator[Judged]:
    """Check the messages of a capture. Words of the program that wrote it are passed over.

    Where the conversation goes on, each request may still get its response.
    """
    lines = tuple(lines)
    # Without the handshake, the capture begins later, and nobody knows what was before.
    overheard = ConversationJudge(
        version, initialized=not any('"initialize"' in line.text for line in lines)
    )
    requests: dict[tuple[int, str], CapturedLine] = {}
    for line in lines:
        if line.direction in (Direction.NOTE, Direction.ERR):
            continue
        direction = line.direction or overheard.speaker(line.raw)
        if line.is_cut:
            overheard.follow(line.number, direction, line.raw)
            continue
        for one in overheard.line(line.number, direction, line.raw):
            requests[line.number, one.text] = line
            yield one.placed(line)
    for one in () if goes_on else overheard.end():
        line_of = requests.get((one.line, one.text))
        yield one.placed(line_of) if line_of is not None else one


_ESCAPE: Final = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|([nrt\\]))")
_MEANT: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\"}


class Opener(NamedTuple):
    """A message to start from: its method, its topic ("" for none), and its text."""

    method: str
    about: str
    text: str


def message(method: str, params: Any = None, own: str | int | None = None) -> str:  # noqa: ANN401 - any JSON value
    """Write a notification, or a request if it has an id."""
    body: dict[str, Any] = {"jsonrpc": "2.0"}
    if own is not None:
        body["id"] = own
    body["method"] = method
    if params is not None:
        body["params"] = params
    return jsonrpc.as_json(body)


def request(method: str, own: str) -> str:
    """Write a request to the client, with example parameters."""
    return message(method, _PARAMS.get(method), own)


def log(level: str, text: str) -> str:
    """Write a log message."""
    return message(LOG, {"level": level, "logger": "humanmcp", "data": text})


def progress(exchange: Exchange, value: float, total: float | None = None) -> str:
    """Write a progress notification of a request. Without a token, it uses the request's id."""
    token = exchange.request.meta.get("progressToken", exchange.id.value)
    of = {} if total is None else {"total": total}
    return message(PROGRESS, {"progressToken": token, "progress": value, **of})


def openers(version: str, waiting: Sequence[Exchange], own: str) -> Iterator[Opener]:
    """Yield the messages to start from. `own` is the id for requests."""
    for about, method in methods.CHANGED.items():
        if version in methods.of(method).to_client:
            yield Opener(method, about, message(method))
    if version in methods.of(LOG).to_client:
        yield Opener(LOG, "info", log("info", "a person is at it"))
    for exchange in waiting:
        if exchange.progress_token is not None:
            yield Opener(PROGRESS, exchange.tool or exchange.method, progress(exchange, 1, 4))
    for method in ("ping", "roots/list", *_PARAMS):
        if version in methods.of(method).to_client:
            yield Opener(method, "", request(method, own))


_PARAMS: Final[dict[str, Any]] = {
    "elicitation/create": {
        "message": "What is your name?",
        "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
    },
    "sampling/createMessage": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hello!"}}],
        "maxTokens": 100,
    },
}


def typed_bytes(text: str) -> bytes:
    r"""Return the bytes of a typed text: `\xff` is one byte, `\n` a line feed, `\\` a backslash.

    Everything else is UTF-8, including unpaired surrogates.
    """
    raw = text.encode("utf-8", "surrogatepass")
    return _ESCAPE.sub(lambda found: _byte(found[1], found[2]), raw)


def _byte(digits: bytes | None, letter: bytes | None) -> bytes:
    return bytes([int(digits, 16)]) if digits is not None else _MEANT[letter or b"\\"]
