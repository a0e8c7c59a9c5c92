"""The guard: one middleware around all routes, which checks each request in a fixed order.

It knows addresses, headers and sizes, but not sessions or messages. It uses the raw Host header and
`scope["path"]`, never a URL that is built from them: that has let a Host header choose the path
before (CVE-2026-48710).

The order of the checks: Host, target, origin, content type, identity, size.
"""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_to_bytes, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from humanmcp.desk.login import ONLY_SESSION, login_of, login_path_of, within, without_login_path
from humanmcp.desk.rights import PUBLIC, Who
from humanmcp.http.bodies import Bodies, Body, BodyError, BodyTrouble, client_address, stated_length
from humanmcp.protocol.json.visible import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from humanmcp.desk.login import Door

_log = logging.getLogger(__name__)

LONGEST_SECRET: Final = 512
"""The maximum length of an Authorization or Cookie value in bytes; ours are much shorter."""

API: Final = "/api/"
STATIC: Final = "/static/"

_METHODS: Final = ("GET", "HEAD", "POST")
_JSON: Final = "application/json"
_FORM: Final = "application/x-www-form-urlencoded"
_FILE: Final = "application/octet-stream"
_OF_FILES: Final = frozenset({"/api/recordings"})
_TARGET: Final = re.compile(rb"/(?!/)[A-Za-z0-9._~!$&'()*+,;=:@%/-]*\Z")
_ESCAPED_PATH: Final = re.compile(rb"%(?:2e|2f|5c|00)", re.IGNORECASE)

HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
        "media-src 'self' blob:; "
        "connect-src 'self'; manifest-src 'self'; worker-src 'self'; frame-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not "no-referrer": browsers then send `Origin: null` with the forms of our own pages.
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""The headers of every response, also of refusals."""

FRAMED: Final[Mapping[str, str]] = {
    "content-security-policy": (
        "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
        "style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; "
        "frame-ancestors 'self'"
    ),
    "x-frame-options": "SAMEORIGIN",
}
"""The headers of a document in which a stranger's page runs: it has an origin of its own, reaches
nothing, and is shown in a page of the desk only."""

_TRUSTED: Final = {"cross-origin-opener-policy": "same-origin"}
"""A header for trustworthy origins only: encrypted, or on this computer."""
_LOOPBACK: Final = ("127.", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused: a status, and the code of a sentence that repeats no input."""

    status: int
    code: str


WRONG_HOST: Final = Refusal(421, "host")
BAD_TARGET: Final = Refusal(400, "target")
BAD_METHOD: Final = Refusal(405, "method")
NO_WEBSOCKET: Final = Refusal(426, "websocket")
TOO_LARGE: Final = Refusal(413, "large")
TOO_SLOW: Final = Refusal(408, "slow")
TOO_MUCH: Final = Refusal(413, "much")
TOO_BUSY: Final = Refusal(503, "busy")
FOREIGN: Final = Refusal(403, "foreign")
NOT_JSON: Final = Refusal(415, "no json")
NOT_FORM: Final = Refusal(415, "no form")
NOT_FILE: Final = Refusal(415, "no file")
STRANGER: Final = Refusal(401, "stranger")
OTHER_SESSION: Final = Refusal(403, "session")
REMOVED: Final = Refusal(401, "removed")
UNSEEN: Final = Refusal(401, "unseen")

_SESSION: Final = re.compile(rb"\d{8}T\d{6}Z-[0-9A-Za-z]+", re.IGNORECASE)


_USUAL_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """The address of this desk, and its names.

    `names` are hosts without port; an IPv6 address is in brackets.
    """

    port: int
    names: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    scheme: str = "http"
    outside: tuple[str, ...] = ()
    """The addresses of a proxy before this desk: `https://desk.example`."""

    @property
    def elsewhere(self) -> str:
        """The address for other devices; "" if only this computer reaches the desk."""
        near = [one for one in self.names if not one.startswith(_LOOPBACK)]
        return next(
            iter((*self.outside, *(f"{self.scheme}://{one}:{self.port}" for one in near))), ""
        )

    @property
    def authorities(self) -> frozenset[str]:
        """Every valid `Host` header."""
        return frozenset(one.partition("://")[2] for one in self.origins)

    @property
    def origins(self) -> frozenset[str]:
        """Every valid `Origin` header; for a proxy only with its own scheme."""
        near = {f"{name}:{self.port}" for name in self.names}
        if self.port == _USUAL_PORTS[self.scheme]:
            near |= {*self.names}
        return frozenset({f"{self.scheme}://{one}" for one in near} | {*self.outside})

    @property
    def cookie(self) -> str:
        """The name of this desk's cookie.

        It contains the port, because cookies do not depend on it.

        The desks behind one proxy share a name.
        """
        port = self.port
        if self.outside:
            parts = urlsplit(self.outside[0])
            port = parts.port or _USUAL_PORTS[parts.scheme]
        return f"humanmcp-{port}"


