"""The one JSON answer inside a text of something else: a chat, a command, a log, a program.

Finds where it begins and ends. Knows the names by which an answer is recognised, and does not judge
what stands around it: words that hold a bit of JSON are still words.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.diagnostics.model import TextEdit
from humanmcp.protocol.json.jsonrpc import BRACKETS, closed_at

if TYPE_CHECKING:
    from collections.abc import Iterator

ANSWER_NAMES: Final = frozenset(
    {
        *("jsonrpc", "result", "error", "method", "content", "structuredContent", "isError"),
        *("tools", "resources", "resourceTemplates", "contents", "prompts", "messages"),
        *("completion", "protocolVersion", "supportedVersions", "serverInfo", "resultType"),
        *("roots", "action", "inputRequests", "task", "tasks"),
    }
)
"""Members that give an answer away, whatever stands around it."""

_MOST_TRIES: Final = 200
_TOKEN: Final = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|'
    rf"(?<=[\[{{(:,\s])'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'|{BRACKETS}",
    re.DOTALL,
)
_NAME: Final = re.compile(r"""[\[{,\s]["'“]?(\w+)["'”]?\s*:""")
_QUOTED_LINE: Final = re.compile(r"[ \t]*(?:>[ \t]?)+")
_SLASHED: Final = re.compile(r'\s*(?:"|\')?[\[{]\s*\\+"')


class Around(NamedTuple):
    """Where the answer stands in a text, and the code that says so."""

    code: str
    start: int
    end: int


def find(text: str) -> Around | None:
    """Find the one answer in a text that is something else as a whole.

    None when the text begins like JSON, and when there is none in it or more than one.
    """
    begin = len(text) - len(text.lstrip())
    spans = list(_documents(text))
    if len(spans) != 1:
        return None
    start, end = spans[0]
    before = bool(text[:start].strip())
    after = bool(text[end:].strip(" \t\r\n;,)'\"`"))
    if start == begin and not before:
        return None
    return Around("J42" if after else "J35", start, end)


def _documents(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of what looks like an answer: balanced, with a name that gives it away."""
    at, tries = 0, 0
    while tries < _MOST_TRIES:
        opened = re.compile(r"[\[{]").search(text, at)
        if opened is None:
            return
        tries += 1
        end = closed_at(text, opened.start(), _TOKEN)
        if end < 0 or not _is_answer(text[opened.start() : end]):
            at = opened.end()
            continue
        yield opened.start(), end
        at = end


def _is_answer(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        names = {found[1] for found in _NAME.finditer(text)}
        return bool(names & ANSWER_NAMES)
    if isinstance(value, list):
        value = value[0] if value and isinstance(value[0], dict) else {}
    return bool(set(value) & ANSWER_NAMES) or {"code", "message"} <= set(value)


def quote_marks(text: str) -> tuple[TextEdit, ...]:
    """Return what takes the `>` before each line out; nothing where a line has none."""
    lines = [(found.start(), found[0]) for found in re.finditer(r"[^\n]*\S[^\n]*", text)]
    marks = [(at, _QUOTED_LINE.match(line)) for at, line in lines]
    edits = [TextEdit(at + mark.start(), at + mark.end(), "") for at, mark in marks if mark]
    return tuple(edits) if len(edits) == len(lines) else ()


def unescaped(text: str) -> str | None:
    r"""Undo `{\"a\"…`, where that makes JSON of the text."""
    if not _SLASHED.match(text):
        return None
    try:
        plain = _without_slashes(text)
        json.loads(plain)
    except (ValueError, RecursionError):
        return None
    return plain


def _without_slashes(text: str) -> str:
    body = text.strip().removeprefix('"').removesuffix('"')
    inner = json.loads(f'"{body}"', strict=False)
    return str(inner)
