"""Cells of a table: one line, safe to show, and no formula to any spreadsheet."""

from __future__ import annotations

import re
from typing import Final

from humanmcp.protocol.json.escaping import one_line

# OWASP, CSV injection: a cell that begins with one of these is a formula to a spreadsheet, also
# after a quote or a space, and in full width.
_FORMULA: Final = re.compile("^[\\s\"']*[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")


def defused(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: an apostrophe goes before it."""
    return f"'{text}" if _FORMULA.match(text) else text


def markdown_cell(text: str, longest: int = 0) -> str:
    """Return a text as a cell of a Markdown table: nothing in it is markup."""
    shown = defused(one_line(text, longest))
    return re.sub(r"([\\`*_\[\]<>|~&])", r"\\\1", shown)
