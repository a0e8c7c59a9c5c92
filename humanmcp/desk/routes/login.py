"""The door, as a page and as calls; and what a browser is asked to remember."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering.schema import TypedDict
from humanmcp.desk.auth.login import LONGEST, parts_of, place_of, start_of
from humanmcp.desk.http.context import (
    LONGEST_CALLED,
    QUIET,
    THEMES,
    VIEWS,
    YEAR,
    AsciiJson,
    CallRoute,
    Desk,
    FormValues,
    desk_of,
    form_values,
    note_version,
    page,
    remember,
    switched,
)
from humanmcp.locales import LANGUAGES, say

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])

choices: Final = APIRouter(default_response_class=HTMLResponse)

calls: Final = APIRouter(prefix="/api", default_response_class=AsciiJson, route_class=CallRoute)


# -- as calls --------------------------------------------------------------------------------------


@dataclass
class LoginBody:
    """One of the two: the key of the address, or the code that is typed."""

    key: str = ""
    code: str = ""


# `in` is a keyword of Python, so that its shape cannot be written as a class.
VisitShape = TypedDict("VisitShape", {"in": bool, "place": str}, total=False)
VisitShape.__doc__ = "Whether one is in, and what the addresses of the visit begin with."


@calls.post("/login")
async def enter(request: Request, response: Response, body: LoginBody) -> VisitShape:
    """Exchange a one-time key, or the short code, for the cookie of a login session.

    `place` is what the addresses of the visit begin with; the cookie counts there only.
    """
    desk = desk_of(request)
    door = desk.door
    visit = door.enter_with_key(body.key) if body.key else door.enter_with_code(body.code)
    if visit is None:
        raise HTTPException(401, say("desk", "login.failed"))
    set_visit(response, desk, visit)
    return {"in": True, "place": start_of(parts_of(visit)[0])}


def set_visit(response: Response, desk: Desk, visit: str) -> None:
    """Give a browser its cookie, for the place of its visit and for nowhere else.

    The desk speaks plain HTTP to itself, so it is not `Secure`.
    """
    place, secret = parts_of(visit)
    known = desk.door.known(visit)
    response.set_cookie(
        desk.address.cookie,
        secret,
        max_age=YEAR if known is not None and known.device else int(LONGEST),
        path=start_of(place),
        httponly=True,
        samesite="strict",
    )


@dataclass
class LoginKeyBody:
    """The one session that the key opens; "" for all of them."""

    session: str = ""


class LoginKeyShape(TypedDict):
    """The ways to log in once: a key for an address, and a code to type."""

    key: str
    code: str


@calls.post("/login-key")
async def login_key(request: Request, body: LoginKeyBody) -> LoginKeyShape:
    """Make a one-time key, which opens `/login#k=KEY` within five minutes.

    With a `session` its visit sees that session and no other.

    Only for who shows the token: a visit gets 403, so that no key outlives it.
    """
    if visit_of(request):
        raise HTTPException(403, say("desk", "login.token only"))
    door = desk_of(request).door
    return {"key": door.new_key(body.session), "code": door.code}


@calls.post("/logout")
async def leave(request: Request, response: Response) -> VisitShape:
    """End the login session of this browser, and its live stream."""
    end_visit(request, response)
    return {"in": False}


def visit_of(request: Request) -> str:
    """Return the visit that a request belongs to, "" for a script's."""
    return str(getattr(request.state, "visit", ""))


def end_visit(request: Request, response: Response) -> None:
    """End a visit, and let the browser forget its cookie."""
    desk = desk_of(request)
    desk.door.leave(visit_of(request))
    response.delete_cookie(
        desk.address.cookie,
        path=start_of(place_of(request.scope)) or "/",
        httponly=True,
        samesite="strict",
    )


# -- as pages --------------------------------------------------------------------------------------


@router.get("/login")
def login(request: Request) -> HTMLResponse:
    """Show the door. GET uses no key up: a preview or a prefetch opens nothing."""
    return page(request, "login.html", count=0, sessions=(), failed=False)


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Try the short code."""
    desk = desk_of(request)
    try:
        values = await form_values(request)
    except HTTPException:
        values = {}  # whatever it was, it was no code
    visit = desk.door.enter_with_code(values.get("code", ""))
    if visit is None:
        return page(request, "login.html", 401, count=0, sessions=(), failed=True)
    response = RedirectResponse(f"{start_of(parts_of(visit)[0])}/", 303)
    set_visit(response, desk, visit)
    return response


@router.post("/logout")
async def log_out(request: Request) -> Response:
    """End the visit of this browser."""
    response = RedirectResponse("/login", 303)
    end_visit(request, response)
    return response


@choices.post("/preferences")
async def prefer(request: Request, values: FormValues) -> Response:
    """Remember language, theme, view, a name and the quiet sessions in this browser."""
    back = values.get("back", "/")
    response = RedirectResponse(back if _is_ours(back) else "/", 303)
    if values.get("lang") in LANGUAGES:
        remember(response, "lang", values["lang"])
    if values.get("theme") in THEMES:
        remember(response, "theme", values["theme"])
    if values.get("view") in VIEWS:
        remember(response, "view", values["view"])
    if "name" in values:  # a cookie holds ASCII only
        remember(response, "name", quote(values["name"].strip()[:LONGEST_CALLED], safe=""))
    session = values.get("quiet", "")
    if session.isascii() and session.replace("-", "").isalnum():
        remember(response, QUIET, switched(request.cookies.get(QUIET, ""), session))
    return response


def _is_ours(path: str) -> bool:
    r"""Return True if a path leads to this desk: `//evil` and `/\evil` lead elsewhere."""
    return path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
