"""Bytes that are not UTF-8, and escapes that are half a character."""

from __future__ import annotations

import re
from typing import Final

_GB2312: Final = re.compile(rb"[\x00-\x7f]*(?:(?:[\xa1-\xd7][\xa1-\xfe]){2,}[\x00-\x7f]*)+")
"""ASCII, and several frequent Chinese characters together."""
_LATIN: Final = re.compile(rb"(?:[\x91-\x97\xc0-\xd6\xd8-\xf6\xf8-\xfe]{0,2}[\t\x20-\x7e])*")
"""ASCII, with at most two letters with accents, curly quotes or dashes in a row."""


_HIRAGANA: Final = re.compile(rb"(?:\xa4[\xa1-\xf3])")
_UTF16: Final = (
    (re.compile(rb"\xff\xfe"), "utf-16-le"),
    (re.compile(rb"\xfe\xff"), "utf-16-be"),
    (re.compile(rb"(?=(?:[\t\n\r -~]\0){4})"), "utf-16-le"),
    (re.compile(rb"(?=(?:\0[\t\n\r -~]){4})"), "utf-16-be"),
)
ENOUGH: Final = 64 * 1024
"""So many bytes of a file tell whether it is in UTF-16."""


def utf16_of(raw: bytes) -> tuple[str, int]:
    """Return the encoding of a file in UTF-16 and the length of its byte-order mark, else ""."""
    for start, encoding in _UTF16:
        if found := start.match(raw):
            return encoding, found.end()
    for encoding in ("utf-16-le", "utf-16-be"):
        at = raw.find('"jsonrpc"'.encode(encoding), 0, ENOUGH)
        if at >= 0 and at % 2 == 0:
            return encoding, 0
    return "", 0


def guessed_encoding(raw: bytes) -> str:
    """Return the encoding that a line probably has, which is not UTF-8; "" for none."""
    if as_cp932(raw) is not None:
        return "CP932 (Shift_JIS)"
    if _GB2312.fullmatch(raw):
        return "EUC-JP" if len(_HIRAGANA.findall(raw)) > 1 else "GBK"
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
        private = "\ue000" <= char <= "\uf8ff"  # of nobody: `Größe` has one
        if len(pair) == 2 and not private and (in_run or kana or not letter):
            sure += 1
        else:
            doubtful += 1
        before = char
    return text if sure > doubtful else None


_ESCAPE: Final = r"\\(?:u(?:([dD][89abAB])|([dD][c-fC-F]))[0-9a-fA-F]{2}|.)"
"""Any escape; its groups match the first and the second half of a surrogate pair."""


def half_characters(text: str) -> list[tuple[int, int]]:
    r"""List the escapes in `text` that are half of a surrogate pair, as (start, end).

    `"\ud83d\ude00"` is one character in two halves; `"\ud83d"` alone is not a character.
    """
    halves: list[tuple[int, int]] = []
    open_until = -1
    for found in re.finditer(_ESCAPE, text, re.DOTALL):
        if found.lastindex is None:
            continue
        place = found.span()
        if found.lastindex == 2 and place[0] == open_until:
            halves.pop()  # the second half of the previous escape
            open_until = -1
            continue
        halves.append(place)
        open_until = place[1] if found.lastindex == 1 else -1
    return halves
