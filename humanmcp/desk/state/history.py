"""The past, read backwards: the newest lines first, as many as a page shows, and where it goes on.

Nothing is kept in memory: a place in the history is a session and a number of a frame, and the
inbox finds that place again. So a hundred thousand lines open as fast as a hundred.
"""

from __future__ import annotations

import itertools
import re
import time
from bisect import insort
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from humanmcp.answering.case import read_line
from humanmcp.answering.summary import line_kind, message_in
from humanmcp.desk.presenters.pairs import Pair, answered_state, compared, pairs
from humanmcp.desk.presenters.rows import Step, folded, is_failed, paired, step
from humanmcp.desk.state.other_half import OtherHalves
from humanmcp.inbox.contract import Key, UnknownItemError
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.progress import METHOD as PROGRESS
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.http.recorded import is_beside, part_in
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Kind, Message

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
LONG: Final = 100_000
"""Bytes of a line from which on its row is remembered."""
_PROGRESS: Final = f'"{PROGRESS}"'.encode()
_PLAIN: Final = re.compile("[a-z0-9_-]+")
_TERM: Final = re.compile(r'(?:(?P<key>[^\s:"]+):)?(?:"(?P<phrase>[^"]+)"(?!\S)|(?P<word>\S+))')
"""A word or a phrase of a search. Quotes inside JSON, as in `"id":7`, begin no phrase."""
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
        parts = (one for word in self.words for one in word.split())
        plain = (one for one in parts if _PLAIN.fullmatch(one))
        return max(plain, key=len, default="")

    @property
    def empty(self) -> bool:
        """Return True if every line is wanted."""
        return not (self.words or self.method or self.tool or self.kind or self.state)


KEYS: Final = ("method", "tool", "kind", "state", "session", "day")
"""What may stand before a colon in a search."""


def terms(text: str) -> list[str]:
    """Split what a person typed into its words, phrases and filters."""
    return [term[0] for term in _TERM.finditer(text)]


def parse(text: str) -> Query:
    """Read what a person typed: words, "a phrase in quotes", and `method:`, `tool:` and so on."""
    chosen: dict[str, str] = {}
    words: list[str] = []
    for term in _TERM.finditer(text):
        key, phrase = term["key"] or "", term["phrase"] or term["word"]
        if key.lower() in KEYS:
            chosen[key.lower()] = phrase
        else:
            words.append((f"{key}:{phrase}" if key else phrase).casefold())
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
    halves = OtherHalves(board, _SEARCH_FOR)
    for view, frame in _backwards(board, query, start):
        place = (view.facts.name, frame.seq)
        if _wanted(halves, view.facts.name, frame, query):
            steps.append(_step(board, view, frame))
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


def _step(board: Board, view: SessionView, frame: Frame) -> Step:
    """Return the row of a line; to decode a long one again would take longer than all else."""
    place = (view.facts.name, frame.seq, hash(frame))
    found = board.long_lines.get(place) if len(frame.raw) > LONG else None
    if found is None:
        found = step(view.facts.name, view.badge, frame, view.facts.seat)
        if len(frame.raw) > LONG:
            board.remember_long(place, found)
    return found


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
        frames = board.inbox.last_frames_before(start[0], start[1] + 1, 1)
        at = (frames[0].at if frames else "", *start)
    elif query.day:
        at = (f"{query.day[:10]}T23:59:59.999Z", "", 0)
    return _merged(board, views, at, query.rarest)


def _merged(
    board: Board, views: list[SessionView], start: tuple[str, str, int] | None, word: str
) -> Iterator[tuple[SessionView, Frame]]:
    """List the lines of these sessions, the newest first.

    A session is read when its last line can be the next: of hundreds that are open, few are.
    """

    def last(view: SessionView) -> tuple[str, str, int]:
        at, seq = board.last_line(view.facts.name)
        return at, view.facts.name, seq

    unread = sorted(views, key=last)
    heads: list[tuple[tuple[SessionView, Frame], Iterator[tuple[SessionView, Frame]]]] = []
    while unread or heads:
        if unread and (not heads or last(unread[-1]) >= _place(heads[-1][0])):
            lines = _newest_first(board, unread.pop(), start, word)
        else:
            line, lines = heads.pop()
            yield line
        following = next(lines, None)
        if following is not None:
            insort(heads, (following, lines), key=lambda head: _place(head[0]))


def _newest_first(
    board: Board, view: SessionView, start: tuple[str, str, int] | None, word: str = ""
) -> Iterator[tuple[SessionView, Frame]]:
    before, size = 0, _FIRST_CHUNK
    if start is not None:
        before = _number_after(board, view, start[0])
    while before != 1 and (
        chunk := tuple(board.inbox.last_frames_before(view.facts.name, before, size, word))
    ):
        if not (before or word):
            board.note_last_line(view.facts, chunk[-1].at, chunk[-1].seq)
        found = ((view, frame) for frame in reversed(chunk))
        yield from (one for one in found if start is None or _place(one) < start)
        before, size = chunk[0].seq, _CHUNK


