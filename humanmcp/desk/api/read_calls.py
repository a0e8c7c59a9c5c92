"""The JSON interface: a script can do what the page can do, under the same checks.

A browser sends its cookie; a script sends the token of `desk.json` as `Authorization: Bearer …`.
Every POST has a JSON body. `GET /api/openapi.json` describes each call.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

import secrets
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import HTTPException, Request
from starlette.responses import Response

from humanmcp.answering.reactions import reactions
from humanmcp.answering.schema import (
    ExchangeShape,
    TypedDict,
    WaitingRowShape,
    exchange_shape,
    filled,
    waiting_row_shape,
)
from humanmcp.answering.service import Outcome, await_result
from humanmcp.answering.summary import calls
from humanmcp.common import apart
from humanmcp.desk.context import call_router, desk_of
from humanmcp.desk.desk import Desk
from humanmcp.desk.history import search
from humanmcp.desk.history.search import earlier_draft
from humanmcp.desk.inbox.answer_form import form_of
from humanmcp.desk.inbox.saved_answers import Saved
from humanmcp.desk.inbox.waiting_list import ListFilter
from humanmcp.desk.live import MOST, ChangeShape, EventStream, report
from humanmcp.desk.routing import written
from humanmcp.desk.send.send_page import request_text
from humanmcp.inbox.contract import Key, Life, Reply, Role
from humanmcp.locales import say
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import Message, RequestId, read
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.session import cancellation
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.schemas import Schemas
from humanmcp.protocol.validation import starting_draft

MOST_CALLS: Final = 1000
"""The maximum number of requests in one list."""

router: Final = call_router()


class StateShape(TypedDict):
    """The state of the desk, and what changed."""

    version: int
    waiting: int
    streams: int
    changes: list[ChangeShape]


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


class NotedShape(TypedDict):
    """The acknowledgement that somebody looks at a page."""

    noted: bool


@router.post("/looking")
def looking(request: Request) -> NotedShape:
    """Record that somebody looks at a page: meanwhile nobody needs to be told elsewhere."""
    for one in desk_of(request).listeners:
        one.looked()
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
    login = getattr(request.state, "login", "")
    return EventStream(desk.live, desk.door, login=login, after=start)


class SessionShape(TypedDict):
    """A session. `stuck`: the client stopped reading. `waiting`: the number of waiting requests."""

    name: str
    letter: str
    client: str
    client_version: str
    protocol_version: str
    title: str
    role: Role
    life: Life
    stuck: bool
    started: str
    waiting: int


class SessionsShape(TypedDict):
    """All sessions, newest first."""

    sessions: list[SessionShape]


@router.get("/sessions")
def sessions(request: Request) -> SessionsShape:
    """List the sessions, newest first."""
    return {
        "sessions": [
            filled(SessionShape, one.facts, letter=one.badge.letter, waiting=one.waiting)
            for one in desk_of(request).board.sessions()
        ]
    }


class WaitingShape(TypedDict):
    """The waiting requests, the oldest first."""

    waiting: list[WaitingRowShape]


@router.get("/exchanges")
def exchanges(request: Request, session: str = "") -> WaitingShape:
    """List the requests that wait for an answer, oldest first; of one session, or of all."""
    rows = ListFilter(session).rows(desk_of(request).board)
    return {"waiting": [waiting_row_shape(row) for row in rows]}


@router.get("/exchanges/{session}/{number}")
def exchange(request: Request, session: str, number: int) -> ExchangeShape:
    """Return one exchange, whatever its state, with the draft as it is now.

    `line` is the request as received, `id` its id as text, `document` the whole message of the
    draft. `problems` says why the last reply was not sent, `remarks` what the check reports about
    the request.
    """
    opened = desk_of(request).open_exchange(Key(session, number))
    return written(len(opened.item.line), copy, exchange_shape(opened))


class LineRowShape(TypedDict):
    """A recorded line, in a list."""

    session: str
    seq: int
    at: str
    number: int
    way: str
    kind: str
    method: str
    gist: str
    by: str
    bytes: int


class LinesShape(TypedDict):
    """Recorded lines, newest first, and the session and line to continue from."""

    lines: list[LineRowShape]
    further: list[Any] | None


@router.get("/history")
def past(request: Request, q: str = "", session: str = "", seq: int = 0) -> LinesShape:
    """Search all transcripts as the page does, the newest lines first.

    `session` and `seq` continue from `further` of the answer before.
    """
    start = (session, seq) if session and seq > 0 else None
    found = search.look(desk_of(request).board, search.parse(q), start=start)
    return {
        "lines": [
            filled(
                LineRowShape,
                step,
                gist=step.summary.gist,
                way="in" if step.inwards else "out",
                method=step.word,
                bytes=step.size,
            )
            for step in found.steps
        ],
        "further": None if found.further is None else list(found.further),
    }


class CallShape(TypedDict):
    """A request of a client, and its answer. `line` and `answer` are text, with every digit.

    `arguments` are those of a tool or a prompt, else the whole `params`.
    """

    session: str
    number: int
    method: str
    name: str
    arguments: dict[str, Any]
    line: str
    at: str
    answer: str | None
    result: Any
    error: Any
    answered_at: str
    by: str


class CallsShape(TypedDict):
    """Requests of clients, in order of arrival."""

    calls: list[CallShape]


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
    frames = {
        one: tuple(apart.while_wanted(desk.inbox.frames(one)))
        for one in ([session] if session else named)
    }
    size = sum(len(frame.raw) for each in frames.values() for frame in each)
    return written(size, _calls, frames, method, name, max(1, min(most, MOST_CALLS)))


def _calls(frames: dict[str, tuple[Frame, ...]], method: str, name: str, most: int) -> CallsShape:
    found = [
        filled(CallShape, call, session=one, answer=call.answer or None)
        for one, each in frames.items()
        for call in calls(each)
        if method in ("", call.method) and name in ("", call.name)
    ]
    return {"calls": found[-most:]}


class ReactionShape(TypedDict):
    """The client's reaction to a sent line. `seq` is the line."""

    seq: int
    at: str
    what: str
    became: str
    after: float
    sentence: str


