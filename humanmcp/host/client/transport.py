"""What carries lines between a client and a server, and the simplest thing that does: memory.

A transport knows lines and nothing of what they say. Whoever uses one is its listener: it is told
of every line, of what the peer says beside the wire, and once of the end. Swapping the transport
changes nothing above it; `tests/host/test_client.py` runs over both that exist.
"""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol

from humanmcp.common.child import EndedError

if TYPE_CHECKING:
    from humanmcp.common.child import OutputListener


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

    def obituary(self) -> EndedError:
        """Return how the peer ended, as far as it is known."""


class MemoryTransport:
    """One end of a pair in memory. Made by `pair`."""

    def __init__(self) -> None:
        """Make an end that leads nowhere yet."""
        self._other: MemoryTransport = self
        self._arrived: SimpleQueue[bytes | None] = SimpleQueue()
        self._over = threading.Event()

    def start(self, listener: OutputListener) -> None:
        """Begin to bring lines to the listener."""
        threading.Thread(target=self._bring, args=(listener,), daemon=True).start()

    def send(self, line: str) -> None:
        """Hand in a line for the other end."""
        if self._over.is_set():
            raise EndedError
        self._other._arrived.put(line.encode())  # noqa: SLF001 - the two ends are one thing

    def close(self) -> None:
        """End both directions, as closing a pipe does."""
        for end in (self, self._other):
            if not end._over.is_set():  # noqa: SLF001 - the two ends are one thing
                end._over.set()  # noqa: SLF001 - the two ends are one thing
                end._arrived.put(None)  # noqa: SLF001 - the two ends are one thing

    def obituary(self) -> EndedError:
        """Say no more than that: a pair in memory ends in one way only."""
        return EndedError()

    def _bring(self, listener: OutputListener) -> None:
        while (line := self._arrived.get()) is not None:
            listener.line_arrived(line)
        listener.ended()


def pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Make two ends that lead to each other."""
    one, other = MemoryTransport(), MemoryTransport()
    one._other, other._other = other, one  # noqa: SLF001 - the two ends are one thing
    return one, other
