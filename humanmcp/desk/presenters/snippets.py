"""What to paste into which host, for the page that a newcomer sees.

Every host that `humanmcp config` knows, with the same text: both have it from `connecting`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from humanmcp.common.paths import home_folder
from humanmcp.connecting.hosts import (
    DEFAULT_NAME,
    HOSTS,
    entry,
    install_link,
    place,
    wait_code,
    wait_to_write,
)
from humanmcp.connecting.starting import (
    command_for,
    manner_for,
    passed_on,
    shell_command,
    snippet,
    with_limit,
)
from humanmcp.locales import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.common.settings import Settings
    from humanmcp.connecting.hosts import Host


@dataclass(frozen=True, slots=True)
class Snippet:
    """What one host is given: `text` to paste into the file `where`, and the ways around that.

    `where` is relative when the file lies in a project. `shell` is a command of the host's own that
    adds the entry, `link` one that a click opens; both are "" where a host has none. `waiting` says
    how long that host waits, and what its user can set.
    """

    name: str
    label: str
    where: Path
    text: str
    shell: str
    link: str
    waiting: str


def told(home: Path, settings: Settings, flags: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a server must be told to meet this desk: its folder, its answer book."""
    given = passed_on(settings, flags, os.environ, "en")
    apart = {"lang"} if home != home_folder() else {"lang", "home"}
    return {name: value for name, value in given.items() if name not in apart}


def snippets(told: Mapping[str, Any], language: str) -> tuple[Snippet, ...]:
    """List the hosts with what each is given. A server speaks English unless it is told so."""
    given = told if language == "en" else {**told, "lang": language}
    return tuple(_snippet(host, given, language) for host in HOSTS)


def _snippet(host: Host, given: Mapping[str, Any], language: str) -> Snippet:
    wait = wait_to_write(host, None)
    manner = manner_for(None, files="files" in given)
    command = command_for(given, manner)
    made = entry(host, command_for(with_limit(given, wait), manner), wait)
    return Snippet(
        name=host.name,
        label=host.label,
        where=place(host, sys.platform, Path.home(), os.environ, Path()),
        text=snippet(host, DEFAULT_NAME, made).rstrip("\n"),
        shell=shell_command(host, DEFAULT_NAME, command),
        link=install_link(host, DEFAULT_NAME, command),
        waiting=say("config", wait_code(host), language),
    )
