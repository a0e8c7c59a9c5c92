"""One thing wrong with a message: its code, how bad it is, where it stands, and how to mend it.

A problem holds no sentence. Its sentence stands in `locales/`, by code, in every language, and is
filled with `detail`. The codes: J.. the JSON text, R.. the JSON-RPC envelope, M.. what MCP asks,
N.. an incoming line, F.. the files a person writes, X.. the check itself.
"""

from __future__ import annotations

import enum
import re
from bisect import bisect_left, bisect_right, insort
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.protocol.json.jsonrpc import Malformed


class Severity(enum.Enum):
    """How bad a problem is."""

    ERROR = "error"
    """The client would fail, or never see it: blocks sending until it is sent anyway."""
    WARNING = "warning"
    """Some clients would fail or lose a part of it."""
    HINT = "hint"
    """Allowed; there is something to learn."""
    REPAIRED = "repaired"
    """Was wrong in a way that has one meaning only, and is mended in what is sent."""


class Applicability(enum.Enum):
    """How far a fix may be trusted, as linters grade theirs. Only SAFE ones are applied in bulk."""

    SAFE = "safe"
    """The same content, written as it has to be: nothing typed goes, nothing is made up."""
    GUESS = "guess"
    """Something else may have been meant."""
    PLACEHOLDER = "placeholder"
    """It puts in something of ours that a person has to replace by their own words."""
    REMOVES = "removes"
    """It takes out something that a person typed."""


_TRUST: Final = tuple(Applicability)


def least(*grades: Applicability) -> Applicability:
    """Return the grade of a fix that is made of several."""
    return max(grades, key=_TRUST.index, default=Applicability.SAFE)


class TextEdit(NamedTuple):
    """Replace `text[start:end]` by `new`. Offsets count characters of the text as typed."""

    start: int
    end: int
    new: str


class Fix(NamedTuple):
    """A mechanical mend: edits of the text as typed, and the code of the label on its button."""

    edits: tuple[TextEdit, ...]
    label: str = "fix"
    applicability: Applicability = Applicability.SAFE

    @property
    def is_safe(self) -> bool:
        """Return True if it may be applied together with others, without a look at it."""
        return self.applicability is Applicability.SAFE

    @property
    def in_order(self) -> list[TextEdit]:
        """The edits in the order of the text."""
        return sorted(self.edits, key=itemgetter(0, 1))

    def apply(self, text: str) -> str:
        """Return the mended text."""
        return applied(text, self.in_order)


def applied(text: str, edits: Iterable[TextEdit]) -> str:
    """Return a text after edits that stand in their order and do not overlap."""
    parts: list[str] = []
    at = 0
    for edit in edits:
        parts += (text[at : edit.start], edit.new)
        at = edit.end
    parts.append(text[at:])
    return "".join(parts)


class Diagnostic(NamedTuple):
    """One problem with a text or a message.

    `start` and `end` are offsets into the text as typed; `line` and `column` count from 1 and are 0
    where no place can be named (the text is empty, say). `pointer` is a JSON Pointer (RFC 6901)
    into the message, "" for the whole of it. `detail` fills the sentence.
    """

    code: str
    severity: Severity
    detail: tuple[tuple[str, str], ...] = ()
    pointer: str = ""
    start: int = 0
    end: int = 0
    line: int = 0
    column: int = 0
    fix: Fix | None = None
    page: str = ""
    """The page of the specification that says so."""
    times: int = 1
    """How many of this kind there are: many are one problem, at the place of the first."""

    @property
    def blocks(self) -> bool:
        """Return True if this keeps the text from being sent."""
        return self.severity is Severity.ERROR


def unreadable(malformed: Malformed) -> Diagnostic:
    """Return why a line is no message."""
    return Diagnostic(malformed.why.value, Severity.ERROR, malformed.detail)


def together(diagnostics: Iterable[Diagnostic]) -> list[TextEdit]:
    """Return the edits of the fixes of several problems, in the order of the text.

    Of two that change the same place the earlier problem's counts; a fix is taken whole or not.
    """
    diagnostics = tuple(diagnostics)
    fixes = (one.fix for one in diagnostics if one.fix is not None)
    every = sorted((edit for fix in fixes for edit in fix.edits), key=itemgetter(0, 1))
    if all(one.end <= after.start for one, after in pairwise(every)):
        return every
    taken: list[tuple[int, int, int, TextEdit]] = []
    for diagnostic in diagnostics:
        edits = diagnostic.fix.edits if diagnostic.fix is not None else ()
        if not any(_meets(edit, taken) for edit in edits):
            for edit in edits:
                insort(taken, (edit.start, edit.end, len(taken), edit))
    return [edit for _start, _end, _count, edit in taken]


def _meets(edit: TextEdit, taken: list[tuple[int, int, int, TextEdit]]) -> bool:
    """Return True if an edit changes a place that one of those changes; none of them meet."""
    before = bisect_left(taken, (edit.end,))  # those that begin before this one ends
    return before > 0 and taken[before - 1][1] > edit.start


def blocking(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return those that keep a text from being sent."""
    return tuple(diagnostic for diagnostic in diagnostics if diagnostic.blocks)


class LineIndex:
    """Finds lines and columns in one text: for many places, where each would count from the top."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] = []

    def place(self, at: int) -> tuple[int, int]:
        """Return the line and column, both from 1, of the character at offset `at`."""
        if not self._starts:
            self._starts = [0, *(found.end() for found in re.finditer("\n", self._text))]
        line = bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """Return the line and column, both from 1, of the character at offset `at`.

    Lines end at line feeds, as editors count them.
    """
    before = text[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1
