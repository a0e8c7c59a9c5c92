"""Turn a recorded session into an answer book: the server's definition, and entries.

Frames in, a decoded book out, with a list of the omitted answers. `recorded.py` finds the answer to
each request.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from humanmcp.protocol.answer_book.book import ATTRIBUTES, LISTED
from humanmcp.protocol.answer_book.book_format import KEY_OF, NAMED, SCHEMAS
from humanmcp.protocol.answer_book.decide import EVERYTHING
from humanmcp.protocol.answer_book.placeholders import placeholders
from humanmcp.protocol.answer_book.recorded import plain_text, recorded
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.removed import names_in
from humanmcp.protocol.json.tree import leaves, object_at, objects_at, well_formed
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.methods import LOG, PROGRESS, UPDATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from humanmcp.protocol.answer_book.recorded import Recorded, RecordedMessage
    from humanmcp.protocol.conversation.transcript import Frame


@dataclass(frozen=True, slots=True)
class CopiedBook:
    """A book as TOML tables, and the answers that it cannot contain."""

    server: Mapping[str, Any]
    lists: Mapping[str, Sequence[Mapping[str, Any]]]
    entries: Sequence[Mapping[str, Any]]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def wait(self) -> Mapping[str, Any]:
        """The waiting times: a copied server waits for no person."""
        return {EVERYTHING: 0}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An answer that a book cannot hold: `malformed` (not a message), or `null` (TOML has none).

    `null member`: only such members of an entry of a list, or of the server, are left out.
    """

    why: str
    method: str
    name: str


def copied(frames: Iterable[Frame]) -> CopiedBook:
    records = recorded(frames)
    writer = _Rules()
    for one in records:
        if _is_answer(one):
            writer.add(one)
    server = _server(records)
    lists = {member: _entries(records, member) for member in ATTRIBUTES}
    given = [("initialize", "", server)] + [
        (method, str(entry[LISTED[member]]), entry)
        for method, member in methods.MEMBER_OF_LIST.items()
        for entry in lists[member]
    ]
    unread = (
        LeftOut("malformed", one.method, one.name)
        for one in records
        if one.answered and one.text is None and not _is_answer(one)
    )
    nulls = (LeftOut("null member", method, name) for method, name, one in given if _has_null(one))
    return CopiedBook(
        _without_nulls(server),
        _without_nulls(lists),
        writer.all(),
        (*writer.left_out, *unread, *nulls),
    )


def _is_answer(recorded: Recorded) -> bool:
    """Return True if an entry must give this answer: not a list, nor a standard answer."""
    record = methods.of(recorded.method)
    is_ours = (
        recorded.method in methods.MEMBER_OF_LIST
        or record.introduces
        or record.result == "EmptyResult"
    )
    return bool(recorded.id) and recorded.answered and not is_ours and not record.stays_open


# -- server definition ---------------------------------------------------------------------------


def _result(recorded: Recorded) -> dict[str, Any]:
    """Return a result as TOML can contain it: without unpaired surrogates; {} for none."""
    is_result = recorded.text is not None and recorded.form is TextForm.RESULT
    return object_at(well_formed(json.loads(recorded.text or ""))) if is_result else {}


def _server(records: Sequence[Recorded]) -> dict[str, Any]:
    """Return the name and the texts of the server."""
    found: dict[str, Any] = {}
    for one in records:
        if not methods.of(one.method).introduces:
            continue
        result = _result(one)
        info = object_at(result, "serverInfo") or object_at(result, "_meta", versions.META_SERVER)
        found |= {key: info[key] for key in ("name", "version", "title") if info.get(key)}
        found |= {key: result[key] for key in ("instructions", "capabilities") if result.get(key)}
        if one.method == "server/discover" and one.form is TextForm.ERROR:
            found["protocol_versions"] = list(versions.HANDSHAKE)
    return {"instructions": "", **found} if found else found


def _entries(records: Sequence[Recorded], member: str) -> list[dict[str, Any]]:
    """Return the entries of a list from all pages; of repeated entries, the last one."""
    found: dict[str, dict[str, Any]] = {}
    for one in records:
        listed = _result(one) if methods.MEMBER_OF_LIST.get(one.method) == member else {}
        for entry in objects_at(listed, member):
            key = entry.get(LISTED[member])
            if isinstance(key, str):
                found[key] = {
                    name: _schema(part) if name in SCHEMAS else part for name, part in entry.items()
                }
    return list(found.values())


