"""The pages of a room: joining, the wall, the teacher's pages, and what every page shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import count
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from humanmcp.answering import mistakes, service
from humanmcp.answering.schema import diagnostic_shapes
from humanmcp.common import qr_code
from humanmcp.desk import rights
from humanmcp.desk.context import page, page_router
from humanmcp.desk.guard import cookie_of
from humanmcp.desk.inbox.waiting_list import EVERYTHING
from humanmcp.desk.login import login_of, login_path_of, parts_of
from humanmcp.desk.moments import Around, Place
from humanmcp.desk.rendering import render
from humanmcp.desk.routing import FormValues, number_of
from humanmcp.desk.settings.settings_page import mistake_page, shown_snippets
from humanmcp.extensions.classroom.demo.beside import around_shown
from humanmcp.extensions.classroom.room import results
from humanmcp.extensions.classroom.room.classroom import (
    LONGEST_HINT,
    LONGEST_NAME,
    Classroom,
    Knock,
    for_each,
)
from humanmcp.extensions.classroom.room.pairs import PAIR_HOST
from humanmcp.extensions.classroom.room.practice import LessonStanding, StepOutcome
from humanmcp.extensions.classroom.room.records import (
    SEATED,
    DoorState,
    RoomRole,
    StepRecord,
    Visitor,
    fits,
    login,
    login_path,
    spaced,
)
from humanmcp.extensions.classroom.room.seat import RoomSeat, mark_of, without_layout
from humanmcp.extensions.classroom.room.take_home import as_file, take_home
from humanmcp.inbox.contract import Life, StoreError, UnknownItemError
from humanmcp.locales import say, spoken_language
from humanmcp.locales.stop import StopError, sentence_of
from humanmcp.protocol.json.visible import visible

# -- what every page needs -----------------------------------------------------------------------


def around_of(classroom: Classroom, seat: RoomSeat, request: Request) -> Around:
    """Return what each page of a seat shows of the room."""
    visitor, path = visitor_of(request), request.scope["path"]
    is_teacher, is_learner = visitor.kind is RoomRole.TEACHER, visitor.kind is RoomRole.LEARNER
    values = page_context(classroom, seat, request)
    places = {
        RoomRole.TEACHER: (Place("/room", say(SECTION, "room.title"), values["knocks"]),),
        RoomRole.LEARNER: (Place("/own", say(SECTION, "room.own")),),
    }
    opened = say(SECTION, "room.opened", step=seat.record.led_to) if seat.record.led_to else ""
    return Around(
        title=say(SECTION, "room.around"),
        kind=values["role"],
        shown=around_shown(values, path),
        home="/room" if is_teacher else "/",
        places=places.get(visitor.kind, ()),
        has_inbox=not is_teacher,
        has_places=path != "/wall",
        is_own=is_learner,
        looks_on=values["looks_on"],
        is_disabled=values["looks_on"] and path != "/own",
        follows=path == "/wall",
        invites=say(SECTION, "room.tap") if is_learner else "",
        led=opened,
        goes_on=say(SECTION, "room.opened.go"),
        aside=say(SECTION, "pair.lesson"),
        more=values,
    )


def page_context(classroom: Classroom, seat: RoomSeat, request: Request) -> dict[str, Any]:
    """Return the room's part of a template's context."""
    visitor = visitor_of(request)
    record = seat.record
    watching = visitor.kind is RoomRole.WATCHER
    looks_on = getattr(request.state, "looks_on", False)
    return {
        "role": str(visitor.kind.name).lower(),
        "number": record.number,
        "mark": seat.mark,
        "called": seat.mark.words() if record.number else "",
        "name": classroom.name_of(seat) if visitor.kind is not RoomRole.GUEST else "",
        "hint": record.hint,
        "opened": record.led_to,
        "told": record.told,
        "next_lesson": classroom.next_lesson(seat),
        "own_lesson": record.lesson,
        "hand": record.hand,
        "handed_in": seat.handed_in,
        "pen": record.pen,
        "pair": _pair(classroom, seat),
        "frozen": classroom.record.frozen,
        "shell": "",
        "ends": _end_of_count_down(classroom),
        "knocks": len(classroom.knocks) - len(classroom.granted),
        "looks_on": looks_on,
        "draft": _draft(seat) if looks_on else None,
        "back": f"{login_path(Visitor(RoomRole.TEACHER), classroom.record.teacher)}/room"
        if watching
        else "",
    }


class ShownPair(NamedTuple):
    """What a seat is in its pair, its partner's mark, and whether it is its turn, or over.

    `path` is the page of what waits for it; "" for nothing yet.
    """

    role: str
    partner: str
    turn: str
    path: str


def _pair(classroom: Classroom, seat: RoomSeat) -> ShownPair | None:
    pair = classroom.pair_of(seat)
    if pair is None:
        return None
    is_model = pair.model == seat.record.number
    role = "model" if is_model else "server"
    turn = classroom.turn_of(pair)
    partner = mark_of(pair.server if is_model else pair.model).words()
    sessions = (one.facts for one in seat.board.sessions())
    # The model's side has no client that introduces itself.
    talks = {one.name for one in sessions if one.client in {"", PAIR_HOST}} - {
        *seat.record.sessions
    }
    keys = (one.key for one in seat.board.waiting() if one.key.session in talks)
    path = next((f"/m/{one.session}/{one.number}" for one in keys), "")
    now = turn if turn in {"", "over"} else "own" if turn == role else "other"
    return ShownPair(role, partner, now, path)


def _end_of_count_down(classroom: Classroom) -> float:
    """Return when the count-down ends, in seconds since 1970; 0 for none, or if it is over."""
    ends = classroom.record.ends
    return classroom.clock.since_1970(ends) if ends > classroom.clock() else 0.0


def visitor_of(request: Request) -> Visitor:
    """Return the visitor of a request; a stranger is a guest who sees nothing."""
    found = getattr(request.state, "visitor", None)
    return found if isinstance(found, Visitor) else Visitor(RoomRole.GUEST)


def _draft(seat: RoomSeat) -> dict[str, Any] | None:
    """Return the learner's current draft and its problems."""
    rows = EVERYTHING.rows(seat.board)
    if not rows:
        return None
    opened = seat.desk.open_exchange(rows[0].key)
    draft = opened.item.draft
    if draft is None or not draft.touched:
        return None
    diagnostics = without_layout(service.judge(opened, draft.text, draft.form).diagnostics)
    return {"text": draft.text, "problems": diagnostic_shapes(diagnostics)}


