"""Send a reply from a terminal, and tell the person what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from humanmcp.answering import service
from humanmcp.answering.schema import AnsweredShape, outcome_shape
from humanmcp.answering.service import Outcome, SendResult
from humanmcp.common.terminal import Painted, json_to_stdout, to_stderr, to_stdout
from humanmcp.inbox.contract import Reply
from humanmcp.locales import say
from humanmcp.locales.stop import REFUSED
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.validation import held as held_check
from humanmcp.terminal import waits
from humanmcp.terminal.cases import explained, summary

if TYPE_CHECKING:
    from humanmcp.answering.open_exchange import OpenExchange
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

    opened: OpenExchange
    name: str
    who: str
    json: bool

    def reader(self, draft: Draft) -> str:
        """Return who gets this text: a held message goes on, an answer goes back."""
        held = self.opened.held
        if held is None:
            return self.who
        back = held_check.answers(held, draft.text, draft.form)
        to_server = (held.direction is Direction.IN) is not back
        return self.sentence("the server") if to_server else self.who

    def sentence(self, code: str, **fillings: object) -> str:
        """Return a sentence of this command."""
        return say(ROOM, code, **fillings)


def submit(answering: Answering, draft: Draft, *, anyway: bool) -> SendResult:
    """Send a text and wait for what becomes of it."""
    reply = Reply(draft.text, draft.form, anyway, BY)
    return service.send(answering.opened, reply, within=LONGEST_WAIT)


def tell(answering: Answering, draft: Draft, result: SendResult) -> int:
    """Tell the person what became of a text. Returns the exit status."""
    result = _worth_a_word(result)
    match result.outcome:
        case Outcome.SENT:
            return _went_out(answering, result, draft)
        case Outcome.BLOCKED | Outcome.REFUSED:
            return refused(answering, result)
        case Outcome.QUEUED:
            return not_sent(answering, answering.sentence("not taken"), result)
        case Outcome.STORED:
            to_stdout(answering.sentence("stored"))
            return 0
        case Outcome.TAKEN | Outcome.OVER:
            ended = (
                result.item.state is not ExchangeState.PENDING or result.outcome is Outcome.TAKEN
            )
            state = waits.outlook(result.item, waits.now())
            happened = state[0].sentence if ended else answering.sentence("session over")
            return not_sent(answering, answering.sentence("taken", happened=happened), result)


def _worth_a_word(result: SendResult) -> SendResult:
    """Leave out that the text had several lines: that is our own way to lay out a draft."""
    found = tuple(
        diagnostic for diagnostic in result.diagnostics if diagnostic.code != SEVERAL_LINES
    )
    return result._replace(diagnostics=found)


def _went_out(answering: Answering, result: SendResult, draft: Draft) -> int:
    size = len(result.line.encode("utf-8", "surrogatepass")) + 1
    if answering.json:
        answer = result.item.answer
        deliberate = bool(answer and answer.deliberate)
        json_to_stdout(_shape(answering, result, sent=True, deliberate=deliberate))
        return 0
    _explain(result)
    code = "sent parked" if result.item.waiting.parked else "sent"
    to_stdout(Painted(answering.sentence(code, who=answering.reader(draft), size=size), "green"))
    to_stdout(result.line)
    return 0


def _shape(answering: Answering, result: SendResult, **more: object) -> AnsweredShape:
    return cast("AnsweredShape", {**outcome_shape(result), "name": answering.name, **more})


def _explain(result: SendResult) -> None:
    for diagnostic in result.diagnostics:
        for parts in explained(diagnostic, result.text):
            to_stdout(*parts)


def refused(answering: Answering, result: SendResult) -> int:
    """Show what keeps a text from being sent. Returns the exit status."""
    if not answering.json:
        _explain(result)
    counted = summary(result.diagnostics)
    return not_sent(
        answering, answering.sentence("refused", counted=counted, name=answering.name), result
    )


def not_sent(answering: Answering, why: str, result: SendResult) -> int:
    """Say that nothing was sent, and why. Returns the exit status."""
    if answering.json:
        json_to_stdout(_shape(answering, result, sent=False, why=why))
    else:
        to_stderr(Painted(why, "yellow"))
    return REFUSED


def keep_open(answering: Answering, draft: Draft, *, anyway: bool) -> int:
    """Send the line of an answer as something said first: its request stays open for another.

    Raises:
        OrderError, InboxError: it cannot be handed in.
    """
    verdict = service.judge(answering.opened, draft.text, draft.form)
    line = verdict.line or (verdict.forced if anyway else None)
    blocked = SendResult(Outcome.BLOCKED, answering.opened.item, verdict.diagnostics, draft.text)
    if line is None or answering.opened.held is not None:
        return refused(answering, _worth_a_word(blocked))
    reply, session = Reply(line, anyway=True, by=BY), answering.opened.key.session
    said = service.submit_outgoing(answering.opened.inbox, session, reply, within=LONGEST_WAIT)
    result = SendResult(said.outcome, answering.opened.item, said.diagnostics, draft.text)
    if said.outcome is Outcome.QUEUED:
        return not_sent(answering, answering.sentence("not taken"), result)
    if said.outcome is Outcome.REFUSED:
        return not_sent(
            answering, answering.sentence("refused", counted="", name=answering.name), result
        )
    if answering.json:
        size = len(line.encode("utf-8", "replace"))
        json_to_stdout(_shape(answering, result, sent=True, open=True, line=line, bytes=size))
    else:
        to_stdout(
            Painted(
                answering.sentence("kept open", who=answering.who, name=answering.name), "green"
            )
        )
        to_stdout(line)
    return 0
