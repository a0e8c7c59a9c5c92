"""What can be written where a person types: values that a server offers, and the shape of JSON."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

import secrets
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import APIRouter, Request

from humanmcp.answering import service
from humanmcp.answering.schema.interface import JsonSchemaShape, ValuesShape
from humanmcp.answering.service import Outcome, await_result
from humanmcp.desk.http.context import BY, AsciiJson, CallRoute, Desk, desk_of
from humanmcp.desk.presenters.forms import form_of
from humanmcp.desk.routes.outgoing import request_text
from humanmcp.inbox.contract import Key, Reply, Role
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import Message, RequestId, read
from humanmcp.protocol.session import cancellation
from humanmcp.protocol.spec import methods, versions
from humanmcp.protocol.spec.typed import Schemas
from humanmcp.protocol.validation import starting_draft

router: Final = APIRouter(prefix="/api", default_response_class=AsciiJson, route_class=CallRoute)

TIMEOUT: Final = 5.0
"""Seconds in which a server answers; a person has typed on after that."""
_LOOK_BACK: Final = 20
"""Lines in which the answer is looked for."""


@dataclass
class CompleteBody:
    """What is completed (`ref`, as in MCP), what is typed of it, and the other arguments."""

    ref: dict[str, Any]
    argument: str
    value: str = ""
    arguments: dict[str, str] = field(default_factory=dict)


@router.post("/sessions/{session}/complete")
def complete(request: Request, session: str, body: CompleteBody) -> ValuesShape:
    """Ask the server to complete an argument of a prompt or a resource template.

    There are no values if the session is not a client's, or if the server has no completion. After
    5 seconds without an answer, the request is cancelled.
    """
    desk = desk_of(request)
    facts, negotiated = desk.inbox.facts(session), desk.inbox.negotiated(session)
    version = facts.protocol_version or versions.LATEST_HANDSHAKE
    if facts.role is not Role.CLIENT or not starting_draft.has_completions(
        negotiated.server_capabilities, version
    ):
        return {"values": []}
    asked = starting_draft.asked(body.ref, body.argument, body.value, body.arguments, version)
    key = f"complete-{secrets.token_hex(4)}"
    if not _is_said(
        desk, session, request_text("completion/complete", asked, version, negotiated, key)
    ):
        return {"values": []}
    answer = await_result(lambda: _answer(desk, session, key), TIMEOUT, desk.board.wait)
    if answer is None:
        _is_said(desk, session, cancellation(RequestId.of(key), "no values in time"))
    return {"values": starting_draft.values_of(answer.body.get("result") if answer else None)}


@router.get("/exchanges/{session}/{number}/schema")
def answer_schema(request: Request, session: str, number: int) -> JsonSchemaShape:
    """Return the JSON Schema of an answer, for an editor.

    For the protocol version of the session, with what the tool or the question declares.
    """
    case = desk_of(request).case(Key(session, number))
    item, form = case.item, form_of(case.item, case.negotiated, case.name)
    more: dict[str, Any] = {}
    if form is not None and form.mirror:
        more["structuredContent"] = form.schema
    elif item.method == "elicitation/create" and form is not None:
        more = dict(form.schema["properties"])
    result = methods.of(item.method).result_in(item.protocol_version)
    return {"schema": Schemas(item.protocol_version).answer(result, more)}


@router.get("/sessions/{session}/schema")
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


def _is_said(desk: Desk, session: str, text: str) -> bool:
    result = service.submit_outgoing(desk.inbox, session, Reply(text, by=BY), wake=desk.board.wait)
    return result.outcome is Outcome.SENT


def _answer(desk: Desk, session: str, key: str) -> Message | None:
    """Return the answer to a request, None as long as there is none."""
    for frame in desk.inbox.last_frames_before(session, 0, _LOOK_BACK):
        message = read(frame.raw) if frame.direction is Direction.OUT else None
        if not isinstance(message, Message) or not message.kind.is_answer:
            continue
        if message.body.get("id") == key:
            return message
    return None
