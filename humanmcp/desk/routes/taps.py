"""The page of the taps: what each is to hold, what it holds, and how long others have waited."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering import service
from humanmcp.desk.http.context import BY, Desk, desk_of
from humanmcp.desk.http.layout import form_values, note_version, page
from humanmcp.desk.presenters.rows import Row, row
from humanmcp.desk.state.board import SessionView
from humanmcp.inbox.contract import Action, Life, Purpose, Reply, Seat
from humanmcp.protocol.policy.hold_patterns import PatternError, parse_all

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])

LONGEST: Final = 2000
"""Characters of the patterns that are read."""


@dataclass(frozen=True, slots=True)
class TapView:
    """A running tap as its page shows it."""

    session: SessionView
    patterns: tuple[str, ...]
    held: tuple[Row, ...]


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
    held = (item for item in desk.inbox.items(name) if item.purpose is Purpose.PASS)
    rows = tuple(row(item, session.badge) for item in held)
    return TapView(session, tuple(desk.inbox.holds(name)), rows)


@router.post("/taps/{name}")
async def act(request: Request, name: str) -> Response:
    """Return what a tap is to hold from now on, or let everything go that it holds."""
    values = await form_values(request)
    return await run_in_threadpool(_act, desk_of(request), name, values)


def _act(desk: Desk, name: str, values: dict[str, str]) -> Response:
    if values.get("act") == "release":
        _let_all_go(desk, name)
    else:
        patterns = values.get("patterns", "")[:LONGEST].split()
        try:
            parse_all(patterns)
        except PatternError:
            return RedirectResponse("/taps?wrong=1", 303)
        desk.inbox.hold(name, patterns)
    return RedirectResponse("/taps", 303)


def _let_all_go(desk: Desk, name: str) -> None:
    for item in desk.inbox.items(name):
        if item.purpose is Purpose.PASS:
            reply = Reply(item.line, by=BY, action=Action.PASS)
            service.send(desk.case(item.key), reply, within=0)
    desk.board.refresh(name, 0)
