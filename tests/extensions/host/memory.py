"""A transport in memory: a client and a server of the tests meet in one process."""

import threading
from queue import SimpleQueue

from humanmcp.common.child import EndedError, OutputListener


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
        """Queue a line for the other end."""
        if self._over.is_set():
            raise EndedError
        self._other._arrived.put(line.encode())

    def close(self) -> None:
        """End both directions, as closing a pipe does."""
        for end in (self, self._other):
            if not end._over.is_set():
                end._over.set()
                end._arrived.put(None)

    def end_reason(self) -> EndedError:
        """Say no more than that: a pair in memory ends in one way only."""
        return EndedError()

    def _bring(self, listener: OutputListener) -> None:
        while (line := self._arrived.get()) is not None:
            listener.line_arrived(line)
        listener.ended()


def pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Make two ends that lead to each other."""
    one, other = MemoryTransport(), MemoryTransport()
    one._other, other._other = other, one
    return one, other
