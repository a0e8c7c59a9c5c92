"""What matters in an answer, in a few rows for a projector. Calls of tools are in `conversation`.

Pure: an answer's line and the method that it answers go in. Nothing of the line is trusted: what is
not what MCP wants is shown as the JSON that came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.desk.presenters.readable_json import decoded, is_text, shown, written
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.tree import array_at, follow, object_at
from humanmcp.protocol.spec import methods

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Row = tuple[str, str]

MOST: Final = 12
"""Rows that stand on a projector."""
LONGEST: Final = 1_500
"""Characters of one row."""


class ResultCard(NamedTuple):
    """What an answer says: the code of a headline, rows of a name and a text, and how many more."""

    kind: str
    rows: tuple[Row, ...]
    more: int = 0


def result_card(method: str, line: str) -> ResultCard | None:
    """Return what matters in an answer to a method; None where there is nothing to say."""
    for member in ("error", "result"):
        text = jsonrpc.member(line, member)
        found = None if text is None else decoded(text)
        if not isinstance(found, dict):
            continue
        kind, read = ("error", _members) if member == "error" else _reader(method)
        rows = [(name, shown(said, LONGEST).text) for name, said in read(found)]
        return ResultCard(kind, tuple(rows[:MOST]), max(0, len(rows) - MOST)) if rows else None
    return None


def _reader(method: str) -> tuple[str, Callable[[dict[str, Any]], Iterable[Row]]]:
    listing = methods.of(method).listing
    if listing is not None:
        return "offered", lambda found: _entries(found.get(listing.member), listing.key)
    return _READERS.get(method, ("other", _members))


def _members(found: Mapping[str, Any]) -> Iterable[Row]:
    return [(name, _text(value)) for name, value in found.items() if name != "_meta"]


def _agreed(found: Mapping[str, Any]) -> Iterable[Row]:
    for name, text in _members(found):
        value = found[name]
        if name == "capabilities" and isinstance(value, dict):
            yield name, ", ".join(value)
        elif name == "serverInfo" and isinstance(value, dict):
            yield name, " ".join(_text(value[one]) for one in ("name", "version") if one in value)
        else:
            yield name, text


def _entries(entries: object, key: str) -> Iterable[Row]:
    for one in array_at(entries):
        about = one if isinstance(one, dict) else {"description": one}
        said = about.get("description", about.get("title", about.get("name", "")))
        yield _text(about.get(key, "")), _text(said)


def _messages(found: Mapping[str, Any]) -> Iterable[Row]:
    for one in array_at(found, "messages"):
        said = one if isinstance(one, dict) else {"content": one}
        yield _text(said.get("role", "")), _content(said.get("content"))


def _contents(found: Mapping[str, Any]) -> Iterable[Row]:
    for one in array_at(found, "contents"):
        held = one if isinstance(one, dict) else {"text": one}
        yield _text(held.get("uri", "")), _text(held.get("text", held.get("mimeType", "")))


def _sampled(found: Mapping[str, Any]) -> Iterable[Row]:
    said = found.get("content")
    for one in said if isinstance(said, list) else [said]:
        yield _text(found.get("model", "")), _content(one)


def _elicited(found: Mapping[str, Any]) -> Iterable[Row]:
    yield "action", _text(found.get("action", ""))
    yield from _members(object_at(found, "content"))


def _content(block: object) -> str:
    """Return the words of a content block; what has none as it came."""
    found = follow(block, "text")
    return _text(block if found is None else found)


def _text(value: object) -> str:
    return value if is_text(value) else written(value)


_READERS: Final[dict[str, tuple[str, Callable[[dict[str, Any]], Iterable[Row]]]]] = {
    "initialize": ("agreed", _agreed),
    "server/discover": ("agreed", _agreed),
    "prompts/get": ("prompt", _messages),
    "resources/read": ("contents", _contents),
    "sampling/createMessage": ("sampled", _sampled),
    "elicitation/create": ("elicited", _elicited),
}
