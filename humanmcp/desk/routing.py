"""The routes of the desk: who may use each (`rights.TABLE`), and how the body is read.

Theory of operation. One event loop serves everybody. So a body has a bounded size, and a large one
is read in a thread, in short steps: a thread lets nobody else continue within one call of C. What
is then done with it is done apart (`common/apart.py`), until the page has gone.
"""

from __future__ import annotations

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, TypeVarTuple, cast
from urllib.parse import unquote_to_bytes

from fastapi import Depends, HTTPException, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from humanmcp.common import apart
from humanmcp.common.apart import LARGE, SMALL, VISITOR
from humanmcp.desk import rights
from humanmcp.desk.aside import CAN_START, PageVisitor
from humanmcp.desk.rights import Who
from humanmcp.inbox.contract import UnknownItemError
from humanmcp.locales import say
from humanmcp.protocol.json.undecoded import has_many_values

if TYPE_CHECKING:
    import enum
    from collections.abc import Callable, Coroutine, Mapping

    from starlette.types import Scope

    from humanmcp.desk.rights import Entry

_Given = TypeVarTuple("_Given")
_Found = TypeVar("_Found")

MOST_FIELDS: Final = 500
"""The maximum number of fields of a form: our longest has 80 rows of five."""
MOST_MEMBERS: Final = 1000
"""The maximum number of values in a large record, which may have the fields of a form."""
MOST_VALUES: Final = 150_000
"""The maximum number of values and lines in a long text of anybody but the owner."""
MOST_OWN_VALUES: Final = 1_000_000
"""The same from the owner: Python decodes a million values in one step of less than 0.1 s."""
_PIECE: Final = 16 * 1024
_READING: Final = ThreadPoolExecutor(1, thread_name_prefix="reading")
"""One thread: many that compute would keep the event loop waiting."""


WHY_NOT: Final = {
    Who.DEVICE: "device",
    Who.ONE_SESSION: "one session",
    Who.OWNER: "token only",
    Who.SCRIPT: "seat",
}
"""Why somebody may not do something; "seat" for the visitors of a desk that is hosted."""


class RefusedError(Exception):
    """The visitor may not do this. The sentence that says why has a section and a code."""

    def __init__(self, section: str, code: str) -> None:
        super().__init__(section, code)
        self.section, self.code = section, code


class DeskRoute(APIRoute):
    """A route whose function runs only for those who may use it, with a body that was read."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401 - FastAPI's own
        super().__init__(path, endpoint, **options)
        own = getattr(sys.modules[endpoint.__module__], "RIGHTS", rights.TABLE)
        self._entries: Mapping[str, Entry] = {
            method: own[f"{method} {path}"] for method in self.methods or ()
        }

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_if_allowed(request: Request) -> Response:
            request = ReadRequest(request.scope, request.receive)
            await _check(request, self._entries[request.method])
            visitor = PageVisitor(request)
            VISITOR.set(visitor if CAN_START else None)
            try:
                return await handle(request)
            finally:
                visitor.leave()

        return handle_if_allowed


class CallRoute(DeskRoute):
    """A call of the interface whose response is sent as it is.

    The annotation of its function is the type of the response: mypy checks it, and the reference is
    made from it. FastAPI would validate every response, and create models at each start.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401 - FastAPI's own
        in_loop = asyncio.iscoroutinefunction(endpoint)
        called = endpoint if in_loop else _in_json(endpoint)
        super().__init__(path, called, **{**options, "response_model": None})


class JsonText(str):
    """The JSON of a result."""

    __slots__ = ()


def json_text(result: Any) -> JsonText:  # noqa: ANN401 - any JSON value
    """Write a result in ASCII: JSON may contain a lone surrogate, and UTF-8 may not."""
    return JsonText(json.dumps(result, separators=(",", ":"), default=asdict))


def written(size: int, function: Callable[[*_Given], _Found], *given: *_Given) -> _Found:
    """Return the `Response` with what a function of a module returns about messages.

    `size` is theirs, in bytes: about large ones it is called apart.
    """
    text = apart.call(size, _as_bytes, function, *given, at_once=LARGE)
    return cast("_Found", Response(text, media_type="application/json"))


def _as_bytes(function: Callable[..., Any], *given: object) -> bytes:
    return json_text(function(*given)).encode()


