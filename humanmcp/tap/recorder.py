"""Writes down what passes, in a thread of its own: whoever forwards only puts it into a queue.

The queue may hold a lot, but not everything: a disk that is slower than the traffic for long makes
lines be dropped from the record (never from the stream). They are counted, and the record says so.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, Protocol

from humanmcp.descriptors import leave_signals_to_the_main_thread
from humanmcp.inbox.contract import InboxError
from humanmcp.moments import stamp
from humanmcp.protocol.transcript import Frame, Way

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.tap.cutter import Cut

logger = logging.getLogger(__name__)

MOST_WAITING: Final = 64 * 1024 * 1024
"""Bytes that wait to be written down; what comes on top of that is dropped from the record.

That is a flood of 200,000 messages of the usual length.
"""

BY_TAP: Final = "tap"
"""Who wrote a frame that nobody decided."""

_OVERHEAD: Final = 200  # bytes that an entry takes besides its line, measured
_LINGER: Final = 0.002
"""Seconds that a line waits before it is written down: an answer that comes at once goes first."""

_STATUS: Final = 0.2  # seconds between two looks at what was dropped while nothing passes

_MANY: Final = 2000
"""Entries that still wait at the end which make it a hurry: others wait for our end."""


class Output(Protocol):
    """One place where frames are written down."""

    def write(self, frame: Frame) -> None:
        """Write a frame.

        Raises:
            OSError, InboxError: it could not be written.
        """

    def idle(self) -> bool:
        """Use a moment in which nothing waits. Says whether there is more to do."""

    def hurry(self) -> None:
        """From now on only write down: the end is near, and much still waits."""

    def last_words(self) -> None:
        """Put into the record what can only be said now that nothing more comes."""

    def close(self) -> None:
        """Finish."""


@dataclass(frozen=True, slots=True)
class _Entry:
    way: Way
    raw: bytes
    at: float
    number: int
    by: str
    note: str


class Recorder:
    """The queue, and the thread that writes down what is in it."""

    def __init__(
        self,
        outputs: Sequence[Output],
        *,
        now: Callable[[], float] = time.time,
        most: int = MOST_WAITING,
    ) -> None:
        """Write to these outputs, as soon as `start` is called."""
        self._outputs = outputs
        self._now = now
        self._most = most
        self._entries: SimpleQueue[_Entry | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._unwritten = 0
        self._dropped = 0
        self._seq = 0
        self._closing = threading.Event()
        self.lost = 0
        """Lines that were dropped, or refused by the disk."""
        self.trouble: Exception | None = None
        """What the disk said last."""
        self._thread = threading.Thread(target=self._run, name="tap-records", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    # -- the side of those who must not wait ----------------------------------------------------

    def heard(self, way: Way, cut: Cut) -> None:
        """Take note of a line that passes."""
        self.put(way, cut.line, note=cut.note)

    def put(self, way: Way, raw: bytes, *, number: int = 0, by: str = "", note: str = "") -> None:
        """Take note of a line, or of something to be said of one."""
        with self._lock:
            # A line that is alone is never too long: otherwise it could not be kept at all.
            if self._waiting and self._waiting + len(raw) > self._most:
                self._dropped += 1
                return
            self._waiting += len(raw) + _OVERHEAD
            self._unwritten += way is not Way.NOTE
        self._entries.put(_Entry(way, raw, self._now(), number, by, note))

    def stop(self) -> None:
        """Take no more. What waits is still written down."""
        self._closing.set()
        self._entries.put(None)

    def wait(self, seconds: float) -> bool:
        """Wait until everything is written down, but not for long. Says whether it is."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def missing(self) -> int:
        """The lines that are not in the record: lost, or still waiting."""
        with self._lock:
            return self.lost + self._dropped + self._unwritten

    # -- the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        leave_signals_to_the_main_thread()
        busy = False
        while True:
            try:
                entry = self._entries.get(timeout=0 if busy else _STATUS)
            except Empty:
                busy = self._use_the_moment()
                continue
            if entry is None:
                break
            if not busy:
                self._closing.wait(_LINGER)
                busy = True
            if self._closing.is_set() and self._entries.qsize() > _MANY:
                for output in self._outputs:
                    output.hurry()
            self._take(entry)
        self._say_what_is_missing()
        while self._use_the_moment():
            pass
        for output in self._outputs:
            output.last_words()
        self._take_the_rest()
        for output in self._outputs:
            output.close()

    def _take_the_rest(self) -> None:
        """Write down what was said about the last lines after the last of them."""
        with suppress(Empty):
            while True:
                entry = self._entries.get_nowait()
                if entry is not None:
                    self._take(entry)

    def _use_the_moment(self) -> bool:
        self._say_what_is_missing()
        more = [output.idle() for output in self._outputs]  # each one gets its moment
        return any(more)

    def _take(self, entry: _Entry) -> None:
        self._say_what_is_missing()
        with self._lock:
            self._waiting -= len(entry.raw) + _OVERHEAD
            self._unwritten -= entry.way is not Way.NOTE
        self._write(entry)

    def _say_what_is_missing(self) -> None:
        with self._lock:
            dropped, self._dropped = self._dropped, 0
        if dropped:
            self.lost += dropped
            note = f"{dropped} lines are missing here: the disk was slower than the traffic"
            self._write(_Entry(Way.NOTE, b"", self._now(), 0, BY_TAP, note))

    def _write(self, entry: _Entry) -> None:
        self._seq += 1
        frame = Frame(
            self._seq, stamp(entry.at), entry.way, entry.raw, entry.number, entry.by, entry.note
        )
        for output in self._outputs:
            try:
                output.write(frame)
            except (OSError, InboxError) as error:
                self.lost += 1
                self.trouble = error
                logger.error("line %s is missing in the record: %s", frame.seq, error)  # noqa: TRY400 - no traceback for a full disk
