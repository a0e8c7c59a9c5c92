"""The bytes of a picture or a sound in a message, for the pages that show it."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from humanmcp.desk.http.context import desk_of
from humanmcp.desk.presenters.rendering import media_in
from humanmcp.inbox.contract import Key, UnknownItemError

router: Final = APIRouter()


@router.get("/media/{name}/{where}/{number}/{at}")
def medium(request: Request, name: str, where: str, number: int, at: int) -> Response:
    """Send the medium that comes as number `at` in a line, a request, or an answer."""
    found = media_in(_line(request, name, where, number))
    if not 0 <= at < len(found):
        raise UnknownItemError(name, line=number)
    kept = {"Cache-Control": "private, max-age=3600"}
    return Response(found[at].decoded(), media_type=found[at].mime, headers=kept)


def _line(request: Request, name: str, where: str, number: int) -> str:
    desk = desk_of(request)
    desk.board.session(name)
    if where == "line":
        frames = desk.inbox.last_frames_before(name, number + 1, 1)
        return frames[0].text if frames and frames[0].seq == number else ""
    item = desk.inbox.item(Key(name, number))
    if where == "asked":
        return item.line
    return item.answer.line if item.answer else ""
