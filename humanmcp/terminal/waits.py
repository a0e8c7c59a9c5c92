"""How long an exchange has waited, and what will happen to it when: in one short sentence each.

Pure: the moment comes in as an argument.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from humanmcp.answering.open_exchange import OpenExchange
from humanmcp.answering.summary import answered_at_once
from humanmcp.common.settings import home_folder
from humanmcp.common.timestamps import clock, read_stamp
from humanmcp.inbox.contract import Key, UnknownItemError
from humanmcp.locales import UnknownSentenceError, say, who
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.json.jsonrpc import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import DeskInbox, Item, SessionFacts

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


def outlook(item: Item, moment: datetime) -> tuple[Outlook, ...]:
    """Return what will happen: what the book does and when, and when the client may give up."""
    if item.state is not ExchangeState.PENDING:
        return (Outlook(_ended(item)),)
    if item.reply is not None:
        code = "parked and answered" if item.outlives else "on its way"
        return (Outlook(say(ROOM, code)),)
    passed = waited(item, moment)
    if item.is_parked:
        return (Outlook(say(ROOM, "parked", time=clock(passed))),)
    if item.follows:
        return (Outlook(say(ROOM, "follows")),)
    if item.is_subscription:
        return (Outlook(say(ROOM, "subscription", time=clock(passed))),)
    return tuple(
        one
        for one in (
            _book(item, passed),
            _status(item, passed),
            _client(item, passed),
        )
        if one is not None
    )


def kept_waiting(item: Item) -> str:
    """Return what keeps the client waiting, or why nothing can; "" when nothing is known."""
    waiting = item.waiting
    if waiting.keepalive:
        return _optional(ROOM, f"keepalive {waiting.keepalive}")
    reason = "no-limit" if waiting.source == "no-limit" else waiting.why_not
    return _optional("waiting", reason) if reason else ""


def _ended(item: Item) -> str:
    if item.answer is not None:
        code = "answered deliberately" if item.answer.deliberate else "answered"
        said = say(ROOM, code, by=who(item.answer.by))
        if not item.waiting.parked:
            return said
        at = item.answer.fetched
        return say(ROOM, "fetched" if at else "not fetched", said=said, at=at)
    if item.state is ExchangeState.CANCELLED and item.reason:
        return say(ROOM, "cancelled because", reason=one_line(item.reason, 200))
    if item.state is ExchangeState.ABANDONED and item.reason:
        known = _optional(ROOM, f"abandoned {item.reason}")
        return known if known != f"abandoned {item.reason}" else one_line(item.reason, 200)
    return say(ROOM, item.state.value)


def _book(item: Item, passed: float) -> Outlook | None:
    at = item.waiting.book_at
    if at is None:
        return None
    if item.waiting.held:
        return Outlook(say(ROOM, "held"))
    left = at - passed
    return Outlook(say(ROOM, "book", left=clock(left)), soon=left < SOON)


def _status(item: Item, passed: float) -> Outlook | None:
    until = item.waiting.status_until
    if until is None or passed >= until:
        return None
    return Outlook(say(ROOM, "status open", left=clock(until - passed)))


def _client(item: Item, passed: float) -> Outlook | None:
    limit = item.waiting.limit
    if limit is None:
        return None
    left = limit - passed
    if left <= 0:
        return Outlook(say(ROOM, "given up"), soon=True)
    return Outlook(say(ROOM, "gives up", left=clock(left)), soon=left < SOON)


def _optional(room: str, code: str) -> str:
    """Return a sentence whose code another process wrote: a newer one may know more of them."""
    try:
        return say(room, code)
    except UnknownSentenceError:
        return code


class ChoiceError(StopError):
    """A person named no exchange, or more than one."""

    room = "choose"


def open_inbox(settings: Settings) -> DeskInbox:
    """Open the inbox of these settings."""
    # The import is here, so that `--help` and `check` do not pay for it.
    from humanmcp.inbox import open_inbox  # noqa: PLC0415 - see above

    return open_inbox(home_folder(settings.home), settings.inbox)


def listed_sessions(inbox: DeskInbox) -> tuple[SessionFacts, ...]:
    """List every session, oldest first."""
    return tuple(reversed(inbox.sessions()))


def label(facts: SessionFacts, number: int, everybody: Iterable[SessionFacts]) -> str:
    """Return the shortest clear name of an exchange: `3`, or `b/3` beside other sessions."""
    alone = facts.is_open and sum(one.is_open for one in everybody) == 1
    return str(number) if alone else f"{facts.letter}/{number}"


def choose(inbox: DeskInbox, wanted: str) -> OpenExchange:
    """Find the exchange that a person means; without a word, the only one that waits.

    What waits comes first: a bare number names what is pending in a live session, else what was
    pending there, else what the newest session that is over had.

    Raises:
        ChoiceError: there is none, or there are several.
    """
    everybody = listed_sessions(inbox)
    name, slash, number = wanted.rpartition("/")
    if not wanted:
        return _the_only_one(inbox, everybody)
    if not (number.isascii() and number.isdigit()):
        raise ChoiceError("no number", wanted=wanted)
    if slash:
        return _in_session(inbox, _session(everybody, name, wanted), int(number), wanted)
    anywhere = _with_number(inbox, everybody, int(number))
    live = [one for one in anywhere if one.facts.is_open]
    found = [one for one in live if one.item.state is ExchangeState.PENDING] or live
    if not found and anywhere:
        found = anywhere[-1:]
    if not found:
        raise ChoiceError("unknown", wanted=wanted)
    if len(found) > 1:
        raise _several(wanted, number, [one.facts for one in found])
    return found[0]


def choose_session(inbox: DeskInbox, wanted: str) -> SessionFacts:
    """Find the session that a person means; without a word, the only live one.

    Raises:
        ChoiceError: there is none, or there are several.
    """
    everybody = listed_sessions(inbox)
    if wanted:
        return _session(everybody, wanted, wanted)
    live = [one for one in everybody if one.is_open]
    if len(live) == 1:
        return live[0]
    choices = ", ".join(one.letter for one in live)
    raise ChoiceError("which session" if live else "nobody", choices=choices)


def _the_only_one(inbox: DeskInbox, everybody: Sequence[SessionFacts]) -> OpenExchange:
    open_ones = [
        OpenExchange(inbox, item, one)
        for one in everybody
        if one.is_open
        for item in inbox.items(one.name)
    ]
    waiting = [one for one in open_ones if one.item.waits] or open_ones
    if not waiting:
        raise ChoiceError("nothing waits")
    if len(waiting) > 1:
        names = [label(one.facts, one.key.number, everybody) for one in waiting]
        raise ChoiceError("which", choices=", ".join(names))
    return waiting[0]


def _session(everybody: Sequence[SessionFacts], name: str, wanted: str) -> SessionFacts:
    """Find a session by its letter, else by its name, its last four characters or a beginning."""
    lowered = name.lower()
    tests = (
        lambda one: one.letter == lowered,
        lambda one: name in (one.name, one.name.rpartition("-")[2]),
        lambda one: bool(name) and one.name.startswith(name),
    )
    for test in tests:
        found = [one for one in everybody if test(one)]
        if len(found) == 1:
            return found[0]
        if found:
            raise _several(wanted, wanted.rpartition("/")[2], found)
    live = ", ".join(one.letter for one in everybody if one.is_open)
    raise ChoiceError("no session" if live else "no live session", wanted=name, choices=live)


def _several(wanted: str, number: str, found: Iterable[SessionFacts]) -> ChoiceError:
    choices = ", ".join(f"{one.letter}/{number}" for one in found)
    return ChoiceError("several", wanted=wanted, choices=choices)


def _in_session(inbox: DeskInbox, facts: SessionFacts, number: int, wanted: str) -> OpenExchange:
    try:
        return OpenExchange(inbox, inbox.item(Key(facts.name, number)), facts)
    except UnknownItemError as error:
        for item in answered_at_once(inbox, facts, ()):
            if item.key.number == number:
                return OpenExchange(inbox, item, facts)
        raise ChoiceError("unknown", wanted=wanted) from error


def _with_number(
    inbox: DeskInbox, sessions: Iterable[SessionFacts], number: int
) -> list[OpenExchange]:
    """Find a number in every session, whatever its state."""
    found = []
    for one in sessions:
        with contextlib.suppress(UnknownItemError):
            found.append(OpenExchange(inbox, inbox.item(Key(one.name, number)), one))
    return found
