"""Save an answer as a rule of the answer book, and say a rule as a sentence.

The book is a file that people edit too: a rule is added at its end, nothing else in it changes, and
a book that would not be readable any more is not written.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from humanmcp.common.book_file import parse_book
from humanmcp.common.regular_file import read_regular, replace_regular
from humanmcp.locales import say
from humanmcp.locales.stop import StopError
from humanmcp.protocol.diagnostics.model import blocking
from humanmcp.protocol.diagnostics.raw import quoted
from humanmcp.protocol.diagnostics.verdict import Form
from humanmcp.protocol.json.escaping import one_line
from humanmcp.protocol.repair.reading import read

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BOOK_NAME: Final = "book.toml"
"""The book that every stub of this inbox reads unless it was given another."""

_KEYS: Final = {
    Form.TEXT: "text",
    Form.TOOL_ERROR: "tool_error",
    Form.RESULT: "result",
    Form.ERROR: "error",
}


class RuleError(StopError):
    """A rule cannot be added."""

    room = "rule_error"


@dataclass(frozen=True, slots=True)
class NewRule:
    """A rule to be. `where` are arguments that must be equal; `times` 0 is always."""

    method: str
    tool: str
    form: Form
    text: str
    where: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    after: float = 0.0
    times: int = 0


def sentence(rule: NewRule, language: str) -> str:
    """Say a rule: When tools/call get_forecast with city = "Tokyo", answer "sunny"."""
    name = f"{rule.method} {rule.tool}".strip()
    where = ", ".join(f"{key} = {_literal(value)}" for key, value in rule.where.items())
    condition = say("desk", "rule.with", language, where=where) if where else ""
    code = "rule.answer" if rule.form in (Form.TEXT, Form.RESULT) else "rule.error"
    parts = [say("desk", code, language, name=name, condition=condition, text=rule.text)]
    if rule.after:
        parts.append(say("desk", "rule.after", language, seconds=f"{rule.after:g}"))
    if rule.times:
        parts.append(say("desk", "rule.times", language, times=rule.times))
    return one_line(" ".join(parts), 400)


def add(book: Path, rule: NewRule) -> None:
    """Add a rule at the end of a book; make the book where there is none.

    What stands there stays as it is, its line ends too, and so do the file's owner and mode.

    Raises:
        BookFileError: the book, or the book with this rule, cannot be used.
        RuleError: the book cannot be read or written, or the rule says nothing.
    """
    try:
        before = read_regular(book).decode("utf-8-sig")
    except FileNotFoundError:
        before = ""
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError("unreadable", file=book, why=error) from error
    kept = before.rstrip()
    added = f"\n\n{to_toml(rule)}" if kept else to_toml(rule)
    text = kept + (added.replace("\n", "\r\n") if "\r\n" in before else added)
    parse_book(text, book)
    try:
        replace_regular(book, text.encode("utf-8"))
    except OSError as error:
        raise RuleError("unwritable", file=book, why=error) from error


def to_toml(rule: NewRule) -> str:
    """Write a rule as the book has it.

    Raises:
        RuleError: its answer is no JSON object, or has a null in it.
    """
    lines = ["[[rules]]", f"method = {_toml(rule.method)}"]
    if rule.tool:
        lines.append(f"tool = {_toml(rule.tool)}")
    if rule.where:
        lines.append(f"where = {_toml(dict(rule.where))}")
    answer: object = rule.text
    if rule.form in (Form.RESULT, Form.ERROR):
        reading = read(rule.text)
        broken = blocking(reading.problems)
        if broken:
            raise RuleError("no json", line=broken[0].line, column=broken[0].column, why=broken[0])
        answer = reading.value
        if not isinstance(answer, dict):
            raise RuleError("no object", got=quoted(answer))
    lines.append(f"{_KEYS[rule.form]} = {_toml(answer)}")
    if rule.after:
        lines.append(f"after = {rule.after:g}")
    if rule.times:
        lines.append(f"times = {rule.times}")
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    """Write a JSON value as TOML. JSON's strings are TOML's; null has no counterpart there."""
    match value:
        case None:
            raise RuleError("null")
        case dict():
            inside = ", ".join(f"{_string(key)} = {_toml(part)}" for key, part in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case list():
            return f"[{', '.join(_toml(part) for part in value)}]"
        case str():
            return _string(value)
        case _:
            return json.dumps(value)


def _string(text: str) -> str:
    # TOML wants DEL escaped, JSON does not; a lone surrogate is allowed in neither.
    quoted = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return quoted.encode("utf-8", "replace").decode("utf-8")


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
