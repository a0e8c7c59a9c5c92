"""How long a client waits for one exchange, and what keeps it waiting while a person is at it.

Pure: the time waited comes in, what is due comes out.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.spec import methods
from humanmcp.protocol.spec.versions import features

if TYPE_CHECKING:
    from humanmcp.protocol.conversation.exchange import Exchange

UNKNOWN_GRACE: Final = 2.0
"""Seconds that an unknown client may wait in the handshake; several give up after 5."""

LONGEST_GRACE: Final = 60.0
"""The most seconds that a handshake message may wait for a person."""

NEVER_REPEATS: Final = 0

SDK_REPEATS: Final = 10
"""Both official SDKs stop after ten repeats of one call."""

HANDSHAKE: Final = frozenset(
    one.name for one in methods.REQUESTS.values() if one.in_handshake and not one.at_once
)
"""What a client asks before its user, or its model, can do anything, and a person may answer."""

PROBE_GRACE: Final = 5.0
"""Seconds that a probe waits for a person who opens the session.

Measured: clients give up on it after 1 to 10 s, and fall back by themselves.
"""

SHARED_NAMES: Final = frozenset(
    {"", "mcp", "mcp-client", "rmcp", "example-client", "test-client", "mcp-test-client"}
)
"""Names that programs have in common: the defaults of SDKs. They say nothing of one program."""

_LAST_MOMENT: Final = 0.6
_LAST_MOMENT_OF_LISTS: Final = 0.25
"""Parts of the handshake's budget: `initialize`, then the lists; the rest is for the start."""

_LAST_MOMENT_OF_ONE: Final = 0.8
"""The part of a limit that a message has for itself."""


class KnownClient(NamedTuple):
    """What is known of one client. Times are seconds, None where it sets no limit.

    `handshake` is its budget for `initialize` and the lists together, `listing` how long it waits
    for a list where that has a separate limit; `handshake_set` and `listing_set` are the same
    where `humanmcp config` wrote its entry and that changes it. `call` is how long it waits for a
    `tools/call` unless it was told otherwise. `progress_helps` says that progress notifications
    extend that. `repeats` is how often it repeats a 2026-07-28 call that was answered with a
    `requestState` only. `is_host` says that a model is behind it, whose first turn starts without
    the tools of a server that is not ready, or not before. `setting` is what its user can set to
    wait longer, in the client's own terms.
    `seen` is the version that was measured, and when.
    """

    names: tuple[str, ...]
    label: str
    handshake: float | None = None
    handshake_set: float | None = None
    listing: float | None = None
    listing_set: float | None = None
    call: float | None = None
    progress_helps: bool = False
    repeats: int = NEVER_REPEATS
    is_host: bool = False
    setting: str = ""
    source: str = "measured"
    seen: str = ""

    @property
    def grace(self) -> float:
        """Seconds that a handshake message may wait for a person before the book answers it.

        A host's model wants its tools in the first turn. Anyone else gets a third of the budget:
        `initialize` and one list are waited for one after the other, and the last third is for the
        start of the process.
        """
        if self.is_host:
            return 0.0
        return LONGEST_GRACE if self.handshake is None else min(LONGEST_GRACE, self.handshake / 3)

    def limit(self, method: str, *, as_configured: bool = False) -> float | None:
        """Return how long it waits for the answer to a method, None where it sets no limit.

        `as_configured`: `humanmcp config` wrote its entry.
        """
        record = methods.of(method)
        if record.listing and self.listing is not None:
            return (self.listing_set if as_configured else None) or self.listing
        if record.in_handshake:
            return (self.handshake_set if as_configured else None) or self.handshake
        return self.call


