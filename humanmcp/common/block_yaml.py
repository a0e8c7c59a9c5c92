"""Read YAML as configurations have it: blocks, lists, quoted and plain values, JSON in a line.

Programs write such files, people edit them. Anchors, tags and values that go on in the next line
are refused by their line, because a guess would start another command. Knows no file.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

_QUOTED: Final = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'"
_COMMENT: Final = re.compile(rf"(?:^|(?<=[\s\[{{,:]))(?:{_QUOTED})|(?P<comment>(?:^|\s)#.*)")
_MEMBER: Final = re.compile(
    rf"({_QUOTED}|[^\s\"'\[\]{{}},#&*!|>%@`?-][^#]*?|-[^\s#][^#]*?)\s*:(?:\s+(.*))?"
)
_TEXT_BLOCK: Final = re.compile(r"([|>])([+-]?)")
_TOKEN: Final = re.compile(
    rf"\s*({_QUOTED}|[\[\]{{}},:]|[^\[\]{{}},:\"'\s][^\[\]{{}},]*?(?=\s*(?:[\]}},]|:\s|$)))"
)
_PLAIN: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
_NUMBER: Final = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_DEEPEST: Final = 64


class YamlError(ValueError):
    """A line that is not understood. `line` is its number."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


def read_yaml(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of a document.

    Raises:
        YamlError: a line is not understood.
    """
    return _BlockReader(text).document()


class _BlockReader:
    """Reads the lines of a document, each once."""

    def __init__(self, text: str) -> None:
        self._raw = text.removeprefix("\ufeff").splitlines()
        self._lines = [
            _Line(number, len(whole) - len(whole.lstrip(" ")), whole.strip())
            for number, line in enumerate(self._raw, 1)
            if (whole := _without_comment(line)).strip() not in ("", "---")
        ]
        self._next = 0

    def document(self) -> Any:  # noqa: ANN401 - any JSON value
        if not self._lines:
            return None
        value = self._block(self._lines[0].indent, 0)
        if self._next < len(self._lines):
            raise YamlError(self._lines[self._next].number)
        return value

    def _peek(self) -> _Line | None:
        return self._lines[self._next] if self._next < len(self._lines) else None

    def _block(self, indent: int, depth: int) -> Any:  # noqa: ANN401 - any JSON value
        line = self._lines[self._next]
        if depth > _DEEPEST or line.indent != indent:
            raise YamlError(line.number)
        if _is_item(line):
            return self._list(indent, depth)
        if _MEMBER.fullmatch(line.text):
            return self._mapping(indent, depth)
        self._next += 1
        return _value(line.text, line.number)

    def _list(self, indent: int, depth: int) -> list[Any]:
        found = []
        while (line := self._peek()) and line.indent == indent and _is_item(line):
            rest = line.text[1:].lstrip()
            inner = indent + len(line.text) - len(rest)
            if rest and (_MEMBER.fullmatch(rest) or _is_item(_Line(0, 0, rest))):
                self._lines[self._next] = _Line(line.number, inner, rest)
                found.append(self._block(inner, depth + 1))
            else:
                self._next += 1
                found.append(self._rest(rest, line, depth))
        return found

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (line := self._peek()) and line.indent == indent and not _is_item(line):
            member = _MEMBER.fullmatch(line.text)
            if member is None:
                raise YamlError(line.number)
            self._next += 1
            name = str(_scalar(member[1], line.number) if member[1][0] in "\"'" else member[1])
            found[name] = self._rest(member[2] or "", line, depth)
        return found

    def _rest(self, text: str, line: _Line, depth: int) -> Any:  # noqa: ANN401 - any JSON value
        """Return what stands behind a name or a dash, or in the lines below."""
        if block := _TEXT_BLOCK.fullmatch(text):
            return self._text_block(line, folded=block[1] == ">", keeps_end=block[2] != "-")
        if text:
            return _value(text, line.number)
        below = self._peek()
        is_in = below is not None and (
            below.indent > line.indent or (below.indent == line.indent and _is_item(below))
        )
        if below is None or not is_in or (below.indent == line.indent and _is_item(line)):
            return None
        return self._block(below.indent, depth + 1)

    def _text_block(self, line: _Line, *, folded: bool, keeps_end: bool) -> str:
        parts = []
        for raw in self._raw[line.number :]:
            if raw.strip() and len(raw) - len(raw.lstrip(" ")) <= line.indent:
                break
            parts.append(raw)
        last = line.number + len(parts)
        while (below := self._peek()) and below.number <= last:
            self._next += 1
        inner = min((len(raw) - len(raw.lstrip(" ")) for raw in parts if raw.strip()), default=0)
        text = (" " if folded else "\n").join(raw[inner:] for raw in parts).rstrip()
        return f"{text}\n" if keeps_end and text else text


def _without_comment(line: str) -> str:
    marks = (one.start() for one in _COMMENT.finditer(line) if one["comment"])
    return line[: next(marks, None)].rstrip()


def _is_item(line: _Line) -> bool:
    return line.text == "-" or line.text.startswith("- ")


def _value(text: str, line: int) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value that stands on one line."""
    if not text.startswith(("[", "{")):
        return _scalar(text, line)
    tokens, at = [], 0
    while at < len(text) and (found := _TOKEN.match(text, at)):
        tokens.append(found[1])
        at = found.end()
    if text[at:].strip():
        raise YamlError(line)
    value, rest = _flow(tokens, line, 0)
    if rest:
        raise YamlError(line)
    return value


def _flow(tokens: list[str], line: int, depth: int) -> tuple[Any, list[str]]:
    if not tokens or depth > _DEEPEST:
        raise YamlError(line)
    first, rest = tokens[0], tokens[1:]
    if first not in ("[", "{"):
        return _scalar(first, line), rest
    items: list[Any] = []
    names: dict[str, Any] = {}
    while rest and rest[0] not in ("]", "}"):
        value, rest = _flow(rest, line, depth + 1)
        if first == "{":
            if rest[:1] != [":"]:
                raise YamlError(line)
            names[str(value)], rest = _flow(rest[1:], line, depth + 1)
        else:
            items.append(value)
        if rest[:1] == [","]:
            rest = rest[1:]
    if rest[:1] != ["]" if first == "[" else "}"]:
        raise YamlError(line)
    return (items if first == "[" else names), rest[1:]


def _scalar(text: str, line: int) -> Any:  # noqa: ANN401 - any JSON value
    if text[:1] == '"' or text[:1] == "'":
        if not re.fullmatch(_QUOTED, text):
            raise YamlError(line)
        if text[0] == "'":
            return text[1:-1].replace("''", "'")
        try:
            return json.loads(text, strict=False)
        except ValueError as error:
            raise YamlError(line) from error
    if text[:1] in tuple("&*!|>%@`?,]}") or ": " in text:
        raise YamlError(line)
    if text in _PLAIN:
        return _PLAIN[text]
    return json.loads(text.removeprefix("+")) if _NUMBER.fullmatch(text) else text
