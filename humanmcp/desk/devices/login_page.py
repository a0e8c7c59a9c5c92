"""Logging in and out, as pages and as calls; the browser's settings; devices that may answer."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from humanmcp.answering.schema import TypedDict
from humanmcp.common import qr_code
from humanmcp.common.timestamps import stamp
from humanmcp.common.web_folder import web_folder
from humanmcp.desk.context import (
    LONGEST_CALLED,
    QUIET,
    THEMES,
    VIEWS,
    YEAR,
    call_router,
    desk_of,
    page,
    page_router,
    remember,
    switched,
)
from humanmcp.desk.guard import is_near
from humanmcp.desk.login import LONGEST, login_path_of, parts_of
from humanmcp.desk.rendering import edition, render
from humanmcp.desk.routing import DeskRoute, FormValues
from humanmcp.locales import LANGUAGES, say

router: Final = page_router()

choices: Final = APIRouter(default_response_class=HTMLResponse, route_class=DeskRoute)

calls: Final = call_router()


# -- as calls --------------------------------------------------------------------------------------


@dataclass
class LoginBody:
    """One of the two: the key of the address, or the code that is typed."""

    key: str = ""
    code: str = ""


class LoggedInShape(TypedDict):
    """The path that each address begins with from now on."""

    path: str


@calls.post("/login")
async def enter(request: Request, response: Response, body: LoginBody) -> LoggedInShape:
    """Exchange a one-time key, or the short code, for the cookie of a login session.

    All addresses then begin with `path`; the browser sends the cookie only there.
    """
    door, device = desk_of(request).door, _device_that_asks(request)
    if body.key:
        login = door.enter_with_key(body.key, device)
    else:
        login = door.enter_with_code(body.code, device)
    if login is None:
        why = "used" if door.was_used(body.key) else "old" if body.key else "wrong"
        raise HTTPException(401, say("desk", f"login.{why}"))
    _let_in(request, response, login)
    return {"path": parts_of(login)[0]}


def _device_that_asks(request: Request) -> str:
    """Return the name of a browser that is not on this computer: it becomes a device.

    So a phone is never the owner, whatever is typed there.
    """
    return "" if is_near(request.headers["host"]) else say("desk", "device.first")


def _let_in(request: Request, response: Response, login: str) -> None:
    """Set the cookie of a login session, for its login path only. A device is told to every page.

    The desk itself speaks plain HTTP. Behind an HTTPS proxy, the cookie is `Secure`.
    """
    desk = desk_of(request)
    login_path, cookie = parts_of(login)
    known = desk.door.known(login)
    is_device = known is not None and known.device != ""
    response.set_cookie(
        desk.address.cookie,
        cookie,
        max_age=YEAR if is_device else int(LONGEST),
        path=login_path,
        secure=f"https://{request.headers['host'].lower()}" in desk.address.origins,
        httponly=True,
        samesite="strict",
    )
    if is_device:
        desk.board.poke()


@dataclass
class LoginKeyBody:
    """The only session that the key opens, "" for all; the name of a device to add."""

    session: str = ""
    device: str = ""


class LoginKeyShape(TypedDict):
    """The ways to log in once: a key for an address, and a code to type."""

    key: str
    code: str


@calls.post("/login-key")
async def login_key(request: Request, body: LoginKeyBody) -> LoginKeyShape:
    """Make a one-time key for `/login#k=KEY`, valid for five minutes.

    With a `session`, the login only sees that session. With a `device`, the key adds a device with
    that name, and is valid for 15 minutes.

    Only with the token: a login session gets 403, so that no key outlives it.
    """
    door = desk_of(request).door
    return {"key": door.new_key(body.session, body.device[:LONGEST_CALLED]), "code": door.code}


# -- as pages --------------------------------------------------------------------------------------


@router.get("/login")
def login(request: Request) -> HTMLResponse:
    """Show the login page. GET uses no key, so previews and prefetches do no harm."""
    return page(request, "devices/login.html", count=0, sessions=(), failed=False)


@router.post("/login")
async def log_in(request: Request, values: FormValues) -> Response:
    """Try the short code."""
    desk = desk_of(request)
    login = desk.door.enter_with_code(values.get("code", ""), _device_that_asks(request))
    if login is None:
        return page(request, "devices/login.html", 401, count=0, sessions=(), failed=True)
    response = RedirectResponse(f"{parts_of(login)[0]}/", 303)
    _let_in(request, response, login)
    return response


@router.post("/logout")
async def log_out(request: Request) -> Response:
    """End the login session of this browser, and its event stream."""
    desk, response = desk_of(request), RedirectResponse("/login", 303)
    desk.door.end_login(getattr(request.state, "login", ""))
    path = login_path_of(request.scope) or "/"
    response.delete_cookie(desk.address.cookie, path=path, httponly=True, samesite="strict")
    return response


@choices.post("/preferences")
async def prefer(request: Request, values: FormValues) -> Response:
    """Store language, theme, view, a name and the quiet sessions in this browser."""
    back = values.get("back", "/")
    response = RedirectResponse(back if _is_ours(back) else "/", 303)
    for name, known in (("lang", LANGUAGES), ("theme", THEMES), ("view", VIEWS)):
        if values.get(name) in known:
            remember(response, name, values[name])
    if "name" in values:  # a cookie can only contain ASCII
        remember(response, "name", quote(values["name"].strip()[:LONGEST_CALLED], safe=""))
    session = values.get("quiet", "")
    if session.isascii() and session.replace("-", "").isalnum():
        remember(response, QUIET, switched(request.cookies.get(QUIET, ""), session))
    return response


def _is_ours(path: str) -> bool:
    r"""Return True if a path leads to this desk: `//evil` and `/\evil` do not."""
    return path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()


# -- devices that may answer: their links, and what installs the page as an app --------------------


@router.get("/devices")
def devices(request: Request) -> HTMLResponse:
    """List the devices that may answer."""
    return _devices_page(request)


@router.post("/devices")
async def change(request: Request, values: FormValues) -> Response:
    """Make the link of a new device, or remove a device."""
    desk = desk_of(request)
    if device_id := values.get("remove", ""):
        desk.door.remove_device(device_id)
        return RedirectResponse("/devices", 303)
    name = " ".join(values.get("name", "").split())[:LONGEST_CALLED]
    if not name or not desk.address.elsewhere:
        return _devices_page(request, 422, unnamed=not name)
    link = desk.device_link(name)
    return _devices_page(request, named=name, link=link, drawn=qr_code.svg(link))


def _devices_page(request: Request, status: int = 200, **values: object) -> HTMLResponse:
    desk = desk_of(request)
    return page(
        request,
        "devices/devices.html",
        status,
        **{"named": "", "link": "", "unnamed": False, **values},
        devices=[(one, stamp(one.seen)) for one in desk.door.devices()],
        elsewhere=desk.address.elsewhere,
    )


@router.get("/manifest.webmanifest")
def manifest() -> Response:
    """Return the web app manifest; the app starts in the device's login session."""
    icon = {"src": f"/static/~{edition()}/icon-0.svg", "sizes": "any", "type": "image/svg+xml"}
    facts = {
        "name": "humanmcp",
        "short_name": "humanmcp",
        "start_url": "./",
        "scope": "./",
        "display": "standalone",
        "background_color": "#1f2937",
        "theme_color": "#1f2937",
        "icons": [icon],
    }
    return JSONResponse(facts, media_type="application/manifest+json")


@router.get("/worker.js")
def worker() -> Response:
    """Return the service worker, which changes with every edition of the page."""
    script = (web_folder() / "static" / "worker.js").read_text(encoding="utf-8")
    return Response(f'const EDITION = "{edition()}";\n{script}', media_type="text/javascript")


@router.get("/offline")
def offline() -> HTMLResponse:
    """Show the page that an installed app displays while it cannot reach the desk."""
    return HTMLResponse(render("offline.html"))
