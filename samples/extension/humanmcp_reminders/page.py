"""The page /reminders of the desk."""

from __future__ import annotations

from typing import Final

from fastapi import Request
from starlette.responses import HTMLResponse

from humanmcp.desk import rights
from humanmcp.desk.context import desk_of, page, page_router
from humanmcp_reminders.command import waiting

RIGHTS: Final = rights.read(rights.DESKS, "/reminders")
"""Who may use each route: a route without an entry does not start."""

router: Final = page_router()


@router.get("/reminders")
def show(request: Request) -> HTMLResponse:
    """Show for how long each request has waited."""
    return page(request, "reminders/page.html", minutes=waiting(desk_of(request).inbox))
