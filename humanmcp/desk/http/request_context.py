"""How every answer of the desk is written: to whom, in which language, when, as which JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from fastapi.routing import APIRoute
from starlette.responses import JSONResponse

from humanmcp.desk.http.context import desk_of
from humanmcp.desk.presenters.rendering import language_of
from humanmcp.protocol.json.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import Request


LONGEST_CALLED: Final = 40
"""Characters of the name that a person gives themselves."""


class AsciiJson(JSONResponse):
    """JSON in ASCII: a lone surrogate is a legal part of a JSON text, and not of UTF-8."""

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - any JSON value
        """Write the value."""
        return json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode()


class CallRoute(APIRoute):
    """A call of the interface, whose answer goes out as it was made.

    The annotation of its function is the shape of the answer: mypy holds the code to it, and the
    reference is made from it. FastAPI would read every answer once more, and make a model of each
    shape whenever the desk starts.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401 - FastAPI's own
        super().__init__(path, endpoint, **{**options, "response_model": None})


def spoken(request: Request) -> str:
    """Choose the language of an answer."""
    return language_of(
        request.query_params.get("lang", ""),
        request.cookies.get("lang", ""),
        request.headers.get("accept-language", ""),
        desk_of(request).language,
    )


def called(request: Request) -> str:
    """Return the name that a person gave themselves in this browser, "" for none."""
    return visible(unquote(request.cookies.get("name", ""))[:LONGEST_CALLED])


def script_json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a value for a data block of a page: nothing in it may end the block."""
    # ASCII only: a lone surrogate, which JSON can carry, has no place in a page's UTF-8.
    text = json.dumps(value, ensure_ascii=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
