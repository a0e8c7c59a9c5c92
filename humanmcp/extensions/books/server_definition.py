"""A server definition (tools, prompts, resources), and one entry of it as a form.

An entry is an object of MCP. What the form does not show is kept.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.desk.inbox.answer_form import rows_in, values_of
from humanmcp.locales.stop import REFUSED, stopped
from humanmcp.protocol.answer_book.book import ATTRIBUTES, LISTED, Book
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.tree import object_at, objects_at, pretty
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.schemas import SchemaRow, rows_of, schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from humanmcp.protocol.conversation.exchange import NegotiatedState
    from humanmcp.protocol.json.jsonrpc import JsonObject

MEMBERS: Final = tuple(LISTED)
"""The lists, by the member of the result."""
LISTS: Final = {member: method for method, member in methods.MEMBER_OF_LIST.items()}
"""The method that requests each list."""
FIELDS: Final = {
    "tools": ("name", "title", "description"),
    "prompts": ("name", "title", "description"),
    "resources": ("uri", "name", "title", "mimeType", "description"),
    "resourceTemplates": ("uriTemplate", "name", "title", "mimeType", "description"),
}
HINTS: Final = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
"""The boolean annotations of a tool, with MCP's default for each."""
SCHEMAS: Final = {"in ": "inputSchema", "out ": "outputSchema"}
_ARGUMENTS: Final = "arg "


Lists = dict[str, tuple["Mapping[str, Any]", ...]]
"""The entries of each list, by its member."""


def of_book(book: Book) -> Lists:
    return {member: tuple(getattr(book, ATTRIBUTES[member])) for member in MEMBERS}


def of_session(negotiated: NegotiatedState) -> Lists:
    """Return the lists that a session will send, as far as they are known."""
    if negotiated.prepared:
        return {m: tuple(negotiated.prepared.get(LISTS[m], {}).get(m, ())) for m in MEMBERS}
    found = of_book(Book())
    if negotiated.tools is not None:
        found["tools"] = tuple(negotiated.tools.values())
    return found


def change(before: Lists, after: Lists, negotiated: NegotiatedState) -> str:
    """Return the text of the order that changes the definition of a session."""
    add, remove = {}, {}
    default = of_book(Book())
    for member, key in LISTED.items():
        known = {one.get(key) for one in (*before[member], *default[member])}
        known |= set(negotiated.tools or ()) if member == "tools" else set()
        gone = known - {one.get(key) for one in after[member]}
        if before[member] != after[member]:
            add[member] = [dict(one) for one in after[member]]
            remove[member] = sorted(str(one) for one in gone if one)
    return json.dumps({"add": add, "remove": remove}, ensure_ascii=False)


def with_entry(lists: Lists, member: str, entry: Mapping[str, Any] | None, old: str) -> Lists:
    """Return the lists with an entry instead of the one named `old`; None removes it."""
    key, found, placed = LISTED[member], [], entry is None
    for one in lists[member]:
        if one.get(key) == old and old:
            found += [] if placed or entry is None else [entry]
            placed = True
        elif entry is None or one.get(key) != entry.get(key):
            found.append(one)
    found += [] if placed or entry is None else [entry]
    return {**lists, member: tuple(found)}


def read_list(text: str, member: str) -> tuple[Mapping[str, Any], ...]:
    """Return a list from JSON: an array, or the result of its method.

    Raises:
        StopError: it is not a list.
    """
    value = _decoded(text)
    for step in ("result", member):
        value = value[step] if isinstance(value, dict) and step in value else value
    key = LISTED[member]
    if not isinstance(value, list) or not all(
        isinstance(one, dict) and isinstance(one.get(key), str) and one[key] for one in value
    ):
        raise stopped("server_definition", "list", REFUSED, key=key)
    return tuple(value)


def pasted(text: str) -> Lists:
    """Return the lists of a server from pasted results of its list methods, one per line.

    Raises:
        StopError: it contains no list.
    """
    found: Lists = {}
    for part in (text, *text.splitlines()):
        try:
            value = json.loads(part)
        except ValueError:
            continue
        result = value.get("result", value) if isinstance(value, dict) else {"tools": value}
        for member in MEMBERS:
            if isinstance(result, dict) and member in result:
                found[member] = read_list(json.dumps(result[member]), member)
    if not found:
        raise stopped("server_definition", "nothing pasted", REFUSED)
    return found


def _decoded(text: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text)
    except ValueError as error:
        raise stopped("server_definition", "json", REFUSED, why=error) from error


