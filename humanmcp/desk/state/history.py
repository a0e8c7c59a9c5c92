"""The past, read backwards: the newest lines first, as many as a page shows, and where it goes on.

Nothing is kept in memory: a place in the history is a session and a number of a frame, and the
inbox finds that place again. So a hundred thousand lines open as fast as a hundred.
"""

from __future__ import annotations

import heapq
import itertools
import re
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from humanmcp.answering.case import read_line
from humanmcp.answering.summary import line_kind, message_in
from humanmcp.desk.presenters.pairs import Pair, compared, pairs
from humanmcp.desk.presenters.rows import Step, folded, paired, step
from humanmcp.inbox.contract import InboxError, Key
from humanmcp.protocol.conversation.progress import METHOD as PROGRESS
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.http.recorded import is_beside, part_in
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message, encoded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.desk.state.board import Board, SessionView
    from humanmcp.inbox.contract import Item

PAGE: Final = 100
"""Rows of one page."""

_CHUNK: Final = 500
_FIRST_CHUNK: Final = 20
"""Lines that are read of a session at first: of most sessions no more are needed."""
_MOST_READ: Final = 2000
"""Lines that are read for one page, where most of them are progress."""
_PROGRESS: Final = f'"{PROGRESS}"'.encode()
_PLAIN: Final = re.compile("[a-z0-9_-]+")
_SEARCH_FOR: Final = 1.0
"""Seconds that one look into the past may take; the page then offers to go on from there."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for. Everything that is given must hold; empty asks for nothing."""

    words: tuple[str, ...] = ()
    method: str = ""
    tool: str = ""
    kind: str = ""
    state: str = ""
    session: str = ""
    day: str = ""
    """The last day that is looked at: 2026-11-22."""

    @property
    def rarest(self) -> str:
        """The longest plain word: lines that do not have it are not looked at; "" for none."""
        plain = (one for one in self.words if _PLAIN.fullmatch(one))
        return max(plain, key=len, default="")

    @property
    def empty(self) -> bool:
        """Return True if every line is wanted."""
        return not (self.words or self.method or self.tool or self.kind or self.state)


KEYS: Final = ("method", "tool", "kind", "state", "session", "day")
"""What may stand before a colon in a search."""


def parse(text: str) -> Query:
    """Read what a person typed: words, and `method:`, `tool:`, `kind:`, `state:`, `session:`."""
    chosen: dict[str, str] = {}
    words: list[str] = []
    for word in text.split():
        key, colon, value = word.partition(":")
        if colon and value and key.lower() in KEYS:
            chosen[key.lower()] = value
        else:
            words.append(word.casefold())
    return Query(tuple(words), **chosen)


@dataclass(frozen=True, slots=True)
class HistoryMatch:
    """One page of the history. `further` says where the next one starts, None at the very end."""

    steps: tuple[Step, ...]
    further: tuple[str, int] | None
    """A session and the number of the frame before which to go on."""
    complete: bool
    """Whether the page is full or the end was reached; else the time was over."""


def look(
    board: Board, query: Query, *, start: tuple[str, int] | None = None, most: int = PAGE
) -> HistoryMatch:
    """Find the newest lines that are wanted, before `start` if given.

    Where all are wanted, what was said of one request's progress is one row of the page, and what
    HTTP says of a line is in the row of the line.
    """
    until = time.monotonic() + _SEARCH_FOR
    steps: list[Step] = []
    further: tuple[str, int] | None = None
    complete, rows = True, 0
    for view, frame in _backwards(board, query, start):
        place = (view.facts.name, frame.seq)
        if _wanted(board, view.facts.name, frame, query):
            steps.append(_step(view, frame))
            rows += not (query.empty and is_folded(frame))
        if rows == most or len(steps) == _MOST_READ:
            further = place
            break
        if not query.empty and time.monotonic() > until:
            further, complete = place, False
            break
    found = paired(reversed(steps))
    newest = reversed(folded(found) if query.empty else found)
    return HistoryMatch(tuple(newest), further, complete)


def is_folded(frame: Frame) -> bool:
    """Return True if a line is no row of its own: how far something is, or how HTTP carried it."""
    return _PROGRESS in frame.raw or is_beside(part_in(frame))


def _step(view: SessionView, frame: Frame) -> Step:
    return step(view.facts.name, view.badge, frame, view.facts.seat)


def _place(found: tuple[SessionView, Frame]) -> tuple[str, str, int]:
    """Return when a line was said, and by its session and number what came later at one moment."""
    return found[1].at, found[0].facts.name, found[1].seq


def _backwards(
    board: Board, query: Query, start: tuple[str, int] | None
) -> Iterator[tuple[SessionView, Frame]]:
    """List the lines of all sessions that are wanted, the newest first."""
    wanted = query.session.casefold()
    views = [
        view
        for view in board.sessions()
        if wanted in {"", view.facts.name.casefold(), view.badge.letter.casefold()}
    ]
    at = None
    if start is not None:
        frames = board.inbox.before(start[0], start[1] + 1, 1)
        at = (frames[0].at if frames else "", *start)
    elif query.day:
        at = (f"{query.day[:10]}T23:59:59.999Z", "", 0)
    streams = (_newest_first(board, view, at, query.rarest) for view in views)
    return heapq.merge(*streams, key=_place, reverse=True)


def _newest_first(
    board: Board, view: SessionView, start: tuple[str, str, int] | None, word: str = ""
) -> Iterator[tuple[SessionView, Frame]]:
    before, size = 0, _FIRST_CHUNK
    if start is not None:
        before = _number_after(board, view, start[0])
    while before != 1 and (chunk := tuple(board.inbox.before(view.facts.name, before, size, word))):
        found = ((view, frame) for frame in reversed(chunk))
        yield from (one for one in found if start is None or _place(one) < start)
        before, size = chunk[0].seq, _CHUNK


