"""The calls for what is prepared: saved answers, the last one, and the rules of the answer book."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from humanmcp.answering.schema import filled
from humanmcp.answering.schema.interface import (
    LastShape,
    RemovedShape,
    RuleShape,
    SavedAnswersShape,
    SavedShape,
)
from humanmcp.common.book_file import BookFileError
from humanmcp.desk.http.context import AsciiJson, CallRoute, desk_of
from humanmcp.desk.presenters import rules
from humanmcp.desk.state import history
from humanmcp.desk.state.history import earlier_draft
from humanmcp.inbox.contract import Key
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import one_line
from humanmcp.protocol.json.tree import pretty

router: Final = APIRouter(prefix="/api", default_response_class=AsciiJson, route_class=CallRoute)


@dataclass
class SavedBody:
    """An answer to keep: its name, what it is for, and its text."""

    name: str
    method: str
    text: str
    tool: str = ""
    form: TextForm = TextForm.TEXT


@dataclass
class RemoveBody:
    """Which saved answer to throw away."""

    number: int


@router.get("/answers")
def answers(request: Request, method: str = "", tool: str = "") -> SavedAnswersShape:
    """List the saved answers; with a method, only those for this method."""
    shelf = desk_of(request).shelf
    found = shelf.fitting(method, tool) if method else shelf.all()
    return {"answers": [filled(SavedShape, one) for one in found]}


@router.post("/answers")
def save_answer(request: Request, body: SavedBody) -> SavedShape:
    """Save an answer for the next time."""
    return filled(SavedShape, desk_of(request).shelf.add(**vars(body)))


@router.post("/answers/remove")
def remove_answer(request: Request, body: RemoveBody) -> RemovedShape:
    """Delete a saved answer."""
    desk_of(request).shelf.remove(body.number)
    return {"removed": body.number}


@router.get("/exchanges/{session}/{number}/last")
def last_answer(request: Request, session: str, number: int) -> LastShape:
    """Return the last answer to the same method and tool, with the id of this request.

    An unsent draft for the same request, from a session that ended, comes first.
    """
    desk = desk_of(request)
    case = desk.case(Key(session, number))
    found = earlier_draft(desk.board, case) or history.last_answer(desk.board, case.item)
    return {"line": found, "document": "" if found is None else pretty(found)}


@dataclass
class RuleBody:
    """A rule to be, as the answer book has it. `save` false only says it as a sentence."""

    method: str
    text: str
    tool: str = ""
    form: TextForm = TextForm.TEXT
    where: dict[str, Any] = field(default_factory=dict)
    after: float = 0.0
    times: int = 0
    save: bool = True


@router.post("/rules")
def add_rule(request: Request, response: Response, body: RuleBody) -> RuleShape:
    """Add a rule to the answer book, and return it as a sentence; `save` false adds nothing."""
    desk = desk_of(request)
    rule = rules.NewRule(
        body.method, body.tool, body.form, body.text, body.where, body.after, body.times
    )
    sentence = rules.sentence(rule)
    try:
        written = rules.to_toml(rule)
        if body.save:
            rules.add(desk.book, rule)
    except (BookFileError, rules.RuleError) as error:
        why = one_line(desk.shown(error.sentence()), 300)
        response.status_code = 422
        return {"sentence": sentence, "why": why}
    return {"sentence": sentence, "toml": written, "saved": body.save}
