"""Lay a JSON text out over several lines, without changing one token of it.

The counterpart of `messages.compact`: `1.0`, big integers, key order, escapes and doubled names
stay as they were written, which decoding and encoding again would not do.
"""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
_CLOSES: Final = {"{": "}", "[": "]"}

DEEPEST_INDENT: Final = 40
"""Levels after which lines are indented no further: 100,000 brackets would be 20 GB of spaces."""


def pretty(text: str, indent: int = 2) -> str:
    """Return a JSON text with one member or item a line. A text that is no JSON costs no more."""
    parts: list[str] = []
    depth = 0
    pieces = _TOKEN.findall(text)
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
