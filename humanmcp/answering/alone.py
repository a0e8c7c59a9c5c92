"""Judge a message or a recording for itself: without the session, or without the requests.

What `check` says of a file, the page says of a recording that it shows.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.answering.files import TYPED, FileKind
from humanmcp.answering.schema import RemarkShape
from humanmcp.locales import say
from humanmcp.locales.stop import stopped
from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import PLACE, Direction
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity, TextForm, Verdict, blocking
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.json.tree import follow, object_at, text_at
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.repair import reading as json_reading
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.captures import (
    ALONE,
    FOREIGN,
    PASSED_OVER,
    Origin,
    captured_line,
    frames_of,
    speaker,
)
from humanmcp.protocol.validation.whole_conversation import (
    ConversationJudge,
    Judged,
    judge_capture,
    judge_frames,
    told_reactions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from humanmcp.answering.files import ReadFile
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.validation.captures import CapturedLine

TOLD: Final = frozenset({Severity.ERROR, Severity.WARNING, Severity.HOSTS})
"""What people are told of each message of a conversation."""
_WORDS: Final = 240
"""Hosts write time and name before the cause."""


@dataclass(frozen=True, slots=True)
class TypedCase:
    """One answer to judge, and the request that it answers."""

    exchange: Exchange
    text: str
    form: TextForm
    is_alone: bool = False
    """The request is made up."""

    def verdict(self) -> Verdict:
        """Judge it."""
        return self.judge(self.text)

    def told_verdict(self) -> Verdict:
        """Judge it, with what real clients do with what is wrong in it."""
        verdict = self.verdict()
        clients = told_reactions(verdict.diagnostics, verdict.kind, self.exchange.version)
        return verdict._replace(diagnostics=(*verdict.diagnostics, *clients))

    def judge(self, text: str) -> Verdict:
        """Judge another text in its place."""
        verdict = check.check(self.exchange, text, self.form)
        known, hint = known_alone(verdict.diagnostics)
        if not self.is_alone or not hint:
            return verdict
        line = verdict.line if blocking(known) else verdict.forced
        return verdict._replace(line=line, diagnostics=(*known, *hint))


def known_alone(
    diagnostics: tuple[Diagnostic, ...],
) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """Return the problems that a message has without a session, and a hint if it may have more."""
    known = tuple(one for one in diagnostics if one.code not in kinds.OF_THE_SESSION)
    return known, (kinds.seen_alone().unplaced(),) if known != diagnostics else ()


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of the request that an answer belongs to; each part may be missing."""

    request: str | None = None
    method: str | None = None
    version: str | None = None
    id: Any = None


def open_exchange_of(text: str, form: TextForm, asked: Asked) -> TypedCase:
    """Combine an answer with the request that it answers.

    Without a request, one is made up: with the method (or the one that the answer looks like) and
    the id of the answer itself.

    Raises:
        StopError: the request is not a request.
    """
    if asked.request is None:
        message = _made_up(text, asked)
    else:
        one_line = jsonrpc.encoded(jsonrpc.compact(asked.request))
        found = jsonrpc.read(one_line)
        if not isinstance(found, jsonrpc.Message) or found.kind is not jsonrpc.Kind.REQUEST:
            raise stopped("check", "no request")
        message = found
    version = asked.version or versions.stated_in(message) or _asked_for(message)
    return TypedCase(Exchange(1, message, version), text, form, is_alone=asked.request is None)


def _asked_for(request: jsonrpc.Message) -> str:
    """Return the version of a request that states none: what it asks for, else the newest."""
    wanted = request.params.get("protocolVersion") if request.method == "initialize" else None
    if request.method == "server/discover":
        return versions.LATEST_STATELESS
    return wanted if wanted in versions.HANDSHAKE else versions.LATEST_HANDSHAKE


def _made_up(text: str, asked: Asked) -> jsonrpc.Message:
    """Make up a request for an answer that comes without its request."""
    reading = json_reading.read_json(text)  # also reads JSON with small mistakes
    value = reading.value if reading.readable else None
    token = _own_id(reading.json, value) if asked.id is None else json.dumps(asked.id)
    name = asked.method or guessed_method(value)
    made = jsonrpc.read(
        f'{{"jsonrpc":"2.0","id":{token},"method":{json.dumps(name)},"params":{{}}}}'.encode()
    )
    if not isinstance(made, jsonrpc.Message) or made.id is None:
        raise stopped("check", "no id", got=token)
    return made


