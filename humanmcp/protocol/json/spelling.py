"""Which known word a typed one means."""

from __future__ import annotations

import functools
import unicodedata
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.protocol.json.jsonrpc import Json


Word = TypeVar("Word", bound="str | Json")


def alike(typed: Json, known: Iterable[Word]) -> Word | None:
    """Return the known word that a typed word probably means, or None.

    It matches the same letters in other case or with other separators (`input_schema`), a plural
    for a singular (`content`, `contents`), or one or two typing errors in a long word.
    """
    if not isinstance(typed, str) or not typed or len(typed) > 64:
        return None
    letters = plain(typed)
    best: Word | None = None
    fewest = 3
    for word in known:
        if not isinstance(word, str):
            continue
        other = plain(word)
        if letters == other or (letters.rstrip("s") and letters.rstrip("s") == other.rstrip("s")):
            return word
        allowed = 2 if len(other) > 7 else 1 if len(other) > 2 else 0
        distance = slips(letters, other, allowed)
        if distance <= allowed and distance < fewest:
            best, fewest = word, distance
    return best


def meant_by(missing: str, typed: Iterable[str]) -> str | None:
    """Return the typed name that probably means a missing one.

    Unlike `alike`, it also matches a part of the name (`templates`, `uri`), and a name with the
    same last word: because the right name is missing, a weaker guess is good enough.
    """
    names = list(typed)
    near = alike(missing, names)
    if near is not None:
        return near
    whole = plain(missing)
    for name in names:
        part = plain(name)
        if len(part) > 2 and (part in whole or whole in part or part.endswith(_last(missing))):
            return name
    return None


def _last(name: str) -> str:
    """Return the last word of a camel-case name in the singular: `version` of supportedVersions."""
    start = max((at for at, letter in enumerate(name) if letter.isupper()), default=0)
    return name[start:].lower().rstrip("s") if start else "\0"


def half_width(word: str) -> str:
    """Return a word in lower case and in half-width characters."""
    return (word if word.isascii() else unicodedata.normalize("NFKC", word)).lower()


@functools.lru_cache(maxsize=1024)  # 40,000 unknown names are each compared with the known ones
def plain(word: str) -> str:
    """Return a word without differences in case, separators and full-width letters."""
    word = half_width(word)
    return word if word.isalnum() else "".join(filter(str.isalnum, word))


def slips(one: str, other: str, limit: int) -> int:
    """Count omitted, added, changed or swapped letters; above `limit`, return limit + 1."""
    if abs(len(one) - len(other)) > limit or len(set(one).difference(other)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return min(row[-1], limit + 1)
