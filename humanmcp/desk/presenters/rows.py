"""What a message looks like: the few words by which a person recognises it in a list.

Pure: an item goes in, values for the templates come out. Text from the wire stays text; it is made
visible here (`protocol/json/jsonrpc.py`) and escaped by the templates.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.answering.summary import GIST, line_kind, message_in, summary_of
from humanmcp.common.timestamps import seconds_of
from humanmcp.desk.presenters.rendering import decoded, is_text, shown, written
from humanmcp.inbox.contract import Seat
from humanmcp.protocol.conversation.state import METHOD as PROGRESS
from humanmcp.protocol.conversation.transcript import DELIBERATE, Direction
from humanmcp.protocol.http.client import carried, head_of, is_beside, part_in, words_of
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Malformed, Message, one_line, visible
from humanmcp.protocol.json.tree import array_at, follow, object_at, text_at
from humanmcp.protocol.spec import methods

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from humanmcp.answering.summary import Badge
    from humanmcp.inbox.contract import Item
    from humanmcp.protocol.conversation.transcript import Frame

    Row = tuple[str, str]

DEEPEST: Final = 5
"""Levels of a value that are a table of their own."""
MOST_ITEMS: Final = 50
MOST_MEMBERS: Final = 200
"""Members of an object that are read: it may have a million."""
ON_ONE_LINE: Final = 60
"""Characters of an object or a list that still stand on one line."""

SHOWN: Final = 2000
"""Characters of one value that are shown before "show all"."""


@dataclass(frozen=True, slots=True)
class Field:
    """One argument of a request, as the table above the composer shows it."""

    name: str
    value: str
    type: str
    cut: int
    """Characters that are not shown; 0 when all of them are."""
    about: str = ""
    """What the tool's own schema says of it."""
    inner: tuple[Field, ...] = ()
    """The members or items of what does not read well on one line."""


def fields(item: Item, schema: Any = None) -> tuple[Field, ...]:  # noqa: ANN401 - it came over a wire
    """List what was asked: the arguments of a call, the parameters of anything else.

    `schema` is what was declared of them. Numbers are shown as they were written:
    9007199254740993 and 1.0 stay what they are.
    """
    text = jsonrpc.member(item.line, "params") or "{}"
    member = methods.of(item.method).arguments
    if member:
        text = jsonrpc.member(text, member) or "{}"
    return members(text, schema)


def members(text: str, schema: Any = None, depth: int = 0) -> tuple[Field, ...]:  # noqa: ANN401 - as above
    """List the members of a JSON object, as text."""
    declared = object_at(schema, "properties")
    return tuple(
        _field(name, text[start:end], declared.get(name), depth)
        for name, start, end in islice(jsonrpc.members(text), MOST_MEMBERS)
        if name != "_meta"
    )


def _field(name: str, raw: str, schema: Any, depth: int) -> Field:  # noqa: ANN401 - as above
    value = json.loads(raw)
    kind = jsonrpc.json_type(value)
    shown = value if isinstance(value, str) else raw
    return Field(
        one_line(name, 80),
        visible(shown[:SHOWN]),
        kind,
        max(0, len(shown) - SHOWN),
        one_line(text_at(schema, "description"), SHOWN),
        _inner(raw, value, schema, depth + 1),
    )


