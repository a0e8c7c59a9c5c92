"""What a tapped session is kept as: its transcript, who speaks there, and what the check says.

What forwards a line writes the transcript. All else runs in the recorder's thread, in the
moments in which nothing passes, and passes over what it does not get to.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from humanmcp.inbox.contract import InboxError
from humanmcp.locales import describe as sentence
from humanmcp.protocol.conversation.perspective import Perspective
from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import COMMAND, Direction, Frame
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Malformed, Message
from humanmcp.protocol.validation.observed import hints, line_hints
from humanmcp.protocol.validation.unanswered import Unanswered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.inbox.contract import ServerInbox, SessionFacts
    from humanmcp.protocol.conversation.exchange import Established
    from humanmcp.protocol.conversation.state import ObservedMessage, ObservedRequest
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.validation.unanswered import NeverAnswered

logger = logging.getLogger(__name__)


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
    established: Established
    revision: str
    line: tuple[Diagnostic, ...] = ()
    """What was said of the line as a line."""
    waiting: tuple[ObservedRequest, ...] = ()
    """What waited for an answer from the side that wrote a line that is no message."""


class Listening:
    """An output of the recorder: keeps a session in the inbox."""

    def __init__(
        self,
        inbox: ServerInbox,
        facts: SessionFacts,
        *,
        remark: Callable[[bytes, str], object],
        language: str,
        command: Sequence[str] = (),
    ) -> None:
        """Keep the session `facts.name`. `remark` puts what the check says into the record.

        `command` is that of the real server: a replay of the record may want to start it.
        """
        self._inbox = inbox
        self._facts = facts
        self._remark = remark
        self._language = language
        self._command = command
        self._view = Perspective(Direction.IN)
        self._conversation = ConversationState()
        self._unanswered = Unanswered()
        self._hearing = threading.Lock()
        self._unchecked: deque[_Unchecked] = deque()
        self._unchecked_bytes = 0
        self._last_noted: object = None
        self._hurried = False
        self.unanswered: tuple[NeverAnswered, ...] = ()
        """The requests without an answer, known at the end."""

    def write(self, frame: Frame) -> None:
        """Put a frame into the transcript."""
        self._inbox.record(self._facts.name, frame)

    def hear(self, frame: Frame) -> None:
        """Hear what a frame says."""
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
        said = line_hints(frame.raw, found, self._conversation.revision)
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
                self._is_no_probe()
                self._check_later(frame, malformed, said)

    def _hear_message(self, frame: Frame, message: Message, said: tuple[Diagnostic, ...]) -> None:
        with self._hearing:
            observed = self._conversation.observe(frame.direction, message)
        self._unanswered.heard(frame.seq, observed)
        if observed.method != "server/discover":
            self._is_no_probe()
        self._check_later(frame, observed, said)

    def _is_no_probe(self) -> None:
        if self._facts.probe:
            self._facts = self._facts._replace(probe=False)

    def _check_later(
        self, frame: Frame, heard: ObservedMessage | Malformed, said: tuple[Diagnostic, ...]
    ) -> None:
        now, size = self._conversation, len(frame.raw)
        waiting = self._waiting_for(frame.direction) if isinstance(heard, Malformed) else ()
        self._unchecked.append(
            _Unchecked(frame.seq, size, heard, now.established, now.revision, said, waiting)
        )
        self._unchecked_bytes += size
        while len(self._unchecked) > MOST_UNCHECKED or self._unchecked_bytes > MOST_UNCHECKED_BYTES:
            self._next_unchecked()

    def _waiting_for(self, direction: Direction) -> tuple[ObservedRequest, ...]:
        return tuple(
            request for request in self._conversation.open if request.direction is not direction
        )

    def _next_unchecked(self) -> _Unchecked:
        unchecked = self._unchecked.popleft()
        self._unchecked_bytes -= unchecked.size
        return unchecked

    def _describe(self) -> None:
        """Tell the desks who speaks, when that has changed."""
        established, revision = self._conversation.established, self._conversation.revision
        now = (established, revision, self._facts.probe)
        if now == self._last_noted:
            return
        self._last_noted = now
        self._facts = self._facts._replace(
            client=established.client_name,
            client_version=established.client_version,
            revision=revision,
        )
        try:
            self._inbox.describe(self._facts, established)
        except InboxError as error:
            logger.warning("the facts of the session cannot be kept: %s", error)

    # -- checking -------------------------------------------------------------------------------

    def _check(self, unchecked: _Unchecked) -> None:
        found = hints(unchecked.heard, unchecked.established, unchecked.revision)
        for diagnostic in found:
            if diagnostic.severity in _SAID:
                self._say(unchecked.seq, diagnostic)
        if isinstance(unchecked.heard, Malformed):
            unanswered = self._unanswered.broken(unchecked.seq, unchecked.heard, unchecked.waiting)
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
        raw = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
        self._remark(raw, f"{seq}: {diagnostic.code} {sentence(diagnostic, self._language)}")
