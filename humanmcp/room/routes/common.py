"""What every page of a room needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.room.classroom import Classroom

if TYPE_CHECKING:
    from fastapi import Request


def room_of(request: Request) -> Classroom:
    """Return the room that a request came to."""
    room = request.app.state.room
    if not isinstance(room, Classroom):  # `make_app` puts it there
        raise TypeError(type(room))
    return room


def number_of(text: str) -> int:
    """Read a number that a form holds; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
