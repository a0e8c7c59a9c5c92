"""How a person comes in: the code, a name, and a wait where the teacher wants to see who it is."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from typing import Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse, Response

from humanmcp.desk.http.layout import FormValues, note_version, page
from humanmcp.room.around import room_of, visitor_of
from humanmcp.room.classroom import LONGEST_NAME, Classroom
from humanmcp.room.entering import entering
from humanmcp.room.records import DoorState
from humanmcp.room.room_door import Role, Visitor, fits

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])


@router.get("/login")
def join(request: Request, code: str = "") -> HTMLResponse:
    """Show the door. The code may stand in the address, as the QR code has it."""
    return _door(request, code=code)


def _door(
    request: Request, status: int = 200, *, code: str = "", name: str = "", why: str = ""
) -> HTMLResponse:
    classroom = room_of(request)
    locked = classroom.state is DoorState.LOCKED
    facts = {"code": code[:16], "sits": name[:LONGEST_NAME], "why": why, "locked": locked}
    return page(request, "join.html", status, around=None, sessions=(), **facts)


@router.post("/login")
def come_in(request: Request, values: FormValues) -> Response:
    """Swap the code for a seat, or for a place at the door."""
    classroom = room_of(request)
    typed, name = values.get("code", ""), " ".join(values.get("name", "").split())
    if classroom.state is DoorState.LOCKED:
        return _door(request, 403)
    if not fits(typed, classroom.record.code):
        return _door(request, 401, name=name, why="code")
    address = request.client.host if request.client else "?"
    if not classroom.door.joins.take(address):
        return _door(request, 429, code=typed, name=name, why="busy")
    lost = bool(values.get("lost"))
    visitor = (
        _at_the_door(classroom, name, lost=lost)
        if lost or _waits(classroom)
        else _seated(classroom, name)
    )
    if visitor is None:
        return _door(request, 503, code=typed, name=name, why="full")
    return entering(request, classroom, visitor)


def _waits(classroom: Classroom) -> bool:
    return classroom.state is DoorState.KNOCKING


def _seated(classroom: Classroom, name: str) -> Visitor | None:
    seat = classroom.join(name)
    return None if seat is None else Visitor(Role.LEARNER, seat.record.number)


def _at_the_door(classroom: Classroom, name: str, *, lost: bool) -> Visitor | None:
    knock = classroom.knock(name, lost=lost)
    return None if knock is None else Visitor(Role.KNOCKER, knock.number)


@router.get("/waiting")
def waiting(request: Request) -> Response:
    """Show who knocks that they wait, and lead them to their seat as soon as they have one."""
    classroom, visitor = room_of(request), visitor_of(request)
    seat = classroom.granted.get(visitor.seat)
    if seat is not None:
        return entering(request, classroom, Visitor(Role.LEARNER, seat))
    knock = classroom.knocks.get(visitor.seat)
    return page(request, "waiting.html", around=None, knock=knock, sessions=())