def _own_id(text: str, value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the token of the answer's own id where it can be one, else 1."""
    own = follow(value, "id")
    can_be_one = isinstance(own, (str, int)) and not isinstance(own, bool)
    return jsonrpc.member(text, "id") or "1" if can_be_one else "1"


def guessed_method(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Guess from a result what it answers; `tools/call` where it may be anything."""
    result = object_at(value, "result") or object_at(value)
    fitting = (
        one.name
        for one in methods.REQUESTS.values()
        if not result.keys().isdisjoint(one.gives_away)
    )
    return next(fitting, "tools/call")


def judge_alone(raw: bytes, version: str) -> Iterator[Judged]:
    """Judge a message without the conversation around it: it may be any part of one."""
    overheard = ConversationJudge(version, initialized=True)
    for judged in overheard.line(1, overheard.speaker(raw), raw):
        known, hint = known_alone(judged.diagnostics)
        yield judged._replace(diagnostics=(*known, *hint))


def judge_file(read: ReadFile, name: str, version: str = "") -> Iterator[Judged]:
    """Judge the messages of a file, or its text as an answer by its own shape.

    Raises:
        StopError: it has neither.
    """
    if read.kind not in TYPED:
        yield from judge_captured(read.messages(name), version)
        return
    opened = open_exchange_of(read.text, TextForm.MESSAGE, Asked(version=version or None))
    verdict = opened.told_verdict()
    yield Judged(1, Direction.OUT, verdict.text, opened.exchange.method, "", verdict.diagnostics)


def told_of(read: ReadFile, name: str) -> list[Judged]:
    """Return what people are told of the messages of a file; of one alone, all of it.

    Raises:
        StopError: it has none, and is no answer.
    """
    judged = judge_file(read, name)
    if read.kind is FileKind.CONVERSATION:
        return told(judged)
    return [one for one in judged if one.diagnostics]


def judge_captured(
    captured: Sequence[CapturedLine], version: str = "", *, goes_on: bool = False
) -> Iterator[Judged]:
    """Judge the messages of a recording, each response by its own shape if no client speaks.

    Where the conversation goes on, each request may still get its response.
    """
    if any(one.frame for one in captured):
        frames = zip((one.number for one in captured), frames_of(captured, str), strict=True)
        found = judge_recording(frames, version, goes_on=goes_on)
        return (one._replace(column=1) for one in found)
    if captured and captured[0].origin is Origin.REQUEST:
        return judge_alone(captured[0].raw, version)
    if is_two_sided(captured):
        return judge_capture(captured, version, goes_on=goes_on or has_no_side(captured))
    return _without_requests(captured, version)


def judge_recording(
    frames: Iterable[tuple[int, Frame]], version: str = "", *, goes_on: bool = False
) -> Iterator[Judged]:
    """Judge the lines of a recording, each with its number; those of a file as the file itself."""
    frames = tuple(frames)
    places = {at: one.note.removeprefix(PLACE) for at, one in frames if one.note.startswith(PLACE)}
    if any(at not in places and one.direction is not Direction.NOTE for at, one in frames):
        yield from judge_frames(frames, version, goes_on=goes_on)
        return
    placed = [captured_line(one) for _, one in frames]
    lines = [line._replace(number=at) for (at, _), line in zip(frames, placed, strict=True)]
    for judged in judge_captured(lines, version, goes_on=goes_on or has_no_side(placed)):
        yield judged._replace(written_at=places.get(judged.line, "").partition(" ")[0])


class Remark(NamedTuple):
    """What is said of a file beside its problems: the code of a sentence, and its values."""

    code: str
    values: Mapping[str, Any] = MappingProxyType({})

    @property
    def sentence(self) -> str:
        return say("check", self.code, **self.values)

    @property
    def shape(self) -> RemarkShape:
        line = self.values.get("line", 0)
        return {"code": self.code, "line": line, "message": self.sentence}


def remarks_on(captured: Sequence[CapturedLine]) -> Iterator[Remark]:
    """Yield what was not checked of a file, and what the program that wrote it says."""
    yield from unchecked(captured)
    placed = [one if one.frame is None else captured_line(one.frame) for one in captured]
    words = [one for one in captured if one.direction is Direction.NOTE]
    if any(one.origin is Origin.BARE for one in captured):
        yield Remark("bare")
    if len(words) < len(captured) and captured[0].origin not in ALONE:
        if not is_two_sided(captured):
            yield Remark("no requests")
        elif has_no_side(placed):
            yield Remark("no responses")
    if others := _foreign_methods(captured):
        yield Remark("other protocol", {"words": one_line(", ".join(others), _WORDS)})
    yield from (Remark("host says", _quoted(one)) for one in words if one.level == "error")


def unchecked(captured: Sequence[CapturedLine]) -> Iterator[Remark]:
    """Yield which lines of a file are no message, or none that could be checked."""
    words = [one for one in captured if one.direction is Direction.NOTE]
    if unread := [one for one in words if not one.level]:
        yield Remark("unread", {"count": sum(1 + one.more for one in unread), **_quoted(unread[0])})
    for level, code in ((FOREIGN, "foreign"), (PASSED_OVER, "passed over")):
        if lines := [one.number for one in words if one.level == level]:
            yield Remark(code, {"count": len(lines), "line": lines[0]})
    if cut := [one for one in captured if one.is_cut]:
        yield Remark("cut", {"count": len(cut), "line": cut[0].number})


def _quoted(line: CapturedLine) -> dict[str, Any]:
    return {"line": line.number, "words": one_line(line.text, _WORDS)}


def told(judged: Iterable[Judged]) -> list[Judged]:
    """Return the messages of a conversation with what people are told of them, by their lines.

    Terminal, page and exports tell the same. A hint about a request may be the reason for the
    error that came back.
    """
    judged = tuple(judged)
    failed = {(one.method, one.id) for one in judged if is_error(one)}
    found = (
        one._replace(
            diagnostics=tuple(
                each
                for each in one.diagnostics
                if each.severity in TOLD or (one.method, one.id) in failed
            )
        )
        for one in judged
    )
    return sorted((one for one in found if one.diagnostics), key=lambda one: (one.line, one.column))


def is_error(judged: Judged) -> bool:
    """Return True for an error response."""
    return '"error"' in judged.text and "error" in jsonrpc.object_in(judged.text)


def count_problems(diagnostics: Sequence[Diagnostic]) -> str:
    """Count the problems by level: `1 error, 2 warnings`."""
    counts = Counter[Severity]()
    for one in diagnostics:
        counts[one.severity] += one.times
    words = [
        say("check", f"{severity.value} {'one' if count == 1 else 'many'}", count=count)
        for severity in Severity
        if (count := counts[severity])
    ]
    return say("check", "and").join(words)


def is_two_sided(captured: Iterable[CapturedLine]) -> bool:
    """Return True if the client says something, so that responses can be placed."""
    before = ConversationState()
    lines = (one for one in captured if one.direction is not Direction.NOTE)
    return any((one.direction or speaker(before, one.raw)) is Direction.IN for one in lines)


def has_no_side(captured: Iterable[CapturedLine]) -> bool:
    """Return True if a file begins with other words, and has no response and no time.

    Its requests may be examples, wherever they are said to come from.
    """
    return not any(
        one.at
        or (one.number, one.column) == (1, 1)
        or _ANSWER.search(one.text)
        or one.direction not in (None, speaker(ConversationState(), one.raw))
        for one in captured
        if one.direction is not Direction.NOTE
    )


def _foreign_methods(captured: Iterable[CapturedLine]) -> list[str]:
    """Return the methods of a file if MCP has none of them: it may be another protocol."""
    said = (_METHOD.search(one.text) for one in captured if one.direction is not Direction.NOTE)
    names = dict.fromkeys(one[1] for one in said if one and one[1] != "initialize")  # LSP's, too
    if any(methods.of(name).name for name in names):
        return []
    first = list(names)[:_MOST_COMPARED]
    is_misspelt = any(difflib.get_close_matches(one, methods.REQUESTS, 1) for one in first)
    return [] if is_misspelt else first


_MOST_COMPARED: Final = 50
"""So many methods are compared with those of MCP, which takes a while."""
_ANSWER: Final = re.compile(r'"(?:result|error)"\s*:')
_METHOD: Final = re.compile(r'"method"\s*:\s*"([^"\\]+)"')


def _without_requests(captured: Iterable[CapturedLine], version: str) -> Iterator[Judged]:
    """Judge the responses of a file without requests, each by its own shape."""
    overheard = ConversationJudge(version, initialized=True)
    for line in captured:
        if line.direction is Direction.NOTE or line.is_cut:
            continue
        found = jsonrpc.read(line.raw)
        response = found if isinstance(found, Message) and found.kind.is_answer else None
        if response is None and line.origin is not Origin.ANSWER:
            direction = line.direction or Direction.OUT
            for one in overheard.line(line.number, direction, line.raw):
                yield one.placed(line)
            continue
        version = version or text_at(response and response.body, "result", "protocolVersion")
        known = version if version in versions.ALL else None
        opened = open_exchange_of(line.text, TextForm.MESSAGE, Asked(version=known))
        diagnostics = opened.told_verdict().diagnostics
        said = tuple(each for each in diagnostics if each.severity is not Severity.REPAIRED)
        token = response.id.token if response and response.id else ""
        judged = Judged(line.number, Direction.OUT, line.text, opened.exchange.method, token, said)
        yield judged.placed(line)
