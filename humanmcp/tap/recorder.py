"""Writes down what passes, before it passes; what is to be made of it waits for a quiet moment.

What forwards a line writes it down first, with one write for each place: so whatever dies, and
at whatever moment, no line has passed that is not in the record. All else (who speaks, what the
check says) is done in a thread of its own, which keeps away from the interpreter as long as lines
pass: it begins when nothing has passed for a moment, and takes a thousandth of a second now and
then where that moment does not come.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from humanmcp.common.own_process import leave_signals_to_the_main_thread
from humanmcp.common.timestamps import log_time
from humanmcp.inbox.contract import InboxError
from humanmcp.inbox.inbox_session import Stamps
from humanmcp.locales import titled
from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import (
    COMMAND,
    Direction,
    Frame,
    Perspective,
    write_log_line,
)
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Malformed, Message
from humanmcp.protocol.validation.whole_conversation import Unanswered, hints, line_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from humanmcp.common.line_pipe import Cut
    from humanmcp.inbox.inbox_session import InboxSession
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.conversation.state import ObservedMessage
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.validation.whole_conversation import NeverAnswered

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
        """Stop listening: the end is near, and much still waits."""

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

    def put(  # noqa: PLR0913 - the parts of a frame
        self,
        direction: Direction,
        raw: bytes,
        *,
        number: int = 0,
        by: str = "",
        note: str = "",
        decision: str = "",
    ) -> None:
        """Write down a line, or something to be said of one."""
        with self._writing:
            self._seq += 1
            at = self._stamps.at(int(self._now() * 1000))
            frame = Frame(self._seq, at, direction, raw, number, by, note, decision=decision)
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


LONGEST_HEARD: Final = 1024 * 1024
"""Bytes of a line that is read while others pass: reading more would hold them up.

