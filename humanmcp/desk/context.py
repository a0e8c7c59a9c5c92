"""What every page and call needs: who asks, rendering, errors."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import traceback
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response

from humanmcp import extensions
from humanmcp.common.own_process import FORMAT, LogFile
from humanmcp.common.web_folder import web_folder
from humanmcp.desk import rendering
from humanmcp.desk.desk import Desk
from humanmcp.desk.guard import API
from humanmcp.desk.login import linked
from humanmcp.desk.rendering import SECTION, render
from humanmcp.desk.rights import OWN, OWN_TEXT, PUBLIC
from humanmcp.desk.routing import CallRoute, DeskRoute, JsonText, RefusedError, json_text, who_asks
from humanmcp.inbox.contract import named_author
from humanmcp.launch import LOG_NAME
from humanmcp.locales import LANGUAGES, say, spoken_language
from humanmcp.locales.stop import StopError, sentence_of
from humanmcp.protocol.json.visible import one_line, visible

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import Scope

    from humanmcp.inbox.contract import Key, Reply


def desk_of(request: Request) -> Desk:
    """Return the desk of a request: the application's, unless another one is set."""
    desk: Desk = getattr(request.state, "desk", None) or request.app.state.desk
    return desk


LONGEST_CALLED: Final = 40
"""The maximum length of the name that a person chooses, in characters."""


class AsciiJson(JSONResponse):
    """JSON in ASCII; the thread of a function has written its result already."""

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - any JSON value
        return (content if isinstance(content, JsonText) else json_text(content)).encode()


def called(request: Request) -> str:
    """Return the name that a person chose for themselves or their device, "" for none."""
    given = visible(unquote(request.cookies.get("name", ""))[:LONGEST_CALLED])
    return given or device_of(request)


def author(request: Request) -> str:
    """Return who writes, for others: the name and, if that is another one, the device."""
    return named_author(called(request), device_of(request))


def signed(request: Request, key: Key, reply: Reply) -> Reply:
    """Return a reply with its author, the device, and when they were shown the request."""
    shown_at = desk_of(request).board.shown_at(key)
    return reply._replace(who=called(request), device=device_of(request), shown_at=shown_at)


def device_of(request: Request) -> str:
    """Return the name of the device that sent a request, "" for a browser of this computer."""
    return str(getattr(request.state, "device", ""))


def script_json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return a value as JSON for a data block of a page: nothing in it can end the block."""
    # ASCII only: JSON can contain a lone surrogate, and the UTF-8 of a page cannot.
    text = json.dumps(value, ensure_ascii=True, default=asdict)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


EDITOR: Final = "vendor/editor.js"

THEMES: Final = ("auto", "light", "dark")

YEAR: Final = 365 * 24 * 3600

QUIET: Final = "quiet"
"""The cookie with the sessions that a person sees reduced to question, box and Send."""
_MOST_QUIET: Final = 20


VIEWS: Final = ("", "text", "form", "json")
"""The views of an answer, if a person has not chosen one for a tool: automatic, or a fixed one."""


def view_of(request: Request) -> str:
    """Return the view in which a person wants to open answers."""
    chosen = request.cookies.get("view", "")
    return chosen if chosen in VIEWS else ""


def is_quiet(request: Request, session: str) -> bool:
    return bool(session) and session in request.cookies.get(QUIET, "").split(".")


def switched(names: str, session: str) -> str:
    """Return the list of quiet sessions with this one added, or removed."""
    others = [one for one in names.split(".") if one and one != session]
    more = [] if session in names.split(".") else [session]
    return ".".join([*others, *more][-_MOST_QUIET:])


async def note_version(request: Request) -> None:
    """Record the number of the last change before a page collects its content.

    A change in between may be missing in the page; its script then asks for it.
    """
    request.state.version = desk_of(request).board.version


def page_router() -> APIRouter:
    """Return a router whose pages note which change they show."""
    noting = [Depends(note_version)]
    return APIRouter(
        default_response_class=HTMLResponse, route_class=DeskRoute, dependencies=noting
    )


def call_router() -> APIRouter:
    return APIRouter(prefix="/api", default_response_class=AsciiJson, route_class=CallRoute)


def page(request: Request, name: str, status: int = 200, **values: Any) -> HTMLResponse:  # noqa: ANN401 - templates take anything
    """Render a page, with the values that every page needs."""
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
        "opened": "",
        "device": device_of(request),
        "opens": OWN_TEXT if who_asks(request.scope) & OWN else 0,
        "watched": any(one.watches for one in desk.listeners),
        "marks": list(map(Markup, extensions.shown("marks", request))),
        "holding": holding(desk),
        "editor": editor_address(),
        "around": desk.around(request),
        "can_try": any(one.STARTS for one in desk.listeners),
    }
    common["drafted"] = desk.drafted
    common["shown"] = desk.shown_at
    common["words"] = script_json(dict(rendering.for_scripts(spoken_language())))
    html = linked(render(name, **{**common, **values}), request.scope)
    # A character that UTF-8 cannot encode is shown as its escape.
    response = HTMLResponse(html.encode("utf-8", "backslashreplace"), status_code=status)
    asked = request.query_params.get("lang", "")
    if asked in LANGUAGES:
        remember(response, "lang", asked)
    return response


def holding(desk: Desk) -> tuple[str, ...]:
    """Return what the running taps hold, in one direction or both."""
    patterns = [one for view in desk.board.sessions() for one in view.holds]
    return tuple(dict.fromkeys(re.sub("^(in|out):", "", one) for one in patterns))


@cache
def editor_address() -> str:
    """Return the address of the JSON editor's script; "" in a checkout where it is not built."""
    return f"{rendering.static()}{EDITOR}" if (web_folder() / "static" / EDITOR).is_file() else ""


