"""The settings as a page: where everything stands, how long clients wait, and old sessions."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.desk.auth.visit_path import SEAT
from humanmcp.desk.http.context import Desk, desk_of
from humanmcp.desk.http.layout import form_values, note_version, page
from humanmcp.desk.state.board import SessionView
from humanmcp.inbox.contract import InboxError, UnknownItemError
from humanmcp.protocol.policy import known_clients

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])


class ClientLimits(NamedTuple):
    """How long a client waits for a call and may wait for an opening; None for no limit."""

    name: str
    known: bool
    call: float | None
    grace: float
    setting: str


class OldSession(NamedTuple):
    """A session that is over, and the bytes that it takes."""

    view: SessionView
    size: int


@router.get("/settings")
def settings(request: Request, q: str = "") -> HTMLResponse:
    """Show the settings; `q` chooses among the old sessions."""
    desk = desk_of(request)
    sessions = desk.board.sessions()
    old = [
        OldSession(one, _size(desk.home / "sessions" / one.facts.name))
        for one in sessions
        if not one.facts.is_open and q.casefold() in _words(one)
    ]
    return page(
        request,
        "settings.html",
        clients=_clients(one.facts.client for one in sessions),
        groups=_grouped(old),
        total=sum(one.size for one in old),
        q=q,
        home=desk.home,
        book=desk.book,
        told=desk.told,
    )


def _words(view: SessionView) -> str:
    facts = view.facts
    return f"{facts.title} {facts.client} {facts.name} {view.badge.letter}".casefold()


def _grouped(old: Iterable[OldSession]) -> list[tuple[str, list[OldSession]]]:
    """Put the sessions of one client together, the newest first."""

    def client(one: OldSession) -> str:
        return one.view.facts.title or one.view.facts.client

    found = sorted(old, key=client)  # stable: the newest stay first
    return [(name, list(group)) for name, group in groupby(found, client)]


def _size(folder: Path) -> int:
    """Count the bytes of a session's folder; what is gone meanwhile takes none."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def _clients(names: Iterable[str]) -> list[ClientLimits]:
    """List the clients that were here, with how long they wait."""
    found = []
    for name in sorted({one for one in names if one}):
        known = known_clients.find(name)
        call = None if known is None else known.call
        setting = "" if known is None else known.setting
        found.append(
            ClientLimits(name, known is not None, call, known_clients.grace(name), setting)
        )
    return found


@router.post("/settings")
async def remove(request: Request) -> Response:
    """Remove the sessions that were chosen, for good."""
    return await run_in_threadpool(_remove, desk_of(request), await form_values(request))


def _remove(desk: Desk, values: dict[str, str]) -> Response:
    if SEAT.get():
        raise UnknownItemError("settings")
    for name in [one.removeprefix("drop ") for one in values if one.startswith("drop ")]:
        try:
            desk.inbox.forget_session(desk.board.session(name).facts.name)
        except InboxError:  # it runs after all, or is gone already
            continue
        desk.board.refresh(name)
    return RedirectResponse("/settings#old", 303)
