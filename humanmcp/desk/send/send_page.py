"""The pages of outgoing messages, and of requests to the client.

A client sends requests, a server notifications, requests, and faults such as bytes, silence or its
end. The owner of the session sends them, or reports why not; the response is in the transcript.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering import service
from humanmcp.answering.open_exchange import PARSE_ERROR, OpenExchange
from humanmcp.answering.reactions import WATCHED, ClientReaction, reactions
from humanmcp.answering.schema import diagnostic_shapes
from humanmcp.answering.service import OrderError, Outcome, SayResult, await_result
from humanmcp.answering.summary import row
from humanmcp.desk.context import desk_of, page, page_router
from humanmcp.desk.desk import BY, Desk, place_in
from humanmcp.desk.inbox.answer_form import rows_in
from humanmcp.desk.inbox.waiting_list import EVERYTHING, ListFilter, listed
from humanmcp.desk.routing import FormValues
from humanmcp.desk.send.request_form import (
    QuestionChoice,
    RequestForm,
    lists_of,
    picked_forms,
    question_choices,
    tool_form,
)
from humanmcp.inbox.contract import DeskInbox, Draft, Key, Order, Reply, UnknownItemError
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.transcript import SPOKEN, Direction
from humanmcp.protocol.diagnostics.model import Severity, TextForm
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.schemas import KINDS
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation import input_requests, starting_draft
from humanmcp.protocol.validation.input_requests import InputRequest
from humanmcp.protocol.validation.whole_conversation import openers, typed_bytes

router: Final = page_router()

MOST: Final = 40
"""The maximum number of starting points with a button."""
LOOK_BACK: Final = 400
"""The number of lines in which the server's lists are searched."""
SHOWN: Final = 8
"""The number of lines of the conversation below the box."""
NOTHING_WAITS: Final = "R51"
"""The problem of an answer to a request that is over."""
ANSWERED_WITHIN: Final = 0.5
"""The seconds that the page waits for a response, to show it at once."""
_ORDERS: Final = frozenset(
    one.value for one in (Order.PROGRESS, Order.SILENCE, Order.EXIT, Order.CRASH)
)


@dataclass(frozen=True, slots=True)
class Beginning:
    """A message to start from. `tool` is the tool that it calls, "" for another method."""

    method: str
    tool: str
    text: str
    form: RequestForm | None = None

    @property
    def name(self) -> str:
        """The name that identifies it on the page."""
        return f"{self.method} {self.tool}"

    def written(self, values: dict[str, str]) -> str:
        """Return the message with the values of the form's fields."""
        return self.form.filled(self.text, values) if self.form else self.text


@dataclass(frozen=True, slots=True)
class Said:
    """The text in the box, and its result so far. `begun` has the open form.

    `late`: it intentionally answers a request that is over.
    """

    text: str = ""
    result: SayResult | None = None
    why: str = ""
    begun: Beginning | None = None
    values: dict[str, str] = field(default_factory=dict)
    late: bool = False
    begin: str = ""
    """What the text started from, which names its draft."""


@router.get("/say/{name}")
def show(
    request: Request, name: str, sent: str = "", answer: int = 0, begin: str = ""
) -> HTMLResponse:
    """Show the box, the starting points, and the last lines.

    `answer` is the number of a request that is over and still gets an answer; `begin` names the
    starting point. The query's `again` is the number of a line that is to be sent again.
    """
    again = request.query_params.get("again", "")
    if again:
        line = desk_of(request).line_at(place_in(f"{name}/{again}")).text
        fresh = jsonrpc.with_token(line, json.dumps(f"person-{datetime.now():%H%M%S}"))  # noqa: DTZ005 - for the eye of the one who asks
        return _page(request, name, Said(pretty(fresh), begin=f"again {again}"))
    if answer:
        opened = desk_of(request).open_exchange(Key(name, answer))
        text = service.document(opened, service.draft_of(opened))
        late = Said(service.autofix(opened, text).text, late=True, begin=f"late {answer}")
        return _page(request, name, late)
    beginnings = _beginnings(desk_of(request), name) if begin else ()
    begun = next((one for one in beginnings if begin in {one.name, one.method}), None)
    if begun is not None and begun.form and begun.form.fields:
        return _page(request, name, Said(begun=begun, begin=begun.name))
    result = SayResult(Outcome.SENT) if sent else None
    if begun is None:
        return _page(request, name, Said(result=result))
    return _page(request, name, Said(begun.text, result, begin=begun.name))


