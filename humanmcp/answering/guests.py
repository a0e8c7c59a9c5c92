"""What people are told of the prompts of an agent, which is a guest: notes, equal prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.answering.standing import RAN, READ, prompt_of
from humanmcp.inbox.contract import Purpose
from humanmcp.protocol.conversation.prompts import decided_in
from humanmcp.protocol.conversation.stages import ExchangeState

if TYPE_CHECKING:
    from humanmcp.inbox.contract import Item
    from humanmcp.protocol.conversation.prompts import Decided

ENDED: Final = "ended"
"""Who takes away what an agent that has ended its turn does not wait for any more."""
TWIN: Final = "twin"
"""Why nobody knows whether a prompt still waits: so many of those that are equal have not run."""
_NOTES: Final = {"": "note unread", RAN: "note unknown", READ: "note read"}


def decision_of(item: Item) -> Decided | None:
    """Return what a person decided about a prompt; None if nobody has."""
    reply = item.reply
    if item.purpose is not Purpose.PROMPT or reply is None:
        return None
    return decided_in(prompt_of(item), reply.text)


def note_told(item: Item) -> tuple[str, str]:
    """Return what a person said to the agent with an *allow*, and the code of what became of it."""
    decided = decision_of(item)
    if decided is None or not decided.note:
        return "", ""
    is_over = item.state is not ExchangeState.PENDING
    became = item.answer.became if item.answer is not None else ENDED if is_over else ""
    return decided.note, _NOTES.get(became, "note lost")


def twins_of(item: Item) -> int:
    """Return how many of those that are equal to a waiting prompt have not run; 0 if none has."""
    code, _, count = item.waiting.why_not.partition(" ")
    return int(count) if code == TWIN and count.isdecimal() else 0
