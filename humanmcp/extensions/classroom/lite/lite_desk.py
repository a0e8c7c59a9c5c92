"""One learner's page in their own browser, where Python runs in a worker and nothing else does.

It is a seat of a room without the room: `web/lite/worker.mjs` hands over the requests of the page,
and calls `turn` for all that happens otherwise. There are no threads: whatever waits takes a turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import time
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio.to_thread

from humanmcp.common.settings import make_private
from humanmcp.desk import app as desk_app
from humanmcp.desk.board import Board
from humanmcp.desk.devices import login_page
from humanmcp.desk.guard import Address
from humanmcp.desk.login import parts_of
from humanmcp.desk.moments import Around, Place
from humanmcp.desk.rendering import language_of
from humanmcp.extensions.classroom.demo.beside import around_shown
from humanmcp.extensions.classroom.demo.lesson import WEATHER, find_lesson
from humanmcp.extensions.classroom.lite.pages import lessons, router, title_of
from humanmcp.extensions.classroom.room import records
from humanmcp.extensions.classroom.room.clock import RoomClock
from humanmcp.extensions.classroom.room.records import RoomDoor, RoomRole, SeatRecord, Visitor
from humanmcp.extensions.classroom.room.seat import RoomSeat, SeatParts
from humanmcp.inbox import open_inbox
from humanmcp.inbox.atomic import write_private
from humanmcp.inbox.attendant import Attendant
from humanmcp.locales import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Headers = Sequence[tuple[str, str]]

COOKIES: Final = "cookies.json"
MOST_TURNS: Final = 1_000
"""Turns at once; what is left is done at the next call."""
ELSEWHERE: Final = frozenset({"/connect", "/devices", "/settings"})
"""The pages of a computer: here, they lead to the lessons."""
_HOST: Final = "127.0.0.1"
_LINK: Final = re.compile(rb'(\s(?:href|action|formaction|src|data-editor)=")(?=/(?:~|static/))')
# Templates escape all values: an address stands in an attribute and nowhere else.
_KEPT: Final[tuple[str, ...]] = ("accept", "content-type", "draft", "last-event-id")
"""The headers that the page itself sets. A service worker does not see those of the browser."""


async def run_here(function: Callable[..., Any], *given: Any, **_options: Any) -> Any:  # noqa: ANN401 - any function
    """Run what a server runs in another thread."""
    return function(*given)


if sys.platform == "emscripten":
    anyio.to_thread.run_sync = run_here  # it has none

ROUTERS: Final = (
    *(one for one in desk_app.CALLS if one is not login_page.calls),
    *(one for one in desk_app.PAGES if one is not login_page.router),
    router,
)


@dataclass
class SteppedBoard(Board):
    """A board whose waiting lets everything else happen."""

    turn: Callable[[], object] = field(default=lambda: None)

    def wait(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.01))
        self.turn()


class AsLearner:
    """Says that every request is the learner's, behind the guard."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = scope.setdefault("state", {})
        state["role"], state["who"] = RoomRole.LEARNER, RoomRole.LEARNER.who
        await self._app(scope, receive, send)