class ReactionsShape(TypedDict):
    """The client's reactions, oldest first."""

    reactions: list[ReactionShape]


@router.get("/sessions/{session}/reactions")
def client_reactions(request: Request, session: str) -> ReactionsShape:
    """Return the client's reactions to list changes, questions, progress, late and wrong answers.

    `became` is a code, `sentence` the same in words; `after` is in seconds.
    """
    desk = desk_of(request)
    desk.inbox.facts(session)
    frames = tuple(apart.while_wanted(desk.inbox.frames(session)))
    return written(sum(len(frame.raw) for frame in frames), _reactions, frames)


def _reactions(frames: tuple[Frame, ...]) -> ReactionsShape:
    found = reactions(frames)
    return {"reactions": [filled(ReactionShape, one, sentence=one.sentence()) for one in found]}


class LineShape(TypedDict):
    """A recorded line, verbatim and formatted."""

    seq: int
    raw: str
    pretty: str


@router.get("/sessions/{session}/lines/{seq}")
def line(request: Request, session: str, seq: int) -> LineShape:
    """Return one recorded line, verbatim and formatted."""
    frame = desk_of(request).line_at(Key(session, seq))
    return written(len(frame.raw), _line, frame)


def _line(frame: Frame) -> LineShape:
    return {"seq": frame.seq, "raw": frame.text, "pretty": pretty(frame.text)}


# -- what is prepared: saved answers, the last one ------------------------------------------------

prepared: Final = call_router()


@dataclass
class SavedBody:
    """An answer to save: its name, its method and tool, and its text."""

    name: str
    method: str
    text: str
    tool: str = ""
    form: TextForm = TextForm.TEXT


class SavedAnswersShape(TypedDict):
    """The saved answers."""

    answers: list[Saved]


@prepared.get("/answers")
def answers(request: Request, method: str = "", tool: str = "") -> SavedAnswersShape:
    """List the saved answers; with a method, only those for this method."""
    shelf = desk_of(request).shelf
    found = shelf.fitting(method, tool) if method else shelf.all()
    return {"answers": list(found)}


@prepared.post("/answers")
def save_answer(request: Request, body: SavedBody) -> Saved:
    """Save an answer for the next time."""
    return desk_of(request).shelf.add(**vars(body))


class LastShape(TypedDict):
    """The last answer to the same method and tool, or null."""

    line: str | None
    document: str


