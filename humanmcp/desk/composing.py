"""What a person writes, between the page and the inbox: checking, keeping and sending it.

Knows the check and the inbox; nothing of HTTP or HTML. The check here is the one the stub makes
again before it writes: here it helps, there it decides.
"""

from __future__ import annotations

import enum
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from humanmcp.inbox.contract import Action, Draft, Item, Key, Purpose, Reply, Seat, TakenError
from humanmcp.inbox.decoded import read_line
from humanmcp.protocol.conversation.exchange import Exchange, ExchangeState
from humanmcp.protocol.diagnostics.verdict import TextForm, Verdict
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.json.layout import pretty
from humanmcp.protocol.validation import check, faults
from humanmcp.protocol.validation import held as held_check
from humanmcp.protocol.validation.held import HeldMessage
from humanmcp.protocol.validation.results import tool_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.inbox.contract import DeskInbox, SessionFacts
    from humanmcp.protocol.conversation.exchange import Known
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.validation.faults import Fault

BY: Final = "desk"
"""Who answered, in the transcript."""

SETTLES_WITHIN: Final = 2.0
"""Seconds that a page waits to learn what became of its reply; later it learns it by the stream."""

_LOOK_EVERY: Final = 0.008


class UnreadableItemError(Exception):
    """The request of an exchange is no request: its file was changed by somebody."""


class Became(enum.Enum):
    """What became of a reply."""

    SENT = "sent"
    ON_ITS_WAY = "on its way"
    """Handed in; the stub has not answered yet."""
    BLOCKED = "blocked"
    """The check found errors: nothing was handed in, the text was kept."""
    REFUSED = "refused"
    """The stub gave it back with problems."""
    TAKEN = "taken"
    """Somebody was first, or nobody waits any more; the text was kept."""


@dataclass(frozen=True, slots=True)
class SendOutcome:
    """What became of a reply, and what there is to say about it."""

    became: Became
    line: str = ""
    problems: tuple[Diagnostic, ...] = ()
    by: str = ""
    state: ExchangeState = ExchangeState.PENDING


def exchange_of(item: Item) -> Exchange:
    """Make the exchange that the check wants from the item that the inbox keeps.

    Of an answer that a tap holds, that is the exchange which it answers.

    Raises:
        UnreadableItemError: the item's line is no request.
    """
    found = read_line(item.asked or item.line)
    if not isinstance(found, Message) or found.id is None:
        raise UnreadableItemError(item.key)
    return Exchange(item.key.number, found, item.revision, item.state)


def held(item: Item) -> HeldMessage:
    """Make what the check wants of a message that a tap holds."""
    return HeldMessage(item.line, item.way, item.revision, item.asked)


def answerable(item: Item) -> bool:
    """Say whether there is something to answer: a tap also holds notifications and batches."""
    if item.purpose is Purpose.ANSWER:
        return True
    return held(item).question is not None or held(item).answered is not None


def verdict(inbox: DeskInbox, item: Item, text: str, form: TextForm) -> Verdict:
    """Say what is wrong with a text, as the stub will."""
    if item.purpose is Purpose.PASS:
        return held_check.judge(held(item), text, form, inbox.known(item.key.session))
    return check.check(exchange_of(item), text, form, inbox.known(item.key.session))


def document(item: Item, draft: Draft, known: Known) -> str:
    """Return the whole message that a draft stands for: what the JSON view shows.

    A text that is no JSON stays what it is, inside its envelope: it is theirs to mend.
    """
    match draft.form:
        case TextForm.MESSAGE:
            return draft.text
        case TextForm.RESULT:
            return pretty(_envelope(item.id, "result", draft.text))
        case TextForm.ERROR:
            return pretty(_envelope(item.id, "error", draft.text))
        case TextForm.TEXT | TextForm.TOOL_ERROR:
            return pretty(_envelope(item.id, "result", _tool_result(item, draft, known)))


