"""A TOML text in sections: each header with what stands under it and the comments above it.

A header is told from a line within a text or a list by the standard library's own reader: what
stands before a header is TOML by itself. Knows nothing of what is edited.
"""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Keys = tuple[str, ...]


@dataclass(slots=True)
class Section:
    """A header with what stands under it; the first one has none."""

    lead: str
    """The blank lines and comments above it."""
    header: str
    keys: Keys | None
    """None within an array of tables, where a path tells no place."""
    body: str

    def rest(self, keys: Keys) -> Keys | None:
        """Return the keys from here on; None where they do not lead through this section."""
        if self.keys is None or keys[: len(self.keys)] != self.keys:
            return None
        return keys[len(self.keys) :]

    def holds(self, keys: Keys) -> bool:
        """Return True if a value under these keys, from the top, stands in this section."""
        rest = self.rest(keys)
        return rest is not None and (not rest or _found(tomllib.loads(self.body), rest))


def taken_apart(text: str) -> tuple[list[Section], str]:
    """Return the sections of a text, and the blank lines and comments at its end."""
    sections = [Section("", "", (), "")]
    arrays: set[Keys] = set()
    for line in _lines(text):
        keys = keys_of(line)
        if keys is None or not _is_toml(sections[-1].body):
            sections[-1].body += line
            continue
        if line.lstrip().startswith("[["):
            arrays.add(keys)
        within = any(keys[:depth] in arrays for depth in range(1, len(keys) + 1))
        lead = _cut_tail(sections[-1])
        sections.append(Section(lead, line, None if within else keys, ""))
    return sections, _cut_tail(sections[-1])


def without(keys: Keys, sections: list[Section], end: str) -> str:
    """Take the sections of a table out, and return what stands at the end of the text then.

    A comment above its header stays; those above the headers of its children go with it.
    """
    kept: list[Section] = []
    lines, inside = "", False
    for each in sections:
        gone = each.keys is not None and each.keys[: len(keys)] == keys
        if not gone:
            each.lead, lines = _joined(lines, each.lead), ""
            kept.append(each)
        elif not inside:
            lines = _joined(lines, each.lead)
        inside = gone
    sections[:] = kept
    return _joined(lines, end, last=True)


def line_of(text: str, place: str) -> str:
    """Return the number of the line where a value begins, such as `rules[2].notify[0].after`.

    "" where that is not known; for a value within another one, of the line that this begins on.
    """
    wanted = re.findall(r"\[\d+\]|'[^']*'|[^.\[\]']+", place)
    steps = [int(step[1:-1]) if step.startswith("[") else step.strip("'") for step in wanted]
    counts: dict[Keys, int] = {}
    best, found, line = 0, 0, 1
    sections, _ = taken_apart(text.removeprefix("\ufeff"))
    for each in sections:
        line += each.lead.count("\n")
        path = _counted(keys_of(each.header) or (), counts, each.header)
        for begun, keys in [(line, path), *_keys_in(each, line, path)]:
            if best < len(keys) and [*keys] == steps[: len(keys)]:
                best, found = len(keys), begun
        line += each.header.count("\n") + each.body.count("\n")
    return str(found) if found else ""


def _counted(keys: Keys, counts: dict[Keys, int], header: str) -> tuple[str | int, ...]:
    """Return the keys of a header with the number of each table in an array."""
    if header.lstrip().startswith("[["):
        counts[keys] = counts.get(keys, -1) + 1
        for inner in [one for one in counts if one[: len(keys)] == keys and one != keys]:
            del counts[inner]
    path: list[str | int] = []
    for depth, key in enumerate(keys, 1):
        path.append(key)
        if keys[:depth] in counts:
            path.append(counts[keys[:depth]])
    return tuple(path)


def _keys_in(
    section: Section, line: int, path: tuple[str | int, ...]
) -> Iterator[tuple[int, tuple[str | int, ...]]]:
    """List the keys that a section sets itself, each with its line."""
    line += section.header.count("\n")
    for number, text in enumerate(_lines(section.body), line):
        name = re.match(r"""\s*(?:"([^"]+)"|'([^']+)'|([\w-]+))\s*[=.]""", text)
        if name is not None:
            yield number, (*path, next(filter(None, name.groups())))


def _joined(above: str, below: str, *, last: bool = False) -> str:
    """Return the lines above two headers after the first is gone: one blank line, not two."""
    blank = above == "\n" or above.endswith("\n\n")
    return above[: -1 if blank and (last or below.startswith("\n")) else None] + below


def keys_of(line: str) -> Keys | None:
    """Return the keys of a header; None if a line is none."""
    if not line.lstrip(" \t").startswith("[") or not _is_toml(line):
        return None
    keys: list[str] = []
    inner: Any = tomllib.loads(line)
    while inner:
        ((key, inner),) = inner.items()
        keys.append(key)
        inner = inner[0] if isinstance(inner, list) else inner
    return tuple(keys)


def _cut_tail(section: Section) -> str:
    """Take the blank lines and comments at the end of a section out of it, and return them."""
    lines = _lines(section.body)
    at = len(lines)
    while at and (not lines[at - 1].strip() or lines[at - 1].lstrip().startswith("#")):
        at -= 1
    if not _is_toml("".join(lines[:at])):  # a text over several lines can end in such a line
        return ""
    section.body = "".join(lines[:at])
    return "".join(lines[at:])


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _is_toml(text: str) -> bool:
    with suppress(tomllib.TOMLDecodeError):
        tomllib.loads(text)
        return True
    return False


def _found(root: Any, keys: Keys) -> bool:  # noqa: ANN401 - any value of TOML
    for key in keys:
        if not isinstance(root, dict) or key not in root:
            return False
        root = root[key]
    return True
