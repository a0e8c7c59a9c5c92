"""The rights of a room's visitors, each tried with every page, call and button."""

import re
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from humanmcp.desk import rights
from humanmcp.extensions.classroom.room import pages, wall
from humanmcp.extensions.classroom.room.records import RoomRole
from tests.support.rights import acts_of, asked, encoded, endpoints, is_tried, said_in_words, tries
from tests.support.room_process import Rooming, Visitor
from tests.support.routes import DESK
from tests.support.serve_http import Got

ROOM: Final = {
    key: one for key, one in {**pages.RIGHTS, **wall.RIGHTS}.items() if "/login" not in key
}
"""What needs a seat, or a place at the door."""


def test_the_acts_of_the_room_were_collected() -> None:
    """The search in the source finds them: else nothing would miss an entry."""
    functions = endpoints((pages.router,))
    for route in ("POST /room", "POST /own"):
        assert set(ROOM[route].acts) == acts_of(functions[route]), route


class Seat:
    """A visitor of a room, as the browsers of the desk are."""

    def __init__(self, visitor: Visitor) -> None:
        """Be this visitor."""
        self._visitor = visitor

    def get(self, path: str) -> Got:
        """Read."""
        return self._visitor.get(path)

    def post(self, path: str, record: object) -> Got:
        """Send a form, or make a call."""
        kind, body = encoded(path, record)
        own = f"http://127.0.0.1:{self._visitor.port}"
        headers = {"Content-Type": kind, "Origin": own}
        return self._visitor.ask("POST", self._visitor.login_path + path, body, headers)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooming]:
    """A room with one seat."""
    with Rooming(tmp_path_factory.mktemp("rights") / "home") as opened:
        opened.learner("Ann")
        yield opened


def watcher(room: Rooming) -> Visitor:
    """Return the teacher at a seat, in control of it."""
    teacher = room.teacher()
    seat = re.search(r"/room/seat/(\d+)", teacher.get("/room").text)
    assert seat
    looking = room.visitor()
    looking.cookies = teacher.cookies
    looking.led_by(teacher.get(f"/room/seat/{seat[1]}"))
    looking.cookies = {**looking.cookies, **teacher.cookies}
    looking.submit("/own", act="take")
    return looking


PEOPLE: Final[dict[RoomRole, Callable[[Rooming], Visitor]]] = {
    RoomRole.LEARNER: lambda room: room.learner("Ben"),
    RoomRole.GUEST: lambda room: room.visitor().follow(room.wall_link),
    RoomRole.KNOCKER: lambda room: room.visitor().join(room.code, "x", lost="yes"),
    RoomRole.TEACHER: lambda room: room.teacher(),
    RoomRole.WATCHER: watcher,
}


@pytest.mark.parametrize("who", PEOPLE, ids=str)
def test_a_room_lets_everybody_do_what_the_table_says(room: Rooming, who: RoomRole) -> None:
    """A device, an owner and a script are no visitors of a room."""
    visitor = Seat(PEOPLE[who](room))
    desk_only = {"/devices", "/logout", "/api/login-key", "/worker.js", "/offline"}
    for method, path, act, allowed in (*tries(ROOM, who, "x"), *tries(DESK, who.who, "x")):
        if (
            path in {*desk_only, "/login", "/manifest.webmanifest"}
            or act in ("give back", "door")
            or (allowed and not is_tried(method, path, act))
        ):
            continue
        got = asked(visitor, method, path, act)
        if got.status == 303 and path == "/":
            continue  # the door of the room
        assert (got.status == 403) != allowed, (method, path, act, got.status)
        assert got.status not in (401, 500), (method, path, act)
        if not allowed:
            assert said_in_words(path, got), (path, got.text)


def test_who_has_no_desk_can_do_nothing_there() -> None:
    """The projector is told of changes; who knocks is told nothing."""
    of_desk = {key for key, one in DESK.items() if rights.Who.STRANGER not in one.who}
    may = {
        who: {key for key in of_desk if DESK[key].who & who.who}
        for who in (RoomRole.GUEST, RoomRole.KNOCKER)
    }
    preferences = "POST /preferences"
    assert may[RoomRole.GUEST] == {"GET /api/state", "GET /api/events", preferences}
    assert may[RoomRole.KNOCKER] == {preferences}


def test_a_form_of_buttons_is_small_for_everybody_in_a_room() -> None:
    """Only a lesson's file is larger."""
    sizes = {key: one.largest(RoomRole.LEARNER.who) for key, one in ROOM.items()}
    assert {key for key, size in sizes.items() if size > rights.BUTTONS} == {"POST /room"}
