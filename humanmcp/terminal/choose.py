"""Which exchange a person means by `3`, `b/3` or `20261120T184907Z-4f2a/3`.

A session's letter stands in its record, the same in every desk. So it keeps its meaning when
another session begins or ends, and a number that was read from a list or from the page a minute ago
never names another session's message.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from humanmcp.answering.calls import answered_at_once
from humanmcp.answering.case import Case
from humanmcp.common.paths import home_folder
from humanmcp.inbox.contract import Key, UnknownItemError
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.exchange import ExchangeState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import DeskInbox, SessionFacts


class ChoiceError(StopError):
    """A person named no exchange, or more than one."""

    room = "choose"


def open_inbox(settings: Settings) -> DeskInbox:
    """Open the inbox of these settings."""
    # The import is here, so that `--help` and `check` do not pay for it.
    from humanmcp.inbox.opening import open_inbox  # noqa: PLC0415 - see above

    return open_inbox(home_folder(settings.home), settings.inbox)


def seats(inbox: DeskInbox) -> tuple[SessionFacts, ...]:
    """List every session, oldest first."""
    return tuple(reversed(inbox.sessions()))


def label(facts: SessionFacts, number: int, everybody: Iterable[SessionFacts]) -> str:
    """Return the shortest clear name of an exchange: `3`, or `b/3` beside other sessions."""
    alone = facts.is_open and sum(one.is_open for one in everybody) == 1
    return str(number) if alone else f"{facts.letter}/{number}"


def choose(inbox: DeskInbox, wanted: str) -> Case:
    """Find the exchange that a person means; without a word, the only one that waits.

    What waits comes first: a bare number names what is pending in a live session, else what was
    pending there, else what the newest session that is over had.

    Raises:
        ChoiceError: there is none, or there are several.
    """
    everybody = seats(inbox)
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
    everybody = seats(inbox)
    if wanted:
        return _session(everybody, wanted, wanted)
    live = [one for one in everybody if one.is_open]
    if len(live) == 1:
        return live[0]
    choices = ", ".join(one.letter for one in live)
    raise ChoiceError("which session" if live else "nobody", choices=choices)


def _the_only_one(inbox: DeskInbox, everybody: Sequence[SessionFacts]) -> Case:
    open_ones = [
        Case(inbox, item, one) for one in everybody if one.is_open for item in inbox.items(one.name)
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


def _in_session(inbox: DeskInbox, facts: SessionFacts, number: int, wanted: str) -> Case:
    try:
        return Case(inbox, inbox.item(Key(facts.name, number)), facts)
    except UnknownItemError as error:
        for item in answered_at_once(inbox, facts, ()):
            if item.key.number == number:
                return Case(inbox, item, facts)
        raise ChoiceError("unknown", wanted=wanted) from error


def _with_number(inbox: DeskInbox, sessions: Iterable[SessionFacts], number: int) -> list[Case]:
    """Find a number in every session, whatever its state."""
    found = []
    for one in sessions:
        with contextlib.suppress(UnknownItemError):
            found.append(Case(inbox, inbox.item(Key(one.name, number)), one))
    return found