def _envelope(token: str, member: str, text: str) -> str:
    return f'{{"jsonrpc":"2.0","id":{token},"{member}":{text or "{}"}}}'


def _tool_result(item: Item, draft: Draft, known: Known) -> str:
    result = tool_text(item.revision, draft.text, known, is_error=draft.form is TextForm.TOOL_ERROR)
    return json.dumps(result, ensure_ascii=False)


def starting(inbox: DeskInbox, item: Item, language: str = "en") -> Draft:
    """Return the text a person starts from, whatever they have written since.

    An answer that a tap holds starts as it is; so does what nobody can answer.
    """
    if item.asked or not answerable(item):
        return Draft(pretty(item.line))
    return Draft(check.start(exchange_of(item), inbox.known(item.key.session), language))


def edited(item: Item) -> str:
    """Return what a person has made of a held message so far: "" for nothing, or an answer."""
    draft = item.draft
    if item.purpose is Purpose.ANSWER or draft is None or not draft.touched:
        return ""
    if draft.form is not TextForm.MESSAGE or held_check.answers(held(item), draft.text, draft.form):
        return ""
    return draft.text


def plain(item: Item, start: Draft) -> Draft:
    """Return what an untouched box holds without a script: nothing yet, for a tool call."""
    empty = item.method == "tools/call" and not item.asked
    return Draft("", TextForm.TEXT) if empty else start


def examples(item: Item) -> dict[str, str]:
    """Return every whole message that may be started from, results and errors, by name."""
    return dict(check.templates(exchange_of(item))) if answerable(item) else {}


def breakable(item: Item, facts: SessionFacts) -> tuple[Fault, ...]:
    """List the ways to break an answer on purpose, where a client reads it."""
    if facts.seat not in (Seat.SERVER, Seat.TAP) or not answerable(item):
        return ()
    return faults.faults(exchange_of(item))


def broken(inbox: DeskInbox, item: Item, draft: Draft, fault: Fault) -> str:
    """Return the whole message that a draft stands for, with a fault in it."""
    whole = document(item, draft, inbox.known(item.key.session))
    return faults.broken(exchange_of(item), whole, fault)


def send(
    inbox: DeskInbox,
    key: Key,
    reply: Reply,
    *,
    within: float = SETTLES_WITHIN,
    sleep: Callable[[float], None] = time.sleep,
) -> SendOutcome:
    """Send a reply and say what became of it."""
    item = inbox.item(key)
    if item.state is ExchangeState.PENDING and not reply.anyway and reply.action is not Action.DROP:
        judged = verdict(inbox, item, reply.text, reply.form)
        if not judged.sendable:
            inbox.save(key, Draft(reply.text, reply.form, touched=True, by=BY, at=reply.at))
            return SendOutcome(Became.BLOCKED, problems=judged.problems)
    try:
        inbox.send(key, reply)
    except TakenError as error:
        return SendOutcome(Became.TAKEN, by=error.by, state=error.state)
    return _settle(inbox, key, reply, within, sleep)


def _settle(
    inbox: DeskInbox, key: Key, reply: Reply, within: float, sleep: Callable[[float], None]
) -> SendOutcome:
    end = time.monotonic() + within
    while time.monotonic() < end:
        item = inbox.item(key)
        if item.answer is not None and item.state is ExchangeState.ANSWERED:
            ours = item.answer.by == reply.by
            return SendOutcome(
                Became.SENT if ours else Became.TAKEN,
                item.answer.line,
                (),
                item.answer.by,
                item.state,
            )
        if item.state is not ExchangeState.PENDING:
            dropped = reply.action is Action.DROP and item.state is ExchangeState.CANCELLED
            return SendOutcome(Became.SENT if dropped else Became.TAKEN, state=item.state)
        if item.reply is None and item.problems:
            return SendOutcome(Became.REFUSED, problems=item.problems)
        sleep(_LOOK_EVERY)
    return SendOutcome(Became.ON_ITS_WAY)
