"""The room as an ASGI application: which desk a request is for, and what a role may do there.

The desk's pages and calls are used as they are. Between the guard, who knows the visitor, and them
is `Roles`: it selects the desk of the visitor's seat, so that no address leads to another. A
learner's own host talks to the HTTP server of the seat, which is started on the first request.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse

from humanmcp.desk import app as desk_app
from humanmcp.desk.app import CALLS
from humanmcp.desk.devices import login_page
from humanmcp.desk.guard import WRONG_HOST, wrong_host
from humanmcp.desk.rendering import render
from humanmcp.desk.rights import Who
from humanmcp.extensions.classroom.room import pages, wall
from humanmcp.extensions.classroom.room.pages import entered
from humanmcp.extensions.classroom.room.records import RoomRole, Visitor
from humanmcp.http.front import HttpApp
from humanmcp.locales import say
from humanmcp.protocol.answer_book.decide import Mode
from humanmcp.protocol.http.inbound import HttpAddress
from humanmcp.protocol.http.outbound import PATH
from humanmcp.server.http.sessions import HttpSession, HttpSessions

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from humanmcp.extensions.classroom.room.classroom import Classroom
    from humanmcp.extensions.classroom.room.seat import RoomSeat
    from humanmcp.inbox.contract import SessionFacts
    from humanmcp.server.http.connection import HttpConnection
    from humanmcp.server.session import ServedSession


OPEN: Final = ("classroom", "room.open")
_ROUTERS: Final = (
    *(one for one in CALLS if one is not login_page.calls),
    *(one for one in desk_app.PAGES if one is not login_page.router),
    *(pages.router, wall.router),
)


def make_app(classroom: Classroom, hosts: HostSeats) -> ASGIApp:
    """Return the room as an ASGI application, guarded."""
    desk = classroom.teacher.desk
    pages = desk_app.make_pages(desk, _ROUTERS)
    pages.state.room = classroom
    guarded = desk_app.guarded(Roles(pages, classroom), desk, "classroom/room/outside.html", OPEN)
    return desk_app.Speaking(Entrance(guarded, classroom, hosts), desk.language)


class Entrance:
    """Handles requests before the login: the front door, and links with a key."""

    def __init__(self, app: ASGIApp, classroom: Classroom, hosts: HostSeats) -> None:
        """Wrap the guarded application."""
        self._app = app
        self._classroom = classroom
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if path == "/":
            query = scope.get("query_string", b"").decode("latin-1")
            answer = RedirectResponse(f"/login?{query}" if query else "/login", 303)
            await answer(scope, receive, send)
        elif path.startswith("/s/"):
            await self._by_key(path.removeprefix("/s/"), scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _by_key(self, rest: str, scope: Scope, receive: Receive, send: Send) -> None:
        if wrong_host(scope["headers"], self._classroom.address) is not None:
            why = desk_app.refusal_sentence(OPEN, WRONG_HOST.code)
            await PlainTextResponse(why, WRONG_HOST.status)(scope, receive, send)
            return
        key, _, what = rest.partition("/")
        visitor = self._classroom.door.holder(key)
        if visitor is None or (what and visitor.kind is not RoomRole.LEARNER):
            answer = HTMLResponse(render("classroom/room/outside.html"), 404)
            await answer(scope, receive, send)
        elif self._classroom.is_removed(visitor) and not what:
            why = say("classroom", "room.why.removed")
            answer = HTMLResponse(render("classroom/room/outside.html", why=why), 404)
            await answer(scope, receive, send)
        elif what:
            await self._hosts.serve(visitor.seat, what, scope, receive, send)
        else:
            await entered(self._classroom, visitor)(scope, receive, send)


class Roles:
    """Selects the desk of a visitor's seat, and says who they are (`rights.TABLE`)."""

    def __init__(self, app: ASGIApp, classroom: Classroom) -> None:
        """Wrap the pages."""
        self._app = app
        self._classroom = classroom

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request to its desk."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state: dict[str, Any] = scope.setdefault("state", {})
        visitor = self._classroom.door.who(state.get("login", ""))
        state["who"] = Who.STRANGER if visitor is None else visitor.kind.who
        if visitor is not None:
            seat = self._classroom.seat_of(visitor)
            if seat is None and visitor.kind is RoomRole.LEARNER:
                await _to_the_door(scope)(scope, receive, send)
                return
            state["visitor"], state["role"] = visitor, visitor.kind
            state["halted"] = self._halted(visitor)
            if seat is not None:
                watching = visitor.kind is RoomRole.WATCHER
                state["desk"] = seat.watched if watching else seat.desk
                state["looks_on"] = watching is not seat.record.pen
                if visitor.kind is RoomRole.LEARNER and scope["method"] == "POST":
                    seat.active_at = self._classroom.door.clock()
        await self._app(scope, receive, send)

    def _halted(self, visitor: Visitor) -> tuple[str, str] | None:
        """Return the sentence of why a visitor cannot write now; None if they can."""
        code = self._why_halted(visitor)
        return ("room", code) if code else None

    def _why_halted(self, visitor: Visitor) -> str:
        seat = self._classroom.seat(visitor.seat)
        match visitor.kind:
            case RoomRole.WATCHER if seat is not None and not seat.record.pen:
                return "only looking"
            case RoomRole.LEARNER if seat is not None and seat.record.pen:
                return "pen"
            case RoomRole.LEARNER if self._classroom.record.frozen:
                return "frozen"
            case _:
                return ""


