"""Create the application of the desk: the routes, their description, the guard, static files."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import logging
import mimetypes
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from fastapi import APIRouter, FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.datastructures import MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.responses import Response

from humanmcp import __version__, extensions
from humanmcp.answering.schema import INTERFACE
from humanmcp.desk import context
from humanmcp.desk.api import read_calls, write_calls
from humanmcp.desk.context import AsciiJson
from humanmcp.desk.devices import login_page
from humanmcp.desk.guard import API, FRAMED, Guard, cookie_of, header
from humanmcp.desk.history import history_page, opening
from humanmcp.desk.inbox import inbox_page
from humanmcp.desk.login import linked
from humanmcp.desk.rendering import edition, language_of, render, static_contents
from humanmcp.desk.routing import DeskRoute, RefusedError
from humanmcp.desk.send import send_page
from humanmcp.desk.settings import settings_page
from humanmcp.inbox.contract import StoreError, UnknownItemError
from humanmcp.locales import say, speaking

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from humanmcp.desk.desk import Desk

_log = logging.getLogger(__name__)

description: Final = context.call_router()

CALLS: Final = (
    read_calls.router,
    write_calls.router,
    opening.calls,
    read_calls.prepared,
    read_calls.helping,
    login_page.calls,
    description,
)
"""The routes of the JSON interface, for scripts and for the page's own scripts."""


@description.get("/openapi.json")
def openapi() -> Response:
    """Return the OpenAPI 3.1 description of every call, with its body and its response."""
    return AsciiJson(describe((*CALLS, *PAGES)))


def describe(routers: Iterable[APIRouter], more: Sequence[APIRoute] = ()) -> dict[str, Any]:
    """Return the description of the calls of these routers, and of the routes in `more`.

    `CallRoute` hides the response types from FastAPI, so the routes are created again with them.
    """
    routes = [
        APIRoute(route.path, route.endpoint, methods=route.methods)
        for one in routers
        for route in one.routes
        if isinstance(route, APIRoute) and route.path.startswith(API)
    ]
    return get_openapi(title="humanmcp", version=str(INTERFACE), routes=[*routes, *more])


PAGES: Final = (
    *(
        inbox_page.router,
        history_page.router,
        opening.router,
        settings_page.router,
        send_page.router,
    ),
    *(login_page.router, login_page.choices),
    *filter(
        None,
        (
            extensions.call(name, "pages", attrgetter("router"), module)
            for name, module in extensions.parts("pages")
        ),
    ),
)

MOST_COUNTED: Final = 9
"""The highest number on the favicon; above, it is 9+."""

_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def make_app(desk: Desk) -> ASGIApp:
    """Return the desk as an ASGI application, with its guard."""
    return Speaking(guarded(make_pages(desk, (*CALLS, *PAGES)), desk), desk.language)


def make_pages(desk: Desk, routers: Iterable[APIRouter]) -> FastAPI:
    """Return the pages and calls of these routers; `desk` serves requests that name no other."""
    app = FastAPI(
        title="humanmcp desk",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        exception_handlers={
            UnknownItemError: context.on_missing,
            404: context.on_missing,
            StoreError: context.on_store,
            RequestValidationError: context.on_invalid,
            RefusedError: context.on_refused,
            HTTPException: context.on_refused,
            Exception: context.on_unforeseen,
        },
    )
    app.state.desk = desk
    app.router.route_class = DeskRoute
    app.add_middleware(SentForms, desk=desk)
    files = static_files()
    for address in ("/static/~{kept}/{name:path}", "/static/{name:path}"):
        app.add_api_route(address, files.serve, methods=["GET"])
    app.add_api_route("/favicon.ico", files.favicon, methods=["GET"])
    app.router.routes += [route for router in routers for route in router.routes]
    return app


OPEN: Final = ("refusal", "open.desk")
"""The sentence that says what to open in the place of an address that is refused."""


def refusal_sentence(opens: tuple[str, str], code: str) -> str:
    """Return why a request is refused, and what to open: the sentence of a section and a code."""
    return say("refusal", code, open=say(*opens))


def guarded(
    app: ASGIApp, desk: Desk, stranger: str = "devices/stranger.html", opens: tuple[str, str] = OPEN
) -> Guard:
    """Return `app` behind the guard; unknown browsers get the page `stranger`."""

    def page(scope: Scope, why: str, status: int) -> str:
        html = render("refused.html", why=why, is_out=status == 401) if why else render(stranger)
        return linked(html, scope)

    return Guard(
        app,
        address=desk.address,
        door=desk.door,
        page=page,
        tell=partial(refusal_sentence, opens),
        note=context.note,
    )