@router.post("/say/{name}")
def act(request: Request, name: str, values: FormValues) -> Response:
    """Submit the text in the box, or show the JSON of a form."""
    desk = desk_of(request)
    text, act, begin = values.get("text", ""), values.get("act", "send"), values.get("begin", "")
    form = values.get("form", "")
    begun = next((one for one in _beginnings(desk, name) if one.name == form), None)
    if begun is not None and begun.form and begun.form.fields:
        text = begun.written(values)
    if act == "json":
        return _page(request, name, Said(text, begin=f"{begin} json"))
    heard = _heard(desk.inbox, name)
    reply = _reply(act, text)
    said = Said(text, begun=begun, values=values, late="late" in values, begin=begin)
    try:
        result = desk.submit_outgoing(name, reply, values)
        if said.late and {one.code for one in result.diagnostics if one.blocks} == {NOTHING_WAITS}:
            reply = reply._replace(anyway=True)
            result = desk.submit_outgoing(name, reply, values)
    except OrderError as error:
        return _page(request, name, replace(said, why=error.sentence()))
    if result.outcome is not Outcome.SENT:
        return _page(request, name, replace(said, result=result))
    if reply.order is Order.SAY:
        answered = lambda: _heard(desk.inbox, name) > heard or None  # noqa: E731 - one short question
        await_result(answered, ANSWERED_WITHIN, desk.board.wait)
    desk.board.refresh(name, 0)
    return RedirectResponse(f"/say/{name}?sent=1", 303)


def _reply(act: str, text: str) -> Reply:
    """Return the reply or order to submit for a button and its text."""
    word, _, rest = act.partition(" ")
    if word in _ORDERS:
        return Reply(rest, order=Order(word))
    if act == "raw":
        packed = base64.b64encode(typed_bytes(text.replace("\r\n", "\n"))).decode("ascii")
        return Reply(packed, order=Order.RAW)
    return Reply(text, TextForm.MESSAGE, act == "anyway")


def _heard(inbox: DeskInbox, name: str) -> int:
    """Return the number of the server's last recent line."""
    return max(
        (
            one.seq
            for one in inbox.last_frames_before(name, 0, SHOWN)
            if one.direction is Direction.OUT
        ),
        default=0,
    )


def _page(request: Request, name: str, said: Said) -> HTMLResponse:
    desk = desk_of(request)
    session = desk.board.session(name)
    result = said.result
    beginnings = _beginnings(desk, name)
    frames = [
        one for one in desk.inbox.last_frames_before(name, 0, SHOWN) if one.direction in SPOKEN
    ]
    negotiated = desk.inbox.negotiated(name)
    version = session.facts.protocol_version or versions.LATEST_HANDSHAKE
    return page(
        request,
        "send/say.html",
        here=session,
        beginnings=beginnings,
        text=said.text or beginnings[0].text,
        begun=said.begun,
        begin=said.begin,
        completes=starting_draft.has_completions(negotiated.server_capabilities, version),
        values=said.values,
        key=_form_key(result, said.values),
        # The page wrote it over several lines, so a hint about that would not help.
        problems=diagnostic_shapes(
            [one for one in result.diagnostics if one.severity is not Severity.REPAIRED]
            if result
            else ()
        ),
        late=said.late,
        sent=result is not None and result.outcome is Outcome.SENT,
        waits=result is not None and result.outcome is Outcome.QUEUED,
        why=said.why,
        traits=session.facts.role.traits,
        told=client_reactions(desk, name, 3) if session.facts.role.traits.serves else (),
        lines=[(one.direction is Direction.IN, one.at, one.text) for one in reversed(frames)],
        **listed(desk.board, ListFilter(name)),
    )


