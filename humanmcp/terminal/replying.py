"""Send a reply from a terminal, and tell the person what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from humanmcp.answering import service
from humanmcp.answering.schema.diagnostics import AnsweredShape, outcome_shape
from humanmcp.answering.service import Outcome, SendResult
from humanmcp.common.terminal import Painted, json_to_stdout, to_stderr, to_stdout
from humanmcp.inbox.contract import Reply
from humanmcp.locales import say
from humanmcp.locales.stop import REFUSED
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.validation import held as held_check
from humanmcp.terminal import waits
from humanmcp.terminal.explain import explained, summary

if TYPE_CHECKING:
    from humanmcp.answering.case import Case
    from humanmcp.inbox.contract import Draft

ROOM: Final = "answer"
BY: Final = "terminal"
"""How this desk signs what it sends."""
LONGEST_WAIT: Final = 10.0
"""Seconds to wait for the process that speaks to the client."""
SEVERAL_LINES: Final = "J51"
"""The code of the repair that joins a text to one line."""


@dataclass(frozen=True, slots=True)
class Answering:
    """One exchange that is being answered, and how the person is spoken to."""

    case: Case
    name: str
    who: str
    language: str
    json: bool

    def reader(self, given: Draft) -> str:
        """Return who gets this text: a held message goes on, an answer goes back."""
        held = self.case.held
        if held is None:
            return self.who
        back = held_check.answers(held, given.text, given.form)
        to_server = (held.way is Direction.IN) is not back
        return self.sentence("the server") if to_server else self.who

    def sentence(self, code: str, **fillings: object) -> str:
        """Return a sentence of this command."""
        return say(ROOM, code, self.language, **fillings)


def submit(at: Answering, given: Draft, *, anyway: bool) -> SendResult:
    """Send a text and wait for what becomes of it."""
    reply = Reply(given.text, given.form, anyway, BY)
    return service.send(at.case, reply, within=LONGEST_WAIT)


def tell(at: Answering, given: Draft, result: SendResult) -> int:
    """Tell the person what became of a text. Returns the exit status."""
    result = _worth_a_word(result)
    match result.outcome:
        case Outcome.SENT:
            return _went_out(at, result, given)
        case Outcome.BLOCKED | Outcome.REFUSED:
            return refused(at, result)
        case Outcome.QUEUED:
            return not_sent(at, at.sentence("not taken"), result)
        case Outcome.TAKEN | Outcome.OVER:
            ended = (
                result.item.state is not ExchangeState.PENDING or result.outcome is Outcome.TAKEN
            )
            state = waits.outlook(result.item, waits.now(), at.language)
            happened = state[0].sentence if ended else at.sentence("session over")
            return not_sent(at, at.sentence("taken", happened=happened), result)


def _worth_a_word(result: SendResult) -> SendResult:
    """Leave out that the text had several lines: that is our own way to lay out a draft."""
    found = tuple(
        diagnostic for diagnostic in result.diagnostics if diagnostic.code != SEVERAL_LINES
    )
    return result._replace(diagnostics=found)


def _went_out(at: Answering, result: SendResult, given: Draft) -> int:
    size = len(result.line.encode("utf-8", "surrogatepass")) + 1
    if at.json:
        answer = result.item.answer
        deliberate = bool(answer and answer.deliberate)
        json_to_stdout(_shape(at, result, sent=True, deliberate=deliberate))
        return 0
    _explain(at, result)
    to_stdout(Painted(at.sentence("sent", who=at.reader(given), size=size), "green"))
    to_stdout(result.line)
    return 0


def _shape(at: Answering, result: SendResult, **more: object) -> AnsweredShape:
    return cast("AnsweredShape", {**outcome_shape(result, at.language), "name": at.name, **more})


def _explain(at: Answering, result: SendResult) -> None:
    for diagnostic in result.diagnostics:
        for parts in explained(diagnostic, result.text, at.language):
            to_stdout(*parts)


def refused(at: Answering, result: SendResult) -> int:
    """Show what keeps a text from being sent. Returns the exit status."""
    if not at.json:
        _explain(at, result)
    counted = summary(result.diagnostics, at.language)
    return not_sent(at, at.sentence("refused", counted=counted, name=at.name), result)


def not_sent(at: Answering, why: str, result: SendResult) -> int:
    """Say that nothing was sent, and why. Returns the exit status."""
    if at.json:
        json_to_stdout(_shape(at, result, sent=False, why=why))
    else:
        to_stderr(Painted(why, "yellow"))
    return REFUSED


def keep_open(at: Answering, given: Draft, *, anyway: bool) -> int:
    """Send the line of an answer as something said first: its request stays open for another.

    Raises:
        OrderError, InboxError: it cannot be handed in.
    """
    verdict = service.judge(at.case, given.text, given.form)
    line = verdict.line or (verdict.forced if anyway else None)
    blocked = SendResult(Outcome.BLOCKED, at.case.item, verdict.diagnostics, given.text)
    if line is None or at.case.held is not None:
        return refused(at, _worth_a_word(blocked))
    reply, session = Reply(line, anyway=True, by=BY), at.case.key.session
    said = service.say_first(at.case.inbox, session, reply, within=LONGEST_WAIT)
    result = SendResult(said.outcome, at.case.item, said.diagnostics, given.text)
    if said.outcome is Outcome.QUEUED:
        return not_sent(at, at.sentence("not taken"), result)
    if said.outcome is Outcome.REFUSED:
        return not_sent(at, at.sentence("refused", counted="", name=at.name), result)
    if at.json:
        size = len(line.encode("utf-8", "replace"))
        json_to_stdout(_shape(at, result, sent=True, open=True, line=line, bytes=size))
    else:
        to_stdout(Painted(at.sentence("kept open", who=at.who, name=at.name), "green"))
        to_stdout(line)
    return 0
