"""What the check says, and what became of a reply, as JSON for scripts."""

# No `from __future__ import annotations`: FastAPI and the makers of the docs read the annotations.

from collections.abc import Iterable
from typing import Annotated, Any, Final, cast

from humanmcp.answering.schema import TypedDict, filled
from humanmcp.answering.service import Outcome, SayResult, SendResult
from humanmcp.locales import UnknownSentenceError, describe_or_code, say
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.diagnostics.model import Applicability, Diagnostic, Fix, Severity
from humanmcp.protocol.diagnostics.verdict import Verdict

_DOUBTFUL: Final = frozenset({Applicability.GUESS, Applicability.PLACEHOLDER})


class EditShape(TypedDict):
    """Replace the characters from `start` to `end` by `new`."""

    start: int
    end: int
    new: str


class FixShape(TypedDict):
    """A fix: edits of the text, in its order. `label` is what stands on its button."""

    label: str
    applicability: Annotated[str, Applicability]
    edits: list[EditShape]


class DiagnosticShape(TypedDict):
    """What the check says of one place. `line` is 0 where the place is the whole.

    `field` is the place of a field whose text is no JSON; the places then count in that text.
    `text` is the `message` under its older name; `count`: how many of this kind there are.
    """

    code: str
    level: Annotated[str, Severity]
    blocks: bool
    message: str
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


class FixedShape(VerdictShape):
    """What the check says of a text after every fix that can be trusted."""


class CheckedShape(VerdictShape, total=False):
    """What `check` says of one answer. `line` is null where the check would not send it.

    `id` is the caller's own, of a line of `--lines`.
    """

    method: str
    file: str
    id: Any


class JudgedShape(DiagnosticShape):
    """What the check says of one line of a conversation. `way`: `in` is from the client."""

    way: str
    method: str
    id: str


class ConversationShape(TypedDict, total=False):
    """What `check` says of a conversation: how many messages, and what is wrong with them."""

    file: str
    messages: int
    errors: int
    warnings: int
    problems: list[JudgedShape]


class OutcomeShape(TypedDict):
    """What became of a reply: `sent`, `on its way`, `blocked`, `refused`, `taken` or `over`."""

    became: str
    line: str
    bytes: int
    by: str
    state: Annotated[str, ExchangeState]
    problems: list[DiagnosticShape]


class AnsweredShape(OutcomeShape, total=False):
    """What `answer` did. `name`: what was typed for the exchange; `why`: why nothing was sent.

    `deliberate`: sent although the check found errors. `open`: the request waits for another one.
    """

    sent: bool
    name: str
    why: str
    deliberate: bool
    open: bool


class SaidShape(TypedDict):
    """What became of something said first: `waiting`, `sent` or `refused`."""

    became: str
    problems: list[DiagnosticShape]


def diagnostic_shape(diagnostic: Diagnostic, language: str) -> DiagnosticShape:
    """Write a problem with its sentence and its fix."""
    message = describe_or_code(diagnostic, language)
    fix = None if diagnostic.fix is None else _fix_shape(diagnostic.fix, language)
    said = {"level": diagnostic.severity.value, "message": message, "text": message}
    return filled(DiagnosticShape, diagnostic, **said, field="", count=diagnostic.times, fix=fix)


def diagnostic_shapes(found: Iterable[Diagnostic], language: str) -> list[DiagnosticShape]:
    """Write several problems."""
    return [diagnostic_shape(one, language) for one in found]


def _fix_shape(fix: Fix, language: str) -> FixShape:
    edits = [filled(EditShape, one) for one in fix.in_order]
    return filled(FixShape, fix, label=_label(fix, language), edits=edits)


def _label(fix: Fix, language: str) -> str:
    """Return what stands on the button of a fix; a guess is called one."""
    try:
        label = say("fix", fix.label, language)
    except UnknownSentenceError:
        label = say("desk", "fix", language)
    if fix.applicability in _DOUBTFUL:
        return say("fix", fix.applicability.value, language, label=label)
    return label


def verdict_shape(verdict: Verdict, language: str) -> VerdictShape:
    """Write what the check says."""
    line = verdict.line if verdict.line is not None else verdict.forced
    return filled(
        VerdictShape,
        verdict,
        forcible=verdict.forced is not None,
        line=line,
        bytes=None if line is None else len(line.encode("utf-8", "replace")),
        problems=diagnostic_shapes(verdict.diagnostics, language),
    )


def checked_shape(verdict: Verdict, language: str, **more: str) -> CheckedShape:
    """Write what `check` says of one answer."""
    said = {**verdict_shape(verdict, language), "line": verdict.line, **more}
    return cast("CheckedShape", said)


def outcome_shape(result: SendResult, language: str) -> OutcomeShape:
    """Write what became of a reply."""
    return filled(
        OutcomeShape,
        result,
        became=result.outcome.value,
        bytes=len(result.line.encode("utf-8", "replace")),
        state=result.item.state.value,
        problems=diagnostic_shapes(result.diagnostics, language),
    )


def said_shape(result: SayResult, language: str) -> SaidShape:
    """Write what became of something said first."""
    became = "waiting" if result.outcome is Outcome.QUEUED else result.outcome.value
    return {"became": became, "problems": diagnostic_shapes(result.diagnostics, language)}
