"""The page of what waits, and of one exchange. It works without a script.

What a script adds, it adds to these pages; it fetches parts of them (`/list`, `…/status`) and puts
them in place as text and elements, never as markup made from strings.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse

from humanmcp.desk import composing, input_requests
from humanmcp.desk.http.context import Desk, desk_of
from humanmcp.desk.http.layout import RECENT, note_version, page
from humanmcp.desk.http.request_context import script_json, spoken
from humanmcp.desk.presenters import rows as row_words
from humanmcp.desk.presenters import sequence, serializers
from humanmcp.desk.presenters.conversation import conversation_of
from humanmcp.desk.presenters.forms import AnswerForm, form_of
from humanmcp.desk.presenters.page_types import FormShape, Island
from humanmcp.desk.presenters.starting_points import chosen, starts_of
from humanmcp.desk.routes import api_saved
from humanmcp.desk.routes.connect import offered
from humanmcp.desk.state import history
from humanmcp.inbox.contract import (
    Draft,
    Item,
    Key,
    Life,
    UnknownItemError,
)
from humanmcp.inbox.remarking import remarks_on
from humanmcp.locales.explain import explain
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.json.layout import pretty
from humanmcp.protocol.policy import known_clients
from humanmcp.protocol.spec.examples import PLACEHOLDERS
from humanmcp.protocol.validation.faults import Fault

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])


@router.get("/")
def inbox(request: Request, session: str = "", sent: str = "") -> HTMLResponse:
    """Show what waits, the longest waiting request open."""
    desk = desk_of(request)
    rows = desk.board.waiting(session)
    key = rows[0].key if rows else None
    return show_inbox(request, key, session=session, sent=sent, chosen=False)


@router.get("/m/{name}/{number}")
def message(
    request: Request, name: str, number: int, session: str = "", sent: str = ""
) -> HTMLResponse:
    """Show one exchange, whatever its state."""
    return show_inbox(request, Key(name, number), session=session, sent=sent, chosen=True)


@router.get("/list")
def waiting_list(request: Request, session: str = "", at: str = "") -> HTMLResponse:
    """Show the list alone: what a page fetches when something changed."""
    return page(request, "list.html", **_list(desk_of(request), session), opened=at)


@router.get("/m/{name}/{number}/status")
def status(request: Request, name: str, number: int) -> HTMLResponse:
    """Show how an exchange stands, alone: its banner and its times, never the composer."""
    desk = desk_of(request)
    key = Key(name, number)
    item = desk.inbox.item(key)
    values = _standing(desk, item, spoken(request))
    return page(
        request, "status.html", item=item, row=row_words.row(item, _badge(desk, key)), **values
    )


def _list(desk: Desk, session: str) -> dict[str, Any]:
    return {
        "session": session,
        "rows": desk.board.waiting(session),
        "recent": history.recent(desk.board, RECENT),
    }


def _badge(desk: Desk, key: Key) -> row_words.Badge:
    return desk.board.session(key.session).badge


@dataclass(frozen=True, slots=True)
class Broken:
    """What a page without a script knows of an answer that was broken on purpose.

    `before` is the text that was there, in the form `form`.
    """

    fault: Fault
    before: str
    form: TextForm


def show_inbox(  # noqa: PLR0913 - what the page of the inbox depends on
    request: Request,
    key: Key | None,
    *,
    session: str = "",
    sent: str = "",
    chosen: bool,
    broken: Broken | None = None,
) -> HTMLResponse:
    """Show the list, and one exchange beside it."""
    desk = desk_of(request)
    values: dict[str, Any] = {
        **_list(desk, session),
        "chosen": chosen,
        "opened": "" if key is None else f"{key.session}/{key.number}",
        "item": None,
        "sent": _sent(desk, sent),
        "broken": broken,
        "hosts": offered(request) if key is None and not desk.board.sessions() else (),
    }
    if key is not None:
        values |= _message(desk, key, spoken(request))
    return page(request, "inbox.html", **values)


def _sent(desk: Desk, name: str) -> dict[str, Any] | None:
    """Return what went out last, so that the next page can show it."""
    session, _, number = name.partition("/")
    if not (number.isascii() and number.isdigit() and len(number) < 12):
        return None
    try:
        item = desk.inbox.item(Key(session, int(number)))
    except UnknownItemError:
        return None
    if item.answer is None:
        return None
    line = item.answer.line
    return {"item": item, "bytes": len(line.encode("utf-8", "replace")), "line": line}


_laid_out: Final = lru_cache(16)(pretty)
"""A request is laid out once, however often its page is looked at."""


def _message(desk: Desk, key: Key, language: str) -> dict[str, Any]:
    """Gather everything that the page of one exchange shows."""
    item = desk.inbox.item(key)
    row = row_words.row(item, _badge(desk, key))
    start = composing.starting(desk.inbox, item, language)
    answerable = composing.answerable(item)
    draft = item.draft if item.draft is not None and item.draft.touched else start
    problems = item.problems
    if item.state is ExchangeState.PENDING and draft.touched:
        problems = composing.verdict(desk.inbox, item, draft.text, draft.form).problems
    saved = desk.shelf.fitting(item.method, row.name)[:9]
    talk = conversation_of(item)
    asked = row_words.inquiry_of(item)
    told = frozenset[str]().union(*(one.told for one in (talk, asked) if one is not None))
    return {
        "item": item,
        "row": row,
        "draft": draft if draft.touched else composing.plain(item, start),
        "problems": [serializers.describe(one, language) for one in problems],
        "remarks": [serializers.describe(one, language) for one in remarks_on(desk.inbox, item)],
        "talk": talk,
        "inquiry": asked,
        "fields": [one for one in row_words.fields(item) if one.name not in told],
        "raw": _laid_out(item.line),
        "edited": composing.edited(item),
        "faults": [serializers.fault(one, language) for one in faults_of(desk, item)],
        "offers": input_requests.offers(
            desk.inbox, item, desk.board.session(key.session), language
        ),
        "card": explain(
            item.method,
            item.revision,
            language,
            asks=bool(item.id),
            seat=desk.board.session(key.session).facts.seat.value,
            inwards=item.way is Direction.IN,
        ),
        "answerable": answerable,
        "steps": sequence.draw(history.conversation(desk.board, key.session), key.number),
        "answers": saved,
        "starts": starts_of(composing.exchange_of(item)) if answerable else (),
        "island": script_json(_island(desk, item, draft, start, language) if answerable else None),
        **_standing(desk, item, language),
    }


def faults_of(desk: Desk, item: Item) -> tuple[Fault, ...]:
    """List the faults that an answer to this exchange can be given on purpose."""
    return composing.breakable(item, desk.board.session(item.key.session).facts)


def _island(desk: Desk, item: Item, draft: Draft, start: Draft, language: str) -> Island:
    """Gather what the composer's script starts from."""
    name = row_words.params_of(item.line).get("name")
    tool = name if isinstance(name, str) else ""
    known = desk.inbox.known(item.key.session)
    document = composing.document(item, draft, known)
    starts = starts_of(composing.exchange_of(item))
    begun = chosen(starts, document)
    form = begun.form if begun else form_of(item, known, tool)
    fitting = desk.shelf.fitting(item.method, tool)[:9]
    asked = row_words.inquiry_of(item)
    return {
        "session": item.key.session,
        "number": item.key.number,
        "id": item.id,
        "method": item.method,
        "tool": tool,
        "revision": item.revision,
        "state": item.state.value,
        "document": document,
        "starts": [{"document": one.document, "form": _form(one.form)} for one in starts],
        "template": start.text,
        "templates": composing.examples(item),
        "placeholders": list(PLACEHOLDERS.values()),
        "options": [] if asked is None else list(asked.options),
        "faults": [serializers.fault(one, language) for one in faults_of(desk, item)],
        "touched": draft.touched,
        "hold": draft.hold,
        "at": draft.at,
        "textual": item.method == "tools/call",
        "form": None if form is None else _form(form),
        "mirror": form is not None and form.mirror,
        "arguments": row_words.params_of(item.line).get("arguments", {}),
        "saved": [api_saved.write_saved(one) for one in fitting],
        "book": str(desk.book),
    }


