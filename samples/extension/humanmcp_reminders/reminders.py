"""Runs the person's `notify` command again while a request waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from humanmcp.common.settings import Setting
from humanmcp.server.moments import Capability

if TYPE_CHECKING:
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.server.moments import Way
    from humanmcp.server.waiting import PendingTimers

REMIND: Final = "remind"
"""The setting, and the moment that is planned."""


class Reminders(Capability):
    """Reminds a person of each request, every so many minutes, for as long as it waits."""

    SETTINGS: ClassVar = (Setting(REMIND, 0.0, "MINUTES", section="reminders"),)

    def __init__(self, way: Way) -> None:
        self._way = way

    def waits(self, exchange: Exchange, timers: PendingTimers) -> None:  # noqa: ARG002 - whatever waits
        """Plan the first reminder. A request that changes while it waits is planned anew."""
        self._plan(timers, self._way.journal.clock.now())

    def due(self, name: str, exchange: Exchange, timers: PendingTimers, now: float) -> None:
        """Remind the person, and plan the next reminder."""
        notify = self._way.options.notify
        if name == REMIND and notify is not None and timers.is_for_people:
            notify(self._way.journal.name, exchange.number, exchange.tool)
            self._plan(timers, now)

    def _plan(self, timers: PendingTimers, now: float) -> None:
        every = self._way.options.added[REMIND] * 60
        if every > 0:
            timers.plan(REMIND, timers.arrived + ((now - timers.arrived) // every + 1) * every)
