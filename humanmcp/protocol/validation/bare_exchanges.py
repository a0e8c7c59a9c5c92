"""Read requests and results that were written down without JSON-RPC around them.

So does the history of a client with a page, what an SDK prints of its objects, and a cassette: a
method with its parameters, and a result beside it or after it. Which answers which, their order
says. The ids are made up.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.json.jsonrpc import as_json, item_spans, members, parts_of
from humanmcp.protocol.tables import methods
from humanmcp.protocol.validation.sides import side_of_method

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_DEEPEST: Final = 8
_ANSWERS: Final = ("result", "response", "error", "output")
_BESIDE: Final = frozenset({"headers", "meta", "metadata", "context", "params", "arguments"})
"""Objects that stand beside a request and answer nothing."""
_NEAR: Final = 200
_NAMED: Final = re.compile(r"(request|notification|response) \W?([\w/]++)")
"""The words before the parameters or the result of a method."""


class BareMessage(NamedTuple):
    """A message with the JSON-RPC that was missing. `side` is 1 for the client, -1 for the server.

    `start` is its offset in the text.
    """

    start: int
    side: int
    text: str


def bare_exchanges(text: str, values: Iterable[tuple[int, int]]) -> Iterator[BareMessage]:
    """Yield requests and responses from the JSON values at these places; none without a pair."""
    found: list[BareMessage] = []
    waiting, count, is_paired = "", 0, False
    for unit in _called(text, values):
        start, name, part = unit
        parts = parts_of(part)
        if method := _method(parts):
            is_request = method in methods.REQUESTS
            count += is_request
            own = f'"id":{count},' if is_request else ""
            rest = f',"params":{parts["params"]}' if parts.get("params", "null") != "null" else ""
            line = f'{{"jsonrpc":"2.0",{own}"method":{as_json(method)}{rest}}}'
            found.append(BareMessage(start, side_of_method(method) or 1, line))
            waiting = method if is_request else waiting
            name = next((one for one in _ANSWERS if parts.get(one, "")[:1] == "{"), "")
            start, part = start + len(name), parts.get(name, "")
        if waiting and part[:1] == "{" and name not in _BESIDE:
            inner = parts_of(part)
            kind = next((one for one in ("result", "error") if inner.get(one, "")[:1] == "{"), "")
            result = inner[kind] if kind else part
            kind = kind or ("error" if name == "error" else "result")
            line = f'{{"jsonrpc":"2.0","id":{count},"{kind}":{result}}}'
            found.append(BareMessage(start, -(side_of_method(waiting) or 1), line))
            waiting, is_paired = "", True
    return iter(found if is_paired else ())


def _called(text: str, values: Iterable[tuple[int, int]]) -> Iterator[tuple[int, str, str]]:
    """Yield the units of some values, and the calls that the words before them name."""
    end = 0
    for first, last in values:
        method, place = "", first
        for call in _NAMED.finditer(text, max(end, first - _NEAR), first):
            if method:  # without parameters
                yield place, "", f'{{"method":{as_json(method)}}}'
            is_call, place = call[1] != "response", call.start()
            method = _method({"method": as_json(call[2])}) if is_call else ""
        end = last
        if method:
            params = text[first:last] if last - first > len("{}") else "null"
            yield first, "", f'{{"method":{as_json(method)},"params":{params}}}'
        else:
            yield from _units(text, (first, last))


def _method(parts: Mapping[str, str]) -> str:
    """Return the method of a request or notification with these members; "" for another object."""
    method = json.loads(parts.get("method", "0"), parse_int=float)  # of any length
    record = methods.of(method) if isinstance(method, str) and "url" not in parts else None
    return method if record is not None and (record.to_server or record.to_client) else ""


def _units(
    text: str, span: tuple[int, int], name: str = "", *, origin: int = -1, level: int = 0
) -> Iterator[tuple[int, str, str]]:
    """Yield the requests within a value and the objects beside them, or the value itself.

    Each comes as its place, the name of its member, and its text.
    """
    start, end = span
    place, part = start if origin < 0 else origin, text[start:end]
    if part[0] == '"':
        inner = json.loads(part).strip()
        with suppress(ValueError, RecursionError):
            json.loads(inner)
            yield from _units(inner, (0, len(inner)), name, origin=place, level=level + 1)
    elif part[0] == "[" and level < _DEEPEST:
        for one in item_spans(text, start):
            yield from _units(text, one, origin=origin, level=level + 1)
    elif part[0] == "{":
        is_deep = level >= _DEEPEST or '"method"' not in part.replace("\\", "")
        inside = [
            unit
            for member, s, e in (() if is_deep or _method(parts_of(part)) else members(part))
            for unit in _units(text, (start + s, start + e), member, origin=origin, level=level + 1)
        ]
        is_known = any(_method(parts_of(one)) for _, _, one in inside)
        yield from inside if is_known else ((place, name, part),)
