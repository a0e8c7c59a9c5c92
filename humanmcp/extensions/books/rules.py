"""Save an answer as a rule of the answer book, and describe a rule in a sentence.

People also edit the file: a new rule is added at its end, nothing else changes, and a change that
would make the book invalid is not written.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from humanmcp.common import toml_edit
from humanmcp.common.book_file import parse_book
from humanmcp.common.person_files import read_regular, replace_regular
from humanmcp.extensions.books.server_definition import of_book
from humanmcp.locales import say
from humanmcp.locales.stop import StopError
from humanmcp.protocol.answer_book.book_entry import EntryAction
from humanmcp.protocol.answer_book.book_format import ANSWERS, KEY_OF
from humanmcp.protocol.answer_book.decision import by_entry
from humanmcp.protocol.conversation.questions import NO_ANSWER_AFTER
from humanmcp.protocol.diagnostics.model import TextForm, blocking
from humanmcp.protocol.diagnostics.problem import quoted
from humanmcp.protocol.json.tree import leaves, text_at, well_formed
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.repair.reading import read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from humanmcp.extensions.books.server_definition import Lists
    from humanmcp.protocol.answer_book.book import Book
    from humanmcp.protocol.answer_book.book_entry import BookEntry

_ARRAY: Final = "rules"
_SWITCH: Final = re.compile(r"\s*on\s*=\s*(true|false)\s*(#.*)?$")
_edited: Final[dict[Path, tuple[str, str]]] = {}
"""The text of a book before its last edit here, and after it."""
_NO_HITS: Final[Mapping[str, int]] = MappingProxyType({})
_ALWAYS: Final = frozenset({"method", *ANSWERS})
"""The keys that a rule has even if they are empty."""


class RuleError(StopError):
    """A rule cannot be added."""

    section = "rule_error"


@dataclass(frozen=True, slots=True)
class NewRule:
    """A new rule. `where` are arguments that must be equal; `times` 0 means always."""

    method: str
    text: str
    tool: str = ""
    form: TextForm = TextForm.TEXT
    where: dict[str, Any] = field(default_factory=dict)
    after: float = 0.0
    times: int = 0


def sentence(rule: NewRule) -> str:
    """Return a rule in words: When tools/call get_forecast with city = "Tokyo", answer "sunny"."""
    name = f"{rule.method} {rule.tool}".strip()
    equal = ((key, json.dumps(value, ensure_ascii=False)) for key, value in rule.where.items())
    where = ", ".join(f"{key} = {value}" for key, value in equal)
    condition = say("books", "rule.with", where=where) if where else ""
    code = "rule.answer" if rule.form in (TextForm.TEXT, TextForm.RESULT) else "rule.error"
    parts = [say("books", code, name=name, condition=condition, text=rule.text)]
    if rule.after:
        parts.append(say("books", "rule.after", seconds=f"{rule.after:g}"))
    if rule.times:
        parts.append(say("books", "rule.times", times=rule.times))
    return one_line(" ".join(parts), 400)


def add(book: Path, rule: NewRule) -> None:
    """Add a rule at the end of a book; create the book if it does not exist.

    The existing text stays unchanged, also its line ends, and so do the file's owner and mode.

    Raises:
        BookFileError: the book, or the book with this rule, cannot be used.
        RuleError: the book cannot be read or written, or the rule says nothing.
    """
    _edit(book, lambda text: toml_edit.add(text, _ARRAY, _element(rule)))


def _text_of(book: Path) -> str:
    try:
        return read_regular(book).decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError("unreadable", file=book, why=error) from error


def _read(book: Path) -> Book:
    return parse_book(_text_of(book), book)


def _edit(book: Path, edited: Callable[[str], str]) -> None:
    before = _text_of(book)
    parse_book(before, book)
    try:
        text = edited(before)
    except toml_edit.NotEditableError as error:
        raise RuleError("not understood", file=book) from error
    parse_book(text, book)
    _write(book, text)
    _edited[book] = (before, text)


def _write(book: Path, text: str) -> None:
    try:
        replace_regular(book, text.encode("utf-8"))
    except OSError as error:
        raise RuleError("unwritable", file=book, why=error) from error


def can_undo(book: Path) -> bool:
    """Return True if a book has not changed since it was edited here."""
    try:
        return book in _edited and _text_of(book) == _edited[book][1]
    except RuleError:
        return False


def undo(book: Path) -> None:
    """Restore the text of a book before the last edit here.

    Raises:
        RuleError: it was changed elsewhere since, or it cannot be written.
    """
    if not can_undo(book):
        raise RuleError("changed since", file=book)
    _write(book, _edited.pop(book)[0])


@dataclass(frozen=True, slots=True)
class BookRule:
    """A rule of a book: as a sentence, and as text ("" if it cannot be changed here).

    `hits` counts its answers in the open sessions since the book was changed.
    """

    sentence: str
    text: str
    on: bool = True
    hits: int = 0


def rules_on(book: Path) -> int:
    """Return the number of rules that are on; 0 for an invalid book."""
    try:
        stamp = book.stat().st_mtime_ns
    except OSError:
        return 0
    return _count_on(book, stamp)


@lru_cache(4)
def _count_on(book: Path, _stamp: int) -> int:
    try:
        return sum(one.on for one in _read(book).entries)
    except StopError:
        return 0


def listed(book: Path, hits: Mapping[str, int] = _NO_HITS) -> list[BookRule]:
    """Return the rules of a book in order: the first that matches a request answers it.

    Raises:
        BookFileError: the book cannot be used.
        RuleError: it cannot be read.
    """
    text = _text_of(book)
    found = parse_book(text, book).entries
    try:
        texts = toml_edit.elements(text, _ARRAY)
    except toml_edit.NotEditableError:
        texts = [""] * len(found)
    return [
        BookRule(_said(rule), one.strip("\n"), rule.on, hits.get(by_entry(index), 0))
        for index, (rule, one) in enumerate(zip(found, texts, strict=True))
    ]


def limits(book: Path) -> list[str]:
    """Return a sentence for each tool with a limit, after which the book answers.

    Raises:
        BookFileError: the book cannot be used.
        RuleError: it cannot be read.
    """
    found = ((one, text_at(one, "_meta", NO_ANSWER_AFTER)) for one in _read(book).tools)
    return [
        one_line(say("books", "rule.limit", tool=tool.get("name"), argument=argument), 400)
        for tool, argument in found
        if argument
    ]


def _said(entry: BookEntry) -> str:
    name = (
        f"{entry.method or 'tools/call'} {entry.tool}".strip() if entry.method or entry.tool else ""
    )
    name = name or say("books", "rule.any")
    where = {**entry.where, **{f"{key} ⊇": part for key, part in entry.contains.items()}}
    if entry.action is not EntryAction.ANSWER:
        return one_line(say("books", f"rule.{entry.action.value}", name=name), 400)
    times = entry.times or 0
    new = NewRule(name, entry.text, "", entry.form, where, entry.after, times)
    if entry.is_plain and not entry.then:
        return sentence(new)
    return f"{sentence(new)} {say('books', 'rule.more')}"


def change(book: Path, seen: str, act: str, text: str = "") -> None:
    """Move a rule `up` or `down`, `remove` it, switch it `on` or `off`, or `change` its text.

    `seen` is its current text.

    Raises:
        BookFileError: the book would not be usable.
        RuleError: the rule is not there any more, or the book cannot be changed so.
    """
    if act == "change":
        parse_book(text, book)  # report its own errors first

    def edited(whole: str) -> str:
        rules = toml_edit.elements(whole, _ARRAY)
        at = next((at for at, one in enumerate(rules) if one.strip("\n") == seen), None)
        if at is None:
            raise RuleError("gone", file=book)
        rule = rules.pop(at)
        place = {"up": max(0, at - 1), "down": at + 1, "remove": None}.get(act, at)
        if place is not None:
            rules.insert(place, text if act == "change" else _switched(rule, act))
        return toml_edit.with_elements(whole, _ARRAY, rules)

    _edit(book, edited)


def lists(book: Path) -> Lists:
    """Return the lists of a book.

    Raises:
        BookFileError: the book cannot be used.
        RuleError: it cannot be read.
    """
    return of_book(_read(book))


def put_lists(book: Path, lists: Lists) -> None:
    """Put these lists into a book: other lists, and the text of existing entries, stay.

    Raises:
        BookFileError: the book, or the book with these lists, cannot be used.
        RuleError: the book cannot be read or written, or there is a null in an entry.
    """

    def edited(text: str) -> str:
        before = of_book(parse_book(text, book))
        for member, entries in lists.items():
            if before[member] == entries:
                continue
            there = toml_edit.elements(text, member)
            known = list(zip(before[member], there, strict=True)) if there else []
            if there:
                kept = [
                    next((one for each, one in known if each == entry), None)
                    or toml_edit.element_text(member, _held(dict(entry)))
                    for entry in entries
                ]
                text = toml_edit.with_elements(text, member, kept)
                continue
            for entry in entries:
                text = toml_edit.add(text, member, _held(dict(entry)))
        return text

    _edit(book, edited)


def _switched(rule: str, act: str) -> str:
    """Return the text of a rule after it is switched on or off; for other acts, the same text."""
    if act not in {"on", "off"}:
        return rule
    lines = [one for one in rule.split("\n") if not _SWITCH.match(one)]
    at = next(at for at, one in enumerate(lines) if one.lstrip().startswith("[["))
    return "\n".join(
        [*lines[: at + 1], *(["on = false"] if act == "off" else []), *lines[at + 1 :]]
    )


def to_toml(rule: NewRule) -> str:
    """Return a rule as TOML.

    Raises:
        RuleError: its answer is not a JSON object, or contains null.
    """
    return toml_edit.element_text(_ARRAY, _element(rule))


def _element(rule: NewRule) -> dict[str, Any]:
    """Return a rule as a TOML table."""
    answer: object = rule.text
    if rule.form not in KEY_OF:
        raise RuleError("no answer")
    if rule.form in (TextForm.RESULT, TextForm.ERROR):
        reading = read_json(rule.text)
        errors = blocking(reading.diagnostics)
        if errors:
            raise RuleError("no json", line=errors[0].line, column=errors[0].column, why=errors[0])
        answer = reading.value
        if not isinstance(answer, dict):
            raise RuleError("no object", got=quoted(answer))
    held = {
        "method": rule.method,
        "tool": rule.tool,
        "where": dict(rule.where),
        KEY_OF[rule.form]: answer,
        "after": rule.after,
        "times": rule.times,
    }
    return {key: _held(value) for key, value in held.items() if value or key in _ALWAYS}


def _held(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value as TOML can contain it: without null and unpaired surrogates."""
    if any(leaf is None for _path, leaf in leaves(value)):
        raise RuleError("null")
    return well_formed(value)
