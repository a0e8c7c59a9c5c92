"""What a newcomer needs: what to paste into which host, and a host that plays."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering.schema.interface import StartedShape
from humanmcp.desk.http.context import AsciiJson, CallRoute, desk_of, spoken
from humanmcp.desk.http.layout import FormValues, note_version, page, remember
from humanmcp.desk.presenters.snippets import Snippet, snippets, snippets_at

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])

calls: Final = APIRouter(prefix="/api", default_response_class=AsciiJson, route_class=CallRoute)


@dataclass
class OpeningBody:
    """Whether people open every session themselves."""

    held: bool


@router.get("/connect")
def connect(request: Request) -> HTMLResponse:
    """Show what to paste into which host."""
    held = desk_of(request).inbox.opening_is_held()
    return page(request, "connect.html", hosts=offered(request), held=held)


@router.post("/opening")
def hold_opening(request: Request, values: FormValues) -> Response:
    """Let people answer every handshake, or the answer book again."""
    desk_of(request).inbox.hold_opening(on=values.get("act") == "hold")
    return RedirectResponse("/connect#opening", 303)


@router.post("/try")
def try_now(request: Request, values: FormValues) -> Response:
    """Start the demo host, with help or without; its first request arrives within seconds."""
    desk_of(request).play(spoken(request))
    response = RedirectResponse("/", 303)
    remember(response, "help", values.get("help", "yes"))
    return response


def offered(request: Request) -> tuple[Snippet, ...]:
    """List what each host is given, in the reader's language."""
    desk = desk_of(request)
    if desk.url:
        return snippets_at(desk.url, spoken(request))
    return snippets(desk.server_settings, spoken(request))


@calls.post("/demo")
def demo(request: Request) -> StartedShape:
    """Start the demo host: its first request arrives within seconds."""
    desk_of(request).play(spoken(request))
    return {"started": True}


@calls.get("/opening")
def opening(request: Request) -> OpeningBody:
    """Return whether people answer every handshake themselves."""
    return OpeningBody(desk_of(request).inbox.opening_is_held())


@calls.post("/opening")
def leave_opening(request: Request, body: OpeningBody) -> OpeningBody:
    """Let people answer every handshake, or the answer book again."""
    desk_of(request).inbox.hold_opening(on=body.held)
    return body
