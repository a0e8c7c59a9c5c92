"""A connection without a transport: for hooks, practice and tests."""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

from humanmcp.server.connection import Backpressure, EndOfInput, OneStream, as_one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from humanmcp.server.connection import Incoming


class SentLine(NamedTuple):
    """What a client in memory received: a line or bytes, and the request that it belongs to."""

    content: bytes
    related_to: int = 0


class MemoryConnection(OneStream):
    """A connection without a transport: its owner is the client, by `say` and `hear`."""

    def __init__(self) -> None:
        self.closed = False
        self.backpressure = Backpressure()
        self._receipts: SimpleQueue[int] = SimpleQueue()
        self.numbers: tuple[int, ...] = ()
        """The requests that came with the line that was taken last."""
        self._coming: SimpleQueue[Incoming] = SimpleQueue()
        self._going: SimpleQueue[SentLine] = SimpleQueue()
        self._arrived: Callable[[], object] | None = None
        self.on_line: Callable[[], object] = lambda: None
        """Wakes the client, from the session's thread, when there is something to hear."""

    # -- the client's side ----------------------------------------------------------------------

    def say(self, line: bytes) -> None:
        """Send a line to the session."""
        self._come(line)

    def hear(self, timeout: float | None = 0) -> SentLine | None:
        """Return the next line of the session; None after the timeout."""
        with suppress(Empty):
            return self._going.get(timeout=timeout)
        return None

    def hang_up(self) -> None:
        """Close the client's end."""
        self.closed = True
        self._come(EndOfInput())

    def _come(self, what: Incoming) -> None:
        self._coming.put(what)
        if self._arrived is not None:
            self._arrived()

    # -- the session's side ---------------------------------------------------------------------

    def listen(self, arrived: Callable[[], object]) -> None:
        """Call `arrived` in the client's thread, whenever it says something."""
        self._arrived = arrived
        arrived()

    def get(self, timeout: float | None = 0) -> Incoming | None:
        """Take the next line of the client."""
        with suppress(Empty):
            return self._coming.get(timeout=timeout)
        return None

    def accept_requests(self, numbers: Sequence[int]) -> None:
        """Keep the numbers for the tests."""
        self.numbers = tuple(numbers)

    def send(
        self, line: bytes, *, related_to: int = 0, deliberate: bool = False, receipt: int = 0
    ) -> None:
        if receipt:
            self._receipts.put(receipt)
        if not deliberate:
            as_one_line(line, deliberate=False)
        for content in line.split(b"\n"):
            self._go(SentLine(content, related_to))

    def send_raw(self, content: bytes) -> None:
        self._go(SentLine(content))

    def _go(self, what: SentLine) -> None:
        self._going.put(what)
        self.on_line()

    def crash(self) -> None:
        """Close both ends at once."""
        self.hang_up()

    def flush(self, timeout: float) -> None:
        """Do nothing: whatever was sent is there."""

    def receipts(self) -> Iterator[tuple[int, bool]]:
        """Yield all of them: its owner has the lines."""
        while not self._receipts.empty():
            yield self._receipts.get(), True

    def drain(self) -> Iterator[bytes]:
        """Yield the client's unread lines."""
        while (got := self.get()) is not None:
            if isinstance(got, bytes):
                yield got
