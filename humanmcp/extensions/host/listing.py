"""Ask a real server for its definition, as `humanmcp book --from` copies it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp import __version__
from humanmcp.common.timestamps import now
from humanmcp.extensions.host.client.callbacks import ClientObserver, Nobody
from humanmcp.extensions.host.client.client import Client, connect
from humanmcp.extensions.host.client.handshake import Identity, SessionStart
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.tables import methods

if TYPE_CHECKING:
    from humanmcp.extensions.host.client.client import ServerTarget

NAME: Final = "humanmcp-book"
"""Who the client is that reads a server's definition."""


class _Listener(ClientObserver):
    """Records what passes, as a transcript would."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def line_sent(self, line: str) -> None:
        self._add(Direction.IN, line.encode())

    def line_arrived(self, line: bytes) -> None:
        self._add(Direction.OUT, line)

    def _add(self, direction: Direction, raw: bytes) -> None:
        self.frames.append(Frame(len(self.frames) + 1, now(), direction, raw))


def listed(target: ServerTarget) -> list[Frame]:
    """Ask a server for its definition, and return all messages.

    Raises:
        StopError: it cannot be started, or does not speak MCP.
    """
    listener = _Listener()
    client = Client(
        connect(target),
        Nobody(),
        identity=Identity(NAME, __version__, {}),
        observers=(listener,),
    )
    try:
        client.open(SessionStart.PROBE)
        for method in methods.LISTS:
            if method.capability in client.server_capabilities:
                for _page in client.pages(method.name):
                    pass
    finally:
        client.close()
    return listener.frames
