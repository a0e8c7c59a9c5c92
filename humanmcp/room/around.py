"""What every page of a room needs, and what stands around it: who one is, what the teacher says."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from humanmcp.answering import service
from humanmcp.answering.schema.diagnostics import diagnostic_shapes
from humanmcp.desk.http.context import spoken
from humanmcp.room.classroom import Classroom
from humanmcp.room.room_door import Role, Visitor, place

if TYPE_CHECKING:
    from starlette.requests import Request

    from humanmcp.room.seat import RoomSeat


def page_context(classroom: Classroom, seat: RoomSeat, request: Request) -> dict[str, Any]:
    """Gather what the templates show around a page."""
    visitor = visitor_of(request)
    language = spoken(request)
    record = seat.record
    watching = visitor.role is Role.WATCHER
    return {
        "role": visitor.role.value,
        "number": record.number,
        "mark": seat.mark,
        "called": seat.mark.words(language) if record.number else "",
        "name": classroom.name_of(seat, language) if visitor.role is not Role.GUEST else "",
        "hint": record.hint,
        "opened": record.opened,
        "next_lesson": classroom.next_lesson(seat, language),
        "own_lesson": record.lesson,
        "hand": record.hand,
        "pen": record.pen,
        "frozen": classroom.record.frozen,
        "ends": classroom.record.ends if classroom.record.ends > time.time() else 0.0,
        "knocks": len(classroom.knocks) - len(classroom.granted),
        "looks_on": getattr(request.state, "looks_on", False),
        "draft": _draft(seat, language) if watching or record.pen else None,
        "back": f"{place(Visitor(Role.TEACHER), classroom.record.teacher)}/room"
        if watching
        else "",
    }


def visitor_of(request: Request) -> Visitor:
    """Return who asks; a stranger at the door is a guest who sees nothing."""
    found = getattr(request.state, "visitor", None)
    return found if isinstance(found, Visitor) else Visitor(Role.GUEST)


def _draft(seat: RoomSeat, language: str) -> dict[str, Any] | None:
    """Return what the learner is writing, and what the check says of it."""
    rows = seat.board.waiting()
    if not rows:
        return None
    case = seat.desk.case(rows[0].key)
    draft = case.item.draft
    if draft is None or not draft.touched:
        return None
    diagnostics = service.judge(case, draft.text, draft.form).diagnostics
    return {"text": draft.text, "problems": diagnostic_shapes(diagnostics, language)}


def room_of(request: Request) -> Classroom:
    """Return the room that a request came to."""
    room = request.app.state.room
    if not isinstance(room, Classroom):  # `make_app` puts it there
        raise TypeError(type(room))
    return room


def number_of(text: str) -> int:
    """Read a number that a form holds; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