class Speaking:
    """Answers each request in the reader's language; `wanted` is the language of the settings."""

    def __init__(self, app: ASGIApp, wanted: str) -> None:
        self._app = app
        self._wanted = wanted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Choose the language by the address, an earlier choice, the settings, the browser."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = QueryParams(scope.get("query_string", b"")).get("lang", "")
        accepted = header(scope["headers"], "accept-language") or ""
        with speaking(language_of(asked, cookie_of(scope, "lang"), accepted, self._wanted)):
            await self._app(scope, receive, send)


class SentForms:
    """Tells a script that sent a form where it leads; a script cannot see a redirect.

    The header `Draft` has the key of the form's draft. The draft of a form that was taken is
    deleted, and the response says `Draft: taken`. A form was not taken if its page is returned, or
    if the address that it leads to has the reason.
    """

    def __init__(self, app: ASGIApp, desk: Desk) -> None:
        self._app = app
        self._desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a redirect with the address."""
        key = header(scope["headers"], "draft") if scope["type"] == "http" else None

        async def sending(message: Message) -> None:
            if key is not None and message.get("status") == 303:
                message["status"] = 200
                headers = MutableHeaders(scope=message)
                headers["content-type"] = "text/html; charset=utf-8"
                leads = urlsplit(headers["location"])
                if not _REASONS & parse_qs(leads.query, keep_blank_values=True).keys():
                    desk = scope.get("state", {}).get("desk", self._desk)
                    await run_in_threadpool(_forget_draft, desk, scope, unquote(key))
                    headers["draft"] = "taken"
            await send(message)

        await self._app(scope, receive, sending)


def _forget_draft(desk: Desk, scope: Scope, key: str) -> None:
    with contextlib.suppress(UnknownItemError):  # not of this visitor
        desk.check_draft(scope, key)
        desk.drafts.forget(key)


_REASONS: Final = {"why", "wrong"}
"""The parameters of an address that say why a form was not taken."""


class StaticFiles:
    """The static files of the page, read once; other names are not found."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, bytes, str, str]] = {}
        for name, content in static_contents():
            self._add(name, content)
        for count in range(MOST_COUNTED + 2):
            self._add(f"icon-{count}.svg", _icon(count).encode())

    def _add(self, name: str, content: bytes) -> None:
        suffix = name[name.rfind(".") :]
        kind = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        if kind.startswith(("text/", "image/svg")):
            kind += "; charset=utf-8"
        tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
        self._files[name] = (content, gzip.compress(content, 6, mtime=0), tag, kind)

    async def serve(self, request: Request, name: str, kept: str = "") -> Response:
        """Return one file. Range requests are not supported.

        A browser may cache a file forever if the address contains its edition. So a page with its
        thirty scripts loads without a request for them.
        """
        found = self._files.get(name)
        if found is None:
            return Response(status_code=404)
        content, packed, tag, kind = found
        headers = {"ETag": tag, "Vary": "Accept-Encoding"}
        if kind.startswith("text/html"):
            headers |= FRAMED
        if kept == edition():
            headers["Cache-Control"] = "public, max-age=31536000, immutable"
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            content = packed
        return Response(content, media_type=kind, headers=headers)

    async def favicon(self, request: Request) -> Response:
        """Return the icon, for browsers that ask for it before they read the page."""
        return await self.serve(request, "icon-0.svg")


static_files: Final = cache(StaticFiles)
"""Return the static files; a process packs them once."""


def _icon(count: int) -> str:
    """Return the icon as SVG: a brace with the number of waiting requests."""
    badge = ""
    if count:
        text = str(count) if count <= MOST_COUNTED else "9+"
        badge = (
            '<circle cx="44" cy="44" r="19" fill="#c2410c"/>'
            '<text x="44" y="52" font-size="24" font-weight="700" text-anchor="middle" '
            f'font-family="system-ui,sans-serif" fill="#fff">{text}</text>'
        )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">'
        '<rect width="64" height="64" rx="15" fill="#1f2937"/>'
        '<path d="M24 14c-7 0-7 3-7 9 0 5-1 8-6 9 5 1 6 4 6 9 0 6 0 9 7 9'
        'M40 14c7 0 7 3 7 9 0 5 1 8 6 9-5 1-6 4-6 9 0 6 0 9-7 9" '
        'fill="none" stroke="#f9fafb" stroke-width="4.5" '
        'stroke-linecap="round"/><circle cx="32" cy="32" r="5" fill="#f9fafb"/>'
        f"{badge}</svg>"
    )
