"""A transcript of a tapped session from one side: what the client saw, or what the server saw.

Where nothing was held or changed both saw every line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.transcript import CHANGED, HELD, INSTEAD, LET_GO, Frame, Way

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LINES: Final = frozenset({Way.IN, Way.OUT})


def as_client(frames: Iterable[Frame]) -> Iterator[Frame]:
    """Yield the lines that the client wrote and those that reached it."""
    return _seen(frames, own=Way.IN)


def as_server(frames: Iterable[Frame]) -> Iterator[Frame]:
    """Yield the lines that reached the server and those that it wrote."""
    return _seen(frames, own=Way.OUT)


def _seen(frames: Iterable[Frame], own: Way) -> Iterator[Frame]:
    """Leave out what was changed on its way to the other side, and what never came to this one."""
    held: dict[int, Frame] = {}
    for frame in frames:
        if frame.way is Way.NOTE and frame.note == LET_GO and frame.number in held:
            yield held.pop(frame.number)
        if frame.way not in _LINES:
            continue
        if frame.way is own:
            if frame.note not in (CHANGED, INSTEAD):
                yield frame
        elif frame.note == HELD:
            held[frame.number] = frame
        else:
            yield frame
