"""The connection of one session over HTTP: what its POSTs bring, and where each answer belongs.

The event loop and the session's thread meet here. The session's side (`Connection`) hands over:
what it sends is put into the event loop's queue, so the streams need no lock and keep the order.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.server.connection import Backpressure, EndOfInput, HungUp, as_one_line
from humanmcp.server.http.notes import HttpNotes
from humanmcp.server.http.streams import Stream, Streams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from humanmcp.protocol.conversation.exchange import TransportFacts
    from humanmcp.protocol.http.faults import HttpFault
    from humanmcp.server.connection import Incoming

    Soon = Callable[..., object]

logger = logging.getLogger(__name__)


class _Posted(NamedTuple):
    """A line that a POST brought, and the head of that POST as a note."""

    line: bytes
    transport_facts: TransportFacts | None
    stream: Stream
    head: str


class HttpConnection:
    """One client's POSTs and streams. `soon` calls a function in the event loop's thread."""

    def __init__(self, soon: Soon) -> None:
        self.closed = False
        self.transport_facts: TransportFacts | None = None
        self.streams = Streams()
        self.notes: Final = HttpNotes()
        self.backpressure: Final = Backpressure()
        """Nothing waits here: what a client does not take waits in its own response."""
        self._soon = soon
        self._coming: SimpleQueue[_Posted | HungUp | EndOfInput] = SimpleQueue()
        self._arrived: Callable[[], object] | None = None
        self._taken: Stream | None = None

    # -- the event loop's side ------------------------------------------------------------------

    def post(self, line: bytes, transport_facts: TransportFacts | None, head: str = "") -> Stream:
        """Queue a line for the session. Return the stream of its response."""
        stream = Stream()
        if self.closed:
            stream.end()
        else:
            self._come(_Posted(line, transport_facts, stream, head))
        return stream

    def gone(self, stream: Stream, *, cancels: bool) -> None:
        """Note that the client of a stream is gone, and whether that means a cancellation."""
        stream.is_gone = True
        numbers = sorted(stream.numbers)
        self.streams.leave(stream)
        if cancels:
            for number in numbers:
                self._come(HungUp(number))

    def hang_up(self) -> None:
        """Queue the end of input."""
        self.closed = True
        self._come(EndOfInput())

    def close(self) -> None:
        """End the streams of lines that came after the session's end."""
        self.closed = True
        for _line in self.drain():
            logger.info("a message came when its session was over")

    def _come(self, what: _Posted | HungUp | EndOfInput) -> None:
        self._coming.put(what)
        if self._arrived is not None:
            self._arrived()

    def _began(self, stream: Stream, numbers: tuple[int, ...], cancels: bool) -> None:  # noqa: FBT001 - for a queue of calls
        self.streams.posted(stream, numbers)
        if stream.is_gone:  # while the session had not looked yet
            self.gone(stream, cancels=cancels)

    # -- the session's side ---------------------------------------------------------------------

    def listen(self, arrived: Callable[[], object]) -> None:
        """Call `arrived` in the event loop's thread, whenever a POST comes."""
        self._arrived = self.notes.wake = arrived
        arrived()

    def get(self, timeout: float | None = 0) -> Incoming | None:
        """Return the next input."""
        try:
            found = self._coming.get(timeout=timeout)
        except Empty:
            return None
        if not isinstance(found, _Posted):
            return found
        self.transport_facts, self._taken, self.notes.head = (
            found.transport_facts,
            found.stream,
            found.head,
        )
        return found.line

    def accept_requests(self, numbers: Sequence[int]) -> None:
        """Begin the stream of the line that was taken last."""
        stream, self._taken = self._taken, None
        if stream is not None:
            self._soon(self._began, stream, tuple(numbers), self.transport_facts is not None)

    def unanswered(self, number: int) -> None:
        """End the stream of a request that gets no answer."""
        self._soon(self.streams.unanswered, number)

    def send(self, line: bytes, *, related_to: int = 0, deliberate: bool = False) -> None:
        """Send a line on the stream of its request."""
        self._soon(self.streams.send, as_one_line(line, deliberate=deliberate)[:-1], related_to)

    def send_raw(self, content: bytes) -> None:
        """Send bytes unchanged."""
        self._soon(self.streams.send_raw, content)

    def carry_wrongly(self, fault: HttpFault | None) -> None:
        """Put a fault into the HTTP response of the next answer."""
        self._soon(self.streams.carry_wrongly, fault)

    def crash(self) -> None:
        """Cut every stream and end the session. The process goes on for the others."""
        self._soon(self.streams.cut)
        self.hang_up()

    def flush(self, timeout: float) -> None:
        """Do nothing: what was sent is in the event loop's queue."""

    def drain(self) -> Iterator[bytes]:
        """Yield the unread lines."""
        with suppress(Empty):
            while True:
                found = self._coming.get_nowait()
                if isinstance(found, _Posted):
                    self._soon(found.stream.end)
                    self.notes.head = found.head
                    yield found.line
