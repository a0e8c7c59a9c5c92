"""The page of lessons in a browser without a server, where a message can be checked, too."""

import contextlib
import io
from typing import Final

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from humanmcp.cli import parser_of
from humanmcp.common import published
from humanmcp.common.settings import load
from humanmcp.common.terminal import to_stderr
from humanmcp.demo.lesson import find_lesson, lesson_names
from humanmcp.desk.context import desk_of, page, page_router
from humanmcp.desk.routing import FormValues
from humanmcp.inbox.atomic import write_private
from humanmcp.locales import spoken_language
from humanmcp.locales.stop import StopError, sentence_of
from humanmcp.room.seat import RoomSeat
from humanmcp.terminal import check as terminal_check

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
    return _own_page(request)


def _own_page(request: Request, text: str = "", verdict: str = "") -> Response:
    titles = [(name, title_of(name)) for name in lessons()]
    return page(
        request,
        "lite.html",
        lessons=titles,
        text=text,
        verdict=verdict,
        guide=published.SITE,
    )


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


@router.post("/check")
def check(request: Request, values: FormValues) -> Response:
    """Show what `humanmcp check` says of a message or a recording."""
    text, said = values.get("text", ""), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    file = desk_of(request).home / PASTED
    write_private(file, text)
    words = [str(file)]
    arguments = parser_of("check", terminal_check, words).parse_args(words)
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            terminal_check.run(arguments, load({}))
        except StopError as error:
            to_stderr(sentence_of(error))
    said.seek(0)
    return _own_page(request, text, said.read().replace(str(file), PASTED))