def client_reactions(desk: Desk, session: str, most: int = 20) -> list[tuple[ClientReaction, str]]:
    """Return a client's reactions to sent lines, newest first, each with its sentence."""
    found = reactions(desk.inbox.last_frames_before(session, 0, WATCHED))[-most:]
    return [(reaction, reaction.sentence()) for reaction in reversed(found)]


def _form_key(result: SayResult | None, values: Mapping[str, str]) -> str:
    """Return the key of a form; one whose message waits keeps its key, so that it goes out once."""
    is_queued = result is not None and result.outcome is Outcome.QUEUED
    return values.get("key", "") if is_queued else secrets.token_urlsafe(9)


def _beginnings(desk: Desk, name: str) -> tuple[Beginning, ...]:
    """Return the starting points of a client: the server's lists and tools, and a ping."""
    negotiated, facts = desk.inbox.negotiated(name), desk.board.session(name).facts
    if facts.role.traits.serves:
        return _of_a_server(desk, name, facts.protocol_version or versions.LATEST_HANDSHAKE)
    declared = negotiated.server_capabilities
    asked = [
        (one.name, "", None, None)
        for one in methods.LISTS
        if declared is None or one.capability in declared
    ]
    forms = [tool_form(tool, entry) for tool, entry in (negotiated.tools or {}).items()]
    forms += picked_forms(lists_of(desk.inbox.last_frames_before(name, 0, LOOK_BACK)))
    picked = [(one.method, one.about, one.params, one) for one in forms]
    everything = [*asked, *picked, ("ping", "", None, None)][:MOST]
    return tuple(
        Beginning(
            method, tool, request_text(method, params, facts.protocol_version, negotiated), form
        )
        for method, tool, params, form in everything
    )


def _of_a_server(desk: Desk, name: str, version: str) -> tuple[Beginning, ...]:
    """Return the starting points of a server, including progress of waiting requests."""
    facts = desk.board.session(name).facts
    cases = [OpenExchange(desk.inbox, item, facts) for item in desk.inbox.items(name)[:MOST]]
    waiting = [one.exchange for one in cases if one.exchange is not None]
    found = tuple(
        Beginning(one.method, one.about, one.text)
        for one in openers(version, waiting, f"h-{datetime.now():%H%M%S}")  # noqa: DTZ005 - for the eye of the one who asks
    )
    refusal = (Beginning("-32700", "", PARSE_ERROR),) if facts.unreadable else ()
    return (*found, *refusal)


def request_text(
    method: str,
    params: Mapping[str, Any] | None,
    version: str,
    negotiated: NegotiatedState,
    key: str = "",
) -> str:
    """Return a request with an id that the client itself does not use: from `key` or the time."""
    key = key or f"person-{datetime.now():%H%M%S}"  # noqa: DTZ005 - for the eye of the one who asks
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": key, "method": method}
    if features(version).stateless:
        meta = {
            versions.META_VERSION: version,
            versions.META_CLIENT: {
                "name": negotiated.client_name,
                "version": negotiated.client_version,
            },
            versions.META_CAPABILITIES: dict(negotiated.client_capabilities),
        }
        params = {**(params or {}), "_meta": meta}
    return json.dumps(
        body if params is None else {**body, "params": params}, ensure_ascii=False, indent=2
    )


# -- asking back: a question while a request waits -------------------------------------------------


