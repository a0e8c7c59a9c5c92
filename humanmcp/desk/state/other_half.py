"""Find the other half of a recorded exchange, and what became of a request.

The inbox has only what was put before a person. What the answer book answered at once, and what
passed a tap, stands in the transcript alone.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.answering.summary import message_in
from humanmcp.inbox.contract import Item, Key, Purpose, UnknownItemError
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import DELIBERATE, Direction, Frame
from humanmcp.protocol.json.jsonrpc import Kind, Message, RequestId, encoded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.desk.state.board import Board

UNKNOWN: Final = "unknown"
"""What became of a request whose answer was not found in the time there is."""

_CANCELLED: Final = "notifications/cancelled"
_CHUNK: Final = 200
"""Lines that are read at once; a page reads each chunk of a session once, for all its rows."""
_ID: Final = re.compile(rb'"(?:id|requestId)"\s*:\s*("(?:[^"\\]|\\.)*"|[^\s,}\]]+)')
_OPPOSITE: Final = {Direction.IN: Direction.OUT, Direction.OUT: Direction.IN}


class _Chunk(NamedTuple):
    """Which lines of a part of a transcript have which number of an exchange, or which id."""

    places: dict[int | bytes, list[int]]
    is_last: bool


class OtherHalves:
    """Looks for the other halves that one page needs, for a bounded time altogether."""

    def __init__(self, board: Board, seconds: float) -> None:
        """Look in the sessions of this board, for at most so many seconds from now on."""
        self._board = board
        self._until = time.monotonic() + seconds
        self._chunks: dict[tuple[str, int], _Chunk] = {}

    def request_of(self, session: str, response: Frame) -> Frame | None:
        """Return the request that a response answers; None where it is not found."""
        found = message_in(response)
        if not isinstance(found, Message) or found.id is None:
            return None
        for frame in self._before(session, response, found.id):
            if _answers(response, frame):
                return frame
        item = self._item(session, response.number)
        if (
            item is None
            or item.purpose is not Purpose.ANSWER
            or response.direction is not Direction.OUT
        ):
            return None
        return Frame(0, item.arrived, Direction.IN, encoded(item.line), response.number)

    def outcome(self, session: str, request: Frame) -> tuple[str, Frame | None]:
        """Return what became of a request, and its response if there is one."""
        item = self._item(session, request.number)
        if item is not None and item.purpose is not Purpose.ANSWER:
            item = None  # a tap held it: that says nothing about its response
        if item is not None and item.state is not ExchangeState.ANSWERED:
            return item.state.value, None
        state, response = self._recorded(session, request)
        if response is None and item is not None and item.answer is not None:
            sent = item.answer
            note = DELIBERATE if sent.deliberate else ""
            out = Direction.OUT
            response = Frame(0, sent.at, out, encoded(sent.line), request.number, sent.by, note)
        return (ExchangeState.ANSWERED.value, response) if response is not None else (state, None)

    def _recorded(self, session: str, request: Frame) -> tuple[str, Frame | None]:
        """Look for the response in the transcript, from the request to the end."""
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

    def _item(self, session: str, number: int) -> Item | None:
        try:
            return self._board.inbox.item(Key(session, number)) if number else None
        except UnknownItemError:
            return None

    def _before(self, session: str, frame: Frame, id_: RequestId) -> Iterator[Frame]:
        """Yield the earlier frames that may belong to one, newest first, while there is time."""
        for number in range(frame.seq // _CHUNK, -1, -1):
            if time.monotonic() >= self._until:
                return
            places = _places(self._chunk(session, number), frame, id_)
            yield from self._frames(session, [one for one in reversed(places) if one < frame.seq])

    def _after(self, session: str, frame: Frame, id_: RequestId) -> Iterator[Frame | None]:
        """Yield the later frames that may belong to one, oldest first; None if time ran out."""
        number = frame.seq // _CHUNK
        while time.monotonic() < self._until:
            chunk = self._chunk(session, number)
            places = _places(chunk, frame, id_)
            yield from self._frames(session, [one for one in places if one > frame.seq])
            if chunk.is_last and time.monotonic() < self._until:
                return
            number += 1
        yield None

    def _chunk(self, session: str, number: int) -> _Chunk:
        """Read a part of a transcript, or remember what was found there for another row."""
        found = self._chunks.get((session, number))
        if found is None:
            start, end = number * _CHUNK, (number + 1) * _CHUNK
            frames = self._board.inbox.last_frames_before(session, end, _CHUNK)
            places: dict[int | bytes, list[int]] = defaultdict(list)
            for frame in frames:
                if frame.seq >= start:
                    for key in {frame.number, *_ID.findall(frame.raw)}:
                        places[key].append(frame.seq)
            found = _Chunk(places, not frames or frames[-1].seq < end - 1)
            self._chunks[session, number] = found
        return found

    def _frames(self, session: str, places: list[int]) -> Iterator[Frame]:
        """Yield the frames with these numbers, as long as there is time."""
        for seq in places:
            if time.monotonic() < self._until:
                yield from self._board.inbox.last_frames_before(session, seq + 1, 1)


def _places(chunk: _Chunk, frame: Frame, id_: RequestId) -> list[int]:
    """Return where the lines stand that may belong to one, oldest first."""
    keys: set[int | bytes] = {id_.token.encode(), *([frame.number] if frame.number else [])}
    return sorted({place for key in keys for place in chunk.places.get(key, ())})


def _answers(response: Frame, request: Frame) -> bool:
    """Compare the numbers of two frames where both have one, else the ids of their messages."""
    if response.direction is not _OPPOSITE.get(request.direction):
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
    if frame.direction is not request.direction or _CANCELLED.encode() not in frame.raw:
        return False
    found = message_in(frame)
    if not isinstance(found, Message) or found.method != _CANCELLED:
        return False
    return bool(found.params.get("requestId") == token.value)
