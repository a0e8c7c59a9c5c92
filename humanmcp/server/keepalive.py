"""Keeps the client of a session from timing out while a person is at its request.

What a client of a known timeout gets is planned by what is known of it; the options of the command
line and a person may have it otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.inbox.contract import Order
from humanmcp.protocol.conversation import timeouts
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.timeouts import (
    ALL_KEEPALIVES,
    PROGRESS_EVERY,
    gave_up_after,
    outlasted,
    timeout_plan,
)
from humanmcp.server.journal import BY_US
from humanmcp.server.moments import Capability

if TYPE_CHECKING:
    from humanmcp.inbox.contract import Reply
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.server.moments import Way
    from humanmcp.server.waiting import PendingTimers


PROGRESS: Final = "progress"
"""What is planned: the next progress notification."""


class Keepalive(Capability):
    """The progress notifications of a session, and what is known of its client's timeouts."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._session = way.session
        self._journal = way.journal

    def waits(self, exchange: Exchange, timers: PendingTimers) -> None:
        """Plan how long the client waits for an answer, and what keeps it waiting."""
        client = self._session.negotiated.client_name
        seen = None if timeouts.is_shared(client) else self._journal.limits.of(client)
        own = self._way.options.client_limit or self._journal.call_limits.of(client)
        keepalives = self._keepalives(exchange.number)
        timers.timeouts = timeout_plan(exchange, client, own or 0.0, seen or 0.0, keepalives)
        self._plan_progress(timers, self._journal.clock.now())

    def _plan_progress(self, timers: PendingTimers, now: float) -> None:
        """Plan the next notification: one each few seconds since the request last came."""
        step = (now - timers.last_arrived) // PROGRESS_EVERY + 1
        at = timers.last_arrived + step * PROGRESS_EVERY
        timers.plan(PROGRESS, at if timers.timeouts.progress else None)

    def _keepalives(self, number: int) -> frozenset[str]:
        """Return which keepalive a request allows.

        Who sends progress of their own is not interrupted: a client expects one rising value.
        """
        options = self._way.options
        if not options.speaks_first:
            return frozenset()
        wanted = self._way.book_file.book.progress if options.progress is None else options.progress
        if not wanted or self._session.reports_progress(number):
            return frozenset({timeouts.RETRY})
        return ALL_KEEPALIVES

    def due(self, name: str, exchange: Exchange, timers: PendingTimers, now: float) -> None:
        if name != PROGRESS:
            return
        self._plan_progress(timers, now)
        minutes = int((now - timers.arrived) // 60)
        said = f"Waiting for a person ({minutes} min)" if minutes else "Waiting for a person"
        line = self._session.progress(exchange.number, timers.progressed(), said)
        if line is not None and not self._journal.begun:
            self._journal.write(line, exchange.number, by=BY_US)

    def over(self, exchange: Exchange, timers: PendingTimers | None, reason: str) -> None:
        """Remember the client's timeout if its cancellation was one; forget it if it has waited."""
        client, limits = self._session.negotiated.client_name, self._journal.limits
        if timers is None:
            return
        now = self._journal.clock.now()
        if exchange.state is ExchangeState.ANSWERED:
            if outlasted(exchange, now - timers.last_arrived, limits.of(client) or 0.0):
                limits.forget(client)
        elif exchange.state is ExchangeState.CANCELLED and not timeouts.is_shared(client):
            seconds = gave_up_after(exchange, reason, now - timers.arrived, timers.timeouts)
            if seconds:
                limits.put(client, seconds)

    def order(self, reply: Reply) -> None:
        options, is_on = self._way.options, reply.text != "off"
        if reply.order is Order.PROGRESS:
            self._way.options = options._replace(progress=is_on)
        elif reply.order is Order.SILENCE:
            self._way.options = options._replace(silent=is_on)
        else:
            return
        self._way.look_again()
