"""A kind of mistake on a page of its own, which needs no network."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse

from humanmcp.common import mistakes
from humanmcp.desk.http.context import spoken
from humanmcp.desk.http.layout import note_version, page
from humanmcp.inbox.contract import UnknownItemError

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])


@router.get("/mistake/{code}")
def mistake(request: Request, code: str) -> HTMLResponse:
    """Explain a kind of mistake."""
    return mistake_page(request, code, {})


def mistake_page(
    request: Request, code: str, seats: Mapping[str, Sequence[Mapping[str, Any]]]
) -> HTMLResponse:
    """Return the page about a mistake, with the seats of a room where it was found."""
    found = mistakes.find(code, spoken(request))
    if found is None:
        raise UnknownItemError(code)
    return page(request, "mistake.html", mistake=found, seats=seats)
