"""Judge a reply, send it, and tell the person what became of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from humanmcp.common.terminal import Painted, complain, say_json
from humanmcp.common.terminal import say as show
from humanmcp.common.timestamps import stamp
from humanmcp.inbox.contract import Purpose, Reply, TakenError
from humanmcp.inbox.ordering import hand_in
from humanmcp.locales import say
from humanmcp.locales.stop import REFUSED
from humanmcp.protocol.conversation.exchange import Exchange, ExchangeState, Known
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.verdict import Verdict
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation import held as held_check
from humanmcp.protocol.validation.held import HeldMessage
from humanmcp.terminal_desk import waits
from humanmcp.terminal_desk.explain import as_json, explained, summary
from humanmcp.terminal_desk.sending import (
    BY,
    LONGEST_WAIT,
    Outcome,
    Result,
    TypedText,
    exchange_of,
    send,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.inbox.contract import DeskInbox, Item, Key, Seat
    from humanmcp.protocol.diagnostics.model import Diagnostic

ROOM: Final = "answer"
_LOOK_EVERY: Final = 0.02
SEVERAL_LINES: Final = "J51"
"""The code of the repair that joins a text to one line."""


@dataclass(frozen=True, slots=True)
class HeldCase:
    """One exchange that is being answered, with all that is needed to judge an answer."""

    inbox: DeskInbox
    name: str
    seat: Seat
    item: Item
    known: Known
    who: str
    language: str
    json: bool

    @property
    def key(self) -> Key:
        """Its key in the inbox."""
        return self.item.key

    @property
    def exchange(self) -> Exchange | None:
        """What the check needs; None for what a tap holds."""
        return exchange_of(self.item) if self.item.purpose is Purpose.ANSWER else None

    @property
    def held(self) -> HeldMessage | None:
        """The message that a tap holds; None for what is simply to be answered."""
        item = self.item
        if item.purpose is Purpose.ANSWER:
            return None
        return HeldMessage(item.line, item.way, item.revision, item.asked)

    def reader(self, given: TypedText) -> str:
        """Say who gets this text: a held message goes on, an answer goes back."""
        if self.held is None:
            return self.who
        back = held_check.answers(self.held, given.text, given.form)
        to_server = (self.item.way is Direction.IN) is not back
        return self.say("the server") if to_server else self.who

    def say(self, code: str, **fillings: object) -> str:
        """Return a sentence of this command."""
        return say(ROOM, code, self.language, **fillings)


def judged(case: HeldCase, given: TypedText) -> Verdict:
    """Judge a text as the stub will, or the tap."""
    exchange, held = case.exchange, case.held
    if held is not None:
        verdict = held_check.judge(held, given.text, given.form, case.known)
    elif exchange is not None:
        verdict = check.check(exchange, given.text, given.form, case.known)
    else:  # its file was changed by somebody: the stub will say so
        return Verdict(given.text, given.text, given.text)
    # Several lines are our own way to lay out a draft: not worth a word each time.
    told = tuple(problem for problem in verdict.problems if problem.code != SEVERAL_LINES)
    return verdict._replace(problems=told)


def may_go(verdict: Verdict, *, anyway: bool) -> bool:
    """Say whether a text may be sent: nothing blocks it, or it is wanted all the same."""
    return verdict.sendable or (anyway and verdict.forced is not None)


def sent(case: HeldCase, given: TypedText, problems: Sequence[Diagnostic], *, anyway: bool) -> int:
    """Send, wait for the stub's word and tell it."""
    try:
        result = send(case.inbox, case.key, given, anyway=anyway)
    except TakenError:
        item = case.inbox.item(case.key)
        happened = waits.outlook(item, waits.now(), case.language)[0].sentence
        return not_sent(case, case.say("taken", happened=happened), ())
    match result.outcome:
        case Outcome.SENT:
            return _went_out(case, result, problems, given)
        case Outcome.REFUSED:
            return refused(case, result.problems, given.text)
        case Outcome.TOO_LATE:
            state = waits.outlook(result.item, waits.now(), case.language)
            over = result.item.state is ExchangeState.PENDING
            happened = case.say("session over") if over else state[0].sentence
            return not_sent(case, case.say("taken", happened=happened), ())
        case Outcome.WAITING:
            return not_sent(case, case.say("not taken"), ())


def _went_out(
    case: HeldCase, result: Result, problems: Sequence[Diagnostic], given: TypedText
) -> int:
    answer = result.item.answer
    line = answer.line if answer else ""
    size = len(line.encode("utf-8", "surrogatepass")) + 1
    if case.json:
        found = [as_json(problem, case.language) for problem in problems]
        deliberate = bool(answer and answer.deliberate)
        say_json(
            {"sent": True, "name": case.name, "line": line, "bytes": size, "problems": found}
            | {"deliberate": deliberate}
        )
        return 0
    for problem in problems:
        for parts in explained(problem, given.text, case.language):
            show(*parts)
    show(Painted(case.say("sent", who=case.reader(given), size=size), "green"))
    show(line)
    return 0


def refused(case: HeldCase, problems: Sequence[Diagnostic], text: str) -> int:
    """Show what keeps a text from being sent. Returns the exit status."""
    if not case.json:
        for problem in problems:
            for parts in explained(problem, text, case.language):
                show(*parts)
    counted = summary(problems, case.language)
    return not_sent(case, case.say("refused", counted=counted, name=case.name), problems)


def not_sent(case: HeldCase, why: str, problems: Sequence[Diagnostic]) -> int:
    """Say that nothing was sent, and why. Returns the exit status."""
    if case.json:
        found = [as_json(problem, case.language) for problem in problems]
        say_json({"sent": False, "name": case.name, "why": why, "problems": found})
    else:
        complain(Painted(why, "yellow"))
    return REFUSED


def keep_open(case: HeldCase, given: TypedText, *, anyway: bool) -> int:
    """Send the line of an answer as something said first: its request stays open for another.

    Raises:
        OrderError, InboxError: nobody takes it.
    """
    verdict = judged(case, given)
    line = verdict.line or (verdict.forced if anyway else None)
    if line is None or case.held is not None:
        return refused(case, verdict.problems, given.text)
    said = Reply(line, anyway=True, by=BY, at=stamp(time.time()))
    ticket = hand_in(case.inbox, case.key.session, said)
    end = time.monotonic() + LONGEST_WAIT
    while (became := case.inbox.refused(case.key.session, ticket)) is None:
        if time.monotonic() >= end:
            return not_sent(case, case.say("not taken"), ())
        time.sleep(_LOOK_EVERY)
    if became:
        return not_sent(case, case.say("refused", counted="", name=case.name), became)
    if case.json:
        say_json({"sent": True, "open": True, "name": case.name, "line": line})
    else:
        show(Painted(case.say("kept open", who=case.who, name=case.name), "green"))
        show(line)
    return 0
