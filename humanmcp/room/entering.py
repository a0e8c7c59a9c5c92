"""How a browser gets in: the address and its QR code, the cookie of a visit, the page after it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

import segno
from starlette.responses import HTMLResponse

from humanmcp.desk.auth.visit_path import parts_of, start_of
from humanmcp.desk.http.context import spoken
from humanmcp.desk.presenters.rendering import render
from humanmcp.room.room_door import Role, visit

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from humanmcp.room.classroom import Classroom
    from humanmcp.room.room_door import Visitor

COOKIE_LIFE: Final = 30 * 24 * 3600
_FIRST: Final = {Role.TEACHER: "/room", Role.GUEST: "/wall", Role.KNOCKER: "/waiting"}
"""The page that a role begins with; everybody else with what waits."""


def entering(request: Request, classroom: Classroom, visitor: Visitor) -> Response:
    """Let the browser of a request in."""
    return entered(classroom, visitor, spoken(request))


def entered(classroom: Classroom, visitor: Visitor, language: str) -> Response:
    """Give a browser the cookie of a visit, and lead it there.

    By a page and not by a redirect: who comes from another site would not be sent the cookie.
    """
    place, secret = parts_of(visit(visitor, classroom.key_of(visitor)))
    to = start_of(place) + _FIRST.get(visitor.role, "/")
    answer = HTMLResponse(render("entering.html", language, to=to))
    answer.set_cookie(
        classroom.address.cookie,
        secret,
        max_age=COOKIE_LIFE,
        path=start_of(place),
        httponly=True,
        samesite="strict",
        secure=classroom.address.scheme == "https",
    )
    answer.headers["cache-control"] = "no-store"
    return answer


def spaced(code: str) -> str:
    """Return a code as it is read aloud: in two halves."""
    half = len(code) // 2
    return f"{code[:half]}-{code[half:]}"


def qr_code(link: str) -> bytes:
    """Draw a link as a QR code, black on white whatever the page's colours are."""
    drawn = io.BytesIO()
    segno.make(link, error="m").save(drawn, kind="svg", border=3, light="#fff", scale=8)
    return drawn.getvalue()


def for_terminal(link: str) -> str:
    """Draw a link as a QR code of letters."""
    drawn = io.StringIO()
    segno.make(link, error="l").terminal(drawn, compact=True, border=2)
    return drawn.getvalue()
