"""What stands in the place of a removed secret, and which values fit it: any.

A mark names what was removed, and has a check: `[redacted:API_KEY-a9f2]`. So a text in which
somebody wrote "[redacted]" is a text like any other.
"""

from __future__ import annotations

import re
from binascii import crc32
from itertools import accumulate, pairwise, takewhile
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BEGINNING: Final = "[redacted:"
MARK: Final = r"\[redacted:([A-Z0-9_]{1,64})-([0-9a-f]{4})\]"
_MARK: Final = re.compile(MARK)
_ESCAPES: Final = re.compile("((?:%[0-9A-Fa-f]{2})+)")
_PIECES: Final = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[\s\S]")
"""A character in a JSON string."""
_LONGEST: Final = 90
"""The maximum length of a mark."""


def mark_of(name: str) -> str:
    """Return the mark of a name, which is in capitals: `API_KEY`."""
    return f"{_BEGINNING}{name}-{crc32(name.encode()) & 0xFFFF:04x}]"


def names_in(text: str) -> list[str]:
    """Return the names of the marks in a text, in their order."""
    return [found[1] for found in _marks(text)]


def decoded_once(encoded: str) -> str:
    """Return a text without one level of percent-encoding; a byte that is not UTF-8 is kept.

    A form writes the space between a name and a value of JSON as `+`; elsewhere `+` may be itself.
    """
    return re.sub('(?<=[:,])\\+(?=")', " ", unquote(encoded, errors="surrogateescape"))


def encoded_again(encoded: str, plain: str, left: str) -> str:
    """Return a percent-encoded text with the marks of `left`, its text without secrets.

    All else stays as it was encoded.
    """
    sizes = [
        3 * len(one.encode("utf-8", "surrogateescape")) if number % 2 else 1
        for number, part in enumerate(_ESCAPES.split(encoded))
        for one in decoded_once(part)
    ]
    return _marked_like(encoded, sizes, plain, left)


def literal_again(literal: str, plain: str, left: str) -> str:
    """Return the JSON string of a text with the marks of `left`, this text without secrets.

    All else stays as it was escaped.
    """
    sizes = [len(piece) for piece in _PIECES.findall(literal[1:-1])]
    return f'"{_marked_like(literal[1:-1], sizes, plain, left)}"'


def _marked_like(encoded: str, sizes: Iterable[int], plain: str, left: str) -> str:
    """Put the marks of `left` into a text that is encoded.

    Each character of `plain`, the text, takes so many of the encoded one. What `left` has written
    anew beside a mark, such as JSON with a text instead of a number, is left out: a mark fits it,
    too. Nothing is written that is not in `left`.
    """
    places = [0, *accumulate(sizes)]
    first, *between, last = _fixed_parts(left)
    at = _alike(first, plain)
    end = len(plain) - _alike(last[::-1], plain[at:][::-1])
    pieces = [encoded[: places[at]]]
    for mark, part in zip(_marks(left), [*between, ""], strict=True):
        tried = (part, part.removeprefix('"'), part.removesuffix('"'), part[1:-1])
        found = ((plain.find(one, at, end), len(one)) for one in tried)  # a number has no quotes
        start, size = next((one for one in found if one[0] >= 0), (end, 0))
        at = start + size
        pieces += [mark[0], encoded[places[start] : places[at]]]
    return "".join([*pieces, encoded[places[end] :]])


def _alike(one: str, other: str) -> int:
    """Return how many characters are the same at the beginning."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in same)


def left_of(text: str, start: int = 0, end: int | None = None) -> str | None:
    """Return what is left of a part of a text without the marks; None if it touches no mark."""
    end = len(text) if end is None else end
    offset = max(0, start - _LONGEST)
    around = text[offset : end + _LONGEST]
    left, at, touched = [], start - offset, False
    for found in _marks(around):
        if found.end() > start - offset and found.start() < end - offset:
            left.append(around[at : found.start()])
            at, touched = found.end(), True
    return "".join([*left, around[at : end - offset]]) if touched else None


def unnamed(text: str) -> str:
    """Write each mark of a text alike: which number a name has depends on the recording."""
    return "[redacted]".join(_fixed_parts(text))


def fits(recorded: Any, value: Any) -> bool:  # noqa: ANN401 - any JSON values
    """Return True if a value is the recorded one; in the place of a removed part may be anything.

    A text that is a mark fits any value, also a number. `true` is not 1.
    """
    if isinstance(recorded, str):
        parts = _fixed_parts(recorded)
        if len(parts) == 1:
            return bool(recorded == value)
        return parts == ["", ""] or (isinstance(value, str) and _has_parts(value, parts))
    if isinstance(recorded, dict) and isinstance(value, dict):
        return _has_members(recorded, value)
    if isinstance(recorded, list) and isinstance(value, list):
        return len(recorded) == len(value) and all(map(fits, recorded, value))
    return isinstance(recorded, bool) == isinstance(value, bool) and bool(recorded == value)


def _marks(text: str) -> Iterator[re.Match[str]]:
    if _BEGINNING in text:
        yield from (found for found in _MARK.finditer(text) if mark_of(found[1]) == found[0])


def _fixed_parts(text: str) -> list[str]:
    """Return what stands before, between and after the marks: one part if there is no mark."""
    ends = [0, *(end for found in _marks(text) for end in found.span()), len(text)]
    return [text[start:end] for start, end in list(pairwise(ends))[::2]]


def _has_parts(value: str, parts: list[str]) -> bool:
    """Return True if a text has these parts in this order, from its beginning to its end."""
    first, *between, last = parts
    if not (value.startswith(first) and value.endswith(last)):
        return False
    at, end = len(first), len(value) - len(last)
    for part in between:
        found = value.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return at <= end


def _has_members(recorded: dict[str, Any], value: dict[str, Any]) -> bool:
    """Return True if an object has the recorded members. A mark in a name fits any other name."""
    others = [name for name in value if name not in recorded]
    marked = [name for name in recorded if name not in value]
    return (
        len(recorded) == len(value)
        and all(fits(recorded[name], value[name]) for name in recorded if name in value)
        and all(
            fits(name, other) and fits(recorded[name], value[other])
            for name, other in zip(marked, others, strict=True)
        )
    )
