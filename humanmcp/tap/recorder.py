"""Writes down what passes, before it passes; what is to be made of it waits for a quiet moment.

What forwards a line writes it down first, with one write for each place: so whatever dies, and
at whatever moment, no line has passed that is not in the record. All else (who speaks, what the
check says) is done in a thread of its own, which keeps away from the interpreter as long as lines
pass: it begins when nothing has passed for a moment, and takes a thousandth of a second now and
then where that moment does not come.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from humanmcp.common.file_descriptors import leave_signals_to_the_main_thread
from humanmcp.common.timestamps import Stamps
from humanmcp.inbox.contract import InboxError
from humanmcp.protocol.conversation.transcript import Direction, Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from humanmcp.common.line_cutter import Cut


logger = logging.getLogger(__name__)

MOST_WAITING: Final = 4 * 1024 * 1024
"""Bytes of lines that wait in memory to be looked at; what comes on top is read again later.

That is some 14,000 messages of the usual length.
"""

_READ_AT_ONCE: Final = 500
"""Frames that are read again at a time."""

BY_TAP: Final = "tap"
"""Who wrote a frame without a decision."""

_OVERHEAD: Final = 200  # bytes that a frame takes besides its line, measured
_QUIET: Final = 0.02
"""Seconds without a line after which there is time to look at those that have passed."""

_SLICE: Final = 0.001
"""Seconds of looking at a time while lines pass without a pause."""

_SLICE_EVERY: Final = 1.0
"""Seconds from one such slice to the next."""

_STATUS: Final = 0.2  # seconds between two looks at what was left out while nothing passes

_MANY: Final = 2000
"""Lines that still wait at the end which make it a hurry: others wait for our end."""


class Output(Protocol):
    """One place where frames are written down, and who makes something of them."""

    def write(self, frame: Frame) -> None:
        """Write a frame, with one write: a message waits for it.

        Raises:
            OSError, InboxError: it could not be written.
        """

    def hear(self, frame: Frame) -> None:
        """Take note of a frame that has passed, in a quiet moment."""

    def idle(self) -> bool:
        """Use a moment in which nothing waits. Says whether there is more to do."""

    def hurry(self) -> None:
        """Hear no more: the end is near, and much still waits."""

    def last_words(self) -> None:
        """Put into the record what can only be said now that nothing more comes."""

    def close(self) -> None:
        """Finish."""


class TapRecorder:
    """Writes down at once; a thread hears what was written when there is time."""

    def __init__(
        self,
        outputs: Sequence[Output],
        *,
        now: Callable[[], float] = time.time,
        most: int = MOST_WAITING,
    ) -> None:
        """Write to these outputs; hear what was written as soon as `start` is called."""
        self._outputs = outputs
        self._now = now
        self._most = most
        self._stamps = Stamps()
        self._unheard: deque[Frame] = deque()
        self._dozing = False
        self._woken = threading.Event()
        self._writing = threading.Lock()
        self._hearing = threading.RLock()
        self._waiting = 0
        self._left_out = 0
        self._seq = 0
        self._passed_at = 0.0
        self._slice_at = 0.0
        self._closing = threading.Event()
        self.missing = 0
        """Lines that are not in the record: the disk refused them."""
        self.trouble: Exception | None = None
        """What the disk said last."""
        self.read_again: Callable[[int], Iterable[Frame]] | None = None
        """Yields the frames that were written after a number; None where nothing can be read."""
        self._behind: int | None = None
        """The number after which frames wait where they were written; None while none do."""
        self._heard = 0
        self._thread = threading.Thread(target=self._run, name="tap-hears", daemon=True)

    def start(self) -> None:
        """Begin to hear."""
        self._thread.start()

    # -- in the threads that forward ------------------------------------------------------------

    def heard(self, direction: Direction, cut: Cut) -> None:
        """Write down a line that is about to pass."""
        self.put(direction, cut.line, note=cut.note)

    def put(
        self, direction: Direction, raw: bytes, *, number: int = 0, by: str = "", note: str = ""
    ) -> None:
        """Write down a line, or something to be said of one."""
        with self._writing:
            self._seq += 1
            frame = Frame(self._seq, self._stamps.at(self._now()), direction, raw, number, by, note)
            for output in self._outputs:
                try:
                    output.write(frame)
                except (OSError, InboxError) as error:
                    self.missing += direction is not Direction.NOTE
                    self.trouble = error
                    logger.error("line %s is missing in the record: %s", frame.seq, error)  # noqa: TRY400 - no traceback for a full disk
            self._passed_at = time.monotonic()
            # A line that is alone is never too long: otherwise it could not be heard at all.
            if self._behind is None and self._waiting and self._waiting + len(raw) > self._most:
                self._behind = self._seq - 1
            if self._behind is None:
                self._waiting += len(raw) + _OVERHEAD
                self._unheard.append(frame)
            elif self.read_again is None:
                self._behind = None
                self._left_out += 1
        if self._dozing:  # else it looks by itself, and waking it costs a message time
            self._dozing = False
            self._woken.set()

    def stop(self) -> None:
        """Nothing more passes. What waits is still heard."""
        self._closing.set()
        self._woken.set()

    def wait(self, seconds: float) -> bool:
        """Wait until everything is heard, but not for long. Says whether it is."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    # -- the thread that hears ------------------------------------------------------------------

    def _run(self) -> None:
        leave_signals_to_the_main_thread()
        while not self._closing.is_set():
            self._give_way()
            if not self._hear_one() and not self._use_the_moment():
                self._doze()
        if self._seq - self._heard > _MANY:
            self._behind = None
            for output in self._outputs:
                output.hurry()
        self.catch_up()
        while self._use_the_moment():
            pass
        for output in self._outputs:
            output.last_words()
        self.catch_up()
        for output in self._outputs:
            output.close()

    def _give_way(self) -> None:
        """Let those go first who forward: wait for a quiet moment, or for the next slice."""
        while not self._closing.is_set():
            now = time.monotonic()
            quiet = self._passed_at + _QUIET - now
            if quiet <= 0 or self._slice_at <= now < self._slice_at + _SLICE:
                return
            if now >= self._slice_at + _SLICE_EVERY:
                self._slice_at = now
                return
            self._closing.wait(min(quiet, self._slice_at + _SLICE_EVERY - now))

    def _doze(self) -> None:
        """Wait for the next line; one that came just now is found soon all the same."""
        self._woken.clear()
        self._dozing = True
        if not self._unheard and self._behind is None and not self._closing.is_set():
            self._woken.wait(_STATUS)
        self._dozing = False

    def catch_up(self) -> None:
        """Hear all that was written down so far, for those who have to know it now."""
        while self._hear_one():
            pass

    def _hear_one(self) -> bool:
        """Hear the next frame. Says whether there was one."""
        with self._hearing:
            if not self._unheard:
                self._fetch()
            if not self._unheard:
                return self._behind is not None
            frame = self._unheard.popleft()
            with self._writing:
                self._waiting -= len(frame.raw) + _OVERHEAD
            self._heard = frame.seq
            for output in self._outputs:
                output.hear(frame)
        return True

    def _fetch(self) -> None:
        """Read the next frames that passed while too many waited."""
        behind, last, size = self._behind, self._seq, 0
        if behind is None or self.read_again is None:
            return
        frames: list[Frame] = []
        for frame in self.read_again(behind):
            frames.append(frame)
            size += len(frame.raw) + _OVERHEAD
            if len(frames) == _READ_AT_ONCE or size > self._most:
                break
        else:
            behind = None  # unless one has passed since
        with self._writing:
            self._unheard.extend(frames)
            self._waiting += size
            if behind is None and self._seq == last:
                self._behind = None
            elif frames:
                self._behind = frames[-1].seq

    def _use_the_moment(self) -> bool:
        self._say_what_was_left_out()
        more = [output.idle() for output in self._outputs]  # each one gets its moment
        return any(more)

    def _say_what_was_left_out(self) -> None:
        with self._writing:
            left_out, self._left_out = self._left_out, 0
        if left_out:
            note = f"{left_out} lines were not checked here: too many came; an export checks them"
            self.put(Direction.NOTE, b"", by=BY_TAP, note=note)
