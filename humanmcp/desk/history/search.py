"""The history: the newest lines first, one page at a time, and where the next page starts.

It keeps nothing in memory: a place in the history is a session and the number of a frame, and the
inbox finds it again. So a hundred thousand lines open as fast as a hundred.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from bisect import bisect_right, insort
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.answering import service
from humanmcp.answering.open_exchange import OpenExchange, read_line
from humanmcp.answering.standing import Standing, standing_of
from humanmcp.answering.summary import line_kind, message_in
from humanmcp.common.apart import LARGE
from humanmcp.desk.history.rows import (
    ANSWERS,
    ASKS,
    Pair,
    Step,
    answered_state,
    folded,
    is_failed,
    paired,
    step,
)
from humanmcp.inbox.contract import Item, Key, Purpose
from humanmcp.locales import say
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import BACK, DELIBERATE, Direction, Frame, is_foreign
from humanmcp.protocol.http.client import is_beside, part_in
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Kind, Message, RequestId, encoded
from humanmcp.protocol.tables.methods import CANCELLED, PROGRESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from humanmcp.desk.board import Board, SessionView

MOST_SESSIONS: Final = 20
"""The maximum number of ended sessions that are searched, newest first."""


def earlier_draft(board: Board, opened: OpenExchange) -> str:
    """Return the newest unsent draft for the same request, with this request's id; "" for none."""
    asked, item = _asked(opened), opened.item
    if asked is None or item.state is not ExchangeState.PENDING:
        return ""
    for one in _left_unanswered(board, item):
        draft = one.item.draft
        if draft is not None and draft.touched and _asked(one) == asked:
            return jsonrpc.with_token(service.document(one, draft), item.id)
    return ""


def _left_unanswered(board: Board, item: Item) -> Iterator[OpenExchange]:
    role = board.session(item.key.session).facts.role
    ended = (
        one.facts
        for one in board.sessions()
        if not one.facts.is_open and one.facts.role is role and one.facts.name != item.key.session
    )
    for facts in itertools.islice(ended, MOST_SESSIONS):
        for state in (ExchangeState.PENDING, ExchangeState.ABANDONED):
            for one in reversed(board.inbox.items(facts.name, state)):
                yield OpenExchange(board.inbox, one, facts)


def _asked(opened: OpenExchange) -> tuple[str, dict[str, Any]] | None:
    """Return what identifies equal requests: method and parameters, without `_meta`."""
    found = opened.message
    if not isinstance(found, Message) or opened.item.held.asked:
        return None
    return found.method, {key: one for key, one in found.params.items() if key != "_meta"}


UNKNOWN: Final = "unknown"
"""The outcome of a request whose response was not found in time."""

_BLOCK: Final = 200
"""The number of lines that are read at once; a page reads each part of a session once."""
_ID: Final = re.compile(rb'"(?:id|requestId)"\s*:\s*("(?:[^"\\]|\\.)*"|[^\s,}\]]+)')


class _Chunk(NamedTuple):
    """The lines in a part of a transcript, by the number of their exchange and by id."""

    places: dict[int | bytes, list[int]]
    is_last: bool