def _number_after(board: Board, view: SessionView, at: str) -> int:
    """Return the number of the first line of a session that was said after a moment."""
    last = board.inbox.last_frames_before(view.facts.name, 0, 1)
    low, high = 1, last[0].seq + 1 if last else 1
    while low < high:
        middle = (low + high) // 2
        frames = board.inbox.last_frames_before(view.facts.name, middle + 1, 1)
        if frames and frames[0].at > at:
            high = middle
        else:
            low = middle + 1
    return low


def _wanted(halves: OtherHalves, session: str, frame: Frame, query: Query) -> bool:
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
    return _fits(halves, session, frame, found, query)


def _fits(halves: OtherHalves, session: str, frame: Frame, found: Message, query: Query) -> bool:
    if query.kind and query.kind not in _kinds(found):
        return False
    asked = found
    if query.kind in _ANSWERS and (query.method or query.tool):
        request = halves.request_of(session, frame)
        asked_line = None if request is None else message_in(request)
        asked = asked_line if isinstance(asked_line, Message) else found
    if query.method and query.method not in asked.method:
        return False
    if query.tool and asked.params.get("name") != query.tool:
        return False
    return not query.state or _state(halves, session, frame, found) == query.state


def _kinds(found: Message) -> tuple[str, ...]:
    """Return the kinds by which a line is found: a tool that failed is an error to a person."""
    failed = found.kind is Kind.RESULT and is_failed(found.body.get("result"))
    return (found.kind.value, "error") if failed else (found.kind.value,)


def _state(halves: OtherHalves, session: str, frame: Frame, found: Message) -> str:
    if found.kind is Kind.REQUEST:
        return halves.outcome(session, frame)[0]
    return ExchangeState.ANSWERED.value if found.kind.is_answer else ""


def conversation(board: Board, session: str, most: int = 40) -> tuple[Step, ...]:
    """Return the last lines of one session, oldest first: what the picture shows.

    Progress takes the place of nothing: what was said of one request's is one line.
    """
    view = board.session(session)
    lines = said(board, session, most)
    steps = folded(paired(_step(board, view, frame) for frame in lines))
    return tuple(linked(board, step) for step in steps)


def said(board: Board, session: str, most: int) -> list[Frame]:
    """Return the last lines that either side said, oldest first. Progress does not count."""
    frames: list[Frame] = []
    rows = 0
    newest = _newest_first(board, board.session(session), None)
    for _, frame in itertools.islice(newest, _MOST_READ):
        if frame.direction in (Direction.IN, Direction.OUT):
            frames.append(frame)
            rows += not is_folded(frame)
        if rows == most:
            break
    return frames[::-1]


def paired_up(board: Board, match: HistoryMatch) -> list[Pair]:
    """Return what was found as requests with their answers, newest first.

    The other half of an exchange may have been said on another page, or not be what was searched.
    """
    halves = OtherHalves(board, _SEARCH_FOR)
    rows = [_completed(board, halves, one) for one in pairs(reversed(match.steps))]
    rows = [replace(one, step=linked(board, one.step)) for one in rows]
    return compared(rows)[::-1]


def linked(board: Board, step: Step) -> Step:
    """Say of a line whether its exchange has a page of its own: the inbox has it."""
    key = Key(step.session, step.number)
    with suppress(UnknownItemError):
        if step.number and (board.waits(key) or board.inbox.item(key)):
            return replace(step, in_inbox=True)
    return step


def _completed(board: Board, halves: OtherHalves, pair: Pair) -> Pair:
    """Add the half of an exchange that is missing."""
    step = pair.step
    if pair.answer is not None or step.times > 1 or step.kind not in ("request", *_ANSWERS):
        return pair
    frame, view = _frame_of(board, step), board.session(step.session)
    if frame is None:
        return pair
    if step.kind == "request":
        state, response = halves.outcome(step.session, frame)
        if response is None:
            return replace(pair, state=state)
        answer = _step(board, view, response)
        return replace(pair, answer=answer, state=answered_state(answer))
    request = halves.request_of(step.session, frame)
    return (
        pair if request is None else Pair(_step(board, view, request), step, answered_state(step))
    )


def _frame_of(board: Board, step: Step) -> Frame | None:
    frames = board.inbox.last_frames_before(step.session, step.seq + 1, 1)
    return frames[0] if frames and frames[0].seq == step.seq else None


_ANSWERS: Final = ("result", "error")
"""Kinds of lines that are searched by the method and the tool of their request."""


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
        if frame.direction is Direction.OUT:
            answers.setdefault(place, frame)
        elif place in answers and _asks_the_same(frame, item.method, tool):
            return jsonrpc.with_token(answers[place].text, item.id)
    return None


def _asks_the_same(frame: Frame, method: str, tool: object) -> bool:
    found = message_in(frame)
    return (
        isinstance(found, Message) and found.method == method and found.params.get("name") == tool
    )


def recent(board: Board, most: int) -> tuple[Step, ...]:
    """Return the newest lines of all sessions but progress, newest first: they are in the list."""
    found = look(board, Query(), most=most).steps
    shown = (step for step in found if step.kind not in ("note", "err") and step.word != PROGRESS)
    return tuple(linked(board, step) for step in shown)
