"""A JSON text on the page: indented, coloured, and folded by a press on an object or a list."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from markupsafe import Markup, escape

from humanmcp.protocol.json.jsonrpc import STRING, TORN
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.json.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_FOLDED: Final = 5000
"""The maximum number of lines that can be folded: a browser draws them in a tenth of a second."""
_PIECE: Final = re.compile(
    rf"(?P<name>{STRING}(?=:))|(?P<string>{STRING})"
    rf'|(?P<value>[-+.\w]+)|(?P<mark>[^-+.\w"]+|{TORN})'
)


class TextMark(NamedTuple):
    """What is marked: offsets of the text as it came, and the class of the mark."""

    start: int
    end: int
    kind: str


def folded_json(text: str, marks: Iterable[TextMark] = ()) -> Markup:
    """Return a text with one member a line; its own text is what a person copies.

    What begins in a mark is marked, in the line where the mark begins.
    """
    laid_out = pretty(text)
    lines = visible(laid_out).split("\n")
    if len(lines) > MOST_FOLDED:
        return escape("\n".join(lines))
    marked = _places(text, laid_out, marks)
    parts: list[str] = []
    opened: list[tuple[int, int]] = []
    after = ""  # a fold begins and ends its own line
    for at, line in enumerate(lines):
        words = _coloured(line, marked.get(at, ()))
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


def _places(text: str, laid_out: str, marks: Iterable[TextMark]) -> dict[int, list[TextMark]]:
    """Return the marks of each line, in its columns. Laying out moves nothing but white space."""
    found: dict[int, list[TextMark]] = {}
    ends = [one.end() for one in re.finditer(r"\S", laid_out)]
    lines = laid_out.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    for mark in marks:
        first, last = (len(re.findall(r"\S", text[:at])) for at in (mark.start, mark.end))
        if not first < last <= len(ends):
            continue
        start, end = ends[first] - 1, ends[last - 1]
        line = bisect_right(starts, start) - 1
        columns = [len(visible(lines[line][: at - starts[line]])) for at in (start, end)]
        found.setdefault(line, []).append(TextMark(columns[0], columns[1], mark.kind))
    return found


def _coloured(line: str, marks: Sequence[TextMark]) -> str:
    shown: list[str] = []
    for piece in _PIECE.finditer(line):
        words = [str(piece.lastgroup)] if piece.lastgroup != "mark" else []
        words += [
            f"wrong-{one.kind}"
            for one in marks
            if piece.start() < one.end and one.start < piece.end()
        ][:1]
        text = escape(piece[0])
        shown.append(f'<i class="{" ".join(words)}">{text}</i>' if words else text)
    return "".join(shown)
