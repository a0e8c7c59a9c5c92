"""The page of waiting requests, and of one exchange. Without scripts it has one plain form.

Scripts extend these pages. They fetch parts of them (`/list`, `…/status`), and insert them as text
and elements, never as markup from strings.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from fastapi import Request
from markupsafe import Markup
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from humanmcp import extensions
from humanmcp.answering import approvals, service, summary
from humanmcp.answering.approvals import ApprovalError
from humanmcp.answering.open_exchange import OpenExchange
from humanmcp.answering.reactions import WATCHED, ClientReaction, carried_wrongly, reactions
from humanmcp.answering.schema import TypedDict, diagnostic_shapes, filled
from humanmcp.answering.service import OrderError, Outcome, Task
from humanmcp.answering.standing import Standing, Urgency, prospects, standing_of, twins_of
from humanmcp.common.timestamps import seconds_of
from humanmcp.desk import nodes, rendering
from humanmcp.desk.board import opens_next
from humanmcp.desk.context import (
    desk_of,
    device_of,
    is_quiet,
    page,
    page_router,
    script_json,
    signed,
    view_of,
)
from humanmcp.desk.desk import BY, Desk, place_in
from humanmcp.desk.history import rows, search
from humanmcp.desk.history.rows import copies
from humanmcp.desk.history.search import earlier_draft
from humanmcp.desk.inbox import waiting_list
from humanmcp.desk.inbox.answer_form import (
    AnswerForm,
    Start,
    arguments_form,
    chosen,
    form_of,
    starts_of,
)
from humanmcp.desk.inbox.approval_view import approval_view, chosen_reply
from humanmcp.desk.inbox.saved_answers import Saved
from humanmcp.desk.inbox.saved_answers import filled as fill_saved
from humanmcp.desk.inbox.waiting_list import EVERYTHING, ListFilter
from humanmcp.desk.moments import Panel
from humanmcp.desk.rendering import FaultShape, media_in, told
from humanmcp.desk.routing import FormValues
from humanmcp.desk.send import request_form
from humanmcp.desk.settings.settings_page import shown_snippets
from humanmcp.inbox.contract import (
    Action,
    Draft,
    Item,
    Key,
    Life,
    Order,
    Purpose,
    Reply,
    SessionFacts,
    UnknownItemError,
)
from humanmcp.inbox.forgetting import NotForgottenError
from humanmcp.locales import UnknownSentenceError, describe, say
from humanmcp.protocol.conversation import timeouts
from humanmcp.protocol.conversation.approvals import digest_of
from humanmcp.protocol.conversation.prompts import LABELS, OWN
from humanmcp.protocol.conversation.questions import shown_with
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.diagnostics.problem import PLACEHOLDER
from humanmcp.protocol.json.jsonrpc import Batch
from humanmcp.protocol.json.tree import follow, pretty
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.examples import PLACEHOLDERS

router: Final = page_router()


@router.get("/", response_model=None)
def inbox(
    request: Request, session: str = "", q: str = "", sent: str = "", find: str = ""
) -> HTMLResponse | RedirectResponse:
    """Show the waiting requests, the most urgent one open; `find` leads to a session."""
    desk, shown = desk_of(request), ListFilter(session, q)
    found = waiting_list.found(desk.board, find) if find else None
    if found is not None:
        return RedirectResponse(f"/?session={found.facts.name}", 303)
    options = ViewOptions(shown, sent=sent, find=find)
    return _show_inbox(request, opens_first(desk, shown), options, is_open=desk.is_hosted)


def opens_first(desk: Desk, shown: ListFilter) -> OpenExchange | None:
    """Return what a page opens by itself: never what is over although the list still shows it."""
    rows = shown.rows(desk.board)
    while (first := opens_next(rows)) is not None:
        with suppress(UnknownItemError):
            opened = desk.open_exchange(first.key)
            if standing_of(opened.item, opened.facts.life).urgency < Urgency.NEVER:
                return opened
        rows = [one for one in rows if one.key != first.key]
    return None


@router.get("/m/{name}/{number}")
def message(  # noqa: PLR0913, PLR0917 - what an address may hold
    request: Request,
    name: str,
    number: int,
    session: str = "",
    q: str = "",
    sent: str = "",
    do: str = "",
    whole: str = "",
    why: str = "",
) -> HTMLResponse:
    """Show one exchange, whatever its state; `do` chooses what to do with a held message.

    With `whole`, a long approval is shown completely; `why` is the code of the reason why nothing
    was sent.
    """
    options = ViewOptions(ListFilter(session, q), do, bool(whole), why, sent)
    opened = desk_of(request).open_exchange(Key(name, number))
    return _show_inbox(request, opened, options, is_open=True)


@router.get("/list")
def waiting(
    request: Request, session: str = "", q: str = "", since: int = 0, *, sessions: bool = False
) -> HTMLResponse:
    """Show only the list, which a page fetches after a change: with `since`, what is new in it.

    The menu of all sessions, up to 500 entries, is rendered only for a page that asks for it.
    """
    values = waiting_list.listed(desk_of(request).board, ListFilter(session, q), since)
    return page(request, "inbox/list.html", **values, all_sessions=sessions)


@router.get("/m/{name}/{number}/line", response_class=PlainTextResponse)
def whole_line(request: Request, name: str, number: int) -> PlainTextResponse:
    """Return the complete request as received; the page of a long one shows its beginning."""
    line = desk_of(request).open_exchange(Key(name, number)).item.line
    return PlainTextResponse(line.encode("utf-8", "backslashreplace"))


@router.get("/m/{name}/{number}/status")
def status(
    request: Request, name: str, number: int, session: str = "", q: str = ""
) -> HTMLResponse:
    """Show only the state of an exchange: its banner and its times, never the composer."""
    desk = desk_of(request)
    opened = desk.open_exchange(Key(name, number))
    values = _standing(desk, opened, ListFilter(session, q))
    answered_by = summary.answered_by(opened.item, device_of(request))
    return page(request, "inbox/status.html", item=opened.item, answered_by=answered_by, **values)


class ViewOptions(NamedTuple):
    """How an exchange is shown, and the list beside it.

    That is the task, an approval completely or not, why nothing was sent, and what was sent last.
    """

    shown: ListFilter = EVERYTHING
    do: str = ""
    whole: bool = False
    why: str = ""
    sent: str = ""
    find: str = ""


def _show_inbox(
    request: Request, opened: OpenExchange | None, options: ViewOptions, *, is_open: bool
) -> HTMLResponse:
    """Show the list, and one exchange beside it."""
    desk, shown, sent = desk_of(request), options.shown, options.sent
    key = None if opened is None else opened.key
    panel = _panel(request, key)
    practises = key is not None and _practises(desk, desk.board.session(key.session).facts)
    values: dict[str, Any] = {
        **waiting_list.listed(desk.board, shown),
        "find": options.find,
        "chosen": is_open or practises or panel is not None,
        "quiet": is_quiet(request, key.session if key else shown.session or sent.partition("/")[0]),
        "opened": "" if key is None else f"{key.session}/{key.number}",
        "item": None,
        "sent": _sent(desk, sent),
        "hosts": shown_snippets(request) if key is None and not desk.board.sessions() else (),
        "panel": panel,
        "own_guest": LABELS[OWN],
        "probes": desk.inbox.probes() if key is None else (),
        "view": view_of(request),
    }
    if opened is not None:
        values |= _message(desk, opened, options)
        values["below"] = list(map(Markup, extensions.shown("below", request, opened)))
        values["answered_by"] = summary.answered_by(values["item"], device_of(request))
        if getattr(request.state, "looks_on", False):
            values |= {"answerable": False, "decidable": False, "initial_state": script_json(None)}
    return page(request, "inbox/inbox.html", **values)


def _panel(request: Request, key: Key | None) -> Panel | None:
    """Return what to show about the open request's session; without one, about the newest."""
    desk = desk_of(request)
    sessions = [one.facts for one in desk.board.sessions() if key is None]
    facts = sessions[0] if sessions else key and desk.board.session(key.session).facts
    return desk.panel(request, facts) if facts else None


