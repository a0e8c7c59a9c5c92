"""The pages of a browser without a server: its lessons, and the check of a message."""

from typing import Final

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from humanmcp.answering.alone import count_problems, judge_text
from humanmcp.common import published
from humanmcp.demo.lesson import find_lesson, lesson_names
from humanmcp.desk.context import desk_of, page, page_router
from humanmcp.desk.history.opening import MOST_SHOWN, wrong_line
from humanmcp.desk.routing import FormValues
from humanmcp.inbox.atomic import write_private
from humanmcp.locales import spoken_language
from humanmcp.locales.stop import StopError
from humanmcp.room.seat import RoomSeat

PASTED: Final = "pasted"

router: Final = page_router()


def lessons() -> list[str]:
    """Return the names of the lessons that need no HTTP."""
    return [name for name in lesson_names() if not find_lesson(name)("en").http]


def title_of(lesson: str) -> str:
    return find_lesson(lesson)(spoken_language()).title


@router.get("/own")
def own(request: Request) -> Response:
    """Show the lessons, and what can be done with one's own work."""
    titles = [(name, title_of(name)) for name in lessons()]
    return page(request, "lite.html", lessons=titles, guide=published.SITE)


def _seat_of(request: Request) -> RoomSeat:
    seat = request.app.state.seat
    if not isinstance(seat, RoomSeat):  # `LiteDesk` puts it there
        raise TypeError(type(seat))
    return seat


@router.post("/own")
def act(request: Request, values: FormValues) -> Response:
    """Begin a lesson, or begin it again."""
    seat = _seat_of(request)
    match values.get("act", ""):
        case "lesson" if values.get("lesson", "") in lessons():
            seat.take_lesson(values["lesson"])
        case "begin":
            seat.practise()
    return RedirectResponse("/", 303)


@router.get("/check")
def check(request: Request) -> Response:
    """Show the check of what was pasted last, and a box for the next text."""
    file, text, refused = desk_of(request).home / PASTED, "", ""
    if file.exists():
        text = file.read_text(encoding="utf-8")
    try:
        wrong = judge_text(text) if text.strip() else []
    except StopError as error:
        wrong, refused = [], error.sentence()
    return page(
        request,
        "lite_check.html",
        text=text,
        refused=refused,
        counted=count_problems([each for one in wrong for each in one.diagnostics]),
        wrong=[wrong_line(one) for one in wrong[:MOST_SHOWN]],
        more=max(0, len(wrong) - MOST_SHOWN),
    )


@router.post("/check")
def paste(request: Request, values: FormValues) -> Response:
    """Keep a text to check: Back leads to a page, not to a form that is sent again."""
    write_private(desk_of(request).home / PASTED, values.get("text", ""))
    return RedirectResponse("/check", 303)
