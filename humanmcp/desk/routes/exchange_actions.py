"""What the buttons of an exchange do, and its plain form: POST acts and leads back to a page."""

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
from humanmcp.inbox.contract import Action, Key, Order, Reply, UnknownItemError
from humanmcp.inbox.forgetting import NotForgottenError
from humanmcp.protocol.diagnostics.verdict import TextForm

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])


@router.post("/m/{name}/{number}")
def act(request: Request, name: str, number: int, values: FormValues, do: str = "") -> Response:
    """Send what a plain form holds, or do what a button of the page says; `do` is the task."""
    desk, key = desk_of(request), Key(name, number)
    here = f"/m/{key.session}/{key.number}"
    match values.get("act", "send"):
        case "forget":
            return _forget(desk, key)
        case "hold":
            _hold(desk, key, spoken(request))
        case "progress on" | "progress off" as wanted:
            order = Reply(wanted.removeprefix("progress "), by=BY, order=Order.PROGRESS)
            service.submit_outgoing(desk.inbox, key.session, order, within=0)
        case wanted if wanted.startswith("design "):
            _hold(desk, key, spoken(request))
            query = urlencode({"at": f"{key.session}/{key.number}", "member": wanted[7:]})
            return RedirectResponse(f"/offer/entry?{query}", 303)
        case "let go" | "drop" as wanted:
            action = Action.DROP if wanted == "drop" else Action.FORWARD
            return _send(desk, key, Reply(desk.inbox.item(key).line, action=action), here)
        case "send":
            action = Action.ANSWER if do == Task.ANSWER else Action.FORWARD
            reply = Reply(values.get("text", ""), _form(values.get("form", "")), action=action)
            task = f"?do={do}" if do in {Task.CHANGE, Task.ANSWER} else ""
            return _send(desk, key, reply, here + task)
        case wanted:
            raise UnknownItemError(wanted)
    return RedirectResponse(f"{here}#answer", 303)


def _forget(desk: Desk, key: Key) -> Response:
    """Forget an exchange for good; there is no page of it afterwards."""
    try:
        desk.inbox.forget(key)
    except NotForgottenError:  # its client waits: the page of it has no such button
        return RedirectResponse(f"/m/{key.session}/{key.number}", 303)
    desk.board.refresh(key.session)
    return RedirectResponse("/history", 303)


def _hold(desk: Desk, key: Key, language: str) -> None:
    """Stop the book's countdown."""
    service.hold(desk.case(key), language, on=True, by=BY)
    desk.board.refresh(*key)


def _send(desk: Desk, key: Key, reply: Reply, here: str) -> Response:
    """Send a reply and lead on; what the check stops is kept and shown with its problems."""
    if desk.send(key, reply).outcome in (Outcome.SENT, Outcome.QUEUED):
        return RedirectResponse(f"/?{urlencode({'sent': f'{key.session}/{key.number}'})}", 303)
    return RedirectResponse(f"{here}#answer", 303)


def _form(value: str) -> TextForm:
    try:
        return TextForm(value)
    except ValueError:
        return TextForm.MESSAGE
