"""The requests of one conversation: those that wait, and the last ones that are over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.conversation.exchange import ExchangeState

if TYPE_CHECKING:
    from humanmcp.protocol.conversation.exchange import Exchange

REMEMBERED: Final = 1_000
"""How many requests that are over are remembered, at most."""

REMEMBERED_SIZE: Final = 4 * 1024 * 1024
"""How long the lines of those may be together, in characters. The last one stays, however long."""


class Exchanges:
    """Finds an exchange by its number, and those that wait without looking at the others.

    What is over is remembered for one purpose: to tell a late answer what became of its request.
    A client that calls a hundred thousand times must neither slow a session down nor fill the
    memory, so only the last ones are. The transcript has them all.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.last = 0
        """The number that was given last. They count from 1."""
        self._waiting: dict[int, Exchange] = {}
        self._by_id: dict[tuple[str, str | int | float], set[int]] = {}
        self._over: dict[int, Exchange] = {}
        self._size = 0

    def get(self, number: int) -> Exchange | None:
        """Return the exchange with this number; None if there never was one, or it is forgotten."""
        return self._waiting.get(number) or self._over.get(number)

    def __getitem__(self, number: int) -> Exchange:
        """Return the exchange with this number.

        Raises:
            KeyError: there never was one, or it is forgotten.
        """
        found = self.get(number)
        if found is None:
            raise KeyError(number)
        return found

    @property
    def waiting(self) -> tuple[Exchange, ...]:
        """Those that wait for an answer, oldest first."""
        return tuple(self._waiting.values())

    @property
    def remembered(self) -> tuple[Exchange, ...]:
        """Those that wait and those that are over and not forgotten, in the order they came in."""
        every = self._over | self._waiting
        return tuple(every[number] for number in sorted(every))

    def same_id_pending(self, exchange: Exchange) -> tuple[Exchange, ...]:
        """Those that wait under the same id as this one, oldest first."""
        numbers = self._by_id.get(exchange.id.key, ())
        if len(numbers) < 2 and exchange.number in numbers:
            return ()
        return tuple(self._waiting[each] for each in sorted(numbers) if each != exchange.number)

    def put(self, exchange: Exchange) -> Exchange:
        """Add an exchange, or the next state of one. Returns it."""
        number = exchange.number
        self.last = max(self.last, number)
        before = self._waiting.get(number)
        if before is not None:
            self._leave(before)
        if exchange.state is ExchangeState.PENDING:
            self._waiting[number] = exchange
            self._by_id.setdefault(exchange.id.key, set()).add(number)
        elif before is not None:
            del self._waiting[number]
            self._over[number] = exchange
            self._size += len(exchange.request.raw)
            self._forget()
        return exchange

    def _leave(self, exchange: Exchange) -> None:
        alike = self._by_id[exchange.id.key]
        alike.discard(exchange.number)
        if not alike:
            del self._by_id[exchange.id.key]

    def _forget(self) -> None:
        while len(self._over) > 1 and (
            len(self._over) > REMEMBERED or self._size > REMEMBERED_SIZE
        ):
            oldest = self._over.pop(next(iter(self._over)))
            self._size -= len(oldest.request.raw)