def judge(scope: Scope, address: Address) -> Refusal | None:
    """Return why a request is refused before anybody checks its sender, or None."""
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    return (
        wrong_host(headers, address)
        or _target(scope)
        or _origin(scope, headers, address)
        or _content(scope, headers)
    )


def header(headers: list[tuple[bytes, bytes]], name: str) -> str | None:
    """Return the value of a header, None without it. Repeated headers give an invalid value."""
    found = [value for key, value in headers if key == name.encode()]
    if not found:
        return None
    return found[0].decode("latin-1") if len(found) == 1 else "\x00"


def wrong_host(headers: list[tuple[bytes, bytes]], address: Address) -> Refusal | None:
    """Return the refusal of a request with another `Host`, or None."""
    host = header(headers, "host")
    return None if host is not None and host.lower() in address.authorities else WRONG_HOST


def _target(scope: Scope) -> Refusal | None:
    if scope["type"] == "websocket":
        return NO_WEBSOCKET
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
    if not _TARGET.match(raw) or _ESCAPED_PATH.search(raw):
        return BAD_TARGET
    if header(scope["headers"], "upgrade") is not None:
        return NO_WEBSOCKET
    return None if scope["method"] in _METHODS else BAD_METHOD


def _origin(scope: Scope, headers: list[tuple[bytes, bytes]], address: Address) -> Refusal | None:
    """Refuse requests from other websites, by the browser's headers about their origin.

    A person may open a page directly (`none`). Any website may link to the login page, because it
    reveals nothing and GET changes nothing.
    """
    path: str = scope["path"]
    site = header(headers, "sec-fetch-site")
    origin = header(headers, "origin")
    shows = scope["method"] != "POST"
    if site is not None and site != "same-origin":
        is_page = shows and not path.startswith(API)
        by_hand = site == "none" and is_page
        if not by_hand and not (is_page and (path == "/login" or path.startswith(STATIC))):
            return FOREIGN
    if origin is not None and origin.lower() not in address.origins:
        return FOREIGN
    if not shows and site is None and origin is None and header(headers, "cookie") is not None:
        return FOREIGN
    return None


def _content(scope: Scope, headers: list[tuple[bytes, bytes]]) -> Refusal | None:
    if scope["method"] != "POST":
        return None
    wanted, refusal = (_JSON, NOT_JSON) if scope["path"].startswith(API) else (_FORM, NOT_FORM)
    if scope["path"] in _OF_FILES:
        wanted, refusal = _FILE, NOT_FILE
    kind, _, parameters = (header(headers, "content-type") or "").partition(";")
    plain = header(headers, "content-encoding") is None
    charset = parameters.strip().lower() in ("", "charset=utf-8")
    return None if kind.strip().lower() == wanted and charset and plain else refusal


