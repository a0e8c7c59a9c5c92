"""The pages of a browser without a server: its lessons, and the check of a message."""

import re
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from humanmcp.answering.alone import count_problems, remarks_on, told_of
from humanmcp.answering.files import read_file
from humanmcp.common import published
from humanmcp.common.settings import make_private
from humanmcp.desk import rights
from humanmcp.desk.context import desk_of, page, page_router
from humanmcp.desk.history.opening import MOST_REMARKS, MOST_SHOWN, wrong_line
from humanmcp.desk.routing import FormValues, number_of
from humanmcp.extensions.classroom.demo.lesson import OWN, find_lesson, lesson_names, read_lesson
from humanmcp.extensions.classroom.room.records import RoomRole
from humanmcp.extensions.classroom.room.seat import RoomSeat
from humanmcp.inbox.atomic import write_private
from humanmcp.locales import say, spoken_language
from humanmcp.locales.stop import StopError

PASTED: Final = "pasted"
MINUTES: Final = 2
"""About how long a step takes: to read it, to answer, and to read what the host made of it."""
_FILE: Final = re.compile(r"[\w-]{1,60}\.toml")

RIGHTS: Final = {
    **rights.read(RoomRole.LEARNER, "/own", "/check"),
    **rights.acts("/own", rights.each(RoomRole.LEARNER, "lesson", "begin"), writes=False),
    **rights.write(RoomRole.LEARNER, "/check", most=rights.TEXT),
}

router: Final = page_router()


def lessons() -> list[str]:
    """Return the names of the lessons that need no HTTP."""
    return [name for name in lesson_names() if not find_lesson(name)("en").http]


def title_of(lesson: str) -> str:
    return find_lesson(lesson)(spoken_language()).title


@router.get("/own")
def own(request: Request, unknown: str = "") -> Response:
    """Show the lessons, and what can be done with one's own work.

    `unknown` is the lesson of a link that cannot be begun.
    """
    seat = _seat_of(request)
    names = [*lessons(), *sorted(map(str, _brought(seat).glob("*.toml")))]
    shown = [_shown(name, seat) for name in names]
    return page(
        request, "classroom/lite.html", lessons=shown, unknown=unknown, guide=published.SITE
    )


class ShownLesson(NamedTuple):
    """A lesson as the list shows it. `minutes` is an estimate, from the number of its steps."""

    name: str
    title: str
    teaches: str
    minutes: int
    is_passed: bool


def _shown(name: str, seat: RoomSeat) -> ShownLesson:
    lesson, steps = find_lesson(name)(spoken_language()), seat.steps_in(name)
    own = [at for at, one in enumerate(lesson.requests, 1) if not one.given]
    passed = all(str(at) in steps and steps[str(at)].passed for at in own)
    return ShownLesson(name, lesson.title, lesson.teaches, len(own) * MINUTES, passed)


def _brought(seat: RoomSeat) -> Path:
    """Return the folder of the lessons that came by a link to a file beside the page."""
    return make_private(seat.folder / OWN)


def _linked(seat: RoomSeat, name: str, text: str) -> str:
    """Return the lesson that a link or a button names; "" for none that can be begun."""
    if name in lessons() or name in map(str, _brought(seat).glob("*.toml")):
        return name
    file = _brought(seat) / name
    if not _FILE.fullmatch(name):
        return ""
    try:
        http = read_lesson(text, file)("en").http
    except StopError:
        return ""
    if not http:
        write_private(file, text)
    return "" if http else str(file)


def _seat_of(request: Request) -> RoomSeat:
    seat = request.app.state.seat
    if not isinstance(seat, RoomSeat):  # `LiteDesk` puts it there
        raise TypeError(type(seat))
    return seat


@router.post("/own")
def act(request: Request, values: FormValues) -> Response:
    """Begin a lesson, or begin it or a step of it again."""
    seat = _seat_of(request)
    match values.get("act", ""):
        case "lesson":
            name = values.get("lesson", "")
            lesson = _linked(seat, name, values.get("text", ""))
            if not lesson:
                return RedirectResponse(f"/own?{urlencode({'unknown': name})}", 303)
            if lesson != seat.record.lesson or "text" not in values:  # a link goes on where it was
                seat.take_lesson(lesson)
        case "begin":
            seat.begin(number_of(values.get("step", "")))
    return RedirectResponse("/", 303)


@router.get("/check")
def check(request: Request) -> Response:
    """Show the check of what was pasted last, and a box for the next text."""
    file, text, refused = desk_of(request).home / PASTED, "", ""
    if file.exists():
        text = file.read_text(encoding="utf-8")
    read = read_file(text)
    try:
        wrong = told_of(read, say("desk", "open.pasted")) if text.strip() else []
    except StopError as error:
        wrong, refused = [], error.sentence()
    return page(
        request,
        "classroom/lite_check.html",
        text=text,
        refused=refused,
        remarks=[one.sentence for one in remarks_on(read.captured)][:MOST_REMARKS],
        counted=count_problems([each for one in wrong for each in one.diagnostics]),
        wrong=[wrong_line(one) for one in wrong[:MOST_SHOWN]],
        more=max(0, len(wrong) - MOST_SHOWN),
    )


@router.post("/check")
def paste(request: Request, values: FormValues) -> Response:
    """Keep a text to check: Back leads to a page, not to a form that is sent again."""
    write_private(desk_of(request).home / PASTED, values.get("text", ""))
    return RedirectResponse("/check", 303)