The record says so of a longer line; an export reads every line.
"""

MOST_UNCHECKED: Final = 500
MOST_UNCHECKED_BYTES: Final = 8 * 1024 * 1024
"""What may wait for the check, as lines and as bytes; of more than that the oldest is left out."""

_SAID: Final = frozenset({Severity.ERROR, Severity.WARNING})


@dataclass(frozen=True, slots=True)
class _Unchecked:
    seq: int
    size: int
    heard: ObservedMessage | Malformed
    negotiated: NegotiatedState
    version: str
    line: tuple[Diagnostic, ...] = ()
    """What was said of the line as a line."""
    waiting: tuple[Exchange, ...] = ()
    """What waited for an answer from the side that wrote a line that is no message."""


class Listening:
    """An output of the recorder: keeps a session in the inbox."""

    def __init__(
        self,
        inbox_session: InboxSession,
        *,
        remark: Callable[[bytes, str], object],
        command: Sequence[str] = (),
    ) -> None:
        """Keep a session. `remark` puts what the check says into the record.

        `command` is that of the real server: a replay of the record may want to start it.
        """
        self._inbox_session = inbox_session
        self._remark = remark
        self._command = command
        self._view = Perspective(Direction.IN)
        self._conversation = ConversationState()
        self._unanswered = Unanswered()
        self._hearing = threading.Lock()
        self._unchecked: deque[_Unchecked] = deque()
        self._unchecked_bytes = 0
        self._hurried = False
        self._is_probe = True
        self.unanswered: tuple[NeverAnswered, ...] = ()
        """The requests without an answer, known at the end."""

    def write(self, frame: Frame) -> None:
        """Put a frame into the transcript."""
        self._inbox_session.inbox.record(self._inbox_session.name, frame)

    def hear(self, frame: Frame) -> None:
        if self._hurried:
            return
        for seen in self._view.feed(frame):
            if len(seen.raw) > LONGEST_HEARD:
                self._remark(b"", f"{seen.seq}: too long to be checked here; an export checks it")
                continue
            try:
                self._hear(seen)
            except Exception:  # what is not understood must not end the record
                logger.exception("line %s could not be understood", seen.seq)
            self._describe()

    def idle(self) -> bool:
        """Check one message that has passed. Says whether more are waiting."""
        if self._unchecked:
            unchecked = self._next_unchecked()
            try:
                self._check(unchecked)
            except Exception:  # a check that fails must not end the record
                logger.exception("line %s could not be checked", unchecked.seq)
        return bool(self._unchecked)

    def hurry(self) -> None:
        """Hear and check no more: an export reads every line again."""
        self._hurried = True
        self._unchecked.clear()
        self._unchecked_bytes = 0

    def last_words(self) -> None:
        """Say what the real server was, and which requests never got an answer."""
        if self._command:
            self._remark(json.dumps(self._command).encode(), COMMAND)
        if self._hurried:
            return
        self.unanswered = self._unanswered.left(self._conversation)
        for one in self.unanswered:
            if not one.dropped:  # else it was said when it happened
                self._say(one.seq, one.diagnostic)

    def close(self) -> None:
        """Do nothing: what began the session ends it."""

    def so_far(self) -> ConversationState:
        """Return what was heard up to now, for another thread."""
        with self._hearing:
            return self._conversation.copy()

    # -- hearing --------------------------------------------------------------------------------

    def _hear(self, frame: Frame) -> None:
        if not frame.raw.strip():
            return
        found = jsonrpc.read(frame.raw)
        said = line_hints(frame.raw, found, self._conversation.version)
        for diagnostic in said:
            self._say(frame.seq, diagnostic)
        match found:
            case Message() as message:
                self._hear_message(frame, message, said)
            case Batch() as batch:
                for item in batch.items:
                    if isinstance(item, Message):
                        self._hear_message(frame, item, said)
            case Malformed() as malformed:
                self._is_probe = False
                self._check_later(frame, malformed, said)

    def _hear_message(self, frame: Frame, message: Message, said: tuple[Diagnostic, ...]) -> None:
        with self._hearing:
            observed = self._conversation.observe(frame.direction, message)
        self._unanswered.heard(frame.seq, observed)
        if observed.method != "server/discover":
            self._is_probe = False
        self._check_later(frame, observed, said)

    def _check_later(
        self, frame: Frame, heard: ObservedMessage | Malformed, said: tuple[Diagnostic, ...]
    ) -> None:
        now, size = self._conversation, len(frame.raw)
        waiting = self._waiting_for(frame.direction) if isinstance(heard, Malformed) else ()
        self._unchecked.append(
            _Unchecked(frame.seq, size, heard, now.negotiated, now.version, said, waiting)
        )
        self._unchecked_bytes += size
        while len(self._unchecked) > MOST_UNCHECKED or self._unchecked_bytes > MOST_UNCHECKED_BYTES:
            self._next_unchecked()

    def _waiting_for(self, direction: Direction) -> tuple[Exchange, ...]:
        return tuple(
            request for request in self._conversation.open if request.direction is not direction
        )

    def _next_unchecked(self) -> _Unchecked:
        unchecked = self._unchecked.popleft()
        self._unchecked_bytes -= unchecked.size
        return unchecked

    def _describe(self) -> None:
        """Tell the desks who speaks."""
        negotiated = self._conversation.negotiated
        self._inbox_session.keep_facts(
            negotiated,
            client=negotiated.client_name,
            client_version=negotiated.client_version,
            protocol_version=self._conversation.version,
            probe=self._is_probe,
        )

    # -- checking -------------------------------------------------------------------------------

    def _check(self, unchecked: _Unchecked) -> None:
        found = hints(unchecked.heard, unchecked.negotiated, unchecked.version)
        for diagnostic in found:
            if diagnostic.severity in _SAID:
                self._say(unchecked.seq, diagnostic)
        if isinstance(unchecked.heard, Malformed):
            unanswered = self._unanswered.malformed(
                unchecked.seq, unchecked.heard, unchecked.waiting
            )
        else:
            unanswered = self._unanswered.checked(
                unchecked.seq, unchecked.heard, (*unchecked.line, *found)
            )
        if unanswered is not None:
            self._say(unchecked.seq, unanswered.diagnostic)

    def _say(self, seq: int, diagnostic: Diagnostic) -> None:
        record = {
            "about": seq,
            "code": diagnostic.code,
            "level": diagnostic.severity.value,
            "pointer": diagnostic.pointer,
            "detail": dict(diagnostic.detail),
        }
        raw = jsonrpc.as_line(record).encode()
        self._remark(raw, f"{seq}: {titled(diagnostic)}")


class TextLog:
    """One log file of one run. Two runs in one second have two files."""

    def __init__(self, folder: Path, moment: float) -> None:
        """Make the folder where it is missing, and a new file in it.

        Raises:
            OSError: it cannot be made.
        """
        folder.mkdir(parents=True, exist_ok=True)
        began = time.strftime("%Y%m%d-%H%M%S", time.localtime(moment))
        self.path, descriptor = _new_file(folder, f"mcp-capture-{began}")
        self._file = os.fdopen(descriptor, "wb")

    def write(self, frame: Frame) -> None:
        """Write a frame; what is no line of the wire is not in this log."""
        line = write_log_line(frame, log_time(frame.at))
        if line is not None:
            self._file.write(line.encode("utf-8", "replace") + b"\n")
            self._file.flush()

    def hear(self, frame: Frame) -> None:
        """Do nothing: it is written."""

    def idle(self) -> bool:
        """Do nothing: each line is written at once."""
        return False

    def hurry(self) -> None:
        """Go on as before: there is nothing that could be left out."""

    def last_words(self) -> None:
        """Say nothing: what is known at the end only is no line of the wire."""

    def close(self) -> None:
        self._file.close()


def _new_file(folder: Path, name: str) -> tuple[Path, int]:
    """Make a file of our own: the name, or the name with -2, -3 and so on."""
    count = 1
    while True:
        path = folder / (f"{name}.log" if count == 1 else f"{name}-{count}.log")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        try:
            return path, os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
        except FileExistsError:
            count += 1
