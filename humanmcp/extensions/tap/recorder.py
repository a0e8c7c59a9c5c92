"""Writes down what passes, before it passes; what is to be made of it waits for a quiet moment.

What forwards a line writes it down first, with one write for each place: so whatever dies, and
at whatever moment, no line has passed that is not in the record. All else (who speaks, what the
check says) is done by a thread that reads the transcript again. It keeps away from the interpreter
as long as lines pass: it begins when nothing has passed for a moment, and takes a thousandth of a
second now and then where that moment does not come.
"""

from __future__ import annotations

import copy
import itertools
import json
import logging
import os
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final

from humanmcp.common.own_process import leave_signals_to_the_main_thread
from humanmcp.common.timestamps import log_time
from humanmcp.inbox.contract import InboxError
from humanmcp.inbox.inbox_session import Stamps
from humanmcp.locales import titled
from humanmcp.protocol.conversation.transcript import (
    BY_CHECK,
    COMMAND,
    Direction,
    Frame,
    Perspective,
)
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.json.undecoded import envelope
from humanmcp.protocol.validation.captures import write_log_line
from humanmcp.protocol.validation.whole_conversation import ConversationJudge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from humanmcp.common.line_pipe import Cut
    from humanmcp.inbox.inbox_session import InboxSession
    from humanmcp.protocol.conversation.state import ConversationState
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.validation.whole_conversation import NeverAnswered

logger = logging.getLogger(__name__)

BY_TAP: Final = "tap"
"""Who wrote a frame without a decision."""


class TapRecorder:
    """Writes frames down at once, in every place."""

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self.outputs: list[Callable[[Frame], object]] = []
        """Each writes a frame with one write, and raises `OSError` or `InboxError` if it cannot."""
        self.seq = 0
        """The number of the last frame."""
        self.passed_at = 0.0
        """When that was written, by the monotonic clock."""
        self.waking: threading.Event | None = None
        """Is set by the next frame. None while nobody waits: to wake costs a message time."""
        self.missing = 0
        """Lines that are not in the record: the disk refused them."""
        self.trouble: Exception | None = None
        """What the disk said last."""
        self._now = now
        self._stamps = Stamps()
        self._writing = threading.Lock()

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
            self.seq += 1
            at = self._stamps.at(int(self._now() * 1000))
            frame = Frame(self.seq, at, direction, raw, number, by, note, decision=decision)
            for write in self.outputs:
                try:
                    write(frame)
                except (OSError, InboxError) as error:
                    self.missing += direction is not Direction.NOTE
                    self.trouble = error
                    logger.error("line %s is missing in the record: %s", frame.seq, error)  # noqa: TRY400 - no traceback for a full disk
            self.passed_at = time.monotonic()
        waking = self.waking
        if waking is not None:
            self.waking = None
            waking.set()

    def written(self) -> int:
        """Return the number of the last frame, once it is written."""
        with self._writing:
            return self.seq


_QUIET: Final = 0.02
"""Seconds without a line after which there is time to look at those that have passed."""

_SLICE: Final = 0.001
"""Seconds of looking at a time while lines pass without a pause."""

_SLICE_EVERY: Final = 1.0
"""Seconds from one such slice to the next."""

_MANY: Final = 2000
"""Lines that are not heard yet at the end and never will be: others wait for our end."""

LONGEST_HEARD: Final = 1024 * 1024
"""Bytes of a line that is read while others pass: reading more would hold them up.

The record says so of a longer line; an export reads every line.
"""

MOST_UNCHECKED: Final = 500
"""Lines that may wait for the check; what is older is not checked here. An export checks it."""

_SAID: Final = frozenset({Severity.ERROR, Severity.WARNING})


def _short(line: bytes) -> bytes:
    """Return a line as it is read while others pass: of a long one, what it is and answers."""
    return line if len(line) <= LONGEST_HEARD else envelope(line)


