"""An answer that was written as YAML, as JSON.

Reads the plain part of YAML that people type: mappings and lists by indentation, texts with and
without quotes, `|` for several lines. Anchors, tags and several documents are beyond it: then it
is no answer that can be recognised, and nothing is offered.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.repair.embedded import ANSWER_NAMES

if TYPE_CHECKING:
    from humanmcp.protocol.json.jsonrpc import Json

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
