"""One problem of a message: its code, its severity, its place, and its fix.

A problem contains no sentence. The sentence is in `locales/`, by code, in every language; `detail`
fills it. The codes: J.. the JSON text, R.. the JSON-RPC envelope, M.. MCP, N.. a received line, F..
the files that a person writes, X.. the check itself.
"""

from __future__ import annotations

import enum
import re
from bisect import bisect_left, bisect_right, insort
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from humanmcp.protocol.json.encodings import guessed_encoding
from humanmcp.protocol.json.jsonrpc import Flaw, closed_at

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from humanmcp.protocol.json.jsonrpc import Kind, Malformed


class Severity(enum.StrEnum):
    """The severity of a problem."""

    ERROR = "error"
    """The client would fail, or never get the message: blocks sending unless it is sent anyway."""
    WARNING = "warning"
    """Some clients would fail or lose a part of the message."""
    HINT = "hint"
    """Allowed, but worth knowing."""
    HOSTS = "hosts"
    """Allowed, but some hosts or clients are known that fail, or what they do with a mistake."""
    REPAIRED = "repaired"
    """A mistake with only one meaning; it is fixed in what is sent."""


HINTS: Final = frozenset({Severity.HINT, Severity.HOSTS})
"""What is no mistake."""


class Applicability(enum.StrEnum):
    """How far a fix can be trusted, as in linters. Only SAFE fixes are applied in bulk."""

    SAFE = "safe"
    """The same content in the right form: nothing typed is removed, nothing is invented."""
    GUESS = "guess"
    """The person may have meant something else."""
    PLACEHOLDER = "placeholder"
    """It inserts a placeholder that the person has to replace."""
    REMOVES = "removes"
    """It removes something that the person typed."""


_TRUST: Final = tuple(Applicability)


def least(*grades: Applicability) -> Applicability:
    """Return the lowest of the grades, for a fix that combines several."""
    return max(grades, key=_TRUST.index, default=Applicability.SAFE)


class TextEdit(NamedTuple):
    """Replace `text[start:end]` with `new`. Offsets count characters of the text as typed."""

    start: int
    end: int
    new: str


class Fix(NamedTuple):
    """A fix: edits of the text as typed, and the code of the label on its button."""

    edits: tuple[TextEdit, ...]
    label: str = "fix"
    applicability: Applicability = Applicability.SAFE

    @property
    def is_safe(self) -> bool:
        """True if it can be applied in bulk, without review."""
        return self.applicability is Applicability.SAFE

    @property
    def in_order(self) -> list[TextEdit]:
        return sorted(self.edits, key=itemgetter(0, 1))

    def apply(self, text: str) -> str:
        return applied(text, self.in_order)


def applied(text: str, edits: Iterable[TextEdit]) -> str:
    """Return a text after edits, which are in order and do not overlap."""
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
    if there is no place (for example, the text is empty). `pointer` is a JSON Pointer (RFC 6901)
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
    """The page of its kind with the rule, or else that of the method."""
    times: int = 1
    """The number of equal problems that this one stands for, at the place of the first."""

    @property
    def blocks(self) -> bool:
        """True if this problem blocks sending."""
        return self.severity is Severity.ERROR


_FOREIGN: Final = (
    (re.compile(rb"(?i)Content-Length: *\d"), "N49"),
    (re.compile(rb"^\s*\{'"), "N50"),
    (re.compile(rb"^\s*\{ ?(?:jsonrpc|id|result|error|method): "), "N51"),
    (re.compile(rb"^(?:\xff\xfe|\xfe\xff|\{\0|\0\{\0)"), "N52"),
    (re.compile(rb"^(?:\x1b\[[\d;]*[A-Za-z])*\{.*\x1b\[[\d;]*m|^\x1b\[[\d;]*m\{"), "N55"),
)
"""Lines that are not JSON, but known: how they begin or what they contain, and their code."""