class Listening:
    """Hears what is in a transcript, in a thread, and puts what the check says of it there, too."""

    def __init__(
        self, inbox_session: InboxSession, recorder: TapRecorder, command: Sequence[str] = ()
    ) -> None:
        """Record a session. `command` is the real server's: a replay may want to start it."""
        self._inbox_session = inbox_session
        self._recorder = recorder
        self._command = command
        self._view = Perspective(Direction.IN)
        self._judge = ConversationJudge(strict=False)
        self._frames: Iterator[Frame] = iter(())
        self._heard = 0
        """The number of the last frame that was heard."""
        self._is_probe = True
        self._slice_at = 0.0
        self._hearing = threading.Lock()
        self._closing = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tap-hears", daemon=True)
        self.unanswered: tuple[NeverAnswered, ...] = ()
        """The requests without an answer, known at the end."""
        recorder.outputs.append(partial(inbox_session.inbox.record, inbox_session.name))

    def start(self) -> None:
        """Begin to hear."""
        self._thread.start()

    def stop(self) -> None:
        """Nothing more passes. What waits is still heard."""
        self._closing.set()
        self._woken.set()

    def wait(self, seconds: float) -> bool:
        """Wait until everything is heard, but not for long. Says whether it is."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def so_far(self) -> ConversationState:
        """Return the state of the conversation after every line so far, for another thread."""
        with self._hearing:
            state, view = self._judge.conversation.copy(), copy.deepcopy(self._view)
            heard = self._heard
        for frame in self._inbox_session.frames(heard):
            for seen in view.feed(frame):
                for message in jsonrpc.items_in(_short(seen.raw)):
                    if isinstance(message, Message):
                        state.observe(seen.direction, message)
        return state

    # -- the thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        leave_signals_to_the_main_thread()
        while not self._closing.is_set():
            self._give_way()
            if not self._hear_next():
                self._doze()
        if self._command:
            self._remark(json.dumps(self._command).encode(), COMMAND)
        if self._recorder.written() - self._heard > _MANY:
            return
        while self._hear_next():
            pass
        self.unanswered = self._judge.unanswered_requests()
        for one in self.unanswered:
            if not one.dropped:  # else it was said when it happened
                self._say(one.seq, one.diagnostic)

    def _give_way(self) -> None:
        """Let those go first who forward: wait for a quiet moment, or for the next slice."""
        while not self._closing.is_set():
            now = time.monotonic()
            quiet = self._recorder.passed_at + _QUIET - now
            if quiet <= 0 or self._slice_at <= now < self._slice_at + _SLICE:
                return
            if now >= self._slice_at + _SLICE_EVERY:
                self._slice_at = now
                return
            self._closing.wait(min(quiet, self._slice_at + _SLICE_EVERY - now))

    def _doze(self) -> None:
        """Wait for the next frame."""
        self._woken.clear()
        self._recorder.waking = self._woken
        if self._heard == self._recorder.written() and not self._closing.is_set():
            self._woken.wait()
        self._recorder.waking = None

    def _hear_next(self) -> bool:
        """Hear and check the next frame. Return False if there is none."""
        with self._hearing:
            frame = self._next_frame()
            if frame is None:
                return False
            for seen in self._view.feed(frame):
                try:
                    self._hear(seen, checks=self._recorder.seq - frame.seq <= MOST_UNCHECKED)
                except Exception:  # what is not understood must not end the record
                    logger.exception("line %s could not be understood", seen.seq)
        self._describe()
        return True

    def _next_frame(self) -> Frame | None:
        frame = next(self._frames, None)
        if frame is None and (last := self._recorder.written()) > self._heard:
            self._frames = self._inbox_session.frames(self._heard)
            frame = next(self._frames, None)
            self._heard = last if frame is None else self._heard  # the disk has refused the rest
        if frame is not None:
            self._heard = frame.seq
        return frame

    def _hear(self, frame: Frame, *, checks: bool) -> None:
        if len(frame.raw) > LONGEST_HEARD:
            self._remark(b"", f"{frame.seq}: too long to be checked here; an export checks it")
            checks = False
        if not checks:
            self._judge.follow(frame.seq, frame.direction, _short(frame.raw))
        else:
            for judged in self._judge.line(frame.seq, frame.direction, frame.raw):
                self._is_probe &= judged.method == "server/discover"
                for diagnostic in judged.diagnostics:
                    if diagnostic.severity in _SAID:
                        self._say(judged.line, diagnostic)

    def _describe(self) -> None:
        """Tell the desks who speaks."""
        conversation = self._judge.conversation
        negotiated = conversation.negotiated
        self._inbox_session.keep_facts(
            negotiated,
            client=negotiated.client_name,
            client_version=negotiated.client_version,
            protocol_version=conversation.version,
            probe=self._is_probe,
        )

    def _say(self, seq: int, diagnostic: Diagnostic) -> None:
        record = {
            "about": seq,
            "code": diagnostic.code,
            "level": diagnostic.severity.value,
            "pointer": diagnostic.pointer,
            "detail": dict(diagnostic.detail),
        }
        self._remark(jsonrpc.as_line(record).encode(), f"{seq}: {titled(diagnostic)}")

    def _remark(self, raw: bytes, note: str) -> None:
        self._recorder.put(Direction.NOTE, raw, by=BY_CHECK, note=note)


class TextLog:
    """One log file of one run. Two runs in one second have two files."""

    def __init__(self, folder: Path, moment: float) -> None:
        """Make the folder where it is missing, and a new file in it.

        Raises:
            OSError: it cannot be made.
        """
        folder.mkdir(parents=True, exist_ok=True)
        began = time.strftime("%Y%m%d-%H%M%S", time.localtime(moment))
        self._file = _new_file(folder, f"mcp-capture-{began}")

    def write(self, frame: Frame) -> None:
        """Write a frame; what is no line of the wire is not in this log."""
        line = write_log_line(frame, log_time(frame.at))
        if line is not None:
            self._file.write(line.encode("utf-8", "replace") + b"\n")
            self._file.flush()


def _new_file(folder: Path, name: str) -> BinaryIO:
    """Make a private file of our own: the name, or the name with -2, -3 and so on."""
    names = itertools.chain((name,), (f"{name}-{count}" for count in itertools.count(2)))
    for own in names:
        with suppress(FileExistsError):
            return open(folder / f"{own}.log", "xb", opener=partial(os.open, mode=0o600))
    raise AssertionError("names never end")
