"""The connection over a pair of pipes: stdin and stdout as lines.

Knows bytes, line feeds, descriptors and threads, and nothing of what a line says. Besides
`terminal.py` this is the only place that may speak to stdout, and it does so through a private
descriptor: a stray `print`, `os.write(1, …)` or child process writes to stderr.

    client ──▶ source ──▶ reading thread ──▶ get() ──┐
                                                     the session
    client ◀── sink ◀──── writing thread ◀── send() ─┘

Neither thread waits for the other: a client that stops reading is still heard. Both are daemon
threads, because nothing interrupts a write(2) to a full pipe: when the process has to end it ends
under them, which costs no time (the kernel takes the descriptor back) and loses only what the
client did not want to read.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from humanmcp.common.line_pipe import LONGEST_LINE, lines, write_pieces
from humanmcp.common.own_process import claim, wait_until_ready
from humanmcp.server.connection import Backpressure, EndOfInput, as_one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from humanmcp.common.line_pipe import Cut
    from humanmcp.protocol.http.outbound import HttpFault
    from humanmcp.server.connection import Incoming

CRASHED: Final = 1
"""The status of a crash where the system has no signal for it."""

_AHEAD: Final = LONGEST_LINE
"""Bytes that reading may be ahead of the loop; then the pipe fills, and the client waits."""

_POLL: Final = 1.0  # seconds between two looks at a loop that is far behind


class PipeConnection:
    """The client's two pipes. Reads from the moment it is made.

    `source` and `sink` are descriptors; the caller owns them and must keep them open.
    """

    transport_facts: Final = None
    decoded: Final = None
    """A pipe says nothing beside a line."""

    def __init__(self, source: int, sink: int, *, longest: int = LONGEST_LINE) -> None:
        """Start to read lines of up to `longest` bytes, and to write what is sent."""
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
        self._written_bytes = (
            0  # written by the loop when it equals `_put_bytes`, else by the thread
        )
        self._writing_since: float | None = None
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
        """Call `arrived`, from any thread, whenever there is something to get; now, if there is."""
        self._arrived = arrived
        if not self._coming.empty():
            arrived()

    notes: Final = None
    """A pipe says nothing beside the lines."""

    def get(self, timeout: float | None = 0) -> Incoming | None:
        """Return the next line; None after `timeout` seconds without one."""
        item: Incoming | None = None
        with suppress(Empty):
            item = self._coming.get(timeout=timeout)
        if isinstance(item, bytes):
            self._taken_bytes += len(item)
            self._room.set()
        return item

    def accept_requests(self, numbers: Sequence[int]) -> None:
        """Do nothing: a pipe has one stream for all requests."""

    def carry_wrongly(self, fault: HttpFault | None) -> None:
        """Do nothing: a pipe has no HTTP response."""

    def crash(self) -> None:
        """End at once: nothing is flushed, nothing is closed, nothing is said."""
        if hasattr(signal, "SIGKILL"):
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(CRASHED)

    def unanswered(self, number: int) -> None:
        """Do nothing: a pipe has one stream for all requests."""

    def send(self, line: bytes, *, related_to: int = 0, deliberate: bool = False) -> None:  # noqa: ARG002 - one stream for all
        """Write a line, without its line feed, as soon as the client takes it. Never waits."""
        self._leave(as_one_line(line, deliberate=deliberate))

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
        """Wait until everything is written or has failed, at most `timeout` seconds."""
        done = threading.Event()
        self._leaving.put(done)
        done.wait(timeout)

    def drain(self) -> Iterator[bytes]:
        """Yield the unread lines at the end of the session."""
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
        """What the client has not taken yet; nothing once it reads no more."""
        if self._broken:
            return Backpressure()
        return Backpressure(self._put_bytes - self._written_bytes, self._writing_since)

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

    def _write_bytes(self, content: bytes) -> None:
        before = self._written_bytes
        try:
            for written in write_pieces(self._sink, content):
                self._written_bytes = before + written
                self._writing_since = time.monotonic()
        except OSError:
            self._is_broken()
        self._writing_since = None
