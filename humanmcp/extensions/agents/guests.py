"""An agent as a guest: its session in the inbox, what it may do, and what became of its prompts.

An agent has one session here for each of its own. What another hook of it tells (a tool has run, a
turn has ended) belongs to the agent or the sub-agent that it names, and to no other one.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from humanmcp.answering import standing
from humanmcp.answering.standing import Standing, decision_of, prompt_of
from humanmcp.inbox.contract import Reply, Role, SessionFacts, Tail, TakenError, UnknownItemError
from humanmcp.inbox.inbox_session import signed
from humanmcp.protocol.conversation.allow_patterns import patterns_in
from humanmcp.protocol.conversation.approvals import QUESTION_TOOLS, handed_back, read_once
from humanmcp.protocol.conversation.decisions import DecisionChain, DecisionRecord, sha256
from humanmcp.protocol.conversation.prompts import LABELS, OVER, AgentPrompt
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import DECIDED, Direction, Frame
from humanmcp.protocol.diagnostics.model import TextForm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.inbox.contract import Inbox, Item, Key
    from humanmcp.protocol.conversation.approvals import Approval

KEYBOARD: Final = "keyboard"
"""Who decided what has run although nobody decided it here."""
ENDINGS: Final = (KEYBOARD, standing.ENDED)
_LOOKED_AT: Final = 200
"""The newest decisions that a tool which has run may belong to: it may run for long."""
_REMEMBERED: Final = 400
"""The newest lines among which a killed process may have left a decision."""


def guest_name(prompt: AgentPrompt) -> str:
    """Name the first session of an agent; one that names none of its own is known by its folder."""
    own = prompt.session or f"\0{prompt.folder}"
    return f"{prompt.host or 'agent'}-{sha256(own)[:16]}"


def begin_facts(prompt: AgentPrompt, started: str) -> SessionFacts:
    """Return what is known of an agent at its first prompt."""
    return SessionFacts(
        guest_name(prompt),
        started,
        Role.AGENT,
        client=LABELS.get(prompt.host, ""),
        folder=prompt.folder,
        agent=prompt.session,
    )


def fits_pattern(inbox: Inbox, facts: SessionFacts, approval: Approval) -> bool:
    """Return True if a pattern allows an agent this without asking."""
    return facts.is_one_client and any(
        one.fits(approval) for one in patterns_in(inbox.holds(facts.name))
    )


# -- what another hook tells ----------------------------------------------------------------------


def note_event(inbox: Inbox, event: AgentPrompt, at: str, tell: Callable[[str], bool]) -> None:
    """Take what an agent's hook tells into account.

    `tell` prints a note to the agent, and returns True if it was printed.
    """
    session = inbox.guest_session(guest_name(event))
    try:
        waiting = [one for one in inbox.items(session) if not one.reply]
    except UnknownItemError:  # it has never asked
        return
    newest = inbox.items(session, ExchangeState.ANSWERED, _LOOKED_AT)
    decided = [one for one in newest if one.answer is not None and not one.answer.fetched]
    if event.name in OVER:
        ran = _tool_ran(inbox, event, [*decided, *waiting], at)
        given = None if ran is None else decision_of(ran)
        if ran and given and given.note and tell(given.note):
            # who dies before this leaves it unknown
            inbox.fetched(ran.key, at, standing.READ, after=standing.RAN)
        return
    for one in (*waiting, *decided):
        if not _has_ended(event, prompt_of(one)):
            continue
        if one.answer is None:
            _take_away(inbox, one, standing.ENDED)
        else:
            inbox.fetched(one.key, at, standing.ENDED)


def _has_ended(event: AgentPrompt, asked: AgentPrompt) -> bool:
    """Return True if the end that an event tells is that of the agent which has asked."""
    if event.name in {"SessionEnd", "sessionEnd"} or asked.agent_id == event.agent_id:
        return True
    is_known = event.name == "Stop" and event.background is not None
    return is_known and asked.agent_id not in (event.background or ())


def _tool_ran(inbox: Inbox, event: AgentPrompt, asked: Sequence[Item], at: str) -> Item | None:
    """Note that a tool has run. Return the prompt by whose permission it did, if that was ours."""
    same, is_sure = _same(event, asked)
    denied = [one for one in same if _action(one) == "deny"]
    asking = [one for one in same if one.answer is None]
    allowed = [one for one in same if _action(one) in standing.PERMITS]
    if is_sure or not any(prompt_of(one).is_beside is not False for one in asking):
        for one in allowed:  # of two equal ones that were allowed, each is marked once
            if inbox.fetched(one.key, at, standing.RAN):
                return one
    allowed = [one for one in allowed if inbox.fetched(one.key, at, Standing.EQUAL_RAN)]
    twins = [standing.twins_of(one) for one in asking]
    left = max(twins, default=0) + twins.count(0) + len(denied) + len(allowed) - 1
    for one in asking:
        if left <= 0:
            _take_away(inbox, one, KEYBOARD)
        else:  # nothing tells which of them it was, or whether it was one that was denied
            kept = one.waiting._replace(why_not=f"{standing.TWIN} {left}")
            inbox.update(one.key, line=one.line, id="", waiting=kept)
    for one in () if event.name == "PostToolUseFailure" else denied:
        became = standing.RAN if is_sure else Standing.EQUAL_RAN
        if inbox.fetched(one.key, at, became):
            amend_record(inbox, one, became, at, event.input)
    return None


def amend_record(inbox: Inbox, item: Item, action: str, at: str, answered: str = "") -> None:
    """Add to the record of decisions what became of one: it ran, or was not printed."""
    reply = Reply("", by=KEYBOARD if action == standing.RAN else "")
    decision = decision_about(item.key, prompt_of(item), item.line, answered, action)
    frame = Frame(0, at, Direction.NOTE, b"", item.key.number, reply.by, DECIDED)
    write_down(inbox, item.key.session, frame, signed(decision, reply, at))


def decision_about(
    key: Key, prompt: AgentPrompt, asked: str, answered: str, action: str
) -> DecisionRecord:
    """Return the record of a decision about a prompt, without who made it."""
    agent = str(prompt)
    return DecisionRecord(*key, prompt.name, asked, answered, action=action, agent=agent)


class TakenBackError(Exception):
    """A person has taken back meanwhile what had been allowed."""


def write_down(
    inbox: Inbox,
    session: str,
    frame: Frame,
    decision: DecisionRecord | None = None,
    is_allowed: Callable[[], bool] = lambda: True,
) -> None:
    """Add a line to the transcript of an agent, with the record of a decision.

    Raises:
        TakenBackError: it is not allowed any more. Nothing changes that until it is written.
    """

    def write(tail: Tail) -> tuple[list[Frame], Tail]:
        if not is_allowed():
            raise TakenBackError
        own = frame._replace(seq=tail.seq + 1)
        if decision is None:
            return [own], tail._replace(seq=own.seq)
        chain = DecisionChain(tail.decisions, tail.last_decision)
        record = chain.add(decision)
        return [own._replace(decision=record)], Tail(own.seq, chain.number, chain.last)

    inbox.share(session, write)


def record_unconfirmed(inbox: Inbox, session: str, at: str) -> None:
    """Add to the record of which decisions nobody knows whether they were printed.

    Their process was killed after it had recorded them.
    """
    left = inbox.items(session, ExchangeState.ABANDONED, _LOOKED_AT)
    frames = inbox.last_frames_before(session, 0, _REMEMBERED) if left else ()
    for item in left:
        mine = [one for one in frames if one.number == item.key.number and one.decision]
        if mine and mine[-1].direction is Direction.OUT:
            amend_record(inbox, item, Standing.UNCONFIRMED, at)


def _action(item: Item) -> str:
    return "" if item.answer is None else item.answer.action


def _take_away(inbox: Inbox, item: Item, by: str) -> None:
    with suppress(TakenError):
        inbox.send(item.key, Reply(handed_back(), TextForm.DECISION, by=by))


def _same(event: AgentPrompt, asked: Sequence[Item]) -> tuple[list[Item], bool]:
    """Return the prompts that asked for the tool that has run, oldest first.

    True if the ids of the tool tell that. Where one of them has none, equal inputs have to do.
    """
    ran = _comparison_key(event.tool, event.input)
    named: list[Item] = []
    equal: list[Item] = []
    for one in asked:
        prompt = prompt_of(one)
        if (prompt.tool, prompt.agent_id) != (event.tool, event.agent_id):
            continue
        if prompt.tool_use_id and event.tool_use_id:
            named += [one] if prompt.tool_use_id == event.tool_use_id else []
        elif not event.problem:
            given = decision_of(one)
            text = given.changed if given is not None and given.changed else prompt.input
            equal += [one] if _comparison_key(prompt.tool, text) == ran else []
    return named or equal, bool(named)


def _comparison_key(tool: str, text: str) -> str:
    """Return an input so that equal ones are equal texts: in JSON, `true` is not `1`.

    Of a question without what was answered at the keyboard.
    """
    given = read_once(text)[0]
    if tool in QUESTION_TOOLS and isinstance(given, dict):
        given = {name: one for name, one in given.items() if name not in {"answers", "annotations"}}
    return json.dumps(given, sort_keys=True)