def _form(form: AnswerForm) -> FormShape:
    return {"pointer": form.pointer, "schema": dict(form.schema)}


def _standing(desk: Desk, item: Item, language: str) -> dict[str, Any]:
    """Say how an exchange stands: its session, its client, who else writes, what may be set."""
    session = desk.board.session(item.key.session)
    client = known_clients.find(session.facts.client)
    living = session.facts.life is Life.OPEN
    state = item.state
    if state is ExchangeState.PENDING and not living:
        state = ExchangeState.ABANDONED
    desk.board.listens(item.key)  # first, so that an answer that comes just now is not missed
    questions = input_requests.told(desk.inbox, item)
    desk.board.listens(item.key, on=any(not one.outcome for one in questions))
    return {
        "questions": questions,
        "facts": session.facts,
        "badge": session.badge,
        "living": living,
        "state": state.value,
        "writer": desk.board.writer(item.key),
        "client_setting": "" if client is None else client.setting,
        "arrived": row_words.seconds(item.arrived),
        "refusals": [serializers.describe(one, language) for one in item.problems],
        "kept": [one.text for one in item.kept],
        "answer_pretty": "" if item.answer is None else pretty(item.answer.line),
        "answer_bytes": 0 if item.answer is None else len(item.answer.line.encode()),
        "answer_at": 0.0 if item.answer is None else row_words.seconds(item.answer.at),
    }