@prepared.get("/exchanges/{session}/{number}/last")
def last_answer(request: Request, session: str, number: int) -> LastShape:
    """Return the last answer to the same method and tool, with the id of this request.

    An unsent draft for the same request, from a session that ended, comes first.
    """
    desk = desk_of(request)
    opened = desk.open_exchange(Key(session, number))
    found = earlier_draft(desk.board, opened) or search.last_answer(desk.board, opened.item)
    return {"line": found, "document": "" if found is None else pretty(found)}


# -- help while typing: values that a server offers, the JSON Schema of an answer -----------------

helping: Final = call_router()

TIMEOUT: Final = 5.0
"""The seconds to wait for the server; by then, the person has typed more."""
_LOOK_BACK: Final = 20
"""The number of lines in which the response is searched."""


@dataclass
class CompleteBody:
    """The reference (`ref`, as in MCP), the typed value, and the other arguments."""

    ref: dict[str, Any]
    argument: str
    value: str = ""
    arguments: dict[str, str] = field(default_factory=dict)


class ValuesShape(TypedDict):
    """Values that a server offers for an argument."""

    values: list[str]


@helping.post("/sessions/{session}/complete")
def complete(request: Request, session: str, body: CompleteBody) -> ValuesShape:
    """Ask the server to complete an argument of a prompt or a resource template.

    There are no values if the session is not a client's, or if the server has no completion. After
    5 seconds without an answer, the request is cancelled.
    """
    desk = desk_of(request)
    facts, negotiated = desk.inbox.facts(session), desk.inbox.negotiated(session)
    version = facts.protocol_version or versions.LATEST_HANDSHAKE
    if not facts.role.traits.calls or not starting_draft.has_completions(
        negotiated.server_capabilities, version
    ):
        return {"values": []}
    asked = starting_draft.asked(body.ref, body.argument, body.value, body.arguments, version)
    key = f"complete-{secrets.token_hex(4)}"
    text = request_text("completion/complete", asked, version, negotiated, key)
    if desk.submit_outgoing(session, Reply(text)).outcome is not Outcome.SENT:
        return {"values": []}
    answer = await_result(lambda: _answer(desk, session, key), TIMEOUT, desk.board.wait)
    if answer is None:
        text = cancellation(RequestId.of(key), "no values in time")
        desk.submit_outgoing(session, Reply(text))
    return {"values": starting_draft.values_of(answer.body.get("result") if answer else None)}


class JsonSchemaShape(TypedDict):
    """A JSON Schema of what can be typed."""

    schema: dict[str, Any]


@helping.get("/exchanges/{session}/{number}/schema")
def answer_schema(request: Request, session: str, number: int) -> JsonSchemaShape:
    """Return the JSON Schema of an answer, for an editor.

    For the protocol version of the session, with what the tool or the question declares.
    """
    opened = desk_of(request).open_exchange(Key(session, number))
    item, form = opened.item, form_of(opened.item, opened.negotiated, opened.name)
    more: dict[str, Any] = {}
    if form is not None and form.mirror:
        more["structuredContent"] = form.schema
    elif item.method == "elicitation/create" and form is not None:
        more = dict(form.schema["properties"])
    result = methods.of(item.method).result_in(item.protocol_version)
    return {"schema": Schemas(item.protocol_version).answer(result, more)}


@helping.get("/sessions/{session}/schema")
def request_schema(request: Request, session: str) -> JsonSchemaShape:
    """Return the JSON Schema of a client's messages, for an editor.

    The arguments of each tool are as the server declared them.
    """
    desk = desk_of(request)
    facts, negotiated = desk.inbox.facts(session), desk.inbox.negotiated(session)
    tools = {
        name: entry["inputSchema"]
        for name, entry in (negotiated.tools or {}).items()
        if isinstance(entry, dict) and isinstance(entry.get("inputSchema"), dict)
    }
    return {"schema": Schemas(facts.protocol_version or versions.LATEST_HANDSHAKE).requests(tools)}


def _answer(desk: Desk, session: str, key: str) -> Message | None:
    """Return the response to a request, None if there is none yet."""
    for frame in desk.inbox.last_frames_before(session, 0, _LOOK_BACK):
        message = read(frame.raw) if frame.direction is Direction.OUT else None
        if not isinstance(message, Message) or not message.kind.is_answer:
            continue
        if message.body.get("id") == key:
            return message
    return None
