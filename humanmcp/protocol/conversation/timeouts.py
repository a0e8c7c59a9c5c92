"""How long a client waits for a response, and which keepalive extends it.

It has no clock: the time waited is an argument.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.versions import features

if TYPE_CHECKING:
    from humanmcp.protocol.conversation.exchange import Exchange

UNKNOWN_GRACE: Final = 2.0
"""The seconds that an unknown client's handshake may wait; several give up after 5."""

LONGEST_GRACE: Final = 60.0
"""The maximum number of seconds that a handshake message may wait for a person."""

SDK_REPEATS: Final = 10
"""Both official SDKs stop after ten retries of one call."""

HANDSHAKE: Final = frozenset(
    one.name for one in methods.REQUESTS.values() if one.in_handshake and not one.at_once
)
"""The requests of a client before its user or model can do anything, which a person may answer."""

PROBE_GRACE: Final = 5.0
"""The seconds that a probe waits if a person answers the handshake.

Measured: clients give up on a probe after 1 to 10 s, and then send `initialize`.
"""

SHARED_NAMES: Final = frozenset(
    {"", "mcp", "mcp-client", "rmcp", "example-client", "test-client", "mcp-test-client"}
)
"""Names that many programs have, such as SDK defaults. They identify no program."""

_LAST_MOMENT: Final = 0.6
_LAST_MOMENT_OF_LISTS: Final = 0.25
"""The parts of the handshake's budget for `initialize` and for the lists; the rest is for the
start.
"""

_LAST_MOMENT_OF_ONE: Final = 0.8
"""The part of a limit that one message may use."""


class KnownClient(NamedTuple):
    """The measured limits of one client. Times are seconds, None for no limit.

    `handshake` is its budget for `initialize` and the lists together, `listing` its separate limit
    for a list, if it has one; `handshake_set` and `listing_set` are the same if `humanmcp config`
    wrote its entry and that changes them. `call` is its default limit for `tools/call`.
    `progress_helps`: progress notifications extend that limit. `repeats` is how often it retries a
    2026-07-28 call after a result with only a `requestState`. `is_host`: it has a model, whose
    first turn may start without the tools of a slow server. `setting` is the client's setting for a
    longer limit, in its own terms. `seen` is the measured version, and the date.
    """

    names: tuple[str, ...]
    label: str
    handshake: float | None = None
    handshake_set: float | None = None
    listing: float | None = None
    listing_set: float | None = None
    call: float | None = None
    progress_helps: bool = False
    repeats: int = 0
    is_host: bool = False
    setting: str = ""
    source: str = "measured"
    seen: str = ""

    @property
    def grace(self) -> float:
        """The seconds that a handshake message may wait for a person before the book answers.

        A host's model needs its tools in the first turn. Other clients get a third of the budget:
        `initialize` and one list come one after the other, and the process needs time to start.
        """
        if self.is_host:
            return 0.0
        return LONGEST_GRACE if self.handshake is None else min(LONGEST_GRACE, self.handshake / 3)

    def limit(self, method: str, *, as_configured: bool = False) -> float | None:
        """Return the seconds that it waits for a response, None for no limit.

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
        # With required = true it waits for initialize for over 400 s, and as long for a list.
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
        handshake=90,  # 60 s for each response
        call=60,
        repeats=SDK_REPEATS,
        setting="--timeout",
    ),
    KnownClient(("humanmcp-play",), "humanmcp play"),
    KnownClient(("ai-sdk",), "AI SDK", repeats=SDK_REPEATS, seen="2.0.99, November 2026"),
)
"""All clients that are known by name."""


def find_client(name: str) -> KnownClient | None:
    """Return the client with this `clientInfo.name`, None if it is unknown."""
    lowered = name.lower()
    return next((known for known in CLIENTS if lowered.startswith(known.names)), None)


def is_shared(name: str) -> bool:
    """Return True if many programs have this name, so that measurements say nothing."""
    return name.lower() in SHARED_NAMES


def grace(name: str) -> float:
    """Return the seconds that this client's handshake messages may wait for a person."""
    known = find_client(name)
    return UNKNOWN_GRACE if known is None else known.grace


def last_moment(name: str, method: str) -> float | None:
    """Return the seconds after which a handshake message must be answered at the latest.

    None for an unknown client, or one without a limit: it may wait for a person.
    """
    known = find_client(name)
    if known is None:
        return None
    if methods.of(method).listing and known.listing is not None:
        return known.listing * _LAST_MOMENT_OF_ONE
    if known.handshake is None:
        return None
    return known.handshake * (_LAST_MOMENT_OF_LISTS if methods.of(method).listing else _LAST_MOMENT)


STATUS_WITHIN: Final = 10.0
"""The seconds until a stream begins over HTTP; before, the status of the response is open."""

PROGRESS_EVERY: Final = 5.0
"""The seconds between progress notifications; measured hosts restart their limit at each."""

REPEAT_WITHIN: Final = 30.0
"""The seconds within which a client must retry after it was asked to.

Measured clients need 0.3 s at most; a suspended laptop needs longer.
"""

