"""How lines come from a client and go back to it: all that a session knows of a transport.

Theory of operation
-------------------
A session is stepped by one thread, which may serve hundreds of others (`inbox/attendant.py`). So a
connection moves bytes in threads of its own, and never lets that one wait:

    client ──▶ the transport's threads ──▶ arrived() wakes ──▶ get() ──┐
                                                                       the session
    client ◀── the transport's threads ◀──────────────────── send() ◀──┘

*In.* `get` gives one line after the other, in the order in which the client wrote them, as bytes
that were not looked into. Whenever there is something to get, the connection calls what `listen`
was given. `EndOfInput` is the last thing to come: no answer can go out any more.

*Out.* `send` takes one whole line, which the check has let pass or which a person wants to be as it
is (`deliberate`); `send_raw` takes bytes. What was handed in first goes out first. Neither waits
for the client: what it does not take is kept, and `backpressure` says so.

*Streams.* A pipe is one stream. Over HTTP each POST has a stream of its own, and a line must find
the one that it belongs to. So right after a line was taken `accept_requests` tells under which
numbers its requests are known in the inbox, `send` names the request of a line (0: none),
and `unanswered` says that no answer will follow. HTTP says things beside a line, too:
`transport_facts`, which the session goes by, and `notes`, which only the transcript keeps.

A connection knows nothing of sessions, of the inbox, of signals and of the life of the process.
`PipeConnection` (`pipe.py`) is what a host starts; `MemoryConnection` serves tests and practice.
"""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from humanmcp.common.line_pipe import Cut
    from humanmcp.inbox.inbox_session import TransportNotes
    from humanmcp.protocol.conversation.exchange import TransportFacts
    from humanmcp.protocol.http.outbound import HttpFault
    from humanmcp.protocol.json.jsonrpc import DecodedLine


class EndOfInput:
    """The client closed its end, or no longer reads."""


class HungUp(NamedTuple):
    """The client closed the stream of the request with this number."""

    number: int


Incoming: TypeAlias = "bytes | Cut | EndOfInput | HungUp"
"""A line, one that was too long to keep, or what else becomes of a client."""


class Backpressure(NamedTuple):
    """What the client has not taken: so many bytes, and since when (monotonic) it takes nothing.

    `since` is None while it does take something, or nothing has to be written.
    """

    unsent: int = 0
    since: float | None = None

    def stuck_for(self, now: float) -> float:
        """Return for how many seconds the client has not read anything."""
        return 0.0 if self.since is None else max(0.0, now - self.since)


class LineError(ValueError):
    """The content is not one line, so that it would break the stream."""

    def __init__(self, why: str, line: bytes) -> None:
        super().__init__(why, line[:80])
        self.why = why

    def __str__(self) -> str:
        """Return what is wrong with it."""
        return f"not written to the client: {self.why}; write one message as one line of UTF-8"


def as_one_line(line: bytes, *, deliberate: bool) -> bytes:
    """Return a line with its line feed. Also a deliberately wrong one must be one line.

    Raises:
        LineError: it holds a line break or is empty; or, where that is not meant, it is no UTF-8.
    """
    if not line:
        raise LineError("it is empty", line)
    if b"\n" in line or (b"\r" in line and not deliberate):
        raise LineError("it holds a line break", line)
    if not deliberate:
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise LineError(f"byte {error.start + 1} is no UTF-8", line) from error
    return line + b"\n"


class Connection(Protocol):
    """One client's way to a session and back. Everything but `listen` is for one thread."""

    def listen(self, arrived: Callable[[], object]) -> None:
        """Call `arrived`, from any thread, whenever there is something to get; now, if there is."""

    def get(self, timeout: float | None = 0) -> Incoming | None:
        """Return the next input; None after `timeout` seconds without any.

        A line keeps its carriage return and its byte-order mark; blank lines never come.
        """

    @property
    def transport_facts(self) -> TransportFacts | None:
        """The transport's facts about the last line; None without any."""

    @property
    def decoded(self) -> DecodedLine | None:
        """The last line, if the transport had to decode it: a large one takes long."""

    @property
    def notes(self) -> TransportNotes | None:
        """The transport's notes; None if it makes none."""

    def accept_requests(self, numbers: Sequence[int]) -> None:
        """Accept the inbox numbers of the requests in the last line."""

    def unanswered(self, number: int) -> None:
        """Close the stream of a request that gets no answer."""

    def send(self, line: bytes, *, related_to: int = 0, deliberate: bool = False) -> None:
        """Write a line, without its line feed, as soon as the client takes it. Never waits.

        `related_to` is the inbox's number of the request that it belongs to, 0 for none. With
        `deliberate` it may be broken in every way but one: it is one line.

        Raises:
            LineError: it is no line.
        """

    def send_raw(self, content: bytes) -> None:
        """Write bytes unchanged, without a line feed."""

    def carry_wrongly(self, fault: HttpFault | None) -> None:
        """Put a fault into the HTTP response of the next answer; None removes it.

        Nothing carries it over a pipe.
        """

    def crash(self) -> None:
        """End at once, like a killed server."""

    def flush(self, timeout: float) -> None:
        """Wait until everything is written or has failed, at most `timeout` seconds."""

    def drain(self) -> Iterator[bytes]:
        """Yield the unread lines at the end of the session."""

    @property
    def closed(self) -> bool:
        """Return True if the client has closed its end. Earlier lines may still be unread."""

    @property
    def backpressure(self) -> Backpressure:
        """What the client has not taken yet."""


class SentLine(NamedTuple):
    """What a client in memory was sent: a line, or bytes; and the request that it belongs to."""

    content: bytes
    related_to: int = 0


class MemoryConnection:
    """A connection without a transport: its owner is the client, by `say` and `hear`."""

    def __init__(self) -> None:
        self.closed = False
        self.backpressure = Backpressure()
        self.notes: TransportNotes | None = None
        self.transport_facts: TransportFacts | None = None
        self.decoded: DecodedLine | None = None
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
        """Take what the client said next."""
        with suppress(Empty):
            return self._coming.get(timeout=timeout)
        return None

    def accept_requests(self, numbers: Sequence[int]) -> None:
        """Keep the numbers for the tests."""
        self.numbers = tuple(numbers)

    def unanswered(self, number: int) -> None:
        """Do nothing: there is one stream."""

    def send(self, line: bytes, *, related_to: int = 0, deliberate: bool = False) -> None:
        """Send a line to the client."""
        self._go(SentLine(as_one_line(line, deliberate=deliberate)[:-1], related_to))

    def send_raw(self, content: bytes) -> None:
        """Send bytes to the client."""
        self._go(SentLine(content))

    def _go(self, what: SentLine) -> None:
        self._going.put(what)
        self.on_line()

    def carry_wrongly(self, fault: HttpFault | None) -> None:
        """Do nothing: there is no transport."""

    def crash(self) -> None:
        """Close both ends at once."""
        self.hang_up()

    def flush(self, timeout: float) -> None:
        """Do nothing: whatever was sent is there."""

    def drain(self) -> Iterator[bytes]:
        """Yield the client's unread lines."""
        while (got := self.get()) is not None:
            if isinstance(got, bytes):
                yield got
