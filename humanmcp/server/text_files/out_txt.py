"""What a person wrote in `out.txt`: an answer to something that waits, or something said first."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, assert_never

from humanmcp.inbox.contract import Reply
from humanmcp.protocol.conversation.events import AwaitingRetry, Late, Refused, Sent
from humanmcp.protocol.conversation.transcript import DELIBERATE
from humanmcp.protocol.diagnostics.verdict import Verdict
from humanmcp.protocol.json.jsonrpc import Kind
from humanmcp.protocol.repair import decoding
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.addressing import addressed, is_report, kind_of, unaddressed
from humanmcp.protocol.validation.crash_guard import failure
from humanmcp.protocol.validation.documents import divide

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.protocol.conversation.events import Outcome
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import RequestId
    from humanmcp.protocol.session import Session
    from humanmcp.server.journal import Journal
    from humanmcp.server.replies import ReplyDispatcher
    from humanmcp.server.text_files.documents import Document
    from humanmcp.server.text_files.files import TextFiles

logger = logging.getLogger(__name__)

BY_FILES: Final = "files"


class OutTxt:
    """Judges the documents of one `out.txt`, one after the other."""

    def __init__(
        self, files: TextFiles, session: Session, journal: Journal, dispatcher: ReplyDispatcher
    ) -> None:
        """Read what `files` hands out."""
        self._files = files
        self._early: RequestId | None = None
        self._session = session
        self._journal = journal
        self._dispatcher = dispatcher

    def look(self, now: float) -> float | None:
        """Judge what is complete since the last look.

        Returns when to look again while it is being written, else None.
        """
        for document in self._files.poll(now):
            try:
                self._take(document)
            except Exception as error:
                # Each text has to be accepted or refused: before that none after it is read.
                logger.exception("an answer in out.txt could not be taken; please report it")
                self._files.refuse(document, (failure(error),))
        return self._files.look_again

    @property
    def is_being_written(self) -> bool:
        """Return True if something stood in `out.txt` at the last look that was not sent."""
        return self._files.is_being_written

    def send_anyway(self, content: bytes) -> None:
        """Send the documents of a file whatever the check finds; what is none goes out as a line.

        An answer to a request that waits answers it.
        """
        text = decoding.decode(content)[0]
        documents = divide(text)
        whole = not (documents.incomplete or documents.broken)
        spans = documents.texts if whole else ((0, len(text)),)
        for begin, end in spans:
            self._send_anyway(text[begin:end].strip())

    def _send_anyway(self, text: str) -> None:
        exchange = addressed(text, self._session.pending) if check.id_of(text) else None
        if exchange is not None and kind_of(text) in (Kind.RESULT, Kind.ERROR):
            self._dispatcher.reply(exchange.number, Reply(text, anyway=True, by=BY_FILES))
            return
        verdict = self._session.submit(text, anyway=True)
        line = verdict.line or verdict.forced
        if line:
            note = "" if verdict.sendable else DELIBERATE
            self._journal.write(line, by=BY_FILES, note=note)
            self._dispatcher.said()

    def _take(self, document: Document) -> None:
        """Judge one document of `out.txt`: an answer to something pending, or a saying."""
        if kind_of(document.text) in (Kind.REQUEST, Kind.NOTIFICATION):
            self._say(document)
            return
        if self._session.unreadable and is_report(document.text):
            self._say(document)  # a deliberate -32700 to a line nobody could read
            return
        exchange = addressed(document.text, self._session.pending)
        if exchange is not None:
            self._settle(document, self._session.reply(exchange.number, document.text))
        elif self._session.may_report(check.id_of(document.text)):
            self._say(document)  # a deliberate -32600 to a line that was no message
        else:
            self._refuse(document)

    def _say(self, document: Document) -> None:
        verdict = self._session.submit(document.text)
        if verdict.line is None:
            self._give_back(document, verdict.diagnostics, self._session.judge)
            return
        self._journal.write(verdict.line, by=BY_FILES)
        self._dispatcher.said()
        self._files.accept(document, verdict.diagnostics)

    def _settle(self, document: Document, outcome: Outcome) -> None:
        match outcome:
            case Sent():
                self._dispatcher.sent(outcome, BY_FILES)
                self._files.accept(document, outcome.verdict.diagnostics)
            case Refused():
                self._give_back(document, outcome.verdict.diagnostics, self._judge)
            case AwaitingRetry(exchange):
                self._dispatcher.keep(exchange.number, Reply(document.text, by=BY_FILES))
                self._files.accept(document, ())
            case Late():
                self._refuse(document)
            case impossible:
                assert_never(impossible)

    def arrived(self, exchange: Exchange) -> None:
        """Tell who answered too early that the request is here now. Nothing is sent by itself.

        The id may have been a mistake: then what was typed is no answer to this request.
        """
        if self._early is not None and self._early.key == exchange.id.key:
            self._early = None
            if self._files.is_being_written:
                self._files.say_it_has_come(exchange.id.token)

    def _refuse(self, document: Document) -> None:
        self._early = check.id_of(document.text)
        self._give_back(document, self._unaddressed(document.text), self._judge)

    def _unaddressed(self, text: str) -> tuple[Diagnostic, ...]:
        session = self._session
        return unaddressed(text, session.exchanges.remembered, session.notice, session.established)

    def _give_back(
        self, document: Document, diagnostics: Sequence[Diagnostic], judge: Callable[[str], Verdict]
    ) -> None:
        """Refuse a text, with what it would be if it were right."""
        from humanmcp.protocol.diagnostics.autofix import suggestion  # noqa: PLC0415 - no start needs it

        self._files.refuse(document, diagnostics, *suggestion(document.text, judge))

    def _judge(self, text: str) -> Verdict:
        """Judge an answer without sending it, as the one it is meant for would have it."""
        exchange = addressed(text, self._session.pending)
        if exchange is None:
            return Verdict(text, None, None, self._unaddressed(text))
        return check.check(exchange, text, established=self._session.established)
