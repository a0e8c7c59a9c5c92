"""What a message looks like: the few words by which a person recognises it in a list.

Pure: an item goes in, values for the templates come out. Text from the wire stays text; it is made
visible here (`protocol/visible.py`) and escaped by the templates.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.decoded import read_line
from humanmcp.inbox.contract import Purpose
from humanmcp.inbox.letters import letter_of, rank_of
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.escaping import one_line, visible
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Malformed, Message
from humanmcp.protocol.spec import methods, versions
from humanmcp.protocol.validation import inquiry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.inbox.contract import Item, Key, SessionFacts, Waiting
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.validation.inquiry import Inquiry

COLOURS: Final = 6
"""Sessions take turns in this many accent colours; the letter tells them apart for certain."""

GIST: Final = 90
"""Characters of a message that a row of a list shows."""

SHOWN: Final = 2000
"""Characters of one value that are shown before "show all"."""


@dataclass(frozen=True, slots=True)
class Badge:
    """How a session is recognised: a letter (A, B, … Z, AA, …) and one of six colours."""

    letter: str
    colour: int


def badge(rank: int) -> Badge:
    """Return the badge of the letter that counts `rank`, from 0."""
    return Badge(letter_of(rank).upper(), rank % COLOURS)


def badge_of(facts: SessionFacts) -> Badge:
    """Return the badge of a session: its letter, or the end of its name while it has none."""
    return badge(rank_of(facts.letter)) if facts.letter else Badge(facts.name[-4:], 0)


@dataclass(frozen=True, slots=True)
class Row:
    """One exchange in a list. `arrived` counts in seconds since 1970, for the clock of the page."""

    key: Key
    badge: Badge
    method: str
    name: str
    """The tool, the prompt, the address of a resource: what tells two calls apart."""
    gist: str
    state: ExchangeState
    arrived: float
    waiting: Waiting
    purpose: str
    touched: bool
    on_its_way: bool
    refused: bool
    subscription: bool = False
    """An open subscription: nobody waits for its answer."""

    @property
    def anchor(self) -> str:
        """The part of an address that names this exchange. It is made of our own names only."""
        return f"{self.key.session}/{self.key.number}"


def row(item: Item, mark: Badge) -> Row:
    """Make the row of an exchange."""
    name, words = _words(item.method, params_of(item.line))
    asked = inquiry_of(item)
    draft = item.draft
    return Row(
        key=item.key,
        badge=mark,
        method=one_line(item.method, 60),
        name=name,
        gist=words if asked is None else one_line(asked.question, GIST),
        state=item.state,
        arrived=seconds(item.arrived),
        waiting=item.waiting,
        purpose=item.purpose.value,
        touched=draft is not None and draft.touched,
        on_its_way=item.reply is not None and item.state is ExchangeState.PENDING,
        refused=bool(item.problems),
        subscription=item.is_subscription,
    )


def params_of(line: str) -> dict[str, Any]:
    """Return the named parameters of a request; empty when there are none."""
    found = read_line(line)
    return found.params if isinstance(found, Message) else {}


def inquiry_of(item: Item) -> Inquiry | None:
    """Return the question that a request puts to the person who answers; None where it is none."""
    found = read_line(item.line)
    if not isinstance(found, Message) or item.purpose is not Purpose.ANSWER:
        return None
    return inquiry.inquiry_of(found)


def _words(method: str, params: dict[str, Any]) -> tuple[str, str]:
    """Say which one and with what: the name and the gist of a row."""
    record = methods.of(method)
    if record.arguments:
        return _text(params.get("name")), gist(params.get(record.arguments, {}))
    if record.introduces:
        return _client(params)
    shown = params.get(record.gist)
    if isinstance(shown, dict):
        return "", gist(shown)
    # of what was said to a model the last counts
    words = _words_in(shown[-1:] if isinstance(shown, list) else shown)
    rest = {key: value for key, value in params.items() if key != "_meta"}
    return "", one_line(words, GIST) if words else gist(rest)


def _words_in(said: Any) -> str:  # noqa: ANN401 - any JSON value
    match said:
        case str():
            return said
        case {"text": str(words)}:
            return words
        case {"content": inner}:
            return _words_in(inner)
        case [*parts]:
            return next(filter(None, map(_words_in, parts)), "")
        case _:
            return ""


def _client(params: dict[str, Any]) -> tuple[str, str]:
    meta = params.get("_meta")
    modern = meta.get(versions.META_CLIENT) if isinstance(meta, dict) else None
    found = params.get("clientInfo", modern)
    client = found if isinstance(found, dict) else {}
    words = f"{_text(client.get('name'))} {_text(client.get('version'))}".strip()
    return "", one_line(words, GIST)


def gist(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Say in a few words what an object holds: `city: "Tokyo", days: 3`."""
    if isinstance(value, dict):
        words = ", ".join(f"{key}: {_short(part)}" for key, part in list(value.items())[:12])
    else:
        words = _short(value)
    return one_line(words, GIST)


