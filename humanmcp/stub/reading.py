"""From the bytes of `out.txt` to the documents in it, and which of them are gone.

Knows texts and places in them, and no file. What a document says is judged by the check.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from humanmcp.protocol.problems import line_and_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from humanmcp.protocol.problems import Problem

_LINE_END: Final = re.compile(r"[ \t\r]*\n")


@dataclass(frozen=True, slots=True)
class Reading:
    """The bytes of a file as text, and what was repaired to read them (a BOM, UTF-16, CP932)."""

    text: str
    repairs: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """One document: from the offset where it begins to the one after its end."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Division:
    """The documents of a text. `rest` is what follows them and is not complete, if anything."""

    documents: tuple[Span, ...]
    rest: Span | None = None

    @property
    def whole(self) -> bool:
        """Say whether the text holds complete documents and nothing else."""
        return bool(self.documents) and self.rest is None


Decode: TypeAlias = "Callable[[bytes], Reading]"
Divide: TypeAlias = "Callable[[str], Division]"


@dataclass(frozen=True, slots=True)
class Text:
    """One document as a person typed it, to be judged: `TextFiles.accept` or `.refuse` it.

    `line` and `column`, from 1, say where in the file it begins. `whole` is False for what is no
    complete JSON although nobody has gone on writing it.
    """

    number: int
    text: str
    start: int = 0
    line: int = 1
    column: int = 1
    whole: bool = True
    repairs: tuple[Problem, ...] = field(default=())

    @property
    def end(self) -> int:
        """The offset after its last character."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a text, and what there is to say about it."""

    text: Text
    sent: bool
    problems: tuple[Problem, ...]


def texts_of(reading: Reading, division: Division, start: int, number: int) -> tuple[Text, ...]:
    """Cut the documents out of a text of which everything before `start` is gone already.

    `division` counts from `start`; the texts get numbers from `number` on.
    """
    spans = [(span, True) for span in division.documents]
    if division.rest is not None:
        spans.append((division.rest, False))
    texts = []
    for count, (span, whole) in enumerate(spans):
        begin, end = start + span.start, start + span.end
        line, column = line_and_column(reading.text, begin)
        texts.append(
            Text(
                number + count,
                reading.text[begin:end],
                begin,
                line,
                column,
                whole,
                reading.repairs,
            )
        )
    return tuple(texts)


def without(text: str, start: int, end: int, sent: Iterable[Text]) -> str:
    """Return `text[start:end]` without the texts that were sent, each with its line end."""
    parts = []
    for gone in sorted(sent, key=lambda gone: gone.start):
        parts.append(text[start : gone.start])
        start = _over_line_end(text, gone.end)
    return "".join(parts) + text[start : max(start, end)]


def _over_line_end(text: str, at: int) -> int:
    found = _LINE_END.match(text, at)
    return found.end() if found else at
