"""A client and the server it was started with: opened, closed, and opened anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from humanmcp.host.client.handshake import Opening
from humanmcp.protocol.spec import versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.host.client.client import Client


@dataclass(slots=True)
class ServerSession:
    """One server, with the client that speaks to it now. `make` starts the server."""

    make: Callable[[], Client]
    opening: Opening = Opening.HANDSHAKE
    revision: str = versions.LATEST_HANDSHAKE
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

    def open(self, opening: Opening | None = None) -> None:
        """Open the session, in the way that was chosen before where none is named.

        Raises:
            StopError: the server cannot be started, or no session comes of it.
        """
        self.opening = opening or self.opening
        self.client.open(self.opening, self.revision)

    def reconnect(self, opening: Opening | None = None) -> None:
        """End the server, start it again, and open a new session.

        Raises:
            StopError: as `open`.
        """
        self.close()
        self._client = None
        self.open(opening)

    def close(self) -> None:
        """End the server, if there is one."""
        if self._client is not None:
            self._client.close()