def _practises(desk: Desk, facts: SessionFacts) -> bool:
    return any(one.practises(facts.client) for one in desk.listeners)


def _sent(desk: Desk, name: str) -> dict[str, Any] | None:
    """Return the last sent line, which the next page shows."""
    try:
        item = desk.inbox.item(place_in(name))
    except UnknownItemError:
        return None
    if item.answer is None:
        return None
    said, standing = summary.summary_of_item(item), standing_of(item, Life.OPEN)
    is_sent = standing in _SENT and item.purpose is Purpose.ANSWER
    return {
        "item": item,
        "name": (said.gist if said.wants else said.name) or item.method,
        "bytes": len(item.answer.line.encode("utf-8", "replace")),
        "line": item.answer.line,
        "became": _became(desk, item),
        "told": "" if is_sent else told(item, standing, summary.answered_by(item)),
        "twins": service.ended_twins(desk.inbox, item),
    }


_SENT: Final = (Standing.ANSWERED, Standing.DELIBERATE)
"""Nothing is to be said but that the answer was sent."""


def _became(desk: Desk, item: Item) -> list[tuple[ClientReaction, str]]:
    """Return the client's reactions to an answer with a fault, each with its sentence."""
    is_http = bool(desk.inbox.facts(item.key.session).http.port)
    if item.answer is None or not (item.answer.deliberate or is_http):
        return []
    frames = desk.inbox.last_frames_before(item.key.session, 0, WATCHED)
    if not (item.answer.deliberate or carried_wrongly(frames)):
        return []
    ours = {one.seq for one in frames if one.number == item.key.number}
    told = [one for one in reactions(frames) if one.seq in ours and one.is_of_an_answer]
    return [(one, one.sentence()) for one in told]


