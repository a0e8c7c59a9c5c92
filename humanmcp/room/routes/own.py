"""A learner's own page: the links of the seat, and what a learner may do besides answering."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

import time
from typing import Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.desk.http.layout import FormValues, note_version, page
from humanmcp.desk.routes.connect import offered
from humanmcp.room.around import room_of, visitor_of
from humanmcp.room.room_door import Role

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])


@router.get("/own")
def own(request: Request) -> Response:
    """Show a learner the links of their seat."""
    classroom, visitor = room_of(request), visitor_of(request)
    seat = classroom.seat(visitor.seat)
    if visitor.role is not Role.LEARNER or seat is None:
        return RedirectResponse("/", 303)
    return page(
        request,
        "own.html",
        link=classroom.link(seat.record.key),
        url=seat.desk.url,
        hosts=offered(request),
        standing=seat.standing,
    )


@router.post("/own")
def act(request: Request, values: FormValues) -> Response:
    """Raise a hand, or begin the lesson anew; the teacher gives the pen back here, too."""
    visitor = visitor_of(request)
    seat = room_of(request).seat(visitor.seat)
    watching = visitor.role is Role.WATCHER
    if seat is None:
        return RedirectResponse("/", 303)
    match values.get("act", ""):
        case "raise" if not watching:
            seat.note(hand=time.time())
        case "lower":
            seat.note(hand=0.0)
        case "hint read" if not watching:
            seat.note(hint="")
        case "lesson" if not watching and not seat.record.pen:
            lesson = values.get("lesson", "")
            if lesson in {"", *room_of(request).lessons()}:
                seat.take_lesson(lesson)
        case "begin" if not watching and not seat.record.pen:
            seat.practise()
        case "take" if watching:
            seat.note(pen=True)
        case "give back" if watching:
            seat.note(pen=False)
    return RedirectResponse("/", 303)
