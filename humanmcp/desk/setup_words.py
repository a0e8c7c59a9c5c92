"""What to paste into which host, for the first page that a newcomer sees.

The commands name the `humanmcp` of this installation by its whole path: hosts with windows start
servers without the PATH of a shell.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Snippet:
    """What to paste for one host, and where it goes (a file, or "" for a terminal)."""

    host: str
    where: str
    text: str


def command() -> str:
    """Return the whole path of the `humanmcp` command."""
    beside = Path(sys.executable).with_name("humanmcp")
    return str(beside) if beside.is_file() else shutil.which("humanmcp") or "humanmcp"


def snippets() -> tuple[Snippet, ...]:
    """List the hosts with what each is given."""
    words = {"command": command(), "args": ["serve"]}
    servers = json.dumps({"mcpServers": {"humanmcp": words}}, indent=2)
    vscode = json.dumps({"servers": {"humanmcp": {"type": "stdio", **words}}}, indent=2)
    return (
        Snippet("Claude Code", "", f"claude mcp add humanmcp -- {command()} serve"),
        Snippet("Claude Desktop", "claude_desktop_config.json", servers),
        Snippet("VS Code", ".vscode/mcp.json", vscode),
        Snippet("Cursor", "~/.cursor/mcp.json", servers),
    )
