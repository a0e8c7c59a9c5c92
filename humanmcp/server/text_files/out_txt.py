"""What a person wrote in `out.txt`: an answer to something that waits, or something said first."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, assert_never

from humanmcp.inbox.contract import Reply
from humanmcp.locales import describe as sentence
from humanmcp.locales import say
from humanmcp.protocol.conversation.exchange import AwaitingRetry, Late, Refused, Sent
from humanmcp.protocol.conversation.transcript import DELIBERATE
from humanmcp.protocol.diagnostics.kinds import RestLeftOut
from humanmcp.protocol.diagnostics.locate import shown
from humanmcp.protocol.diagnostics.model import Applicability, Severity, Verdict
from humanmcp.protocol.json.jsonrpc import Kind, one_line, visible
from humanmcp.protocol.repair import reading
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.addressing import addressed, is_report, kind_of, unaddressed
from humanmcp.protocol.validation.envelope import failure
from humanmcp.protocol.validation.results import divide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from humanmcp.protocol.conversation.exchange import Exchange, Outcome
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import RequestId
    from humanmcp.protocol.validation.results import Documents
    from humanmcp.server.exchanges import ExchangeHandler
    from humanmcp.server.text_files.files import TextFiles

logger = logging.getLogger(__name__)

BY_FILES: Final = "files"


class OutTxt:
    """Judges the documents of one `out.txt`, one after the other."""

    def __init__(self, files: TextFiles, handler: ExchangeHandler) -> None:
        """Read what `files` hands out."""
        self._files = files
        self._early: RequestId | None = None
        self._session = handler.session
        self._journal = handler.journal
        self._handler = handler

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
        """Send the documents of a file whatever the check finds; anything else goes out as a line.

        An answer to a request that waits answers it.
        """
        text = reading.decode(content)[0]
        documents = divide(text)
        whole = not (documents.incomplete or documents.broken)
        spans = documents.texts if whole else ((0, len(text)),)
        for begin, end in spans:
            self._send_anyway(text[begin:end].strip())

    def _send_anyway(self, text: str) -> None:
        exchange = addressed(text, self._session.pending) if check.id_of(text) else None
        if exchange is not None and kind_of(text) in (Kind.RESULT, Kind.ERROR):
            self._handler.reply(exchange.number, Reply(text, anyway=True, by=BY_FILES))
            return
        verdict = self._session.submit(text, anyway=True)
        line = verdict.line or verdict.forced
        if line:
            note = "" if verdict.sendable else DELIBERATE
            self._journal.write(line, by=BY_FILES, note=note)
            self._handler.leave_progress()

    def _take(self, document: Document) -> None:
        """Judge one document of `out.txt`: an answer to what waits, or an outgoing message."""
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
        self._handler.leave_progress()
        self._files.accept(document, verdict.diagnostics)

    def _settle(self, document: Document, outcome: Outcome) -> None:
        match outcome:
            case Sent():
                self._handler.answered(outcome, BY_FILES)
                self._files.accept(document, outcome.verdict.diagnostics)
            case Refused():
                self._give_back(document, outcome.verdict.diagnostics, self._judge)
            case AwaitingRetry(exchange):
                self._handler.keep(exchange.number, Reply(document.text, by=BY_FILES))
                self._files.accept(document, ())
            case Late():
                self._refuse(document)
            case impossible:
                assert_never(impossible)

    def arrived(self, exchange: Exchange) -> None:
        """Tell who answered too early that the request is here now. Nothing is sent automatically.

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


_LINE_END: Final = re.compile(r"[ \t\r]*\n")


class TextReading(NamedTuple):
    """The bytes of a file as text, and what was repaired to read them (a BOM, UTF-16, CP932).

    A repair that blocks says that they are no text: it is only good to be shown.
    """

    text: str
    repairs: tuple[Diagnostic, ...] = ()


Decode: TypeAlias = "Callable[[bytes], TextReading]"


def decode(raw: bytes) -> TextReading:
    """Read the bytes of a file as text, whatever editor or shell wrote them."""
    return TextReading(*reading.decode(raw))


class Document(NamedTuple):
    """One document as a person typed it, to be judged: `TextFiles.accept` or `.refuse` it.

    `line` and `column`, from 1, say where in the file it begins. `whole` is False for what is no
    complete JSON although it was not written on. `behind` is what follows it and is no part
    of it: it goes when the text goes.
    """

    number: int
    text: str
    start: int = 0
    line: int = 1
    column: int = 1
    whole: bool = True
    repairs: tuple[Diagnostic, ...] = ()
    behind: str = ""

    @property
    def end(self) -> int:
        """The offset after its last character, and after what follows it."""
        return self.start + len(self.text) + len(self.behind)

    @property
    def notes(self) -> tuple[Diagnostic, ...]:
        """What is to be said of it once it was sent: how it was read, and what was left out."""
        if not self.behind:
            return self.repairs
        return (*self.repairs, RestLeftOut(text=shown(self.behind.strip())).unplaced())


class DocumentOutcome(NamedTuple):
    """What became of a text, and what there is to say about it.

    `mended` is a refused text as it would pass, if any, and `applicability` what that took.
    """

    document: Document
    sent: bool
    diagnostics: tuple[Diagnostic, ...]
    mended: str = ""
    applicability: Applicability = Applicability.SAFE


