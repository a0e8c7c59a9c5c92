"""Received text as a person sees it: each front end shows it through this module.

Text that people read (`visible`) keeps its line breaks, its spaces and its emoji. Text that a
program acts on (`visible_code`) is one line, and two different lines never look alike. A character
that is not drawn is shown as its code point, ⟦U+202E⟧. Unicode says which: the controls, format
characters, line separators, private, unassigned and half characters (`str.isprintable`), and what
Default_Ignorable_Code_Point lists. A character that is newer than Python's Unicode is unassigned.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# Strings, not compiled patterns: `re` compiles them at the first use, not at the start of a server.
_IGNORABLE: Final = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""The Default_Ignorable_Code_Point that are letters or marks; all others are not printable.

https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt
"""
_EMOJI: Final = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_IN_EMOJI: Final = (
    f"((?<=[{_EMOJI}])\ufe0f|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])|\ufe0f(?=\u20e3))"
)
"""What joins and colours the parts of one emoji; it is drawn with them."""
_UNUSUAL: Final = r"[^\n\t -~]+"
_UNUSUAL_IN_CODE: Final = r"[^ -~]+"
_BLANK: Final = "\u2800\ufffc\U0001d159\U00013441\U00013442"
"""Symbols and letters that are printable, and drawn as a space or as nothing."""
_TAB: Final = "\u21e5"
_LATIN_MARKS: Final = "\u0300-\u036f"
"""The marks that letters of ASCII bear; those of other scripts are drawn there as nothing."""
_MOST_MARKS: Final = 4
"""How many marks a letter bears; more would be drawn over the lines above and below."""
_RIGHT_TO_LEFT: Final = (
    "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff"
)
"""Letters and numbers that run from right to left, by their blocks.

https://www.unicode.org/Public/UCD/latest/ucd/extracted/DerivedBidiClass.txt
"""
_WORD: Final = f"[{_RIGHT_TO_LEFT}][{_RIGHT_TO_LEFT}{_LATIN_MARKS}]*"
_LEFT_TO_RIGHT_MARK: Final = "\u200e"


def visible(text: str) -> str:
    """Return a text of several lines with each character that is not drawn as its code point."""
    return re.sub(_UNUSUAL, _in_prose, text)


def visible_code(line: str) -> str:
    """Return one line of code; in it, unusual and final spaces are code points, too.

    A tab is an arrow and the tab. What looks like an escape of ours is escaped itself.
    """
    shown = re.sub(_UNUSUAL_IN_CODE, _in_code, line)
    kept = shown.rstrip(" ")
    return kept + code_point(" ") * (len(shown) - len(kept))


def visible_json(text: str) -> str:
    """Return JSON with such characters as JSON escapes, which means the same."""
    return re.sub(_UNUSUAL, _in_json, text)


def one_line(text: str, longest: int = 0) -> str:
    """Return `text` on one line without control characters, cut to `longest` (0: not cut)."""
    shown = text
    if not (text.isascii() and text.isprintable()):
        shown = visible(text.replace("\n", "\\n").replace("\t", "\\t"))
    if longest and len(shown) > longest:
        return shown[: longest - 1] + "…"
    return shown


def code_point(char: str) -> str:
    return f"⟦U+{ord(char):04X}⟧"


def _in_json(run: re.Match[str]) -> str:
    return run[0] if is_drawn(run[0]) else "".join(map(_escaped, run[0]))


def _in_prose(run: re.Match[str]) -> str:
    if is_drawn(run[0]):
        return run[0]
    parts = re.split(_IN_EMOJI, run[0])
    parts[::2] = ("".join(map(_as_prose, part)) for part in parts[::2])
    return "".join(parts)


def _as_prose(char: str) -> str:
    drawn = is_drawn(char) or unicodedata.category(char) == "Zs"
    return char if drawn else code_point(char)


def is_drawn(text: str) -> bool:
    """Return True if each character is something to see. The space of ASCII is, others are not."""
    return text.isprintable() and not re.search(_IGNORABLE, text)


def _escaped(char: str) -> str:
    return char if _as_prose(char) == char else json.dumps(char)[1:-1]


def _in_code(run: re.Match[str]) -> str:
    before = run.string[max(0, run.start() - 1) : run.start()]
    marks = 0 if before.strip() else _MOST_MARKS  # without a letter, a mark changes what is beside
    letter, parts = before, []
    for char in run[0]:
        if char == "\t":
            parts.append(f"{_TAB}\t")
            marks = _MOST_MARKS
            continue
        is_mark = unicodedata.category(char).startswith("M")
        marks = marks + 1 if is_mark else 0
        if not is_mark:
            letter = char
        elif letter.isascii() and not re.match(f"[{_LATIN_MARKS}]", char):
            marks = _MOST_MARKS + 1
        if is_drawn(char) and marks <= _MOST_MARKS and char not in (*_BLANK, _TAB, "⟦"):
            parts.append(char)
        else:
            parts.append(code_point(char))
            marks = _MOST_MARKS
    return "".join(parts)


# -- from left to right --------------------------------------------------------------------------


def by_direction(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text in their order; True for a word from right to left."""
    at = 0
    for word in () if text.isascii() else re.finditer(_WORD, text):
        if word.start() > at:
            yield text[at : word.start()], False
        yield word[0], True
        at = word.end()
    if at < len(text):
        yield text[at:], False


def left_to_right(text: str) -> str:
    """Return text for a screen that orders it (Unicode UAX #9), so that words keep their order.

    A word from right to left is read as its readers are used to; what follows is to its right.
    """
    pieces = list(by_direction(text))
    if not any(is_word for _, is_word in pieces):
        return text
    marks = (piece + _LEFT_TO_RIGHT_MARK * is_word for piece, is_word in pieces)
    return _LEFT_TO_RIGHT_MARK + "".join(marks)
