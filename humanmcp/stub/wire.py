"""Stdin and stdout as lines, and the two other ways out of the process: stderr and signals.

Knows bytes, line feeds, descriptors and threads, and nothing of what a line says. Besides
`terminal.py` this is the only place that may speak to stdout, and it does so through a private
descriptor: a stray `print`, `os.write(1, …)` or child process writes to stderr.

    client ──▶ source ──▶ reading thread ──▶ get() ─┐
                                                    the loop
    client ◀── sink ◀──── writing thread ◀── put() ─┘

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
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from humanmcp.common import file_descriptors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType, TracebackType
    from typing import Self

    _Reaction: TypeAlias = Callable[[int, FrameType | None], object] | int | None

LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes of a line that is kept; a longer one is counted and dropped."""

_AHEAD: Final = LONGEST_LINE
"""Bytes that reading may be ahead of the loop; then the pipe fills, and the client waits."""

_READ_SIZE: Final = 64 * 1024  # what a pipe holds; more would be mapped and unmapped each time
# One write(2) of a long line to a slow reader would look stuck for as long as the line takes.
_WRITE_SIZE: Final = 64 * 1024
_FIRST: Final = 1024
_PATIENCE: Final = 1.0  # seconds between two looks at a loop that is far behind


class TooLong(NamedTuple):
    """A line that was too long to keep: how it began, its bytes without the line feed, its end."""

    first: bytes
    size: int
    last: bytes = b""


class EndOfInput:
    """The client is gone: it closed its end, or nobody reads what we write."""


class SignalArrived(NamedTuple):
    """The process was told to stop, by this signal."""

    signal: int


Incoming: TypeAlias = bytes | TooLong | EndOfInput | SignalArrived


class LineError(ValueError):
    """What was to be written is no line: it would break the stream for good."""

    def __init__(self, why: str, line: bytes) -> None:
        """Remember why, and how it began."""
        super().__init__(why, line[:80])
        self.why = why

    def __str__(self) -> str:
        """Return what is wrong with it."""
        return f"not written to the client: {self.why}; write one message as one line of UTF-8"


