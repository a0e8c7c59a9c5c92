"""What known hosts refuse although MCP allows it, with a public report for each."""

from __future__ import annotations

from typing import Final, NamedTuple


class HostLimit(NamedTuple):
    """A limit: the hosts that have it, and the addresses of the reports, on GitHub."""

    hosts: str
    sources: tuple[str, ...]


NAME_CHARACTERS: Final = HostLimit(
    "Copilot CLI, Codex, Claude Desktop",
    ("github/copilot-cli/issues/2581", "openai/codex/issues/8174", "l22-io/orchard-mcp/issues/14"),
)
NAME_LENGTH: Final = HostLimit(
    "VS Code, Claude Desktop",
    ("microsoft/vscode/issues/243602", "barryw/ImmichMCP/issues/4"),
)
LONGEST_NAME: Final = 64
COMBINED_AT_TOP: Final = HostLimit(
    "Claude Code and other hosts of the Claude API",
    ("anthropics/claude-code/issues/5973", "makenotion/notion-mcp-server/issues/341"),
)
ARRAY_WITHOUT_ITEMS: Final = HostLimit(
    "VS Code, Codex", ("agentscope-ai/ReMe/issues/84", "ruvnet/ruflo/issues/1294")
)
LIST_OF_TYPES: Final = HostLimit(
    "Copilot CLI and opencode with a Gemini model",
    ("github/copilot-cli/issues/4623", "anomalyco/opencode/issues/48073"),
)
LARGE_INTEGER: Final = HostLimit(
    "Claude Code, Cline", ("anthropics/claude-code/issues/78762", "cline/cline/issues/9589")
)
LARGEST_INTEGER: Final = 2**53
MANY_TOOLS: Final = HostLimit(
    "VS Code, opencode with a Copilot model",
    ("microsoft/vscode-copilot-release/issues/11653", "anomalyco/opencode/issues/4909"),
)
MOST_TOOLS: Final = 128
