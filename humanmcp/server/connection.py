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
is (`deliberate`); `send_raw` takes bytes. What is queued first goes out first. Neither waits
for the client: what it does not take is kept, and `backpressure` says so.

*Streams.* A pipe is one stream. Over HTTP each POST has a stream of its own, and a line must find
the one that it belongs to. So right after a line was taken `accept_requests` tells under which
numbers its requests are known in the inbox, `send` names the request of a line (0: none),
and `end_unanswered` says that no answer will follow. HTTP says things beside a line, too:
`transport_facts`, which the session goes by, and `notes`, which only the transcript keeps.

A connection knows nothing of sessions, of the inbox, of signals and of the life of the process.
`PipeConnection` is what a host starts, `HttpConnection` (`http/connection.py`) what a client of an
address gets; `MemoryConnection` (`memory_connection.py`) serves hooks, practice and tests.

Besides `terminal.py` this is the only place that may speak to stdout, and it does so through a
private descriptor: a stray `print`, `os.write(1, …)` or child process writes to stderr.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import threading
import time
from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from humanmcp.common.line_pipe import LONGEST_LINE, lines, wait_until_ready, write_pieces
from humanmcp.common.own_process import claim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from humanmcp.common.line_pipe import Cut
    from humanmcp.inbox.inbox_session import TransportNotes
    from humanmcp.protocol.conversation.exchange import TransportFacts
    from humanmcp.protocol.http.http_faults import HttpFault
    from humanmcp.protocol.json.jsonrpc import DecodedLine


class EndOfInput:
    """The client closed its end, or no longer reads."""


class HungUp(NamedTuple):
    """The client closed the stream of the request with this number."""

    number: int


