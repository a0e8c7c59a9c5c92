"""What the buttons of an exchange do without a script: POST acts and leads back to a page."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from typing import Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering import service
from humanmcp.answering.service import Outcome
from humanmcp.desk.http.context import BY, Desk, desk_of, spoken
from humanmcp.desk.http.layout import FormValues, note_version
from humanmcp.desk.presenters.held_messages import Task
from humanmcp.desk.routes.inbox import Broken, show_inbox
from humanmcp.inbox.contract import (
    Action,
    Draft,
    Key,
    Order,
    Reply,
    UnknownItemError,
)
from humanmcp.inbox.forgetting import NotForgottenError
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.spec.faults import Fault

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])


@router.post("/m/{name}/{number}")
def act(request: Request, name: str, number: int, values: FormValues) -> Response:
    """Save, check, send, choose, break, hold, let go, drop, or go back to where it began."""
    key = Key(name, number)
    if values.get("act") == "forget":
        return _forget(desk_of(request), key)
    return _act(request, key, values)


def _forget(desk: Desk, key: Key) -> Response:
    """Forget an exchange for good; there is no page of it afterwards."""
    try:
        desk.inbox.forget(key)
    except NotForgottenError:  # its client waits: the page of it has no such button
        return RedirectResponse(f"/m/{key.session}/{key.number}", 303)
    desk.board.refresh(key.session)
    return RedirectResponse("/history", 303)


def _act(request: Request, key: Key, values: dict[str, str]) -> Response:
    desk, here = desk_of(request), f"/m/{key.session}/{key.number}"
    action = Action.ANSWER if values.get("do") == Task.ANSWER else Action.PASS
    form = _form(values.get("form", ""))
    written = Draft(values.get("text", ""), form, touched=True, action=action)
    broken = _broken(values)
    match values.get("act", "send"):
        case "hold" | "progress on" | "progress off" as act_on:
            _keep_quiet(desk, key, act_on, spoken(request))
        case act_on if act_on.startswith("design "):
            _keep_quiet(desk, key, "hold", spoken(request))
            query = urlencode({"at": f"{key.session}/{key.number}", "member": act_on[7:]})
            return RedirectResponse(f"/offer/entry?{query}", 303)
        case "template":
            _save(desk, key, service.starting_draft(desk.case(key), spoken(request)))
        case "save":
            _save(desk, key, written)
        case "mend":
            service.mended(desk.case(key), BY)
            if broken:
                _save(desk, key, broken.before._replace(touched=True))
        case act_on if act_on.startswith("break "):
            before = broken.before if broken else written
            return _break(request, key, before, act_on.removeprefix("break "))
        case "let go" | "drop" as act_on:
            action = Action.DROP if act_on == "drop" else Action.PASS
            reply = Reply(desk.inbox.item(key).line, action=action)
            return _after_sending(here, key, desk.send(key, reply).outcome)
        case act_on:
            reply = _reply(desk, key, act_on, written)._replace(action=action)
            outcome = desk.send(key, reply).outcome
            if broken and outcome is Outcome.BLOCKED:
                return show_inbox(request, key, chosen=True, broken=broken)
            return _after_sending(_with_task(here, values), key, outcome)
    return RedirectResponse(f"{_with_task(here, values)}#answer", 303)


def _with_task(here: str, values: dict[str, str]) -> str:
    """Lead back to what a person was at with a held message."""
    do = values.get("do")
    return f"{here}?do={do}" if do in {Task.CHANGE, Task.ANSWER} else here


def _reply(desk: Desk, key: Key, act_on: str, written: Draft) -> Reply:
    """Return what is sent: an option that was chosen, else what was written."""
    if act_on.startswith("choose "):
        return Reply(_option(desk, key, act_on.removeprefix("choose ")), TextForm.TEXT)
    return Reply(written.text, written.form, anyway=act_on == "anyway")


def _option(desk: Desk, key: Key, number: str) -> str:
    """Return the option that a person chose, word for word."""
    asked = desk.case(key).inquiry
    known = number.isascii() and number.isdigit() and len(number) < 4
    option = asked.option(int(number)) if asked is not None and known else None
    if option is None:
        raise UnknownItemError(f"{key.session}/{key.number}")
    return option


def _keep_quiet(desk: Desk, key: Key, wanted: str, language: str) -> None:
    """Stop the book's countdown, or switch the progress that is sent meanwhile off or on."""
    if wanted == "hold":
        service.hold(desk.case(key), language, on=True, by=BY)
        desk.board.refresh(*key)
        return
    order = Reply(wanted.removeprefix("progress "), by=BY, order=Order.PROGRESS)
    service.say_first(desk.inbox, key.session, order, within=0)


def _broken(values: dict[str, str]) -> Broken | None:
    """Read from a form what was there before the answer was broken."""
    try:
        before = Draft(values["before"], _form(values["before form"]))
        return Broken(Fault(values["fault"]), before)
    except (KeyError, ValueError):
        return None


def _break(request: Request, key: Key, before: Draft, name: str) -> Response:
    """Break an answer and show it: a fault is put into what was there, not into another fault."""
    desk = desk_of(request)
    case = desk.case(key)
    if name not in {one.value for one in service.breakable(case)}:
        raise UnknownItemError(name)
    fault = Fault(name)
    text = service.broken(case, before, fault, spoken(request))
    _save(desk, key, before._replace(text=text, form=TextForm.MESSAGE, touched=True))
    return show_inbox(request, key, chosen=True, broken=Broken(fault, before))


def _save(desk: Desk, key: Key, draft: Draft) -> None:
    case = desk.case(key)
    service.keep(case, draft._replace(hold=case.item.is_on_hold, by=BY))
    desk.board.refresh(*key)


def _after_sending(here: str, key: Key, outcome: Outcome) -> Response:
    if outcome in (Outcome.SENT, Outcome.QUEUED):
        return RedirectResponse(f"/?{urlencode({'sent': f'{key.session}/{key.number}'})}", 303)
    return RedirectResponse(f"{here}#answer", 303)


def _form(value: str) -> TextForm:
    try:
        return TextForm(value)
    except ValueError:
        return TextForm.MESSAGE
