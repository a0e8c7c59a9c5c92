"""A transcript of a tapped session from one side: what the client saw, or what the server saw.

Where nothing was held or changed both saw every line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.conversation.transcript import (
    CHANGED,
    DROPPED,
    HELD,
    INSTEAD,
    LET_GO,
    Direction,
    Frame,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LINES: Final = frozenset({Direction.IN, Direction.OUT})


class Perspective:
    """One side's view of a session, frame by frame. `own` is the way of the lines it writes."""

    def __init__(self, own: Direction) -> None:
        self._own = own
        self._held: dict[int, Frame] = {}

    def feed(self, frame: Frame) -> Iterator[Frame]:
        """Take the next frame of the transcript; yield what this side saw because of it."""
        if frame.direction not in _LINES:
            if frame.note in (LET_GO, DROPPED) and frame.number in self._held:
                let_go = self._held.pop(frame.number)
                if frame.note == LET_GO:
                    yield let_go
        elif frame.direction is self._own:
            if frame.note not in (CHANGED, INSTEAD):
                yield frame
        elif frame.note == HELD:
            self._held[frame.number] = frame
        else:
            self._held.pop(frame.number, None)
            yield frame


def seen_by_client(frames: Iterable[Frame]) -> Iterator[Frame]:
    """Yield the lines that the client wrote and those that reached it."""
    view = Perspective(Direction.IN)
    for frame in frames:
        yield from view.feed(frame)
