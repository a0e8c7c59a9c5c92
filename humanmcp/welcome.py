"""`humanmcp` alone at a terminal: what runs and waits here, and the four things to do now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.common.settings import home_folder
from humanmcp.common.terminal import Painted, to_stdout
from humanmcp.desk import launch
from humanmcp.inbox import open_inbox
from humanmcp.locales import say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from humanmcp.common.settings import Settings

ROOM: Final = "welcome"
COMMANDS: Final = {
    "see": "humanmcp demo",
    "connect": "humanmcp config HOST",
    "browser": "humanmcp desk --open",
    "terminal": "humanmcp inbox",
}
"""What one can do now, by the code of the sentence on it."""


def welcome(settings: Settings) -> None:
    """Print it. A folder that is not there yet is not made for this."""
    home = home_folder(settings.home)
    to_stdout(Painted(say(ROOM, "you"), "bold"))
    for line in _now(home) if home.exists() else ():
        to_stdout(line)
    to_stdout("")
    for code, command in COMMANDS.items():
        to_stdout(f"  {command:22}", say(ROOM, code))
    to_stdout("")
    to_stdout(Painted(say(ROOM, "more"), "dim"))


def _now(home: Path) -> Iterator[str]:
    """Say what runs and what waits; nothing where nothing does."""
    inbox = open_inbox(home)
    connected = [facts for facts in inbox.sessions() if facts.is_open]
    if connected:
        waiting = sum(len(inbox.items(facts.name)) for facts in connected)
        yield say(ROOM, "connected", sessions=len(connected), waiting=waiting)
    desk = launch.find(home)
    if desk is not None:
        yield say(ROOM, "page", address=desk.address)
