# ruff: noqa: ANN401 - any JSON value
"""Read a decoded JSON value: find one place in it, iterate its leaves, or change each leaf.

A leaf is a string, a number, `true`, `false` or `null`.
"""

from __future__ import annotations

import functools
import unicodedata
from typing import TYPE_CHECKING, Any, Final, TypeVar

from humanmcp.protocol.json.jsonrpc import TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from humanmcp.protocol.json.jsonrpc import Json

_ESCAPED: Final = str.maketrans({"~": "~0", "/": "~1"})
_LONGEST_INDEX: Final = 9
"""The maximum number of digits of an index; Python converts at most about 4,300."""


def follow(value: Any, *steps: str | int, missing: Any = None) -> Any:
    """Return the value at names and indexes below `value`; `missing` if there is none.

    An index may be a string, as in a JSON Pointer.
    """
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and _index(step) < len(value):
            value = value[int(step)]
        else:
            return missing
    return value


def object_at(value: Any, *steps: str | int) -> dict[str, Any]:
    """Return the object at these steps of a received value; {} if there is none."""
    found = follow(value, *steps)
    return found if isinstance(found, dict) else {}


def array_at(value: Any, *steps: str | int) -> list[Any]:
    """Return the array at these steps; [] if there is none."""
    found = follow(value, *steps)
    return found if isinstance(found, list) else []


def objects_at(value: Any, *steps: str | int) -> list[dict[str, Any]]:
    """Return the objects in the array at these steps."""
    return [one for one in array_at(value, *steps) if isinstance(one, dict)]


def text_at(value: Any, *steps: str | int) -> str:
    """Return the string at these steps; "" if there is none."""
    found = follow(value, *steps)
    return found if isinstance(found, str) else ""


def at(value: Any, text: str, missing: Any = None) -> Any:
    """Return the value at a JSON Pointer; `missing` if there is none."""
    steps = (step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])
    return follow(value, *steps, missing=missing)


def pointer(path: Iterable[object]) -> str:
    """Write a path as a JSON Pointer (RFC 6901)."""
    return "".join(f"/{str(step).translate(_ESCAPED)}" for step in path)


def _index(step: str | int) -> float:
    """Return a step as an index; infinity if it has a sign or a leading zero."""
    name = str(step)
    is_one = name.isascii() and name.isdecimal() and (name == "0" or name[0] != "0")
    return int(name) if is_one and len(name) <= _LONGEST_INDEX else float("inf")


def leaves(
    value: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield each leaf of a value with its path, in order."""
    match value:
        case dict():
            for name, part in value.items():
                yield from leaves(part, (*path, name))
        case list() | tuple():
            for at, part in enumerate(value):
                yield from leaves(part, (*path, at))
        case _:
            yield path, value


def mapped(value: Any, change: Callable[[Any], Any], *, names: bool = False) -> Any:
    """Return a value with each leaf changed, and with `names` also each member name."""
    match value:
        case dict():
            return {
                change(name) if names else name: mapped(part, change, names=names)
                for name, part in value.items()
            }
        case list() | tuple():
            return type(value)([mapped(part, change, names=names) for part in value])
        case _:
            return change(value)


def well_formed(value: Any) -> Any:
    """Return a value with U+FFFD for each unpaired surrogate, which cannot be encoded."""
    return mapped(value, _whole, names=True)


def _whole(leaf: Any) -> Any:
    if not isinstance(leaf, str) or leaf.isascii():
        return leaf
    return leaf.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_CLOSES: Final = {"{": "}", "[": "]"}

DEEPEST_INDENT: Final = 40
"""The maximum number of indented levels: 100,000 brackets would need 20 GB of spaces."""


def pretty(text: str, indent: int = 2) -> str:
    """Return a JSON text with one member or item per line; quickly, even if it is not JSON."""
    parts: list[str] = []
    depth = 0
    pieces = [found[0] for found in TOKEN.finditer(text) if found.lastgroup != "torn"]
    for at, piece in enumerate(pieces):
        following = pieces[at + 1] if at + 1 < len(pieces) else ""
        if piece in _CLOSES:
            parts.append(piece)
            if following != _CLOSES[piece]:
                depth += 1
                parts.append(_new_line(depth, indent))
        elif piece in ("}", "]"):
            if not (parts and parts[-1] in _CLOSES):
                depth = max(0, depth - 1)
                parts.append(_new_line(depth, indent))
            parts.append(piece)
        elif piece == ",":
            parts.extend((piece, _new_line(depth, indent)))
        elif piece == ":":
            parts.append(": ")
        else:
            parts.append(piece)
    return "".join(parts)


def _new_line(depth: int, indent: int) -> str:
    return "\n" + " " * (min(depth, DEEPEST_INDENT) * indent)


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