def _inner(raw: str, value: Any, schema: Any, depth: int) -> tuple[Field, ...]:  # noqa: ANN401 - as above
    """List what is inside a value; nothing where it reads well on one line."""
    found: tuple[Field, ...] = ()
    if depth <= DEEPEST and isinstance(value, dict):
        found = members(raw, schema, depth)
    elif depth <= DEEPEST and isinstance(value, list):
        of = follow(schema, "items")
        items = enumerate(decoded(raw)[:MOST_ITEMS], 1)
        found = tuple(_field(str(at), written(one), of, depth) for at, one in items)
    long = len(raw) > ON_ONE_LINE or any(one.inner or one.about for one in found)
    return found if long else ()


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a conversation: a row of the history and an arrow of the picture.

    `kind` is a `LineKind`. `answers` is what an
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
    """The id of a request or an answer; of progress the token that it belongs to."""
    answers: str = ""
    seat: Seat = Seat.SERVER
    times: int = 1
    until: str = ""
    """When it was said last, where it stands for `times` lines (`folded`)."""
    raw: str = ""
    """The beginning of the line: what a row of the history opens."""
    failed: bool = False
    """It is the result of a tool that failed."""
    method: str = ""
    """Of an answer the method of its request (`paired`)."""
    deliberate: bool = False
    """It was sent although the check found errors in it."""
    part: dict[str, Any] = field(default_factory=dict)
    """Of a note the part of an HTTP exchange that it is."""
    carries: str = ""
    """What tells a client's message, or the message that a part brought, from others."""
    http: tuple[str, ...] = ()
    """What HTTP said around it, where its notes have no rows of their own (`folded`)."""

    in_inbox: bool = False
    """Its exchange was put before a person, and has a page of its own."""

    @property
    def address(self) -> str:
        """Where a press on it leads: a client's request to its exchange, all else to the line."""
        if self.in_inbox and self.kind == "request" and self.inwards:
            return f"/m/{self.session}/{self.number}"
        return f"/line/{self.session}/{self.seq}"

    @property
    def sender(self) -> str:
        """Whom the line came from: the code of a party's name."""
        return parties(self.seat)[0 if self.inwards else 1]

    @property
    def lasted(self) -> float:
        """Seconds from the first of its lines to the last."""
        return seconds_of(self.until) - seconds_of(self.at) if self.until else 0.0


_PARTIES: Final = {
    Seat.SERVER: ("host", "you"),
    Seat.CLIENT: ("server", "you"),
    Seat.MODEL: ("host", "you"),
    Seat.HOST: ("humanmcp", "you"),
    Seat.TAP: ("client", "server"),
}


def parties(seat: Seat) -> tuple[str, str]:
    """Return who talks in a session: where lines come in from, and where they go out from."""
    return _PARTIES[seat]


def folded(steps: Iterable[Step]) -> list[Step]:
    """Make one row of all that was said of one request's progress, where it was said first.

    What HTTP says of a line is no row: it is put to the line. A session's lines come oldest first.
    """
    found: list[Step] = []
    first: dict[tuple[str, str, bool], int] = {}
    http = _Carried(found)
    for step in steps:
        if http.takes(step):
            continue
        at = len(found)
        if step.word == PROGRESS:
            at = first.setdefault((step.session, step.id, step.inwards), at)
        if at == len(found):
            found.append(step)
        else:
            found[at] = replace(found[at], times=found[at].times + 1, until=step.at)
    return found


class _Carried:
    """Puts what HTTP says to the rows of its lines, among the rows that were `found` so far."""

    def __init__(self, found: list[Step]) -> None:
        self._found = found
        self._lines: dict[tuple[str, str], list[int]] = {}
        self._calls: dict[tuple[str, str], int] = {}

    def takes(self, step: Step) -> bool:
        """Return True if a step is no row: it is with its line now, as far as that is here."""
        call = (step.session, str(step.part.get("call")))
        lines = self._lines.setdefault((step.session, step.carries), [])
        if is_beside(step.part):
            if lines:  # several may be on the way, and one may be brought again
                fresh = (at for at in lines if not self._found[at].http)
                self._calls[call] = next(fresh, lines[-1])
            if call in self._calls:
                self._put(self._calls[call], step)
            return True
        if "method" in step.part:
            self._calls[call] = len(self._found)
        elif step.carries:
            lines.append(len(self._found))
        return False

    def _put(self, at: int, step: Step) -> None:
        row = self._found[at]
        status = "".join(step.gist.partition(" <-")[1:])
        gist = row.gist + status if row.part and "status" in step.part else row.gist
        self._found[at] = replace(row, gist=gist, http=(*row.http, head_of(step.part)[:SHOWN]))


def paired(steps: Iterable[Step]) -> list[Step]:
    """Say of each answer which tool or method it answers. A session's lines come oldest first."""
    asked: dict[tuple[str, str, bool], Step] = {}
    found: list[Step] = []
    for step in steps:
        of = None
        if step.kind == "request":
            asked[step.session, step.id, step.inwards] = step
        elif step.kind in ("result", "error"):
            of = asked.pop((step.session, step.id, not step.inwards), None)
        found.append(replace(step, answers=of.name or of.word, method=of.word) if of else step)
    return found


