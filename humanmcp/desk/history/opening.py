"""Open a recording from elsewhere as a session to read, and show what is wrong in a session."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

import os
from collections.abc import Sequence
from typing import Any, Final

from fastapi import HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse

from humanmcp.answering.alone import count_problems
from humanmcp.answering.schema import TypedDict, diagnostic_shapes
from humanmcp.common.timestamps import now
from humanmcp.desk.context import call_router, desk_of, page, page_router
from humanmcp.desk.desk import Desk
from humanmcp.desk.history.problems import MOST_CHECKED
from humanmcp.desk.rendering import SECTION
from humanmcp.desk.routing import MOST_OWN_VALUES, is_heavy
from humanmcp.export.recording import Recording, build_conversation, frames_in
from humanmcp.inbox.contract import Role, SessionFacts
from humanmcp.locales import say
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.transcript import Frame
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.validation.whole_conversation import Judged

router: Final = page_router()
calls: Final = call_router()

LONGEST_NAME: Final = 60
AT_ONCE: Final = 1000
"""The number of lines that are written at once."""
MOST_SHOWN: Final = 200
"""The maximum number of messages with problems that the page shows."""


class OpenedShape(TypedDict):
    """The session that was made of a recording, and the address of its page."""

    session: str
    address: str


@calls.post("/recordings")
async def open_recording(request: Request, name: str = "") -> OpenedShape:
    """Open a file as a session to read. The body is the file, in any form that `check` reads.

    Nothing is sent to anybody: the session is over.
    """
    content = await request.body()
    session = await run_in_threadpool(
        _open, desk_of(request), one_line(name, LONGEST_NAME), content
    )
    return {"session": session, "address": f"/check/{session}"}


def _open(desk: Desk, name: str, content: bytes) -> str:
    """Record a file as a session that is over. Return its name."""
    if is_heavy({"text": content.decode("latin-1")}, MOST_OWN_VALUES):
        raise HTTPException(413, say(SECTION, "open.heavy"))
    try:
        frames = frames_in(content, name or say(SECTION, "open.pasted"))
    except StopError as error:
        raise HTTPException(422, error.sentence()) from error
    conversation = build_conversation(Recording(name, frames))
    negotiated = conversation.negotiated
    facts = SessionFacts(
        name="",
        started=now(),
        role=Role.READER,
        pid=os.getpid(),
        client=negotiated.client_name,
        client_version=negotiated.client_version,
        protocol_version=conversation.version,
        title=name,
    )
    facts = facts._replace(name=desk.inbox.begin_session(facts))
    try:
        numbered = _numbered(frames)
        for start in range(0, len(numbered), AT_ONCE):
            desk.inbox.record(facts.name, *numbered[start : start + AT_ONCE])
        desk.inbox.describe(facts, negotiated)
    finally:
        desk.inbox.end(facts.name)
    return facts.name


def _numbered(frames: Sequence[Frame]) -> list[Frame]:
    """Return lines with numbers from 1. One without a time has that of the line before it."""
    found: list[Frame] = []
    at = ""
    for seq, frame in enumerate(frames, 1):
        at = frame.at or at
        found.append(frame._replace(seq=seq, at=at, number=0))
    return found


@router.get("/check/{name}")
def check(request: Request, name: str) -> HTMLResponse:
    """Show what the check says of the messages of a session, the first ones if it is long."""
    desk = desk_of(request)
    view = desk.board.session(name)
    checked = desk.problems.of(desk.inbox, view)
    return page(
        request,
        "history/check.html",
        view=view,
        checked=checked.messages,
        counted=count_problems([each for one in checked.wrong for each in one.diagnostics]),
        wrong=[wrong_line(one) for one in checked.wrong[:MOST_SHOWN]],
        more=max(0, len(checked.wrong) - MOST_SHOWN),
        most=MOST_CHECKED if checked.is_cut else 0,
    )


def wrong_line(judged: Judged) -> dict[str, Any]:
    """Return a message with problems, as the page shows it."""
    told = (one._replace(line=one.line and judged.line) for one in judged.diagnostics)
    return {
        "seq": judged.line,
        "direction": judged.direction,
        "method": f"{judged.method} {judged.id}".strip(),
        "text": one_line(judged.text, LONGEST_NAME * 3),
        "problems": diagnostic_shapes(told),
    }