def _in_json(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Let the thread of a function write its result, not the event loop, where all others wait."""

    @wraps(endpoint)
    def call(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - the function's own
        result = endpoint(*given, **named)
        return result if isinstance(result, Response) else json_text(result)

    return call


class ReadRequest(Request):
    """A request whose JSON is read in short steps; the guard bounds its size."""

    async def body(self) -> bytes:
        """Return the body, with its parts joined aside: that is one call of C, too."""
        if not hasattr(self, "_body"):  # where Starlette looks for it
            parts = [part async for part in self.stream()]
            self._body = await _aside(sum(map(len, parts)), b"".join, parts)
        return self._body

    async def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """Return the body.

        Raises:
            JSONDecodeError: it is not JSON, or more than a record of texts.
        """
        if not hasattr(self, "_json"):  # likewise
            try:
                body = await self.body()
                read = json.loads if len(body) <= SMALL else read_record
                self._json = await _aside(len(body), read, body)
            except (ValueError, RecursionError) as error:
                raise json.JSONDecodeError(str(error), "", 0) from error
        return self._json


async def _check(request: Request, entry: Entry) -> None:
    """Read the form of a request, and refuse what its visitor may not do.

    Raises:
        RefusedError: this visitor may not do this.
        UnknownItemError: nobody may: the table does not know the act.
        HTTPException: the form has too many fields.
    """
    state, who = request.scope.setdefault("state", {}), who_asks(request.scope)
    if not _may(request.scope, entry.who):
        raise _refused(who)
    if request.method != "POST":
        return
    halted = state.get("halted")
    if halted and entry.writes:
        raise RefusedError(*halted)
    if "body" in state:
        state["body"].limit(entry.largest(who))
    if not entry.is_file:
        await _check_record(request, entry, who)


async def _check_record(request: Request, entry: Entry, who: Who) -> None:
    """Read a form or a record, and refuse what its visitor may not do."""
    body = await request.body()
    if request.url.path.startswith("/api/"):
        record = await _record(request)
    else:
        record = await _aside(len(body), read_form, body)
        request.scope["state"]["form"] = record
    most = MOST_OWN_VALUES if who & rights.HERE else MOST_VALUES
    if await _aside(len(body), is_heavy, record, most):
        raise HTTPException(413, say("refusal", "heavy"))
    if not entry.acts:
        return
    stated = record.get(entry.member, entry.default)
    act = stated if isinstance(stated, str) else entry.default
    allowed = entry.allowed(act)
    if allowed is None:
        raise UnknownItemError(act)
    if not _may(request.scope, allowed):
        raise _refused(who)


async def _record(request: Request) -> dict[str, Any]:
    """Return the body of a call; {} for one that is wrong: it reaches no function."""
    try:
        record = await request.json()
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def is_heavy(record: Mapping[str, Any], most: int) -> bool:
    """Return True if the check of a text in it would keep others waiting: of a list of lists."""
    texts = [one for one in record.values() if isinstance(one, str) and len(one) > SMALL]
    return sum(text.count(mark) for text in texts for mark in "[{,\n") > most


def who_asks(scope: Scope) -> Who:
    """Return who sent a request, as the guard or an extension's site found out."""
    who = scope.get("state", {}).get("who")
    return who if isinstance(who, Who) else Who.STRANGER


def _may(scope: Scope, allowed: enum.Flag) -> bool:
    """Return True if who sent a request is among those: as `Who`, or as a site tells them apart."""
    role = who_asks(scope) if isinstance(allowed, Who) else scope["state"].get("role")
    return isinstance(role, type(allowed)) and bool(role & allowed)


def _refused(who: Who) -> RefusedError:
    return RefusedError("refusal", WHY_NOT.get(who, "seat"))


# -- bodies ---------------------------------------------------------------------------------------


async def _aside(size: int, read: Callable[[*_Given], _Found], *given: *_Given) -> _Found:
    """Call a function about a small body here, and about a large one in the thread."""
    if size <= SMALL:
        return read(*given)
    return await asyncio.get_running_loop().run_in_executor(_READING, read, *given)


async def form_values(request: Request) -> dict[str, str]:
    """Return the form of a page; the last of several fields with the same name."""
    found: dict[str, str] = request.scope["state"]["form"]
    return found


FormValues = Annotated[dict[str, str], Depends(form_values)]


def number_of(text: str) -> int:
    """Read a number that a form holds; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


def read_form(body: bytes) -> dict[str, str]:
    """Read a form of a page, with line feeds as they were typed: browsers send CR LF.

    Raises:
        HTTPException: it has more fields than any form of ours.
    """
    fields = body.split(b"&", MOST_FIELDS)
    if len(fields) > MOST_FIELDS:
        raise HTTPException(400, say("desk", "form.fields"))
    pairs = (field.partition(b"=") for field in fields if field)
    return {_decoded(name): _decoded(value).replace("\r\n", "\n") for name, _, value in pairs}


def _decoded(value: bytes) -> str:
    """Decode a part of a form in pieces, none of which ends within `%41`."""
    pieces, at = [], 0
    value = value.replace(b"+", b" ")
    while at < len(value):
        end = at + _PIECE
        end -= next((back for back in (1, 2) if value[end - back : end - back + 1] == b"%"), 0)
        pieces.append(unquote_to_bytes(value[at:end]))
        at = end
    return b"".join(pieces).decode("utf-8", "replace")


def read_record(body: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Read a large JSON body: texts as long as they like, and few other values.

    Raises:
        JSONDecodeError: it is not JSON, or has many values.
        UnicodeDecodeError: it is not UTF-8.
    """
    text = body.decode("utf-8")
    if has_many_values(text, MOST_MEMBERS):
        raise json.JSONDecodeError("too many values", "", 0)
    return json.loads(text)