_laid_out: Final = lru_cache(16)(pretty)
"""Format a request only once, however often its page is loaded."""
RAW: Final = 200_000
"""The number of characters of a request on its page; a link leads to the rest."""
LONGEST: Final = 50_000
"""The maximum length of a request that can be copied in other forms, in characters."""


@lru_cache(16)
def _copies(line: str) -> list[tuple[str, str]]:
    return copies(line) if len(line) < LONGEST else []


def _message(desk: Desk, opened: OpenExchange, options: ViewOptions) -> dict[str, Any]:
    """Return all values for the page of one exchange."""
    key, item, outlined = opened.key, opened.item, opened.outlined
    task = service.task_of(opened, options.do)
    draft = service.draft_for(opened, task)
    diagnostics = item.diagnostics
    if item.state is ExchangeState.PENDING and draft.touched:
        action = service.action_of(opened, task)
        diagnostics = service.judge(opened, draft.text, draft.form, action).diagnostics
    desk.board.show(key)
    is_text = bool(item.held.unread) or opened.step is not None
    raw = item.line[:RAW] if is_text else _laid_out(item.line[:RAW])
    standing = _standing(desk, opened, options.shown)
    talk = nodes.conversation_of(outlined)
    is_server = opened.facts.role.traits.serves
    asked, question = opened.inquiry, nodes.user_question(outlined)
    covered = set(talk.covered) if talk else set()
    covered |= shown_with(asked, opened.arguments) if asked else set()
    if question:
        covered |= {"message", "requestedSchema", "mode"}
    alone = opened.asked if opened.approval is None else None
    beside = approvals.told_of(alone)
    covered |= {"default"} if beside else set()
    declared = follow((opened.negotiated.tools or {}).get(opened.name), "inputSchema")
    given = nodes.arguments(outlined, declared)
    starts, form = _forms(opened, task, draft)
    forms = {"form": form} | {f"form-{at}": one.form for at, one in enumerate(starts)}
    goes_on = service.goes_on(opened, task)
    faults, templates, answers = list[FaultShape](), dict[str, str](), tuple[Saved, ...]()
    if not goes_on:
        faults = [rendering.fault(one) for one in service.possible_faults(opened)]
        templates = service.templates(opened)
        answers = desk.shelf.fitting(item.method, opened.name)[:9]
    answerable = bool(task) and (opened.exchange is not None or task == Task.CHANGE)
    initial_state = None
    if answerable:
        template = service.as_it_came(opened) if goes_on else service.starting_draft(opened)
        initial_state = filled(
            InitialState,
            item,
            **key._asdict(),
            draft=desk.draft_name(key),
            tool=opened.name,
            document=service.document(opened, draft),
            starts=[{"document": one.document, "pointer": one.form.pointer} for one in starts],
            template=template.text,
            templates=templates,
            placeholders=[*PLACEHOLDERS.values(), PLACEHOLDER],
            options=list(asked.labels) if asked else [],
            digest="" if opened.held is None else digest_of(item.line),
            faults=faults,
            action=service.action_of(opened, task),
            touched=draft.touched,
            at=draft.at,
            textual=item.method == "tools/call" and not goes_on,
            form=None if form is None else form.pointer,
            mirror=form is not None and form.mirror,
            saved=[
                replace(one, text=fill_saved(one.text, one.form, opened.arguments))
                for one in answers
            ],
        )
    step = opened.step
    return {
        "step": None if step is None else {**step.view(item), "template": step.template},
        "approval": approval_view(opened, whole=options.whole),
        "why": _why(options.why),
        "item": item,
        "draft": _plain(opened, task, draft),
        "problems": diagnostic_shapes(diagnostics),
        "remarks": diagnostic_shapes(opened.remarks),
        "talk": talk,
        "inquiry": asked,
        "alone": alone,
        "beside": beside,
        "question": asked.text if asked else question,
        "fields": [one for one in given if one.name not in covered],
        "large": opened.is_large,
        "digest": digest_of(item.line),
        "raw": raw[:RAW],
        "raw_is_cut": max(len(item.line), len(raw)) > RAW,
        "asked_copies": [
            one for one in _copies(item.line) if one[0] != "pretty" and not item.held.unread
        ],
        "task": task,
        "media": () if item.held.unread else media_in(item.line),
        "sent_media": media_in(item.answer.line) if item.answer else (),
        "filled": _is_filled(opened, task, draft),
        "goes_on": goes_on,
        "held_question": opened.held is not None and opened.held.question is not None,
        "held_answer": nodes.held_answer(opened),
        "faults": faults,
        "choices": request_form.question_choices(opened),
        "unsent": desk.drafts.at(desk.draft_name(key)),
        "card": opened.card(),
        "batch": isinstance(opened.message, Batch),
        "list_member": methods.MEMBER_OF_LIST.get(item.method, "") if is_server else "",
        "answerable": answerable and step is None,
        "decidable": answerable or opened.prompt is not None,
        "steps": rows.draw(
            search.conversation(desk.board, key.session),
            key.number,
            held=desk.board.held(key.session),
        ),
        "earlier": "" if draft.touched else earlier_draft(desk.board, opened),
        "templates": templates,
        "answers": answers,
        "starts": starts,
        "forms": {name: one.field for name, one in forms.items() if one is not None},
        "became": _became(desk, item),
        "initial_state": script_json(initial_state),
        **standing,
    }


