"""The text files of one session: copy each line, and send what a person types.

Here the files meet the session. `files.py` knows when a text is complete. What is in it goes the
way of any answer, and `out_txt.py` says what became of it; `status.py` says what becomes of each
line. Other front ends submit through `answering/service.py` and wait for the process that speaks to
the client. Here that process itself looks, in the very step that would have to answer: so a text
goes to the session at once.
"""

from __future__ import annotations

import logging
import math
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from humanmcp.common.settings import Setting, UnsafeFolderError
from humanmcp.extensions.text_files import SECTION
from humanmcp.extensions.text_files.files import OWN, TextFiles
from humanmcp.extensions.text_files.out_txt import DocumentOutcome
from humanmcp.extensions.text_files.text_schedule import TextSchedule
from humanmcp.inbox.contract import Reply
from humanmcp.locales import say
from humanmcp.protocol.conversation.outcomes import Late, Refused, Sent
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Verdict
from humanmcp.protocol.json.jsonrpc import Kind
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.addressing import (
    addressed,
    id_of,
    is_report,
    kind_typed,
    unaddressed,
)
from humanmcp.protocol.validation.crash_guard import failure
from humanmcp.server.front_end import FrontEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.extensions.text_files.folder_events import FolderEvents
    from humanmcp.extensions.text_files.out_txt import Document
    from humanmcp.extensions.text_files.status import StatusTxt
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.conversation.outcomes import Event
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import RequestId
    from humanmcp.server.moments import Way
    from humanmcp.server.waiting import PendingTimers

logger = logging.getLogger(__name__)

BY_FILES: Final = "files"
"""The author of answers from the files."""

FOLDER: Final = Setting("files", "", "FOLDER", SECTION, is_folder=True, by_hand=True)
"""Where the text files of all sessions are, "" for the folder of each session."""

TELL_WITHIN: Final = 1.0
"""Seconds within which `status.txt` says what has become of a line while others keep coming."""


