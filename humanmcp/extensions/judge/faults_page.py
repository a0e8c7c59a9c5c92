"""The page *Try all faults*: the next calls are answered wrongly, and what the client then did."""

from __future__ import annotations

from typing import Final

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering.reactions import WATCHED
from humanmcp.desk import rights
from humanmcp.desk.context import desk_of, page, page_router
from humanmcp.desk.inbox.waiting_list import ListFilter, listed
from humanmcp.desk.routing import FormValues
from humanmcp.extensions.judge.reports import GRAVE, notes_of, said
from humanmcp.extensions.judge.server_faults import RIGHT, WRONG, server_fault
from humanmcp.extensions.judge.trying import ORDER, to_try, tried
from humanmcp.extensions.judge.verdicts import Word
from humanmcp.inbox.contract import UnknownItemError

RIGHTS: Final = {
    **rights.read(rights.DESKS, "/faults/{name}"),
    **rights.acts("/faults/{name}", rights.each(rights.DESKS, "on", "off", "shown *")),
}

router: Final = page_router()


@router.get("/faults/{name}")
def show(request: Request, name: str) -> HTMLResponse:
    """Show what the client did with each fault so far, the last one first."""
    return _page(request, name)


@router.post("/faults/{name}")
def act(request: Request, name: str, values: FormValues) -> Response:
    """Begin, end, or keep what the client showed."""
    desk = desk_of(request)
    if why := desk.order(name, ORDER, values):
        return _page(request, name, why)
    desk.board.refresh(name, 0)
    return RedirectResponse(f"/faults/{name}", 303)


def _page(request: Request, name: str, why: str = "") -> HTMLResponse:
    desk = desk_of(request)
    session = desk.board.session(name)
    facts = session.facts
    if not facts.role.traits.serves:
        raise UnknownItemError(name)
    verdicts, is_on = tried(desk.inbox.last_frames_before(name, 0, WATCHED))
    fitting = to_try(facts, desk.inbox.negotiated(name))
    return page(
        request,
        "judge/faults.html",
        here=session,
        in_inbox=True,
        judged=[
            {
                "name": one.name,
                "what": server_fault(one.name).what(),
                "word": said(one.word),
                "kind": _KINDS.get(one.word, "answered"),
                "notes": notes_of(one),
                "lines": one.lines,
                "open": one.word is Word.UNKNOWN,
            }
            for one in reversed(verdicts)
        ],
        is_on=is_on and len(verdicts) < len(fitting) and facts.is_open,
        possible=len(fitting),
        why=why,
        letters={"r": RIGHT, "w": WRONG, "e": "", "n": ""},
        **listed(desk.board, ListFilter(name)),
    )


_KINDS: Final = {**dict.fromkeys(GRAVE, "refused"), Word.UNKNOWN: "none"}
"""How the words are coloured: as client reactions are."""
