"""Characters that need care: those that act on a screen, and halves that no UTF-8 line can hold.

Nothing that came over the wire may act on the screen it is shown on. Control characters, escape
sequences, direction overrides, zero-width and tag characters are shown as their code points. A line
feed and a tab stay what they are where several lines are wanted.
"""

from __future__ import annotations

import json
import re
from typing import Final

# C0 and C1 controls, soft hyphen, zero-width and direction marks, line and paragraph separators,
# direction overrides and isolates, invisible operators, byte-order mark, interlinear marks, tags,
# variation selectors beyond the emoji ones, lone surrogates.
# A text: `re` compiles it when it is first used, which the start of a server need not pay for.
_INVISIBLE: Final = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
_LINE_BREAKS: Final = r"[\n\t]"
_BREAKS: Final = r"\r\n?|\n"
_ESCAPE: Final = r"\\(?:u(?:([dD][89abAB])|([dD][c-fC-F]))[0-9a-fA-F]{2}|.)"
"""Any escape; its groups are for the first and the second half of a surrogate pair."""


def visible(text: str) -> str:
    """Return `text` with every character that could act on a screen shown as ⟦U+202E⟧."""
    return re.sub(_INVISIBLE, _code_point, text)


def visible_json(text: str) -> str:
    """Return JSON with the same characters as JSON escapes: it stays the JSON that it was."""
    return re.sub(_INVISIBLE, lambda found: json.dumps(found[0])[1:-1], text)


def one_line(text: str, longest: int = 0) -> str:
    """Return `text` on one line, safe to show, cut to `longest` characters (0: not cut)."""
    shown = text
    if not (text.isascii() and text.isprintable()):
        broken = re.sub(_LINE_BREAKS, lambda found: "\\n" if found[0] == "\n" else "\\t", text)
        shown = visible(broken)
    if longest and len(shown) > longest:
        return shown[: longest - 1] + "…"
    return shown


def _code_point(found: re.Match[str]) -> str:
    return f"⟦U+{ord(found[0]):04X}⟧"


def wire_line(text: str) -> str | None:
    """Return any text as one line of valid UTF-8, its line breaks as spaces; None when blank."""
    line = re.sub(_BREAKS, " ", text).strip()
    if not line:
        return None
    return line.encode("utf-8", "replace").decode()


def half_characters(text: str) -> list[tuple[int, int]]:
    r"""List the escapes in `text` that are half of a surrogate pair, as (start, end).

    `"\ud83d\ude00"` is one character written in two halves; `"\ud83d"` alone is none.
    """
    halves: list[tuple[int, int]] = []
    open_until = -1
    for found in re.finditer(_ESCAPE, text, re.DOTALL):
        if found.lastindex is None:
            continue
        place = found.span()
        if found.lastindex == 2 and place[0] == open_until:
            halves.pop()  # the second half of the one that came just before
            open_until = -1
            continue
        halves.append(place)
        open_until = place[1] if found.lastindex == 1 else -1
    return halves
