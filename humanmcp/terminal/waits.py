"""How long an exchange has waited, and what will happen to it when: in one short sentence each.

Pure: the moment comes in as an argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from humanmcp.common.timestamps import clock, read_stamp
from humanmcp.locales import UnknownSentenceError, say, who
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.json.escaping import one_line

if TYPE_CHECKING:
    from humanmcp.inbox.contract import Item

ROOM: Final = "waits"
SOON: Final = 15.0
"""Seconds before a deadline from which it is shown as urgent."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What will happen to an exchange, and whether that is soon."""

    sentence: str
    soon: bool = False


def now() -> datetime:
    """Return this moment, in UTC."""
    return datetime.now(UTC)


def waited(item: Item, moment: datetime) -> float:
    """Return the seconds since a request arrived; 0 when its time cannot be read."""
    arrived = read_stamp(item.arrived)
    return 0.0 if arrived is None else max(0.0, (moment - arrived).total_seconds())


def outlook(item: Item, moment: datetime, language: str) -> tuple[Outlook, ...]:
    """Return what will happen: what the book does and when, and when the client may give up."""
    if item.state is not ExchangeState.PENDING:
        return (Outlook(_ended(item, language)),)
    if item.reply is not None:
        return (Outlook(say(ROOM, "on its way", language)),)
    passed = waited(item, moment)
    if item.is_subscription:
        return (Outlook(say(ROOM, "subscription", language, time=clock(passed))),)
    return tuple(
        one
        for one in (
            _book(item, passed, language),
            _status(item, passed, language),
            _client(item, passed, language),
        )
        if one is not None
    )


def kept_waiting(item: Item, language: str) -> str:
    """Return what keeps the client waiting, or why nothing can; "" when nothing is known."""
    waiting = item.waiting
    if waiting.means:
        return _optional(ROOM, f"means {waiting.means}", language)
    reason = "no-limit" if waiting.source == "no-limit" else waiting.why_not
    return _optional("waiting", reason, language) if reason else ""


def _ended(item: Item, language: str) -> str:
    if item.answer is not None:
        code = "answered deliberately" if item.answer.deliberate else "answered"
        return say(ROOM, code, language, by=who(item.answer.by, language))
    if item.state is ExchangeState.CANCELLED and item.reason:
        return say(ROOM, "cancelled because", language, reason=one_line(item.reason, 200))
    if item.state is ExchangeState.ABANDONED and item.reason:
        known = _optional(ROOM, f"abandoned {item.reason}", language)
        return known if known != f"abandoned {item.reason}" else one_line(item.reason, 200)
    return say(ROOM, item.state.value, language)


def _book(item: Item, passed: float, language: str) -> Outlook | None:
    at = item.waiting.book_at
    if at is None:
        return None
    if item.waiting.held:
        return Outlook(say(ROOM, "held", language))
    left = at - passed
    return Outlook(say(ROOM, "book", language, left=clock(left)), soon=left < SOON)


def _status(item: Item, passed: float, language: str) -> Outlook | None:
    until = item.waiting.status_until
    if until is None or passed >= until:
        return None
    return Outlook(say(ROOM, "status open", language, left=clock(until - passed)))


def _client(item: Item, passed: float, language: str) -> Outlook | None:
    limit = item.waiting.limit
    if limit is None:
        return None
    left = limit - passed
    if left <= 0:
        return Outlook(say(ROOM, "given up", language), soon=True)
    return Outlook(say(ROOM, "gives up", language, left=clock(left)), soon=left < SOON)


def _optional(room: str, code: str, language: str) -> str:
    """Return a sentence whose code another process wrote: a newer one may know more of them."""
    try:
        return say(room, code, language)
    except UnknownSentenceError:
        return code