_IN_ONES_WORDS: Final = ("tools/call", "resources/read", "elicitation/create")
"""The methods without a ready answer: only the person knows it."""


def _is_filled(opened: OpenExchange, task: Task, draft: Draft) -> bool:
    """Return True if the initial draft can be sent unchanged."""
    mine = task is Task.ANSWER and opened.held is None and opened.item.method not in _IN_ONES_WORDS
    if not mine or draft.touched or opened.item.state is not ExchangeState.PENDING:
        return False
    return service.judge(opened, draft.text, draft.form).sendable


def _plain(opened: OpenExchange, task: Task, draft: Draft) -> Draft:
    """Return the content of the plain form: empty for an unchanged answer to a tool call."""
    empty = (
        opened.item.method == "tools/call" and not opened.item.held.asked and task is Task.ANSWER
    )
    return draft if draft.touched or not empty else Draft("", TextForm.TEXT)


class StartShape(TypedDict):
    """A starting point for a person in the role of the model; its form is for `pointer`."""

    document: str
    pointer: str


class InitialState(TypedDict):
    """The initial state of the composer. `draft` names its draft in the browser.

    `digest` is that of a held message, "" for any other.
    `form` is the place in the message for which there is a form.
    """

    draft: str
    session: str
    number: int
    id: str
    method: str
    tool: str
    state: ExchangeState
    document: str
    starts: list[StartShape]
    template: str
    templates: dict[str, str]
    placeholders: list[str]
    options: list[str]
    digest: str
    faults: list[FaultShape]
    action: Action
    touched: bool
    at: str
    textual: bool
    form: str | None
    mirror: bool
    saved: list[Saved]


