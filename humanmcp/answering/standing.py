"""What is so of an exchange now, decided once: each front end only chooses the sentence.

waits ──▶ writing ──▶ sending ──▶ answered          parked ──▶ stored ──▶ unfetched ──▶ fetched
▲                      │
└────── returned ◀─────┘                          every one of them ──▶ closed, gone, …
"""

from __future__ import annotations

import enum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.inbox.contract import Life, Purpose
from humanmcp.locales import say
from humanmcp.protocol.conversation.prompts import decided_in, read_prompt
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import CHANGED, DROPPED
from humanmcp.protocol.json.visible import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.inbox.contract import Item
    from humanmcp.protocol.conversation.prompts import AgentPrompt, Decided


class Urgency(enum.IntEnum):
    """How much an exchange needs a person."""

    NOW = 0
    """Its sender waits for a decision."""
    LATER = 1
    """It is parked: its client fetches the answer later."""
    NEVER = 2
    """A reply is on its way, or nobody waits for one."""


class Standing(enum.StrEnum):
    """What is so of an exchange. Each has a sentence at every front end."""

    WAITS = "waits"
    HELD = "held"
    """A tap holds it, and nobody has decided."""
    WRITING = "writing"
    """A person has begun an answer."""
    RETURNED = "returned"
    """The last answer came back with its problems."""
    PARKED = "parked"
    """Its client comes for the answer later."""
    SENDING = "sending"
    STORED = "stored"
    """Answered while no process runs: its client comes for the answer."""
    SUBSCRIPTION = "subscription"
    FOLLOWS = "follows"
    """It asks for the answer to a parked call."""
    ANSWERED = "answered"
    DELIBERATE = "deliberate"
    """Answered although the check found errors."""
    RELEASED = "released"
    REWRITTEN = "rewritten"
    """It was held, and went on as a person changed it."""
    FORCED = "forced"
    """The same, although the check found errors."""
    UNFETCHED = "unfetched"
    """A parked call was answered; its client has not come for the answer yet."""
    FETCHED = "fetched"
    CANCELLED = "cancelled"
    DROPPED = "dropped"
    QUIET = "quiet"
    """The client was asked to send it again, and did not."""
    HANDSHAKE = "handshake"
    """The client began with another request instead."""
    TWIN = "twin"
    """Another request with the same id was answered."""
    UNCONFIRMED = "unconfirmed"
    """The connection ended while an answer was on its way."""
    ALLOW_SENT = "allow sent"
    """Allowed, also with another input, or answered; nothing shows yet that it ran."""
    ALLOW_UNTOLD = "allow untold"
    """The same; the agent does not tell what became of it."""
    ALLOW_UNUSED = "allow unused"
    """The same; the agent has ended its turn, and nothing shows that it ran."""
    ALLOW_EQUAL = "allow equal"
    """The same; an equal one ran, and nothing tells whether it was this one."""
    ALLOWED = "allowed"
    """It ran."""
    CHANGED = "changed"
    """Allowed with another input, which ran."""
    DENIED = "denied"
    DENIAL_SENT = "denial sent"
    """The agent's own dialog was open as well, and nothing shows yet which of them was first."""
    RAN = "ran"
    """It was denied here, and it ran: somebody else had allowed it before."""
    EQUAL_RAN = "equal ran"
    """It was denied here, and an equal one ran: nothing tells whether it was this one."""
    HANDED_BACK = "handed back"
    """Left to the agent's own dialog."""
    KEYBOARD = "keyboard"
    """It ran without a decision from here."""
    MOVED_ON = "moved on"
    """The agent has ended its turn without a decision from here."""
    UNRECORDED = "unrecorded"
    """Not allowed: the decision could not be written down."""
    LATE = "late"
    """Nobody decided within the limit of the hook."""
    WITHDRAWN = "withdrawn"
    """The agent ended the hook, or was killed; what it did then is not known."""
    CLOSED = "closed"
    """The session ended in order before it was answered."""
    GONE = "gone"
    """The process of the session was killed before it was answered."""

    @property
    def urgency(self) -> Urgency:
        """How much it needs a person."""
        if self in _NOW:
            return Urgency.NOW
        return Urgency.LATER if self is Standing.PARKED else Urgency.NEVER

    @property
    def is_over(self) -> bool:
        """Return True if nothing can be answered any more."""
        return self not in _OPEN

    @property
    def is_forwarded(self) -> bool:
        """Return True for what was held and went on."""
        return self in {Standing.RELEASED, Standing.REWRITTEN, Standing.FORCED}


