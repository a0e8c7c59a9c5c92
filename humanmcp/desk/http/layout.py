"""The frame of every page: what all of them show, and what their forms send."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

import re
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Final
from urllib.parse import parse_qs

from fastapi import Depends, HTTPException, Request
from starlette.responses import HTMLResponse, Response

from humanmcp.desk.auth.visit_path import linked
from humanmcp.desk.http.context import Desk, called, desk_of, script_json, spoken
from humanmcp.desk.presenters import rendering
from humanmcp.desk.presenters.rendering import render, web_folder
from humanmcp.desk.presenters.rules import rules_on
from humanmcp.locales import LANGUAGES, say

EDITOR: Final = "vendor/editor.js"

THEMES: Final = ("auto", "light", "dark")

YEAR: Final = 365 * 24 * 3600

LARGEST_FORM: Final = 16 * 1024 * 1024

MOST_FIELDS: Final = 500
"""Fields of a form: the longest of ours has 80 rows of five."""


QUIET: Final = "quiet"
"""The cookie with the sessions that a person sees as question, box and Send alone."""
_MOST_QUIET: Final = 20


VIEWS: Final = ("", "text", "form", "json")
"""What an answer opens in where a person has not chosen it for a tool: as it fits, or one view."""


def view_of(request: Request) -> str:
    """Return the view in which a person wants an answer to open."""
    chosen = request.cookies.get("view", "")
    return chosen if chosen in VIEWS else ""


def is_quiet(request: Request, session: str) -> bool:
    """Return True if a session is seen in the quiet view."""
    return bool(session) and session in request.cookies.get(QUIET, "").split(".")


def switched(names: str, session: str) -> str:
    """Return the quiet sessions with one more, or without one of them."""
    others = [one for one in names.split(".") if one and one != session]
    more = [] if session in names.split(".") else [session]
    return ".".join([*others, *more][-_MOST_QUIET:])


async def note_version(request: Request) -> None:
    """Note the last change before a page gathers what it shows.

    A change that comes while it gathers may be missing in it; the page's script then asks for it.
    """
    request.state.version = desk_of(request).board.version


def page(request: Request, name: str, status: int = 200, **values: Any) -> HTMLResponse:  # noqa: ANN401 - templates take anything
    """Render a page with what every page shows."""
    desk = desk_of(request)
    theme = request.cookies.get("theme", "auto")
    common = {
        "path": request.scope["path"],
        "called": called(request),
        "theme": theme if theme in THEMES else "auto",
        "version": getattr(request.state, "version", desk.board.version),
        "count": desk.board.count(),
        "away": desk.inbox.away,
        "sessions": desk.board.sessions(),
        "now": datetime.now(UTC).timestamp(),
        "session": "",
        "rules_on": rules_on(desk.book),
        "holding": holding(desk),
        "editor": editor_address(),
        "around": desk.around(request) if desk.around is not None else None,
    }
    language = spoken(request)
    common["words"] = script_json(dict(rendering.for_scripts(language)))
    html = linked(render(name, language, **{**common, **values}), request.scope)
    # What UTF-8 cannot hold is shown as its escape.
    response = HTMLResponse(html.encode("utf-8", "backslashreplace"), status_code=status)
    asked = request.query_params.get("lang", "")
    if asked in LANGUAGES:
        remember(response, "lang", asked)
    return response


def holding(desk: Desk) -> tuple[str, ...]:
    """Return what the running taps are to hold, in one direction or both."""
    patterns = [one for view in desk.board.sessions() for one in view.holds]
    return tuple(dict.fromkeys(re.sub("^(in|out):", "", one) for one in patterns))


@cache
def editor_address() -> str:
    """Return the address of the JSON editor's script; "" in a checkout where it was not built."""
    return f"{rendering.static()}{EDITOR}" if (web_folder() / "static" / EDITOR).is_file() else ""


def remember(response: Response, name: str, value: str) -> None:
    """Let the browser keep what was chosen, for a year."""
    response.set_cookie(name, value, max_age=YEAR, path="/", samesite="strict", httponly=True)


async def form_values(request: Request) -> dict[str, str]:
    """Read a form that a page sent. The guard has bounded its size.

    Raises:
        HTTPException: it has more fields than any form of ours.
    """
    body = (await request.body())[:LARGEST_FORM]
    # Browsers write line ends as CR LF in forms; a text keeps the ones that were typed.
    text = body.decode("utf-8", "replace")
    try:
        pairs = parse_qs(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise HTTPException(400, say("desk", "form.fields", spoken(request))) from None
    return {name: values[-1].replace("\r\n", "\n") for name, values in pairs.items()}


FormValues = Annotated[dict[str, str], Depends(form_values)]
"""What a page sent, for a function that FastAPI runs in a thread: it may wait for the inbox."""