def _short(value: Any) -> str:  # noqa: ANN401 - any JSON value
    match value:
        case dict():
            return "{…}" if value else "{}"
        case list():
            return f"[{len(value)}]"
        case str():
            return f'"{value[:GIST]}"'
        case _:
            return json.dumps(value)


def _text(value: object) -> str:
    return one_line(value, GIST) if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Field:
    """One argument of a request, as the table above the composer shows it."""

    name: str
    value: str
    type: str
    cut: int
    """Characters that are not shown; 0 when all of them are."""


def fields(item: Item) -> tuple[Field, ...]:
    """List what was asked: the arguments of a call, the parameters of anything else.

    Numbers are shown as they were written: 9007199254740993 and 1.0 stay what they are.
    """
    text = jsonrpc.member(item.line, "params") or "{}"
    member = methods.of(item.method).arguments
    if member:
        text = jsonrpc.member(text, member) or "{}"
    return tuple(
        _field(name, text[start:end])
        for name, start, end in jsonrpc.members(text)[:200]
        if name != "_meta"
    )


def _field(name: str, raw: str) -> Field:
    value = json.loads(raw)
    kind = jsonrpc.json_type(value)
    shown = value if isinstance(value, str) else raw
    return Field(one_line(name, 80), visible(shown[:SHOWN]), kind, max(0, len(shown) - SHOWN))


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a conversation: a row of the history and an arrow of the picture.

    `kind` is request, notification, result, error, note, err, or broken. `answers` is what an
    answer was asked for, where the request stands among the lines that are shown (`paired`).
    """

    session: str
    badge: Badge
    seq: int
    at: str
    number: int
    inwards: bool
    kind: str
    word: str
    name: str
    gist: str
    by: str
    size: int
    id: str = ""
    answers: str = ""


def paired(steps: Iterable[Step]) -> list[Step]:
    """Say of each answer which tool or method it answers. A session's lines come oldest first."""
    asked: dict[tuple[str, str, bool], str] = {}
    found: list[Step] = []
    for one in steps:
        what = ""
        if one.kind == "request":
            asked[one.session, one.id, one.inwards] = one.name or one.word
        elif one.kind in ("result", "error"):
            what = asked.pop((one.session, one.id, not one.inwards), "")
        found.append(replace(one, answers=what) if what else one)
    return found


def step(session: str, mark: Badge, frame: Frame) -> Step:
    """Make the row of a recorded line."""
    found = jsonrpc.read(frame.raw) if frame.way in (Direction.IN, Direction.OUT) else None
    kind, word, name, words = _step_words(frame, found)
    token = found.id if isinstance(found, Message) else None
    return Step(
        session=session,
        badge=mark,
        seq=frame.seq,
        at=frame.at,
        number=frame.number,
        inwards=frame.way is Direction.IN,
        kind=kind,
        word=word,
        name=name,
        gist=words,
        by=one_line(frame.by, 40),
        size=len(frame.raw),
        id="" if token is None else repr(token.key),
    )


def _step_words(
    frame: Frame, found: Message | Batch | Malformed | None
) -> tuple[str, str, str, str]:
    if found is None:
        return frame.way.value, "", "", one_line(frame.note or frame.text, GIST)
    if not isinstance(found, Message):
        return "broken", "", "", one_line(frame.text[: GIST * 2], GIST)
    match found.kind:
        case Kind.REQUEST | Kind.NOTIFICATION:
            name, words = _words(found.method, found.params)
            return found.kind.value, one_line(found.method, 60), name, words
        case Kind.RESULT:
            return "result", "", "", outcome(found.body)
        case Kind.ERROR:
            return "error", "", "", outcome(found.body)


def outcome(body: dict[str, Any]) -> str:
    """Say what an answer holds in a few words: its text, its error, or its members."""
    error = body.get("error")
    if isinstance(error, dict):
        return one_line(f"{_short(error.get('code'))} {_text(error.get('message'))}", GIST)
    result = body.get("result")
    if isinstance(result, dict):
        content = result.get("content")
        for entry in content if isinstance(content, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get("text"), str):
                return one_line(entry["text"], GIST)
    return gist(result)


def seconds(at: str) -> float:
    """Read a moment (UTC, ISO 8601) as seconds since 1970; 0 when it is none."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def duration(span: float) -> str:
    """Write seconds as people read a clock: 0:42, 12:05, 1:02:09."""
    whole = max(0, int(span))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"
