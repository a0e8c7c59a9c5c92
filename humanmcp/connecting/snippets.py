"""What to paste into which host: its entry in the language of its file, or a command of its own.

`humanmcp config` prints it and the page shows it: one text, made here. Knows no file.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from humanmcp.common.toml_edit import table_text
from humanmcp.connecting.hosts import Format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.connecting.hosts import Host, HostCommand


def snippet(host: Host, name: str, entry: Mapping[str, Any]) -> str:
    """Return what to paste into the host's file, with a line feed at the end."""
    if host.format is Format.TOML:
        return table_text((*host.keys, name), entry)
    if host.format is Format.YAML:
        return yaml_entry(".".join(host.keys), name, entry)
    value: dict[str, Any] = {name: entry}
    for key in reversed(host.keys):
        value = {key: value}
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def shell_command(host: Host, name: str, command: HostCommand) -> str:
    """Return the host's own command that adds the entry; "" when it has none."""
    words = [command.command, *command.args]
    match host.name:
        case "claude-code":
            return shlex.join(["claude", "mcp", "add", "--scope", "user", name, "--", *words])
        case "codex":
            return shlex.join(["codex", "mcp", "add", name, "--", *words])
        case "vscode":
            plain = {"name": name, "command": words[0], "args": words[1:]}
            return shlex.join(["code", "--add-mcp", json.dumps(plain, ensure_ascii=False)])
        case _:
            return ""


def yaml_entry(parent: str, name: str, entry: Mapping[str, Any]) -> str:
    """Write an entry as YAML: JSON values, which YAML 1.2 reads as they are."""
    lines = [f"    {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return "\n".join((f"{parent}:", f"  {json.dumps(name)}:", *lines)) + "\n"
