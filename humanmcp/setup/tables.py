"""Edit one table of a TOML file in place.

A table is found by its header line and ends before the next header that is not its own child; all
else stays as it was. Knows no file.
"""

from __future__ import annotations

import json
import re
import tomllib
from contextlib import suppress
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


def put_value(text: str, parent: str, name: str, key: str, value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return `text` with one value of an entry's own table set; unchanged without such a table."""
    at = _own_table(text, parent, name)
    if at is None:
        return text
    line_end = "\r\n" if "\r\n" in text else "\n"
    line = f"{toml_key(key)} = {json.dumps(value, ensure_ascii=False)}"
    following = _HEADER.search(text, at)
    end = following.start() if following else len(text)
    found = re.compile(rf"^[ \t]*{re.escape(toml_key(key))}[ \t]*=", re.MULTILINE).search(
        text, at, end
    )
    if found is None:
        return text[:at] + line + line_end + text[at:]
    return text[: found.start()] + line + text[_value_end(text, found.start()) :]


def _own_table(text: str, parent: str, name: str) -> int | None:
    """Find where the lines of a table begin, after its header; None without one of its own."""
    key = rf"(?:{re.escape(toml_key(name))}|{re.escape(json.dumps(name))})"
    header = rf"^[ \t]*\[{re.escape(parent)}\.{key}\][ \t]*(?:#[^\n]*?)?\r?\n"
    found = re.compile(header, re.MULTILINE).search(text)
    return found.end() if found else None


def _value_end(text: str, start: int) -> int:
    """Find the end of the line in which a value ends that may take several."""
    end = start
    while (end := text.find("\n", end + 1)) >= 0:
        line_end = end - text[start:end].endswith("\r")
        with suppress(tomllib.TOMLDecodeError):
            tomllib.loads(text[start:line_end])
            return line_end
    return len(text)


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
