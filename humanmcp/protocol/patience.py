"""How long a client waits for one exchange, and what keeps it waiting while a person is at it.

Pure: the time waited comes in, what is due comes out.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol import clients, revisions

if TYPE_CHECKING:
    from humanmcp.protocol.exchange import Exchange

PROGRESS_EVERY: Final = 5.0
"""Seconds between progress notifications; measured hosts re-arm their limit on each."""

REPEAT_WITHIN: Final = 30.0
"""Seconds within which a client that was asked to repeat a request must have done so.

Measured clients take 0.3 s at most; a suspended laptop takes longer.
"""

_OPENING: Final = frozenset({"initialize", "server/discover"})

_TEACHES: Final = "tools/call"
"""The one method whose limit is learned: several clients give lists far less time than calls."""

_GAVE_UP: Final = r"(?i)time[sd]?[ -]?out|deadline"


class Patience(NamedTuple):
    """How long the client waits for an exchange, and by which means it is kept waiting.

    `limit` is in seconds from the (last) arrival of the request, None when it is unknown or there
    is none; `source` is a code of `locales/` (room `waiting`) for where it is known from. `means`
    is "progress", "hold" or "", and then `why_not` is the code of the reason. `hold_at` is when to
    ask the client to repeat, in seconds from the last arrival.
    """

    limit: float | None
    source: str
    means: str
    why_not: str
    hold_at: float | None = None


def gave_up_after(exchange: Exchange, reason: str, waited: float, patience: Patience) -> float:
    """Return what the end of an exchange teaches of its client's limit; 0 when it teaches nothing.

    Only a cancel that says it is for the time counts: a person who pressed Esc has no limit. Nor
    does a call that was kept waiting by something that works, whose last leg is shorter than the
    limit, or whose end came later than it.
    """
    kept_waiting = exchange.legs > 0 or (patience.means == "progress" and patience.limit is None)
    if exchange.method != _TEACHES or kept_waiting or re.search(_GAVE_UP, reason) is None:
        return 0.0
    return waited if waited >= 1 else 0.0


def patience(
    exchange: Exchange, client_name: str, own_limit: float = 0.0, learned: float = 0.0
) -> Patience:
    """Say how long a client waits for an exchange.

    `own_limit` is the user's setting and wins. `learned` is how long this client waited for a tool
    call before (`gave_up_after`); it counts where nothing is known or where it is shorter than what
    is known. Both are seconds, 0 for none.

    The hold is for clients whose limit is known: each repeats a call ten times at most, so a client
    without a limit would be made to give up by it. For the same reason what was learned brings a
    hold forward, where a later one would come too late, but never begins one.
    """
    known = clients.find(client_name)
    if own_limit > 0:
        limit: float | None = own_limit
        source = "set"
    elif known is None:
        limit, source = None, "unknown"
    else:
        limit = known.opening if exchange.method in _OPENING else known.call
        source = known.source if limit is not None else "no-limit"
    may_hold = limit is not None
    if own_limit <= 0 and exchange.method == _TEACHES and 0 < learned < (limit or math.inf):
        limit, source = learned, "learned"
    has_token = exchange.progress_token is not None
    repeats = known.repeats if known is not None else 0
    if own_limit > 0:
        repeats = repeats or clients.SDK_REPEATS
    can_hold = (
        exchange.revision in revisions.MODERN
        and exchange.method in revisions.INPUT_REQUIRED_METHODS
        and exchange.legs < repeats
    )
    if has_token and known is not None and known.progress_helps:
        # Each notification re-arms the limit, so there is none while they are sent.
        return Patience(None, source, "progress", "")
    if can_hold and may_hold and limit is not None:
        return Patience(limit, source, "hold", "", hold_at=limit - min(5.0, limit * 0.2))
    if has_token:
        return Patience(limit, source, "progress", "")
    why_not = "no-token" if exchange.revision in revisions.HANDSHAKE else "no-means"
    return Patience(limit, source, "", why_not)
