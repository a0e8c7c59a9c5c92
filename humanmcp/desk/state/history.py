"""The past, read backwards: the newest lines first, as many as a page shows, and where it goes on.

Nothing is kept in memory: a place in the history is a session and a number of a frame, and the
inbox finds that place again. So a hundred thousand lines open as fast as a hundred.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from humanmcp.answering.case import read_line
from humanmcp.desk.presenters.rows import Step, paired, step
from humanmcp.inbox.contract import InboxError, Key
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from humanmcp.desk.state.board import Board, SessionView
    from humanmcp.inbox.contract import Item
    from humanmcp.protocol.conversation.transcript import Frame

PAGE: Final = 100
"""Rows of one page."""

_CHUNK: Final = 500
_RECENT_SESSIONS: Final = 6
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

    @property
    def empty(self) -> bool:
        """Return True if every line is wanted."""
        return not (self.words or self.method or self.tool or self.kind or self.state)


_KEYS: Final = ("method", "tool", "kind", "state", "session")


def parse(text: str) -> Query:
    """Read what a person typed: words, and `method:`, `tool:`, `kind:`, `state:`, `session:`."""
    chosen: dict[str, str] = {}
    words: list[str] = []
    for word in text.split():
        key, colon, value = word.partition(":")
        if colon and value and key.lower() in _KEYS:
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
    """Find the newest lines that are wanted, before `start` if given."""
    until = time.monotonic() + _SEARCH_FOR
    steps: list[Step] = []
    further: tuple[str, int] | None = None
    complete = True
    for view, frame in _backwards(board, query, start):
        if _wanted(board, view.facts.name, frame, query):
            steps.append(step(view.facts.name, view.badge, frame))
        place = (view.facts.name, frame.seq)
        if len(steps) == most:
            further = place
            break
        if not query.empty and time.monotonic() > until:
            further, complete = place, False
            break
    return HistoryMatch(tuple(reversed(paired(reversed(steps)))), further, complete)


def _backwards(
    board: Board, query: Query, start: tuple[str, int] | None
) -> Iterator[tuple[SessionView, Frame]]:
    wanted = query.session.casefold()
    skipping = start is not None
    for view in board.sessions():
        name = view.facts.name
        if skipping and start is not None and name != start[0]:
            continue
        before = start[1] if skipping and start is not None else 0
        skipping = False
        if wanted and wanted not in (name.casefold(), view.badge.letter.casefold()):
            continue
        while chunk := tuple(board.inbox.before(name, before, _CHUNK)):
            yield from ((view, frame) for frame in reversed(chunk))
            before = chunk[0].seq
            if before <= 1:
                break


def _wanted(board: Board, session: str, frame: Frame, query: Query) -> bool:
    if query.empty:
        return True
    text = frame.text.casefold()
    if not all(word in text for word in query.words):
        return False
    if not (query.method or query.tool or query.kind or query.state):
        return True
    found = jsonrpc.read(frame.raw)
    if not isinstance(found, Message):
        return query.kind == "broken" and not (query.method or query.tool or query.state)
    return _fits(board, session, frame, found, query)


def _fits(board: Board, session: str, frame: Frame, found: Message, query: Query) -> bool:
    if query.kind and found.kind.value != query.kind:
        return False
    if query.method and query.method not in found.method:
        return False
    if query.tool and found.params.get("name") != query.tool:
        return False
    return not query.state or _state(board, session, frame, found) == query.state


def _state(board: Board, session: str, frame: Frame, found: Message) -> str:
    if not frame.number or found.id is None:
        return ""
    try:
        return board.inbox.item(Key(session, frame.number)).state.value
    except InboxError:
        return ""


def conversation(board: Board, session: str, most: int = 40) -> tuple[Step, ...]:
    """Return the last lines of one session, oldest first: what the picture shows."""
    view = board.session(session)
    frames: Sequence[Frame] = board.inbox.before(session, 0, most)
    return tuple(paired(step(session, view.badge, frame) for frame in frames))


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
            return _with_id(answers[place].text, item.id)
    return None


def _asks_the_same(frame: Frame, method: str, tool: object) -> bool:
    found = jsonrpc.read(frame.raw)
    return (
        isinstance(found, Message) and found.method == method and found.params.get("name") == tool
    )


def _with_id(line: str, token: str) -> str | None:
    """Put another id's token into an answer; everything else stays as it was sent."""
    for name, start, end in jsonrpc.members(line):
        if name == "id":
            return line[:start] + token + line[end:]
    return None


def recent(board: Board, most: int) -> tuple[Step, ...]:
    """Return the newest lines of the newest sessions, newest first: what stands under the list."""
    steps: list[Step] = []
    for view in board.sessions()[:_RECENT_SESSIONS]:
        frames = board.inbox.before(view.facts.name, 0, most)
        steps += paired(step(view.facts.name, view.badge, frame) for frame in frames)
    wire = [one for one in steps if one.kind not in ("note", "err")]
    return tuple(sorted(wire, key=lambda one: (one.at, one.seq), reverse=True)[:most])
