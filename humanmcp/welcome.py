"""`humanmcp` without arguments at a terminal: print what runs and waits, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp import launch
from humanmcp.common.settings import home_folder
from humanmcp.common.terminal import Painted, to_stdout
from humanmcp.inbox import open_inbox
from humanmcp.locales import say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from humanmcp.common.settings import Settings

SECTION: Final = "welcome"
COMMANDS: Final = {
    "connect": "humanmcp config HOST",
    "browser": "humanmcp desk --open",
    "terminal": "humanmcp inbox",
}
"""The commands to run now, by the code of their sentence."""


def welcome(settings: Settings) -> None:
    """Print the overview. A missing inbox folder is not created."""
    home = home_folder(settings.home)
    to_stdout(Painted(say(SECTION, "you"), "bold"))
    for line in _now(home) if home.exists() else ():
        to_stdout(line)
    to_stdout(say(SECTION, "next"))
    for code, command in COMMANDS.items():
        to_stdout(f"  {command:22}", say(SECTION, code))
    to_stdout("")
    to_stdout(Painted(say(SECTION, "more"), "dim"))


def _now(home: Path) -> Iterator[str]:
    """Yield what runs and what waits."""
    inbox = open_inbox(home)
    connected = [facts for facts in inbox.sessions() if facts.is_open]
    if connected:
        waiting = sum(len(inbox.items(facts.name)) for facts in connected)
        yield say(SECTION, "connected", sessions=len(connected), waiting=waiting)
    desk = launch.find(home)
    if desk is not None:
        yield say(SECTION, "page", address=desk.address)