_NOW: Final = (Standing.WAITS, Standing.HELD, Standing.WRITING, Standing.RETURNED)
_ON_ITS_WAY: Final = (Standing.PARKED, Standing.SENDING, Standing.STORED)
_OPEN: Final = (*_NOW, *_ON_ITS_WAY, Standing.SUBSCRIPTION, Standing.FOLLOWS)
NOT_PRINTED: Final = (Standing.LATE, Standing.UNRECORDED)
"""Why no decision about a prompt was printed."""
_REASONS: Final = (Standing.QUIET, Standing.HANDSHAKE, Standing.TWIN)


def standing_of(item: Item, life: Life) -> Standing:  # noqa: PLR0911 - a table
    """Return what is so of an exchange in a session with this life."""
    match item.state:
        case ExchangeState.PENDING if life is Life.OPEN or item.outlives:
            return _open(item, life)
        case _ if item.purpose is Purpose.PROMPT:
            return _decided(item)
        case ExchangeState.ANSWERED:
            return _answered(item)
        case ExchangeState.CANCELLED:
            return Standing.DROPPED if item.reason == DROPPED else Standing.CANCELLED
        case _ if item.reason in _REASONS:
            return Standing(item.reason)
        case _ if item.reply is not None:
            return Standing.UNCONFIRMED
        case _:
            return Standing.GONE if life is Life.GONE else Standing.CLOSED


def _open(item: Item, life: Life) -> Standing:
    is_left = item.outlives and life is not Life.OPEN
    draft = item.draft
    found = (
        (item.reply is not None, Standing.STORED if is_left else Standing.SENDING),
        (item.is_parked or is_left, Standing.PARKED),
        (item.follows, Standing.FOLLOWS),
        (item.is_subscription, Standing.SUBSCRIPTION),
        (bool(item.diagnostics), Standing.RETURNED),
        (draft is not None and draft.touched, Standing.WRITING),
        (item.purpose is Purpose.HELD, Standing.HELD),
    )
    return next((standing for is_so, standing in found if is_so), Standing.WAITS)


def _answered(item: Item) -> Standing:
    answer = item.answer
    if answer is None:
        return Standing.ANSWERED
    if item.waiting.parked.ticket:
        return Standing.FETCHED if answer.fetched else Standing.UNFETCHED
    if item.purpose is Purpose.HELD and answer.line == item.line:
        return Standing.RELEASED
    if answer.became == CHANGED:
        return Standing.FORCED if answer.deliberate else Standing.REWRITTEN
    if answer.deliberate:
        return Standing.DELIBERATE
    known = {"": Standing.ANSWERED, "deny": Standing.DENIED}
    return known.get(answer.action, Standing.ALLOW_UNTOLD)


def told_of(item: Item, standing: Standing, by: str) -> str:
    """Say what is so of an exchange; `by` is who answered (`answered_by`)."""
    answer, action = item.answer, "" if item.answer is None else item.answer.action
    is_prompt = standing is Standing.UNCONFIRMED and item.purpose is Purpose.PROMPT
    because = standing is Standing.CANCELLED and item.reason
    return say(
        "standing",
        f"{standing} because" if because else f"{standing} prompt" if is_prompt else standing,
        what=say("wants", f"decided {action}") if action else "",
        by=by,
        at="" if answer is None else answer.fetched,
        reason=one_line(item.reason, 200),
    )


