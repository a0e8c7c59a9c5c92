"""The page *Apps*: what the host of a session did with the page of the probe."""

from __future__ import annotations

from typing import Final

from fastapi import Request
from starlette.responses import HTMLResponse

from humanmcp.desk import rights
from humanmcp.desk.context import desk_of, page, page_router
from humanmcp.desk.inbox.waiting_list import ListFilter, listed
from humanmcp.extensions.apps.report import BAD, LINK, WATCHED, Word, musts, seen_in, verdicts
from humanmcp.inbox.contract import UnknownItemError

RIGHTS: Final = rights.read(rights.DESKS, "/apps/{name}")

router: Final = page_router()


@router.get("/apps/{name}")
def show(request: Request, name: str) -> HTMLResponse:
    """Show a word for each sentence, and how far the page came."""
    desk = desk_of(request)
    session = desk.board.session(name)
    if not session.facts.role.traits.serves:
        raise UnknownItemError(name)
    seen = seen_in(desk.inbox.last_frames_before(name, 0, WATCHED))
    return page(
        request,
        "apps/verdicts.html",
        here=session,
        in_inbox=True,
        seen=seen,
        verdicts=verdicts(seen),
        musts=musts(),
        link=LINK,
        kinds={**dict.fromkeys(BAD, "refused"), Word.NOT_SEEN: "none"},
        **listed(desk.board, ListFilter(name)),
    )
