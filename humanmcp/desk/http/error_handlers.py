"""What went wrong, said to the one who asked; the unforeseen is written to the desk's log, too.

The log holds where it happened. It holds no query, no header, no cookie and no body; of an error's
own words only the beginning, since they may quote a message.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from typing import TYPE_CHECKING, Final

from fastapi.exceptions import RequestValidationError
from starlette.responses import HTMLResponse

from humanmcp.common.logfile import FORMAT, LogFile
from humanmcp.desk.auth.guard import API, PUBLIC
from humanmcp.desk.auth.visit_path import linked
from humanmcp.desk.http.context import AsciiJson, desk_of, spoken
from humanmcp.desk.http.launch import LOG_NAME
from humanmcp.desk.http.layout import page
from humanmcp.desk.presenters.rendering import ROOM, render
from humanmcp.locales import say
from humanmcp.locales.stop import StopError, sentence_of
from humanmcp.protocol.json.escaping import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Scope

_log = logging.getLogger(__name__)

OLD_NAME: Final = "desk.old.log"
QUOTED: Final = 120
"""Characters of an error's own words that the log keeps."""


def log_to(folder: Path) -> None:
    """Send what the desk has to say to its log, and the first line of it to the terminal."""
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
    """Write the first line of a record: a traceback is for the log."""

    def format(self, record: logging.LogRecord) -> str:
        """Write it."""
        return super().format(record).partition("\n")[0]


def note(scope: Scope, error: Exception) -> None:
    """Write down an error that was not foreseen, with the way to where it happened."""
    _log.error(
        "%s %s: %s",
        scope["method"],
        one_line(scope["path"], QUOTED),
        "\n".join(_traceback_lines(error)),
    )


def _traceback_lines(error: BaseException) -> list[str]:
    """Tell an error, then the way to it, then the error that it came from."""
    lines = [f"{type(error).__name__}: {one_line(str(error), QUOTED)}"]
    lines += "".join(traceback.format_tb(error.__traceback__)).splitlines()
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return [*lines, "after", *_traceback_lines(cause)] if cause is not None else lines


async def on_missing(request: Request, error: Exception) -> Response:
    """Say that there is no such page, session or exchange."""
    if not request.scope["path"].startswith(API):
        return page(request, "missing.html", 404)
    language = spoken(request)
    known = isinstance(error, StopError)
    detail = sentence_of(error, language) if known else say(ROOM, "missing.help", language)
    return AsciiJson({"detail": detail}, status_code=404)


async def on_store(request: Request, error: Exception) -> Response:
    """Say that the disk did not keep something: the text is still in the page."""
    language = spoken(request)
    what = desk_of(request).shown(sentence_of(error, language))
    if request.scope["path"].startswith(API):
        return AsciiJson({"detail": what}, status_code=507)
    # A page of its own: what every page shows may not be had from a full disk.
    again = request.method == "GET"
    text = linked(render("trouble.html", language, what=what, again=again), request.scope)
    return HTMLResponse(text, status_code=507)


async def on_invalid(request: Request, error: Exception) -> Response:
    """Return which member of a body is wrong, without repeating what was in it."""
    if not isinstance(error, RequestValidationError):  # only that is registered for this
        raise error
    places = [".".join(str(part) for part in one["loc"][1:]) for one in error.errors()]
    detail = say(ROOM, "invalid", spoken(request), at=", ".join(places) or "-")
    return AsciiJson({"detail": detail, "at": places}, status_code=422)


async def on_unforeseen(request: Request, _error: Exception) -> Response:
    """Say that something went wrong, and where it stands. The guard writes it down."""
    path: str = request.scope["path"]
    language = spoken(request)
    # Who has not logged in, and who sits in somebody else's room, learns no path of this machine.
    desk = desk_of(request)
    file = LOG_NAME if path in PUBLIC else desk.shown(desk.home / LOG_NAME)
    if path.startswith(API):
        record = {"detail": say(ROOM, "trouble.what", language, file=file), "log": file}
        return AsciiJson(record, status_code=500)
    # A page of its own: what every page shows may be what went wrong.
    text = linked(render("trouble.html", language, file=file), request.scope)
    return HTMLResponse(text, status_code=500)