def remember(response: Response, name: str, value: str) -> None:
    """Store a choice in the browser for a year."""
    response.set_cookie(name, value, max_age=YEAR, path="/", samesite="strict", httponly=True)


_log = logging.getLogger(__name__)

OLD_NAME: Final = "desk.old.log"
QUOTED: Final = 120
"""The number of characters of an error's own text that the log keeps."""


def log_to(folder: Path) -> None:
    """Write the desk's log to its file, and the first line of each record to the terminal."""
    file = folder / LOG_NAME
    handlers: list[logging.Handler] = [LogFile(file, folder / OLD_NAME)]
    if not _is_stderr(file):  # `serve --open` starts a desk with its stderr in the log
        handlers.append(logging.StreamHandler())
        handlers[-1].setFormatter(_FirstLine("%(levelname)s %(asctime)s %(message)s"))
    logging.basicConfig(handlers=handlers, level=logging.WARNING, format=FORMAT)


def _is_stderr(file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(sys.stderr.fileno()), file.stat())
    except (OSError, ValueError, AttributeError):  # there is no stderr
        return False


class _FirstLine(logging.Formatter):
    """Formats the first line of a record; the traceback is only in the log."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).partition("\n")[0]


def note(scope: Scope, error: Exception) -> None:
    """Log an unexpected error with its traceback."""
    _log.error(
        "%s %s: %s",
        scope["method"],
        one_line(scope["path"], QUOTED),
        "\n".join(_traceback_lines(error)),
    )


def _traceback_lines(error: BaseException) -> list[str]:
    """Return the lines of an error, its traceback, and the errors that caused it."""
    lines = [f"{type(error).__name__}: {one_line(str(error), QUOTED)}"]
    lines += "".join(traceback.format_tb(error.__traceback__)).splitlines()
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return [*lines, "after", *_traceback_lines(cause)] if cause is not None else lines


async def on_missing(request: Request, error: Exception) -> Response:
    """Answer that there is no such page, session or exchange."""
    if not request.scope["path"].startswith(API):
        return page(request, "missing.html", 404)
    detail = sentence_of(error) if isinstance(error, StopError) else say(SECTION, "missing.help")
    return AsciiJson({"detail": detail}, status_code=404)


async def on_store(request: Request, error: Exception) -> Response:
    """Answer that the disk did not store something; the text is still in the page."""
    what = desk_of(request).shown(sentence_of(error))
    return in_words(request.scope, 507, what, "trouble.html")


async def on_invalid(request: Request, error: RequestValidationError) -> Response:
    """Return which part of a request is invalid, without repeating its value."""
    places = [".".join(str(part) for part in one["loc"][1:]) for one in error.errors()]
    detail = say(SECTION, "invalid", at=", ".join(places) or "-")
    return in_words(request.scope, 422, detail, at=places)


async def on_refused(request: Request, error: RefusedError | HTTPException) -> Response:
    """Say why the visitor may not do this, or why it cannot be done."""
    if isinstance(error, RefusedError):
        return in_words(request.scope, 403, say(error.section, error.code))
    unknown = error.status_code == 405
    detail = say("refusal", "method") if unknown else str(error.detail)
    return in_words(request.scope, error.status_code, detail)


def in_words(
    scope: Scope, status: int, sentence: str, name: str = "refused.html", **more: object
) -> Response:
    """Return a sentence as a page for people, and as JSON for the interface.

    The page is a separate one, because the usual content may be what failed.
    """
    if scope["path"].startswith(API):
        return AsciiJson({"detail": sentence, **more}, status_code=status)
    again = status == 507 and scope["method"] == "GET"
    html = linked(render(name, why=sentence, again=again), scope)
    return HTMLResponse(html.encode("utf-8", "backslashreplace"), status_code=status)


async def on_unforeseen(request: Request, _error: Exception) -> Response:
    """Answer that an unexpected error occurred, and where it is logged. The guard logs it."""
    # Strangers, and people in somebody else's room, must not learn paths of this computer.
    desk = desk_of(request)
    file = LOG_NAME if request.scope["path"] in PUBLIC else desk.shown(desk.home / LOG_NAME)
    what = say(SECTION, "trouble.what", file=file)
    return in_words(request.scope, 500, what, "trouble.html", log=file)