Incoming: TypeAlias = "bytes | Cut | EndOfInput | HungUp"
"""A line, a line that was too long to keep, or the end of a client or of a stream."""


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
        """Return the reason, and what to do."""
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

    def end_unanswered(self, number: int) -> None:
        """Close the stream of a request that gets no answer."""

    def send(
        self, line: bytes, *, related_to: int = 0, deliberate: bool = False, receipt: int = 0
    ) -> None:
        """Write a line, without its line feed, as soon as the client takes it. Never waits.

        `related_to` is the inbox's number of the request that it belongs to, 0 for none. With
        `deliberate` it may be anything; over HTTP, that is one line. A `receipt` is among the
        `receipts` once the line is written.

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

    def receipts(self) -> Iterator[tuple[int, bool]]:
        """Yield each receipt once: True if the system has taken the line, False if it never will.

        `listen` is told when there are any.
        """


class OneStream:
    """What a `Connection` leaves out where one stream carries lines and nothing else."""

    transport_facts: TransportFacts | None = None
    decoded: DecodedLine | None = None
    notes: TransportNotes | None = None

    def accept_requests(self, numbers: Sequence[int]) -> None:
        """Do nothing: there is one stream for all requests."""

    def end_unanswered(self, number: int) -> None:
        """Do nothing: there is one stream for all requests."""

    def carry_wrongly(self, fault: HttpFault | None) -> None:
        """Do nothing: there is no HTTP response."""


CRASHED: Final = 1
"""The status of a crash where the system has no signal for it."""

_AHEAD: Final = LONGEST_LINE
"""Bytes that reading may be ahead of the loop; then the pipe fills, and the client waits."""

_POLL: Final = 1.0  # seconds between two looks at a loop that is far behind


class PipeConnection(OneStream):
    """The client's two pipes. Reads from the moment it is made.

    `source` and `sink` are descriptors; the caller owns them and must keep them open.

    A client that stops reading is still heard. Both threads are daemons, because nothing interrupts
    a write(2) to a full pipe: when the process has to end it ends under them, which costs no time
    (the kernel takes the descriptor back) and loses only what the client did not want to read.
    """

    def __init__(self, source: int, sink: int, *, longest: int = LONGEST_LINE) -> None:
        """Start the two threads. Lines of up to `longest` bytes are kept whole."""
        self._source = source
        self._sink = sink
        self._is_pipe = hasattr(select, "poll") and stat.S_ISFIFO(os.fstat(sink).st_mode)
        self._longest = longest
        self._coming: SimpleQueue[Incoming] = SimpleQueue()
        self._arrived: Callable[[], object] = lambda: None
        self._leaving: SimpleQueue[bytes | threading.Event] = SimpleQueue()
        self._read_bytes = 0  # written by the reading thread alone
        self._taken_bytes = 0  # written by the loop alone
        self._room = threading.Event()
        self._put_bytes = 0  # written by the loop alone
        self._written_bytes = 0
        """Written by the loop when it equals `_put_bytes`, else by the thread."""
        self._writing_since: float | None = None
        self._receipts: deque[tuple[int, int]] = deque()
        """Those of lines that are on their way, and up to which byte they go."""
        self._broken = False
        self._ended = False
        for run, name in ((self._read, "wire-reads"), (self._write, "wire-writes")):
            threading.Thread(target=run, name=name, daemon=True).start()

    @classmethod
    def claim(cls, *, longest: int = LONGEST_LINE) -> PipeConnection:
        """Reserve stdin and stdout for this connection alone.

        From then on descriptor 0 reads nothing and descriptor 1 is stderr.
        """
        source, sink = claim()
        return cls(source, sink, longest=longest)

    # -- the session's side -------------------------------------------------------------------

    def listen(self, arrived: Callable[[], object]) -> None:
        self._arrived = arrived
        if not self._coming.empty():
            arrived()

    def get(self, timeout: float | None = 0) -> Incoming | None:
        """Return the next line; None after `timeout` seconds without one."""
        item: Incoming | None = None
        with suppress(Empty):
            item = self._coming.get(timeout=timeout)
        if isinstance(item, bytes):
            self._taken_bytes += len(item)
            self._room.set()
        return item

    def crash(self) -> None:
        """End immediately, without flushing or closing anything."""
        if hasattr(signal, "SIGKILL"):
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(CRASHED)

    def send(
        self,
        line: bytes,
        *,
        related_to: int = 0,  # noqa: ARG002 - one stream for all
        deliberate: bool = False,
        receipt: int = 0,
    ) -> None:
        """Write a line, without its line feed, as soon as the client takes it. Never waits."""
        self._leave(line + b"\n" if deliberate else as_one_line(line, deliberate=False))
        if receipt:
            self._receipts.append((self._put_bytes, receipt))

    def send_raw(self, content: bytes) -> None:
        """Write bytes unchanged: the next line follows them directly."""
        self._leave(content)

    def _leave(self, content: bytes) -> None:
        all_written = self._put_bytes == self._written_bytes
        self._put_bytes += len(content)
        if not (all_written and self._takes_at_once(content)):
            self._leaving.put(content)

    def _takes_at_once(self, content: bytes) -> bool:
        """Write without waiting. Return True if the pipe took everything.

        To wake the writing thread takes longer than the write. POSIX, write(): a pipe that is ready
        takes PIPE_BUF bytes whole; the writing thread has nothing to do, so the order is kept.
        """
        if not self._is_pipe or self._broken or len(content) > select.PIPE_BUF:
            return False
        if not wait_until_ready(self._sink, for_reading=False, seconds=0):
            return False
        try:
            self._written_bytes += os.write(self._sink, content)
        except BlockingIOError:  # filled by somebody else who has it
            return False
        except OSError:
            self._is_broken()
        return True

    def _is_broken(self) -> None:
        """Note that the client no longer reads (usually EPIPE), and stop writing."""
        self._broken = True
        self._put(EndOfInput())

    def _put(self, item: Incoming) -> None:
        self._coming.put(item)
        self._arrived()

    def flush(self, timeout: float) -> None:
        done = threading.Event()
        self._leaving.put(done)
        done.wait(timeout)

    def drain(self) -> Iterator[bytes]:
        with suppress(Empty):
            while True:
                item = self._coming.get_nowait()
                if isinstance(item, bytes):
                    yield item

    @property
    def closed(self) -> bool:
        """Return True if the client closed its end of stdin or of stdout."""
        return self._ended or self._broken

    @property
    def backpressure(self) -> Backpressure:
        """What the client has not read yet; nothing after it stopped reading."""
        if self._broken:
            return Backpressure()
        return Backpressure(self._put_bytes - self._written_bytes, self._writing_since)

    def receipts(self) -> Iterator[tuple[int, bool]]:
        """Yield each receipt once: True if the pipe has the line, False if it never will."""
        while self._receipts:
            until, receipt = self._receipts[0]
            written = self._written_bytes >= until
            if not written and not self._broken:
                return
            self._receipts.popleft()
            yield receipt, written

    # -- the two threads ----------------------------------------------------------------------

    def _read(self) -> None:
        for cut in lines(self._source, self._longest):
            self._arrive(cut)
        self._ended = True
        self._put(EndOfInput())

    def _arrive(self, cut: Cut) -> None:
        self._put(cut.line if cut.whole else cut)
        self._read_bytes += cut.size if cut.whole else 0
        while self._read_bytes - self._taken_bytes > _AHEAD:
            self._room.clear()
            if self._read_bytes - self._taken_bytes > _AHEAD:  # not taken since we looked
                self._room.wait(_POLL)

    def _write(self) -> None:
        while True:
            item = self._leaving.get()
            if isinstance(item, threading.Event):
                item.set()
            elif not self._broken:
                self._write_bytes(item)
                self._arrived()  # what was on its way is delivered

    def _write_bytes(self, content: bytes) -> None:
        before = self._written_bytes
        try:
            for written in write_pieces(self._sink, content):
                self._written_bytes = before + written
                self._writing_since = time.monotonic()
        except OSError:
            self._is_broken()
        self._writing_since = None
