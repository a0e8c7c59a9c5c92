"""One thing wrong with a message: its code, how bad it is, where it stands, and how to fix it.

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
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from humanmcp.protocol.json.jsonrpc import Kind, Malformed


class Severity(enum.StrEnum):
    """How bad a problem is."""

    ERROR = "error"
    """The client would fail, or never see it: blocks sending until it is sent anyway."""
    WARNING = "warning"
    """Some clients would fail or lose a part of it."""
    HINT = "hint"
    """Allowed; there is something to learn."""
    REPAIRED = "repaired"
    """Was wrong in a way that has one meaning only, and is fixed in what is sent."""


class Applicability(enum.StrEnum):
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
    """A mechanical fix: edits of the text as typed, and the code of the label on its button."""

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
        """Return the fixed text."""
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


class TextForm(enum.StrEnum):
    """What a person's text stands for. Everything but MESSAGE gets its envelope from us."""

    MESSAGE = "message"
    """A whole JSON-RPC response, or just `{"result": …}` or `{"error": …}`."""
    RESULT = "result"
    """What belongs after `"result":`."""
    ERROR = "error"
    """What belongs after `"error":`."""
    TEXT = "text"
    """Plain text for a tool call: becomes one text item in `content`."""
    TOOL_ERROR = "tool error"
    """The same with `"isError": true`: the model reads why the tool failed."""


class Verdict(NamedTuple):
    """What the check says of a text.

    `line` is the one line to send, without its line feed; None when an error blocks it.
    `forced` is the one line that **Send anyway** writes; None only when there is nothing to write.
    `kind` says whether `line` (or `forced`) is a result or an error, or something of the person's
    own; None where the text is too broken to tell.
    `text` is the text the offsets of the problems and fixes count in: the text as typed, decoded.
    """

    text: str
    line: str | None
    forced: str | None
    diagnostics: tuple[Diagnostic, ...] = ()
    kind: Kind | None = None

    @property
    def sendable(self) -> bool:
        """Return True if nothing blocks sending."""
        return self.line is not None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Return the problems that block sending."""
        return blocking(self.diagnostics)


# -- many problems of one kind -------------------------------------------------------------------

FEW: Final = 3
"""Problems that say the same of several places and are still shown one by one."""
MOST: Final = 10
"""Problems of one code that are shown one by one, whatever they say; the others are one."""

_INDEX: Final = re.compile(r"\[\d+\]")

_Kind: TypeAlias = "tuple[Hashable, ...]"


def grouped(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return problems, in their order, with those that say the same as one."""
    diagnostics = tuple(diagnostics)
    if len(diagnostics) <= FEW:
        return diagnostics
    same = _joined(diagnostics, _alike, FEW)
    return _joined(same, lambda one: (one.code, one.severity), MOST, keep=True)


def _alike(one: Diagnostic) -> _Kind:
    """Return what two problems share that differ only in the item of a list they are about."""
    detail = tuple((name, _INDEX.sub("[]", text)) for name, text in one.detail)
    return (one.code, one.severity, detail)


def _joined(
    diagnostics: tuple[Diagnostic, ...],
    kind: Callable[[Diagnostic], _Kind],
    most: int,
    *,
    keep: bool = False,
) -> tuple[Diagnostic, ...]:
    """Join the problems of each kind of which there are more than `most`.

    With `keep` the first of them stay as they are, and the last that is shown stands for the rest,
    whatever these say: its fix is its own.
    """
    groups: dict[_Kind, list[int]] = {}
    for at, diagnostic in enumerate(diagnostics):
        groups.setdefault(kind(diagnostic), []).append(at)
    shown: dict[int, Diagnostic] = dict(enumerate(diagnostics))
    for places in groups.values():
        if len(places) > most:
            first, *others = places[most - 1 :] if keep else places
            joined = [shown.pop(at) for at in others]
            shown[first] = _as_one([shown[first], *joined], own_fix=keep)
    return tuple(shown.values())


def _as_one(group: list[Diagnostic], *, own_fix: bool) -> Diagnostic:
    times = sum(one.times for one in group)
    first = group[0]
    if own_fix or first.fix is None or any(one.fix is None for one in group):
        return first._replace(times=times)
    fixes = [one.fix for one in group if one.fix is not None]
    grade = least(*(fix.applicability for fix in fixes)) if fixes else Applicability.SAFE
    return first._replace(times=times, fix=Fix(tuple(together(group)), first.fix.label, grade))
