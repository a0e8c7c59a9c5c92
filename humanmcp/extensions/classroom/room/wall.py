"""The projector of a class: what the teacher chose to show, and nobody's name."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Final

from fastapi import Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from humanmcp.answering import mistakes, service
from humanmcp.answering.schema import diagnostic_shapes
from humanmcp.common import qr_code
from humanmcp.desk import rights
from humanmcp.desk.context import page, page_router
from humanmcp.desk.examples import halves, laid_out, rows_of
from humanmcp.desk.history.history_page import stage
from humanmcp.desk.rendering import HIDDEN_NAMES, SPOKEN_WORDS, words_of
from humanmcp.desk.routing import number_of
from humanmcp.extensions.classroom.room.classroom import Classroom
from humanmcp.extensions.classroom.room.pages import room_of
from humanmcp.extensions.classroom.room.records import SEATED, DoorState, RoomRole, spaced
from humanmcp.extensions.classroom.room.seat import RoomSeat, SeatMark, without_layout
from humanmcp.inbox.contract import Key, Life
from humanmcp.locales import spoken_language
from humanmcp.protocol.diagnostics.model import TextForm

COLUMNS: Final = 45
FEW_ROWS: Final = 11
"""The rows of an example, of so many columns, that a projector shows in large letters."""
JUST_COME: Final = 3.0
"""Seconds for which the projector marks who has come."""

RIGHTS: Final = rights.read(RoomRole.GUEST | SEATED, "/wall")

router: Final = page_router()


@router.get("/wall")
def wall(request: Request) -> HTMLResponse:
    """Show what the teacher chose: the code and who has come, steps, a seat, an answer, a mistake.

    Nobody's name is there, also not in what they wrote, unless the teacher switched names on.
    """
    classroom = room_of(request)
    what, *about = classroom.record.projected.split()
    seat = classroom.seat(number_of(about[0])) if about else None
    values: dict[str, Any] = {"what": what, "seat": None, "step": None, "chosen": ""}
    match what, seat:
        case "seat", RoomSeat():
            values |= _on_stage(classroom, seat)
        case "answer", RoomSeat():
            values["answer"] = _answer(seat, Key(about[1], number_of(about[2])))
        case "mistake", _:
            mistake = mistakes.find_mistake(about[0])
            pair = halves(mistake)
            texts = ("".join(text for _, text in parts) for parts in pair.values())
            rows = max((rows_of(text, COLUMNS) for text in texts), default=0)
            size = "small" if rows > FEW_ROWS else ""
            values |= {"mistake": mistake, "halves": pair, "size": size}
        case "steps", _:
            lesson = classroom.lesson_steps(spoken_language()).title
            values |= {"bars": _bars(classroom), "people": len(classroom.seats), "lesson": lesson}
        case _:
            values |= {"what": "code", "people": [_arrival(one) for one in classroom.seats]}
    values |= {
        "link": classroom.url.removeprefix("http://"),
        "address": classroom.url,
        "code": "" if classroom.state is DoorState.LOCKED else spaced(classroom.record.code),
        "qr": qr_code.svg(classroom.joining_link) if classroom.is_reachable else "",
    }
    if not classroom.record.names_on_wall:
        values[HIDDEN_NAMES] = [one.record.name for one in classroom.seats]
        examples = [one.example for one in classroom.lesson_steps().requests]
        values[SPOKEN_WORDS] = words_of(json.dumps(examples, ensure_ascii=False))
    return page(request, "classroom/room/wall.html", sessions=(), count=0, **values)


def _on_stage(classroom: Classroom, seat: RoomSeat) -> dict[str, Any]:
    """Show the newest step of a seat's conversation, with its colour and animal."""
    words = seat.mark.words()
    if classroom.record.names_on_wall:
        words = f"{words} · {classroom.name_of(seat)}"
    found: dict[str, Any] = {"seat": {"mark": seat.mark, "words": words}}
    found["whose"] = Markup('<span class="mark {}">{}</span>').format(seat.mark.colour, words)
    sessions = seat.board.sessions()
    living = [one for one in sessions if one.facts.life is Life.OPEN]
    chosen = next((one.facts.name for one in (*living, *sessions)), "")
    return found | ({"chosen": chosen, **stage(seat.desk, chosen, 0)} if chosen else {})


def _answer(seat: RoomSeat, key: Key) -> dict[str, Any]:
    """Return what was written for a request, sent or not, with its problems."""
    opened = seat.desk.open_exchange(key)
    answer, draft = opened.item.answer, service.draft_of(opened)
    text, form = (answer.line, TextForm.MESSAGE) if answer else (draft.text, draft.form)
    diagnostics = () if answer else service.judge(opened, text, form).diagnostics
    problems = diagnostic_shapes(without_layout(diagnostics))
    return {"method": opened.item.method, "text": laid_out(text), "problems": problems}


def _bars(classroom: Classroom) -> list[tuple[str, int]]:
    """Return each step of the class lesson, with the number of seats that are past it."""
    steps = classroom.lesson_steps(spoken_language()).requests
    past = Counter(step for one in classroom.seats for step in classroom.past(one))
    return [(one.title or one.method, past[each]) for each, one in enumerate(steps, 1)]


def _arrival(seat: RoomSeat) -> tuple[SeatMark, str, bool]:
    """Return a seat's mark, in words, and whether it has just come."""
    is_new = seat.clock() - seat.taken_at < JUST_COME
    return seat.mark, seat.mark.words(), is_new