RAN: Final = "ran"
"""What became of a decision: the tool ran."""
READ: Final = "read"
"""The same, and the note beside the decision was printed to the agent."""
PERMITS: Final = frozenset({"allow", "change", "answer"})
"""The decisions after which an agent goes on with its tool."""
_ACTIONS: Final = {
    "allow": Standing.ALLOWED,
    "change": Standing.CHANGED,
    "answer": Standing.ANSWERED,
    "deny": Standing.RAN,
    "hand back": Standing.HANDED_BACK,
    "keyboard": Standing.KEYBOARD,
    "ended": Standing.MOVED_ON,
}
"""What is so after the tool has run, or where nothing more becomes of it."""


def _decided(item: Item) -> Standing:
    """Return what became of a prompt that does not wait any more."""
    answer, reply = item.answer, item.reply
    if answer is None:
        if item.reason in NOT_PRINTED:
            return Standing(item.reason)
        is_ours = reply is not None and reply.by not in _ACTIONS
        return Standing.UNCONFIRMED if is_ours else Standing.WITHDRAWN
    found = _ACTIONS.get(answer.action, Standing.ANSWERED)
    if answer.action not in {*PERMITS, "deny"} or answer.became in {RAN, READ}:
        return found
    if answer.became == Standing.EQUAL_RAN:
        return Standing.EQUAL_RAN if answer.action == "deny" else Standing.ALLOW_EQUAL
    prompt = prompt_of(item)
    if answer.action == "deny":
        is_sure = answer.became or prompt.is_beside is False
        return Standing.DENIED if is_sure else Standing.DENIAL_SENT
    sent = Standing.ALLOW_SENT if prompt.event.tells else Standing.ALLOW_UNTOLD
    return Standing.ALLOW_UNUSED if answer.became else sent


_read: Final = lru_cache(256)(read_prompt)


def prompt_of(item: Item) -> AgentPrompt:
    """Read the prompt of an exchange (`Purpose.PROMPT`)."""
    read = _read if len(item.line) < _SHORT else read_prompt
    return read(item.line, item.host, item.method)


_SHORT: Final = 20_000
"""Characters of a prompt that stays in memory once it was read."""


ENDED: Final = "ended"
"""Who takes away what an agent that has ended its turn does not wait for any more."""
TWIN: Final = "twin"
"""Why nobody knows whether a prompt still waits: so many of those that are equal have not run."""
_NOTES: Final[dict[str, str]] = {
    "": "note unread",
    RAN: "note unknown",
    READ: "note read",
    Standing.EQUAL_RAN: "note of equal",
}


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


class Prospect(NamedTuple):
    """What happens to a waiting exchange if no person answers, or what keeps it from happening.

    `code` names the sentence; `at` counts in seconds since the arrival, None for no moment.
    """

    code: str
    at: float | None = None


def in_time(agent: AgentPrompt) -> str:
    """Return the code of what happens to the prompt of an agent if nobody decides here."""
    match agent.is_beside:
        case None:
            return "agent perhaps"
        case True:
            return "agent beside"
        case False:
            return f"agent {agent.lost}"


def prospects(item: Item, passed: float, agent: AgentPrompt | None = None) -> Iterator[Prospect]:
    """Yield what happens to an exchange that has waited for so many seconds.

    The hook of an `agent` ends at its limit: the agent asks in its own dialog, or denies.
    """
    waiting, draft = item.waiting, item.draft
    if item.state is not ExchangeState.PENDING or item.reply is not None:
        return
    if waiting.book_at is not None:
        stopped = waiting.book
        if not stopped and draft is not None:
            stopped = "paused" if draft.paused else "writing" if draft.touched else ""
        yield Prospect(f"book {stopped}".strip(), waiting._replace(book=stopped).answers_at)
    if waiting.status_until is not None and passed < waiting.status_until:
        yield Prospect("status open", waiting.status_until)
    if waiting.limit is not None and agent is not None and agent.lost:
        yield Prospect(in_time(agent), waiting.limit)
    elif waiting.limit is not None:
        yield Prospect("gives up" if passed < waiting.limit else "given up", waiting.limit)