class Guard:
    """The middleware. `page` renders the page of a refusal; without a sentence, the login page.

    `tell` returns the sentence of a refusal, by its code. `note` logs an unexpected error after its
    response.
    """

    def __init__(  # noqa: PLR0913 - what it must not know itself is given to it
        self,
        app: ASGIApp,
        *,
        address: Address,
        door: Door,
        page: Callable[[Scope, str, int], str],
        tell: Callable[[str], str],
        note: Callable[[Scope, Exception], None],
    ) -> None:
        self._app = app
        self._address = address
        self._door = door
        self._page = page
        self._tell = tell
        self._note = note
        self._bodies = Bodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, or refuse it."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        scope = without_login_path(scope)
        secure = self._address.scheme == "https"
        refusal = judge(scope, self._address) or self._who(scope)
        if refusal is not None:
            _log.info("refused %d %s", refusal.status, one_line(scope["path"], 120))
            await self._refuse(refusal, scope, receive, _with_headers(send, scope, secure=secure))
            return
        sender = scope.get("state", {}).get("login") or client_address(scope)
        # A login attempt is the only request with a body that strangers may send.
        stranger = scope["method"] == "POST" and scope["path"] in PUBLIC
        coming = self._bodies.coming(receive, sender, stated_length(scope), stranger=stranger)
        with coming as body:
            scope["state"]["body"] = body
            await self._pass(scope, body, _with_headers(send, scope, secure=secure))

    async def _pass(self, scope: Scope, body: Body, send: Send) -> None:
        async def sending(message: Message) -> None:
            # Frameworks turn errors while they read a body into their own responses.
            if body.trouble is None:
                await send(message)

        try:
            if body.trouble is None:
                await self._app(scope, body.receive, sending)
        except BodyError:
            _log.debug("a body was refused")
        except ClientDisconnect:
            _log.debug("whoever asked has gone")
        except Exception as error:  # noqa: BLE001 - nobody foresaw it; the answer says so
            self._note(scope, error)
        if body.trouble is not None:
            if "who" in scope["state"]:
                await body.drain(scope)
            await self._refuse(_REFUSALS[body.trouble], scope, body.receive, send)

    def _who(self, scope: Scope) -> Refusal | None:
        """Identify the sender: by the token of scripts, or by login path and cookie.

        The cookie alone is not enough: the browser may send it to other servers of this computer.
        """
        path: str = scope["path"]
        state = scope.setdefault("state", {})
        ONLY_SESSION.set("")
        login = login_of(login_path_of(scope), cookie_of(scope, self._address.cookie))
        if path == "/login":  # an open page leads there when it is out
            return _ENDED.get(self._door.why_ended(login))
        if path in PUBLIC or path.startswith(STATIC):
            return None
        bearer = header(scope["headers"], "authorization")
        if bearer is not None:
            scheme, _, token = bearer[:LONGEST_SECRET].partition(" ")
            if scheme.lower() != "bearer" or not self._door.knows_token(token):
                return STRANGER
            state["who"] = Who.SCRIPT
            return None
        if login and self._door.knows_login(login):
            found = self._door.known(login)
            session, device = (found.session, found.device) if found else ("", "")
            who = Who.DEVICE if device else Who.ONE_SESSION if session else Who.OWNER
            state.update(login=login, device=device, who=who)
            ONLY_SESSION.set(session)
            asked = scope["raw_path"] + b"?" + scope.get("query_string", b"")
            named = {one.decode() for one in _SESSION.findall(unquote_to_bytes(asked))}
            return OTHER_SESSION if session and named - {session} else None
        return _ENDED.get(self._door.why_ended(login), STRANGER)

    async def _refuse(self, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        said = self._tell(refusal.code)
        if path.startswith(API):
            kind, body = "application/json", json.dumps({"detail": said})
        elif refusal in _PAGES and not path.startswith(STATIC):
            why = "" if refusal is STRANGER else said
            kind, body = "text/html", self._page(scope, why, refusal.status)
        else:
            kind, body = "text/plain", f"{said}\n"
        response = Response(body, refusal.status, {"connection": "close"}, kind)
        await response(scope, receive, send)


_REFUSALS: Final[Mapping[BodyTrouble, Refusal]] = {
    BodyTrouble.LARGE: TOO_LARGE,
    BodyTrouble.MUCH: TOO_MUCH,
    BodyTrouble.SLOW: TOO_SLOW,
    BodyTrouble.BUSY: TOO_BUSY,
}


_ENDED: Final[Mapping[str, Refusal]] = {"removed": REMOVED, "unseen": UNSEEN}
_PAGES: Final = frozenset({
    *(STRANGER, REMOVED, UNSEEN, OTHER_SESSION),
    *(TOO_LARGE, TOO_SLOW, TOO_BUSY),
})  # fmt: skip
"""What a person may meet with a page of ours; other refusals say nothing more."""


def is_near(host: str) -> bool:
    """Return True if a `Host` names this computer itself, also through `ssh -L`."""
    return host.lower().startswith(_LOOPBACK)


def cookie_of(scope: Scope, name: str) -> str:
    """Return one cookie of a request, "" without it."""
    cookies = header(scope["headers"], "cookie") or ""
    for part in cookies[: LONGEST_SECRET * 8].split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value[:LONGEST_SECRET]
    return ""


def _with_headers(send: Send, scope: Scope, *, secure: bool) -> Send:
    """Add the headers of every response, and the login path to redirects.

    Only files that are the same for everybody may be cached.
    """
    login_path = login_path_of(scope)

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            if secure or (header(scope["headers"], "host") or "").startswith(_LOOPBACK):
                headers.update(_TRUSTED)
            if "location" in headers:
                headers["location"] = within(headers["location"], login_path)
            is_file = scope["path"].startswith(STATIC)
            headers.setdefault("cache-control", "no-cache" if is_file else "no-store")
        await send(message)

    return sending
