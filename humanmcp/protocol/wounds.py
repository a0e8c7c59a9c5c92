# ruff: noqa: RUF001 - full-width and curly characters are what this is about
"""A mistake in a text that is almost JSON, and the reader that takes note of them.

The reader knows places, white space and punctuation. Strings and numbers are read by `scalars.py`,
objects and lists by `jsonmend.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from humanmcp.protocol.problems import Edit

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
_ALL_IN_ONE: Final = frozenset(
    {"J03", "J04", "J05", "J06", "J08", "J10", "J11", "J14", "J15", "J16", "J18", "J32", "J33"}
)
"""Mistakes that a person makes all over a text: one wound each, with a replace-all fix."""


@dataclass(frozen=True, slots=True)
class Wound:
    """One mistake: its code, its place, what fills its sentence, and the edits that mend it."""

    code: str
    start: int
    end: int
    detail: tuple[tuple[str, str], ...] = ()
    edits: tuple[Edit, ...] = ()
    label: str = "replace"


@dataclass(frozen=True, slots=True)
class Examination:
    """All that was found. `whole` says that the edits make valid JSON of the text."""

    found: tuple[Wound, ...]
    edits: tuple[Edit, ...]
    whole: bool

    def torn(self) -> Examination:
        """Return the same for a text that no edits make whole."""
        return replace(self, whole=False)


class HopelessError(Exception):
    """No guess would be safe from here on."""


@dataclass(slots=True)
class Reader:
    """The text under examination, how far it has been read, and what was found."""

    text: str
    at: int = 0
    edits: list[Edit] = field(default_factory=list)
    found: dict[str, Wound] = field(default_factory=dict)

    # -- notes ----------------------------------------------------------------------------------

    def wounds(self) -> tuple[Wound, ...]:
        """Return what was found, in the order of the text."""
        return tuple(sorted(self.found.values(), key=lambda wound: wound.start))

    def wound(
        self,
        code: str,
        start: int,
        end: int,
        *detail: tuple[str, str],
        edits: tuple[Edit, ...] = (),
        label: str = "replace",
    ) -> None:
        """Take note of a mistake; one of a kind that stands all over a text is one wound."""
        self.edits += edits
        key = code if code in _ALL_IN_ONE else f"{code} {start}"
        before = self.found.get(key)
        if before is None:
            label = f"{label}_all" if key in _ALL_IN_ONE and label == "replace" else label
            self.found[key] = Wound(code, start, end, detail, edits, label)
        else:
            self.found[key] = replace(before, edits=before.edits + edits)

    def swap(self, code: str, start: int, end: int, new: str, *detail: tuple[str, str]) -> None:
        """Take note of a mistake that other characters in its place mend."""
        self.wound(code, start, end, *detail, edits=(Edit(start, end, new),))

    def peek(self) -> str:
        """Return the next character, "" at the end."""
        return self.text[self.at : self.at + 1]

    # -- white space ----------------------------------------------------------------------------

    def space(self) -> None:
        """Pass over white space, and over what is meant as such."""
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            if char in SPACES:
                self.at += 1
            elif char == WIDE_SPACE:
                self.swap("J11", self.at, self.at + 1, " ")
                self.at += 1
            elif char in UNSEEN:
                detail = ("char", f"U+{ord(char):04X}")
                self.swap("J18", self.at, self.at + 1, " ", detail)
                self.at += 1
            elif not self._comment(char):
                return

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
        self.wound("J08", start, end, edits=(Edit(start, end, ""),), label="delete")
        self.at = end
        return True

    def mark(self) -> str:
        """Return the next character as the ASCII one that is meant."""
        char = self.peek()
        return WIDE.get(char, char) if char else ""

    def take_mark(self) -> None:
        """Pass over one punctuation mark, mending a full-width one."""
        char = self.peek()
        if char in WIDE:
            half = WIDE[char]
            self.swap("J03", self.at, self.at + 1, half, ("char", char), ("half", half))
        self.at += 1