class TextFileAnswers(FrontEnd):
    """The text files of one session. A probe gives its folder back."""

    SETTINGS: ClassVar = (FOLDER,)

    def __init__(self, way: Way) -> None:
        """Claim the files."""
        self._session = way.session
        self._journal = way.journal
        self._way = way
        self._schedule = TextSchedule(way.schedule)
        self._came: list[tuple[int, Sequence[Event]]] = []
        """The lines that `status.txt` does not know yet, and what they meant."""
        self._first_came_at = 0.0
        self._changes_shown = 0
        self._lines = 0
        """How many lines of the client were copied, or are as soon as there are files again."""
        self._why_no_folder = ""
        self.files: TextFiles | None = None
        self._early: RequestId | None = None
        """What was answered last before it was asked."""
        self._events: FolderEvents | None = None
        self._wake: Callable[[], object] = lambda: None
        self._is_quiet = self._has_to_follow = False
        """Whether the first pause between lines has come; whether to listen to the folder next."""
        self._have(self._claim())

    def _claim(self, before: Sequence[bytes] = ()) -> TextFiles:
        """Claim the folder. `in.txt` begins with the lines that came before."""
        own = self._journal.inbox.folder(self._journal.name)
        shared = self._way.options.added.get(FOLDER.name, "")
        folder = Path(shared) if shared else own
        return TextFiles.claim(folder, before, archive=own, shared=bool(shared))

    def shown(self) -> None:
        """Create the files if there are none, with the lines before the current one."""
        if self.files is None:
            self._have(self._claim(self._came_before(now=1)))

    def _came_before(self, *, now: int = 0) -> Sequence[bytes]:
        """Return the earlier lines from the transcript, without the last `now` ones."""
        frames = self._journal.frames()
        came = [one.raw for one in frames if one.direction is Direction.IN and not one.note]
        end = len(came) - now
        return came[max(0, end - self._lines) : end]

    def _have(self, files: TextFiles) -> None:
        self.files = files
        self._schedule.is_chosen = files.shared
        self._journal.facts = self._journal.facts._replace(files=str(files.folder))
        self._journal.describe(self._session)
        self._has_to_follow = self._is_quiet

    def start(self, wake: Callable[[], object]) -> None:
        self._wake = wake

    def is_open(self) -> bool:
        return self.files is not None

    def hello(self) -> str:
        self._is_quiet = self._has_to_follow = True
        if self.files is None:
            return ""
        told = say("files", "hello", folder=self.files.folder)
        return f"{told}\n{self.files.note}\n" if self.files.note else f"{told}\n"

    def look(self) -> None:
        """Have the session woken when a file is saved in a folder that the person chose.

        Not before the first answer is sent: the library is slow to load.
        """
        wake, files, schedule = self._wake, self.files, self._schedule
        if not self._has_to_follow or files is None:
            return
        self._forget_events()
        self._has_to_follow = False
        if not files.shared:
            return
        from humanmcp.extensions.text_files import folder_events  # noqa: PLC0415 - no start waits for it

        def saved() -> None:
            schedule.saved = True
            wake()

        self._events = folder_events.FolderEvents.start(files.folder, OWN, saved)

    def _forget_events(self) -> None:
        if self._events is not None:
            self._events.close()
        self._events, self._schedule.is_told = None, False

    def probed(self) -> None:
        """Release a shared folder: nobody answers a probe by hand."""
        if self.files is not None and self.files.shared:
            self._forget_events()
            self.files.release()
            self.files = None
            self._way.text_is_being_written(self, writing=False)

    def close(self) -> None:
        """Release the folder; the files stay."""
        self.tell()
        self._forget_events()
        if self.files is not None:
            self.files.release()

    # -- what comes -------------------------------------------------------------------------------

    def arrived(self, line: bytes, events: Sequence[Event], *, later: bool) -> None:
        """Add a line to `in.txt`; its status is written later."""
        now = self._journal.clock.now()
        if self._schedule.is_chosen:
            self._schedule.arrived(now)
        self._lines += 1
        if not self._came:
            self._first_came_at = now
        self._came.append((self._lines, events))
        if self.files is not None:
            self.files.in_txt.add(line, later=later)

    def waits(self, exchange: Exchange, timers: PendingTimers) -> None:  # noqa: ARG002 - whatever it waits for
        """Report that a request waits whose answer was typed too early. Send nothing automatically.

        The id may have been a mistake: then what was typed is no answer to this request.
        """
        if self._early is not None and self._early.key == exchange.id.key:
            self._early = None
            if self.files is not None and self.files.is_being_written:
                self.files.say_it_has_come(exchange.id.token)

    # -- what is typed ----------------------------------------------------------------------------

    def next(self) -> float:
        return self._schedule.next()

    def look_for_answers(self, now: float, *, is_last: bool) -> None:
        is_due = self._schedule.is_due(now, waiting=bool(self._way.timers))
        files = self.files
        if files is None or not (is_due or is_last):
            return
        documents = files.poll(now)
        if documents:
            files.settle([self._judged(document) for document in documents])
        if files.look_again is not None:
            self._schedule.changes(now, files.look_again)
        if self._way.text_is_being_written(self, writing=files.is_being_written):
            self._way.schedule.duties = -math.inf

    def _judged(self, document: Document) -> DocumentOutcome:
        try:
            return self._take(document)
        except Exception as error:
            # Each text has to be settled: before that none after it is read.
            logger.exception("an answer in out.txt could not be taken; please report it")
            return DocumentOutcome(document, sent=False, diagnostics=(failure(error),))

    def _take(self, document: Document) -> DocumentOutcome:
        """Judge one document of `out.txt`: an answer, or an outgoing message."""
        is_message = kind_typed(document.text) in (Kind.REQUEST, Kind.NOTIFICATION)
        # a deliberate -32700 to a line nobody could read
        if is_message or (self._session.unreadable and is_report(document.text)):
            return self._say(document)
        exchange = addressed(document.text, self._session.pending)
        if exchange is not None:
            reply = Reply(document.text, by=BY_FILES)
            outcome = self._way.answer(exchange.number, reply)
            if isinstance(outcome, Refused):
                return _refused(document, outcome.verdict.diagnostics, self._judge)
            if isinstance(outcome, Late):
                return self._refuse(document)
            diagnostics = outcome.verdict.diagnostics if isinstance(outcome, Sent) else ()
            return DocumentOutcome(document, sent=True, diagnostics=diagnostics)
        if self._session.may_report(id_of(document.text)):
            return self._say(document)  # a deliberate -32600 to a line that was no message
        return self._refuse(document)

    def _say(self, document: Document) -> DocumentOutcome:
        verdict = self._way.say(Reply(document.text, by=BY_FILES))
        if verdict.line is None:
            return _refused(document, verdict.diagnostics, self._session.judge)
        return DocumentOutcome(document, sent=True, diagnostics=verdict.diagnostics)

    def _refuse(self, document: Document) -> DocumentOutcome:
        self._early = id_of(document.text)
        return _refused(document, self._unaddressed(document.text), self._judge)

    def _unaddressed(self, text: str) -> tuple[Diagnostic, ...]:
        session = self._session
        return unaddressed(text, session.exchanges.remembered, session.notice, session.negotiated)

    def _judge(self, text: str) -> Verdict:
        """Judge an answer without sending it, against the request it answers."""
        exchange = addressed(text, self._session.pending)
        if exchange is None:
            return Verdict(text, None, None, self._unaddressed(text))
        return check.check(exchange, text, negotiated=self._session.negotiated)

    # -- what is told -----------------------------------------------------------------------------

    def tells_at(self, quiet_at: float) -> float:
        """It is written when no line arrives for a moment, so that a busy client need not wait."""
        if self._journal.changes == self._changes_shown or self.files is None:
            return math.inf
        return min(quiet_at, self._first_came_at + TELL_WITHIN) if self._came else quiet_at

    def tell(self) -> None:
        """Write the status of the lines."""
        if self.files is None:
            return
        self._changes_shown = self._journal.changes
        came, self._came = self._came, []
        for line, events in came:
            self._status.arrived(line, events)
        now = self._journal.clock.now()
        self.files.tell_status(self._status.text(now))
        self._status.tell_aside(now)

    @cached_property
    def _status(self) -> StatusTxt:
        from humanmcp.extensions.text_files.status import StatusTxt  # noqa: PLC0415 - no start waits for it

        return StatusTxt(self._way)

    # -- a folder that somebody took away ---------------------------------------------------------

    def look_at_rest(self, now: float) -> None:  # noqa: ARG002 - it is gone or not
        """Create the person's folder again if it is gone, with all earlier lines."""
        gone = self.files
        if gone is None or not gone.shared or not gone.is_gone:
            return
        try:
            files = self._claim(self._came_before())
        except (OSError, UnsafeFolderError) as error:
            if str(error) != self._why_no_folder:  # said once; the desks still work
                self._why_no_folder = str(error)
                logger.warning("the folder of the text files cannot be made anew: %s", error)
            return
        self._have(files)
        gone.release()
        self._journal.changes += 1


def _refused(
    document: Document, diagnostics: tuple[Diagnostic, ...], judge: Callable[[str], Verdict]
) -> DocumentOutcome:
    """Refuse a text, and suggest its corrected form."""
    from humanmcp.protocol.diagnostics.autofix import suggestion  # noqa: PLC0415 - no start needs it

    fixed, applicability = suggestion(document.text, judge)
    return DocumentOutcome(document, False, diagnostics, fixed, applicability)  # noqa: FBT003 - in their order
