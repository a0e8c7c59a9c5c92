"""What a learner's own stub talks to: `POST …/events` up, `GET …/replies` down, for each session.

Plain HTTP: no proxy of a school holds back a request that ends. A `replies` without an answer ends
after 25 s. Everything but the inbox happens in the event loop.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from humanmcp.inbox import records
from humanmcp.inbox.contract import InboxError
from humanmcp.inbox.mirror import Mirror
from humanmcp.listening.bodies import Bodies, BodyError, stated_length

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from humanmcp.room.seat import RoomSeat

EVENTS: Final = "events"
REPLIES: Final = "replies"
POLL_FOR: Final = 25.0
AWAY_AFTER: Final = 60.0
_LOOK_EVERY: Final = 1.0
MOST_SESSIONS: Final = 50
"""Sessions of one seat that are linked at once."""


class _Link:
    """One session of one seat."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self.rung = asyncio.Event()
        self.has_bell = False
        self.seen = 0.0


class RoomLinks:
    """The sessions that stubs elsewhere hold."""

    def __init__(self) -> None:
        """Begin with none."""
        self._links: dict[tuple[int, str], _Link] = {}
        self._bodies = Bodies()

    async def serve(
        self, seat: RoomSeat, what: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer one request of a stub."""
        try:
            answer = await self._answer(seat, what, scope, receive)
        except (records.UnreadableError, ValueError, KeyError, TypeError, BodyError):
            answer = Response(status_code=400)
        except InboxError:
            answer = Response(status_code=409)
        except ClientDisconnect:
            return
        await answer(scope, receive, send)

    async def _answer(self, seat: RoomSeat, what: str, scope: Scope, receive: Receive) -> Response:
        if what == EVENTS and scope["method"] == "POST":
            with self._bodies.coming(receive, "", stated_length(scope)) as body:
                record = records.decode(await Request(scope, body.receive).body())
            link = self._link(seat, str(record["session"]))
            await run_in_threadpool(link.mirror.take_in, record)
            return await self._state(link)
        if what == REPLIES and scope["method"] == "GET":
            asked = Request(scope).query_params
            link = self._link(seat, asked["session"])
            return await self._replies(link, int(asked.get("after", "0")), asked.get("boot", ""))
        return Response(status_code=405)

    def _link(self, seat: RoomSeat, session: str) -> _Link:
        key = seat.record.number, session
        link = self._links.get(key)
        if link is None:
            if sum(number == key[0] for number, _ in self._links) >= MOST_SESSIONS:
                raise ValueError(session)
            link = self._links[key] = _Link(Mirror(seat.inbox, session))
        link.seen = asyncio.get_running_loop().time()
        return link

    async def _state(self, link: _Link) -> Response:
        last = await run_in_threadpool(lambda: link.mirror.last)
        return JSONResponse({"seq": last, "boot": link.mirror.boot})

    async def _replies(self, link: _Link, after: int, boot: str) -> Response:
        loop = asyncio.get_running_loop()
        until = loop.time() + POLL_FOR
        if not link.has_bell:
            ring = link.rung.set
            link.has_bell = await run_in_threadpool(
                link.mirror.listen, lambda: loop.call_soon_threadsafe(ring)
            )
        while True:
            link.rung.clear()
            count, sent = await run_in_threadpool(link.mirror.sent, after, boot)
            left = until - loop.time()
            if sent or left <= 0:
                break
            pause = left if link.has_bell else min(left, _LOOK_EVERY)
            try:
                await asyncio.wait_for(link.rung.wait(), pause)
            except TimeoutError:
                continue
        link.seen = loop.time()
        record = {"after": count, "boot": link.mirror.boot, "sent": sent}
        return Response(records.encode(record), media_type="application/json")

    async def leave_the_silent(self) -> None:
        """Show as gone what nothing was heard of, for as long as the room is open."""
        while True:
            await asyncio.sleep(AWAY_AFTER / 4)
            now = asyncio.get_running_loop().time()
            for key in [one for one, link in self._links.items() if now - link.seen > AWAY_AFTER]:
                await run_in_threadpool(self._links.pop(key).mirror.leave)