def unreadable(malformed: Malformed) -> Diagnostic:
    """Return the problem of a line that is not a message."""
    code, detail = malformed.why.value, malformed.detail
    if malformed.why in (Flaw.NOT_JSON, Flaw.NOT_UTF8):
        code = next((named for line, named in _FOREIGN if line.search(malformed.raw)), code)
    if code == Flaw.NOT_JSON and _goes_on(malformed.text, int(dict(detail)["column"]) - 1):
        code = "N54"
    if code == Flaw.NOT_UTF8 and (encoding := guessed_encoding(malformed.raw)):
        code, detail = "N53", (*detail, ("encoding", encoding))
    return Diagnostic(code, Severity.ERROR, detail)


def _goes_on(text: str, at: int) -> bool:
    """Return True if the first message of a line ends before `at`, where a second one begins."""
    if not (text.startswith("{") and text.startswith("{", at)):
        return False
    end = closed_at(text, 0)
    return 0 < end <= at and not text[end:at].strip()


def together(diagnostics: Iterable[Diagnostic]) -> list[TextEdit]:
    """Return the edits of the fixes of several problems, in the order of the text.

    If two fixes change the same place, the earlier problem's fix is applied. A fix is applied
    completely or not at all.
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
    """Return True if an edit overlaps one of the edits, which do not overlap each other."""
    before = bisect_left(taken, (edit.end,))  # the edits that begin before this one ends
    return before > 0 and taken[before - 1][1] > edit.start


def blocking(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the problems that block sending."""
    return tuple(diagnostic for diagnostic in diagnostics if diagnostic.blocks)


class LineIndex:
    """The line starts of a text, to find many lines and columns without counting from the top."""

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
    """What a person's text stands for. humanmcp adds the envelope to all forms except MESSAGE."""

    MESSAGE = "message"
    """A whole JSON-RPC response, or just `{"result": …}` or `{"error": …}`."""
    RESULT = "result"
    """The value of `"result"`."""
    ERROR = "error"
    """The value of `"error"`."""
    TEXT = "text"
    """Plain text for a tool call; it becomes one text item in `content`."""
    TOOL_ERROR = "tool error"
    """The same with `"isError": true`: the model reads why the tool failed."""
    DECISION = "decision"
    """What was decided about an agent's prompt (`protocol/conversation/prompts.py`)."""
    STEP = "step"
    """The whole answer to a step, in the form of its kind (`answering/steps.py`)."""


class Verdict(NamedTuple):
    """The result of a check of a text.

    `line` is the line to send, without its line feed; None if an error blocks it. `forced` is the
    line that **Send anyway** sends; None only if there is nothing to send. `kind` is the form of
    `line` (or `forced`): a result, an error, or the person's own message; None if the text is too
    malformed. The offsets of problems and fixes count in `text`: the text as typed, decoded.
    """

    text: str
    line: str | None
    forced: str | None
    diagnostics: tuple[Diagnostic, ...] = ()
    kind: Kind | None = None

    @property
    def sendable(self) -> bool:
        """True if nothing blocks sending."""
        return self.line is not None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The problems that block sending."""
        return blocking(self.diagnostics)


# -- many problems of one kind -------------------------------------------------------------------

FEW: Final = 3
"""The maximum number of problems with the same sentence that are shown one by one."""
MOST: Final = 10
"""The maximum number of problems of one code that are shown one by one; the rest is one."""

_INDEX: Final = re.compile(r"\[\d+\]")

_Kind: TypeAlias = "tuple[Hashable, ...]"


def grouped(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return problems in their order, where problems with the same sentence become one."""
    diagnostics = tuple(diagnostics)
    if len(diagnostics) <= FEW:
        return diagnostics
    same = _joined(diagnostics, _alike, FEW)
    return _joined(same, lambda one: (one.code, one.severity), MOST, keep=True)


def _alike(one: Diagnostic) -> _Kind:
    """Return a key that problems share if they only differ in the index of a list item."""
    detail = tuple((name, _INDEX.sub("[]", text)) for name, text in one.detail)
    return (one.code, one.severity, detail)


def _joined(
    diagnostics: tuple[Diagnostic, ...],
    kind: Callable[[Diagnostic], _Kind],
    most: int,
    *,
    keep: bool = False,
) -> tuple[Diagnostic, ...]:
    """Join the problems of each kind if there are more than `most`.

    With `keep`, the first ones stay separate, and the last shown one represents the rest. It keeps
    its own fix.
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