def room_of(request: Request) -> Classroom:
    room: Classroom = request.app.state.room
    return room


COOKIE_LIFE: Final = 30 * 24 * 3600
_FIRST: Final = {
    RoomRole.TEACHER: "/room",
    RoomRole.GUEST: "/wall",
    RoomRole.KNOCKER: "/waiting",
}
"""The first page of a role; the default is the inbox."""


def entered(classroom: Classroom, visitor: Visitor) -> Response:
    """Give a browser the cookie of a login session, and lead it there.

    By a page and not by a redirect: who comes from another site would not be sent the cookie.
    """
    login_path, cookie = parts_of(login(visitor, classroom.key_of(visitor)))
    to = login_path + _FIRST.get(visitor.kind, "/")
    answer = HTMLResponse(render("classroom/room/entering.html", to=to))
    answer.set_cookie(
        classroom.address.cookie,
        cookie,
        max_age=COOKIE_LIFE,
        path=login_path,
        httponly=True,
        samesite="strict",
        secure=classroom.address.scheme == "https",
    )
    answer.headers["cache-control"] = "no-store"
    return answer


# -- the routes ----------------------------------------------------------------------------------


RIGHTS: Final = {
    **rights.read(rights.ALL, "/login"),
    "POST /login": rights.Entry(rights.ALL, writes=False),
    **rights.read(RoomRole.TEACHER, "/room", "/room/seat/{number}", "/room/mistake/{code}"),
    **rights.read(RoomRole.TEACHER, "/room/export.zip", "/room/seats.csv"),
    **rights.read(RoomRole.KNOCKER | SEATED, "/waiting"),
    **rights.read(SEATED, "/own", "/own/home", "/own/home.html"),
    **rights.acts(
        "/room",
        {
            **rights.each(RoomRole.TEACHER, "door", "let in", "let all in", "send away", "hint"),
            **rights.each(RoomRole.TEACHER, "lower", "wall", "names", "freeze", "step", "lesson"),
            **rights.each(RoomRole.TEACHER, "remove", "remove idle", "reset", "count down"),
            **rights.each(RoomRole.TEACHER, "add lesson", "pair", "pair all", "swap", "part"),
        },
        most=rights.TEXT,
    ),
    **rights.acts(
        "/own",
        {
            **rights.each(RoomRole.LEARNER, "raise", "hint read", "lesson", "begin"),
            **rights.each(RoomRole.LEARNER, "hand in", "take back"),
            **rights.each(RoomRole.LEARNER | RoomRole.WATCHER, "lower"),
            **rights.each(RoomRole.WATCHER, "take", "give back"),
        },
        writes=False,
    ),
}  # fmt: skip

