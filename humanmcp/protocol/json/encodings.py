"""Guess the encoding of bytes that are not UTF-8."""

from __future__ import annotations

import re
from typing import Final

_GB2312: Final = re.compile(rb"[\x00-\x7f]*(?:(?:[\xa1-\xd7][\xa1-\xfe]){2,}[\x00-\x7f]*)+")
"""ASCII, and several frequent Chinese characters together."""
_LATIN: Final = re.compile(rb"(?:[\x91-\x97\xc0-\xd6\xd8-\xf6\xf8-\xfe]{0,2}[\t\x20-\x7e])*")
"""ASCII, with at most two letters with accents, curly quotes or dashes in a row."""


def guessed_encoding(raw: bytes) -> str:
    """Return the encoding that a line probably has, which is not UTF-8; "" for none."""
    if as_cp932(raw) is not None:
        return "CP932 (Shift_JIS)"
    if _GB2312.fullmatch(raw):
        return "GBK"
    return "Windows-1252" if _LATIN.fullmatch(raw) else ""


def as_cp932(raw: bytes) -> str | None:
    """Decode CP932 (Shift_JIS) if it reads like Japanese; return None otherwise.

    `“hello”` in cp1252 is also valid CP932: 93 68 is a rare Chinese character there. In Japanese,
    such characters are adjacent, or have a second byte that is not a Latin letter. A single accent
    or quote has neither property.
    """
    try:
        text = raw.decode("cp932")
    except UnicodeDecodeError:
        return None
    sure = doubtful = 0
    before = ""
    for char in text:
        if char <= "\x7f":
            before = ""
            continue
        pair = char.encode("cp932")
        in_run = bool(before)
        kana = pair[0] in (0x81, 0x82, 0x83)  # hardly ever used in cp1252
        letter = chr(pair[-1]).isalnum() and pair[-1] < 0x80  # as after an opening quote
        if len(pair) == 2 and (in_run or kana or not letter):
            sure += 1
        else:
            doubtful += 1
        before = char
    return text if sure > doubtful else None
