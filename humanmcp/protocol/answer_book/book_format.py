"""The format of an answer book: turn the decoded TOML of its file into a `Book`.

It knows the keys of a book and of an entry, and the type of each. An error is a code with its
place; the sentences are in `locales/`, section `[book]`.
"""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from humanmcp.protocol.answer_book.book import ATTRIBUTES, Book
from humanmcp.protocol.answer_book.book_entry import (
    BookEntry,
    DefinitionChange,
    EntryAction,
    Notice,
    Question,
)
from humanmcp.protocol.conversation.exchange import KIND, KINDS, QUESTION
from humanmcp.protocol.conversation.questions import NO_ANSWER_AFTER, OUTCOME
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.faults import EntryFault, Fault
from humanmcp.protocol.tables.methods import LOG, PROGRESS, UPDATED
from humanmcp.protocol.tables.objects import ASKS, LOG_LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Reader: TypeAlias = Callable[[Any, str], Any]

T = TypeVar("T")


class BookError(Exception):
    """A book cannot be used: the place and the problem."""

    def __init__(self, place: str, code: str, **fillings: str) -> None:
        """Keep the place (`rules[2].after`), the code of the sentence and its fillings."""
        super().__init__(place, code, fillings)
        self.place = place
        self.code = code
        self.fillings = fillings

    def __str__(self) -> str:
        """Return the place and the problem for a log; people get the sentence."""
        return f"{self.place}: {' '.join((self.code, *self.fillings.values()))}"


def json_text(value: Any, place: str) -> str:  # noqa: ANN401 - TOML's types
    """Write a value as JSON, without TOML's dates, nan and inf."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BookError(place, "json") from error


def only(found: Mapping[str, Any], allowed: frozenset[str], place: str) -> None:
    """Raise an error for keys that are not allowed."""
    unknown = sorted(set(found) - allowed)
    if unknown:
        import difflib  # noqa: PLC0415 - a book that is right needs no guess

        for guess in difflib.get_close_matches(unknown[0], allowed, n=1):
            raise BookError(place, "key guess", key=unknown[0], guess=guess)
        raise BookError(place, "key", key=unknown[0], known=", ".join(sorted(allowed)))


def _reader(kind: type[T] | tuple[type[T], ...], code: str) -> Callable[[Any, str], T]:
    """Return a reader of values of these types; others are an error with this code."""

    def read(value: Any, place: str) -> T:  # noqa: ANN401 - TOML's types
        if isinstance(value, kind):
            return value
        raise BookError(place, code)

    return read


table: Final = _reader(dict, "table")
text: Final = _reader(str, "text")
flag: Final = _reader(bool, "flag")
"""Read true or false."""
table_or_flag: Final = _reader((bool, dict), "retried")
"""Read a condition: a table, true for anything, false for nothing."""
text_or_flag: Final = _reader((bool, str), "retried")
"""Read a condition: a text, true for anything, false for nothing."""


def tables(value: Any, place: str) -> list[Mapping[str, Any]]:  # noqa: ANN401 - TOML's types
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise BookError(place, "tables")
    return value


def seconds(value: Any, place: str) -> float:  # noqa: ANN401 - TOML's types
    """Read a number of seconds."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0:
        raise BookError(place, "seconds")
    return float(value)


def count(value: Any, place: str) -> int:  # noqa: ANN401 - TOML's types
    """Read a whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BookError(place, "count")
    return value


def texts(value: Any, place: str) -> tuple[str, ...]:  # noqa: ANN401 - TOML's types
    """Read a list of texts."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise BookError(place, "texts")
    return tuple(value)


def texts_by_name(value: Any, place: str) -> Mapping[str, str]:  # noqa: ANN401 - TOML's types
    """Read a table of texts."""
    return {key: text(part, f"{place}.{key}") for key, part in table(value, place).items()}


def json_table(value: Any, place: str) -> Mapping[str, Any]:  # noqa: ANN401 - TOML's types
    """Read a table that is sent, or compared with received JSON."""
    json_text(table(value, place), place)
    return table(value, place)


def protocol_versions(value: Any, place: str) -> tuple[str, ...]:  # noqa: ANN401 - TOML's types
    if not isinstance(value, list) or not value or any(one not in versions.ALL for one in value):
        raise BookError(place, "versions", known=", ".join(versions.ALL))
    return tuple(one for one in versions.ALL if one in value)


