"""The event stream: tell a page what changed on the board, without the content."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from starlette.responses import StreamingResponse

from humanmcp.answering.schema import TypedDict

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Message, Receive, Scope, Send

    from humanmcp.desk.board import Board, BoardChange
    from humanmcp.desk.login import Door

PING_EVERY: Final = 2.0
"""The seconds between events that show that the desk runs; after 4.5 s it is not "live"."""

SEND_WITHIN: Final = 10.0
"""The seconds that a reader may leave data unread before the stream ends; it may reconnect."""

LOOK_EVERY: Final = 1.0
"""The seconds after which a stream checks that its login session has not ended."""

MOST: Final = 64
"""The maximum number of streams. A browser uses one for all its tabs."""


class Live:
    """Wakes the streams when the board changes, and ends them when the desk ends."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.streams = 0
        self.ending = False
        self._news = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        board.listen(self._changed)

    def end(self) -> None:
        """End every stream: uvicorn would wait for them. Can be called from any thread."""
        self.ending = True
        self._changed()

    def _changed(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def wait(self, version: int, within: float) -> None:
        """Wait until the board has a newer version, the desk ends, or the time is over."""
        self._loop = asyncio.get_running_loop()  # first, so that a change from now on wakes us
        if self.ending or self.board.version != version:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), within)


_SAYS_LESS: Final = {("arrived", "changed"), ("session", "lines")}
"""Pairs of changes of which the later one says less than the earlier one."""


class ChangeShape(TypedDict, total=False):
    """What changed: `arrived`, `changed`, `closed`, `session`, `lines`, `everything`.

    `lines`: a line was sent or received; `everything` names no exchange. Number 0 is a session.
    """

    what: str
    session: str
    number: int


def report(changes: tuple[BoardChange, ...] | None) -> list[ChangeShape]:
    """Return the changes as the page reads them; each changed exchange once."""
    if changes is None:
        return [{"what": "everything"}]
    latest: dict[tuple[str, int], BoardChange] = {}
    for change in changes:
        key = (change.session, change.number)
        before = latest.pop(key, None)
        if before is not None and (before.what, change.what) in _SAYS_LESS:
            change = before  # noqa: PLW2901 - to a page that saw neither, it still arrived
        latest[key] = change
    return [
        {"what": change.what, "session": change.session, "number": change.number}
        for change in latest.values()
    ]


class EventStream(StreamingResponse):
    """The response to GET /api/events."""

    media_type = "text/event-stream"

    def __init__(self, live: Live, door: Door, *, login: str, after: int) -> None:
        """Report the changes after number `after`; -1: from now on."""
        super().__init__(self._events(), headers={"X-Accel-Buffering": "no"})
        self._live = live
        self._door = door
        self._login = login
        self._after = live.board.version if after < 0 else after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write events until the reader, the login session or the desk ends."""

        async def send_in_time(message: Message) -> None:
            await asyncio.wait_for(send(message), SEND_WITHIN)

        self._live.streams += 1
        try:
            with suppress(TimeoutError):
                await super().__call__(scope, receive, send_in_time)
        finally:
            self._live.streams -= 1

    async def _events(self) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        # The browser's waiting time before it reconnects, in milliseconds; then the first number.
        version = self._after
        yield f"retry: 1000\nid: {version}\nevent: hello\ndata: {{}}\n\n"
        last = loop.time()
        while not (self._live.ending or (self._login and not self._door.still_in(self._login))):
            self._live.board.look_away()
            now = self._live.board.version
            if now != version:
                yield _event(now, report(self._live.board.since(version)))
                version, last = now, loop.time()
            elif loop.time() - last >= PING_EVERY:
                yield "event: ping\ndata: {}\n\n"
                last = loop.time()
            await self._live.wait(version, LOOK_EVERY)
        yield "event: bye\ndata: {}\n\n"


def _event(version: int, changes: list[ChangeShape]) -> str:
    record = json.dumps({"version": version, "changes": changes}, separators=(",", ":"))
    return f"id: {version}\nevent: change\ndata: {record}\n\n"
