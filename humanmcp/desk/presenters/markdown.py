"""Text as a model writes it, with a little Markdown, as blocks that a template shows.

No HTML is ever made or read here: a block is a kind and pieces of text, which the template escapes.
What is not known (tables, links, pictures) stays the text that it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE: Final = re.compile(r" {0,3}(```+|~~~+)")
_HEADING: Final = re.compile(r" {0,3}#{1,6} +([^ ].*)")
_ITEM: Final = re.compile(r" *(?:[-*+]|\d{1,4}[.)]) +(.+)$")
_INLINE: Final = re.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*")


class Run(NamedTuple):
    """A piece of a line: `kind` is text, code or strong."""

    kind: str
    text: str


class Block(NamedTuple):
    """A block: `kind` is text, heading, list or code. Each line is a row of pieces."""

    kind: str
    lines: tuple[tuple[Run, ...], ...]


def blocks(text: str) -> tuple[Block, ...]:
    """Return a text as blocks; () where nothing in it is Markdown."""
    found = tuple(_blocks(text.splitlines()))
    plain = all(
        one.kind == "text" and all(run.kind == "text" for line in one.lines for run in line)
        for one in found
    )
    return () if plain else found


def _blocks(lines: list[str]) -> Iterator[Block]:
    kind, held = "", list[str]()
    fence = ""
    for line in lines:
        opening = _FENCE.match(line)
        if fence:
            if opening and line.strip().startswith(fence):
                fence = ""
            else:
                held.append(line)
            continue
        now, shown = _kind_of(line)
        if held and (now != kind or opening or now == "heading"):
            yield _block(kind, held)
            held = []
        if opening:
            kind, fence = "code", opening.group(1)
        elif now:
            kind = now
            held.append(shown)
    if held:
        yield _block(kind, held)


def _kind_of(line: str) -> tuple[str, str]:
    if not line.strip():
        return "", ""
    for kind, pattern in (("heading", _HEADING), ("list", _ITEM)):
        match = pattern.match(line)
        if match:
            shown = match.group(1)
            return kind, (shown.rstrip(" #") or shown) if kind == "heading" else shown
    return "text", line


def _block(kind: str, lines: list[str]) -> Block:
    if kind == "code":
        return Block(kind, ((Run("code", "\n".join(lines)),),))
    return Block(kind, tuple(tuple(_runs(line)) for line in lines))


def _runs(line: str) -> Iterator[Run]:
    at = 0
    for match in _INLINE.finditer(line):
        if match.start() > at:
            yield Run("text", line[at : match.start()])
        code, strong = match.groups()
        yield Run("code", code) if code else Run("strong", strong)
        at = match.end()
    if at < len(line):
        yield Run("text", line[at:])
