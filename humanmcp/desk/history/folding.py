"""A JSON text on the page: indented, coloured, and folded by a press on an object or a list."""

from __future__ import annotations

import re
from typing import Final

from markupsafe import Markup, escape

from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.json.visible import visible

MOST_FOLDED: Final = 5000
"""The maximum number of lines that can be folded: a browser draws them in a tenth of a second."""
_PIECE: Final = re.compile(
    r'(?P<name>"(?:[^"\\]|\\.)*"(?=:))|(?P<string>"(?:[^"\\]|\\.)*")'
    r'|(?P<value>[-+.\w]+)|(?P<mark>[^-+.\w"]+|")'
)


def folded_json(text: str) -> Markup:
    """Return a text with one member a line; its own text is what a person copies."""
    lines = visible(pretty(text)).split("\n")
    if len(lines) > MOST_FOLDED:
        return escape("\n".join(lines))
    parts: list[str] = []
    opened: list[tuple[int, int]] = []
    after = ""  # a fold begins and ends its own line
    for at, line in enumerate(lines):
        words = _coloured(line)
        if line.endswith(("{", "[")):
            opened.append((len(parts), at))
            parts += ["", words, "</summary>"]
            after = ""
        elif opened and line.lstrip().startswith(("}", "]")):
            place, begun = opened.pop()
            more = f"… {at - begun - 1} {line.strip()}"
            parts[place] = f'<details open><summary data-more="{escape(more)}">'
            parts.append(f"{after}{words}</details>")
            after = ""
        else:
            parts.append(after + words)
            after = "\n"
    for place, _ in opened:
        parts[place] = "<details open><summary>"
    return Markup("".join([*parts, "</details>" * len(opened)]))  # noqa: S704 - each piece is escaped


def _coloured(line: str) -> str:
    pieces = ((one.lastgroup, escape(one[0])) for one in _PIECE.finditer(line))
    return "".join(
        text if kind == "mark" else f"<i class={kind}>{text}</i>" for kind, text in pieces
    )
