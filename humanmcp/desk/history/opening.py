"""Open a recording from elsewhere as a session to read, and show what is wrong in a session."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

import os
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, NoReturn

from fastapi import HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse

from humanmcp.answering.alone import count_problems
from humanmcp.answering.schema import TypedDict, diagnostic_shapes
from humanmcp.common import apart
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
from humanmcp.protocol.conversation.exchange import NegotiatedState
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
MOST_REMARKS: Final = 20
"""The maximum number of sentences about the file: most quote the program that wrote it."""


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
    name = one_line(name, LONGEST_NAME)
    session = await run_in_threadpool(_record, desk_of(request), content, name)
    return {"session": session, "address": f"/check/{session}"}


class _Refusal(NamedTuple):
    """Why a file makes no session: the status of the response and its sentence."""

    status: int
    sentence: str

    def tell(self) -> NoReturn:
        raise HTTPException(self.status, self.sentence)


class _Session(NamedTuple):
    """The session that a file makes."""

    facts: SessionFacts
    negotiated: NegotiatedState


def _read(content: bytes, name: str) -> Iterator[_Refusal | _Session | list[Frame]]:
    """Yield the session that a file makes and then its lines, or why it makes none."""
    if is_heavy({"text": content.decode("latin-1")}, MOST_OWN_VALUES):
        yield _Refusal(413, say(SECTION, "open.heavy"))
        return
    try:
        frames = frames_in(content, name or say(SECTION, "open.pasted"))
    except StopError as error:
        yield _Refusal(422, error.sentence())
        return
    conversation = build_conversation(Recording(name, frames))
    negotiated = conversation.negotiated
    yield _Session(
        SessionFacts(
            name="",
            started=now(),
            role=Role.READER,
            client=negotiated.client_name,
            client_version=negotiated.client_version,
            protocol_version=conversation.version,
            title=name,
        ),
        negotiated,
    )
    numbered = _numbered(frames)
    for start in range(0, len(numbered), AT_ONCE):
        yield numbered[start : start + AT_ONCE]


def _record(desk: Desk, content: bytes, title: str) -> str:
    """Record a file as a session that is over. Return its name."""
    parts = apart.items(len(content), _read, content, title)
    name = ""
    described: _Session | None = None
    try:
        for part in parts:
            if isinstance(part, _Refusal):
                part.tell()
            elif isinstance(part, _Session):
                facts = part.facts._replace(pid=os.getpid())
                name = desk.inbox.begin_session(facts)
                described = part._replace(facts=facts._replace(name=name))
            else:
                desk.inbox.record(name, *part)
        if described is not None:
            desk.inbox.describe(*described)
    except BaseException:
        if name:
            desk.inbox.end(name)
            desk.inbox.forget_session(name)
        raise
    desk.inbox.end(name)
    return name


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
        remarks=[one.sentence for one in checked.remarks[:MOST_REMARKS]],
    )


def wrong_line(judged: Judged) -> dict[str, Any]:
    """Return a message with problems, as the page shows it."""
    told = (one._replace(line=one.line and judged.line) for one in judged.diagnostics)
    return {
        "seq": judged.line,
        "at": judged.written_at.partition(":"),
        "direction": judged.direction,
        "method": f"{judged.method} {judged.id}".strip(),
        "text": one_line(judged.text, LONGEST_NAME * 3),
        "problems": diagnostic_shapes(told),
    }
