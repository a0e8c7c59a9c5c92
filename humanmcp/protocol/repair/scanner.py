# ruff: noqa: RUF001 - full-width and curly characters are what this is about
"""A mistake in a text that is almost JSON, and the reader that takes note of them.

The reader knows places, white space and punctuation. Strings and numbers are read by `scalars.py`,
objects and lists by `parser.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, ParamSpec

from humanmcp.protocol.diagnostics.kinds import syntax
from humanmcp.protocol.diagnostics.model import TextEdit

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.protocol.diagnostics.kinds.syntax import JsonDiagnostic
    from humanmcp.protocol.diagnostics.model import Applicability

_Given = ParamSpec("_Given")
"""What fills the sentence of a kind of mistake."""

SPACES: Final = " \t\r\n"
WIDE_SPACE: Final = "\u3000"
UNSEEN: Final = "\xa0\u200b\u200c\u200d\u2060\ufeff\u2002\u2003\u2009\u202f\u2028\u2029\x85\x0b\x0c"
WIDE: Final = {
    **{chr(0xFF01 + i): chr(0x21 + i) for i in range(94)},  # the full-width twins of ASCII
    "、": ",",
    "，": ",",
    "：": ":",
    "；": ";",
    "【": "[",
    "】": "]",
}
CORNERS: Final = {"「": "[", "」": "]", "『": "{", "』": "}"}
"""What an input method for Japanese types on the keys of `[` `]` `{` `}`, unless it is a quote."""
_OPENERS: Final = re.compile(
    r"""\s*(?:[{\[｛［【「『"'“”＂＇」]|(?:[\d０-９+\-－ー−]|true|false|null)[^」\n]*[,、，])"""
)
_NAMES: Final = re.compile(r"""\s*(?:["'“”＂＇「』]|[\w$\-]+\s*[:：=])""")
_CORNER_OPENS: Final = {"「": _OPENERS, "『": _NAMES}
_ENOUGH: Final = 10
"""Mistakes of any other kind that are named one by one; the others are one mistake together."""


@dataclass(slots=True)
class Mistake:
    """One mistake, or all of a kind: what fills its sentence, its place, and its edits."""

    diagnostic: JsonDiagnostic
    start: int
    end: int
    label: str
    applicability: Applicability
    edits: list[TextEdit] = field(default_factory=list)
    count: int = 0

    @property
    def times(self) -> int:
        """How often it was found, where that is said."""
        once = self.diagnostic.everywhere or isinstance(self.diagnostic, syntax.NotClosed)
        return 1 if once else self.count


@dataclass(frozen=True, slots=True)
class RepairResult:
    """All that was found. `whole` says that the edits make valid JSON of the text."""

    mistakes: list[Mistake]
    edits: tuple[TextEdit, ...]
    whole: bool


def _label(diagnostic: JsonDiagnostic, edits: tuple[TextEdit, ...]) -> str:
    """Return the label of a fix by what its edit does."""
    if edits and not edits[0].new:
        return "delete"
    if edits and edits[0].start == edits[0].end:
        return "insert"
    return "replace_all" if diagnostic.everywhere else "replace"


class UnrepairableError(Exception):
    """No guess would be safe from here on."""


@dataclass(slots=True)
class RepairScanner:
    """The text under examination, how far it has been read, and what was found."""

    text: str
    at: int = 0
    edits: list[TextEdit] = field(default_factory=list)
    notes: dict[object, list[Mistake]] = field(default_factory=dict)
    """What was noted of each kind of mistake, in the order of the text."""
    saturated: dict[object, Mistake] = field(default_factory=dict)
    """Of a kind that gets no further note: the last one, which all others belong to."""

    # -- notes ----------------------------------------------------------------------------------

    def mistakes(self) -> list[Mistake]:
        """Return what was found, in the order of the text."""
        return sorted(chain.from_iterable(self.notes.values()), key=lambda each: each.start)

    def mistake(
        self,
        kind: Callable[_Given, JsonDiagnostic],
        start: int,
        end: int,
        edits: tuple[TextEdit, ...],
        *args: _Given.args,
        **fillings: _Given.kwargs,
    ) -> Mistake:
        """Take note of a mistake; one of a kind that stands all over a text is one mistake."""
        note = self.saturated.get(kind)
        if note is None:
            diagnostic = kind(*args, **fillings)
            note = Mistake(
                diagnostic,
                start,
                end,
                diagnostic.label or _label(diagnostic, edits),
                diagnostic.applicability,
            )
            notes = self.notes.setdefault(kind, [])
            notes.append(note)
            if diagnostic.everywhere or len(notes) == _ENOUGH:
                self.saturated[kind] = note
        self.edits += edits
        note.edits += edits
        note.count += 1
        return note

    def swap(
        self,
        kind: Callable[_Given, JsonDiagnostic],
        start: int,
        end: int,
        new: str,
        *args: _Given.args,
        **fillings: _Given.kwargs,
    ) -> Mistake:
        """Take note of a mistake that other characters in its place mend."""
        return self.mistake(kind, start, end, (TextEdit(start, end, new),), *args, **fillings)

    def take_back(self, edit: TextEdit) -> None:
        """Forget an edit that was made a moment ago."""
        at = len(self.edits) - 1
        while self.edits[at] is not edit:  # from the end: there may be thousands before it
            at -= 1
        del self.edits[at]

    def peek(self) -> str:
        """Return the next character, "" at the end."""
        return self.text[self.at : self.at + 1]

    # -- white space ----------------------------------------------------------------------------

    def space(self) -> str:
        """Pass over white space, and over what is meant as such; return the mark after it."""
        while char := self.peek():
            if char in SPACES:
                self.at += 1
            elif char == WIDE_SPACE:
                self.swap(syntax.FullWidthSpace, self.at, self.at + 1, " ")
                self.at += 1
            elif char in UNSEEN:
                shown = f"U+{ord(char):04X}"
                self.swap(syntax.InvisibleCharacter, self.at, self.at + 1, " ", char=shown)
                self.at += 1
            elif not self._comment(char):
                break
        return self.mark()

    def _comment(self, char: str) -> bool:
        text, start = self.text, self.at
        if text.startswith("/*", start):
            end = text.find("*/", start + 2)
            end = len(text) if end < 0 else end + 2
        elif text.startswith("//", start) or char == "#":
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
        else:
            return False
        self.swap(syntax.Comment, start, end, "")
        self.at = end
        return True

    def mark(self) -> str:
        """Return the next character as the ASCII one that is meant."""
        char = self.text[self.at : self.at + 1]
        opens = _CORNER_OPENS.get(char)
        if char in CORNERS and (opens is None or opens.match(self.text, self.at + 1)):
            return CORNERS[char]
        return WIDE.get(char, char)

    def take_mark(self) -> None:
        """Pass over one punctuation mark, mending a full-width one."""
        char = self.text[self.at]
        if (half := self.mark()) != char:
            self.swap(syntax.FullWidth, self.at, self.at + 1, half, char=char, half=half)
        self.at += 1
