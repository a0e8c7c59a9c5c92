"""Read requests and results that were written down without JSON-RPC around them.

So does the history of a client with a page, what an SDK prints of its objects, and a cassette: a
method with its parameters, and a result beside it or after it. Which answers which, their order
says. The ids are made up.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.json.jsonrpc import as_json, item_spans, members, skip_space
from humanmcp.protocol.tables import methods
from humanmcp.protocol.validation.sides import side_of_method

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_METHOD: Final = re.compile(r"\bmethod\b")
_DEEPEST: Final = 8
_ANSWERS: Final = ("result", "response", "error", "output")
_BESIDE: Final = frozenset({"headers", "meta", "metadata", "context", "params", "arguments"})
"""Objects that stand beside a request and answer nothing."""


class BareMessage(NamedTuple):
    """A message with the JSON-RPC that was missing. `side` is 1 for the client, -1 for the server.

    `start` is its offset in the text.
    """

    start: int
    side: int
    text: str


class _Unit(NamedTuple):
    start: int
    parts: Mapping[str, str]
    """The members of an object as they were written."""
    text: str
    name: str

    @property
    def method(self) -> str:
        """The method of a request or notification; "" for another object."""
        method = json.loads(self.parts.get("method", "0"))
        record = methods.of(method) if isinstance(method, str) else None
        is_known = record is not None and bool(record.to_server or record.to_client)
        return method if is_known and "url" not in self.parts else ""


def bare_exchanges(text: str, values: Iterable[tuple[int, int]]) -> Iterator[BareMessage]:
    """Yield requests and responses from the JSON values at these places; none without a pair."""
    found: list[BareMessage] = []
    waiting, count, is_paired = "", 0, False
    for one in (unit for span in values for unit in _units(text, span)):
        unit = one
        if method := unit.method:
            is_request = method in methods.REQUESTS
            count += is_request
            params = unit.parts.get("params", "null")
            own = f'"id":{count},' if is_request else ""
            rest = "" if params == "null" else f',"params":{params}'
            line = f'{{"jsonrpc":"2.0",{own}"method":{as_json(method)}{rest}}}'
            found.append(BareMessage(unit.start, side_of_method(method) or 1, line))
            waiting = method if is_request else ""
            name = next((one for one in _ANSWERS if unit.parts.get(one, "")[:1] == "{"), "")
            unit = _Unit(unit.start + len(name), {}, unit.parts.get(name, ""), name)
        if waiting and unit.text[:1] == "{" and unit.name not in _BESIDE:
            kind, result = _outcome(unit)
            line = f'{{"jsonrpc":"2.0","id":{count},"{kind}":{result}}}'
            found.append(BareMessage(unit.start, -(side_of_method(waiting) or 1), line))
            waiting, is_paired = "", True
    if is_paired:
        yield from found


def _outcome(unit: _Unit) -> tuple[str, str]:
    """Return whether an object is a result or an error, and its text."""
    inner = {name: unit.text[s:e] for name, s, e in members(unit.text)}
    for kind in ("result", "error"):
        if inner.get(kind, "")[:1] == "{":
            return kind, inner[kind]
    return ("error" if unit.name == "error" else "result"), unit.text


def _units(
    text: str, span: tuple[int, int], name: str = "", *, origin: int = -1, level: int = 0
) -> Iterator[_Unit]:
    """Yield the requests within a value and the objects beside them, or the value itself."""
    start, end = span
    place = start if origin < 0 else origin
    below = level + 1
    if text[start] == '"':
        inner = json.loads(text[start:end])
        try:
            json.loads(inner)
        except (ValueError, RecursionError):
            return
        first = skip_space(inner, 0)
        yield from _units(inner, (first, len(inner)), name, origin=place, level=below)
    elif text[start] == "[" and level < _DEEPEST:
        for one in item_spans(text, start):
            yield from _units(text, one, origin=origin, level=below)
    elif text[start] == "{":
        spans = {one: (start + s, start + e) for one, s, e in members(text[start:end])}
        parts = {one: text[s:e] for one, (s, e) in spans.items()}
        unit = _Unit(place, parts, text[start:end], name)
        if unit.method or level >= _DEEPEST or not _METHOD.search(text, start, end):
            yield unit
            return
        inside = [
            one
            for member, part in spans.items()
            for one in _units(text, part, member, origin=origin, level=below)
        ]
        yield from inside if any(one.method for one in inside) else (unit,)