def step(session: str, badge: Badge, frame: Frame, seat: Seat = Seat.SERVER) -> Step:
    """Make the row of a recorded line."""
    found = message_in(frame)
    kind, word, name, words = _step_words(frame, found)
    token = found.id if isinstance(found, Message) else None
    of = "" if token is None else repr(token.key)
    if isinstance(found, Message) and word == PROGRESS:
        of = repr(found.params.get("progressToken"))
    part, inwards = part_in(frame), frame.direction is Direction.IN
    return Step(
        session=session,
        badge=badge,
        seq=frame.seq,
        at=frame.at,
        number=frame.number,
        inwards=inwards,
        kind=kind,
        word=word,
        name=name,
        gist=words,
        by=one_line(frame.by, 40),
        size=len(frame.raw),
        id=of,
        seat=seat,
        raw=frame.text[:SHOWN],
        deliberate=frame.note.startswith(DELIBERATE),
        failed=isinstance(found, Message) and is_failed(found.body.get("result")),
        part=part,
        carries=carried(found) if inwards else str(part.get("carries", "")),
    )


def is_failed(result: object) -> bool:
    """Return True for the result of a tool that failed."""
    return isinstance(result, dict) and result.get("isError") is True


def _step_words(
    frame: Frame, found: Message | Batch | Malformed | None
) -> tuple[str, str, str, str]:
    kind = line_kind(frame, found).value
    if found is None:
        return kind, "", "", one_line(words_of(frame) or frame.note or frame.text, GIST)
    if not isinstance(found, Message):
        return kind, "", "", one_line(frame.text[: GIST * 2], GIST)
    said = summary_of(found)
    return kind, one_line(found.method, 60), said.name, said.gist


MOST: Final = 12
"""Rows that stand on a projector."""
LONGEST: Final = 1_500
"""Characters of one row."""


class ResultCard(NamedTuple):
    """What an answer says: the code of a headline, rows of a name and a text, and how many more."""

    kind: str
    rows: tuple[Row, ...]
    more: int = 0


def result_card(method: str, line: str) -> ResultCard | None:
    """Return what matters in an answer to a method; None where there is nothing to say."""
    for member in ("error", "result"):
        text = jsonrpc.member(line, member)
        found = None if text is None else decoded(text)
        if not isinstance(found, dict):
            continue
        kind, read = ("error", _members) if member == "error" else _reader(method)
        rows = [(name, shown(said, LONGEST).text) for name, said in read(found)]
        return ResultCard(kind, tuple(rows[:MOST]), max(0, len(rows) - MOST)) if rows else None
    return None


def _reader(method: str) -> tuple[str, Callable[[dict[str, Any]], Iterable[Row]]]:
    listing = methods.of(method).listing
    if listing is not None:
        return "offered", lambda found: _entries(found.get(listing.member), listing.key)
    return _READERS.get(method, ("other", _members))


def _members(found: Mapping[str, Any]) -> Iterable[Row]:
    return [(name, _text(value)) for name, value in found.items() if name != "_meta"]


def _agreed(found: Mapping[str, Any]) -> Iterable[Row]:
    for name, text in _members(found):
        value = found[name]
        if name == "capabilities" and isinstance(value, dict):
            yield name, ", ".join(value)
        elif name == "serverInfo" and isinstance(value, dict):
            yield name, " ".join(_text(value[one]) for one in ("name", "version") if one in value)
        else:
            yield name, text


def _entries(entries: object, key: str) -> Iterable[Row]:
    for one in array_at(entries):
        about = one if isinstance(one, dict) else {"description": one}
        said = about.get("description", about.get("title", about.get("name", "")))
        yield _text(about.get(key, "")), _text(said)


def _messages(found: Mapping[str, Any]) -> Iterable[Row]:
    for one in array_at(found, "messages"):
        said = one if isinstance(one, dict) else {"content": one}
        yield _text(said.get("role", "")), _content(said.get("content"))


def _contents(found: Mapping[str, Any]) -> Iterable[Row]:
    for one in array_at(found, "contents"):
        held = one if isinstance(one, dict) else {"text": one}
        yield _text(held.get("uri", "")), _text(held.get("text", held.get("mimeType", "")))


