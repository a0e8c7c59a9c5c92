"""Where the bytes of one direction go to: one pump streams, others put whole lines in between.

Only the pump, which has nothing else to do, ever waits for a reader who does not read: what
is put in between, and the end, wait for their turn in a thread of their own.
"""

from __future__ import annotations

import os
import threading
from collections import deque

from humanmcp.common.file_descriptors import leave_signals_to_the_main_thread, wait_until_ready


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
        rest = memoryview(content)
        while rest and self._open:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:  # the host made its pipe non-blocking, and we share it
                wait_until_ready(self._descriptor, for_reading=False)
            except OSError:  # EPIPE, as a rule; whatever it is, nobody gets any more of this
                self._shut()

    def _shut(self) -> None:
        if self._open:
            self._open = False
            os.close(self._descriptor)