def _schema(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a schema; as JSON text if there is a null in it, which TOML has not."""
    if isinstance(value, dict) and _has_null(value):
        return as_json(value)
    return value


def _has_null(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    return any(leaf is None for _path, leaf in leaves(value))


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    match value:
        case dict():
            return {key: _without_nulls(part) for key, part in value.items() if part is not None}
        case list():
            return [_without_nulls(part) for part in value if part is not None]
        case _:
            return value


# -- the entries -----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Rules:
    """The entries so far, by their conditions."""

    found: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)

    def add(self, recorded: Recorded) -> None:
        """Add an answer: the first one for a condition begins an entry, the next are its `then`."""
        if recorded.text is None or recorded.raw is not None:
            self.left_out.append(LeftOut("malformed", recorded.method, recorded.name))
            return
        held = _condition(recorded), _turn(recorded)
        if _has_null(held):
            self.left_out.append(LeftOut("null", recorded.method, recorded.name))
            return
        condition, turn = well_formed(held)  # TOML cannot contain unpaired surrogates
        self.found.setdefault(json.dumps(condition), (condition, []))[1].append(turn)

    def all(self) -> list[dict[str, Any]]:
        """Return the entries. Those for retries come first, because they have more conditions."""
        entries = [_entry(condition, turns) for condition, turns in self.found.values()]
        return sorted(entries, key=lambda entry: entry.get("inputResponses") is not True)


def _entry(condition: dict[str, Any], turns: list[dict[str, Any]]) -> dict[str, Any]:
    first, *then = turns if any(one != turns[0] for one in turns) else turns[:1]
    return {**condition, **first, **({"then": then} if then else {})}


def _condition(recorded: Recorded) -> dict[str, Any]:
    params = json.loads(recorded.params)
    key = next((key for key, method in NAMED.items() if method == recorded.method), "method")
    found: dict[str, Any] = {key: recorded.name if key != "method" else recorded.method}
    if "inputResponses" in params:
        found["inputResponses"] = True
    elif _result(recorded).get("resultType") == "input_required":
        found["inputResponses"] = False
    # a template would match other addresses, too, and an address with a mark none
    if key == "resource" and ("{" in recorded.name or names_in(recorded.name)):
        found = {**found, "method": recorded.method, "where": {"uri": recorded.name}}
        del found["resource"]
        return found
    member = methods.of(recorded.method).arguments
    where = params.get(member, {}) if member else params if key == "method" else {}
    return {**found, **({"where": where} if where else {})}


def _turn(recorded: Recorded) -> dict[str, Any]:
    """Write one answer, and the messages that the server sent before it."""
    turn: dict[str, Any] = _answer(recorded)
    notices = [_notice(one) for one in recorded.before if one.message and not one.asks]
    questions = (one for one in recorded.before if one.asks)
    asked = [dict(_question(one, number)) for number, one in enumerate(questions, 1)]
    turn |= {"notify": notices} if notices else {}
    turn |= {"ask": asked} if asked else {}
    return turn | ({"fill": False} if any(placeholders(turn)) else {})


def _answer(recorded: Recorded) -> dict[str, Any]:
    value = json.loads(recorded.text or "{}")
    if recorded.form is TextForm.ERROR:
        return {"error": value}
    plain = plain_text(value) if recorded.method == "tools/call" else None
    return {KEY_OF[plain.form]: plain.text} if plain and plain.text.strip() else {"result": value}


def _notice(recorded: RecordedMessage) -> dict[str, Any]:
    """Write a notification in its shortest form in a book."""
    method, params = (
        (recorded.message.method, dict(recorded.message.params)) if recorded.message else ("", {})
    )
    if method == PROGRESS:
        return {key: params[key] for key in ("progress", "total", "message") if key in params}
    if method == LOG and "data" in params:
        return {"log": params["data"]} | {
            key: params[key] for key in ("level", "logger") if key in params
        }
    group, _, changed = method.removeprefix("notifications/").partition("/")
    if changed == "list_changed":
        return {"list_changed": group}
    if method == UPDATED:
        return {"updated": params.get("uri", "")}
    return {"method": method, "params": params}


def _question(recorded: RecordedMessage, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    if recorded.message is not None:
        params = recorded.message.params
        asked = {"method": recorded.message.method, **({"params": params} if params else {})}
        yield f"question{number}", asked
