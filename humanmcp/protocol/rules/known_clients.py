"""How long known clients wait, and what keeps each of them waiting: the one place for these facts.

Measured with the clients themselves unless `source` says otherwise; `make hosts` measures them
again. A client is recognised by the beginning of `clientInfo.name`. Clients built on the Python SDK
usually give its default name, `mcp`, and some of them give up after 5 s: so `mcp` counts as unknown
here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from humanmcp.protocol.spec import methods

UNKNOWN_GRACE: Final = 2.0
"""Seconds that an unknown client is let wait for its opening messages; several give up after 5."""

LONGEST_GRACE: Final = 60.0
"""The most seconds that an opening message may wait for a person."""

NEVER_REPEATS: Final = 0

SDK_REPEATS: Final = 10
"""Both official SDKs stop after ten repeats of one call."""

OPENING: Final = frozenset(
    one.name for one in methods.REQUESTS.values() if one.opening and not one.at_once
)
"""What a client asks before its user, or its model, can do anything, and a person may answer."""

PROBE: Final = "server/discover"
"""What today's clients ask first; one that gets no result falls back to `initialize`."""

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
"""Parts of the opening's budget: `initialize`, then the lists; the rest is for the start."""

_LAST_MOMENT_OF_ONE: Final = 0.8
"""The part of a limit that a message has for itself."""


class KnownClient(NamedTuple):
    """What is known of one client. Times are seconds, None where it sets no limit.

    `opening` is its budget for `initialize` and the lists together, `listing` how long it waits for
    a list where that has a limit of its own; `opening_set` and `listing_set` are the same where
    `humanmcp config` wrote its entry and that changes it. `call` is how long it waits for a
    `tools/call` unless it was told otherwise. `progress_helps` says that progress notifications
    extend that. `repeats` is how often it repeats a 2026-07-28 call that was answered with a
    `requestState` only. `is_host` says that a model is behind it, whose first turn starts without
    the tools of a server that is not ready, or not before. `setting` is what its user can set to
    wait longer, in the client's own terms.
    `seen` is the version that was measured, and when.
    """

    names: tuple[str, ...]
    label: str
    opening: float | None = None
    opening_set: float | None = None
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
        """Seconds that an opening message may wait for a person before the book answers it.

        A host's model wants its tools in the first turn. Anyone else gets a third of the budget:
        `initialize` and one list are waited for one after the other, and the last third is for the
        start of the process.
        """
        if self.is_host:
            return 0.0
        return LONGEST_GRACE if self.opening is None else min(LONGEST_GRACE, self.opening / 3)

    def limit(self, method: str, *, as_configured: bool = False) -> float | None:
        """Return how long it waits for the answer to a method, None where it sets no limit.

        `as_configured`: `humanmcp config` wrote its entry.
        """
        record = methods.of(method)
        if record.listing and self.listing is not None:
            return (self.listing_set if as_configured else None) or self.listing
        if record.opening:
            return (self.opening_set if as_configured else None) or self.opening
        return self.call


CLIENTS: Final = (
    KnownClient(
        ("claude-code",),
        "Claude Code",
        opening=30,
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
        opening=600,
        call=600,
        is_host=True,
        setting='"timeout" (milliseconds) in the server\'s entry',
        seen="0.61.0, November 2026",
    ),
    KnownClient(
        ("opencode",),
        "opencode",
        opening=30,
        opening_set=60,
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
        opening=65,
        opening_set=600,
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
        opening=30,
        call=600,
        is_host=True,
        setting='"timeout" (milliseconds) in the server\'s entry',
        seen="0.24.4, November 2026",
    ),
    KnownClient(
        ("mcp-test-client",),
        "gemini mcp list, qwen mcp list",
        opening=5,
        seen="Gemini CLI 0.61.0 (5 s) and Qwen Code 0.24.4 (10 s), November 2026",
    ),
    KnownClient(
        ("inspector", "mcp-inspector", "modelcontextprotocol-inspector"),
        "MCP Inspector",
        opening=15,
        listing=60,
        call=60,
        repeats=SDK_REPEATS,
        setting="--connect-timeout (0 for the SDK's 60 s); the limit of a call is fixed",
        seen="2.12.0, November 2026",
    ),
    KnownClient(
        ("mcporter",),
        "mcporter",
        opening=30,
        call=60,
        setting="MCPORTER_CALL_TIMEOUT",
        seen="0.12.3, November 2026",
    ),
    KnownClient(
        ("claude-ai", "claude-desktop"),
        "Claude Desktop",
        opening=15,
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
    KnownClient(("cursor",), "Cursor", opening=30, call=60, is_host=True, source="reported"),
    KnownClient(("cline",), "Cline", opening=1.5, call=5, is_host=True, source="reported"),
    KnownClient(("roo",), "Roo Code", opening=30, call=60, is_host=True, source="reported"),
    KnownClient(
        ("humanmcp-host",),
        "humanmcp host",
        opening=90,  # 60 s for each answer
        call=60,
        repeats=SDK_REPEATS,
        setting="--patience",
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
    """Seconds that an opening message of this client may wait for a person."""
    known = find(name)
    return UNKNOWN_GRACE if known is None else known.grace


def last_moment(name: str, method: str) -> float | None:
    """Seconds after which an opening message must be answered, or this client gives up.

    None for a client that is not known, or that sets no limit: it may wait for a person for ever.
    """
    known = find(name)
    if known is None:
        return None
    if methods.of(method).listing and known.listing is not None:
        return known.listing * _LAST_MOMENT_OF_ONE
    if known.opening is None:
        return None
    return known.opening * (_LAST_MOMENT_OF_LISTS if methods.of(method).listing else _LAST_MOMENT)