FLAT: Final = tuple(kind for kind in KINDS if kind != "object")
"""The types of a field in the form: MCP has no objects in it."""
FORM_ROWS: Final = 4
"""The number of fields in the form of this page; larger forms are written as JSON."""


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """The input so far. `text` is the whole message, "" while the form is used."""

    input_request: InputRequest
    values: dict[str, str]
    text: str = ""
    result: SayResult | None = None


@router.get("/m/{name}/{number}/ask")
def show_questions(request: Request, name: str, number: int, of: str = "") -> HTMLResponse:
    """Show the possible requests to the client, and the form of one."""
    choices = _question_choices(request, Key(name, number))
    wanted = next((one for one in choices if one.input_request.value == of), None)
    chosen = wanted or next((one for one in choices if not one.why), choices[0])
    return _question_page(request, Key(name, number), QuestionForm(chosen.input_request, {}))


def _question_choices(request: Request, key: Key) -> tuple[QuestionChoice, ...]:
    found = question_choices(desk_of(request).open_exchange(key))
    if not found:
        raise UnknownItemError(f"{key.session}/{key.number}")
    return found


@router.post("/m/{name}/{number}/ask")
def ask_back(request: Request, name: str, number: int, values: FormValues) -> Response:
    """Send the request to the client, or show its JSON."""
    desk, key = desk_of(request), Key(name, number)
    _question_choices(request, key)
    opened = desk.open_exchange(key)
    try:
        input_request = InputRequest(values.get("of", ""))
    except ValueError:
        raise UnknownItemError(f"{key.session}/{key.number}") from None
    modern = features(opened.item.protocol_version).input_required
    text = values.get("text") or _question_text(opened, input_request, values)
    if values.get("act") == "json":
        return _question_page(request, key, QuestionForm(input_request, values, text))
    if modern:
        service.keep(opened, Draft(text, TextForm.MESSAGE, touched=True, by=BY))
        desk.board.refresh(*key)
        return RedirectResponse(f"/m/{key.session}/{key.number}#answer", 303)
    reply = Reply(text, TextForm.MESSAGE, anyway=values.get("act") == "anyway")
    result = desk.submit_outgoing(key.session, reply, values)
    if result.outcome is not Outcome.SENT:
        return _question_page(request, key, QuestionForm(input_request, values, text, result))
    return RedirectResponse(f"/m/{key.session}/{key.number}#status", 303)


def _question_text(
    opened: OpenExchange, input_request: InputRequest, values: dict[str, str]
) -> str:
    """Return the message of the form."""
    exchange = opened.exchange
    if exchange is None:  # an exchange that cannot be answered has no such page
        raise UnknownItemError(f"a question at exchange {opened.key.number}")
    asked = input_requests.params(input_request, values.get("words", "").strip(), rows_in(values))
    mark = f"{datetime.now(UTC):%H%M%S%f}"[:9]
    if features(exchange.version).input_required:
        return input_requests.answer(exchange, input_request, asked, mark)
    task = opened.item.waiting.parked.ticket if exchange.parked == "task" else ""
    return input_requests.request(exchange, input_request, asked, mark, task)


_FIRST_QUESTION: Final = {"name 0": "answer", "kind 0": "string", "needed 0": "on"}
"""The initial form: one required string."""


def _question_page(request: Request, key: Key, form: QuestionForm) -> HTMLResponse:
    desk = desk_of(request)
    result = form.result
    opened = desk.open_exchange(key)
    shown = row(opened.item, opened.facts, opened.read)
    return page(
        request,
        "send/ask.html",
        row=shown,
        choices=_question_choices(request, key),
        of=form.input_request.value,
        values=form.values or _FIRST_QUESTION,
        key=_form_key(result, form.values),
        rows_of_form=range(FORM_ROWS),
        kinds=FLAT,
        text=form.text,
        modern=features(opened.item.protocol_version).input_required,
        problems=diagnostic_shapes(result.diagnostics if result else ()),
        waits=result is not None and result.outcome is Outcome.QUEUED,
        **listed(desk.board, EVERYTHING),
        opened=shown.anchor,
    )
