"""What a newcomer needs: what to paste into which host, and a host that plays."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from typing import Any, Final

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.desk import playing
from humanmcp.desk.desk import desk_of
from humanmcp.desk.page import note_version, page
from humanmcp.desk.snippets import Snippet, snippets
from humanmcp.desk.telling import AsciiJson, spoken

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])

calls: Final = APIRouter(prefix="/api", default_response_class=AsciiJson)


@router.get("/connect")
def connect(request: Request) -> HTMLResponse:
    """Show what to paste into which host."""
    return page(request, "connect.html", hosts=offered(request))


@router.post("/try")
async def try_now(request: Request) -> Response:
    """Start the demo host; its first request arrives within seconds."""
    await run_in_threadpool(playing.start, desk_of(request).home, spoken(request))
    return RedirectResponse("/", 303)


def offered(request: Request) -> tuple[Snippet, ...]:
    """List what each host is given, in the reader's language."""
    return snippets(desk_of(request).told, spoken(request))


@calls.post("/demo")
async def demo(request: Request) -> dict[str, Any]:
    """Start the demo host: its first request arrives within seconds."""
    await run_in_threadpool(playing.start, desk_of(request).home, spoken(request))
    return {"started": True}
