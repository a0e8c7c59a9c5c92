"""The JSON of an exchange and of what is said about it, for scripts: each shape written once.

The page's island, the interface, its reference and the types of the page's scripts are made from
these, and so is what the terminal prints with `--json`.
"""

# No `from __future__ import annotations`: FastAPI and the makers of the docs read the annotations.

from typing import Annotated, Final, cast

from typing_extensions import TypedDict  # FastAPI wants this one before Python 3.12

from humanmcp.answering import service
from humanmcp.answering.case import Case
from humanmcp.answering.service import SendResult
from humanmcp.inbox.contract import Waiting
from humanmcp.locales import UnknownSentenceError, problem_or_code, say
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.diagnostics.model import Applicability, Diagnostic, Fix, Severity
from humanmcp.protocol.diagnostics.verdict import TextForm, Verdict

_DOUBTFUL: Final = frozenset({Applicability.GUESS, Applicability.PLACEHOLDER})


class FixShape(TypedDict):
    """A fix: each edit is where it begins, where it ends (characters), and the new text."""

    label: str
    applicability: Annotated[str, Applicability]
    edits: list[tuple[int, int, str]]


class DiagnosticShape(TypedDict):
    """What the check says of one place. `line` is 0 where the place is the whole.

    `field` is the place of a field whose text is no JSON; the places then count in that text.
    """

    code: str
    level: Annotated[str, Severity]
    blocks: bool
    text: str
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
    """What the check says of a text. The places of the problems count in `text`."""

    sendable: bool
    forcible: bool
    line: str | None
    bytes: int | None
    kind: str | None
    text: str
    problems: list[DiagnosticShape]


class OutcomeShape(TypedDict):
    """What became of a reply."""

    became: str
    line: str
    bytes: int
    by: str
    state: Annotated[str, ExchangeState]
    problems: list[DiagnosticShape]


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


class DraftShape(TypedDict):
    """What a person is writing."""

    text: str
    form: Annotated[str, TextForm]
    touched: bool
    hold: bool
    by: str
    at: str


class AnswerShape(TypedDict):
    """What was answered. `deliberate`: sent although the check found errors."""

    line: str
    by: str
    at: str
    deliberate: bool


class ExchangeShape(TypedDict):
    """A request and what became of it. `line` and `id` are text: no number is read."""

    session: str
    number: int
    state: Annotated[str, ExchangeState]
    purpose: str
    way: str
    asked: str
    method: str
    id: str
    revision: str
    arrived: str
    line: str
    reason: str
    waiting: WaitShape
    draft: DraftShape
    document: str
    problems: list[DiagnosticShape]
    remarks: list[DiagnosticShape]
    on_its_way: bool
    answer: AnswerShape | None


def diagnostic_shape(found: Diagnostic, language: str) -> DiagnosticShape:
    """Write a problem with its sentence and its fix."""
    fix = found.fix
    return {
        "code": found.code,
        "level": found.level.value,
        "blocks": found.level is Severity.ERROR,
        "text": problem_or_code(found, language),
        "pointer": found.pointer,
        "start": found.start,
        "end": found.end,
        "line": found.line,
        "column": found.column,
        "page": found.page,
        "field": "",
        "count": found.times,
        "fix": None
        if fix is None
        else {
            "label": _label(fix, language),
            "applicability": fix.applicability.value,
            "edits": [(edit.start, edit.end, edit.new) for edit in fix.in_order],
        },
    }


def _label(fix: Fix, language: str) -> str:
    """Return what stands on the button of a fix; a guess is called one."""
    try:
        label = say("fix", fix.label, language)
    except UnknownSentenceError:
        label = say("desk", "fix", language)
    if fix.applicability in _DOUBTFUL:
        return say("fix", fix.applicability.value, language, label=label)
    return label


def verdict_shape(judged: Verdict, language: str) -> VerdictShape:
    """Write what the check says."""
    line = judged.line if judged.line is not None else judged.forced
    return {
        "sendable": judged.sendable,
        "forcible": judged.forced is not None,
        "line": line,
        "bytes": None if line is None else len(line.encode("utf-8", "replace")),
        "kind": None if judged.kind is None else judged.kind.value,
        "text": judged.text,
        "problems": [diagnostic_shape(one, language) for one in judged.problems],
    }


def outcome_shape(sent: SendResult, language: str) -> OutcomeShape:
    """Write what became of a reply."""
    return {
        "became": sent.outcome.value,
        "line": sent.line,
        "bytes": len(sent.line.encode("utf-8", "replace")),
        "by": sent.by,
        "state": sent.item.state.value,
        "problems": [diagnostic_shape(one, language) for one in sent.problems],
    }


def wait_shape(waiting: Waiting) -> WaitShape:
    """Write how long an exchange waits."""
    return cast("WaitShape", waiting._asdict())


def exchange_shape(case: Case, language: str) -> ExchangeShape:
    """Write an exchange."""
    item = case.item
    draft = item.draft or service.starting_draft(case, language)
    answer = item.answer
    return {
        "session": item.key.session,
        "number": item.key.number,
        "state": item.state.value,
        "purpose": item.purpose.value,
        "way": item.way.value,
        "asked": item.asked,
        "method": item.method,
        "id": item.id,
        "revision": item.revision,
        "arrived": item.arrived,
        "line": item.line,
        "reason": item.reason,
        "waiting": wait_shape(item.waiting),
        "draft": cast("DraftShape", {**draft._asdict(), "form": draft.form.value}),
        "document": service.document(case, draft),
        "problems": [diagnostic_shape(one, language) for one in item.problems],
        "remarks": [diagnostic_shape(one, language) for one in case.remarks],
        "on_its_way": item.reply is not None and item.state is ExchangeState.PENDING,
        "answer": None if answer is None else cast("AnswerShape", answer._asdict()),
    }
