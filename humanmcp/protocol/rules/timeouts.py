"""How long a client waits for one exchange, and what keeps it waiting while a person is at it.

Pure: the time waited comes in, what is due comes out.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.rules import known_clients
from humanmcp.protocol.spec import methods
from humanmcp.protocol.spec.versions import features

if TYPE_CHECKING:
    from humanmcp.protocol.conversation.exchange import Exchange

STATUS_WITHIN: Final = 10.0
"""Seconds for which the status of an answer over HTTP is open: then a stream begins."""

PROGRESS_EVERY: Final = 5.0
"""Seconds between progress notifications; measured hosts re-arm their limit on each."""

REPEAT_WITHIN: Final = 30.0
"""Seconds within which a client that was asked to repeat a request must have done so.

Measured clients take 0.3 s at most; a suspended laptop takes longer.
"""

PROGRESS: Final = "progress"
HOLD: Final = "hold"
ALL_MEANS: Final = frozenset({PROGRESS, HOLD})
"""What keeps a client waiting: progress notifications, and being asked to repeat its request."""

_GAVE_UP: Final = r"(?i)time[sd]?[ -]?out|deadline"


class TimeoutPlan(NamedTuple):
    """How long the client waits for an exchange, and by which means it is kept waiting.

    `limit` is in seconds from the (last) arrival of the request, None when it is unknown or there
    is none; `source` is a code of `locales/` (room `waiting`) for where it is known from. `means`
    is "progress", "progress-maybe" (it is sent, and whether it helps is unknown), "hold" or "",
    and then `why_not` is the code of the reason. `hold_at` is when to ask the client to repeat, in
    seconds from the last arrival. `progress` says whether any is sent.
    """

    limit: float | None
    source: str
    means: str
    why_not: str
    hold_at: float | None = None
    progress: bool = True


def gave_up_after(exchange: Exchange, reason: str, waited: float, timeouts: TimeoutPlan) -> float:
    """Return what the end of an exchange teaches of its client's limit; 0 when it teaches nothing.

    Only a cancel that says it is for the time counts: a person who pressed Esc has no limit. Nor
    does a call that was kept waiting by something that works, whose last leg is shorter than the
    limit, or whose end came later than it.
    """
    kept_waiting = exchange.attempts > 0 or timeouts.means == "progress"
    learnable = methods.of(exchange.method).limit_learned
    if not learnable or kept_waiting or re.search(_GAVE_UP, reason) is None:
        return 0.0
    return waited if waited >= 1 else 0.0


def outlasted(exchange: Exchange, waited: float, learned: float) -> bool:
    """Return True if an answer that came now shows that the client waits longer than was learned.

    What was learned was learned from a cancel: this client says so when it gives up, and it has
    not. A second is allowed for a cancel that is on its way.
    """
    return methods.of(exchange.method).limit_learned and 0 < learned < waited - 1


def timeout_plan(
    exchange: Exchange,
    client_name: str,
    own_limit: float = 0.0,
    learned: float = 0.0,
    means: frozenset[str] = ALL_MEANS,
) -> TimeoutPlan:
    """Return how long a client waits for an exchange.

    `own_limit` is the user's setting for a call and wins; of an unknown client it counts
    for every method. `learned` is how long this client waited for a tool call before
    (`gave_up_after`); it counts where nothing is known or where it is shorter than what is known.
    Both are seconds, 0 for none. `means` are those that may be used: who tests a client that hears
    nothing wants none.
    """
    known = known_clients.find(client_name)
    limit, source = _limit(exchange.method, known, own_limit)
    hold_at = _hold_at(exchange, known, own_limit, limit, learned) if HOLD in means else None
    is_call = methods.of(exchange.method).limit_learned
    if own_limit <= 0 and is_call and 0 < learned < (limit or math.inf):
        limit, source = learned, "learned"
    says = PROGRESS in means
    has_token = exchange.progress_token is not None
    if has_token and says and known is not None and known.progress_helps:
        # Each notification re-arms the limit, so there is none while they are sent.
        return TimeoutPlan(None, source, "progress", "")
    if hold_at is not None:
        return TimeoutPlan(limit, source, "hold", "", hold_at=hold_at, progress=says and has_token)
    if has_token and says and known is None:
        return TimeoutPlan(limit, source, "progress-maybe", "")
    why_not = "silenced" if has_token and not says else _why_not(exchange, has_token=has_token)
    return TimeoutPlan(limit, source, "", why_not, progress=says and has_token)


def _limit(
    method: str, known: known_clients.KnownClient | None, own_limit: float
) -> tuple[float | None, str]:
    """Return how long a client waits for a method, and where that is known from."""
    is_opening = methods.of(method).opening
    if own_limit > 0 and (known is None or not is_opening):
        return own_limit, "set"
    if known is None:
        return None, "unknown"
    limit = known.limit(method, as_configured=own_limit > 0)
    return limit, "no-limit" if limit is None else known.source


def _hold_at(
    exchange: Exchange,
    known: known_clients.KnownClient | None,
    own_limit: float,
    limit: float | None,
    learned: float,
) -> float | None:
    """Return when to ask the client to repeat a request, None for never.

    The hold is for clients whose limit is known: each repeats a call ten times at most, so a client
    without a limit would be made to give up by it. For the same reason what was learned brings a
    hold forward, where a later one would come too late, but never begins one. Some known clients
    count all repeats as one call: those are not asked.
    """
    repeats = (
        known.repeats if known is not None else known_clients.SDK_REPEATS if own_limit > 0 else 0
    )
    can_hold = (
        limit is not None
        and features(exchange.revision).input_required
        and methods.of(exchange.method).asks_back
        and exchange.attempts < repeats
    )
    if not can_hold or limit is None:
        return None
    if own_limit <= 0 and methods.of(exchange.method).limit_learned and 0 < learned < limit:
        limit = learned
    return limit - min(5.0, limit * 0.2)


def _why_not(exchange: Exchange, *, has_token: bool) -> str:
    if has_token:
        return "progress-changes-nothing"
    return "no-means" if features(exchange.revision).input_required else "no-token"