SECTION: Final = "classroom"

router: Final = page_router()

LONGEST_COUNT_DOWN: Final = 180
"""Minutes."""


@router.get("/room")
def overview(request: Request, seat: int = 0, added: str = "") -> HTMLResponse:
    """Show every seat, who knocks, and which mistakes there are.

    `seat` is the seat whose actions are open; `added` is the lesson that was added just now.
    """
    classroom = room_of(request)
    if added not in classroom.lessons():
        return _overview(request, seat)
    steps = classroom.lesson_steps(spoken_language(), added)
    told = {"name": added, "why": "", "count": len(steps.requests), "title": steps.title}
    return _overview(request, seat, {**told, "teaches": steps.teaches})


def _overview(
    request: Request, seat: int = 0, added: dict[str, Any] | None = None, status: int = 200
) -> HTMLResponse:
    classroom = room_of(request)
    cards = sorted((_card(classroom, seat) for seat in classroom.seats), key=_urgency)
    return page(
        request,
        "classroom/room/room.html",
        status,
        room=classroom.record,
        ends=_end_of_count_down(classroom),
        total=len(classroom.lesson_steps().requests),
        next_step=classroom.next_step,
        projected=_on_projector(classroom),
        chosen=next((one for one in cards if one["number"] == seat), None),
        added=added,
        seats=cards,
        sums=_sums(cards),
        lessons=[
            (one, classroom.lesson_steps(spoken_language(), one).title)
            for one in classroom.lessons()
        ],
        removed=[*classroom.removed.values()],
        paired=len(classroom.record.pairs),
        alone=[classroom.name_of(one) for one in classroom.alone],
        knocks=[
            (one, _lost_seat(classroom, one))
            for one in (*classroom.knocks.values(),)
            if one.number not in classroom.granted
        ],
        mistakes=classroom.misconceptions(),
        code=spaced(classroom.record.code),
        link=classroom.url.removeprefix("http://"),
        qr=qr_code.svg(classroom.joining_link) if classroom.is_reachable else "",
        doors=[one.value for one in DoorState],
    )


def _on_projector(classroom: Classroom) -> str:
    """Return which mistake or which seat the projector shows, "" for neither."""
    what, *about = classroom.record.projected.split()
    if what == "mistake":
        return about[0]
    return mark_of(number_of(about[0])).words() if about else ""


