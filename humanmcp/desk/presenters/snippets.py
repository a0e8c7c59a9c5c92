"""What to paste into which host, for the page that a newcomer sees.

Every host that `humanmcp config` knows, with the same text: both have it from `connecting`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from humanmcp.common.paths import home_folder
from humanmcp.locales import say
from humanmcp.setup.hosts import HOSTS, place
from humanmcp.setup.starting import HostEntry, manner_for, passed_on

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.common.settings import Settings


class Snippet(NamedTuple):
    """What one host is given, and how long it waits and what its user can set."""

    given: HostEntry
    waiting: str


def server_settings(home: Path, settings: Settings, flags: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a server must be told to meet this desk: its folder, its answer book."""
    given = passed_on(settings, flags, os.environ, "en")
    apart = {"lang"} if home != home_folder() else {"lang", "home"}
    return {name: value for name, value in given.items() if name not in apart}


def snippets(server_settings: Mapping[str, Any], language: str) -> tuple[Snippet, ...]:
    """List the hosts with what each is given. A server speaks English unless it is told so."""
    given = server_settings if language == "en" else {**server_settings, "lang": language}
    manner = manner_for(None, files="files" in given)
    return tuple(
        Snippet(
            HostEntry.of(
                host, place(host, sys.platform, Path.home(), os.environ, Path()), given, manner
            ),
            say("config", host.waiting, language),
        )
        for host in HOSTS
    )


def snippets_at(url: str, language: str) -> tuple[Snippet, ...]:
    """List the hosts that take a server at an address; their files are on another computer."""
    home = Path("~")
    return tuple(
        Snippet(
            HostEntry.of(host, place(host, "", home, {}, Path()), {}, (), url=url),
            say("config", host.waiting, language),
        )
        for host in HOSTS
        if host.remote
    )