def one_of(value: Any, known: tuple[str, ...], place: str) -> str:  # noqa: ANN401 - TOML's types
    """Read one of a few words."""
    if value not in known:
        raise BookError(place, "word", known=", ".join(known))
    return str(value)


ANSWERS: Final = {
    "text": TextForm.TEXT,
    "tool_error": TextForm.TOOL_ERROR,
    "result": TextForm.RESULT,
    "error": TextForm.ERROR,
}
"""The keys that contain an entry's answer."""
KEY_OF: Final = {form: key for key, form in ANSWERS.items()}
NAMED: Final = {one.rule_key: one.name for one in methods.REQUESTS.values() if one.rule_key}
"""The keys that name a tool, prompt or address, each with its method."""
_ASKS: Final = tuple(one.name for one in methods.REQUESTS.values() if one.asks_back)
NOTICES: Final[Mapping[str, frozenset[str]]] = {
    "log": frozenset({"level", "logger"}),
    "progress": frozenset({"total", "message"}),
    "list_changed": frozenset(),
    "updated": frozenset(),
    "method": frozenset({"params"}),
}
"""The keys of notifications, and the keys that each may have beside it."""


def read_entry(entry: Mapping[str, Any], place: str) -> BookEntry:
    """Read an entry.

    Raises:
        BookError: something in it is invalid.
    """
    only(entry, ENTRY_KEYS, place)
    method, name = _meant_for(entry, place)
    given = _read(entry, CONDITIONS, place)
    record = {field: given[field] for field in ("resource", "key", "kept") if field in given}
    then = enumerate(tables(entry.get("then", []), f"{place}.then"))
    turns = (_then(turn, f"{place}.then[{index}]")._replace(**record) for index, turn in then)
    times = _times(entry, place)
    whole = _turn(entry, place)._replace(
        method=method, tool=name, times=times, then=tuple(turns), **given
    )
    _can_ask(whole, place)
    return whole


def _read(written: Mapping[str, Any], keys: Mapping[str, Reader], place: str) -> dict[str, Any]:
    """Read the keys that are present, each with its reader, as the fields of a record."""
    return {
        _FIELDS.get(key, key): read(written[key], f"{place}.{key}")
        for key, read in keys.items()
        if key in written
    }


def _meant_for(entry: Mapping[str, Any], place: str) -> tuple[str, str]:
    """Read the method, and the name of the tool or the prompt."""
    method = text(entry.get("method", ""), f"{place}.method")
    named = [key for key in NAMED if key in entry]
    if len(named) > 1:
        raise BookError(f"{place}.{named[1]}", "one of", known=", ".join(NAMED))
    if not named:
        return method, ""
    (key,) = named
    name = text(entry[key], f"{place}.{key}")
    return method or (NAMED[key] if name else ""), "" if key == "resource" else name


def example_entry(method: str, name: str) -> str:
    """Write an entry that answers a request like this one, as an example for a person."""
    key = next((key for key, one in NAMED.items() if name and one == method), "method")
    condition = as_json(name if key in NAMED else method)
    answer = 'text = "…"' if methods.of(method).plain_text else "result = {}"
    return f"[[rules]]\n{key} = {condition}\n{answer}"


FAULTS: Final = tuple(each.value for kind in (Fault, EntryFault) for each in kind)
"""The possible values of an entry's `fault`."""


def _times(entry: Mapping[str, Any], place: str) -> int | None:
    if "times" in entry and "once" in entry:
        raise BookError(f"{place}.once", "one of", known="times, once")
    if "times" in entry:
        return count(entry["times"], f"{place}.times")
    return 1 if flag(entry.get("once", False), f"{place}.once") else None


def _then(turn: Mapping[str, Any], place: str) -> BookEntry:
    only(turn, TURN_KEYS, place)
    return _turn(turn, place)


def _turn(turn: Mapping[str, Any], place: str) -> BookEntry:
    """Read the action for one call."""
    action, form, answer = _action(turn, place)
    beside = sorted(set(turn) & {"notify", "ask", "add", "remove", "fault", "keep"})
    if action is not EntryAction.ANSWER and beside:
        raise BookError(f"{place}.{beside[0]}", "alone", key=beside[0])
    fault = turn.get("fault", "")
    if fault:
        named = fault.partition(" ")[0] if isinstance(fault, str) else fault
        one_of(named, FAULTS, f"{place}.fault")
    given = _read(turn, STEPS, place)
    others = bool(given.get("keep")) or "notify" in turn or "ask" in turn
    return BookEntry(
        text=answer,
        form=form,
        action=action,
        notices=tuple(
            _notice(notice, f"{place}.notify[{index}]")
            for index, notice in enumerate(tables(turn.get("notify", []), f"{place}.notify"))
        ),
        change=read_change(turn, place),
        fault=fault,
        fills=flag(turn.get("fill", True), f"{place}.fill") and (others or _may_be_filled(answer)),
        **given,
    )


