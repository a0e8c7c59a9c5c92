"""Decide whether a text is a person's own, or one that was there for them to copy."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.json.spelling import plain
from humanmcp.protocol.tables.examples import PLACEHOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OURS: Final = "humanmcp"
"""How each name begins that this program gives itself, or a practice host."""
_QUOTED: Final = re.compile(r'[“"「]([^“”"「」]{1,200})[”"」]')


def is_own(text: object, examples: Iterable[object]) -> bool:
    """Return True if a text says something, and is neither an example nor a name of ours.

    Case, spaces, punctuation and full-width letters make no difference.
    """
    told = _told(text) if isinstance(text, str) else ""
    is_ours = told.startswith(OURS) or told in map(_told, PLACEHOLDERS.values())
    return bool(told) and not is_ours and told not in {_told(str(one)) for one in examples}


def quoted(sentences: Iterable[str]) -> Iterator[str]:
    """Yield what sentences have in quotes, which a reader may copy."""
    for sentence in sentences:
        yield from _QUOTED.findall(sentence)


def _told(text: str) -> str:
    """Return the letters and digits of a text; of one without any, its symbols: an emoji is one."""
    return plain(text) or "".join(char for char in text if unicodedata.category(char)[0] == "S")
