"""What to paste into which host, for the first page that a newcomer sees.

`humanmcp config` knows the hosts; it is asked as everybody asks it, by its command line. The desk
does not import it: rooms of one floor do not know each other.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from humanmcp.paths import home_folder

_log = logging.getLogger(__name__)

HOSTS: Final = ("claude-code", "vscode", "claude-desktop", "cursor", "codex", "gemini-cli")
"""The hosts on the page; `humanmcp config` knows more."""

_WITHIN: Final = 20.0


@dataclass(frozen=True, slots=True)
class Snippet:
    """What to paste for one host, and where it goes (a file, or "" for a terminal).

    `waiting` says how long that host waits, and what its user can set.
    """

    host: str
    where: str
    text: str
    waiting: str


@cache
def snippets(home: Path, language: str) -> tuple[Snippet, ...]:
    """List the hosts with what each is given, for a server that uses this inbox."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        found = pool.map(lambda host: _ask(host, home, language), HOSTS)
        return tuple(one for one in found if one is not None)


def _ask(host: str, home: Path, language: str) -> Snippet | None:
    words = [sys.executable, "-m", "humanmcp", "config", host, "--json"]
    if language != "en":  # English is what a server speaks unless it is told otherwise
        words += ["--lang", language]
    if home != home_folder():
        words += ["--home", str(home)]
    try:
        ended = subprocess.run(  # noqa: S603 - our own interpreter and our own words
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_WITHIN,
            check=True,
            cwd=Path.home(),
            env={**os.environ, "LC_ALL": "C"},
        )
        record = json.loads(ended.stdout)
        shell = str(record["shell"])
        return Snippet(
            host=str(record["label"]),
            where="" if shell else str(record["path"]),
            text=(shell or str(record["snippet"])).rstrip("\n"),
            waiting=str(record["waiting"]),
        )
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        _log.warning("what to paste into %s is not known: %s", host, error)
        return None
