"""Find the other half of a recorded exchange, and what became of a request.

The inbox has only what was put before a person. What the answer book answered at once, and what
passed a tap, stands in the transcript alone.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from humanmcp.answering.summary import message_in
from humanmcp.inbox.contract import Item, Key, Purpose, UnknownItemError
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.json.jsonrpc import Kind, Message, RequestId, encoded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.desk.state.board import Board

UNKNOWN: Final = "unknown"
"""What became of a request whose answer was not found in the time there is."""

_CANCELLED: Final = "notifications/cancelled"
_FIRST: Final = 20
"""Lines that are read at first: most answers come at once."""
_MOST: Final = 2000
_OPPOSITE: Final = {Direction.IN: Direction.OUT, Direction.OUT: Direction.IN}


class OtherHalves:
    """Looks for the other halves that one page needs, for a bounded time altogether."""

    def __init__(self, board: Board, seconds: float) -> None:
        """Look in the sessions of this board, for at most so many seconds from now on."""
        self._board = board
        self._until = time.monotonic() + seconds

    def request_of(self, session: str, response: Frame) -> Frame | None:
        """Return the request that a response answers; None where it is not found."""
        found = message_in(response)
        if not isinstance(found, Message) or found.id is None:
            return None
        token = found.id.token.encode()
        for frame in self._before(session, response.seq):
            if _may_belong(frame, response, token) and _answers(response, frame):
                return frame
        item = self._item(session, response.number)
        if item is None or item.purpose is not Purpose.ANSWER or response.way is not Direction.OUT:
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
            line = encoded(item.answer.line)
            response = Frame(0, item.answer.at, Direction.OUT, line, request.number)
        return (ExchangeState.ANSWERED.value, response) if response is not None else (state, None)

    def _recorded(self, session: str, request: Frame) -> tuple[str, Frame | None]:
        """Look for the response in the transcript, from the request to the end."""
        asked = message_in(request)
        if not isinstance(asked, Message) or asked.id is None:
            return UNKNOWN, None
        token = asked.id.token.encode()
        is_open = self._board.session(session).facts.is_open
        state = ExchangeState.PENDING if is_open else ExchangeState.ABANDONED
        for frame in self._after(session, request.seq):
            if frame is None:
                return UNKNOWN, None
            if not _may_belong(frame, request, token):
                continue
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

    def _before(self, session: str, seq: int) -> Iterator[Frame]:
        """Yield the frames before one, the newest first, as long as there is time."""
        size = _FIRST
        while seq > 1 and time.monotonic() < self._until:
            frames = self._board.inbox.before(session, seq, size)
            if not frames:
                return
            yield from reversed(frames)
            seq, size = frames[0].seq, _MOST

    def _after(self, session: str, seq: int) -> Iterator[Frame | None]:
        """Yield the frames after one, the oldest first; None at last if time ran out."""
        size = _FIRST
        while time.monotonic() < self._until:
            end = seq + size
            frames = self._board.inbox.before(session, end + 1, size)
            yield from (one for one in frames if one.seq > seq)
            if not frames or frames[-1].seq < end:
                return
            seq, size = end, _MOST
        yield None


def _may_belong(frame: Frame, other: Frame, token: bytes) -> bool:
    """Return False for a line that cannot belong to another: it need not be decoded."""
    return bool(frame.number and frame.number == other.number) or token in frame.raw


def _answers(response: Frame, request: Frame) -> bool:
    """Compare the numbers of two frames where both have one, else the ids of their messages."""
    if response.way is not _OPPOSITE.get(request.way):
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
    if frame.way is not request.way or _CANCELLED.encode() not in frame.raw:
        return False
    found = message_in(frame)
    if not isinstance(found, Message) or found.method != _CANCELLED:
        return False
    return bool(found.params.get("requestId") == token.value)