def _number_after(board: Board, view: SessionView, at: str) -> int:
    """Return the number of the first line of a session that was said after a moment."""
    last = board.inbox.before(view.facts.name, 0, 1)
    low, high = 1, last[0].seq + 1 if last else 1
    while low < high:
        middle = (low + high) // 2
        frames = board.inbox.before(view.facts.name, middle + 1, 1)
        if frames and frames[0].at > at:
            high = middle
        else:
            low = middle + 1
    return low


def _wanted(board: Board, session: str, frame: Frame, query: Query) -> bool:
    if query.empty:
        return True
    text = frame.text.casefold()
    if not all(word in text for word in query.words):
        return False
    if not (query.method or query.tool or query.kind or query.state):
        return True
    found = message_in(frame)
    if not isinstance(found, Message):
        is_one = line_kind(frame, found).value == query.kind
        return is_one and not (query.method or query.tool or query.state)
    return _fits(board, session, frame, found, query)


def _fits(board: Board, session: str, frame: Frame, found: Message, query: Query) -> bool:
    if query.kind and found.kind.value != query.kind:
        return False
    asked = found
    if query.kind in _ANSWERS and (query.method or query.tool):
        asked = _request_of(board, session, frame) or found
    if query.method and query.method not in asked.method:
        return False
    if query.tool and asked.params.get("name") != query.tool:
        return False
    return not query.state or _state(board, session, frame, found) == query.state


def _request_of(board: Board, session: str, frame: Frame) -> Message | None:
    """Return the request that an answer belongs to, as far as the inbox has it."""
    try:
        found = read_line(board.inbox.item(Key(session, frame.number)).line)
    except InboxError:
        return None
    return found if isinstance(found, Message) else None


def _state(board: Board, session: str, frame: Frame, found: Message) -> str:
    if not frame.number or found.id is None:
        return ""
    try:
        return board.inbox.item(Key(session, frame.number)).state.value
    except InboxError:
        return ""


def conversation(board: Board, session: str, most: int = 40) -> tuple[Step, ...]:
    """Return the last lines of one session, oldest first: what the picture shows.

    Progress takes the place of nothing: what was said of one request's is one line.
    """
    view = board.session(session)
    lines = said(board, session, most)
    return tuple(folded(paired(_step(view, frame) for frame in lines)))


def said(board: Board, session: str, most: int) -> list[Frame]:
    """Return the last lines that either side said, oldest first. Progress does not count."""
    frames: list[Frame] = []
    rows = 0
    newest = _newest_first(board, board.session(session), None)
    for _, frame in itertools.islice(newest, _MOST_READ):
        if frame.way in (Direction.IN, Direction.OUT):
            frames.append(frame)
            rows += not is_folded(frame)
        if rows == most:
            break
    return frames[::-1]


def paired_up(board: Board, found: HistoryMatch) -> list[Pair]:
    """Return what was found as requests with their answers, newest first.

    The other half of an exchange may have been said on another page, or not be what was searched.
    """
    rows = [_completed(board, one) for one in pairs(reversed(found.steps))]
    return compared(rows)[::-1]


def _completed(board: Board, pair: Pair) -> Pair:
    """Add the half that is missing of a client's request: the inbox has both."""
    step = pair.step
    whole = pair.answer is not None or not step.number or step.times > 1
    if whole or (step.kind, step.inwards) not in _HALVES:
        return pair
    try:
        item = board.inbox.item(Key(step.session, step.number))
    except InboxError:
        return pair
    view = board.session(step.session)
    if step.kind != "request":
        asked = Frame(0, item.arrived, Direction.IN, encoded(item.line), step.number)
        state = "error" if step.kind == "error" or step.failed else "answered"
        return Pair(_step(view, asked), step, state)
    if item.answer is None:
        return replace(pair, state=item.state.value)
    answered = Frame(
        0, item.answer.at, Direction.OUT, jsonrpc.encoded(item.answer.line), step.number
    )
    answer = _step(view, answered)
    failed = answer.kind == "error" or answer.failed
    return replace(pair, answer=answer, state="error" if failed else "answered")


_ANSWERS: Final = ("result", "error")
"""Kinds of lines that are searched by the method and the tool of their request."""
_HALVES: Final = (("request", True), ("result", False), ("error", False))


def last_answer(board: Board, item: Item) -> str | None:
    """Return the last answer to the same method and tool, with the id of this request.

    It is looked for in the newest lines of every session; None when there is none.
    """
    until = time.monotonic() + _SEARCH_FOR
    asked = read_line(item.line)
    tool = asked.params.get("name") if isinstance(asked, Message) else None
    answers: dict[tuple[str, int], Frame] = {}
    for view, frame in _backwards(board, Query(), None):
        if not frame.number or time.monotonic() > until:
            continue
        place = (view.facts.name, frame.number)
        if frame.way is Direction.OUT:
            answers.setdefault(place, frame)
        elif place in answers and _asks_the_same(frame, item.method, tool):
            return jsonrpc.with_token(answers[place].text, item.id)
    return None


def _asks_the_same(frame: Frame, method: str, tool: object) -> bool:
    found = jsonrpc.read(frame.raw)
    return (
        isinstance(found, Message) and found.method == method and found.params.get("name") == tool
    )


def recent(board: Board, most: int) -> tuple[Step, ...]:
    """Return the newest lines of all sessions, newest first: what stands under the list."""
    found = look(board, Query(), most=most).steps
    return tuple(one for one in found if one.kind not in ("note", "err"))
