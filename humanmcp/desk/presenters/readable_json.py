"""JSON as a person reads it: letters as letters, and numbers as they were written.

Pure. What is returned to be shown is visible (`protocol/json/escaping.py`) and bounded.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple, TypeGuard

from humanmcp.protocol.json.escaping import visible

LONGEST: Final = 8_000
"""Characters of one text that are shown; the message as it came has the others."""


class WrittenNumber(str):
    """A number as it was written: 9007199254740993 and 1.0 stay what they are."""

    __slots__ = ()


class Shown(NamedTuple):
    """A text, safe to show. `cut` counts the characters that are not shown."""

    text: str
    cut: int = 0


def decoded(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Decode a JSON text that `messages.read` has found sound: it bounds how deep one nests."""
    return json.loads(
        text, parse_int=WrittenNumber, parse_float=WrittenNumber, parse_constant=WrittenNumber
    )


def is_text(value: object) -> TypeGuard[str]:
    """Return True if a decoded value is a string."""
    return isinstance(value, str) and not isinstance(value, WrittenNumber)


def shown(text: str, longest: int = LONGEST) -> Shown:
    """Return a text of several lines, safe to show."""
    return Shown(visible(text[:longest]), max(0, len(text) - longest))


def written(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a decoded value on one line."""
    match value:
        case WrittenNumber():
            return str(value)
        case dict():
            inner = (f"{written(name)}: {written(one)}" for name, one in value.items())
            return f"{{{', '.join(inner)}}}"
        case list():
            return f"[{', '.join(map(written, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False)
