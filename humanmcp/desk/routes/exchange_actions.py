"""What the buttons of an exchange do without a script: POST acts and leads back to a page."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from typing import Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.desk import composing
from humanmcp.desk.composing import Became, SendOutcome
from humanmcp.desk.http.context import Desk, desk_of
from humanmcp.desk.http.layout import form_values, note_version
from humanmcp.desk.http.request_context import now
from humanmcp.desk.presenters import rows
from humanmcp.desk.routes import api_drafts
from humanmcp.desk.routes.inbox import Broken, faults_of, show_inbox
from humanmcp.inbox.contract import (
    Action,
    Draft,
    Key,
    Order,
    Reply,
    UnknownItemError,
)
from humanmcp.inbox.forgetting import NotForgottenError
from humanmcp.inbox.ordering import hand_in as hand_in_order
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.json.layout import pretty
from humanmcp.protocol.validation.faults import Fault

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])


@router.post("/m/{name}/{number}")
async def act(request: Request, name: str, number: int) -> Response:
    """Save, check, send, choose, break, hold, let go, drop, or go back to where it began."""
    values = await form_values(request)
    if values.get("act") == "forget":
        return await run_in_threadpool(_forget, request, Key(name, number))
    return await run_in_threadpool(_act, request, Key(name, number), values)


def _forget(request: Request, key: Key) -> Response:
    """Forget an exchange for good; there is no page of it afterwards."""
    desk = desk_of(request)
    try:
        desk.inbox.forget(key)
    except NotForgottenError:  # its client waits: the page of it has no such button
        return RedirectResponse(f"/m/{key.session}/{key.number}", 303)
    desk.board.refresh(key.session)
    return RedirectResponse("/history", 303)


def _act(request: Request, key: Key, values: dict[str, str]) -> Response:
    desk, here = desk_of(request), f"/m/{key.session}/{key.number}"
    text, form = values.get("text", ""), _form(values.get("form", ""))
    broken = _broken(values)
    match values.get("act", "send"):
        case "hold" | "progress on" | "progress off" as act_on:
            _keep_quiet(desk, key, act_on)
        case "template":
            start = composing.starting(desk.inbox, desk.inbox.item(key))
            _save(desk, key, start.text, start.form, touched=False)
        case "original":
            original = pretty(desk.inbox.item(key).line)
            _save(desk, key, original, TextForm.MESSAGE, touched=False)
        case "save":
            _save(desk, key, text, form, touched=True)
        case "mend":
            if broken:
                _save(desk, key, broken.before, broken.form, touched=True)
        case act_on if act_on.startswith("break "):
            before = Draft(broken.before, broken.form) if broken else Draft(text, form)
            return _break(request, key, before, act_on.removeprefix("break "))
        case "let go" | "drop" as act_on:
            action = Action.DROP if act_on == "drop" else Action.PASS
            body = api_drafts.ReplyBody(desk.inbox.item(key).line, action=action)
            return _after_sending(here, key, api_drafts.hand_in(desk, key, body))
        case act_on:
            body = _reply(desk, key, act_on, Draft(text, form))
            outcome = api_drafts.hand_in(desk, key, body)
            if broken and outcome.became is Became.BLOCKED:
                return show_inbox(request, key, chosen=True, broken=broken)
            return _after_sending(here, key, outcome)
    return RedirectResponse(f"{here}#answer", 303)


def _reply(desk: Desk, key: Key, act_on: str, written: Draft) -> api_drafts.ReplyBody:
    """Return what is sent: an option that was chosen, else what was written."""
    if act_on.startswith("choose "):
        return api_drafts.ReplyBody(
            _option(desk, key, act_on.removeprefix("choose ")), TextForm.TEXT
        )
    return api_drafts.ReplyBody(written.text, written.form, anyway=act_on == "anyway")


def _option(desk: Desk, key: Key, number: str) -> str:
    """Return the option that a person chose, word for word."""
    asked = rows.inquiry_of(desk.inbox.item(key))
    known = number.isascii() and number.isdigit() and len(number) < 4
    option = asked.option(int(number)) if asked is not None and known else None
    if option is None:
        raise UnknownItemError(f"option {number} of exchange {key.number}")
    return option


def _keep_quiet(desk: Desk, key: Key, wanted: str) -> None:
    """Stop the book's countdown, or switch the progress that is sent meanwhile off or on."""
    if wanted == "hold":
        api_drafts.hold_book(desk, key, hold=True)
        return
    switched = wanted.removeprefix("progress ")
    said = Reply(switched, by=composing.BY, at=now(), order=Order.PROGRESS)
    hand_in_order(desk.inbox, key.session, said)


def _broken(values: dict[str, str]) -> Broken | None:
    """Read from a form what was there before the answer was broken."""
    try:
        return Broken(Fault(values["fault"]), values["before"], _form(values["before form"]))
    except (KeyError, ValueError):
        return None


def _break(request: Request, key: Key, before: Draft, name: str) -> Response:
    """Break an answer and show it: a fault is put into what was there, not into another fault."""
    desk = desk_of(request)
    item = desk.inbox.item(key)
    if name not in {one.value for one in faults_of(desk, item)}:
        raise UnknownItemError(name)
    fault = Fault(name)
    _save(
        desk, key, composing.broken(desk.inbox, item, before, fault), TextForm.MESSAGE, touched=True
    )
    return show_inbox(request, key, chosen=True, broken=Broken(fault, before.text, before.form))


def _save(desk: Desk, key: Key, text: str, form: TextForm, *, touched: bool) -> None:
    item = desk.inbox.item(key)
    held = item.draft is not None and item.draft.hold
    desk.inbox.save(key, Draft(text, form, touched, held, composing.BY, now()))
    desk.board.refresh(*key)


def _after_sending(here: str, key: Key, outcome: SendOutcome) -> Response:
    if outcome.became in (Became.SENT, Became.ON_ITS_WAY):
        return RedirectResponse(f"/?{urlencode({'sent': f'{key.session}/{key.number}'})}", 303)
    return RedirectResponse(f"{here}#answer", 303)


def _form(value: str) -> TextForm:
    try:
        return TextForm(value)
    except ValueError:
        return TextForm.MESSAGE
