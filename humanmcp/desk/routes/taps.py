"""The page of the taps: what each is to hold, what it holds, and how long others have waited."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering import service
from humanmcp.answering.case import read_line
from humanmcp.answering.summary import Row, row
from humanmcp.desk.http.context import BY, Desk, desk_of
from humanmcp.desk.http.layout import FormValues, note_version, page
from humanmcp.desk.state.board import SessionView
from humanmcp.inbox.contract import Action, Life, Purpose, Reply, Seat
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.rules.hold_patterns import PatternError, parse_all

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])

LONGEST: Final = 2000
"""Characters of the patterns that are read."""


WAYS: Final = ("in", "out")
"""From the client, from the server."""
OFTEN: Final = dict.fromkeys(("tools/call", "tools/list", "initialize"))
LOOKED_AT: Final = 300
"""Lines in which it is looked for methods that may be held."""
MOST: Final = 12


@dataclass(frozen=True, slots=True)
class TapView:
    """A running tap as its page shows it."""

    session: SessionView
    patterns: tuple[str, ...]
    held: tuple[Row, ...]
    methods: tuple[str, ...]
    """Those that have a check box for each way: what was said, and what is often held."""

    @property
    def others(self) -> tuple[str, ...]:
        """The patterns that have no check box."""
        boxes = {f"{way}:{method}" for way in WAYS for method in self.methods} | {*WAYS, "next"}
        return tuple(one for one in self.patterns if one not in boxes)


@router.get("/taps")
def taps(request: Request, wrong: str = "") -> HTMLResponse:
    """Show every running tap."""
    desk = desk_of(request)
    running = [_view(desk, session) for session in desk.board.sessions() if _runs(session)]
    return page(request, "taps.html", taps=running, wrong=wrong[:200])


def _runs(session: SessionView) -> bool:
    return session.facts.seat is Seat.TAP and session.facts.life is Life.OPEN


def _view(desk: Desk, session: SessionView) -> TapView:
    name = session.facts.name
    held = (item for item in desk.inbox.items(name) if item.purpose is Purpose.HELD)
    rows = tuple(row(item, session.badge) for item in held)
    patterns = tuple(desk.inbox.holds(name))
    said = [
        read_line(one.text) for one in desk.inbox.last_frames_before(name, 0, LOOKED_AT) if one.raw
    ]
    seen = {one.method: None for one in said if isinstance(one, Message) and one.method}
    named = {one.partition(":")[2]: None for one in patterns if one.startswith(("in:", "out:"))}
    methods = tuple(one for one in {**OFTEN, **seen, **named} if "/" in one or one in OFTEN)
    return TapView(session, patterns, rows, methods[:MOST])


@router.post("/taps/{name}")
def act(request: Request, name: str, values: FormValues) -> Response:
    """Return what a tap is to hold from now on, or let everything go that it holds."""
    desk = desk_of(request)
    if values.get("act") == "release":
        _let_all_go(desk, name)
    else:
        boxes = [name.removeprefix("hold ") for name in values if name.startswith("hold ")]
        patterns = [*boxes, *values.get("patterns", "")[:LONGEST].split()]
        try:
            parse_all(patterns)
        except PatternError:
            return RedirectResponse("/taps?wrong=1", 303)
        desk.inbox.hold(name, patterns)
    return RedirectResponse("/taps", 303)


def _let_all_go(desk: Desk, name: str) -> None:
    for item in desk.inbox.items(name):
        if item.purpose is Purpose.HELD:
            reply = Reply(item.line, by=BY, action=Action.FORWARD)
            service.send(desk.case(item.key), reply, within=0)
    desk.board.refresh(name, 0)
