"""How long a real host waits for one method: nobody answers, and the moment it gives up is taken.

The figures belong into `humanmcp/protocol/conversation/timeouts.py`, with the version and the date.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from humanmcp.inbox.contract import Item
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.tables import versions
from tools.hosts.installing import Installed
from tools.hosts.model import Model
from tools.hosts.playing import COMES_WITHIN, Room, client_of, started, wait, waiting
from tools.hosts.table import RealHost

METHODS: Final = ("initialize", "tools/list", "tools/call")


@dataclass(frozen=True, slots=True)
class Waited:
    """How long a host waited, and how that ended: "" when it still waited at the bound."""

    client: str
    seconds: float
    end: str


def waits(
    host: RealHost,
    installed: Installed,
    folder: Path,
    *,
    method: str,
    bound: float,
    flags: tuple[str, ...],
) -> Waited | None:
    """Measure one method; None when it never came. `flags` are further words of `config`."""
    room = Room(folder)
    folder.mkdir(parents=True)
    book = folder / "wait.toml"
    never = f'"{method}" = false\n' if method != "tools/call" else ""
    # Who is offered 2026-07-28 never sends `initialize`.
    served = f"[server]\nprotocol_versions = {[*versions.HANDSHAKE]}\n"
    only = served if method == "initialize" else ""
    book.write_text(f"{only}[wait]\n{never}", "utf-8")
    with Model() as model, started(host, installed, model, room, "--book", str(book), *flags):
        wait(lambda: waiting(room, method), COMES_WITHIN)
        began = time.monotonic()
        found = waiting(room, method)
        if not found:
            return None
        wait(lambda: _end_of(room, found[0]), bound)
        return Waited(client_of(room, found[0]), time.monotonic() - began, _end_of(room, found[0]))


def _end_of(room: Room, item: Item) -> str:
    """Say how an exchange ended, "" while it waits."""
    now = FolderInbox(room.inbox).item(item.key)
    return "" if now.state is ExchangeState.PENDING else f"{now.state.value} {now.reason}".strip()