class LiteDesk:
    """The page and all that is behind it. `folder` is kept, `address` is where the page is."""

    def __init__(self, folder: Path, address: str, accepted: str) -> None:
        """Go on where the learner was; `accepted` are the languages of the browser."""
        self._file = make_private(folder) / COOKIES
        self._base, self._accepted = urlsplit(address).path.rstrip("/"), accepted
        self._cookies: dict[str, str] = {}
        with contextlib.suppress(OSError, ValueError):
            self._cookies = json.loads(self._file.read_text(encoding="utf-8"))
        self._attendant, clock = Attendant(), RoomClock(folder / records.CLOCK_FILE)
        self._attendant.attend(clock)
        door = RoomDoor()
        kept = records.read(folder / records.SEAT_FILE, SeatRecord)
        record = kept or SeatRecord(1, lesson=WEATHER)
        visitor = Visitor(RoomRole.LEARNER, record.number)
        door.admit(visitor, record.key)
        self.path, cookie = parts_of(records.login(visitor, record.key))
        desk_address = Address(80, (_HOST,))
        self._cookies[desk_address.cookie] = cookie
        parts = SeatParts(
            door=door,
            clock=clock,
            address=desk_address,
            language=language_of("", self._cookies.get("lang", ""), accepted),
            attendant=self._attendant,
            lesson_steps=lambda lesson, language: find_lesson(lesson or WEATHER)(language),
            lesson=lambda seat: seat.lesson or WEATHER,
            changed=lambda _seat: None,
            around=lambda seat, request: around(seat, request, address),
            url=lambda _seat: "",
            inbox=open_inbox,
            board=lambda inbox: SteppedBoard(inbox, turn=self.turn),
        )
        self.seat = RoomSeat(record, folder, parts)
        self._gone: dict[int, asyncio.Event] = {}
        pages = desk_app.make_pages(self.seat.desk, ROUTERS)
        pages.state.seat = self.seat
        self._app = desk_app.Speaking(desk_app.guarded(AsLearner(pages), self.seat.desk), "")
        self.seat.go_on()
        self.turn()

    def turn(self) -> None:
        """Do what has come up for the session and its practice host."""
        for _ in range(MOST_TURNS):
            now = time.monotonic()
            due = self._attendant.turn(now)
            if due > now and not self.seat.gives:
                break
            time.sleep(max(0.0, min(due - now, 0.02)))
        self.seat.board.refresh_all()

    def leave(self, number: int) -> None:
        """Note that nobody reads the answer to this request any more."""
        if number in self._gone:
            self._gone[number].set()

    async def answer(  # noqa: PLR0913, PLR0917 - a request, and where its answer goes
        self,
        number: int,
        method: str,
        target: str,
        headers: Headers,
        body: bytes,
        post: Callable[[int, int, list[tuple[str, str]], bytes, bool], object],
    ) -> None:
        """Answer a request piece by piece: `post` gets its number, status, headers, bytes, more."""
        path, _, query = target.partition("?")
        if path.removeprefix(self.path) in ELSEWHERE:
            here = [("location", f"{self._base}{self.path}/own")]
            post(number, 303, here, b"", False)  # noqa: FBT003 - as the worker's
            return
        gone = self._gone[number] = asyncio.Event()
        sent = {key.lower(): value for key, value in headers}
        known = {name: sent[name] for name in _KEPT if name in sent}
        known |= {"host": _HOST, "accept-language": self._accepted, "cookie": self._cookie()}
        if method == "POST":
            known |= {"origin": f"http://{_HOST}", "content-length": str(len(body))}
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in known.items()],
            "client": (_HOST, 1),
            "server": (_HOST, 80),
        }
        is_read = False
        status, answered = 500, list[tuple[str, str]]()

        async def receive() -> Message:
            nonlocal is_read
            if is_read:
                await gone.wait()
                return {"type": "http.disconnect"}
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status, answered
            if message["type"] == "http.response.start":
                status, answered = message["status"], self._headers(message["headers"])
                return
            content, more = message.get("body", b""), message.get("more_body", False)
            if dict(answered).get("content-type", "").startswith("text/html"):
                content = self._placed(content)
            post(number, status, answered, content, more)

        try:
            await self._app(scope, receive, send)
        finally:
            del self._gone[number]
        self.turn()

    def _cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self._cookies.items())

    def _headers(self, headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
        """Keep the cookies; let the page stand in the frame of its shell, below its address."""
        kept = []
        for raw_name, raw in headers:
            name, value = raw_name.decode().lower(), raw.decode("latin-1")
            if name == "set-cookie":
                self._keep(value)
            elif name == "location":
                kept.append((name, self._base + value if value.startswith("/") else value))
            elif name not in {"content-length", "x-frame-options"}:
                kept.append(
                    (name, value.replace("frame-ancestors 'none'", "frame-ancestors 'self'"))
                )
        return kept

    def _keep(self, cookie: str) -> None:
        with contextlib.suppress(CookieError):
            for name, found in SimpleCookie(cookie).items():
                self._cookies[name] = found.coded_value
        write_private(self._file, json.dumps(self._cookies))

    def _placed(self, page: bytes) -> bytes:
        """Return a page with its links below the address of the site's folder."""
        return page if not self._base else _LINK.sub(rb"\g<1>" + self._base.encode(), page)


def around(seat: RoomSeat, request: Request, address: str) -> Around:
    """Return what the pages of a seat without a room show of one."""
    names, now = lessons(), seat.record.lesson
    later = names[names.index(now) + 1 :][:1] if now in names else []
    values = {
        **dict.fromkeys(("called", "hint", "told", "own_lesson", "hand", "handed_in"), ""),
        **dict.fromkeys(("pen", "pair", "frozen", "looks_on"), 0),
        **dict.fromkeys(("knocks", "draft", "opened", "ends"), 0),
        "role": "learner",
        "lesson": now,
        "next_lesson": next(((one, title_of(one)) for one in later), None),
        "shell": address,
    }
    title = say("classroom", "lite.title")
    return Around(
        title=title,
        kind="learner",
        shown=around_shown(values, request.scope["path"]),
        places=(Place("/check", say("desk", "checked.title")), Place("/own", title)),
        is_own=True,
        invites=say("classroom", "room.tap"),
        goes_on=say("classroom", "room.opened.go"),
        more=values,
    )
