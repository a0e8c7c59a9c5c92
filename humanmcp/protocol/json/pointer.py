"""JSON Pointers (RFC 6901): a path written as text, and what one leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_ESCAPED: Final = str.maketrans({"~": "~0", "/": "~1"})
_LONGEST_INDEX: Final = 9
"""Digits of an index that are read: no list is longer, and Python converts some 4,300 at most."""


def pointer(path: Iterable[object]) -> str:
    """Write a path as a pointer."""
    return "".join(f"/{str(step).translate(_ESCAPED)}" for step in path)


def at(value: Any, text: str, missing: Any = None) -> Any:  # noqa: ANN401 - any JSON value
    """Return what a pointer leads to from a value; `missing` where it leads nowhere."""
    for step in text.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _index(name) < len(value):
            value = value[int(name)]
        else:
            return missing
    return value


def _index(name: str) -> float:
    """Return the index that a step is; beyond every list where it has a sign or a zero first."""
    is_one = name.isascii() and name.isdecimal() and (name == "0" or name[0] != "0")
    return int(name) if is_one and len(name) <= _LONGEST_INDEX else float("inf")
