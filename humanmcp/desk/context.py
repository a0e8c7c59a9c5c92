"""The values and functions that every page and call needs: `Desk`, rendering, errors."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import traceback
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response

from humanmcp.answering import service
from humanmcp.answering.open_exchange import OpenExchange
from humanmcp.answering.service import Outcome
from humanmcp.common.own_process import FORMAT, LogFile
from humanmcp.demo.steps import weather
from humanmcp.desk import rendering
from humanmcp.desk.book.rules import rules_on
from humanmcp.desk.guard import API
from humanmcp.desk.login import linked
from humanmcp.desk.notices.notices import Looked
from humanmcp.desk.notices.ntfy import PressNotes
from humanmcp.desk.rendering import SECTION, render, web_folder
from humanmcp.desk.rights import PUBLIC, Who
from humanmcp.desk.routing import DeskRoute, RefusedError, who_asks
from humanmcp.inbox.contract import named_author
from humanmcp.inbox.form_drafts import FormDrafts
from humanmcp.launch import LOG_NAME
from humanmcp.locales import LANGUAGES, say, spoken_language
from humanmcp.locales.stop import StopError, sentence_of
from humanmcp.protocol.json.visible import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from starlette.types import Scope

    from humanmcp.answering.service import SendResult
    from humanmcp.demo.steps import LessonSteps
    from humanmcp.desk.board import Board
    from humanmcp.desk.book.saved_answers import Shelf
    from humanmcp.desk.guard import Address
    from humanmcp.desk.live import Live
    from humanmcp.desk.login import Door
    from humanmcp.desk.notices.notices import Target
    from humanmcp.inbox.contract import DeskInbox, Key, Reply
    from humanmcp.protocol.diagnostics.model import Diagnostic

BY: Final = "desk"
"""The author of what a desk sends, but for a teacher's."""


@dataclass(frozen=True, slots=True)
class Desk:
    """A desk: its inbox and everything that its pages need."""

    home: Path
    board: Board
    live: Live
    door: Door
    address: Address
    shelf: Shelf
    book: Path
    language: str = ""
    server_settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings that a server needs to use this desk's inbox."""
    url: str = ""
    """The HTTP address of this desk's server, "" for none."""
    play: Callable[[str], object] = field(default=lambda _language: None)
    """Let a host play a session with this desk, in a language."""
    judged: Callable[[Key, Sequence[Diagnostic], bool], object] = field(
        default=lambda _key, _diagnostics, _sent: None
    )
    """Gets the check's problems of an answer, and whether a person pressed Send."""
    by: str = BY
    """The author of what this desk sends."""
    notices: Sequence[Target] = ()
    """The targets of notices for people who are elsewhere."""
    looked: Looked = field(default_factory=Looked)
    presses: PressNotes = field(default_factory=PressNotes)
    """The button presses on phones that sent nothing."""
    around: Callable[[Request], Mapping[str, Any]] | None = None
    """The context of each page in a room; None elsewhere."""
    lesson_steps: Callable[[str], LessonSteps] = weather
    """Create the lesson of the practice host, in a language."""
    draft_name: Callable[[Key], str] = field(default=lambda key: f"{key.session}/{key.number}")
    """Name the draft of an exchange in a browser: exchanges of one name ask for the same answer."""

    @property
    def inbox(self) -> DeskInbox:
        return self.board.inbox

    @property
    def drafts(self) -> FormDrafts:
        """What people typed into forms and have not sent."""
        return FormDrafts(self.home)

    def drafted(self, place: str, form: str) -> Markup:
        """Return the attributes of a form whose draft is kept, with the draft that there is."""
        key = f"{place} {form}"
        found = self.drafts.find(key)
        kept = "" if found is None else json.dumps({"fields": found.fields, "at": found.at})
        return Markup('data-draft="{}" data-kept="{}"').format(key, kept)

    def check_draft(self, scope: Scope, key: str) -> None:
        """Let a device, and a login of one session, touch the drafts of sessions that it sees only.

        Raises:
            UnknownItemError: the key names another place.
        """
        if who_asks(scope) & (Who.DEVICE | Who.ONE_SESSION):
            self.board.session(re.split("[/ ]", key)[0])

    def shown(self, text: object) -> str:
        """Return a path or a sentence for a page; in a room without this computer's folders."""
        return str(text) if self.around is None else str(text).replace(f"{self.home}{os.sep}", "")

    def device_link(self, name: str) -> str:
        """Return a link that logs in one device, once, within 15 minutes."""
        return f"{self.address.elsewhere}/login#k={self.door.new_key(device=name)}"

    def open_exchange(self, key: Key) -> OpenExchange:
        """Return an exchange as it is now.

        Raises:
            UnknownItemError: there is none.
        """
        return OpenExchange(self.inbox, self.inbox.item(key), self.board.session(key.session).facts)

    def send(self, key: Key, reply: Reply) -> SendResult:
        """Send a reply, and read its exchange again at once."""
        reply = reply._replace(by=self.by)
        result = service.send(self.open_exchange(key), reply, wake=self.board.wait)
        self.board.refresh(*key)
        if result.outcome not in {Outcome.OVER, Outcome.TAKEN}:
            self.judged(key, result.diagnostics, True)  # noqa: FBT003 - one of three
        return result


