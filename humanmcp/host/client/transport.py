"""What carries lines between a client and a server.

A transport knows lines and nothing of what they say. Whoever uses one is its listener: it is told
of every line, of what the peer says beside the wire, and once of the end. Swapping the transport
changes nothing above it: the tests of the client run over a process and over memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from humanmcp.common.child import EndedError, OutputListener


class Transport(Protocol):
    """A way to a peer. `start` it once, then `send`; `close` it once or more."""

    def start(self, listener: OutputListener) -> None:
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
