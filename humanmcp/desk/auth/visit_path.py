"""Where a visit lives: the first part of its addresses, which no cookie carries.

Cookies know no ports: a browser sends what it keeps for 127.0.0.1 to every server there, who ever
runs it (RFC 6265, section 8.5, https://www.rfc-editor.org/rfc/rfc6265#section-8.5). But it sends a
cookie below that cookie's path only. So each visit gets a path of its own that cannot be guessed,
`/~PLACE/`, and a cookie that is valid there. Another server is neither sent the cookie, nor could
it do anything with it without the path. That needs no script, no name service and no encryption.

Knows scopes and addresses; who may visit stands in `login.py`.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from starlette.types import Scope

SEAT: Final = ContextVar("seat", default="")
"""The one session that the visitor of this request may see; "" for all of them."""

_PLACE: Final = re.compile(rb"/~([A-Za-z0-9_-]{16,64})(?=/|\Z)")

# Everything that is filled into a template is escaped: a quotation mark in it can begin no address.
_LINK: Final = re.compile(r'(\s(?:href|action|formaction|src)=")(?=/(?!/|static/|~))')


def placed(scope: Scope) -> Scope:
    """Return the scope as if there were no places, with the visit's place noted in its state."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape")
    found = _PLACE.match(raw)
    prefix = found[0].decode("ascii") if found else ""
    if not found or not scope["path"].startswith(prefix):
        return scope
    state = {**scope.get("state", {}), "place": found[1].decode("ascii")}
    path = scope["path"][len(prefix) :] or "/"
    return {**scope, "path": path, "raw_path": raw[found.end() :] or b"/", "state": state}


def place_of(scope: Scope) -> str:
    """Return the place that a request came to, "" for none."""
    state: dict[str, Any] = scope.get("state", {})  # `Any`: anything may be noted there
    return str(state.get("place", ""))


def start_of(place: str) -> str:
    """Return what the addresses of a place begin with; "" without one."""
    return f"/~{place}" if place else ""


def within(address: str, place: str) -> str:
    """Return an address of the desk as it reads in a place. One that names a place stays."""
    ours = address.startswith("/") and not address.startswith(("//", "/~"))
    return start_of(place) + address if ours else address


def linked(html: str, scope: Scope) -> str:
    """Return a page with its links and forms leading to where the request for it came to."""
    place = place_of(scope)
    return _LINK.sub(rf"\g<1>{start_of(place)}", html) if place else html


def visit_of(place: str, secret: str) -> str:
    """Name a visit by both of its secrets: neither opens anything without the other."""
    return f"{place}.{secret}" if place and secret else ""


def parts_of(visit: str) -> tuple[str, str]:
    """Return the place and the cookie's secret of a visit."""
    place, _, secret = visit.partition(".")
    return place, secret