def _sampled(found: Mapping[str, Any]) -> Iterable[Row]:
    said = found.get("content")
    for one in said if isinstance(said, list) else [said]:
        yield _text(found.get("model", "")), _content(one)


def _elicited(found: Mapping[str, Any]) -> Iterable[Row]:
    yield "action", _text(found.get("action", ""))
    yield from _members(object_at(found, "content"))


def _content(block: object) -> str:
    """Return the words of a content block; what has none as it came."""
    found = follow(block, "text")
    return _text(block if found is None else found)


def _text(value: object) -> str:
    return value if is_text(value) else written(value)


_READERS: Final[dict[str, tuple[str, Callable[[dict[str, Any]], Iterable[Row]]]]] = {
    "initialize": ("agreed", _agreed),
    "server/discover": ("agreed", _agreed),
    "prompts/get": ("prompt", _messages),
    "resources/read": ("contents", _contents),
    "sampling/createMessage": ("sampled", _sampled),
    "elicitation/create": ("elicited", _elicited),
}


WIDTH: Final = 300
LEFT: Final = 34
RIGHT: Final = 266
TOP: Final = 44
PITCH: Final = 34
ASIDE: Final = 110
"""Room for the model beside the two parties of a session."""
_SHOWN: Final = 24
_LONGEST: Final = 30


@dataclass(frozen=True, slots=True)
class Arrow:
    """One message of the picture, at its height; the arrow goes from `tail` to `head`."""

    y: int
    tail: int
    head: int
    label: str
    kind: str
    current: bool
    step: Step
    asks: int = 0
    """1 where the model asked for it, -1 where it goes on to the model, 0 for neither."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A sequence, ready to be drawn. `open` says that an answer is still missing at the end."""

    width: int
    height: int
    left: int
    right: int
    arrows: tuple[Arrow, ...]
    more: int
    """How many earlier messages are not drawn."""
    parties: tuple[str, str] = ("host", "you")
    """Who stands on the left and on the right."""
    model: int = 0
    """Where the line of life of the model behind a host stands; 0 without it."""


def draw(
    steps: Sequence[Step],
    current: int,
    *,
    by_seq: bool = False,
    model: bool = False,
    held: Collection[int] = (),
) -> Picture:
    """Place the last messages of a conversation.

    `current` is the number of the exchange at hand; with `by_seq` that of one line. `model` draws
    the model behind a host as a third party: it asks for calls, and reads what they bring. What a
    tap holds is `held`, by the numbers of its exchanges: it has come half of the way.
    """
    wire = [step for step in steps if step.kind not in ("note", "err")]
    shown = wire[-_SHOWN:]
    arrows = tuple(
        _arrow(
            step,
            TOP + PITCH * (at + 1),
            current=current > 0 and current == (step.seq if by_seq else step.number),
            held=step.number in held,
        )
        for at, step in enumerate(shown)
    )
    height = TOP + PITCH * (len(shown) + 1)
    seat = shown[-1].seat if shown else Seat.SERVER
    more, names = len(wire) - len(shown), parties(seat)
    if not model or seat not in (Seat.SERVER, Seat.TAP):
        return Picture(WIDTH, height, LEFT, RIGHT, arrows, more, names)
    return Picture(
        WIDTH + ASIDE,
        height,
        LEFT + ASIDE,
        RIGHT + ASIDE,
        tuple(_aside(one) for one in arrows),
        more,
        names,
        LEFT,
    )


def _aside(arrow: Arrow) -> Arrow:
    """Make room for the model on the left, and say what it has to do with a message."""
    called = arrow.step.word == "tools/call"
    read = arrow.step.method == "tools/call" and not arrow.step.inwards
    asks = 1 if called and arrow.step.inwards else -1 if read else 0
    return replace(arrow, tail=arrow.tail + ASIDE, head=arrow.head + ASIDE, asks=asks)


def _arrow(step: Step, y: int, *, current: bool, held: bool) -> Arrow:
    tail, head = (LEFT, RIGHT) if step.inwards else (RIGHT, LEFT)
    head = (tail + head) // 2 if held else head
    words = step.name or step.word or step.gist
    if step.times > 1:
        words = step.word.rpartition("/")[2]
    label = words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"
    return Arrow(y, tail, head, label, step.kind, current, step)
