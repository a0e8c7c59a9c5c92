"""What every page and call of the interface needs, in one value, and how each answer is written."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from fastapi.routing import APIRoute
from starlette.responses import JSONResponse

from humanmcp.answering import service
from humanmcp.answering.case import Case
from humanmcp.demo.steps import weather
from humanmcp.desk.presenters.rendering import language_of
from humanmcp.protocol.json.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from fastapi import Request

    from humanmcp.answering.service import SendResult
    from humanmcp.demo.steps import Course
    from humanmcp.desk.auth.guard import Address
    from humanmcp.desk.auth.login import Door
    from humanmcp.desk.state.board import Board
    from humanmcp.desk.state.live import Live
    from humanmcp.desk.state.saved_answers import Shelf
    from humanmcp.inbox.contract import DeskInbox, Key, Reply
    from humanmcp.protocol.diagnostics.model import Diagnostic

BY: Final = "desk"
"""How this desk signs what it sends."""


@dataclass(frozen=True, slots=True)
class Desk:
    """A desk: its inbox and everything that stands around it."""

    home: Path
    board: Board
    live: Live
    door: Door
    address: Address
    shelf: Shelf
    book: Path
    language: str = ""
    server_settings: Mapping[str, Any] = field(default_factory=dict)
    """What a server must be told, as settings, to meet this desk."""
    url: str = ""
    """Where a server of this desk is reached over HTTP, "" for nowhere."""
    play: Callable[[str], object] = field(default=lambda _language: None)
    """Let a host play a session against this desk, in a language."""
    judged: Callable[[Key, Sequence[Diagnostic], bool], object] = field(
        default=lambda _key, _diagnostics, _sent: None
    )
    """Told what the check says of an answer, and whether a person wanted to send it."""
    around: Callable[[Request], Mapping[str, Any]] | None = None
    """What stands around each page of a desk in a room; None elsewhere."""
    course: Callable[[str], Course] = weather
    """Makes the lesson of the practice host, in a language."""

    @property
    def inbox(self) -> DeskInbox:
        """Where the exchanges wait."""
        return self.board.inbox

    def shown(self, text: object) -> str:
        """Return a path or a sentence for a page; in a room without folders of its computer."""
        return str(text) if self.around is None else str(text).replace(f"{self.home}{os.sep}", "")

    def case(self, key: Key) -> Case:
        """Return an exchange as it is now.

        Raises:
            UnknownItemError: there is none.
        """
        return Case(self.inbox, self.inbox.item(key), self.board.session(key.session).facts)

    def send(self, key: Key, reply: Reply) -> SendResult:
        """Send a reply, and look again at its exchange at once."""
        result = service.send(self.case(key), reply._replace(by=BY), wake=self.board.wait)
        self.board.refresh(*key)
        self.judged(key, result.diagnostics, True)  # noqa: FBT003 - one of three
        return result


def desk_of(request: Request) -> Desk:
    """Return the desk that a request came to: the application's, unless it is for another."""
    desk = getattr(request.state, "desk", None) or request.app.state.desk
    if not isinstance(desk, Desk):  # `make_app` puts it there
        raise TypeError(type(desk))
    return desk


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