class LineReader:
    """Cuts a stream of bytes into lines, at line feeds and nowhere else.

    MCP, transports: "Messages are delimited by newlines". U+2028, U+0085 and a lone carriage return
    are allowed inside a JSON text. Takes linear time, however small the pieces are.
    """

    __slots__ = ("_kept", "_last", "_longest", "_size")

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        """Keep lines of up to `longest` bytes."""
        self._longest = longest
        self._kept = bytearray()
        self._last = b""
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | TooLong]:
        """Take the next piece of the stream; yield the lines that it completes."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._keep(end)
            yield from self.end()
        self._keep(rest)

    def end(self) -> Iterator[bytes | TooLong]:
        """Yield what stands there without a line feed, if it is more than white space."""
        line, size, last = bytes(self._kept), self._size, self._last
        self._kept, self._size, self._last = bytearray(), 0, b""
        if size > self._longest:
            yield TooLong(line, size, last)
        elif line.strip(b" \t\r"):
            yield line

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._longest:
            before = self._last or bytes(self._kept[-_FIRST:])
            self._last = (before + piece)[-_FIRST:]
            del self._kept[_FIRST:]
            piece = piece[: _FIRST - len(self._kept)]
        self._kept += piece


class Wire:
    """The client's two pipes. Reads from the moment it is made.

    `source` and `sink` are descriptors; whoever passes them owns them and must keep them open.
    """

    def __init__(self, source: int, sink: int, *, longest: int = LONGEST_LINE) -> None:
        """Start to read lines of up to `longest` bytes, and to write what is put."""
        self._source = source
        self._sink = sink
        self._is_pipe = hasattr(select, "poll") and stat.S_ISFIFO(os.fstat(sink).st_mode)
        self._lines = LineReader(longest)
        self._arrived: SimpleQueue[Incoming | None] = SimpleQueue()
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
        self._told: SignalArrived | None = None
        self._parent = os.getppid()
        for run, name in ((self._read, "wire-reads"), (self._write, "wire-writes")):
            threading.Thread(target=run, name=name, daemon=True).start()

    @classmethod
    def claim(cls, *, longest: int = LONGEST_LINE) -> Wire:
        """Take stdin and stdout away from everybody else in this process and its children.

        From then on descriptor 0 reads nothing and descriptor 1 is stderr.
        """
        source, sink = file_descriptors.claim()
        return cls(source, sink, longest=longest)

    # -- the loop's side ----------------------------------------------------------------------

    def get(self, timeout: float | None = None) -> Incoming | None:
        """Wait for the next line; None when `timeout` seconds, 0 or more, brought none.

        A line keeps its carriage return and its byte-order mark; blank lines never come. To be told
        to stop overtakes whatever waits to be taken.
        """
        item: Incoming | None = None
        if self._told is None:
            with suppress(Empty):
                item = self._arrived.get(timeout=timeout)
        if self._told is not None and item is None:
            item, self._told = self._told, None
        if isinstance(item, bytes):
            self._taken_bytes += len(item)
            self._room.set()
        return item

    def put(self, line: bytes) -> None:
        """Write a line, without its line feed, as soon as the client takes it. Never waits.

        Raises:
            LineError: it holds a line break, is no UTF-8, or is empty.
        """
        if b"\r" in line:
            raise LineError("it holds a line break", line)
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise LineError(f"byte {error.start + 1} is no UTF-8", line) from error
        self.put_deliberate(line)

    def put_deliberate(self, line: bytes) -> None:
        """Write a line that may be broken in every way but one: it is one line.

        Raises:
            LineError: it holds a line feed, or is empty.
        """
        if not line:
            raise LineError("it is empty", line)
        if b"\n" in line:
            raise LineError("it holds a line break", line)
        self._leave(line + b"\n")

    def put_raw(self, content: bytes) -> None:
        """Write bytes as they are, with no line feed after them: whoever asks for it means it.

        They may be half a line, several, or no UTF-8. What is put next follows them directly.
        """
        self._leave(content)

    def _leave(self, content: bytes) -> None:
        all_written = self._put_bytes == self._written_bytes
        self._put_bytes += len(content)
        if not (all_written and self._takes_at_once(content)):
            self._leaving.put(content)

    def _takes_at_once(self, content: bytes) -> bool:
        """Write what the pipe takes without waiting; says whether it did.

        To wake the writing thread takes longer than the write. POSIX, write(): a pipe that is ready
        takes PIPE_BUF bytes whole; the writing thread has nothing to do, so the order is kept.
        """
        if not self._is_pipe or self._broken or len(content) > select.PIPE_BUF:
            return False
        if not file_descriptors.wait_until_ready(self._sink, for_reading=False, seconds=0):
            return False
        try:
            self._written_bytes += os.write(self._sink, content)
        except BlockingIOError:  # filled by somebody else who has it
            return False
        except OSError:
            self._is_broken()
        return True

    def _is_broken(self) -> None:
        """Note that nobody reads any more: EPIPE, as a rule; this client gets no more lines."""
        self._broken = True
        self._arrived.put(EndOfInput())

    def flush(self, timeout: float) -> bool:
        """Wait until everything that was put is written. Says whether it was."""
        done = threading.Event()
        self._leaving.put(done)
        return done.wait(timeout) and not self._broken

    def nudge(self) -> None:
        """Let `get` return None now: something else has happened. May be called from any thread."""
        self._arrived.put(None)

    def wake(self, told: SignalArrived) -> None:
        """Make `get` return this next. May be called from any thread."""
        self._told = told
        self._arrived.put(None)  # for whoever waits there already

    def rest(self) -> Iterator[bytes]:
        """Yield the lines that came and were not taken: `get` has said that it is time to stop."""
        with suppress(Empty):
            while True:
                item = self._arrived.get_nowait()
                if isinstance(item, bytes):
                    yield item

    @property
    def broken(self) -> bool:
        """Return True if the client closed its end of stdout. `get` has said end of input then."""
        return self._broken

    @property
    def ended(self) -> bool:
        """Return True if the client closed its end of stdin: `get` has the last lines already."""
        return self._ended

    @property
    def unsent(self) -> int:
        """Return the bytes that were put and that the client has not taken yet."""
        return self._put_bytes - self._written_bytes

    def stuck_for(self, now: float) -> float:
        """Return for how many seconds the client has taken nothing of what is being written.

        `now` is `time.monotonic()`. 0 when nothing is being written.
        """
        since = self._writing_since
        return 0.0 if since is None else max(0.0, now - since)

    def orphaned(self) -> bool:
        """Return True if the process that started this one is gone.

        A host that is killed closes its pipes, unless another of its children holds them as well.
        Not PR_SET_PDEATHSIG: it fires when the *thread* that started us ends, and hosts start
        servers from worker threads. Windows never gives a child a new parent; there the pipe is
        the only sign.
        """
        return os.getppid() != self._parent

    # -- the two threads ----------------------------------------------------------------------

    def _read(self) -> None:
        while chunk := self._chunk():
            for line in self._lines.feed(chunk):
                self._arrive(line)
            del chunk  # 64 KiB less while we wait for the next one
        for line in self._lines.end():
            self._arrive(line)
        self._ended = True
        self._arrived.put(EndOfInput())

    def _arrive(self, line: bytes | TooLong) -> None:
        self._arrived.put(line)
        if isinstance(line, bytes):
            self._read_bytes += len(line)
        while self._read_bytes - self._taken_bytes > _AHEAD:
            self._room.clear()
            if self._read_bytes - self._taken_bytes > _AHEAD:  # not taken since we looked
                self._room.wait(_PATIENCE)

    def _chunk(self) -> bytes:
        while True:
            try:
                return os.read(self._source, _READ_SIZE)
            except BlockingIOError:  # the host made its pipe non-blocking, and we share it
                file_descriptors.wait_until_ready(self._source, for_reading=True)
            except OSError:  # a terminal that went away, a reset socket: there is no more
                return b""

    def _write(self) -> None:
        while True:
            item = self._leaving.get()
            if isinstance(item, threading.Event):
                item.set()
            elif not self._broken:
                self._write_bytes(item)

    def _write_bytes(self, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            self._writing_since = time.monotonic()
            try:
                written = os.write(self._sink, rest[:_WRITE_SIZE])
            except BlockingIOError:
                file_descriptors.wait_until_ready(self._sink, for_reading=False)
                continue
            except OSError:
                self._is_broken()
                break
            self._written_bytes += written
            rest = rest[written:]
        self._writing_since = None


class StopSignals:
    """Turns the signals that end a server into values: `wake` is called with each, at once.

    Hosts send SIGINT, SIGTERM or both; a terminal that closes sends SIGHUP, which stays ignored
    where it was (`nohup`). `undo` brings the former state back.

    A handler in Python would not do: it runs in the main thread, which does not notice a signal
    that arrives just before it begins to wait. So the interpreter writes the number of each signal
    into a pipe, and a thread reads it there.
    """

    def __init__(self, wake: Callable[[SignalArrived], object]) -> None:
        """Begin to listen. Only the main thread may."""
        self._wake = wake
        self._before: dict[int, _Reaction] = {}
        for number in file_descriptors.ending_signals():
            if number.name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, _leave_it_to_the_pipe)
        reader, self._writer = os.pipe()
        if os.name != "nt":  # there it need not be, and cannot
            os.set_blocking(self._writer, False)
        self._writer_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        listen = threading.Thread(
            target=self._listen, args=(reader,), name="wire-signals", daemon=True
        )
        listen.start()

    def undo(self) -> None:
        """Give the signals back to whoever had them. A second time changes nothing."""
        if self._writer < 0:
            return
        signal.set_wakeup_fd(self._writer_before)
        for number, before in self._before.items():
            signal.signal(number, before)
        os.close(self._writer)
        self._writer = -1

    def __enter__(self) -> Self:
        """Listen as long as the context lasts."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the signals back."""
        self.undo()

    def _listen(self, reader: int) -> None:
        while numbers := os.read(reader, 64):
            for number in numbers:
                if number in self._before:
                    self._wake(SignalArrived(number))
        os.close(reader)