# -- one entry ------------------------------------------------------------------------------------


def blank(member: str) -> JsonObject:
    """Return a new entry to start from."""
    return {"name": "", "inputSchema": schema_of(())} if member == "tools" else {}


def fields_of(entry: Mapping[str, Any], member: str) -> dict[str, str]:
    """Return the form fields of an entry; `as json` if rows cannot show it."""
    text = json.dumps(entry, ensure_ascii=False, indent=2)
    values = {"entry": text}
    for name in FIELDS[member]:
        values[name] = str(entry.get(name, ""))
    if member == "tools":
        for prefix, schema in SCHEMAS.items():
            rows = rows_of(entry.get(schema, schema_of(())))
            if rows is None:
                return {**values, "text": text}
            values |= values_of(rows, prefix)
        hints = object_at(entry, "annotations")
        values |= {name: "on" for name, usual in HINTS.items() if hints.get(name, usual) is True}
    if member == "prompts":
        values |= values_of(_arguments(entry.get("arguments")), _ARGUMENTS)
    return values


def _arguments(given: Any) -> tuple[SchemaRow, ...]:  # noqa: ANN401 - any JSON value
    return tuple(
        SchemaRow(
            str(one.get("name", "")),
            needed=one.get("required") is True,
            description=str(one.get("description", "")),
        )
        for one in objects_at(given)
    )


def entry_of(values: Mapping[str, str], member: str) -> JsonObject:
    """Return the entry of a form.

    Raises:
        StopError: it is not a JSON object, or has no name.
    """
    entry = _decoded(values.get("text") or values.get("entry") or "{}")
    if not isinstance(entry, dict):
        raise stopped("server_definition", "object", REFUSED)
    if not values.get("text"):
        _fill(entry, values, member)
    key = LISTED[member]
    if not isinstance(entry.get(key), str) or not entry[key]:
        raise stopped("server_definition", "no name", REFUSED, key=key)
    return entry


def _fill(entry: JsonObject, values: Mapping[str, str], member: str) -> None:
    """Write the form fields into an entry."""
    for name in FIELDS[member]:
        _put(entry, name, values.get(name, "").strip())
    if member == "tools":
        entry["inputSchema"] = schema_of(rows_in(values, "in "), entry.get("inputSchema"))
        out, before = rows_in(values, "out "), entry.get("outputSchema")
        _put(entry, "outputSchema", schema_of(out, before) if out or before else None)
        hints = dict(object_at(entry, "annotations"))
        for name, usual in HINTS.items():
            wanted = name in values
            if wanted is not usual or name in hints:
                hints[name] = wanted
        _put(entry, "annotations", hints)
    if member == "prompts":
        rows = rows_in(values, _ARGUMENTS)
        _put(entry, "arguments", [_argument(one) for one in rows])


def _argument(row: SchemaRow) -> JsonObject:
    about = {"description": row.description} if row.description else {}
    return {"name": row.name, **about, **({"required": True} if row.needed else {})}


def _put(entry: JsonObject, name: str, value: object) -> None:
    if value:
        entry[name] = value
    else:
        entry.pop(name, None)


# -- into an answer that is being written --------------------------------------------------------


class Drafted(NamedTuple):
    """The list in an answer that a person writes: its entries, and the text around it."""

    before: str
    entries: tuple[Mapping[str, Any], ...]
    texts: tuple[str, ...]
    after: str

    def with_entries(self, entries: Sequence[Mapping[str, Any]]) -> str:
        """Return the answer with these entries; existing ones keep their text."""
        typed = {id(one): text for one, text in zip(self.entries, self.texts, strict=True)}
        texts = (typed.get(id(one)) or json.dumps(one, ensure_ascii=False) for one in entries)
        return pretty(f"{self.before}[{','.join(texts)}]{self.after}")


def drafted(text: str, member: str) -> Drafted:
    """Return the list in an answer.

    Raises:
        StopError: the answer has none, or is not JSON.
    """
    _decoded(text)
    start, inner = 0, text
    for step in ("result", member):
        span = next((one for one in jsonrpc.members(inner) if one[0] == step), None)
        if span is None:
            raise stopped("server_definition", "no list", REFUSED, member=member)
        start, inner = start + span[1], inner[span[1] : span[2]]
    entries = read_list(inner, member)
    items = jsonrpc.item_spans(inner, jsonrpc.skip_space(inner, 0))
    texts = tuple(inner[first:last] for first, last in items)
    return Drafted(text[:start], entries, texts, text[start + len(inner) :])
