"""Which taps and which held messages a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.inbox.contract import Life, Purpose, Seat
from humanmcp.locales.stop import StopError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from humanmcp.inbox.contract import DeskInbox, Item


class NoTapError(StopError):
    """No running tap is meant, or more than one."""

    room = "hold"

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__("several taps" if names else "no tap", names=", ".join(names))


def taps(inbox: DeskInbox, wanted: str = "") -> tuple[str, ...]:
    """Return the names of the running taps whose name begins like this, newest first."""
    return tuple(
        facts.name
        for facts in inbox.sessions()
        if facts.seat is Seat.TAP and facts.life is Life.OPEN and facts.name.startswith(wanted)
    )


def one_tap(inbox: DeskInbox, wanted: str = "") -> str:
    """Return the one tap that is meant.

    Raises:
        NoTapError: none is, or several are.
    """
    found = taps(inbox, wanted)
    if len(found) != 1:
        raise NoTapError(found or taps(inbox))
    return found[0]


def held(inbox: DeskInbox, sessions: Sequence[str]) -> Iterator[Item]:
    """Yield what is held in these sessions, oldest first, session by session."""
    for session in sessions:
        for item in inbox.items(session):
            if item.purpose is Purpose.PASS:
                yield item