CLIENTS: Final = (
    KnownClient(
        ("claude-code",),
        "Claude Code",
        handshake=30,
        is_host=True,
        setting='MCP_TIMEOUT, MCP_TOOL_TIMEOUT (milliseconds), or "timeout" in the server\'s entry',
        seen="2.1.329 and 2.1.330, November 2026",
    ),
    KnownClient(
        ("codex-mcp-client", "codex"),
        "Codex",
        # With required = true it waits for initialize for over 400 s, and for a list this long.
        listing=30,
        listing_set=120,
        call=300,
        is_host=True,
        setting="startup_timeout_sec, tool_timeout_sec, required = true in config.toml",
        seen="0.169.0, November 2026",
    ),
    KnownClient(
        ("gemini-cli",),
        "Gemini CLI",
        handshake=600,
        call=600,
        is_host=True,
        setting='"timeout" (milliseconds) in the server\'s entry',
        seen="0.61.0, November 2026",
    ),
    KnownClient(
        ("opencode",),
        "opencode",
        handshake=30,
        handshake_set=60,
        listing=30,
        listing_set=600,
        call=60,
        progress_helps=True,
        is_host=True,
        setting='"timeout" (milliseconds) in the server\'s entry',
        seen="1.18.33, November 2026",
    ),
    KnownClient(
        ("github-copilot", "copilot"),
        "Copilot CLI",
        handshake=65,
        handshake_set=600,
        listing=60,
        listing_set=600,
        call=180,
        progress_helps=True,
        repeats=9,
        is_host=True,
        setting='"timeout" (milliseconds) in the server\'s entry',
        seen="1.0.102, November 2026",
    ),
    KnownClient(
        ("qwen-code", "qwen-cli"),
        "Qwen Code",
        handshake=30,
        call=600,
        is_host=True,
        setting='"timeout" (milliseconds) in the server\'s entry',
        seen="0.24.4, November 2026",
    ),
    KnownClient(
        ("mcp-test-client",),
        "gemini mcp list, qwen mcp list",
        handshake=5,
        seen="Gemini CLI 0.61.0 (5 s) and Qwen Code 0.24.4 (10 s), November 2026",
    ),
    KnownClient(
        ("inspector", "mcp-inspector", "modelcontextprotocol-inspector"),
        "MCP Inspector",
        handshake=15,
        listing=60,
        call=60,
        repeats=SDK_REPEATS,
        setting="--connect-timeout (0 for the SDK's 60 s); the limit of a call is fixed",
        seen="2.12.0, November 2026",
    ),
    KnownClient(
        ("mcporter",),
        "mcporter",
        handshake=30,
        call=60,
        setting="MCPORTER_CALL_TIMEOUT",
        seen="0.12.3, November 2026",
    ),
    KnownClient(
        ("claude-ai", "claude-desktop"),
        "Claude Desktop",
        handshake=15,
        call=240,
        is_host=True,
        source="reported",
    ),
    KnownClient(
        ("visual studio code", "visual-studio-code", "vscode"),
        "VS Code",
        is_host=True,
        source="reported",
    ),
    KnownClient(("cursor",), "Cursor", handshake=30, call=60, is_host=True, source="reported"),
    KnownClient(("cline",), "Cline", handshake=1.5, call=5, is_host=True, source="reported"),
    KnownClient(("roo",), "Roo Code", handshake=30, call=60, is_host=True, source="reported"),
    KnownClient(
        ("humanmcp-host",),
        "humanmcp host",
        handshake=90,  # 60 s for each answer
        call=60,
        repeats=SDK_REPEATS,
        setting="--timeout",
    ),
    KnownClient(("humanmcp-play",), "humanmcp play"),
    KnownClient(
        ("ai-sdk",),
        "AI SDK",
        repeats=SDK_REPEATS,
        seen="2.0.99, November 2026",
    ),
)
"""Every client that is known by name."""


def find(name: str) -> KnownClient | None:
    """Return what is known of the client with this `clientInfo.name`, None when nothing is."""
    lowered = name.lower()
    return next((known for known in CLIENTS if lowered.startswith(known.names)), None)


def is_shared(name: str) -> bool:
    """Return True if many programs give this name, so that nothing can be learned by it."""
    return name.lower() in SHARED_NAMES


def grace(name: str) -> float:
    """Seconds that a handshake message of this client may wait for a person."""
    known = find(name)
    return UNKNOWN_GRACE if known is None else known.grace


def last_moment(name: str, method: str) -> float | None:
    """Seconds after which a handshake message must be answered, or this client gives up.

    None for a client that is not known, or that sets no limit: it may wait for a person for ever.
    """
    known = find(name)
    if known is None:
        return None
    if methods.of(method).listing and known.listing is not None:
        return known.listing * _LAST_MOMENT_OF_ONE
    if known.handshake is None:
        return None
    return known.handshake * (_LAST_MOMENT_OF_LISTS if methods.of(method).listing else _LAST_MOMENT)


STATUS_WITHIN: Final = 10.0
"""Seconds for which the status of an answer over HTTP is open: then a stream begins."""

PROGRESS_EVERY: Final = 5.0
"""Seconds between progress notifications; measured hosts re-arm their limit on each."""

REPEAT_WITHIN: Final = 30.0
"""Seconds within which a client that was asked to repeat a request must have done so.

Measured clients take 0.3 s at most; a suspended laptop takes longer.
"""