def _forms(
    opened: OpenExchange, task: Task, draft: Draft
) -> tuple[tuple[Start, ...], AnswerForm | None]:
    """Return the starting points of an answer and its form, or the form of a held call."""
    exchange = opened.exchange
    if exchange is None or service.goes_on(opened, task):
        is_call = opened.item.method == "tools/call"
        return (), arguments_form(opened.negotiated, opened.name) if is_call else None
    starts = starts_of(exchange)
    begun = chosen(starts, service.document(opened, draft))
    form = begun.form if begun else form_of(opened.item, opened.negotiated, opened.name)
    return starts, form


def _standing(desk: Desk, opened: OpenExchange, shown: ListFilter) -> dict[str, Any]:
    """Return the state of an exchange: session, client, other writers, possible actions.

    What a page opens next is one of the list.
    """
    item, facts = opened.item, opened.facts
    client = timeouts.find_client(facts.client)
    row, agent = summary.row(item, facts, opened.read), opened.prompt
    standing = row.standing
    is_lost = item.state is ExchangeState.PENDING and standing.is_over
    arrived = seconds_of(item.arrived)
    is_aside = desk.board.is_aside(item.key.session)
    urgency = max(standing.urgency, Urgency.LATER) if is_aside else standing.urgency
    return {
        "row": row,
        "is_aside": is_aside,
        "waits": urgency is Urgency.NOW,
        "following": opens_next(shown.rows(desk.board), urgency),
        "query": shown.query,
        "questions": request_form.requests_shown(opened),
        "facts": facts,
        "is_practice": _practises(desk, facts),
        "living": facts.is_open,
        "place": desk.draft_name(item.key),
        "standing": standing,
        "state": (ExchangeState.ABANDONED if is_lost else item.state).value,
        "prospects": {one.code: one.at for one in prospects(item, time.time() - arrived, agent)},
        "agent": agent,
        "twins": twins_of(item),
        "writers": desk.board.writers,
        "listener_notes": [text for one in desk.listeners for text in one.notes(item.key)],
        "client_setting": "" if client is None else client.setting,
        "arrived": arrived,
        "kept": [one.text for one in item.kept],
        "copies": copies(item.answer.line) if item.answer is not None else [],
        "answer_pretty": "" if item.answer is None else pretty(item.answer.line),
        "answer_bytes": 0 if item.answer is None else len(item.answer.line.encode()),
        "answer_at": 0.0 if item.answer is None else seconds_of(item.answer.at),
    }


