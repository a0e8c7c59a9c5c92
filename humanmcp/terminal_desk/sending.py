"""Send a reply and wait for the verdict of the one process that owns the wire.

The inbox promises that a reply survives; only the stub can say that it went out. So a desk watches
the exchange until it leaves `pending`, or comes back with problems, or too long a time has passed.
"""

from __future__ import annotations

import enum
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from humanmcp.common.timestamps import stamp
from humanmcp.inbox.contract import DeskInbox, Draft, Item, Key, Life, Reply
from humanmcp.protocol.conversation.exchange import Exchange, ExchangeState
from humanmcp.protocol.json.jsonrpc import Kind, Message, read

if TYPE_CHECKING:
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.diagnostics.verdict import TextForm

BY: Final = "terminal"
"""How this desk signs what it sends."""

LONGEST_WAIT: Final = 10.0
"""Seconds to wait for the stub, which looks a hundred times a second."""
_LOOK_EVERY: Final = 0.02


class Outcome(enum.Enum):
    """What became of a reply."""

    SENT = "sent"
    REFUSED = "refused"
    """The stub gave it back: it is the draft again, with its problems."""
    TOO_LATE = "too late"
    """The exchange ended in another way first: cancelled, or the session is over."""
    WAITING = "waiting"
    """The stub has not taken it yet. It will go out when the stub does."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a reply, with the exchange as it is now."""

    outcome: Outcome
    item: Item

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """Why it was refused."""
        return self.item.problems if self.outcome is Outcome.REFUSED else ()


def exchange_of(item: Item) -> Exchange | None:
    """Return the exchange that a check needs; None for a line that is no request."""
    request = read(item.line.encode("utf-8", "surrogatepass"))
    if not isinstance(request, Message) or request.kind is not Kind.REQUEST:
        return None
    return Exchange(item.key.number, request, item.revision, item.state)


@dataclass(frozen=True, slots=True)
class TypedText:
    """What the person wrote, and what it stands for."""

    text: str
    form: TextForm


def send(inbox: DeskInbox, key: Key, given: TypedText, *, anyway: bool) -> Result:
    """Send a text and wait, with a bound, for what becomes of it.

    Raises:
        TakenError: somebody was first. The text was kept.
    """
    inbox.send(key, Reply(given.text, given.form, anyway=anyway, by=BY, at=stamp(time.time())))
    return wait(inbox, key)


def wait(inbox: DeskInbox, key: Key, longest: float = LONGEST_WAIT) -> Result:
    """Watch an exchange until its reply is sent, refused or overtaken."""
    end = time.monotonic() + longest
    while True:
        item = inbox.item(key)
        outcome = _outcome(item)
        if outcome is not Outcome.WAITING or time.monotonic() >= end:
            return Result(outcome, item)
        if inbox.facts(key.session).life is not Life.OPEN:
            item = inbox.item(key)  # it may have been the last thing that the stub did
            outcome = _outcome(item)
            late = outcome is Outcome.WAITING
            return Result(Outcome.TOO_LATE if late else outcome, item)
        time.sleep(_LOOK_EVERY)


def keep(inbox: DeskInbox, key: Key, given: TypedText, *, touched: bool, hold: bool) -> None:
    """Save what the person wrote as the draft. `hold` stops the countdown of the answer book."""
    inbox.save(
        key, Draft(given.text, given.form, touched=touched, hold=hold, by=BY, at=stamp(time.time()))
    )


def _outcome(item: Item) -> Outcome:
    match item.state:
        case ExchangeState.PENDING:
            return Outcome.WAITING if item.reply is not None else Outcome.REFUSED
        case ExchangeState.ANSWERED:
            return Outcome.SENT if item.answer and item.answer.by == BY else Outcome.TOO_LATE
        case ExchangeState.CANCELLED | ExchangeState.ABANDONED:
            return Outcome.TOO_LATE
