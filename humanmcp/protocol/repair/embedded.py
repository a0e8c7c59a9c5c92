"""The one JSON answer inside a text of something else: a chat, a command, a log, a program.

Finds where it begins and ends. Knows the names by which an answer is recognised, and does not judge
what stands around it: words that hold a bit of JSON are still words.
"""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.diagnostics.model import TextEdit
from humanmcp.protocol.json.jsonrpc import BRACKETS, closed_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from humanmcp.protocol.json.jsonrpc import Json

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
_NUMBERED_LINE: Final = re.compile(r"[ \t]*(\d{1,6})[ \t]*(?:[:|.)│\t]|(?=[ \t]))[ \t]?")
_HTML: Final = re.compile(r"&(?:quot|#34|#x22|apos|#39|lt|gt|amp);")
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


class Marks(NamedTuple):
    """Marks before each line: what they are, and the edits that take them out."""

    shown: str
    edits: tuple[TextEdit, ...]


def line_marks(text: str) -> Marks | None:
    """Return the marks of quoted or numbered lines, None where not every line has one."""
    lines = [(found.start(), found[0]) for found in re.finditer(r"[^\n]*\S[^\n]*", text)]
    quoted = [_QUOTED_LINE.match(line) for _at, line in lines]
    if quoted and all(quoted):
        return Marks(">", _cuts(lines, quoted))
    numbered = [_NUMBERED_LINE.match(line) for _at, line in lines]
    if len(lines) > 1 and all(numbered):
        counts = [int(found[1]) for found in numbered if found]
        if counts == list(range(counts[0], counts[0] + len(counts))):
            return Marks("1, 2, 3 …", _cuts(lines, numbered))
    return None


def _cuts(lines: list[tuple[int, str]], marks: list[re.Match[str] | None]) -> tuple[TextEdit, ...]:
    pairs = zip(lines, marks, strict=True)
    return tuple(
        TextEdit(at + mark.start(), at + mark.end(), "") for (at, _line), mark in pairs if mark
    )


class Unescaped(NamedTuple):
    """JSON that was written for the inside of another text, as it was before, and its marks."""

    marks: str
    text: str


def unescaped(text: str) -> Unescaped | None:
    r"""Undo `{\"a\"…` and `{&quot;a&quot;…`, where that makes JSON of the text."""
    ways: tuple[tuple[str, bool, Callable[[str], str]], ...] = (
        ("&quot;", _HTML.search(text) is not None, html.unescape),
        ('\\"', _SLASHED.match(text) is not None, _without_slashes),
    )
    for marks, likely, undo in ways:
        if not likely:
            continue
        try:
            plain = undo(text)
            json.loads(plain)
        except (ValueError, RecursionError):
            continue
        return Unescaped(marks, plain)
    return None


def _without_slashes(text: str) -> str:
    body = text.strip().removeprefix('"').removesuffix('"')
    inner = json.loads(f'"{body}"', strict=False)
    return str(inner)


_MEMBER: Final = re.compile(r"""(?:"([^"]*)"|'([^']*)'|([\w$./-]+))[ ]*:(?:[ ]+(.*))?$""")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None, "": None}
_DEEPEST: Final = 40


class _Line(NamedTuple):
    indent: int
    text: str


class _NoYamlError(ValueError):
    """This is not written in the plain part of YAML."""


def as_json(text: str) -> str | None:
    """Return an answer in YAML as JSON on several lines; None for any other text."""
    said = (line.strip() for line in text.split("\n"))
    first = next((line for line in said if line and not line.startswith("#")), "")
    if "\n" not in text.strip() or not (first == "---" or _MEMBER.match(first)):
        return None
    try:
        value = _YamlReader(text).document()
    except (_NoYamlError, RecursionError):
        return None
    if not isinstance(value, dict) or not set(value) & ANSWER_NAMES:
        return None
    return json.dumps(value, ensure_ascii=False, indent=2)


class _YamlReader:
    """The lines that are left to be read."""

    def __init__(self, text: str) -> None:
        lines = (line.rstrip() for line in text.strip("\n").split("\n"))
        self._lines = [_Line(len(line) - len(line.lstrip(" ")), line.lstrip(" ")) for line in lines]
        self._at = 0
        first = self._next()
        if first is not None and first.text == "---":
            self._at += 1

    def document(self) -> Json:
        """Read all of it."""
        first = self._next()
        value = None if first is None else self._block(first.indent, 0)
        if self._next() is not None:
            raise _NoYamlError
        return value

    def _next(self) -> _Line | None:
        """Return the next line that says something, without taking it."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.text and not line.text.startswith("#"):
                return line
            self._at += 1
        return None

    def _block(self, indent: int, depth: int) -> Json:
        line = self._next()
        if line is None or depth > _DEEPEST:
            raise _NoYamlError
        if line.text == "-" or line.text.startswith("- "):
            return self._list(indent, depth)
        return self._mapping(indent, depth)

    def _list(self, indent: int, depth: int) -> list[Json]:
        items: list[Json] = []
        while (line := self._next()) and line.indent == indent and line.text.startswith("-"):
            rest = line.text[1:].lstrip()
            inner = indent + len(line.text) - len(rest)
            if _MEMBER.match(rest):
                self._lines[self._at] = _Line(inner, rest)  # its other members stand below it
                items.append(self._mapping(inner, depth + 1))
            else:
                self._at += 1
                items.append(self._value(rest, indent, depth))
        return items

    def _mapping(self, indent: int, depth: int) -> dict[str, Json]:
        members: dict[str, Json] = {}
        while (line := self._next()) and line.indent == indent:
            found = _MEMBER.match(line.text)
            if found is None:
                raise _NoYamlError
            self._at += 1
            name = next(part for part in found.groups()[:3] if part is not None)
            if name in members:
                raise _NoYamlError
            members[name] = self._value((found[4] or "").strip(), indent, depth)
        if line is not None and line.indent > indent:
            raise _NoYamlError
        return members

    def _value(self, text: str, indent: int, depth: int) -> Json:
        """Read what stands after a colon or a dash, on its line or below it."""
        if text in ("|", "|-", ">", ">-"):
            return self._lines_of_text(indent, folded=text.startswith(">"))
        line = self._next()
        if not text and line is not None:
            listed = line.indent == indent and line.text.startswith("- ")
            if line.indent > indent or listed:
                return self._block(line.indent, depth + 1)
        return _scalar(text)

    def _lines_of_text(self, indent: int, *, folded: bool) -> str:
        taken: list[_Line] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.text and line.indent <= indent:
                break
            taken.append(line)
            self._at += 1
        left = min((line.indent for line in taken if line.text), default=0)
        lines = [" " * (line.indent - left) + line.text for line in taken]
        return (" " if folded else "\n").join(lines).rstrip()


def _scalar(text: str) -> Json:
    """Read one value that stands on its line."""
    if text[:1] in ("&", "*", "!", "%", "@", "`"):
        raise _NoYamlError
    if text[:1] in ('"', "{", "["):
        try:
            value: Json = json.loads(text)
        except ValueError as error:
            raise _NoYamlError from error
        return value
    if text.startswith("'"):
        if len(text) < 2 or not text.endswith("'"):
            raise _NoYamlError
        return text[1:-1].replace("''", "'")
    text = text.partition(" #")[0].rstrip()
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        number: Json = json.loads(text)
        return number
    return text
