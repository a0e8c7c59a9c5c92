"""Find the one JSON answer in another text: a chat, a command, a log, a program.

It knows the member names of an answer, and returns its place. Words that contain some JSON are
still words.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.diagnostics.model import TextEdit
from humanmcp.protocol.json.jsonrpc import BRACKETS, STRING, TORN, closed_in

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
"""The member names that identify an answer in any text."""

_MOST_TRIES: Final = 200
_MOST_READ: Final = 500_000
"""The number of characters after which no other bracket is tried: each may be read to the end."""
_SINGLE_QUOTED: Final = r"(?<=[\[{(:,\s])'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'"
_TOKEN: Final = re.compile(rf"{STRING}|(?P<torn>{TORN})|{_SINGLE_QUOTED}|{BRACKETS}", re.DOTALL)
_BRACKET: Final = re.compile(BRACKETS)
_OPENER: Final = re.compile(r"[\[{]")
_NAME: Final = re.compile(r"""[\[{,\s]["'“]?(\w+)["'”]?\s*:""")
_QUOTED_LINE: Final = re.compile(r"[ \t]*(?:>[ \t]?)+")
_SLASHED: Final = re.compile(r'\s*(?:"|\')?[\[{]\s*\\+"')


class Around(NamedTuple):
    """The place of the answer in a text, and the code of the problem."""

    code: str
    start: int
    end: int


def find_answer(text: str) -> Around | None:
    """Find the one answer in a text that is not JSON as a whole.

    None if the text begins like JSON, and if it contains no answer or several.
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
    """Yield the places of possible answers: balanced brackets with the name of an answer."""
    at, tries, read = 0, 0, 0
    while tries < _MOST_TRIES and read < _MOST_READ:
        opened = _OPENER.search(text, at)
        if opened is None:
            return
        tries += 1
        start, end = opened.start(), closed_in(_tokens(text, opened.start()))
        read += (end if end >= 0 else len(text)) - start
        if end < 0 or not _is_answer(text[start:end]):
            at = start + 1
            continue
        yield start, end
        at = end


def _tokens(text: str, at: int) -> Iterator[re.Match[str]]:
    """Yield the strings and brackets from `at` on; after a quote without an end only brackets."""
    for found in _TOKEN.finditer(text, at):
        if found.lastgroup == "torn":
            yield from _BRACKET.finditer(text, found.start())
        else:
            yield found


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
    """Return the edits that remove the `>` before each line; () if a line has none."""
    lines = [(found.start(), found[0]) for found in re.finditer(r"[^\n]*\S[^\n]*", text)]
    marks = [(at, _QUOTED_LINE.match(line)) for at, line in lines]
    edits = [TextEdit(at + mark.start(), at + mark.end(), "") for at, mark in marks if mark]
    return tuple(edits) if len(edits) == len(lines) else ()


def unescaped(text: str) -> str | None:
    r"""Return `{\"a\"…` without its escapes, if that is JSON; else None."""
    if not _SLASHED.match(text):
        return None
    try:
        body = text.strip().removeprefix('"').removesuffix('"')
        plain = str(json.loads(f'"{body}"', strict=False))
        json.loads(plain)
    except (ValueError, RecursionError):
        return None
    return plain
