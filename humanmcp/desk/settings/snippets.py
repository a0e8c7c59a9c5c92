"""The entries that start a server for a desk, as each host has them in its configuration."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from humanmcp.common.settings import home_folder
from humanmcp.locales import say, spoken_language
from humanmcp.setup.hosts import HOSTS, HostEntry, manner_for, passed_on, place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.common.settings import Settings


def server_settings(home: Path, settings: Settings, flags: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings that a server needs to use this desk's inbox and answer book."""
    given = passed_on(settings, flags, os.environ, "en")
    apart = {"lang"} if home != home_folder() else {"lang", "home"}
    return {name: value for name, value in given.items() if name not in apart}


def snippets(server_settings: Mapping[str, Any]) -> list[tuple[HostEntry, str]]:
    """Return the configuration for each host, and its limits.

    A server uses English unless it has a setting.
    """
    spoken = {} if spoken_language() == "en" else {"lang": spoken_language()}
    given = {**server_settings, **spoken}
    manner, home = manner_for(None, given), Path.home()
    places = ((host, place(host, sys.platform, home, os.environ, Path())) for host in HOSTS)
    return [
        (HostEntry.of(host, path, given, manner), say("config", host.waiting))
        for host, path in places
    ]


def snippets_at(url: str) -> list[tuple[HostEntry, str]]:
    """Return the hosts that take a server's address; their files are on another computer."""
    places = ((host, place(host, "", Path("~"), {}, Path())) for host in HOSTS if host.remote)
    return [
        (HostEntry.of(host, path, {}, (), url=url), say("config", host.waiting))
        for host, path in places
    ]