@router.post("/m/{name}/{number}")
def act(request: Request, name: str, number: int, values: FormValues, do: str = "") -> Response:
    """Send the content of a plain form, or carry out a button of the page; `do` is the task."""
    desk, key = desk_of(request), Key(name, number)
    here = f"/m/{key.session}/{key.number}"
    match values.get("act", "send"):
        case "forget":
            return _forget(desk, key)
        case "pause":
            _hold(desk, key)
        case "park" | "status" | "progress on" | "progress off" as wanted:
            kind, _, switch = wanted.partition(" ")
            words = switch or f"{key.number} {values.get('status', '')}".strip()
            order = Reply(words, order=Order(kind))
            with suppress(OrderError):  # an empty message, or a session that just ended
                desk.submit_outgoing(key.session, order)
            desk.board.refresh(*key)
        case "allow" | "like" | "deny" | "hand back" | "let go":
            return _decide(request, key, values, here)
        case "change" | "change json" | "answers" | "drop":
            return _decide(request, key, values, here)
        case "take back":
            approvals.take_back(desk.open_exchange(key), values.get("pattern", ""))
        case "send":
            action = Action.ANSWER if do == Task.ANSWER else Action.FORWARD
            text, form = values.get("text", ""), _text_form(values.get("form", ""))
            reply = Reply(text, form, action=action, shown=values.get("shown", ""))
            task = f"?do={do}" if do in {Task.CHANGE, Task.ANSWER} else ""
            return _send(request, key, reply, here + task)
        case wanted:
            raise UnknownItemError(wanted)
    return RedirectResponse(f"{here}#answer", 303)


def _forget(desk: Desk, key: Key) -> Response:
    """Delete an exchange; it has no page afterwards."""
    try:
        desk.inbox.forget(key)
    except NotForgottenError:  # its client waits: its page has no such button
        return RedirectResponse(f"/m/{key.session}/{key.number}", 303)
    desk.board.refresh(key.session)
    return RedirectResponse("/history", 303)


def _hold(desk: Desk, key: Key) -> None:
    """Pause the countdown of the answer book."""
    service.pause(desk.open_exchange(key), BY)
    desk.board.refresh(*key)


def _decide(request: Request, key: Key, values: dict[str, str], here: str) -> Response:
    """Send the choice of a button of the approval card; if nothing is sent, show why."""
    desk = desk_of(request)
    opened = desk.open_exchange(key)
    try:
        reply = chosen_reply(opened, values)
        like = values.get("pattern", "")
        pattern = approvals.pattern_at(opened, like) if values["act"] == "like" else None
    except ApprovalError as error:
        why = error.code
    else:
        result = desk.send(key, signed(request, key, reply))
        if result.outcome in _GONE:
            if pattern is not None:
                approvals.allow_like(opened, pattern)
            return _to_next(key)
        why = next((one.code for one in result.diagnostics), "")
    return RedirectResponse(f"{here}?{urlencode({'why': why})}#approval", 303)


def _why(code: str) -> str:
    """Return the sentence on why nothing was sent; "" for an unknown code."""
    with suppress(UnknownSentenceError):
        return say(approvals.SECTION, code) if code else ""
    other = kinds.other_request_shown().unplaced()
    return describe(other) if code == other.code else ""


def _send(request: Request, key: Key, reply: Reply, here: str) -> Response:
    """Send a reply and redirect; a blocked reply is kept and shown with its problems."""
    sent = desk_of(request).send(key, signed(request, key, reply))
    return _to_next(key) if sent.outcome in _GONE else RedirectResponse(f"{here}#answer", 303)


_GONE: Final = (Outcome.SENT, Outcome.QUEUED, Outcome.STORED)


def _to_next(key: Key) -> Response:
    """Lead to what waits next, which also says what was sent."""
    return RedirectResponse(f"/?{urlencode({'sent': f'{key.session}/{key.number}'})}", 303)


def _text_form(value: str) -> TextForm:
    try:
        return TextForm(value)
    except ValueError:
        return TextForm.MESSAGE
