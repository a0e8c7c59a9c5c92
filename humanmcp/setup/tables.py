"""Edit one table of a TOML file in place.

A table is found by its header line and ends before the next header that is not its own child; all
else stays as it was. Knows no file.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from humanmcp.connecting.snippets import toml_key, toml_table

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADER: Final = re.compile(r"^[ \t]*\[+[^\n]*", re.MULTILINE)
_TRAILING: Final = re.compile(r"(?:^[ \t]*(?:#[^\n]*)?\n)*\Z", re.MULTILINE)


def put_table(text: str, parent: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return `text` with the table of an entry set; it goes to the end when it is new."""
    block = toml_table(parent, name, entry)
    found = _span(text, parent, name)
    if found:
        return text[: found[0]] + block + text[found[1] :]
    if not text.strip():
        return text + block
    return text + ("" if text.endswith("\n") else "\n") + "\n" + block


def take_table(text: str, parent: str, name: str) -> str:
    """Return `text` without the table of an entry and its children; unchanged without it."""
    found = _span(text, parent, name)
    if not found:
        return text
    before, after = text[: found[0]], text[found[1] :]
    return before.removesuffix("\n") + after if before.endswith("\n\n") else before + after


def _span(text: str, parent: str, name: str) -> tuple[int, int] | None:
    """Find the table, with its children, without the comments that lead to the next one."""
    key = rf"(?:{re.escape(toml_key(name))}|{re.escape(json.dumps(name))})"
    own = re.compile(rf"[ \t]*\[{re.escape(parent)}\.{key}(\.[^\n]*)?\][ \t]*(?:#[^\n]*)?\r?$")
    headers = list(_HEADER.finditer(text))
    mine = [at for at, header in enumerate(headers) if own.match(header[0])]
    if not mine:
        return None
    last = mine[-1] + 1
    if last == len(headers):
        return headers[mine[0]].start(), len(text)
    end = headers[last].start()
    trailing = _TRAILING.search(text, headers[mine[-1]].end() + 1, end)
    return headers[mine[0]].start(), trailing.start() if trailing else end
