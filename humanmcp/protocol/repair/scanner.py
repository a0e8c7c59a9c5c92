# ruff: noqa: RUF001 - full-width and curly characters are what this is about
"""A mistake in a text that is almost JSON, and the reader that takes note of them.

The reader knows places, white space and punctuation. Strings and numbers are read by `scalars.py`,
objects and lists by `parser.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Final

from humanmcp.protocol.diagnostics.model import Applicability, TextEdit, least

SPACES: Final = " \t\r\n"
_PLAIN_SPACE: Final = re.compile(r"[ \t\r\n]*")
_INK: Final = frozenset(chr(code) for code in range(0x21, 0x7F)) - {"#", "/"} | {""}
"""What ends white space without a second look; a comment may begin with the two others."""
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
_ALL_IN_ONE: Final = frozenset(
    {"J03", "J04", "J05", "J06", "J08", "J10", "J11", "J14", "J15", "J16", "J18", "J32", "J33"}
)
"""Mistakes that a person makes all over a text: one wound each, with a replace-all fix."""
_ENOUGH: Final = 10
"""Mistakes of any other kind that are named one by one; the others are one wound together."""
_GRADES: Final = {
    **dict.fromkeys(("J10", "J17", "J23", "J24", "J37"), Applicability.GUESS),
    "J34": Applicability.PLACEHOLDER,
    **dict.fromkeys(("J08", "J30"), Applicability.REMOVES),
}
"""The mends that do more than to write the same content as JSON."""


@dataclass(frozen=True, slots=True)
class SyntaxDiagnostic:
    """One mistake: its code, its place, what fills its sentence, and the edits that mend it."""

    code: str
    start: int
    end: int
    detail: tuple[tuple[str, str], ...] = ()
    edits: tuple[TextEdit, ...] = ()
    label: str = "replace"
    applicability: Applicability = Applicability.SAFE
    count: int = 1


@dataclass(slots=True)
class _Note:
    """A wound of which more may be found."""

    code: str
    start: int
    end: int
    detail: tuple[tuple[str, str], ...]
    label: str
    edits: list[TextEdit] = field(default_factory=list)
    applicability: Applicability = Applicability.SAFE
    count: int = 0

    def wound(self) -> SyntaxDiagnostic:
        """Return what was noted so far."""
        return SyntaxDiagnostic(
            self.code,
            self.start,
            self.end,
            self.detail,
            tuple(self.edits),
            self.label,
            self.applicability,
            1 if self.code in _ALL_IN_ONE or self.code == "J07" else self.count,
        )


@dataclass(frozen=True, slots=True)
class RepairResult:
    """All that was found. `whole` says that the edits make valid JSON of the text."""

    found: tuple[SyntaxDiagnostic, ...]
    edits: tuple[TextEdit, ...]
    whole: bool

    def torn(self) -> RepairResult:
        """Return the same for a text that no edits make whole."""
        return replace(self, whole=False)


class UnrepairableError(Exception):
    """No guess would be safe from here on."""


@dataclass(slots=True)
class RepairScanner:
    """The text under examination, how far it has been read, and what was found."""

    text: str
    at: int = 0
    edits: list[TextEdit] = field(default_factory=list)
    found: dict[str, _Note] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    # -- notes ----------------------------------------------------------------------------------

    def wounds(self) -> tuple[SyntaxDiagnostic, ...]:
        """Return what was found, in the order of the text."""
        return tuple(note.wound() for note in sorted(self.found.values(), key=lambda n: n.start))

    def wound(  # noqa: PLR0913 - a mistake, and what there is to say of its mend
        self,
        code: str,
        start: int,
        end: int,
        *detail: tuple[str, str],
        edits: tuple[TextEdit, ...] = (),
        label: str = "replace",
        grade: Applicability | None = None,
    ) -> None:
        """Take note of a mistake; one of a kind that stands all over a text is one wound."""
        self.edits += edits
        key = code
        if code not in _ALL_IN_ONE:
            self.counts[code] += 1
            key = f"{code} {min(self.counts[code], _ENOUGH)}"
        note = self.found.get(key)
        if note is None:
            label = f"{label}_all" if key in _ALL_IN_ONE and label == "replace" else label
            note = self.found[key] = _Note(code, start, end, detail, label)
        note.edits += edits
        note.count += 1
        grade = grade or _GRADES.get(code)
        if grade is not None:
            note.applicability = least(note.applicability, grade)

    def swap(self, code: str, start: int, end: int, new: str, *detail: tuple[str, str]) -> None:
        """Take note of a mistake that other characters in its place mend."""
        self.wound(code, start, end, *detail, edits=(TextEdit(start, end, new),))

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
        text = self.text
        while (char := text[self.at : self.at + 1]) not in _INK:
            if char in SPACES:
                found = _PLAIN_SPACE.match(text, self.at)
                self.at = found.end() if found else self.at
            elif char == WIDE_SPACE:
                self.swap("J11", self.at, self.at + 1, " ")
                self.at += 1
            elif char in UNSEEN:
                detail = ("char", f"U+{ord(char):04X}")
                self.swap("J18", self.at, self.at + 1, " ", detail)
                self.at += 1
            elif not self._comment(char):
                return self.mark()
        return char

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
        self.wound("J08", start, end, edits=(TextEdit(start, end, ""),), label="delete")
        self.at = end
        return True

    def mark(self) -> str:
        """Return the next character as the ASCII one that is meant."""
        char = self.text[self.at : self.at + 1]
        if char.isascii():
            return char
        opens = _CORNER_OPENS.get(char)
        if char in CORNERS and (opens is None or opens.match(self.text, self.at + 1)):
            return CORNERS[char]
        return WIDE.get(char, char)

    def take_mark(self) -> None:
        """Pass over one punctuation mark, mending a full-width one."""
        char = self.text[self.at]
        if not char.isascii() and (half := self.mark()) != char:
            self.swap("J03", self.at, self.at + 1, half, ("char", char), ("half", half))
        self.at += 1
