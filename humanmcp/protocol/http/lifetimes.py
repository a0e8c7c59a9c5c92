"""Whose a session over HTTP is, and when it is over though nothing has ended it.

Up to 2025-11-25 a session has an id, and DELETE ends it; many clients send none. In 2026-07-28
nothing is kept between two requests, but people want to see what belongs together: a *visitor* is
who sends the same key and the same `clientInfo`, and nothing says that it has gone.

Pure: the clock's time comes in.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from humanmcp.protocol.spec import versions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from humanmcp.protocol.json.jsonrpc import Message

VISIT_ENDS_AFTER: Final = 30 * 60.0
"""Seconds of silence after which a visitor of 2026-07-28 has gone: nothing else says so."""

SESSION_ENDS_AFTER: Final = 24 * 3600.0
"""The same of a session that has an id: its client may come back to it."""

MAKES_ROOM_AFTER: Final = 60.0
"""The same of either where there are as many sessions as there may be, and another one begins.

"The server MAY terminate the session at any time": its client is told 404, and begins anew.
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
"""

_LONGEST_NAME: Final = 1000


class SessionLike(Protocol):
    """A session. `id` is "" for that of a visitor, `last_seen` in seconds of any clock.

    `address` is where its client was seen last, "" where only the process before this one saw it.
    """

    id: str
    address: str
    last_seen: float

    @property
    def is_idle(self) -> bool:
        """Return True if no client waits or listens."""


AnySession = TypeVar("AnySession", bound=SessionLike)


def silent(sessions: Iterable[AnySession], now: float) -> list[AnySession]:
    """Return those of which nothing was heard for so long that they are over."""
    return [one for one in sessions if one.is_idle and now - one.last_seen > _ends_after(one)]


def _ends_after(session: SessionLike) -> float:
    return SESSION_ENDS_AFTER if session.id else VISIT_ENDS_AFTER


def evictable(sessions: Collection[AnySession], now: float, address: str) -> AnySession | None:
    """Return the session that ends so that a client at `address` can begin another.

    No client can end those of an address that has fewer than its own has. Of an address that has
    more than half of all, one ends at once for any other address, whatever it waits for.
    """
    counts = Counter(one.address for one in sessions)
    crowd = [
        one
        for one in sessions
        if one.address not in ("", address) and 2 * counts[one.address] > len(sessions)
    ]
    if crowd:
        return min(crowd, key=lambda one: (not one.is_idle, one.last_seen))
    idle = [
        one
        for one in sessions
        if one.is_idle
        and now - one.last_seen > MAKES_ROOM_AFTER
        and (one.address == address or counts[one.address] > counts[address])
    ]
    return min(idle, key=lambda one: (-counts[one.address], one.last_seen), default=None)


def visitor_of(message: Message, key: str, host: str) -> str:
    """Return a digest of who sends a request, as far as one can tell: it may be written down.

    `host` is the address that the visitor knows: a proxy may stand before several processes.
    """
    client = json.dumps(message.meta.get(versions.META_CLIENT), sort_keys=True)[:_LONGEST_NAME]
    return hashlib.sha256(json.dumps((host, key, client)).encode()).hexdigest()
