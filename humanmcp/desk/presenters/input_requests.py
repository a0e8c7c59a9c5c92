"""Asking back while a request waits: what can be asked of this client, and what it said.

Reads the inbox and shows it as words; what may be asked when, and which answer belongs to which
question, `protocol/validation/input_requests.py` knows. Knows no HTTP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering import summary
from humanmcp.desk.presenters.rendering import ROOM
from humanmcp.inbox.contract import Life, Purpose, Seat
from humanmcp.locales import say
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.escaping import one_line
from humanmcp.protocol.json.jsonrpc import Kind
from humanmcp.protocol.json.layout import pretty
from humanmcp.protocol.json.tree import follow, object_at, objects_at
from humanmcp.protocol.spec.versions import features
from humanmcp.protocol.validation import input_requests
from humanmcp.protocol.validation.input_requests import AskedBack, InputRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.answering.case import Case
    from humanmcp.inbox.contract import DeskInbox, Key
    from humanmcp.protocol.conversation.transcript import Frame

LOOK_BACK: Final = 2000
"""Lines after which the request is no longer looked for: it was asked very long ago."""
_CHUNK: Final = 100


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing that could be asked. `why` says in words why it cannot, "" when it can."""

    input_request: InputRequest
    title: str
    why: str


def offers(case: Case, language: str) -> tuple[Offer, ...]:
    """List what could be asked while this exchange waits; none where a server cannot ask."""
    item, facts, exchange, established = case.item, case.facts, case.exchange, case.established
    ours = facts.seat is Seat.SERVER and item.purpose is Purpose.ANSWER
    waits = item.state is ExchangeState.PENDING and facts.life is Life.OPEN
    if exchange is None or not ours or not waits:
        return ()
    found = []
    for input_request in InputRequest:
        hindered = input_requests.obstacle(input_request, exchange, established)
        why = ""
        if hindered is not None:
            code, missing = f"ask.not.{hindered.why.value}", hindered.capability
            why = say(ROOM, code, language, capability=missing, revision=item.revision)
        found.append(Offer(input_request, say(ROOM, f"ask.{input_request.value}", language), why))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """A question and its answer as the page shows them. `outcome` is "" while it is open.

    It is accept, decline or cancel of a user, else `result` or `error`.
    """

    input_request: InputRequest
    token: str
    words: str
    outcome: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    line: str = ""


def requests_shown(case: Case) -> tuple[ShownRequest, ...]:
    """List the questions that were asked while this exchange has been waiting, oldest first."""
    item = case.item
    if item.state is not ExchangeState.PENDING or features(item.revision).input_required:
        return ()
    frames = reversed(list(_since(case.inbox, item.key)))
    lines = [
        (one.direction, one.raw) for one in frames if one.direction in (Direction.IN, Direction.OUT)
    ]
    return tuple(_shown_request(one) for one in input_requests.asked_at(item.key.number, lines))


def _since(inbox: DeskInbox, key: Key) -> Iterator[Frame]:
    """Yield the lines of a session back to the request, newest first."""
    before = 0
    for _chunk in range(LOOK_BACK // _CHUNK):
        frames = inbox.last_frames_before(key.session, before, _CHUNK)
        for frame in reversed(frames):
            yield frame
            if frame.number == key.number and frame.direction is Direction.IN:
                return
        if not frames or frames[0].seq <= 1:
            return
        before = frames[0].seq


def _shown_request(asked: AskedBack) -> ShownRequest:
    words = one_line(_words(asked), 300)
    heard = asked.answer
    if heard is None:
        return ShownRequest(asked.input_request, asked.token, words)
    line = pretty(heard.raw)
    if heard.kind is Kind.ERROR:
        why = (("error", summary.outcome(heard.body)),)
        return ShownRequest(asked.input_request, asked.token, words, "error", why, line)
    outcome, fields = _heard(asked.input_request, object_at(heard.body, "result"))
    return ShownRequest(asked.input_request, asked.token, words, outcome, fields, line)


def _words(asked: AskedBack) -> str:
    params = asked.request.params
    if asked.input_request is InputRequest.USER:
        return str(params.get("message", ""))
    if asked.input_request is InputRequest.MODEL:
        said = params.get("messages")
        return _said(said[-1]) if isinstance(said, list) and said else ""
    return ""


def _said(message: Any) -> str:  # noqa: ANN401 - any JSON value
    content = follow(message, "content")
    text = follow(content, "text")
    return text if isinstance(text, str) else summary.gist(content)


def _heard(
    input_request: InputRequest, result: dict[str, Any]
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Say what became of a question, and what was told. It came over a wire: it may be anything."""
    match input_request:
        case InputRequest.USER:
            action = result.get("action")
            filled = object_at(result, "content").items()
            told = action if action in ("accept", "decline", "cancel") else "result"
            return str(told), tuple((one_line(name, 80), _short(value)) for name, value in filled)
        case InputRequest.MODEL:
            return "result", ((one_line(str(result.get("model", "")), 80), _said(result)[:1000]),)
        case InputRequest.ROOTS:
            return "result", tuple(
                (one_line(str(one.get("name", "")), 80), one_line(str(one.get("uri", "")), 300))
                for one in objects_at(result, "roots")
            )


def _short(value: Any) -> str:  # noqa: ANN401 - any JSON value
    return one_line(value, 1000) if isinstance(value, str) else summary.gist({"": value})[2:]
