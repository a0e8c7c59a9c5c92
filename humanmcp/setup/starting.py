"""The command that a host is to start, and what to paste for it.

The command is absolute, with its settings as arguments: hosts start servers in any folder, without
the shell's PATH and with an environment of six variables. `humanmcp config` prints the entry and
the page shows it: one text, made here. Knows no file of a host.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from humanmcp.common.settings import PREFIX, Settings
from humanmcp.common.toml_edit import table_text
from humanmcp.setup import hosts
from humanmcp.setup.hosts import Format, HostCommand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from humanmcp.setup.hosts import Host

PASSED_ON: Final = ("home", "files", "book", "title", "versions", "client_limit", "notify", "lang")
"""The settings that a server understands."""

_PATHS: Final = ("home", "files", "book")


def passed_on(
    settings: Settings,
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    language: str,
) -> dict[str, Any]:
    """Return the settings that an entry must carry: those that were given here and now.

    What stands in the settings file is not among them: the server reads that by itself.
    """
    given = {
        name: getattr(settings, name)
        for name in PASSED_ON
        if flags.get(name) is not None or environment.get(PREFIX + name.upper())
    }
    if language != "en":
        given["lang"] = language  # hosts strip LANG
    return given


def command_for(given: Mapping[str, Any], manner: Sequence[str] = ()) -> HostCommand:
    """Return the absolute command that starts `serve` with these settings as arguments."""
    words = ["serve"]
    for name, value in given.items():
        written = str(Path(value).expanduser().absolute()) if name in _PATHS else str(value)
        words += ["--" + name.replace("_", "-"), written]
    first, *rest = starter()
    return HostCommand(first, (*rest, *words, *manner))


def manner_for(chosen: str | None, *, files: bool) -> tuple[str, ...]:
    """Return the words of an entry that say who answers what.

    `chosen` is "by-hand", "auto", "book", "hand" or None. A real host's model wants its tools in
    its first turn, and most hosts do not wait for a person: so the book opens the session, unless
    a person answers in text files.
    """
    if chosen in ("by-hand", "auto"):
        return (f"--{chosen}",)
    if chosen is None and files:
        return ()
    return ("--handshake", chosen or "book")


def with_limit(given: Mapping[str, Any], wait: int) -> dict[str, Any]:
    """Return the settings of an entry that tells its host to wait this long: the server knows it.

    `wait` is in seconds, 0 where the entry says nothing; what a person said of it stays.
    """
    return {**({"client_limit": wait} if wait else {}), **given}


def starter() -> list[str]:
    """Return the words that start humanmcp from anywhere, without a PATH."""
    python = Path(sys.executable)
    uvx = shutil.which("uvx")
    if uvx and "uv" in python.parts and any(part.startswith("archive-") for part in python.parts):
        return [str(Path(uvx).absolute()), "humanmcp"]  # uv's cache: gone when it is cleaned
    script = python.parent / ("humanmcp.exe" if os.name == "nt" else "humanmcp")
    if script.is_file() and os.access(script, os.X_OK):
        return [str(script)]
    return [str(python), "-m", "humanmcp"]


@dataclass(frozen=True, slots=True)
class HostEntry:
    """What one host is given: an entry for its file, and the ways around that.

    `path` is relative when the file lies in a project. `command` is for the host's own command and
    for links, which cannot say how long a call may take.
    """

    host: Host
    name: str
    path: Path
    command: HostCommand
    entry: dict[str, Any]
    url: str = ""
    """Where the server is; "" for one that the host starts."""

    @classmethod
    def of(  # noqa: PLR0913 - the last three have defaults
        cls,
        host: Host,
        path: Path,
        given: Mapping[str, Any],
        words: Sequence[str],
        *,
        name: str = hosts.DEFAULT_NAME,
        wait: int | None = None,
        url: str = "",
        **more: Any,  # noqa: ANN401 - what a subclass holds besides
    ) -> Self:
        """Make it of a server's settings and the words that say who answers what, or of its URL.

        `wait` is what a person said of it.
        """
        seconds = hosts.wait_to_write(host, wait)
        if url:
            entry = hosts.remote_entry(host, url, seconds)
            return cls(host, name, path, command_for(given, words), entry, url, **more)
        waiting = command_for(with_limit(given, seconds), words)
        entry = hosts.entry(host, waiting, seconds)
        return cls(host, name, path, command_for(given, words), entry, **more)

    @property
    def snippet(self) -> str:
        """What to paste."""
        return snippet(self.host, self.name, self.entry)

    @property
    def shell(self) -> str:
        """The host's own command that adds the entry; "" when it has none."""
        return "" if self.url else shell_command(self.host, self.name, self.command)

    @property
    def link(self) -> str:
        """A link that adds it with one click; "" when there is none."""
        return "" if self.url else hosts.install_link(self.host, self.name, self.command)


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
