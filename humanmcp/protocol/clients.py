"""How long known clients wait, and what keeps each of them waiting.

Measured with the clients themselves in November 2026 unless `source` says otherwise. A client is
recognised by the beginning of `clientInfo.name`. Clients built on the Python SDK usually give its
default name, `mcp`, and some of them give up after 5 s: so `mcp` counts as unknown here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

UNKNOWN_GRACE: Final = 2.0
"""Seconds that an unknown client is let wait for its opening messages; several give up after 5."""

LONGEST_GRACE: Final = 60.0
"""Seconds that nobody is let wait longer for an opening message."""

NEVER_REPEATS: Final = 0

SDK_REPEATS: Final = 10
"""Both official SDKs stop after ten repeats of one call."""


class Client(NamedTuple):
    """What is known of one client. Times are seconds, None where it sets no limit.

    `opening` is its budget for `initialize` and the lists together; `call` how long it waits for a
    `tools/call`. `progress_helps` says that progress notifications extend that. `repeats` is how
    often it repeats a 2026-07-28 call that was answered with a `requestState` only. `setting` is
    what its user can set to wait longer, in the client's own terms.
    """

    names: tuple[str, ...]
    label: str
    opening: float | None = None
    call: float | None = None
    progress_helps: bool = False
    repeats: int = NEVER_REPEATS
    setting: str = ""
    source: str = "measured"

    @property
    def grace(self) -> float:
        """Seconds that an opening message may wait for a person before the book answers it.

        A third of the budget: `initialize` and one list are waited for one after the other, and
        the last third is for the start of the process.
        """
        return LONGEST_GRACE if self.opening is None else min(LONGEST_GRACE, self.opening / 3)


CLIENTS: Final = (
    Client(
        ("claude-code",),
        "Claude Code",
        opening=30,
        setting='MCP_TIMEOUT, MCP_TOOL_TIMEOUT (milliseconds), or "timeout" in the server\'s entry',
    ),
    Client(
        ("codex-mcp-client", "codex"),
        "Codex",
        opening=30,
        call=300,
        setting="startup_timeout_sec, tool_timeout_sec, required = true in config.toml",
    ),
    Client(
        ("gemini-cli",),
        "Gemini CLI",
        opening=5,
        call=600,
        setting='"timeout" (milliseconds) in the server\'s entry',
    ),
    Client(
        ("opencode",),
        "opencode",
        opening=30,
        call=60,
        progress_helps=True,
        setting='"timeout" (milliseconds) in the server\'s entry',
    ),
    Client(
        ("github-copilot", "copilot"),
        "Copilot CLI",
        opening=65,
        call=180,
        progress_helps=True,
        repeats=9,
        setting='"timeout" (milliseconds) in the server\'s entry',
    ),
    Client(
        ("qwen-code", "qwen-cli"),
        "Qwen Code",
        opening=10,
        setting='"timeout" (milliseconds) in the server\'s entry',
    ),
    Client(
        ("inspector", "mcp-inspector", "modelcontextprotocol-inspector"),
        "MCP Inspector",
        opening=15,
        call=60,
        repeats=SDK_REPEATS,
        setting="--connect-timeout (0 for the SDK's 60 s); the limit of a call is fixed",
    ),
    Client(
        ("mcporter",),
        "mcporter",
        opening=30,
        call=60,
        setting="MCPORTER_CALL_TIMEOUT",
    ),
    Client(
        ("claude-ai", "claude-desktop"),
        "Claude Desktop",
        opening=15,
        call=240,
        source="reported",
    ),
    Client(
        ("visual studio code", "visual-studio-code", "vscode"),
        "VS Code",
        source="reported",
    ),
    Client(("cursor",), "Cursor", opening=30, call=60, source="reported"),
    Client(("cline",), "Cline", opening=1.5, call=5, source="reported"),
    Client(("roo",), "Roo Code", opening=30, call=60, source="reported"),
    Client(
        ("humanmcp-host",),
        "humanmcp host",
        opening=90,  # 60 s for each answer
        call=60,
        repeats=SDK_REPEATS,
        setting="--patience",
    ),
    Client(("humanmcp-play",), "humanmcp play"),
    Client(
        ("ai-sdk",),
        "AI SDK",
        repeats=SDK_REPEATS,
    ),
)
"""Every client that is known by name."""


def find(name: str) -> Client | None:
    """Return what is known of the client with this `clientInfo.name`, None when nothing is."""
    lowered = name.lower()
    return next((known for known in CLIENTS if lowered.startswith(known.names)), None)


def grace(name: str) -> float:
    """Seconds that an opening message of this client may wait for a person."""
    known = find(name)
    return UNKNOWN_GRACE if known is None else known.grace