def _lost_seat(classroom: Classroom, knock: Knock) -> int:
    """Return the number of the seat that a person lost; 0 if several could be it."""
    same = [one for one in classroom.seats if one.record.name == knock.name]
    gone = [one.record.number for one in same if classroom.presence(one) == "gone"]
    gone += [one.number for one in classroom.removed.values() if one.name == knock.name]
    found = gone or [one.record.number for one in same]
    return found[0] if knock.lost and len(found) == 1 else 0


def _card(classroom: Classroom, seat: RoomSeat) -> dict[str, Any]:
    """Gather what the teacher sees of a seat."""
    rows, standing = seat.board.waiting(), seat.standing
    steps, own, clock = seat.steps, seat.record.lesson, classroom.clock
    step = steps.get(str(standing.step)) if standing else None
    is_stuck = classroom.is_stuck(seat)
    arrived = rows[0].arrived if rows else 0.0
    clients = [one.facts.client for one in seat.board.sessions() if one.facts.life is Life.OPEN]
    return {
        "number": seat.record.number,
        "mark": seat.mark,
        "words": seat.mark.words(),
        "name": classroom.name_of(seat),
        "standing": standing,
        "lesson": classroom.lesson_steps(spoken_language(), own).title if own else "",
        "cells": _cells(standing, steps, is_stuck=is_stuck) if standing else (),
        "stuck": is_stuck,
        "tries": step.tries - step.tries_before if step else 0,
        "arrived": (rows and standing and clock.since_1970(standing.since)) or arrived,
        "hand": clock.since_1970(seat.record.hand),
        "handed_in": seat.handed_in,
        "pen": seat.record.pen,
        "pair": _pair(classroom, seat),
        "hint": seat.record.hint,
        "presence": classroom.presence(seat),
        "codes": sorted(seat.codes),
        "clients": [one for one in clients if one],
    }


def _cells(
    standing: LessonStanding, steps: Mapping[str, StepRecord], *, is_stuck: bool
) -> list[tuple[str, int]]:
    """Return the state of each step, and the number of kinds of mistakes in it."""
    passed = {int(at) for at, one in steps.items() if one.passed}  # also if the lesson repeats it
    states = [
        StepOutcome.PASSED.value if one is StepOutcome.GIVEN and at in passed else one.value
        for at, one in enumerate(standing.outcomes, 1)
    ]
    states += ["stuck" if is_stuck else "at"]
    states += ["later"] * standing.total
    mistakes = (len(steps[at].mistakes) if at in steps else 0 for at in map(str, count(1)))
    return list(zip(states[: standing.total], mistakes, strict=False))


def _urgency(card: dict[str, Any]) -> tuple[object, ...]:
    """Order the seats: raised hands, then who is stuck, by step, who has finished, who is gone."""
    standing = card["standing"]
    gone, over = card["presence"] == "gone", standing is not None and standing.is_over
    since = card["hand"] or (standing.since if standing else 0.0)
    step = standing.step if standing else 0  # who has just joined has not begun
    return (not card["hand"], not card["stuck"], gone, over, step, since)


