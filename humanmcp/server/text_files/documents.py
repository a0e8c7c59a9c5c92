"""From the bytes of `out.txt` to the documents in it, and which of them are gone.

Knows texts and places in them, and no file. What a document says is judged by the check.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from humanmcp.protocol.diagnostics.kinds.syntax import RestLeftOut
from humanmcp.protocol.diagnostics.model import Applicability
from humanmcp.protocol.diagnostics.raw import shown
from humanmcp.protocol.repair import decoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.validation.documents import Documents

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
    return TextReading(*decoding.decode(raw))


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
