"""The JSON of an exchange for scripts: the interface and `--json` write the same shapes.

What only one of them writes has its shape where it is made. FastAPI describes them all as OpenAPI,
from which `docs/make_api.py` makes the reference and the types for the scripts of the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from humanmcp.answering import service
from humanmcp.answering.open_exchange import OpenExchange
from humanmcp.answering.service import Outcome, SayResult, SendResult
from humanmcp.answering.standing import Standing
from humanmcp.answering.summary import Row, client_of, row
from humanmcp.inbox.contract import Purpose, SessionFacts, Writer
from humanmcp.locales import describe_or_code, find_sentence, say
from humanmcp.locales.explain import Card
from humanmcp.protocol.conversation.approvals import digest_of
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.diagnostics.kinds import name_of_kind
from humanmcp.protocol.diagnostics.model import (
    Applicability,
    Diagnostic,
    Fix,
    Severity,
    TextForm,
    Verdict,
)
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Kind
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.json.visible import one_line

if TYPE_CHECKING:
    from typing import TypedDict as TypedDict  # noqa: PLC0414 - so it is exported, to mypy
else:
    try:  # FastAPI wants this one before Python 3.12
        from typing_extensions import TypedDict
    except ImportError:  # the commands of the terminal run with the standard library alone
        from typing import TypedDict

INTERFACE: Final = 1
"""The version of these shapes. It grows when a member changes its meaning or goes."""

_Shape = TypeVar("_Shape")


def filled(shape: type[_Shape], record: object, **others: object) -> _Shape:
    """Write a record in a shape: each member is a keyword's or the record's."""
    names: Any = shape.__annotations__
    found: Any = {
        name: others[name] if name in others else _plain(getattr(record, name)) for name in names
    }
    return found  # type: ignore[no-any-return] # a `TypedDict` is a `dict` when it runs


def _plain(value: Any) -> Any:  # noqa: ANN401 - a field of any record
    return dict(value._asdict()) if hasattr(value, "_asdict") else value


_DOUBTFUL: Final = frozenset({Applicability.GUESS, Applicability.PLACEHOLDER})


class EditShape(TypedDict):
    """Replace the characters from `start` to `end` by `new`."""

    start: int
    end: int
    new: str


class FixShape(TypedDict):
    """A fix: edits of the text, in order. `label` is the text of its button."""

    label: str
    applicability: Applicability
    edits: list[EditShape]


class DiagnosticShape(TypedDict):
    """One problem of a text. `line` is 0 if it concerns the whole text.

    `field` is the place of a field whose text is no JSON; the places then count in that text.
    `count`: how many of this kind there are.
    """

    code: str
    name: str
    level: Severity
    blocks: bool
    message: str
    pointer: str
    start: int
    end: int
    line: int
    column: int
    page: str
    field: str
    count: int
    fix: FixShape | None


class VerdictShape(TypedDict):
    """The problems of a text. Their places are in `text`."""

    sendable: bool
    forcible: bool
    line: str | None
    bytes: int | None
    kind: Kind | None
    text: str
    problems: list[DiagnosticShape]


class FixedShape(VerdictShape):
    """The problems of a text after every safe fix."""


class RemarkShape(TypedDict):
    """What `check` says of a file beside its problems. `line` is 0 for the whole file."""

    code: str
    line: int
    message: str


class CheckedShape(VerdictShape, total=False):
    """The result of `check` for one answer. `line` is null if it would not be sent.

    `id` is the caller's own, of a line of `--lines`.
    """

    method: str
    file: str
    id: Any
    remarks: list[RemarkShape]


class JudgedShape(DiagnosticShape):
    """The problems of one line of a conversation. `way`: `in` means from the client."""

    way: Direction
    method: str
    id: str


class ConversationShape(TypedDict, total=False):
    """The result of `check` for a conversation: the number of messages, and their problems.

    `unread`: so many lines were not understood; `unread_line` is the first. A file that cannot be
    checked has no problems, and a remark with the code `not checked`.
    """

    file: str
    messages: int
    unread: int
    unread_line: int
    errors: int
    warnings: int
    problems: list[JudgedShape]
    remarks: list[RemarkShape]


class OutcomeShape(TypedDict):
    """The result of a reply.

    `sent`, `on its way`, `stored`, `blocked`, `refused`, `taken`, `over` or `not confirmed`. After
    `stored` the client of a parked call comes for the answer: no process runs that could take it.
    """

    became: str
    line: str
    bytes: int
    by: str
    state: ExchangeState
    problems: list[DiagnosticShape]


class AnsweredShape(OutcomeShape, total=False):
    """The result of `answer`. `name`: the exchange as typed; `why`: why nothing was sent.

    `deliberate`: sent although the check found errors. `open`: the request waits for another one.
    """

    sent: bool
    name: str
    why: str
    deliberate: bool
    open: bool


class SaidShape(TypedDict):
    """The result of an outgoing message: `waiting`, `sent` or `refused`."""

    became: str
    problems: list[DiagnosticShape]


def diagnostic_shape(diagnostic: Diagnostic) -> DiagnosticShape:
    """Write a problem with its sentence and its fix."""
    fix = None if diagnostic.fix is None else _fix_shape(diagnostic.fix)
    said = {"level": diagnostic.severity, "message": describe_or_code(diagnostic)}
    said["name"] = name_of_kind(diagnostic.code)
    return filled(DiagnosticShape, diagnostic, **said, field="", count=diagnostic.times, fix=fix)


def diagnostic_shapes(found: Iterable[Diagnostic]) -> list[DiagnosticShape]:
    """Write several problems."""
    return [diagnostic_shape(one) for one in found]


def _fix_shape(fix: Fix) -> FixShape:
    edits = [filled(EditShape, one) for one in fix.in_order]
    return filled(FixShape, fix, label=_label(fix), edits=edits)


_SHORT: Final = 24
"""The longest text that the label of a button names."""


def _label(fix: Fix) -> str:
    """Return the text of a fix's button: what it writes, if that is short, and if it is a guess."""
    new = " ".join(one_line(edit.new, _SHORT + 1) for edit in fix.in_order).strip()
    new = new.removeprefix(",").strip() or new
    named = find_sentence("fix", f"{fix.label} it") if 0 < len(new) <= _SHORT else None
    label = named.format(new=new) if named else find_sentence("fix", fix.label)
    label = label or say("desk", "fix")
    if fix.applicability in _DOUBTFUL:
        return say("fix", fix.applicability.value, label=label)
    return label