def _leave_it_to_the_pipe(_number: int, _frame: FrameType | None) -> None:
    """Stand in for the default reaction, which would end the process on the spot."""


class Stderr:
    """What is said to the host's log: 2 KB in a session's life, never waiting, never failing.

    Some hosts open a pipe for stderr and never read it; servers that talked on were found hanging
    after 4,000 bytes on Windows, and after 16 to 64 KB elsewhere.
    """

    def __init__(self, descriptor: int = 2, budget: int = 2048) -> None:
        """Say at most `budget` bytes to `descriptor`."""
        self._descriptor = descriptor
        self._budget = budget

    def say(self, text: str) -> bool:
        """Write a text and a line feed, cut to the budget. Says whether any of it was written.

        What could act on a terminal is shown as its code point.
        """
        safe = "".join(
            c if c.isprintable() or c == "\n" else f"⟦U+{ord(c):04X}⟧" for c in text.rstrip("\n")
        )
        line = safe.encode()[: max(0, self._budget - 1)].decode(errors="ignore").encode() + b"\n"
        if line == b"\n":
            return False
        try:
            # Not O_NONBLOCK: it would change the terminal or pipe for everybody who shares it. A
            # pipe that is ready takes PIPE_BUF bytes (4,096, at least 512) without waiting.
            if not file_descriptors.wait_until_ready(
                self._descriptor, for_reading=False, seconds=0
            ):
                return False
            written = os.write(self._descriptor, line)
        except (OSError, ValueError):  # full, closed, or -1
            return False
        self._budget -= written
        return True
