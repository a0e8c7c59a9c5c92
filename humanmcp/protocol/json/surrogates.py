"""Halves of characters, which no line of UTF-8 can hold, and lines made of any text at all."""

from __future__ import annotations

import re
from typing import Final

_BREAKS: Final = re.compile(r"\r\n?|\n")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)


def wire_line(text: str) -> str | None:
    """Return any text as one line of valid UTF-8, its line breaks as spaces; None when blank."""
    line = _BREAKS.sub(" ", text).strip()
    if not line:
        return None
    return line.encode("utf-8", "replace").decode()


def half_characters(text: str) -> list[tuple[int, int]]:
    r"""List the escapes in `text` that are half of a surrogate pair, as (start, end).

    `"\ud83d\ude00"` is one character written in two halves; `"\ud83d"` alone is none.
    """
    halves: list[tuple[int, int]] = []
    high: tuple[int, int] | None = None
    for found in _ESCAPE.finditer(text):
        point = int(found[1], 16) if found[1] else 0
        if high and not (0xDC00 <= point <= 0xDFFF and found.start() == high[1]):
            halves.append(high)
            high = None
        if 0xD800 <= point <= 0xDBFF:
            high = found.span()
        elif 0xDC00 <= point <= 0xDFFF:
            if not high:
                halves.append(found.span())
            high = None
    if high:
        halves.append(high)
    return halves
