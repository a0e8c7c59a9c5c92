"""Bytes from one descriptor to another, untouched and in order, with a listener.

Knows threads and descriptors, and nothing of what a line says. As long as nothing is to be held
every piece goes on the moment it was read, also in the middle of a line of 16 MiB. Only while the
gate is closed does a line wait until it is complete and was looked at.

    source ──▶ gate ──▶ listener (a queue: it never waits) ──▶ sink
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Final, Protocol

from humanmcp.common.line_pipe import LONGEST_LINE, Cutter, pieces, wait_until_ready, write_pieces
from humanmcp.common.own_process import leave_signals_to_the_main_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.common.line_pipe import Cut
    from humanmcp.protocol.conversation.transcript import Direction

_CAN_ASK: Final = os.name != "nt"
"""Whether a pipe can be asked if it has unread bytes."""


class LineFilter(Protocol):
    """Decides which lines go on."""

    @property
    def closed(self) -> bool:
        """Return True if anything is to be held: then each line is looked at before it goes."""

    def passes(self, direction: Direction, line: bytes) -> bool:
        """Return True if a line, with its end, is forwarded now. If not, the filter keeps it."""

    def holds_unread(self, direction: Direction) -> bool:
        """Return True if a line of this side is not forwarded unless it was looked at."""

    def refuse(self, direction: Direction, cut: Cut) -> None:
        """Take note of a line that was too long to be looked at, and is not forwarded."""


class PumpListener(Protocol):
    """Hears every forwarded line, and must not block."""

    def heard(self, direction: Direction, cut: Cut) -> None:
        """Take note of a line, just before it is forwarded."""


@dataclass(eq=False)
class Pump:
    """Moves one stream, in a separate thread, until it ends or is no longer read.

    From `source`, which this object closes, to `sink`. `ended` is called at the end.
    """

    direction: Direction
    source: int
    sink: Sink
    _: KW_ONLY
    gate: LineFilter
    listener: PumpListener
    ended: Callable[[Direction], object]

    def __post_init__(self) -> None:
        self._reading_since: float | None = time.monotonic()
        """Since when (monotonic) the source has said nothing; None while a piece of it moves."""
        self._cutter = Cutter()
        self._passing = False
        """Whether the beginning of the line that comes has gone on already."""
        self._kept_back = bytearray()
        """The beginning of a line that must be complete before the gate can look at it."""
        self._refusing = False
        """Whether the line that comes is too long to be looked at, and is not forwarded."""
        self._thread = threading.Thread(
            target=self._run, name=f"tap-{self.direction.value}", daemon=True
        )

    def start(self) -> None:
        """Begin to move."""
        self._thread.start()

    @property
    def running(self) -> bool:
        """Return True if the stream goes on."""
        return self._thread.is_alive()

    def silent_for(self, seconds: float) -> bool:
        """Return True if the source has been silent so long, and all that it said has moved."""
        since = self._reading_since
        if since is None or time.monotonic() - since < seconds:
            return False
        # A thread that was not let run for a while has not read what waits for it.
        return not (_CAN_ASK and wait_until_ready(self.source, for_reading=True, seconds=0))

    def _run(self) -> None:
        leave_signals_to_the_main_thread()
        try:
            for piece in pieces(self.source):
                self._reading_since = None
                if not self._move(piece):
                    break
                self._reading_since = time.monotonic()
            self._reading_since = None
            self._finish()
        finally:
            # Whoever writes to us finds out at once that nobody reads on, as without a tap.
            os.close(self.source)
            self.ended(self.direction)

    def _move(self, chunk: bytes) -> bool:
        """Pass a piece on. False when it is no longer read."""
        if self._passing or self._refusing:
            end = chunk.find(b"\n") + 1 or len(chunk)
            (self._let_through if self._passing else self._refuse)(chunk[:end])
            chunk = chunk[end:]
        if self._kept_back or self.gate.closed:
            self._look_at(chunk)
        elif chunk:
            self._let_through(chunk)
        return self.sink.open

    def _let_through(self, piece: bytes) -> None:
        """Let a piece of the stream go on, wherever it ends. First it is heard: order matters."""
        for cut in self._cutter.feed(piece):
            self.listener.heard(self.direction, cut)
        self._passing = self._cutter.within
        self.sink.stream(piece)

    def _look_at(self, chunk: bytes) -> None:
        """Let those lines go on that the gate lets pass; keep back a line that is not complete."""
        start = 0
        while end := chunk.find(b"\n", start) + 1:
            self._kept_back += chunk[start:end]
            start = end
            self._ask_gate()
        self._kept_back += chunk[start:]
        if len(self._kept_back) > LONGEST_LINE:
            self._give_up_on(self._take_back())

    def _give_up_on(self, line: bytes) -> None:
        """Pass on, or refuse, a line that is too long to be looked at, or its beginning."""
        refuses = self.gate.holds_unread(self.direction)
        (self._refuse if refuses else self._let_through)(line)

    def _refuse(self, piece: bytes) -> None:
        """Throw a piece of a line away; of the whole line, its ends are kept."""
        for cut in self._cutter.feed(piece):
            self.gate.refuse(self.direction, cut)
        self._refusing = self._cutter.within

    def _ask_gate(self) -> None:
        line = self._take_back()
        if len(line) > LONGEST_LINE + 1:
            self._give_up_on(line)
        elif self.gate.passes(self.direction, line):
            self._let_through(line)

    def _take_back(self) -> bytes:
        line, self._kept_back = bytes(self._kept_back), bytearray()
        return line

    def _finish(self) -> None:
        """Pass on what stands at the end without a line feed: it is a message to many readers."""
        if self._kept_back:
            self._ask_gate()
        for cut in self._cutter.end():
            if self._refusing:
                self.gate.refuse(self.direction, cut)
            else:
                self.listener.heard(self.direction, cut)


class Sink:
    """A descriptor to write to. The pump streams into it; others insert between its lines."""

    def __init__(self, descriptor: int) -> None:
        """Write to `descriptor`, which this object closes."""
        self._descriptor = descriptor
        self._writing = threading.Lock()
        self._within_line = False
        self._inserted: deque[bytes] = deque()
        self._ending = False
        self._something_to_do = threading.Semaphore(0)
        self._inserter: threading.Thread | None = None
        self._open = True

    @property
    def open(self) -> bool:
        """Return True if anything that is written may still be read."""
        return self._open

    def stream(self, chunk: bytes) -> None:
        """Write the next piece of the stream. What is no longer read is thrown away."""
        with self._writing:
            end = chunk.rfind(b"\n") + 1
            self._within_line = end < len(chunk) if end else self._within_line or bool(chunk)
            if end and self._inserted:
                self._write(chunk[:end])
                self._write_inserted()
                chunk = chunk[end:]
            self._write(chunk)

    def insert(self, line: bytes) -> None:
        """Write a whole line, with its line feed, as soon as the stream is between two lines."""
        self._inserted.append(line)
        self._leave_it_to_the_inserter()

    def close(self) -> None:
        """End the stream once all of it is written. A second time changes nothing.

        Returns at once; `open` says when the reader can see the end of its input.
        """
        self._ending = True
        if not self._inserted and self._writing.acquire(blocking=False):
            try:
                self._shut()
            finally:
                self._writing.release()
        else:
            self._leave_it_to_the_inserter()

    # -- what may have to wait for a reader ------------------------------------------------------

    def _leave_it_to_the_inserter(self) -> None:
        if self._inserter is None:  # most taps never hold anything
            self._inserter = threading.Thread(target=self._insert, name="tap-inserts", daemon=True)
            self._inserter.start()
        self._something_to_do.release()

    def _insert(self) -> None:
        leave_signals_to_the_main_thread()
        while self._open:
            self._something_to_do.acquire()
            with self._writing:
                if self._ending:
                    if self._inserted and self._within_line:
                        self._write(b"\n")
                    self._write_inserted()
                    self._shut()
                elif not self._within_line:
                    self._write_inserted()

    def _write_inserted(self) -> None:
        while self._inserted:
            self._write(self._inserted.popleft())

    def _write(self, content: bytes) -> None:
        if self._open:
            try:
                for _ in write_pieces(self._descriptor, content):
                    pass
            except OSError:
                self._shut()

    def _shut(self) -> None:
        if self._open:
            self._open = False
            os.close(self._descriptor)
