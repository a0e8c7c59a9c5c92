"""What `humanmcp doctor` says of each host on this machine: its file, its entry, its start.

An entry is started as far as its word `serve`, with a scratch folder instead of what follows: so
no page opens, and no session of the trial stands in an inbox.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.json.escaping import one_line
from humanmcp.setup import trial
from humanmcp.setup.checks import Finding, Level, ok, problem, warning
from humanmcp.setup.config_file import ConfigFile, ConfigFileError, configurations
from humanmcp.setup.hosts import HOSTS, Format, Host, command_in, is_ours, user_place
from humanmcp.setup.wrapping import is_wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

_SERVE: Final = "serve"


def check_hosts(language: str) -> Iterator[Finding]:
    """Look which hosts are on this machine, and whether what they start is there and answers."""
    started: dict[tuple[str, ...], trial.Trial] = {}
    files = list(configurations())
    mentioned = False
    for host in HOSTS:
        paths = [path for one, path in files if one is host]
        found = [one for path in paths for one in _in_file(host, path, language, started)]
        yield from found
        if _has_plugin(host):
            found.append(ok("host plugin", label=host.label))
            yield found[-1]
        said = {one.code for one in found} - {"host remote"}
        mentioned |= bool(said - {"host bad"})
        if not said and _is_installed(host):
            path = user_place(host, sys.platform, Path.home(), os.environ)
            code = "host unread" if host.format is Format.YAML else "host without"
            yield ok(code, label=host.label, host=host.name, path=path)
    if not mentioned:
        yield warning("host none")


def _is_installed(host: Host) -> bool:
    """Return True if a host left a trace of itself: its command, or the folder of its file."""
    folder = user_place(host, sys.platform, Path.home(), os.environ).parent
    return bool(host.program and shutil.which(host.program)) or (
        folder != Path.home() and folder.is_dir()
    )


def _has_plugin(host: Host) -> bool:
    """Return True if a host has installed the plugin of humanmcp."""
    if not host.plugin:
        return False
    place, text = host.plugin
    try:
        return text in (Path.home() / place).read_text("utf-8")
    except (OSError, ValueError):
        return False


def _in_file(
    host: Host, path: Path, language: str, started: dict[tuple[str, ...], trial.Trial]
) -> Iterator[Finding]:
    try:
        servers = ConfigFile.read(host, path).servers
    except ConfigFileError as error:
        about = (("label", host.label),)
        yield Finding("host bad", Level.WARNING, about, error.sentence(language))
        return
    for keys, one in servers.items():
        if is_ours(one) and command_in(one) is not None:
            yield _check_entry(host, path, keys[-1], one, started)
        elif isinstance(one, dict) and "url" in one and command_in(one) is None:
            yield ok("host remote", label=host.label, name=keys[-1])


def _check_entry(
    host: Host,
    path: Path,
    name: str,
    one: Any,  # noqa: ANN401 - any JSON value
    started: dict[tuple[str, ...], trial.Trial],
) -> Finding:
    """Look whether a host without the shell's PATH can start an entry, and gets an answer."""
    command, args = command_in(one) or ("", ())
    about = {"label": host.label, "name": name, "path": path, "command": command}
    if not Path(command).is_absolute():
        return warning("host relative", **about)
    if not os.access(command, os.X_OK):
        return problem("host missing", **about)
    words = (command, *args) if args else (command, _SERVE)
    if _SERVE not in words or is_wrapped(one):
        return ok("host", **about)
    words = words[: words.index(_SERVE) + 1]
    seen = started.get(words)
    if seen is None:
        seen = started[words] = trial.run(words)
    if seen.first_answer is None:
        why = seen.failure or one_line(seen.stderr.strip(), 300) or "-"
        return problem("host silent", **about, host=host.name, why=why)
    return ok("host answers", **about, took=f"{seen.first_answer:.2f}")