REISSUE_WITHIN: Final = 300.0
"""The seconds within which the request of a server that was killed must come again (2026-07-28).

"A broken response stream loses the in-flight request; clients MUST re-issue it as a new request
with a new request ID": nothing in it says that it is the same, so a later one is another call.
"""

PROGRESS: Final = "progress"
RETRY: Final = "retry"
ALL_KEEPALIVES: Final = frozenset({PROGRESS, RETRY})
"""All keepalives: progress notifications, and requests to retry."""

_GAVE_UP: Final = r"(?i)time[sd]?[ -]?out|deadline"


class TimeoutPlan(NamedTuple):
    """How long the client waits for a response, and which keepalive extends it.

    `limit` is in seconds from the (last) arrival of the request, None if it is unknown or there is
    none; `source` is a code of `locales/` (`waiting`) for its origin. `keepalive` is "progress",
    "progress-maybe" (it is sent, but its effect is unknown), "retry" or "". For "", `why_not` is
    the code of the reason. `retry_at` is when to ask for a retry, in seconds from the last arrival.
    `progress`: progress notifications are sent.
    """

    limit: float | None
    source: str
    keepalive: str
    why_not: str
    retry_at: float | None = None
    progress: bool = True


def gave_up_after(exchange: Exchange, reason: str, waited: float, timeouts: TimeoutPlan) -> float:
    """Return the limit of a client in seconds that the end of an exchange shows; 0 if none.

    Only a cancellation because of a timeout counts, not one by the user. It also does not count if
    a working keepalive was sent, if the last attempt was shorter than the limit, or if the end came
    after the limit.
    """
    kept_waiting = exchange.attempts > 0 or timeouts.keepalive == "progress"
    learnable = methods.of(exchange.method).limit_learned
    if not learnable or kept_waiting or re.search(_GAVE_UP, reason) is None:
        return 0.0
    return waited if waited >= 1 else 0.0


def outlasted(exchange: Exchange, waited: float, learned: float) -> bool:
    """Return True if an answer now shows that the client waits longer than the learned limit.

    The limit was learned from a cancellation, and this client has not cancelled. One second is
    added for a cancellation on its way.
    """
    return methods.of(exchange.method).limit_learned and 0 < learned < waited - 1


def timeout_plan(
    exchange: Exchange,
    client_name: str,
    own_limit: float = 0.0,
    learned: float = 0.0,
    keepalives: frozenset[str] = ALL_KEEPALIVES,
) -> TimeoutPlan:
    """Return how long a client waits for a response.

    `own_limit` is the user's setting for a call and has priority; for an unknown client it applies
    to every method. `learned` is the limit of an earlier tool call of this client
    (`gave_up_after`); it applies if no limit is known or if it is shorter. Both are seconds, 0 for
    none. `keepalives` are the allowed ones; () tests a client without any.
    """
    known = find_client(client_name)
    limit, source = _limit(exchange.method, known, own_limit)
    may_ask = limit is not None and RETRY in keepalives and _may_ask(exchange, known)
    is_call = methods.of(exchange.method).limit_learned
    if own_limit <= 0 and is_call and 0 < learned < (limit or math.inf):
        limit, source = learned, "learned"
    retry_at = shortly_before(limit) if may_ask and limit is not None else None
    says = PROGRESS in keepalives
    has_token = exchange.progress_token is not None
    if has_token and says and known is not None and known.progress_helps:
        # Each notification restarts the limit, so there is none while they are sent.
        return TimeoutPlan(None, source, "progress", "")
    if retry_at is not None:
        return TimeoutPlan(limit, source, RETRY, "", retry_at=retry_at, progress=says and has_token)
    if has_token and says and known is None:
        return TimeoutPlan(limit, source, "progress-maybe", "")
    why_not = "silenced" if has_token and not says else _why_not(exchange, has_token=has_token)
    return TimeoutPlan(limit, source, "", why_not, progress=says and has_token)


def _limit(method: str, known: KnownClient | None, own_limit: float) -> tuple[float | None, str]:
    """Return the seconds that a client waits for a method, and the origin of that knowledge."""
    is_handshake = methods.of(method).in_handshake
    if own_limit > 0 and (known is None or not is_handshake):
        return own_limit, "set"
    if known is None:
        return None, "unknown"
    limit = known.limit(method, as_configured=own_limit > 0)
    return limit, "no-limit" if limit is None else known.source


def shortly_before(limit: float) -> float:
    """Return the seconds after which to act, so that a client gets the message before its limit."""
    return limit - min(5.0, limit * 0.2)


def _may_ask(exchange: Exchange, known: KnownClient | None) -> bool:
    """Return True if a client with a known limit may be asked to retry.

    It retries a call ten times at most, so one without a limit would give up sooner. A learned
    limit only makes the retry earlier. Clients that count all retries as one call are not asked.
    """
    repeats = SDK_REPEATS if known is None else known.repeats
    is_left = exchange.attempts < repeats and features(exchange.version).input_required
    return is_left and methods.of(exchange.method).asks_back


def _why_not(exchange: Exchange, *, has_token: bool) -> str:
    if has_token:
        return "progress-changes-nothing"
    return "no-keepalive" if features(exchange.version).input_required else "no-token"
