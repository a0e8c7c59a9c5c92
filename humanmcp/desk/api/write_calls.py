"""The calls that write, check and send an answer."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from fastapi import HTTPException, Request, Response

from humanmcp.answering import service
from humanmcp.answering.schema import (
    DiagnosticShape,
    FixedShape,
    OutcomeShape,
    SaidShape,
    TypedDict,
    VerdictShape,
    diagnostic_shape,
    outcome_shape,
    said_shape,
    verdict_shape,
)
from humanmcp.answering.service import OrderError, Outcome, queue_outgoing
from humanmcp.common.timestamps import now
from humanmcp.desk.context import author, call_router, desk_of, signed
from humanmcp.desk.desk import BY
from humanmcp.desk.inbox.answer_form import unread
from humanmcp.desk.moments import Press
from humanmcp.inbox.contract import Action, Draft, Key, Order, Reply, Writer
from humanmcp.inbox.form_drafts import FormDraft
from humanmcp.locales import say
from humanmcp.protocol.diagnostics.model import Diagnostic, TextForm
from humanmcp.protocol.tables.faults import Fault

router: Final = call_router()

LONGEST_NAME: Final = 64


@dataclass
class TextBody:
    """A text and its form: message, result, error, text, or tool error.

    `action` says whether a text for a held request replaces it (pass) or answers it.
    """

    text: str
    form: TextForm = TextForm.MESSAGE
    action: Action = Action.FORWARD


@dataclass
class DraftBody(TextBody):
    """A person's draft. `paused` pauses the answer book, null leaves it unchanged.

    `aside` is a text that this draft replaces; it is kept, too.
    `action` says whether a text for a held request replaces it (pass), or answers it.
    `page` names the writer: another name for each box that a person types in. `since` is the `at`
    of the draft that they began from. The draft of another writer that began elsewhere is kept.
    All who name no page are one writer.
    """

    touched: bool = True
    paused: bool | None = None
    aside: str = ""
    page: str = ""
    since: str = ""


@dataclass
class ReplyBody(TextBody):
    """The answer to send. `anyway` sends it despite the check's errors.

    `action` says what happens to a message that a tap holds: pass, drop or answer. `shown` is the
    `digest` of the request that the person saw; a held message is passed only with it. `page` is
    that of its draft.
    """

    anyway: bool = False
    shown: str = ""
    page: str = ""


@dataclass
class CheckBody(TextBody):
    """A text, and by pointer the texts of its fields that are not JSON yet.

    `sent` says that a person tried to send it, and the page stopped it.
    """

    fields: dict[str, str] = field(default_factory=dict)
    sent: bool = False


@router.post("/exchanges/{session}/{number}/check")
def check(request: Request, session: str, number: int, body: CheckBody) -> VerdictShape:
    """Return the problems of a text, and the `line` that would be sent. Nothing is sent.

    `fields` has the texts of members that are not JSON yet, by their pointers. Each is checked
    separately, and nothing can be sent until all are JSON.
    """
    desk, key = desk_of(request), Key(session, number)
    verdict = service.judge(desk.open_exchange(key), body.text, body.form, body.action)
    in_fields = {pointer: unread(raw) for pointer, raw in body.fields.items()}
    unread_ones = [one for each in in_fields.values() for one in each]
    press = Press.STOPPED if body.sent else Press.NONE
    desk.judged(key, (*verdict.diagnostics, *unread_ones), press)
    found = verdict_shape(verdict)
    return _with_unread(found, in_fields) if in_fields else found


def _with_unread(
    shape: VerdictShape, in_fields: Mapping[str, Iterable[Diagnostic]]
) -> VerdictShape:
    """Add the problems of fields that are not JSON, instead of other problems at these fields."""
    diagnostics: list[DiagnosticShape] = [
        {**diagnostic_shape(one), "field": pointer, "pointer": pointer}
        for pointer, each in in_fields.items()
        for one in each
    ]
    within = tuple(f"{pointer}/" for pointer in in_fields)
    others = [one for one in shape["problems"] if not f"{one['pointer']}/".startswith(within)]
    blocked: VerdictShape = {**shape, "problems": [*diagnostics, *others]}
    blocked["sendable"] = blocked["forcible"] = False
    blocked["line"] = blocked["bytes"] = None
    return blocked


@router.post("/exchanges/{session}/{number}/autofix")
def fix_all(request: Request, session: str, number: int, body: TextBody) -> FixedShape:
    """Apply every fix that removes nothing, invents nothing and is not a guess."""
    opened = desk_of(request).open_exchange(Key(session, number))
    fixed = service.autofix(opened, body.text, body.form, body.action)
    return {**verdict_shape(fixed.verdict), "text": fixed.text}


@dataclass
class FaultBody:
    """The answer so far, and the fault to put into it."""

    fault: Fault | None
    text: str
    form: TextForm = TextForm.MESSAGE


class DocumentShape(TypedDict):
    """A whole message."""

    document: str


@router.post("/exchanges/{session}/{number}/fault")
def add_fault(request: Request, session: str, number: int, body: FaultBody) -> DocumentShape:
    """Put a fault into an answer, and return it. Nothing is saved and nothing is sent.

    A fault of HTTP does not change the answer: the next response of the server is wrong. null
    ends that.
    """
    opened = desk_of(request).open_exchange(Key(session, number))
    if body.fault is None:
        service.remove_http_fault(opened, BY)
        return {"document": body.text}
    draft = Draft(body.text, body.form)
    return {"document": service.with_fault(opened, draft, body.fault)}


class KeptShape(TypedDict):
    """The time when a draft was saved."""

    at: str


@router.post("/exchanges/{session}/{number}/draft")
def keep(request: Request, session: str, number: int, body: DraftBody) -> KeptShape:
    """Save the draft of a person, also after the exchange was closed.

    `paused` pauses the answer book, null changes nothing. It is no sign that somebody writes: the
    last one may arrive after its page is gone.
    """
    desk, key = desk_of(request), Key(session, number)
    opened = desk.open_exchange(key)
    paused = opened.item.is_paused if body.paused is None else body.paused
    draft = Draft(body.text, body.form, body.touched, paused, BY, "", body.action, body.page)
    at = service.keep(opened, draft, body.since)
    if body.aside:
        desk.inbox.put_aside(key, draft._replace(text=body.aside, form=TextForm.MESSAGE, at=at))
    desk.board.refresh(*key)
    for one in desk.listeners:
        one.draft_saved()
    return {"at": at}


@dataclass
class FormBody:
    """The fields of a form by their names, and `words`: what a person typed, to read.

    No fields delete the draft.
    """

    fields: dict[str, str]
    words: str = ""


LONGEST_KEY: Final = 1000
LARGEST_DRAFT: Final = 4_000_000
"""The maximum length of the fields of a form together, in characters."""


@router.post("/drafts")
def keep_form(request: Request, body: FormBody, key: str) -> KeptShape:
    """Save the draft of a form. `key` is its place, a space, and its name.

    A device may only write at a session that there is.
    """
    desk = desk_of(request)
    desk.check_draft(request.scope, key)
    size = sum(len(name) + len(value) for name, value in body.fields.items())
    is_large = len(key) > LONGEST_KEY or size + len(body.words) > LARGEST_DRAFT
    if is_large or desk.drafts.is_full_for(key):
        raise HTTPException(413, say("refusal", "large"))
    at = now()
    if body.fields:
        desk.drafts.save(FormDraft(key, body.fields, body.words, at))
    else:
        desk.drafts.forget(key)
    return {"at": at}


@dataclass
class WriterBody:
    """The window in which somebody writes, and whether they still do."""

    who: str
    on: bool = True


@router.post("/exchanges/{session}/{number}/writer")
def note_writer(request: Request, session: str, number: int, body: WriterBody) -> WriterBody:
    """Tell all desks that somebody writes an answer, or that they stopped.

    It counts for 20 seconds: repeat it while they write. It keeps nobody from answering.
    """
    desk, key, page = desk_of(request), Key(session, number), body.who[:LONGEST_NAME]
    if body.on:
        desk.open_exchange(key)
        desk.inbox.note_writer(key, Writer(page, author(request)))
    else:
        desk.inbox.clear_writer(page)
    desk.board.look_at_writers()
    return body


@router.post("/exchanges/{session}/{number}/reply")
def reply(
    request: Request, response: Response, session: str, number: int, body: ReplyBody
) -> OutcomeShape:
    """Send an answer.

    `became` and the status: `sent` (200), `on its way` (202), `stored` (202: a parked call, whose
    client asks for the answer later), `taken` (409: another reply was first), `over` (409: the
    request is over), `not confirmed` (409: the connection ended before the server confirmed it; the
    client may have it), `blocked` or `refused` (422). `anyway` sends it although the check finds
    errors. `action` is for a message that a tap holds.
    """
    reply = Reply(body.text, body.form, body.anyway, action=body.action, shown=body.shown)
    key = Key(session, number)
    sent = desk_of(request).send(key, signed(request, key, reply._replace(page=body.page)))
    response.status_code = _STATUS[sent.outcome]
    return outcome_shape(sent)


_STATUS: Final = {
    Outcome.SENT: 200,
    Outcome.QUEUED: 202,
    Outcome.STORED: 202,
    Outcome.TAKEN: 409,
    Outcome.OVER: 409,
    Outcome.UNCONFIRMED: 409,
    Outcome.BLOCKED: 422,
    Outcome.REFUSED: 422,
}


@dataclass
class SayBody:
    """An outgoing message: a notification or a request as a whole message; or an order."""

    text: str
    anyway: bool = False
    order: Order = Order.SAY


class TicketShape(TypedDict):
    """The ticket of an outgoing message: ask with it for the result."""

    ticket: str


@router.post("/sessions/{session}/say")
def submit_outgoing(request: Request, session: str, body: SayBody) -> TicketShape:
    """Send an outgoing message: a notification, a request to the client, or an order.

    The order `definition` changes the server definition: `text` is JSON with `add` and `remove`,
    as in a rule of the answer book. The others are for testing a client: `raw` writes bytes (`text`
    is base64), `progress` and `silence` take `on` or `off`, `exit` takes a status, `crash`
    nothing. `extension` takes the order of an extension: `faults on` answers each call with another
    fault, until `faults off`. If an order is not possible, 422 says why.
    """
    reply = Reply(body.text, TextForm.MESSAGE, body.anyway, BY, now(), order=body.order)
    try:
        return {"ticket": queue_outgoing(desk_of(request).inbox, session, reply)}
    except OrderError as error:
        raise HTTPException(422, error.sentence()) from error


@router.get("/sessions/{session}/say/{ticket}")
def said(request: Request, session: str, ticket: str) -> SaidShape:
    """Return the state of an outgoing message: `waiting`, `sent`, `refused` with its problems."""
    return said_shape(service.became_of(desk_of(request).inbox.outgoing_result(session, ticket)))
