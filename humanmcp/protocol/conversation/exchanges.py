"""The exchanges of a session, and which of them a message belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.conversation.stages import ExchangeState, Stage
from humanmcp.protocol.json.tree import array_at
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.versions import META_SUBSCRIPTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.json.jsonrpc import Json, Message

REMEMBERED: Final = 1_000
"""The maximum number of finished requests that are kept."""

REMEMBERED_SIZE: Final = 4 * 1024 * 1024
"""The maximum total length of those lines, in characters. The last one is always kept."""


def related_to(message: Message, pending: Sequence[Exchange]) -> int:
    """Return the number of the request that one of our messages belongs to, 0 for none.

    A notification names the request by its token, or by the id of the subscription. Any other
    message belongs to the last request: "These messages SHOULD relate to the originating client
    request". A change notification belongs to no request, and a task notification to the
    subscription that names the task.

    https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
    """
    token = message.params.get("progressToken")
    subscription = message.meta.get(META_SUBSCRIPTION)
    if token is not None or subscription is not None:
        named = (each for each in reversed(pending) if _is_named(each, token, subscription))
        found = next(named, None)
        return 0 if found is None else found.number
    record = methods.of(message.method)
    if record.unrelated or not message.method:
        return 0
    if record.filtered_by == methods.TASK_IDS:
        task = message.params.get("taskId")
        return next((one.number for one in pending if watches(one, task)), 0)
    waiting = [one for one in pending if not methods.of(one.method).stays_open]
    return waiting[-1].number if waiting else 0


def _is_named(exchange: Exchange, token: Json, subscription: Json) -> bool:
    if subscription is not None:
        return bool(exchange.id.value == subscription)
    return "progressToken" in exchange.request.meta and bool(
        exchange.request.meta["progressToken"] == token
    )


def watches(exchange: Exchange, task: Json) -> bool:
    """Return True if a subscription covers a task."""
    wanted = array_at(exchange.request.params, "notifications", methods.TASK_IDS)
    return methods.of(exchange.method).stays_open and task in wanted


class Exchanges:
    """The exchanges of a session, by number; the pending ones are found without a search.

    Finished exchanges only serve to say what happened to the request of a late answer. A client
    that sends a hundred thousand calls must not slow down a session or fill the memory, so only the
    last ones are kept. The transcript has all of them.
    """

    def __init__(self) -> None:
        self.last = 0
        """The last number that was assigned. Numbers count from 1."""
        self._waiting: dict[int, Exchange] = {}
        self._awaiting_retry: set[int] = set()
        self._by_id: dict[tuple[str, str | int | float], set[int]] = {}
        self._over: dict[int, Exchange] = {}
        self._size = 0

    def get(self, number: int) -> Exchange | None:
        """Return the exchange with this number; None if it never existed or is forgotten."""
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
        """The exchanges that wait for an answer, oldest first."""
        return tuple(self._waiting.values())

    @property
    def awaiting_retry(self) -> tuple[Exchange, ...]:
        """The exchanges whose client was asked to retry, or may retry, oldest first."""
        return tuple(map(self._waiting.__getitem__, sorted(self._awaiting_retry)))

    @property
    def remembered(self) -> tuple[Exchange, ...]:
        """The pending exchanges and the finished ones that are still kept, in order of arrival."""
        every = self._over | self._waiting
        return tuple(every[number] for number in sorted(every))

    def same_id_pending(self, exchange: Exchange) -> tuple[Exchange, ...]:
        """Return the other pending exchanges with the same id, oldest first.

        MCP forbids them; some clients send them.
        """
        numbers = self._by_id.get(exchange.id.key, set()) - {exchange.number}
        return tuple(map(self._waiting.__getitem__, sorted(numbers)))

    def put(self, exchange: Exchange) -> Exchange:
        """Add or replace an exchange. Return it."""
        number = exchange.number
        self.last = max(self.last, number)
        before = self._waiting.get(number)
        if before is not None:
            self._leave(before)
        if exchange.state is ExchangeState.PENDING:
            self._waiting[number] = exchange
            self._by_id.setdefault(exchange.id.key, set()).add(number)
            if exchange.stage is Stage.AWAITING_RETRY:
                self._awaiting_retry.add(number)
        elif before is not None:
            del self._waiting[number]
            self._over[number] = exchange
            self._size += len(exchange.request.raw)
            self._forget()
        return exchange

    def _leave(self, exchange: Exchange) -> None:
        self._awaiting_retry.discard(exchange.number)
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