PROGRESS: Final = "progress"
RETRY: Final = "retry"
ALL_KEEPALIVES: Final = frozenset({PROGRESS, RETRY})
"""What keeps a client waiting: progress notifications, and being asked to repeat its request."""

_GAVE_UP: Final = r"(?i)time[sd]?[ -]?out|deadline"


class TimeoutPlan(NamedTuple):
    """How long the client waits for an exchange, and by which keepalive.

    `limit` is in seconds from the (last) arrival of the request, None when it is unknown or there
    is none; `source` is a code of `locales/` (`waiting`) for where that is known. `keepalive` is
    "progress", "progress-maybe" (it is sent, and whether it helps is unknown), "retry" or "",
    and then `why_not` is the code of the reason. `retry_at` is when to ask the client to repeat, in
    seconds from the last arrival. `progress` says whether any is sent.
    """

    limit: float | None
    source: str
    keepalive: str
    why_not: str
    retry_at: float | None = None
    progress: bool = True


def gave_up_after(exchange: Exchange, reason: str, waited: float, timeouts: TimeoutPlan) -> float:
    """Return what the end of an exchange teaches of its client's limit; 0 when it teaches nothing.

    Only a cancel that says it is for the time counts: a person who pressed Esc has no limit. Nor
    does a call that was kept waiting by something that works, whose last leg is shorter than the
    limit, or whose end came later than it.
    """
    kept_waiting = exchange.attempts > 0 or timeouts.keepalive == "progress"
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
    keepalives: frozenset[str] = ALL_KEEPALIVES,
) -> TimeoutPlan:
    """Return how long a client waits for an exchange.

    `own_limit` is the user's setting for a call and wins; of an unknown client it counts
    for every method. `learned` is how long this client waited for a tool call before
    (`gave_up_after`); it counts where nothing is known or where it is shorter than what is known.
    Both are seconds, 0 for none. `keepalives` are those that may be used: none to test a client
    that hears nothing.
    """
    known = find(client_name)
    limit, source = _limit(exchange.method, known, own_limit)
    retry_at = (
        _retry_at(exchange, known, own_limit, limit, learned) if RETRY in keepalives else None
    )
    is_call = methods.of(exchange.method).limit_learned
    if own_limit <= 0 and is_call and 0 < learned < (limit or math.inf):
        limit, source = learned, "learned"
    says = PROGRESS in keepalives
    has_token = exchange.progress_token is not None
    if has_token and says and known is not None and known.progress_helps:
        # Each notification re-arms the limit, so there is none while they are sent.
        return TimeoutPlan(None, source, "progress", "")
    if retry_at is not None:
        return TimeoutPlan(limit, source, RETRY, "", retry_at=retry_at, progress=says and has_token)
    if has_token and says and known is None:
        return TimeoutPlan(limit, source, "progress-maybe", "")
    why_not = "silenced" if has_token and not says else _why_not(exchange, has_token=has_token)
    return TimeoutPlan(limit, source, "", why_not, progress=says and has_token)


def _limit(method: str, known: KnownClient | None, own_limit: float) -> tuple[float | None, str]:
    """Return how long a client waits for a method, and where that is known from."""
    is_handshake = methods.of(method).in_handshake
    if own_limit > 0 and (known is None or not is_handshake):
        return own_limit, "set"
    if known is None:
        return None, "unknown"
    limit = known.limit(method, as_configured=own_limit > 0)
    return limit, "no-limit" if limit is None else known.source


def shortly_before(limit: float) -> float:
    """Return when to act so that a client hears of it before its limit, in seconds."""
    return limit - min(5.0, limit * 0.2)


def _retry_at(
    exchange: Exchange,
    known: KnownClient | None,
    own_limit: float,
    limit: float | None,
    learned: float,
) -> float | None:
    """Return when to ask the client to repeat a request, None for never.

    Only a client with a known limit is asked: it repeats a call ten times at most, so a client
    without a limit would give up because of it. A learned limit only makes a repeat earlier.
    Clients that count all repeats as one call are not asked.
    """
    repeats = known.repeats if known is not None else SDK_REPEATS if own_limit > 0 else 0
    can_ask = (
        limit is not None
        and features(exchange.version).input_required
        and methods.of(exchange.method).asks_back
        and exchange.attempts < repeats
    )
    if not can_ask or limit is None:
        return None
    if own_limit <= 0 and methods.of(exchange.method).limit_learned and 0 < learned < limit:
        limit = learned
    return shortly_before(limit)


def _why_not(exchange: Exchange, *, has_token: bool) -> str:
    if has_token:
        return "progress-changes-nothing"
    return "no-keepalive" if features(exchange.version).input_required else "no-token"
