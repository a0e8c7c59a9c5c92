"""JSON Pointers (RFC 6901): a path written as text, and what one leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.json.tree import follow

if TYPE_CHECKING:
    from collections.abc import Iterable

_ESCAPED: Final = str.maketrans({"~": "~0", "/": "~1"})


def pointer(path: Iterable[object]) -> str:
    """Write a path as a pointer."""
    return "".join(f"/{str(step).translate(_ESCAPED)}" for step in path)


def at(value: Any, text: str, missing: Any = None) -> Any:  # noqa: ANN401 - any JSON value
    """Return what a pointer leads to from a value; `missing` where it leads nowhere."""
    steps = (step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])
    return follow(value, *steps, missing=missing)
