"""Exchanges as JSON for scripts: in a list, one of them whole, lines that are none."""

# No `from __future__ import annotations`: FastAPI and the makers of the docs read the annotations.

import dataclasses
import json
from typing import Annotated, Any, cast

from humanmcp.answering import service
from humanmcp.answering.case import Case
from humanmcp.answering.schema import TypedDict, filled
from humanmcp.answering.schema.diagnostics import DiagnosticShape, diagnostic_shapes
from humanmcp.answering.summary import Row, badge_of, client_of, row
from humanmcp.inbox.contract import SessionFacts
from humanmcp.locales.explain import Card
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import Frame
from humanmcp.protocol.diagnostics.model import Diagnostic
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.tree import follow


class WaitShape(TypedDict):
    """How long the client waits, when the book answers, and by what the client is kept waiting.

    `status_until`: over HTTP, for how long the status of the response is open.
    """

    limit: float | None
    source: str
    book_at: float | None
    held: bool
    means: str
    why_not: str
    status_until: float | None


class RowShape(TypedDict):
    """An exchange, as every list has it. `tool`: the tool or the prompt; `gist`: a few words.

    `touched`: a person writes. `on_its_way`: a reply was sent and is not out yet.
    """

    session: str
    number: int
    state: Annotated[str, ExchangeState]
    purpose: str
    method: str
    tool: str
    gist: str
    touched: bool
    on_its_way: bool
    waiting: WaitShape


class WaitingRowShape(RowShape):
    """A request that waits since `arrived`, in seconds since 1970. `name` is the tool once more."""

    letter: str
    name: str
    arrived: float


class ListedShape(RowShape, WaitShape):
    """An exchange in the list of `inbox`. `name` and `letter` are what a person types.

    `id` is the request's own. `arrived` is UTC, `waited` in seconds. `answer` is a line, or null.
    What `waiting` holds stands beside it once more.
    """

    name: str
    letter: str
    id: Any
    revision: str
    client: str
    arrived: str
    waited: float
    arguments: Any
    answer: str | None
    by: str
    line: str


class InboxShape(TypedDict):
    """The list of `inbox`."""

    items: list[ListedShape]


class DraftShape(TypedDict):
    """What a person is writing."""

    text: str
    form: Annotated[str, TextForm]
    touched: bool
    hold: bool
    by: str
    at: str


class KeptTextShape(TypedDict):
    """A text that was written and not sent."""

    text: str
    by: str
    at: str


class CardShape(TypedDict):
    """What a message means, in words. `silence`: what happens without an answer."""

    method: str
    title: str
    what: str
    sender: str
    silence: str
    note: str
    page: str


class ShownShape(ListedShape):
    """An exchange as `show` has it. `draft` is the text; `options`: what a person may choose from.

    `remarks` are about the request; `problems` say why the last reply came back.
    """

    card: CardShape
    draft: str
    problems: list[DiagnosticShape]
    remarks: list[DiagnosticShape]
    kept: list[KeptTextShape]
    reason: str
    options: list[str]


class AnswerShape(TypedDict):
    """What was answered. `deliberate`: sent although the check found errors."""

    line: str
    by: str
    at: str
    deliberate: bool


class ExchangeShape(RowShape):
    """A request and what became of it. `line` and `id` are text: no number is read."""

    way: str
    asked: str
    id: str
    revision: str
    arrived: str
    line: str
    reason: str
    draft: DraftShape
    document: str
    problems: list[DiagnosticShape]
    remarks: list[DiagnosticShape]
    answer: AnswerShape | None


class UnreadableShape(TypedDict):
    """The last line of a session that could not be read, and how many there are."""

    session: str
    letter: str
    unreadable: int
    seq: int
    at: str
    line: str
    note: str
    problems: list[DiagnosticShape]


class ForgottenShape(TypedDict):
    """What `forget` forgot, and what it left since a client waits: names as they are typed."""

    forgotten: list[str]
    waiting: list[str]


def row_shape(row: Row) -> RowShape:
    """Write a row of a list."""
    return filled(RowShape, row, **row.key._asdict(), tool=row.name)


def waiting_row_shape(row: Row) -> WaitingRowShape:
    """Write a row of what waits, for the interface."""
    return filled(WaitingRowShape, row, **row_shape(row), letter=row.badge.letter)


def _case_shape(case: Case) -> RowShape:
    """Write the row of a case, with the names at their full length."""
    whole: RowShape = row_shape(row(case.item, badge_of(case.facts)))
    return {**whole, "method": case.item.method, "tool": case.name or whole["tool"]}


def listed_shape(case: Case, name: str, waited: float) -> ListedShape:
    """Write an exchange for the list of `inbox`, under the name that a person types for it."""
    item, whole = case.item, _case_shape(case)
    return filled(
        ListedShape,
        item,
        **whole,
        **whole["waiting"],
        name=name,
        letter=case.facts.letter,
        id=_value(item.id),
        client=client_of(case.facts),
        waited=round(waited, 3),
        arguments=follow(jsonrpc.object_in(item.line), "params", "arguments"),
        answer=None if item.answer is None else item.answer.line,
        by="" if item.answer is None else item.answer.by,
    )


def _value(token: str) -> Any:  # noqa: ANN401 - an id is text or a number
    try:
        return json.loads(token)
    except ValueError:
        return None


def shown_shape(  # noqa: PLR0913 - each is a part of its own
    case: Case, name: str, waited: float, language: str, *, card: Card, draft: str
) -> ShownShape:
    """Write an exchange as `show` has it."""
    item, asked = case.item, case.inquiry
    return {
        **listed_shape(case, name, waited),
        "card": cast("CardShape", dataclasses.asdict(card)),
        "draft": draft,
        "problems": diagnostic_shapes(item.diagnostics, language),
        "remarks": diagnostic_shapes(case.remarks, language),
        "kept": [filled(KeptTextShape, one) for one in item.kept],
        "reason": item.reason,
        "options": list(asked.options) if asked else [],
    }


def exchange_shape(case: Case, language: str) -> ExchangeShape:
    """Write an exchange."""
    item = case.item
    draft = item.draft or service.starting_draft(case, language)
    return filled(
        ExchangeShape,
        item,
        **_case_shape(case),
        draft=filled(DraftShape, draft),
        document=service.document(case, draft),
        problems=diagnostic_shapes(item.diagnostics, language),
        remarks=diagnostic_shapes(case.remarks, language),
    )


def unreadable_shape(
    facts: SessionFacts, frame: Frame, diagnostics: tuple[Diagnostic, ...], language: str
) -> UnreadableShape:
    """Write the last line of a session that could not be read."""
    found = diagnostic_shapes(diagnostics, language)
    counted = {"letter": facts.letter, "unreadable": facts.unreadable}
    named = {"session": facts.name, "line": frame.text, "problems": found}
    return filled(UnreadableShape, frame, **counted, **named)