def verdict_shape(verdict: Verdict) -> VerdictShape:
    """Write the problems of a text."""
    line = verdict.line if verdict.line is not None else verdict.forced
    return filled(
        VerdictShape,
        verdict,
        forcible=verdict.forced is not None,
        line=line,
        bytes=None if line is None else len(line.encode("utf-8", "replace")),
        problems=diagnostic_shapes(verdict.diagnostics),
    )


def checked_shape(verdict: Verdict, **more: str) -> CheckedShape:
    """Write the result of `check` for one answer."""
    return cast("CheckedShape", {**verdict_shape(verdict), "line": verdict.line, **more})


def outcome_shape(result: SendResult) -> OutcomeShape:
    """Write the result of a reply."""
    return filled(
        OutcomeShape,
        result,
        became=result.outcome.value,
        bytes=len(result.line.encode("utf-8", "replace")),
        state=result.item.state,
        problems=diagnostic_shapes(result.diagnostics),
    )


def said_shape(result: SayResult) -> SaidShape:
    """Write the result of an outgoing message."""
    became = "waiting" if result.outcome is Outcome.QUEUED else result.outcome.value
    return {"became": became, "problems": diagnostic_shapes(result.diagnostics)}


class ParkedShape(TypedDict):
    """How the client of a parked call comes for the answer: `way` is `task`, `ticket` or `retry`.

    `asks` is what the client of a task was asked and has not answered, `heard` what it answered.
    """

    way: str
    since: str
    status: str
    asks: str
    heard: str


class WaitShape(TypedDict):
    """How long the client waits, when the answer book answers, and which keepalive is used.

    `status_until`: over HTTP, for how long the status of the response is open. `can_park` is how a
    call can be parked (`task`, `ticket`).
    """

    limit: float | None
    source: str
    book_at: float | None
    book: str
    keepalive: str
    why_not: str
    status_until: float | None
    can_park: str
    parked: ParkedShape | None


class RowShape(TypedDict):
    """An exchange in a list. `tool`: the tool or the prompt; `gist`: a few words.

    `standing` is what is so of it, `touched` says that a person has begun an answer.
    """

    session: str
    number: int
    standing: Standing
    purpose: Purpose
    method: str
    tool: str
    gist: str
    touched: bool
    waiting: WaitShape


class WaitingRowShape(RowShape):
    """A request that waits since `arrived`, in seconds since 1970. `name` is the tool once more."""

    letter: str
    name: str
    arrived: float


class ListedShape(RowShape, WaitShape):
    """An exchange in the list of `inbox`. `name` and `letter` are what a person types.

    `id` is the request's own. `arrived` is UTC, `waited` in seconds. `answer` is a line, or null.
    `writers` names who writes an answer now, "" for somebody without a name.
    The members of `waiting` are repeated beside it.
    """

    name: str
    letter: str
    state: ExchangeState
    id: Any
    protocol_version: str
    client: str
    arrived: str
    waited: float
    arguments: Any
    answer: str | None
    by: str
    line: str
    writers: list[str]


