"""What every page of a room needs, and what stands around it: who one is, what the teacher says."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import HTMLResponse

from humanmcp.answering import service
from humanmcp.answering.schema import diagnostic_shapes
from humanmcp.desk.auth.login import parts_of, start_of
from humanmcp.desk.presenters.rendering import render
from humanmcp.room.classroom import Classroom
from humanmcp.room.room_door import Visitor, VisitorKind, place, visit

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from humanmcp.room.seat import RoomSeat


def page_context(classroom: Classroom, seat: RoomSeat, request: Request) -> dict[str, Any]:
    """Gather what the templates show around a page."""
    visitor = visitor_of(request)
    record = seat.record
    watching = visitor.kind is VisitorKind.WATCHER
    return {
        "role": visitor.kind.value,
        "number": record.number,
        "mark": seat.mark,
        "called": seat.mark.words() if record.number else "",
        "name": classroom.name_of(seat) if visitor.kind is not VisitorKind.GUEST else "",
        "hint": record.hint,
        "opened": record.opened,
        "next_lesson": classroom.next_lesson(seat),
        "own_lesson": record.lesson,
        "hand": record.hand,
        "pen": record.pen,
        "frozen": classroom.record.frozen,
        "ends": classroom.record.ends if classroom.record.ends > time.time() else 0.0,
        "knocks": len(classroom.knocks) - len(classroom.granted),
        "looks_on": getattr(request.state, "looks_on", False),
        "draft": _draft(seat) if watching or record.pen else None,
        "back": f"{place(Visitor(VisitorKind.TEACHER), classroom.record.teacher)}/room"
        if watching
        else "",
    }


def visitor_of(request: Request) -> Visitor:
    """Return who asks; a stranger at the door is a guest who sees nothing."""
    found = getattr(request.state, "visitor", None)
    return found if isinstance(found, Visitor) else Visitor(VisitorKind.GUEST)


def _draft(seat: RoomSeat) -> dict[str, Any] | None:
    """Return what the learner is writing, and what the check says of it."""
    rows = seat.board.waiting()
    if not rows:
        return None
    opened = seat.desk.open_exchange(rows[0].key)
    draft = opened.item.draft
    if draft is None or not draft.touched:
        return None
    diagnostics = service.judge(opened, draft.text, draft.form).diagnostics
    return {"text": draft.text, "problems": diagnostic_shapes(diagnostics)}


def room_of(request: Request) -> Classroom:
    """Return the room that a request came to."""
    room = request.app.state.room
    if not isinstance(room, Classroom):  # `make_app` puts it there
        raise TypeError(type(room))
    return room


def number_of(text: str) -> int:
    """Read a number that a form holds; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


COOKIE_LIFE: Final = 30 * 24 * 3600
_FIRST: Final = {
    VisitorKind.TEACHER: "/room",
    VisitorKind.GUEST: "/wall",
    VisitorKind.KNOCKER: "/waiting",
}
"""The page that a role begins with; everybody else with what waits."""


def entered(classroom: Classroom, visitor: Visitor) -> Response:
    """Give a browser the cookie of a visit, and lead it there.

    By a page and not by a redirect: who comes from another site would not be sent the cookie.
    """
    place, secret = parts_of(visit(visitor, classroom.key_of(visitor)))
    to = start_of(place) + _FIRST.get(visitor.kind, "/")
    answer = HTMLResponse(render("entering.html", to=to))
    answer.set_cookie(
        classroom.address.cookie,
        secret,
        max_age=COOKIE_LIFE,
        path=start_of(place),
        httponly=True,
        samesite="strict",
        secure=classroom.address.scheme == "https",
    )
    answer.headers["cache-control"] = "no-store"
    return answer


def spaced(code: str) -> str:
    """Return a code as it is read aloud: in two halves."""
    half = len(code) // 2
    return f"{code[:half]}-{code[half:]}"
