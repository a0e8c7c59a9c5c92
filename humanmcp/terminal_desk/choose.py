"""Which exchange a person means by `3`, `b/3` or `20261120T184907Z-4f2a/3`.

A session's letter stands in its record, the same in every desk. So it keeps its meaning when
another session begins or ends, and a number that was read from a list or from the page a minute ago
never names somebody else's message.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from humanmcp.common.paths import home_folder
from humanmcp.inbox.at_once import answered_at_once
from humanmcp.inbox.contract import DeskInbox, Item, Key, Life, SessionFacts, UnknownItemError
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.exchange import ExchangeState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from humanmcp.common.settings import Settings


@dataclass(frozen=True, slots=True)
class Seated:
    """A session, as a person may name it."""

    facts: SessionFacts

    @property
    def letter(self) -> str:
        """Return what people call it."""
        return self.facts.letter

    @property
    def live(self) -> bool:
        """Say whether it can still answer its client."""
        return self.facts.life is Life.OPEN


class ChoiceError(StopError):
    """A person named no exchange, or more than one."""

    room = "choose"


def open_inbox(settings: Settings) -> DeskInbox:
    """Open the inbox folder of these settings."""
    # The import is here, so that `--help` and `check` do not pay for it.
    from humanmcp.inbox.opening import open_inbox  # noqa: PLC0415 - see above

    return open_inbox(home_folder(settings.home))


def seats(inbox: DeskInbox) -> tuple[Seated, ...]:
    """List every session, oldest first."""
    return tuple(Seated(facts) for facts in reversed(inbox.sessions()))


def label(seated: Seated, number: int, everybody: Iterable[Seated]) -> str:
    """Return the shortest clear name of an exchange: `3`, or `b/3` beside other sessions."""
    alone = seated.live and sum(one.live for one in everybody) == 1
    return str(number) if alone else f"{seated.letter}/{number}"


def choose(inbox: DeskInbox, wanted: str) -> tuple[Seated, Item]:
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
    live = [(one, item) for one, item in anywhere if one.live]
    found = [(one, item) for one, item in live if item.state is ExchangeState.PENDING] or live
    if not found and anywhere:
        found = anywhere[-1:]
    if not found:
        raise ChoiceError("unknown", wanted=wanted)
    if len(found) > 1:
        raise _several(wanted, number, [one for one, _ in found])
    return found[0]


def choose_session(inbox: DeskInbox, wanted: str) -> Seated:
    """Find the session that a person means; without a word, the only live one.

    Raises:
        ChoiceError: there is none, or there are several.
    """
    everybody = seats(inbox)
    if wanted:
        return _session(everybody, wanted, wanted)
    live = [one for one in everybody if one.live]
    if len(live) == 1:
        return live[0]
    choices = ", ".join(one.letter for one in live)
    raise ChoiceError("which session" if live else "nobody", choices=choices)


def _the_only_one(inbox: DeskInbox, everybody: Sequence[Seated]) -> tuple[Seated, Item]:
    waiting = [(one, item) for one in everybody if one.live for item in inbox.items(one.facts.name)]
    if not waiting:
        raise ChoiceError("nothing waits")
    if len(waiting) > 1:
        names = [label(one, item.key.number, everybody) for one, item in waiting]
        raise ChoiceError("which", choices=", ".join(names))
    return waiting[0]


def _session(everybody: Sequence[Seated], name: str, wanted: str) -> Seated:
    """Find a session by its letter, else by its name, its last four characters or a beginning."""
    lowered = name.lower()
    tests = (
        lambda one: one.letter == lowered,
        lambda one: name in (one.facts.name, one.facts.name.rpartition("-")[2]),
        lambda one: bool(name) and one.facts.name.startswith(name),
    )
    for test in tests:
        found = [one for one in everybody if test(one)]
        if len(found) == 1:
            return found[0]
        if found:
            raise _several(wanted, wanted.rpartition("/")[2], found)
    live = ", ".join(one.letter for one in everybody if one.live)
    raise ChoiceError("no session" if live else "no live session", wanted=name, choices=live)


def _several(wanted: str, number: str, found: Iterable[Seated]) -> ChoiceError:
    choices = ", ".join(f"{one.letter}/{number}" for one in found)
    return ChoiceError("several", wanted=wanted, choices=choices)


def _in_session(inbox: DeskInbox, seated: Seated, number: int, wanted: str) -> tuple[Seated, Item]:
    try:
        return seated, inbox.item(Key(seated.facts.name, number))
    except UnknownItemError as error:
        for item in answered_at_once(inbox, seated.facts, ()):
            if item.key.number == number:
                return seated, item
        raise ChoiceError("unknown", wanted=wanted) from error


def _with_number(
    inbox: DeskInbox, sessions: Iterable[Seated], number: int
) -> list[tuple[Seated, Item]]:
    """Find a number in every session, whatever its state."""
    found = []
    for one in sessions:
        with contextlib.suppress(UnknownItemError):
            found.append((one, inbox.item(Key(one.facts.name, number))))
    return found
