"""What a learner's own host talks to: the HTTP server of each seat, made when first wanted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from starlette.responses import PlainTextResponse

from humanmcp.locales import say
from humanmcp.protocol.http.inbound import PATH, HttpAddress
from humanmcp.protocol.rules.answer_book import Mode
from humanmcp.server.http.app import HttpApp
from humanmcp.server.http.sessions import HttpSessions

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from humanmcp.inbox.contract import SessionFacts
    from humanmcp.room.classroom import Classroom
    from humanmcp.room.seat import RoomSeat
    from humanmcp.server.http.connection import HttpConnection
    from humanmcp.server.session import ServedSession

MCP: Final = PATH.removeprefix("/")


class HostSeats:
    """The endpoints below the links of seats. Everything happens in the event loop."""

    def __init__(self, classroom: Classroom) -> None:
        """Serve the seats of a room."""
        self._classroom = classroom
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: dict[int, tuple[HttpApp, HttpSessions, asyncio.Task[None]]] = {}

    async def serve(
        self, number: int, what: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer a request to the endpoint of a seat."""
        seat = self._classroom.seat(number)
        if seat is None or what != MCP:
            await PlainTextResponse(say("http", "path", "en"), 404)(scope, receive, send)
            return
        app, _, _ = self._of(seat)
        await app({**scope, "path": PATH}, receive, send)

    async def go_on(self) -> None:
        """Go on with the sessions of the process before this one: their hosts come back."""
        self._loop = asyncio.get_running_loop()
        port = self._classroom.address.port
        for seat in self._classroom.seats:
            left = list(seat.inbox.orphaned_sessions(port))
            if left:
                _, sessions, _ = self._of(seat)
                await sessions.go_on(left)

    def _of(self, seat: RoomSeat) -> tuple[HttpApp, HttpSessions, asyncio.Task[None]]:
        number = seat.record.number
        if number not in self._open:
            self._open[number] = self._made(seat)
        return self._open[number]

    def _made(self, seat: RoomSeat) -> tuple[HttpApp, HttpSessions, asyncio.Task[None]]:
        def make(connection: HttpConnection, facts: SessionFacts) -> ServedSession:
            return seat.maker(Mode.NORMAL).session(connection, seat.inbox, facts=facts)

        classroom = self._classroom
        sessions = HttpSessions(make, classroom.attendant, seat.inbox, classroom.address.port)
        own = classroom.address
        address = HttpAddress("", own.port, is_open=True, names=own.names, outside=own.outside)
        silence = asyncio.ensure_future(sessions.end_the_silent())
        return HttpApp(sessions, address), sessions, silence

    def remove(self, number: int) -> None:
        """End the endpoint of a seat that was taken away. Callable from any thread."""
        if number in self._open and self._loop is not None:
            self._loop.call_soon_threadsafe(self._end, number)

    def _end(self, number: int) -> None:
        _, sessions, silence = self._open.pop(number)
        silence.cancel()
        sessions.close()

    def close(self) -> None:
        """End every stream: the server is about to end."""
        for _, sessions, silence in self._open.values():
            silence.cancel()
            sessions.close()