def _to_the_door(scope: Scope) -> Response:
    """Lead who was in a seat that was removed to where it is said."""
    if scope["path"].startswith("/api/"):
        return JSONResponse({"detail": say("classroom", "room.why.removed")}, 401)
    return RedirectResponse("/login", 303)


# -- the endpoints of seats, for learners' hosts -------------------------------------------------


MCP: Final = PATH.removeprefix("/")


class HostSeats:
    """The endpoints below the links of seats. Everything happens in the event loop."""

    def __init__(self, classroom: Classroom) -> None:
        """Serve the seats of a room."""
        self._classroom = classroom
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: dict[int, tuple[HttpApp[HttpSession], HttpSessions]] = {}

    async def serve(
        self, number: int, what: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer a request to the endpoint of a seat."""
        seat = self._classroom.seat(number)
        if seat is None or what != MCP:
            await PlainTextResponse(say("http", "path", "en"), 404)(scope, receive, send)
            return
        app, _ = self._of(seat)
        await app({**scope, "path": PATH}, receive, send)

    async def go_on(self) -> None:
        """Continue the sessions of the previous process, whose hosts come back."""
        self._loop = asyncio.get_running_loop()
        at = str(self._classroom.address.port)
        for seat in self._classroom.seats:
            left = list(seat.inbox.orphaned_sessions(at))
            if left:
                _, sessions = self._of(seat)
                await sessions.go_on(left)

    def _of(self, seat: RoomSeat) -> tuple[HttpApp[HttpSession], HttpSessions]:
        number = seat.record.number
        if number not in self._open:
            self._open[number] = self._made(seat)
        return self._open[number]

    def _made(self, seat: RoomSeat) -> tuple[HttpApp[HttpSession], HttpSessions]:
        def make(connection: HttpConnection, facts: SessionFacts) -> ServedSession:
            return seat.maker(Mode.NORMAL).session(connection, seat.inbox, facts=facts)

        classroom = self._classroom
        sessions = HttpSessions(make, classroom.attendant, seat.inbox, str(classroom.address.port))
        own = classroom.address
        address = HttpAddress("", own.port, is_open=True, names=own.names, outside=own.outside)
        return HttpApp(sessions, address), sessions

    def remove(self, number: int) -> None:
        """End the endpoint of a seat that was taken away. Callable from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._end, number)

    def _end(self, number: int) -> None:
        if found := self._open.pop(number, None):
            found[1].close()

    def close(self) -> None:
        for _, sessions in self._open.values():
            sessions.close()
