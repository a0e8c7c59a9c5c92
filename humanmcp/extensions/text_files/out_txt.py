"""The documents in `out.txt`, and what `problems.txt` says about them."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.locales import say, titled
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import Applicability, Severity
from humanmcp.protocol.diagnostics.problem import shown
from humanmcp.protocol.json.visible import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.validation.addressing import Documents

logger = logging.getLogger(__name__)

_LINE_END: Final = re.compile(r"[ \t\r]*\n")


class TextReading(NamedTuple):
    """The bytes of a file as text, and what was repaired to read them (a BOM, UTF-16, CP932).

    A repair that blocks says that they are no text: it is only good to be shown.
    """

    text: str
    repairs: tuple[Diagnostic, ...] = ()


class Document(NamedTuple):
    """One document as a person typed it, to be judged.

    `line` and `column`, from 1, say where in the file it begins. `behind` is what follows it and is
    no part of it: it goes when the text goes.
    """

    text: str
    start: int = 0
    line: int = 1
    column: int = 1
    repairs: tuple[Diagnostic, ...] = ()
    behind: str = ""

    @property
    def end(self) -> int:
        """The offset after its last character and what follows it."""
        return self.start + len(self.text) + len(self.behind)

    @property
    def notes(self) -> tuple[Diagnostic, ...]:
        """The notes to report after it was sent: how it was read, what was left out."""
        if not self.behind:
            return self.repairs
        return (*self.repairs, kinds.rest_not_sent(text=shown(self.behind.strip())).unplaced())


class DocumentOutcome(NamedTuple):
    """The result of a text, with its problems.

    `fixed` is a refused text as it would pass, if any, and `applicability` what that took.
    """

    document: Document
    sent: bool
    diagnostics: tuple[Diagnostic, ...]
    fixed: str = ""
    applicability: Applicability = Applicability.SAFE


def texts_of(reading: TextReading, documents: Documents, start: int) -> tuple[Document, ...]:
    """Return the documents of `reading.text[start:]`.

    What follows the last complete one, if anything, is the last text, although it is no JSON.
    """
    spans = [(start + begin, start + end) for begin, end in documents.texts]
    ends = [start + end for end in documents.ends]
    rest = ends[-1] if spans else start
    unfinished = reading.text[rest:].strip()
    if unfinished and (documents.incomplete or documents.malformed):
        begin = reading.text.index(unfinished, rest)
        spans.append((begin, begin + len(unfinished)))
        ends.append(begin + len(unfinished))
    places = places_of(reading.text, [begin for begin, _end in spans])
    text, repairs = reading
    return tuple(
        Document(text[begin:end], begin, *place, repairs, text[end:until])
        for (begin, end), until, place in zip(spans, ends, places, strict=True)
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
    """Give each text its place in `remainder`, which contains them in this order."""
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
    """Return `text[start:end]` without the sent texts and their line ends."""
    parts = []
    for gone in sorted(sent, key=lambda gone: gone.start):
        parts.append(text[start : gone.start])
        start = over_line_end(text, gone.end)
    return "".join(parts) + text[start:end]


def over_line_end(text: str, at: int) -> int:
    """Return the offset after the rest of the line if it is blank, else `at`."""
    found = _LINE_END.match(text, at)
    return found.end() if found else at


def report(outcomes: Iterable[DocumentOutcome], aside: str = "") -> str:
    """Return the report on the texts of a file; empty if there is nothing to report.

    `aside` names the file with the refused texts if it is not `out.txt`.
    """
    outcomes = tuple(outcomes)
    refused = [one for one in outcomes if not one.sent]
    noticed = [one for one in outcomes if one.sent and (one.diagnostics or one.document.notes)]
    lines: list[str] = []
    if refused:
        lines += [say("files", "not-sent", file=aside or "out.txt"), ""]
        lines += _about(refused)
    if noticed:
        lines += [say("files", "noticed"), ""]
        lines += _about(noticed)
    return "\n".join(lines)


def note(code: str, **fillings: object) -> str:
    """Return one message about the files themselves."""
    shown = {name: one_line(str(value)) for name, value in fillings.items()}
    return say("files", code, **shown) + "\n"


def _about(outcomes: Iterable[DocumentOutcome]) -> Iterator[str]:
    said: set[str] = set()
    for outcome in outcomes:
        several = _to_tell(outcome)
        for block in [_sentence(outcome.document, each) for each in several]:
            if block not in said:  # a repair of the file is told once, not for each text in it
                said.add(block)
                yield block
        if outcome.fixed:
            code = f"fixed {outcome.applicability.value}"
            yield say("files", code, text=_shown(outcome.fixed))
        for page in dict.fromkeys(each.page for each in several if each.blocks and each.page):
            yield say("files", "page", page=page)
    yield ""


def _to_tell(outcome: DocumentOutcome) -> list[Diagnostic]:
    """Return the problems to report, errors first; no repairs of a text that was not sent."""
    diagnostics = [*outcome.document.notes, *outcome.diagnostics]
    if outcome.sent:
        return diagnostics
    several = [each for each in diagnostics if each.severity is not Severity.REPAIRED]
    return sorted(several, key=lambda each: not each.blocks)


def _sentence(document: Document, diagnostic: Diagnostic) -> str:
    several = visible(titled(diagnostic))
    if not diagnostic.line:
        return several
    line, column = _place(document, diagnostic)
    return say("files", "place", line=line, column=column, sentence=several)


def _place(document: Document, diagnostic: Diagnostic) -> tuple[int, int]:
    """Return the line and column in the file of an offset in a document."""
    column = diagnostic.column + document.column - 1 if diagnostic.line == 1 else diagnostic.column
    return diagnostic.line + document.line - 1, column


def _shown(fixed: str) -> str:
    """Return a text to copy: beside its heading if it is one line, else below it."""
    lines = fixed.strip().split("\n")
    if len(lines) == 1:
        return f" {visible(lines[0])}"
    return "".join(f"\n    {visible(line.rstrip())}" for line in lines)
