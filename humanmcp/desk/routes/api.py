"""The page's JSON interface: whatever the page can do, a script can do, under the same checks.

A browser is known by its cookie; a script shows the token of `desk.json` as
`Authorization: Bearer …`. Every POST carries JSON. `GET /api/openapi.json` describes each call.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from typing import Final

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from humanmcp.answering.reactions import reactions
from humanmcp.answering.schema import filled
from humanmcp.answering.schema.exchanges import ExchangeShape, exchange_shape, waiting_row_shape
from humanmcp.answering.schema.interface import (
    CallShape,
    CallsShape,
    LineRowShape,
    LineShape,
    LinesShape,
    NotedShape,
    ReactionShape,
    ReactionsShape,
    SessionShape,
    SessionsShape,
    StateShape,
    WaitingShape,
)
from humanmcp.answering.summary import calls
from humanmcp.desk.http.context import AsciiJson, CallRoute, desk_of
from humanmcp.desk.state import history
from humanmcp.desk.state.board import MOST, EventStream, report
from humanmcp.inbox.contract import Key, UnknownItemError
from humanmcp.locales import say
from humanmcp.protocol.json.tree import pretty

MOST_CALLS: Final = 1000
"""Requests that are listed at once."""

router: Final = APIRouter(prefix="/api", default_response_class=AsciiJson, route_class=CallRoute)


@router.get("/state")
def state(request: Request, since: int = -1) -> StateShape:
    """Return what changed since a version, for clients without the live stream."""
    board = desk_of(request).board
    changes = () if since < 0 else board.since(since)
    return {
        "version": board.version,
        "waiting": board.count(),
        "streams": desk_of(request).live.streams,
        "changes": report(changes),
    }


@router.post("/looking")
def looking(request: Request) -> NotedShape:
    """Note that somebody looks at a page: meanwhile the desk sends no notices elsewhere."""
    desk_of(request).looked.now()
    return {"noted": True}


@router.get("/events")
async def events(request: Request, after: int = -1) -> Response:
    """Open the live stream (server-sent events). It says what changed, without the content.

    `after`, or the header `Last-Event-ID`, continues after a change. After `hello` come `change`
    events with `version` and `changes`. `ping` comes every two or three seconds without news. `bye`
    ends the stream, when the desk or the login session ends.
    """
    desk = desk_of(request)
    if desk.live.streams >= MOST:
        raise HTTPException(503, say("desk", "streams.full"))
    last = request.headers.get("last-event-id", "")
    start = int(last) if last.isascii() and last.isdigit() and len(last) < 18 else after
    visit = getattr(request.state, "visit", "")
    return EventStream(desk.live, desk.door, visit=visit, after=start)


@router.get("/sessions")
def sessions(request: Request) -> SessionsShape:
    """List the sessions, newest first."""
    return {
        "sessions": [
            filled(SessionShape, one.facts, letter=one.badge.letter, waiting=one.waiting)
            for one in desk_of(request).board.sessions()
        ]
    }


@router.get("/exchanges")
def exchanges(request: Request, session: str = "") -> WaitingShape:
    """List the requests that wait for an answer, oldest first; of one session, or of all."""
    rows = desk_of(request).board.waiting(session)
    return {"waiting": [waiting_row_shape(row) for row in rows]}


@router.get("/exchanges/{session}/{number}")
def exchange(request: Request, session: str, number: int) -> ExchangeShape:
    """Return one exchange, whatever its state, with the draft as it is now.

    `line` is the request as received, `id` its id as text, `document` the whole message of the
    draft. `problems` says why the last reply was not sent, `remarks` what the check reports about
    the request.
    """
    return exchange_shape(desk_of(request).case(Key(session, number)))


@router.get("/history")
def past(request: Request, q: str = "", session: str = "", seq: int = 0) -> LinesShape:
    """Search all transcripts as the page does, the newest lines first.

    `session` and `seq` continue from `further` of the answer before.
    """
    start = (session, seq) if session and seq > 0 else None
    found = history.look(desk_of(request).board, history.parse(q), start=start)
    return {
        "lines": [
            filled(
                LineRowShape,
                step,
                way="in" if step.inwards else "out",
                method=step.word,
                bytes=step.size,
            )
            for step in found.steps
        ],
        "further": None if found.further is None else list(found.further),
    }


@router.get("/calls")
def made_calls(
    request: Request, session: str = "", method: str = "", name: str = "", most: int = MOST_CALLS
) -> CallsShape:
    """List the requests of clients, with the answers: for tests of a client.

    `session`, `method` and `name` (of a tool or a prompt, or an address) are filters. The last
    `most` requests are listed.
    """
    desk = desk_of(request)
    named = [one.facts.name for one in reversed(desk.board.sessions())]
    found = [
        (one, call)
        for one in ([session] if session else named)
        for call in calls(desk.inbox.frames(one))
        if method in ("", call.method) and name in ("", call.name)
    ]
    return {
        "calls": [
            filled(CallShape, call, session=one, answer=call.answer or None)
            for one, call in found[-max(1, min(most, MOST_CALLS)) :]
        ]
    }


@router.get("/sessions/{session}/reactions")
def client_reactions(request: Request, session: str) -> ReactionsShape:
    """Return the client's reactions to list changes, questions, progress, late and wrong answers.

    `became` is a code, `sentence` the same in words; `after` is in seconds.
    """
    desk = desk_of(request)
    desk.inbox.facts(session)
    return {
        "reactions": [
            filled(ReactionShape, one, sentence=one.sentence())
            for one in reactions(desk.inbox.frames(session))
        ]
    }


@router.get("/sessions/{session}/lines/{seq}")
def line(request: Request, session: str, seq: int) -> LineShape:
    """Return one recorded line, verbatim and formatted."""
    frames = desk_of(request).inbox.last_frames_before(session, seq + 1, 1)
    if not frames or frames[0].seq != seq:
        raise UnknownItemError(session, line=seq)
    return {"seq": seq, "raw": frames[0].text, "pretty": pretty(frames[0].text)}