def desk_of(request: Request) -> Desk:
    """Return the desk of a request: the application's, unless another one is set."""
    desk = getattr(request.state, "desk", None) or request.app.state.desk
    if not isinstance(desk, Desk):  # `make_app` puts it there
        raise TypeError(type(desk))
    return desk


LONGEST_CALLED: Final = 40
"""The maximum length of the name that a person chooses, in characters."""


class AsciiJson(JSONResponse):
    """JSON in ASCII: JSON may contain a lone surrogate, and UTF-8 may not."""

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - any JSON value
        return json.dumps(
            content, ensure_ascii=True, separators=(",", ":"), default=asdict
        ).encode()


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
        "device": device_of(request),
        "notices": desk.notices,
        "rules_on": rules_on(desk.book),
        "holding": holding(desk),
        "editor": editor_address(),
        "around": desk.around(request) if desk.around is not None else None,
    }
    common["drafted"] = desk.drafted
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
    known = isinstance(error, StopError)
    detail = sentence_of(error) if known else say(SECTION, "missing.help")
    return AsciiJson({"detail": detail}, status_code=404)


async def on_store(request: Request, error: Exception) -> Response:
    """Answer that the disk did not store something; the text is still in the page."""
    what = desk_of(request).shown(sentence_of(error))
    if request.scope["path"].startswith(API):
        return AsciiJson({"detail": what}, status_code=507)
    # A separate page, because the usual content may need the full disk.
    again = request.method == "GET"
    text = linked(render("trouble.html", what=what, again=again), request.scope)
    return HTMLResponse(text, status_code=507)


async def on_invalid(request: Request, error: Exception) -> Response:
    """Return which part of a request is invalid, without repeating its value."""
    if not isinstance(error, RequestValidationError):  # registered for this only
        raise error
    places = [".".join(str(part) for part in one["loc"][1:]) for one in error.errors()]
    detail = say(SECTION, "invalid", at=", ".join(places) or "-")
    return in_words(request.scope, 422, detail, at=places)


async def on_refused(request: Request, error: Exception) -> Response:
    """Say why the visitor may not do this, or why it cannot be done."""
    if isinstance(error, RefusedError):
        return in_words(request.scope, 403, say(error.section, error.code))
    if not isinstance(error, HTTPException):  # registered for these two
        raise error
    unknown = error.status_code == 405
    detail = say("refusal", "method") if unknown else str(error.detail)
    return in_words(request.scope, error.status_code, detail)


def in_words(scope: Scope, status: int, sentence: str, **more: object) -> Response:
    """Return a sentence as a page for people, and as JSON for the interface."""
    if scope["path"].startswith(API):
        return AsciiJson({"detail": sentence, **more}, status_code=status)
    html = linked(render("refused.html", why=sentence), scope)
    return HTMLResponse(html.encode("utf-8", "backslashreplace"), status_code=status)


async def on_unforeseen(request: Request, _error: Exception) -> Response:
    """Answer that an unexpected error occurred, and where it is logged. The guard logs it."""
    path: str = request.scope["path"]
    # Strangers, and people in somebody else's room, must not learn paths of this computer.
    desk = desk_of(request)
    file = LOG_NAME if path in PUBLIC else desk.shown(desk.home / LOG_NAME)
    if path.startswith(API):
        record = {"detail": say(SECTION, "trouble.what", file=file), "log": file}
        return AsciiJson(record, status_code=500)
    # A separate page, because the usual content may be what failed.
    text = linked(render("trouble.html", file=file), request.scope)
    return HTMLResponse(text, status_code=500)
