"""Going through a decoded JSON value: to one place in it, over its leaves, or changing each.

A leaf is a text, a number, `true`, `false` or `null`.
"""

# ruff: noqa: ANN401 - any JSON value
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_ESCAPED: Final = str.maketrans({"~": "~0", "/": "~1"})
_LONGEST_INDEX: Final = 9
"""Digits of an index that are read: no list is longer, and Python converts some 4,300 at most."""


def follow(value: Any, *steps: str | int, missing: Any = None) -> Any:
    """Return what names and indexes lead to from a value; `missing` where they lead nowhere.

    An index may be written as a text, as in a JSON Pointer.
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
    """Return the object that steps lead to in what came over a wire; {} where there is none."""
    found = follow(value, *steps)
    return found if isinstance(found, dict) else {}


def array_at(value: Any, *steps: str | int) -> list[Any]:
    """Return the array that steps lead to; [] where there is none."""
    found = follow(value, *steps)
    return found if isinstance(found, list) else []


def objects_at(value: Any, *steps: str | int) -> list[dict[str, Any]]:
    """Return the objects in the array that steps lead to."""
    return [one for one in array_at(value, *steps) if isinstance(one, dict)]


def text_at(value: Any, *steps: str | int) -> str:
    """Return the text that steps lead to; "" where there is none."""
    found = follow(value, *steps)
    return found if isinstance(found, str) else ""


def at(value: Any, text: str, missing: Any = None) -> Any:
    """Return what a JSON Pointer leads to from a value; `missing` where it leads nowhere."""
    steps = (step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])
    return follow(value, *steps, missing=missing)


def pointer(path: Iterable[object]) -> str:
    """Write a path as a JSON Pointer (RFC 6901)."""
    return "".join(f"/{str(step).translate(_ESCAPED)}" for step in path)


def _index(step: str | int) -> float:
    """Return the index that a step is; beyond every list where it has a sign or a zero first."""
    name = str(step)
    is_one = name.isascii() and name.isdecimal() and (name == "0" or name[0] != "0")
    return int(name) if is_one and len(name) <= _LONGEST_INDEX else float("inf")


def leaves(
    value: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield each leaf of a value with its path, in the order in which they stand."""
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
    """Return a value with each leaf changed, and with `names` each name of a member, too."""
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
    """Return a value with U+FFFD for each half of a surrogate pair, which nothing can send on."""
    return mapped(value, _whole, names=True)


def _whole(leaf: Any) -> Any:
    if not isinstance(leaf, str) or leaf.isascii():
        return leaf
    return leaf.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