def _may_be_filled(answer: str) -> bool:
    """Return True if an answer may have placeholders: a brace that does not begin a JSON object.

    Most answers have none, so that no request needs a search in them.
    """
    return "{" in answer.replace('{"', "").replace("{}", "")


def _action(entry: Mapping[str, Any], place: str) -> tuple[EntryAction, TextForm, str]:
    """Read the action of an entry, and its answer if it has one."""
    answers = [name for name in (*ANSWERS, "do") if name in entry]
    if len(answers) != 1:
        raise BookError(place, "answers", known=", ".join((*ANSWERS, "do")))
    (answer,) = answers
    value = entry[answer]
    if answer == "do":
        if value not in (EntryAction.HOLD.value, EntryAction.FORWARD.value):
            raise BookError(f"{place}.do", "action")
        return EntryAction(value), TextForm.RESULT, ""
    form = ANSWERS[answer]
    if form in (TextForm.TEXT, TextForm.TOOL_ERROR):
        return EntryAction.ANSWER, form, text(value, f"{place}.{answer}")
    return (
        EntryAction.ANSWER,
        form,
        json_text(table(value, f"{place}.{answer}"), f"{place}.{answer}"),
    )


# -- before the answer ------------------------------------------------------------------------


def _notice(notice: Mapping[str, Any], place: str) -> Notice:
    kinds = [name for name in NOTICES if name in notice]
    if len(kinds) != 1:
        raise BookError(place, "answers", known=", ".join(NOTICES))
    (kind,) = kinds
    only(notice, NOTICES[kind] | {kind, "after"}, place)
    method, params = _said(kind, notice, place)
    json_text(params, place)
    return Notice(method, params, seconds(notice.get("after", 0), f"{place}.after"))


def _said(kind: str, notice: Mapping[str, Any], place: str) -> tuple[str, Mapping[str, Any]]:
    """Return the method and the parameters of a notification."""
    value = notice[kind]
    beside = {name: part for name, part in notice.items() if name in NOTICES[kind]}
    match kind:
        case "log":
            level = one_of(notice.get("level", "info"), LOG_LEVEL.values, f"{place}.level")
            return LOG, {**beside, "level": level, "data": value}
        case "progress":
            return PROGRESS, {"progress": value, **beside}
        case "list_changed":
            capability = one_of(value, tuple(methods.CHANGED), f"{place}.list_changed")
            return methods.CHANGED[capability], {}
        case "updated":
            return UPDATED, {"uri": text(value, f"{place}.updated")}
        case _:
            params = table(notice.get("params", {}), f"{place}.params")
            return text(value, f"{place}.method"), params


def rounds(value: Any, place: str) -> tuple[Mapping[str, Question], ...]:  # noqa: ANN401 - TOML's types
    """Read the rounds of questions; a table is one round."""
    if isinstance(value, dict):
        return (_round(value, place),)
    return tuple(_round(one, f"{place}[{index}]") for index, one in enumerate(tables(value, place)))


def _round(value: Mapping[str, Any], place: str) -> Mapping[str, Question]:
    return {
        name: _question(table(one, f"{place}.{name}"), f"{place}.{name}")
        for name, one in value.items()
    }


def _question(value: Mapping[str, Any], place: str) -> Question:
    only(value, frozenset({"method", "params"}), place)
    method = one_of(value.get("method"), tuple(ASKS.shapes), f"{place}.method")
    return Question(method, json_table(value.get("params", {}), f"{place}.params"))


def _can_ask(entry: BookEntry, place: str) -> None:
    """Refuse questions where MCP allows none, or where the entry reads retries itself."""
    if not any(turn.ask for turn in entry.turns):
        return
    if entry.method not in _ASKS:
        raise BookError(f"{place}.ask", "asks", known=", ".join(_ASKS))
    if entry.responses is not None or entry.state is not None:
        raise BookError(f"{place}.ask", "asks twice")


