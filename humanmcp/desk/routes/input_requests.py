"""The page on which a person asks back while a request waits: a form, or the message as JSON.

In the handshake revisions the question goes out as a request of the session's own, and the answer
is shown at the request that waits. In 2026-07-28 it is put into the box as the answer.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering import service, summary
from humanmcp.answering.case import Case
from humanmcp.answering.schema.diagnostics import diagnostic_shapes
from humanmcp.answering.service import Outcome, SayResult
from humanmcp.desk.http.context import BY, desk_of, spoken
from humanmcp.desk.http.layout import FormValues, note_version, page
from humanmcp.desk.presenters import input_requests as asking_back
from humanmcp.desk.presenters.input_requests import Offer
from humanmcp.desk.presenters.schema_form import rows_in
from humanmcp.desk.state.sidebar import listed
from humanmcp.inbox.contract import Draft, Key, Reply, UnknownItemError
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.spec.versions import features
from humanmcp.protocol.validation import input_requests as back_requests
from humanmcp.protocol.validation.input_requests import InputRequest
from humanmcp.protocol.validation.json_schema.rows import KINDS

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])

FLAT: Final = tuple(kind for kind in KINDS if kind != "object")
"""What a field of the form can be: MCP has no objects in it."""
ROWS: Final = 4
"""Fields that the form of this page has; more of them are written in JSON."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written so far. `text` is the whole message, "" while it is the form."""

    input_request: InputRequest
    values: dict[str, str]
    text: str = ""
    result: SayResult | None = None


@router.get("/m/{name}/{number}/ask")
def show(request: Request, name: str, number: int, of: str = "") -> HTMLResponse:
    """Show what can be asked, and the form of one question."""
    offered = _offers(request, Key(name, number))
    wanted = next((one for one in offered if one.input_request.value == of), None)
    chosen = wanted or next((one for one in offered if not one.why), offered[0])
    return _page(request, Key(name, number), Written(chosen.input_request, {}))


def _offers(request: Request, key: Key) -> tuple[Offer, ...]:
    found = asking_back.offers(desk_of(request).case(key), spoken(request))
    if not found:
        raise UnknownItemError(f"{key.session}/{key.number}")
    return found


@router.post("/m/{name}/{number}/ask")
def act(request: Request, name: str, number: int, values: FormValues) -> Response:
    """Ask, or show what would be asked as JSON."""
    desk, key = desk_of(request), Key(name, number)
    _offers(request, key)
    case = desk.case(key)
    try:
        input_request = InputRequest(values.get("of", ""))
    except ValueError:
        raise UnknownItemError(f"{key.session}/{key.number}") from None
    modern = features(case.item.revision).input_required
    text = values.get("text") or _text(case, input_request, values)
    if values.get("act") == "json":
        return _page(request, key, Written(input_request, values, text))
    if modern:
        service.keep(case, Draft(text, TextForm.MESSAGE, touched=True, by=BY))
        desk.board.refresh(*key)
        return RedirectResponse(f"/m/{key.session}/{key.number}#answer", 303)
    anyway = values.get("act") == "anyway"
    reply = Reply(text, TextForm.MESSAGE, anyway, BY)
    result = service.submit_outgoing(desk.inbox, key.session, reply, wake=desk.board.wait)
    if result.outcome is not Outcome.SENT:
        return _page(request, key, Written(input_request, values, text, result))
    desk.board.listens(key)
    return RedirectResponse(f"/m/{key.session}/{key.number}#status", 303)


def _text(case: Case, input_request: InputRequest, values: dict[str, str]) -> str:
    """Write the message that the form stands for."""
    exchange = case.exchange
    if exchange is None:  # what cannot be answered is offered no question
        raise UnknownItemError(f"a question at exchange {case.key.number}")
    asked = back_requests.params(input_request, values.get("words", "").strip(), rows_in(values))
    mark = f"{datetime.now(UTC):%H%M%S%f}"[:9]
    if features(exchange.revision).input_required:
        return back_requests.answer(exchange, input_request, asked, mark)
    return back_requests.request(exchange, input_request, asked, mark)


_FIRST: Final = {"name 0": "answer", "kind 0": "string", "needed 0": "on"}
"""What the form begins with: one text, which must be given."""


def _page(request: Request, key: Key, written: Written) -> HTMLResponse:
    desk = desk_of(request)
    language, result = spoken(request), written.result
    case = desk.case(key)
    row = summary.row(case.item, summary.badge_of(case.facts), case.read)
    return page(
        request,
        "ask.html",
        row=row,
        offers=_offers(request, key),
        of=written.input_request.value,
        values=written.values or _FIRST,
        rows_of_form=range(ROWS),
        kinds=FLAT,
        text=written.text,
        modern=features(case.item.revision).input_required,
        problems=diagnostic_shapes(result.diagnostics if result else (), language),
        waits=result is not None and result.outcome is Outcome.QUEUED,
        **listed(desk.board, ""),
        opened=row.anchor,
    )
