"""When a session over HTTP ends although its client did not end it, and whose session it is."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from humanmcp.protocol.tables import versions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from humanmcp.protocol.json.jsonrpc import Message

VISIT_ENDS_AFTER: Final = 30 * 60.0
"""The seconds of silence after which a 2026-07-28 client counts as gone; nothing else tells."""

SESSION_ENDS_AFTER: Final = 24 * 3600.0
"""The same for a session with an id: its client may come back."""

MAKES_ROOM_AFTER: Final = 60.0
"""The same for both if the maximum number of sessions is open and a client starts another.

"The server MAY terminate the session at any time": its client gets 404, and starts a new one.
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
"""

_LONGEST_NAME: Final = 1000


class Evictable(Protocol):
    """A session. `id` is "" without a handshake; `last_seen` is in seconds of any clock.

    `address` is the last address of its client, "" if only an earlier process knew it.
    """

    id: str
    address: str
    last_seen: float

    @property
    def is_idle(self) -> bool:
        """True if no client waits or listens."""


AnySession = TypeVar("AnySession", bound=Evictable)


def silent(sessions: Iterable[AnySession], now: float) -> list[AnySession]:
    """Return the sessions that are over because nothing was received for too long."""
    return [
        one
        for one in sessions
        if one.is_idle
        and now - one.last_seen > (SESSION_ENDS_AFTER if one.id else VISIT_ENDS_AFTER)
    ]


def evictable(sessions: Collection[AnySession], now: float, address: str) -> AnySession | None:
    """Return the session to end so that a client at `address` can start one.

    A client cannot end sessions of an address that has fewer sessions than its own. If one address
    has more than half of all sessions, one of those ends for any other address, even if it waits.
    """
    counts = Counter(one.address for one in sessions)
    crowded = [
        one
        for one in sessions
        if one.address not in ("", address) and 2 * counts[one.address] > len(sessions)
    ]
    if crowded:
        return min(crowded, key=lambda one: (not one.is_idle, one.last_seen))
    idle = [
        one
        for one in sessions
        if one.is_idle
        and now - one.last_seen > MAKES_ROOM_AFTER
        and (one.address == address or counts[one.address] > counts[address])
    ]
    return min(idle, key=lambda one: (-counts[one.address], one.last_seen), default=None)


def visitor_of(message: Message, key: str, host: str) -> str:
    """Return a digest that identifies the sender of a request as far as possible, safe to store.

    `host` is the address that the client uses: one proxy may serve several processes.
    """
    client = json.dumps(message.meta.get(versions.META_CLIENT), sort_keys=True)[:_LONGEST_NAME]
    return hashlib.sha256(json.dumps((host, key, client)).encode()).hexdigest()
