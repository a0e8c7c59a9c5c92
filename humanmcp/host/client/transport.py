"""What carries lines between a client and a server.

A transport knows lines and nothing of what they say. Its user is its listener: it is told
of every line, of what the peer says beside the wire, and once of the end. Swapping the transport
changes nothing above it: the tests of the client run over a process and over memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from humanmcp.common.child import ChildCommand, ChildTransport
from humanmcp.host.client.handshake import SessionStart
from humanmcp.protocol.spec import versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.common.child import EndedError
    from humanmcp.host.client.client import Client
    from humanmcp.http.server_address import ServerAddress
    from humanmcp.http.transport import CallListener


class Transport(Protocol):
    """A way to a peer. `start` it once, then `send`; `close` it once or more."""

    def start(self, listener: CallListener) -> None:
        """Begin to bring lines to the listener."""

    def send(self, line: str) -> None:
        """Hand in a line, without its line feed. Never waits for the peer.

        Raises:
            EndedError: the peer is gone, or the transport was closed.
        """

    def close(self) -> None:
        """End the connection in order. Closing again does nothing."""

    def end_reason(self) -> EndedError:
        """Return how the peer ended, as far as it is known."""


ServerTarget: TypeAlias = "ChildCommand | ServerAddress"
"""A server: how it is started, or where it is."""


def connect(target: ServerTarget) -> Transport:
    """Return the way to a server. A process is started by it; an address is called later.

    Raises:
        StartError: it cannot be started.
    """
    if isinstance(target, ChildCommand):
        return ChildTransport(target)
    from humanmcp.http.transport import HttpTransport  # noqa: PLC0415 - most servers are started

    return HttpTransport(target)


@dataclass(slots=True)
class ServerSession:
    """One server, with the client that speaks to it now. `make` starts the server."""

    make: Callable[[], Client]
    session_start: SessionStart = SessionStart.HANDSHAKE
    version: str = versions.LATEST_HANDSHAKE
    _client: Client | None = None

    @property
    def client(self) -> Client:
        """The client that speaks to the server now; the server is started when it is first asked.

        Raises:
            StartError: the server cannot be started.
        """
        if self._client is None:
            self._client = self.make()
        return self._client

    def open(self, session_start: SessionStart | None = None) -> None:
        """Open the session, in the way that was chosen before where none is named.

        Raises:
            StopError: the server cannot be started, or no session comes of it.
        """
        self.session_start = session_start or self.session_start
        self.client.open(self.session_start, self.version)

    def reconnect(self, session_start: SessionStart | None = None) -> None:
        """End the server, start it again, and open a new session.

        Raises:
            StopError: as `open`.
        """
        self.close()
        self._client = None
        self.open(session_start)

    def close(self) -> None:
        """End the server, if there is one."""
        if self._client is not None:
            self._client.close()