class InboxShape(TypedDict):
    """The list of `inbox`. `interface` is the version of all shapes of the interface."""

    interface: int
    items: list[ListedShape]


class DraftShape(TypedDict):
    """What a person is writing."""

    text: str
    form: TextForm
    touched: bool
    paused: bool
    by: str
    at: str


class KeptTextShape(TypedDict):
    """An unsent text."""

    text: str
    by: str
    at: str


class ShownShape(ListedShape):
    """An exchange as `show` prints it. `draft` is the text; `options`: what a person can choose.

    `remarks` are about the request; `problems` say why the last reply came back.
    """

    card: Card
    draft: str
    problems: list[DiagnosticShape]
    remarks: list[DiagnosticShape]
    kept: list[KeptTextShape]
    reason: str
    options: list[str]


class AnswerShape(TypedDict):
    """A sent answer. `deliberate`: sent although it had errors."""

    line: str
    by: str
    at: str
    deliberate: bool


class ExchangeShape(RowShape):
    """A request and its result. `line` and `id` are text, so that no number changes.

    `digest` is that of the tool and the arguments of a call, else of the whole line.
    """

    way: Direction
    asked: str
    state: ExchangeState
    id: str
    protocol_version: str
    arrived: str
    line: str
    digest: str
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
    """What `forget` deleted, and what it kept because a client waits, as typed names."""

    forgotten: list[str]
    waiting: list[str]


def row_shape(row: Row) -> RowShape:
    """Write a row of a list."""
    parked = row.waiting.parked
    told = filled(ParkedShape, parked) if parked.ticket else None  # which is for the client alone
    waiting = filled(WaitShape, row.waiting, parked=told)
    words = {"tool": row.summary.name, "gist": row.summary.gist}
    return filled(RowShape, row, **row.key._asdict(), **words, waiting=waiting)


def waiting_row_shape(row: Row) -> WaitingRowShape:
    name, letter = row.summary.name, row.badge.letter
    return filled(WaitingRowShape, row, **row_shape(row), name=name, letter=letter)


def _case_shape(opened: OpenExchange) -> RowShape:
    """Write the row of a case, with the names at their full length."""
    whole: RowShape = row_shape(row(opened.item, opened.facts))
    return {**whole, "method": opened.item.method, "tool": opened.name or whole["tool"]}


def listed_shape(
    opened: OpenExchange, name: str, waited: float, writers: Iterable[Writer] = ()
) -> ListedShape:
    """Write an exchange for the list of `inbox`, under the name that a person types for it."""
    item, whole = opened.item, _case_shape(opened)
    return filled(
        ListedShape,
        item,
        **whole,
        **whole["waiting"],
        name=name,
        letter=opened.facts.letter,
        id=_value(item.id),
        client=client_of(opened.facts),
        waited=round(waited, 3),
        arguments=follow(jsonrpc.object_in(item.line), "params", "arguments"),
        answer=None if item.answer is None else item.answer.line,
        by="" if item.answer is None else item.answer.by,
        writers=[one.name for one in writers],
    )


def _value(token: str) -> Any:  # noqa: ANN401 - an id is text or a number
    try:
        return json.loads(token)
    except ValueError:
        return None


def shown_shape(opened: OpenExchange, name: str, waited: float, *, draft: str) -> ShownShape:
    """Write an exchange as `show` prints it."""
    item, asked = opened.item, opened.inquiry
    return {
        **listed_shape(opened, name, waited, opened.inbox.writers().get(item.key, ())),
        "card": opened.card(),
        "draft": draft,
        "problems": diagnostic_shapes(item.diagnostics),
        "remarks": diagnostic_shapes(opened.remarks),
        "kept": [filled(KeptTextShape, one) for one in item.kept],
        "reason": item.reason,
        "options": list(asked.labels) if asked else [],
    }


def exchange_shape(opened: OpenExchange) -> ExchangeShape:
    item = opened.item
    draft = item.draft or service.starting_draft(opened)
    return filled(
        ExchangeShape,
        item,
        **_case_shape(opened),
        way=item.held.way,
        asked=item.held.asked,
        digest=digest_of(item.line),
        draft=filled(DraftShape, draft),
        document=service.document(opened, draft),
        problems=diagnostic_shapes(item.diagnostics),
        remarks=diagnostic_shapes(opened.remarks),
    )


def unreadable_shape(
    facts: SessionFacts, frame: Frame, diagnostics: tuple[Diagnostic, ...]
) -> UnreadableShape:
    """Write the last line of a session that could not be read."""
    found = diagnostic_shapes(diagnostics)
    counted = {"letter": facts.letter, "unreadable": facts.unreadable}
    named = {"session": facts.name, "line": frame.text, "problems": found}
    return filled(UnreadableShape, frame, **counted, **named)