def read_change(turn: Mapping[str, Any], place: str) -> DefinitionChange | None:
    """Read how `add` and `remove` change the server definition; None if neither is there.

    Raises:
        BookError: something in it is invalid.
    """
    if "add" not in turn and "remove" not in turn:
        return None
    add = table(turn.get("add", {}), f"{place}.add")
    remove = table(turn.get("remove", {}), f"{place}.remove")
    only(add, frozenset(ATTRIBUTES), f"{place}.add")
    only(remove, frozenset(ATTRIBUTES), f"{place}.remove")
    json_text(add, f"{place}.add")
    return DefinitionChange(
        {name: tuple(tables(each, f"{place}.add.{name}")) for name, each in add.items()},
        {name: texts(each, f"{place}.remove.{name}") for name, each in remove.items()},
    )


# -- the keys ---------------------------------------------------------------------------------

SERVER: Final[Mapping[str, Reader]] = {
    "name": text,
    "version": text,
    "title": text,
    "instructions": text,
    "protocol_versions": protocol_versions,
    "capabilities": json_table,
    "progress": flag,
    "park": seconds,
}
"""The keys about the server, each with its reader."""
CONDITIONS: Final[Mapping[str, Reader]] = {
    "resource": text,
    "where": table,
    "contains": texts_by_name,
    "client_has": texts,
    "inputResponses": table_or_flag,
    "requestState": text_or_flag,
    "key": text,
    "kept": table_or_flag,
    "cycle": flag,
    "on": flag,
}
"""The conditions of an entry; `_meant_for` and `_times` read the others."""
_FIELDS: Final = {"inputResponses": "responses", "requestState": "state"}
"""The fields of `Rule` that have other names than their keys."""
STEPS: Final[Mapping[str, Reader]] = {"after": seconds, "ask": rounds, "keep": json_table}
"""The actions of an entry and of each `then`, except those that `_turn` reads together."""
TURN_KEYS: Final = (
    frozenset({"do", "notify", "add", "remove", "fault", "fill"}) | {*ANSWERS} | {*STEPS}
)
ENTRY_KEYS: Final = (
    frozenset({"method", "tool", "prompt", "times", "once", "then"}) | {*CONDITIONS} | TURN_KEYS
)


def parse(written: Mapping[str, Any]) -> Book:
    """Read a decoded book.

    Raises:
        BookError: something in it is invalid; the error names the place.
    """
    only(written, frozenset({"server", "rules", "wait", *ATTRIBUTES}), "the book")
    server = table(written.get("server", {}), "server")
    only(server, frozenset(SERVER), "server")
    chosen = _read(server, SERVER, "server")
    for key, attribute in ATTRIBUTES.items():
        if key in written:
            entries = tables(written[key], key)
            chosen[attribute] = tuple(_tools(entries) if key == "tools" else entries)
            json_text(chosen[attribute], key)
    book_entries = enumerate(tables(written.get("rules", []), "rules"))
    wait = table(written.get("wait", {}), "wait")
    return Book(
        **chosen,
        entries=tuple(read_entry(entry, f"rules[{index}]") for index, entry in book_entries),
        wait={method: _wait(value, f"wait.{method!r}") for method, value in wait.items()},
    )


SCHEMAS: Final = ("inputSchema", "outputSchema")
"""The members of a tool that may be JSON text: TOML has no null."""


def _schema(written: object) -> object:
    """Return a schema that is written as JSON text, or what is written instead."""
    if isinstance(written, str):
        with suppress(ValueError):
            return json.loads(written)
    return written


def _tools(entries: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Move the kind of a tool to its `_meta`, which front ends read and models do not."""
    for index, written in enumerate(entries):
        place = f"tools[{index}]"
        entry = {name: _schema(part) if name in SCHEMAS else part for name, part in written.items()}
        moved = _read({name: entry[name] for name in _OF_TOOL if name in entry}, _OF_TOOL, place)
        if not moved:
            yield entry
            continue
        meta = table(entry.get("_meta", {}), f"{place}._meta")
        rest = {name: value for name, value in entry.items() if name not in moved}
        if moved.get("kind") == QUESTION:
            rest = {"outputSchema": OUTCOME, **rest}
        named = {_META[name]: value for name, value in moved.items()}
        yield {**rest, "_meta": {**meta, **named}}


_OF_TOOL: Final[Mapping[str, Reader]] = {
    "kind": lambda value, place: one_of(value, KINDS, place),
    "no_answer_after": text,
}
_META: Final = {"kind": KIND, "no_answer_after": NO_ANSWER_AFTER}
"""The place in `_meta` of a book's own keys of a tool."""


def _wait(value: Any, place: str) -> float | None:  # noqa: ANN401 - TOML's types
    return None if value is False else seconds(value, place)