def _sums(cards: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    """Count the seats that are alike: those that need help first, then those at each step.

    A kind, the number of its seats, and the step of those at a step, else 0.
    """
    playing = [(one, one["standing"]) for one in cards if one["standing"]]
    at = Counter(here.step for one, here in playing if not (here.is_over or one["lesson"]))
    found = [
        ("hands", sum(bool(one["hand"]) for one in cards), 0),
        ("stuck", sum(one["stuck"] for one in cards), 0),
        ("finished", sum(here.is_over for _, here in playing), 0),
        ("handed in", sum(bool(one["handed_in"]) for one in cards), 0),
        *(("step", count, step) for step, count in sorted(at.items())),
        ("ahead", sum(bool(one["lesson"]) for one in cards), 0),
        ("gone", sum(one["presence"] == "gone" for one in cards), 0),
    ]
    return [one for one in found if one[1]]


@router.post("/room")
def act(request: Request, values: FormValues) -> Response:
    """Apply a button of the page to one seat or to all. What ends somebody's work asks first.

    `sure` has the numbers of the seats that the question was about.
    """
    classroom = room_of(request)
    ended = ended_by(classroom, values)
    working = [one for one in ended if classroom.is_at_work(one)]
    if {str(one.record.number) for one in working} - {*values.get("sure", "").split()}:
        sure = " ".join(str(one.record.number) for one in ended)
        return page(
            request,
            "classroom/room/sure.html",
            409,
            order={**values, "sure": sure},
            ended=[classroom.name_of(one) for one in working],
            active=sum(map(classroom.was_active, working)),
        )
    if values.get("act") == "add lesson":
        return _add_lesson(request, values)
    _act(classroom, values)
    number = number_of(values.get("seat", ""))
    is_open = "knock" not in values and classroom.seat(number) is not None
    return RedirectResponse(f"/room?seat={number}" if is_open else "/room", 303)


def _add_lesson(request: Request, values: dict[str, str]) -> Response:
    try:
        name = room_of(request).add_lesson(values.get("name", ""), values.get("text", ""))
    except StoreError:
        raise
    except StopError as error:
        return _overview(request, added={"name": "", "why": sentence_of(error)}, status=422)
    return RedirectResponse(f"/room?{urlencode({'added': name})}", 303)


def ended_by(  # noqa: PLR0911 - one line a button
    classroom: Classroom, values: dict[str, str]
) -> list[RoomSeat]:
    """Return the seats in which an act ends what their people are at, if they are at work."""
    seat = classroom.seat(number_of(values.get("seat", "")))
    match values.get("act", ""):
        case "step":
            return classroom.behind(number_of(values.get("step", "")))
        case "lesson" if values.get("lesson", "") in classroom.lessons():
            return classroom.seats
        case "reset" if not values.get("seat"):
            return classroom.seats
        case "swap" | "part":
            return [one for one in classroom.seats if classroom.pair_of(one)]
        case "pair" if values.get("seat") != values.get("server"):
            both = {number_of(values.get(name, "")) for name in ("seat", "server")}
            pairs = [one for one in classroom.record.pairs if both & {one.model, one.server}]
            return [one for one in classroom.seats if classroom.pair_of(one) in pairs]
        case "reset" | "remove" if seat is not None:
            return [seat]
        case _:
            return []


def _act(classroom: Classroom, values: dict[str, str]) -> None:  # noqa: C901, PLR0912 - one line a button
    number = number_of(values.get("seat", ""))
    seat = classroom.seat(number)
    meant = classroom.seats if not values.get("seat") else [seat] if seat is not None else []
    match values.get("act", ""):
        case "door":
            if values.get("state") in {one.value for one in DoorState}:
                classroom.set_door(DoorState(values["state"]))
        case "let in":
            classroom.let_in(number_of(values.get("knock", "")), number)
        case "let all in":
            for knock in [one for one in (*classroom.knocks.values(),) if not one.lost]:
                classroom.let_in(knock.number)  # who has had a seat is looked at one by one
        case "send away":
            classroom.send_away(number_of(values.get("knock", "")))
        case "hint":
            hint = values.get("hint", "").strip()[:LONGEST_HINT]
            for_each(meant, lambda one: one.give_hint(hint))
        case "lower" if seat is not None:
            seat.note(hand=0.0)
        case "wall":
            shown = _projected(seat, values)
            if shown:
                classroom.note(projected=shown)
        case "names":
            classroom.note(names_on_wall=values.get("on") == "yes")
        case "freeze":
            classroom.note(frozen=values.get("on") == "yes")
        case "step":
            step = number_of(values.get("step", ""))
            for_each(classroom.behind(step), lambda one: one.go_to(step))
        case "lesson":
            classroom.take_lesson(values.get("lesson", ""))
        case "remove" if seat is not None:
            classroom.remove([seat])
        case "remove idle":
            classroom.remove([one for one in classroom.seats if classroom.is_unused(one)])
        case "reset":
            for_each(meant, lambda one: one.practise(told="reset"))
        case "pair all":
            classroom.pair_all()
        case "swap":
            classroom.swap_pairs()
        case "part":
            classroom.part(meant)
        case "pair" if seat is not None:
            server = classroom.seat(number_of(values.get("server", "")))
            if server is not None:
                classroom.pair(seat, server)
        case "count down":
            minutes = min(number_of(values.get("minutes", "")), LONGEST_COUNT_DOWN)
            classroom.note(ends=classroom.clock() + minutes * 60 if minutes else 0.0)


@router.get("/room/seat/{number}")
def look_on(request: Request, number: int) -> Response:
    """Lead the teacher to a learner's desk: live, and read only until they take the pen."""
    classroom = room_of(request)
    if classroom.seat(number) is None:
        raise UnknownItemError(str(number))
    return entered(classroom, Visitor(RoomRole.WATCHER, number))


@router.get("/room/mistake/{code}")
def mistake(request: Request, code: str) -> HTMLResponse:
    """Explain a kind of mistake, and show in which seats it is."""
    classroom = room_of(request)
    found = {
        "now": [_card(classroom, one) for one in classroom.seats if code in one.codes],
        "stopped": [_card(classroom, one) for one in classroom.seats if code in one.stopped_codes],
        "sent": [_card(classroom, one) for one in classroom.seats if code in one.sent_codes],
    }
    return mistake_page(request, code, "classroom/room/mistake.html", seats=found)


@router.get("/room/export.zip")
def export(request: Request) -> Response:
    """Return a zip: a page for each seat, and a table of steps, tries and mistakes."""
    classroom = room_of(request)
    attached = {"Content-Disposition": f'attachment; filename="room-{classroom.record.name}.zip"'}
    packed = results.packed(classroom)
    return StreamingResponse(packed, media_type="application/zip", headers=attached)


@router.get("/room/seats.csv")
def table(request: Request) -> Response:
    text = results.table(room_of(request))
    attached = {"Content-Disposition": 'attachment; filename="seats.csv"'}
    return Response(text.encode("utf-8-sig"), media_type="text/csv", headers=attached)


def _projected(seat: RoomSeat | None, values: dict[str, str]) -> str:
    """Return what the projector is to show (`RoomRecord.projected`), "" if that is not there."""
    match values.get("show", ""):
        case "code" | "steps" as what:
            return what
        case "mistake" if mistakes.find_mistake(values.get("code", "")):
            return f"mistake {values['code']}"
        case "seat" if seat is not None:
            return f"seat {seat.record.number}"
        case "answer" if seat is not None and (item := seat.last_written) is not None:
            return f"answer {seat.record.number} {item.key.session} {item.key.number}"
        case _:
            return ""


@router.get("/login")
def join(request: Request, code: str = "") -> HTMLResponse:
    """Show the door. The QR code has the code in its address."""
    classroom = room_of(request)
    cookie = cookie_of(request.scope, classroom.address.cookie)
    visitor = classroom.door.who(login_of(login_path_of(request.scope), cookie))
    removed = visitor is not None and classroom.is_removed(visitor)
    return _door(request, code=code, why="removed" if removed else "")


def _door(
    request: Request, status: int = 200, *, code: str = "", name: str = "", why: str = ""
) -> HTMLResponse:
    classroom = room_of(request)
    locked = classroom.state is DoorState.LOCKED
    facts = {"code": code[:16], "sits": name, "why": why, "locked": locked, "most": LONGEST_NAME}
    return page(request, "classroom/room/join.html", status, around=None, sessions=(), **facts)


@router.post("/login")
def come_in(request: Request, values: FormValues) -> Response:
    """Swap the code for a seat, or for a place at the door; that of the teacher for their page."""
    classroom = room_of(request)
    typed, name = values.get("code", ""), visible(" ".join(values.get("name", "").split()))
    known = classroom.door.holder(typed)
    if known is not None and known.kind in {RoomRole.TEACHER, RoomRole.GUEST}:
        return entered(classroom, known)
    status, why = _refusal(request, typed, name)
    if status:
        return _door(request, status, code="" if why == "code" else typed, name=name, why=why)
    lost = bool(values.get("lost"))
    if lost or classroom.state is DoorState.KNOCKING:
        knock = classroom.knock(name, lost=lost)
        visitor = Visitor(RoomRole.KNOCKER, knock.number) if knock else None
    else:
        seat = classroom.join(name)
        visitor = Visitor(RoomRole.LEARNER, seat.record.number) if seat else None
    if visitor is None:
        return _door(request, 503, code=typed, name=name, why="full")
    return entered(classroom, visitor)


def _refusal(request: Request, typed: str, name: str) -> tuple[int, str]:
    """Return status and reason with which a person is not let in now; 0 for none."""
    classroom = room_of(request)
    address = request.client.host if request.client else "?"
    if classroom.state is DoorState.LOCKED:
        return 403, ""
    if not fits(typed, classroom.record.code):
        return 401, "code"
    if len(name) > LONGEST_NAME:
        return 422, "long"
    return (0, "") if classroom.door.joins.take(address) else (429, "busy")


@router.get("/waiting")
def waiting(request: Request) -> Response:
    """Show who knocks that they wait, and lead them to their seat as soon as they have one."""
    classroom, visitor = room_of(request), visitor_of(request)
    seat = classroom.granted.get(visitor.seat)
    if seat is not None:
        return entered(classroom, Visitor(RoomRole.LEARNER, seat))
    knock = classroom.knocks.get(visitor.seat)
    return page(request, "classroom/room/waiting.html", around=None, knock=knock, sessions=())


@router.get("/own")
def own(request: Request) -> Response:
    """Show a learner the links of their seat."""
    classroom, visitor = room_of(request), visitor_of(request)
    seat = classroom.seat(visitor.seat)
    if visitor.kind is not RoomRole.LEARNER or seat is None:
        return RedirectResponse("/", 303)
    return page(
        request,
        "classroom/room/own.html",
        link=classroom.link(seat.record.key),
        url=seat.desk.url,
        hosts=shown_snippets(request),
        standing=seat.standing,
    )


@router.get("/own/home")
def home(request: Request) -> Response:
    """Show what the person of a seat takes home."""
    classroom = room_of(request)
    seat = classroom.seat(visitor_of(request).seat)
    if seat is None:
        return RedirectResponse("/", 303)
    return page(request, "classroom/room/home.html", home=take_home(classroom, seat))


@router.get("/own/home.html")
def home_file(request: Request) -> Response:
    """Return the same as a file that needs no other."""
    classroom = room_of(request)
    seat = classroom.seat(visitor_of(request).seat)
    if seat is None:
        return RedirectResponse("/", 303)
    attached = {"Content-Disposition": 'attachment; filename="humanmcp.html"'}
    return HTMLResponse(as_file(classroom, seat), headers=attached)


@router.post("/own")
def act_in_seat(request: Request, values: FormValues) -> Response:
    """Raise a hand, repeat the lesson or a step; the teacher returns the pen here, too."""
    seat = room_of(request).seat(visitor_of(request).seat)
    if seat is None:
        return RedirectResponse("/", 303)
    match values.get("act", ""):
        case "raise":
            seat.raise_hand()
        case "lower":
            seat.note(hand=0.0)
        case "hand in" | "take back" as act:
            seat.hand_in(is_done=act == "hand in")
        case "hint read":
            seat.note(hint="", told="")
        case "lesson" if not seat.record.pen:
            lesson = values.get("lesson", "")
            if lesson in {"", *room_of(request).lessons()}:
                seat.take_lesson(lesson)
        case "begin" if not seat.record.pen:
            seat.begin(number_of(values.get("step", "")))
        case "take" | "give back" as act:
            seat.note(pen=act == "take")
    return RedirectResponse("/", 303)
