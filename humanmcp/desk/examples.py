"""Wrong and right beside each other: the example of a mistake, with what differs."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import groupby
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.json.tree import pretty

if TYPE_CHECKING:
    from humanmcp.answering.mistakes import Mistake

MOST_LINES: Final = 15
MOST_COMPARED: Final = 3000
"""The maximum number of words and signs of a text that is compared."""
_QUOTE: Final = re.compile(r'\\.|"')
_WORD: Final = re.compile(r"\w+|\s|[^\w\s]")


def laid_out(text: str) -> str:
    """Return a JSON text over several lines; as it is where that would change more than space."""
    lines = pretty(text)
    is_json = text.lstrip()[:1] in {"{", "["}  # of words, the spaces count
    is_torn = _QUOTE.findall(text).count('"') % 2  # what follows is part of a text
    return lines if is_json and not is_torn and _packed(lines) == _packed(text) else text


def _packed(text: str) -> str:
    return "".join(text.split())


def halves(mistake: Mistake | None) -> dict[str, list[tuple[str, str]]]:
    """Return the wrong and the right example of a mistake, laid out where both can be.

    Each is a list of parts: `same`, or `gone` in the wrong, `new` in the right one; with its text.
    """
    if mistake is None or mistake.example is None:
        return {}
    raw = (mistake.example.wrong, mistake.example.right)
    lines = tuple(map(laid_out, raw))
    is_of_space = "\n" in "".join(raw) or _packed(raw[0]) == _packed(raw[1])
    fits = max(one.count("\n") for one in lines) < MOST_LINES
    wrong, right = lines if fits and not is_of_space else raw
    return compared(wrong, right)


def compared(wrong: str, right: str) -> dict[str, list[tuple[str, str]]]:
    """Return two texts in parts, as `halves` does. Long ones are not compared."""
    before, after = (_WORD.findall(text) for text in (wrong, right))
    if len(before) + len(after) > MOST_COMPARED:
        return {"wrong": [("same", wrong)], "right": [("same", right)]}
    found: dict[str, list[tuple[str, str]]] = {"wrong": [], "right": []}
    is_of_space = _packed(wrong) == _packed(right)
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        for half, kind, piece in (("wrong", "gone", before[a:b]), ("right", "new", after[c:d])):
            for is_space, words in groupby(piece, str.isspace):
                is_same = tag == "equal" or (is_space and not is_of_space)
                found[half].append(("same" if is_same else kind, "".join(words)))
    return found


def rows_of(text: str, columns: int) -> int:
    """Return how many rows a text takes where a row has that many columns."""
    return sum(max(1, -(-len(line) // columns)) for line in text.split("\n"))