def texts_of(
    reading: TextReading, documents: Documents, start: int, number: int
) -> tuple[Document, ...]:
    """Cut out the documents that were `documents` in `reading.text[start:]`.

    What follows the last complete one, if anything, is the last text. They get numbers from
    `number` on.
    """
    spans = [(start + begin, start + end, True) for begin, end in documents.texts]
    ends = [start + end for end in documents.ends]
    rest = ends[-1] if spans else start
    unfinished = reading.text[rest:].strip()
    if unfinished and (documents.incomplete or documents.broken):
        begin = reading.text.index(unfinished, rest)
        spans.append((begin, begin + len(unfinished), False))
        ends.append(begin + len(unfinished))
    places = places_of(reading.text, [begin for begin, _end, _whole in spans])
    return tuple(
        Document(
            number + count,
            reading.text[begin:end],
            begin,
            *place,
            whole,
            reading.repairs,
            reading.text[end:until],
        )
        for count, ((begin, end, whole), until, place) in enumerate(
            zip(spans, ends, places, strict=True)
        )
    )


def places_of(text: str, offsets: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the line and column, both from 1, of each offset, in one pass. They must ascend."""
    line, begin, at = 1, 0, 0
    for offset in offsets:
        line += text.count("\n", at, offset)
        begin = max(begin, text.rfind("\n", at, offset) + 1)
        at = offset
        yield line, offset - begin + 1


def moved_to(remainder: str, outcomes: Iterable[DocumentOutcome]) -> list[DocumentOutcome]:
    """Give each text the place that it has in `remainder`, which holds them in this order."""
    outcomes, starts, at = list(outcomes), [], 0
    for one in outcomes:
        starts.append(remainder.index(one.document.text, at))
        at = starts[-1] + len(one.document.text)
    return [
        one._replace(document=one.document._replace(start=start, line=line, column=column))
        for one, start, (line, column) in zip(
            outcomes, starts, places_of(remainder, starts), strict=True
        )
    ]


def without(text: str, start: int, end: int, sent: Iterable[Document]) -> str:
    """Return `text[start:end]` without the texts that were sent, each with its line end."""
    parts = []
    for gone in sorted(sent, key=lambda gone: gone.start):
        parts.append(text[start : gone.start])
        start = over_line_end(text, gone.end)
    return "".join(parts) + text[start:end]


def over_line_end(text: str, at: int) -> int:
    """Return the place after the rest of a line, if there is only white space in it, else `at`."""
    found = _LINE_END.match(text, at)
    return found.end() if found else at


def report(outcomes: Iterable[DocumentOutcome], language: str, aside: str = "") -> str:
    """Return what became of the texts of a file; empty when there is nothing to say.

    `aside` names the file that holds what was refused, where that is not `out.txt`.
    """
    outcomes = tuple(outcomes)
    refused = [one for one in outcomes if not one.sent]
    noticed = [one for one in outcomes if one.sent and (one.diagnostics or one.document.notes)]
    lines: list[str] = []
    if refused:
        lines += [say("files", "not-sent", language, file=aside or "out.txt"), ""]
        lines += _about(refused, language)
    if noticed:
        lines += [say("files", "noticed", language), ""]
        lines += _about(noticed, language)
    return "\n".join(lines)


def note(code: str, language: str, **fillings: object) -> str:
    """Say one thing about the files themselves."""
    shown = {name: one_line(str(value)) for name, value in fillings.items()}
    return say("files", code, language, **shown) + "\n"


def _about(outcomes: Iterable[DocumentOutcome], language: str) -> Iterator[str]:
    said: set[str] = set()
    for outcome in outcomes:
        several = _to_tell(outcome)
        for block in [_sentence(outcome.document, each, language) for each in several]:
            if block not in said:  # a repair of the file is told once, not for each text in it
                said.add(block)
                yield block
        if outcome.mended:
            code = f"mended {outcome.applicability.value}"
            yield say("files", code, language, text=_shown(outcome.mended))
        for page in dict.fromkeys(each.page for each in several if each.blocks and each.page):
            yield say("files", "page", language, page=page)
    yield ""


def _to_tell(outcome: DocumentOutcome) -> list[Diagnostic]:
    """Return what is to be said: of a text that was not sent no repairs, and errors first."""
    diagnostics = [*outcome.document.notes, *outcome.diagnostics]
    if outcome.sent:
        return diagnostics
    several = [each for each in diagnostics if each.severity is not Severity.REPAIRED]
    return sorted(several, key=lambda each: not each.blocks)


def _sentence(document: Document, diagnostic: Diagnostic, language: str) -> str:
    several = visible(sentence(diagnostic, language))
    if not diagnostic.line:
        return several
    line, column = _place(document, diagnostic)
    return say("files", "place", language, line=line, column=column, sentence=several)


def _place(document: Document, diagnostic: Diagnostic) -> tuple[int, int]:
    """Return the line and column in the file of a place in one of its documents."""
    column = diagnostic.column + document.column - 1 if diagnostic.line == 1 else diagnostic.column
    return diagnostic.line + document.line - 1, column


def _shown(mended: str) -> str:
    """Return a text to copy, beside its heading where it is one line, and below it elsewhere."""
    lines = mended.strip().split("\n")
    if len(lines) == 1:
        return f" {visible(lines[0])}"
    return "".join(f"\n    {visible(line.rstrip())}" for line in lines)