class OtherHalves:
    """Finds the requests or responses that one page lacks, within a time limit for all."""

    def __init__(self, board: Board, seconds: float) -> None:
        """Search the sessions of this board, for at most `seconds` from now."""
        self._board = board
        self._until = time.monotonic() + seconds
        self._chunks: dict[tuple[str, int], _Chunk] = {}

    def request_of(self, session: str, response: Frame) -> Frame | None:
        """Return the request of a response; None if it is not found."""
        if is_foreign(response):
            return next(self._of_foreign(session, response), None)
        found = message_in(response)
        if not isinstance(found, Message) or found.id is None:
            return None
        for frame in self._before(session, response, found.id):
            if _answers(response, frame):
                return frame
        item = self._board.item(Key(session, response.number))
        is_sent = response.direction is Direction.OUT
        if item is None or item.purpose is not Purpose.ANSWER or not is_sent:
            return None
        return Frame(0, item.arrived, Direction.IN, encoded(item.line), response.number)

    def outcome(self, session: str, request: Frame) -> tuple[str, Frame | None]:
        """Return the outcome of a request, and its response if there is one."""
        item = self._board.item(Key(session, request.number))
        if is_foreign(request):
            said = next(self._of_foreign(session, request), None)
            return (ExchangeState.ANSWERED if item is None else item.state).value, said
        if item is not None and item.purpose is not Purpose.ANSWER:
            item = None  # a tap held it, so the item has no response
        if item is not None and item.state is not ExchangeState.ANSWERED:
            return item.state.value, None
        state, response = self._recorded(session, request)
        if response is None and item is not None and item.answer is not None:
            sent = item.answer
            note = DELIBERATE if sent.deliberate else ""
            out = Direction.OUT
            response = Frame(0, sent.at, out, encoded(sent.line), request.number, sent.by, note)
        return (ExchangeState.ANSWERED.value, response) if response is not None else (state, None)

    def _of_foreign(self, session: str, frame: Frame) -> Iterator[Frame]:
        """Yield the other line of a prompt or step: it is near, unless many came between."""
        for chunk in (frame.seq // _BLOCK, frame.seq // _BLOCK + 1, frame.seq // _BLOCK - 1):
            if chunk >= 0:
                places = self._chunk(session, chunk).places.get(frame.number, [])
                found = self._frames(session, [one for one in places if one != frame.seq])
                yield from (one for one in found if is_foreign(one))

    def _recorded(self, session: str, request: Frame) -> tuple[str, Frame | None]:
        """Search the response in the transcript, from the request to the end."""
        asked = message_in(request)
        if not isinstance(asked, Message) or asked.id is None:
            return UNKNOWN, None
        is_open = self._board.session(session).facts.is_open
        state = ExchangeState.PENDING if is_open else ExchangeState.ABANDONED
        for frame in self._after(session, request, asked.id):
            if frame is None:
                return UNKNOWN, None
            if _answers(frame, request):
                return state.value, frame
            if _cancels(frame, request, asked.id):
                state = ExchangeState.CANCELLED
        return state.value, None

    def _before(self, session: str, frame: Frame, id_: RequestId) -> Iterator[Frame]:
        """Yield the earlier frames that may belong to one, newest first, until the time limit."""
        for number in range(frame.seq // _BLOCK, -1, -1):
            if time.monotonic() >= self._until:
                return
            places = _places(self._chunk(session, number), frame, id_)
            yield from self._frames(session, [one for one in reversed(places) if one < frame.seq])

    def _after(self, session: str, frame: Frame, id_: RequestId) -> Iterator[Frame | None]:
        """Yield the later frames that may belong to one, oldest first; None at the time limit."""
        number = frame.seq // _BLOCK
        while time.monotonic() < self._until:
            chunk = self._chunk(session, number)
            places = _places(chunk, frame, id_)
            yield from self._frames(session, [one for one in places if one > frame.seq])
            if chunk.is_last and time.monotonic() < self._until:
                return
            number += 1
        yield None

    def _chunk(self, session: str, number: int) -> _Chunk:
        """Read a part of a transcript, or take it from the cache."""
        found = self._chunks.get((session, number))
        if found is None:
            start, end = number * _BLOCK, (number + 1) * _BLOCK
            frames = self._board.inbox.last_frames_before(session, end, _BLOCK)
            places: dict[int | bytes, list[int]] = defaultdict(list)
            for frame in frames:
                if frame.seq >= start:
                    for key in {frame.number, *_ID.findall(frame.raw)}:
                        places[key].append(frame.seq)
            found = _Chunk(places, not frames or frames[-1].seq < end - 1)
            self._chunks[session, number] = found
        return found

    def _frames(self, session: str, places: list[int]) -> Iterator[Frame]:
        """Yield the frames with these numbers, until the time limit."""
        for seq in places:
            if time.monotonic() < self._until:
                yield from self._board.inbox.last_frames_before(session, seq + 1, 1)


def _places(chunk: _Chunk, frame: Frame, id_: RequestId) -> list[int]:
    """Return the numbers of the lines that may belong to one, oldest first."""
    keys: set[int | bytes] = {id_.token.encode(), *([frame.number] if frame.number else [])}
    return sorted({place for key in keys for place in chunk.places.get(key, ())})


def _answers(response: Frame, request: Frame) -> bool:
    """Return True if a response belongs to a request: by number if both have one, else by id."""
    if response.direction is not BACK.get(request.direction):
        return False
    asked, found = message_in(request), message_in(response)
    if not isinstance(asked, Message) or not isinstance(found, Message):
        return False
    if asked.kind is not Kind.REQUEST or not found.kind.is_answer:
        return False
    if request.number and response.number:
        return request.number == response.number
    return asked.id is not None and found.id is not None and asked.id.key == found.id.key


def _cancels(frame: Frame, request: Frame, token: RequestId) -> bool:
    if frame.direction is not request.direction or CANCELLED.encode() not in frame.raw:
        return False
    found = message_in(frame)
    if not isinstance(found, Message) or found.method != CANCELLED:
        return False
    return bool(found.params.get("requestId") == token.value)


PAGE: Final = 100
"""The number of rows of one page."""

_CHUNK: Final = 500
_FIRST_CHUNK: Final = 4
"""The number of lines of a session that are read first: of a busy one, more are then wanted."""
_MOST_READ: Final = 2000
"""The maximum number of lines that are read for one page, if most are progress."""
LONG: Final = 100_000
"""The size of a line in bytes from which its row is cached."""
_PROGRESS: Final = f'"{PROGRESS}"'.encode()
_PLAIN: Final = re.compile("[a-z0-9_-]+")
_TERM: Final = re.compile(r'(?:(?P<key>[^\s:"]+):)?(?:"(?P<phrase>[^"]+)"(?!\S)|(?P<word>\S+))')
"""A word or a phrase of a search. Quotes inside JSON, as in `"id":7`, do not begin a phrase."""
_SEARCH_FOR: Final = 1.0
"""The maximum number of seconds of one search; the page then offers to continue."""


@dataclass(frozen=True, slots=True)
class Query:
    """A search. All given conditions must match; empty ones always do."""

    words: tuple[str, ...] = ()
    method: str = ""
    tool: str = ""
    kind: str = ""
    state: str = ""
    session: str = ""
    day: str = ""
    """The last day that is searched: 2026-11-22."""

    @property
    def rarest(self) -> str:
        """The longest plain word: lines without it are skipped; "" for none."""
        parts = (one for word in self.words for one in word.split())
        plain = (one for one in parts if _PLAIN.fullmatch(one))
        return max(plain, key=len, default="")

    @property
    def empty(self) -> bool:
        """True if every line matches."""
        return not (self.words or self.method or self.tool or self.kind or self.state)


KEYS: Final = ("method", "tool", "kind", "state", "session", "day")
"""The words before a colon that filter a search."""


def terms(text: str) -> list[str]:
    """Split a typed search into words, phrases and filters."""
    return [term[0] for term in _TERM.finditer(text)]


def parse(text: str) -> Query:
    """Read a typed search: words, "a phrase in quotes", and `method:`, `tool:` and so on."""
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
    """One page of the history. `further` is where the next page starts, None at the very end."""

    steps: tuple[Step, ...]
    further: tuple[str, int] | None
    """A session, and the number of the frame before which the next page starts."""
    complete: bool
    """False if the time limit ended the search before the page was full."""


def look(
    board: Board,
    query: Query,
    *,
    start: tuple[str, int] | None = None,
    most: int = PAGE,
    oldest: bool = False,
) -> HistoryMatch:
    """Return the newest matching lines, before `start` if given; newest first.

    With `oldest` they are the oldest ones after `start`, if the query names one session.

    Without a search, the progress of one request is one row, and HTTP details are in the row of
    their message.
    """
    until = time.monotonic() + _SEARCH_FOR
    steps: list[Step] = []
    further: tuple[str, int] | None = None
    complete, rows = True, 0
    halves = OtherHalves(board, _SEARCH_FOR)
    lines = _forwards(board, query, start) if oldest else _backwards(board, query, start)
    for view, frame in lines:
        place = (view.facts.name, frame.seq)
        if _wanted(halves, view.facts.name, frame, query):
            steps.append(row_of(board, view, frame))
            rows += not (query.empty and is_folded(frame))
        if rows == most or len(steps) == max(_MOST_READ, most):
            further = place
            break
        if time.monotonic() > until:
            further, complete = place, False
            break
    found = paired(steps if oldest else reversed(steps))
    newest = reversed(folded(found) if query.empty else found)
    return HistoryMatch(tuple(newest), further, complete)


def chosen(
    board: Board, query: Query, numbers: Callable[[SessionView], Iterable[int]]
) -> HistoryMatch:
    """Return the matching lines among those with these numbers, newest first."""
    halves, others = OtherHalves(board, _SEARCH_FOR), replace(query, kind="")
    found = [
        (view, frame)
        for view in searched(board, query)
        for seq in numbers(view)
        for frame in board.inbox.last_frames_before(view.facts.name, seq + 1, 1)
        if frame.seq == seq and _wanted(halves, view.facts.name, frame, others)
    ]
    steps = paired(row_of(board, *one) for one in sorted(found, key=_place))
    return HistoryMatch(tuple(reversed(steps)), None, complete=True)


def is_folded(frame: Frame) -> bool:
    """Return True if a line has no separate row: progress, or HTTP details."""
    return _PROGRESS in frame.raw or is_beside(part_in(frame))


def row_of(board: Board, view: SessionView, frame: Frame) -> Step:
    """Return the row of a line; that of a long line comes from the cache."""
    place = (view.facts.name, frame.seq, hash(frame))
    found = board.long_lines.get(place) if len(frame.raw) > LONG else None
    if found is None:
        found = step(view.facts.name, view.badge, frame, view.facts.role)
        if len(frame.raw) > LONG:
            board.remember_long(place, found)
    return found


def _place(found: tuple[SessionView, Frame]) -> tuple[str, str, int]:
    """Return a sort key: the time of a line, then its session and number."""
    return found[1].at, found[0].facts.name, found[1].seq


def searched(board: Board, query: Query) -> list[SessionView]:
    """Return the sessions that a query searches."""
    wanted = query.session.casefold()
    views = board.sessions()
    named = [view for view in views if view.facts.name == query.session]
    return named or [
        view
        for view in views
        if wanted in {"", view.facts.name.casefold(), view.badge.letter.casefold()}
    ]


def _forwards(
    board: Board, query: Query, start: tuple[str, int] | None
) -> Iterator[tuple[SessionView, Frame]]:
    for view in searched(board, query)[:1]:
        frames = board.inbox.frames(view.facts.name, start[1] if start else 0)
        yield from ((view, frame) for frame in frames)


def _backwards(
    board: Board, query: Query, start: tuple[str, int] | None
) -> Iterator[tuple[SessionView, Frame]]:
    """Yield the matching lines of all sessions, newest first."""
    views, at = searched(board, query), None
    if start is not None:
        frames = board.inbox.last_frames_before(start[0], start[1] + 1, 1)
        at = (frames[0].at if frames else "", *start)
    elif query.day:
        at = (f"{query.day[:10]}T23:59:59.999Z", "", 0)
    return _merged(board, views, at, query.rarest)


def _merged(
    board: Board, views: list[SessionView], start: tuple[str, str, int] | None, word: str
) -> Iterator[tuple[SessionView, Frame]]:
    """Yield the lines of these sessions, newest first.

    A session is only read when its last line can be the next one: of hundreds of open sessions,
    only a few are read.
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
        before, size = chunk[0].seq, min(5 * size, _CHUNK)


def _number_after(board: Board, view: SessionView, at: str) -> int:
    """Return the number of the first line of a session after a time."""

    def time_of(seq: int) -> str:
        frames = board.inbox.last_frames_before(view.facts.name, seq + 1, 1)
        return frames[0].at if frames else ""

    last = board.inbox.last_frames_before(view.facts.name, 0, 1)
    numbers = range(1, last[0].seq + 1 if last else 1)
    return 1 + bisect_right(numbers, at, key=time_of)


def _wanted(halves: OtherHalves, session: str, frame: Frame, query: Query) -> bool:
    if query.empty:
        return True
    if query.words and not _has(frame.text, query.words):
        return False
    if not (query.method or query.tool or query.kind or query.state):
        return True
    found = message_in(frame)
    if not isinstance(found, Message):
        is_one = line_kind(frame, found).value == query.kind
        return is_one and not (query.method or query.tool or query.state)
    return _fits(halves, session, frame, found, query)


def _has(text: str, words: Iterable[str]) -> bool:
    """Return True if a line has all words, as it is written or, if it is small, as it is read."""
    if "\\" in text and len(text) < LARGE:  # a large one would hold up whoever else is here
        # All of it as one string, so that the parser reads the escapes of a long line at once.
        string = text.replace("\\\\", "\\u005c").replace('\\"', '"').replace('"', '\\"')
        with suppress(ValueError):
            text += "\n" + json.loads(f'"{string}"', strict=False)
    folded = text.casefold()
    return all(word in folded for word in words)


def _fits(halves: OtherHalves, session: str, frame: Frame, found: Message, query: Query) -> bool:
    failed = found.kind is Kind.RESULT and is_failed(found.body.get("result"))
    if query.kind not in ("", found.kind.value, "error" if failed else ""):
        return False
    asked = found
    if query.kind in ANSWERS and (query.method or query.tool):
        request = halves.request_of(session, frame)
        asked_line = None if request is None else message_in(request)
        asked = asked_line if isinstance(asked_line, Message) else found
    if query.method and query.method not in asked.method:
        return False
    if query.tool and asked.params.get("name") != query.tool:
        return False
    state = query.state and _state(halves, session, frame, found)
    return state == query.state or (state != "" and query.state == say("desk", f"state.{state}"))


def _state(halves: OtherHalves, session: str, frame: Frame, found: Message) -> str:
    if found.kind is Kind.REQUEST:
        return halves.outcome(session, frame)[0]
    return ExchangeState.ANSWERED.value if found.kind.is_answer else ""


def conversation(board: Board, session: str, most: int = 40) -> tuple[Step, ...]:
    """Return the last lines of one session, oldest first, for the diagram.

    The progress of one request is one line.
    """
    view = board.session(session)
    lines = said(board, session, most)
    steps = folded(paired(row_of(board, view, frame) for frame in lines))
    return tuple(linked(board, step) for step in steps)


def said(board: Board, session: str, most: int) -> list[Frame]:
    """Return the last lines of both sides, oldest first, without progress."""
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


def paired_up(board: Board, found: Iterable[Pair]) -> list[Pair]:
    """Return rows whose exchanges are complete, with what is so of each exchange now.

    The other half of an exchange may be on another page, or not match the search. No line is in
    two rows, as it would be where an id was used twice.
    """
    halves, rows = OtherHalves(board, _SEARCH_FOR), list(found)
    taken = {(one.step.session, seq) for one in rows for seq in one.lines}
    return [_completed(board, halves, one, taken) for one in rows]


def exchange(board: Board, session: str, frame: Frame) -> list[Frame]:
    """Return a line, and with it the request that it answers or its response."""
    halves, found = OtherHalves(board, _SEARCH_FOR), message_in(frame)
    is_asked = is_foreign(frame) and frame.direction is Direction.IN
    if is_asked or (isinstance(found, Message) and found.kind is Kind.REQUEST):
        other = halves.outcome(session, frame)[1]
        return [frame] if other is None else [frame, other]
    other = halves.request_of(session, frame)
    return [frame] if other is None else [other, frame]


def neighbours(board: Board, session: str, frames: Sequence[Frame]) -> tuple[int, int]:
    """Return the numbers of the rows before and after an exchange in its session; 0 for none."""
    first, last = frames[0].seq, {one.seq for one in frames}
    before = board.inbox.last_frames_before(session, first, _CHUNK) if first else ()
    after = itertools.islice(board.inbox.frames(session, first), _CHUNK)
    found = (
        next((one.seq for one in lines if one.seq not in last and _begins_row(one)), 0)
        for lines in (reversed(before), after)
    )
    return next(found), next(found)


def _begins_row(frame: Frame) -> bool:
    """Return True for a line of either side that is no response and has a separate row."""
    found = message_in(frame)
    is_answer = isinstance(found, Message) and found.kind.is_answer
    return frame.direction in BACK and not (is_answer or is_folded(frame))


def previous(board: Board, session: str, frame: Frame) -> Frame | None:
    """Return the last request before this one for the same method and tool, if it is not far."""
    asked = message_in(frame)
    if not isinstance(asked, Message) or asked.kind is not Kind.REQUEST:
        return None
    earlier = board.inbox.last_frames_before(session, frame.seq, _CHUNK) if frame.seq else ()
    tool = asked.params.get("name")
    return next(
        (
            one
            for one in reversed(earlier)
            if one.direction is frame.direction and _asks_the_same(one, asked.method, tool)
        ),
        None,
    )


def linked(board: Board, step: Step) -> Step:
    """Return a row with what the inbox knows of its exchange: its page, the end of a decision."""
    key = Key(step.session, step.number)
    item = None if board.waits(key) else board.item(key)
    if item is not None and step.kind != "note" and step.summary.wants.startswith("decided "):
        step = replace(step, now=standing_of(item, board.session(step.session).facts.life))
    return replace(step, in_inbox=board.waits(key) or item is not None)


def _completed(board: Board, halves: OtherHalves, pair: Pair, taken: set[tuple[str, int]]) -> Pair:
    """Add the missing half of an exchange, and its state."""
    step = pair.step
    item = board.item(Key(step.session, step.number))
    view = board.session(step.session)
    if pair.answer is None and not step.more and step.kind in (*ASKS, *ANSWERS):
        whole = _with_other_half(board, halves, view, pair)
        others = {(step.session, seq) for seq in whole.lines if seq != step.seq}
        is_new = taken.isdisjoint(others)
        pair = whole if is_new else replace(pair, state=pair.state and whole.state)
        taken |= others
    pair = replace(pair, step=replace(pair.step, in_inbox=item is not None))
    if item is None or pair.step.kind not in ASKS or pair.state in ("", "error"):
        return pair
    standing = standing_of(item, view.facts.life)
    fits = (
        item.purpose in (Purpose.PROMPT, Purpose.STEP)
        or pair.answer is None
        or standing in _AFTER_ANSWER
        or (item.answer is not None and item.answer.action != "")
    )
    return replace(pair, state=standing.value) if fits else pair


_AFTER_ANSWER: Final = (Standing.UNFETCHED, Standing.FETCHED, Standing.DELIBERATE, Standing.FORCED)


def _with_other_half(board: Board, halves: OtherHalves, view: SessionView, pair: Pair) -> Pair:
    step = pair.step
    frame = next(iter(board.inbox.last_frames_before(step.session, step.seq + 1, 1)), None)
    if frame is None or frame.seq != step.seq:
        return pair
    if step.kind in ASKS:
        state, response = halves.outcome(step.session, frame)
        if response is None:
            return replace(pair, state=state)
        answer = row_of(board, view, response)
        return replace(pair, answer=answer, state=answered_state(answer))
    request = halves.request_of(step.session, frame)
    return (
        pair if request is None else Pair(row_of(board, view, request), step, answered_state(step))
    )


"""The kinds of lines that are searched by the method and tool of their request."""


def last_answer(board: Board, item: Item) -> str | None:
    """Return the last answer to the same method and tool, with the id of this request.

    It searches the newest lines of every session; None if there is none.
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
    """Return the newest lines of all sessions, newest first, without progress."""
    found = look(board, Query(), most=most).steps
    shown = (step for step in found if step.kind not in ("note", "err") and step.word != PROGRESS)
    halves = OtherHalves(board, _SEARCH_FOR)
    return tuple(linked(board, _named(board, halves, step)) for step in shown)


def _named(board: Board, halves: OtherHalves, step: Step) -> Step:
    """Give a response the tool or method of its request, also of one before these lines."""
    if step.kind not in ("result", "error") or step.method:
        return step
    pair = _with_other_half(board, halves, board.session(step.session), Pair(step))
    return paired([pair.step, step])[-1] if pair.answer is not None else step
