"""The calls by which something is written, checked and sent."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter, HTTPException, Request

from humanmcp.desk import composing
from humanmcp.desk.composing import BY, Became, SendOutcome
from humanmcp.desk.http.context import Desk, desk_of
from humanmcp.desk.http.request_context import AsciiJson, called, now, spoken
from humanmcp.desk.presenters.page_types import OutcomeShape, VerdictShape
from humanmcp.desk.presenters.serializers import describe
from humanmcp.desk.state.board import Writer
from humanmcp.inbox.contract import Action, Draft, Key, Order, Reply
from humanmcp.inbox.ordering import OrderError
from humanmcp.inbox.ordering import hand_in as hand_in_order
from humanmcp.protocol.diagnostics.autofix import autofix
from humanmcp.protocol.diagnostics.verdict import TextForm, Verdict
from humanmcp.protocol.validation.faults import Fault

router: Final = APIRouter(prefix="/api", default_response_class=AsciiJson)

LONGEST_NAME: Final = 64


@dataclass
class TextBody:
    """A text and what it stands for: message, result, error, text, or tool error."""

    text: str
    form: TextForm = TextForm.MESSAGE


@dataclass
class DraftBody:
    """What a person is writing. `hold` stops the answer book; `who` names the page that writes."""

    text: str
    form: TextForm = TextForm.MESSAGE
    touched: bool = True
    hold: bool = False
    who: str = ""


@dataclass
class ReplyBody:
    """What a person sends. `anyway` sends it although the check finds errors.

    `action` says what is to become of a message that a tap holds: pass, drop or answer.
    """

    text: str
    form: TextForm = TextForm.MESSAGE
    anyway: bool = False
    action: Action = Action.PASS


@dataclass
class HoldBody:
    """Whether the countdown of the answer book is to stop."""

    hold: bool = True


@router.post("/exchanges/{session}/{number}/check", response_model=None)
def check(request: Request, session: str, number: int, body: TextBody) -> VerdictShape:
    """Say what is wrong with a text, before it is sent."""
    desk = desk_of(request)
    item = desk.inbox.item(Key(session, number))
    judged = composing.verdict(desk.inbox, item, body.text, body.form)
    return write_verdict(judged, spoken(request))


@router.post("/exchanges/{session}/{number}/autofix")
def fix_all(request: Request, session: str, number: int, body: TextBody) -> dict[str, Any]:
    """Apply every fix that takes nothing out, makes nothing up and is no guess."""
    desk = desk_of(request)
    item = desk.inbox.item(Key(session, number))
    fixed = autofix(body.text, lambda text: composing.verdict(desk.inbox, item, text, body.form))
    return {"text": fixed.text, **write_verdict(fixed.verdict, spoken(request))}


def write_verdict(judged: Verdict, language: str) -> VerdictShape:
    """Write what the check says."""
    line = judged.line if judged.line is not None else judged.forced
    return {
        "sendable": judged.sendable,
        "forcible": judged.forced is not None,
        "line": line,
        "bytes": None if line is None else len(line.encode("utf-8", "replace")),
        "kind": None if judged.kind is None else judged.kind.value,
        "text": judged.text,
        "problems": [describe(one, language) for one in judged.problems],
    }


@dataclass
class BreakBody:
    """An answer so far, and the fault that it shall have."""

    fault: Fault
    text: str
    form: TextForm = TextForm.MESSAGE


@router.post("/exchanges/{session}/{number}/break")
def break_it(request: Request, session: str, number: int, body: BreakBody) -> dict[str, Any]:
    """Break an answer on purpose. Nothing is kept and nothing is sent."""
    inbox = desk_of(request).inbox
    item = inbox.item(Key(session, number))
    return {"document": composing.broken(inbox, item, Draft(body.text, body.form), body.fault)}


@router.post("/exchanges/{session}/{number}/draft")
def keep(request: Request, session: str, number: int, body: DraftBody) -> dict[str, Any]:
    """Keep what a person is writing. Also after the exchange was closed: nothing is lost."""
    desk = desk_of(request)
    key, at = Key(session, number), now()
    draft = Draft(body.text, body.form, body.touched, body.hold, BY, at)
    desk.inbox.save(key, draft)
    if body.touched:
        desk.board.writes(key, Writer(body.who[:LONGEST_NAME], called(request)))
    desk.board.refresh(*key)
    return {"at": at}


@router.post("/exchanges/{session}/{number}/hold")
def hold(request: Request, session: str, number: int, body: HoldBody) -> dict[str, Any]:
    """Stop the countdown of the answer book, or let it run on."""
    desk = desk_of(request)
    hold_book(desk, Key(session, number), hold=body.hold)
    return {"hold": body.hold}


def hold_book(desk: Desk, key: Key, *, hold: bool) -> None:
    """Ask the stub to stop the countdown; the text of the draft stays as it is."""
    item = desk.inbox.item(key)
    draft = item.draft or composing.starting(desk.inbox, item)
    desk.inbox.save(key, Draft(draft.text, draft.form, draft.touched, hold, BY, now()))
    desk.board.refresh(*key)


@router.post("/exchanges/{session}/{number}/reply")
def reply(request: Request, session: str, number: int, body: ReplyBody) -> AsciiJson:
    """Send an answer. The status says what became of it: 200, 202, 409 (too late) or 422."""
    outcome = hand_in(desk_of(request), Key(session, number), body)
    return AsciiJson(write_outcome(outcome, spoken(request)), status_code=_STATUS[outcome.became])


_STATUS: Final = {
    Became.SENT: 200,
    Became.ON_ITS_WAY: 202,
    Became.TAKEN: 409,
    Became.BLOCKED: 422,
    Became.REFUSED: 422,
}


def hand_in(desk: Desk, key: Key, body: ReplyBody) -> SendOutcome:
    """Send an answer and look again at its session at once."""
    answer = Reply(body.text, body.form, body.anyway, BY, now(), body.action)
    outcome = composing.send(desk.inbox, key, answer)
    desk.board.refresh(*key)
    return outcome


def write_outcome(outcome: SendOutcome, language: str) -> OutcomeShape:
    """Write what became of a reply."""
    return {
        "became": outcome.became.value,
        "line": outcome.line,
        "bytes": len(outcome.line.encode("utf-8", "replace")),
        "by": outcome.by,
        "state": outcome.state.value,
        "problems": [describe(one, language) for one in outcome.problems],
    }


@dataclass
class SayBody:
    """Something said first: a notification or a request, as a whole message; or an order."""

    text: str
    anyway: bool = False
    order: Order = Order.SAY


@router.post("/sessions/{session}/say")
def say_first(request: Request, session: str, body: SayBody) -> dict[str, Any]:
    """Hand in something of your own: a notification, a request to the client, an order."""
    reply = Reply(body.text, TextForm.MESSAGE, body.anyway, BY, now(), order=body.order)
    try:
        return {"ticket": hand_in_order(desk_of(request).inbox, session, reply)}
    except OrderError as error:
        raise HTTPException(422, error.sentence(spoken(request))) from error


@router.get("/sessions/{session}/say/{ticket}")
def said(request: Request, session: str, ticket: str) -> dict[str, Any]:
    """Say what became of a saying: waiting, sent, or refused with its problems."""
    found = desk_of(request).inbox.refused(session, ticket)
    became = "waiting" if found is None else "refused" if found else "sent"
    return {"became": became, "problems": [describe(one, spoken(request)) for one in found or ()]}
