"""Put a fault into an answer on purpose, to test a client.

Each fault is one change of one message; the rest stays as the person wrote it. The reaction of a
good host is described in `locales/`, by the name of the fault. A second line, a repeated line, raw
bytes or an end of the server are outgoing messages or orders (`inbox/contract.py`, `Order`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.json.jsonrpc import object_in, parts_of
from humanmcp.protocol.tables import examples, methods
from humanmcp.protocol.tables.faults import Fault
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation.starting_draft import start

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.json.jsonrpc import RequestId


LOG_LINE: Final = "Server started on stdio"
"""What servers print that mistake stdout for a terminal."""

HUGE: Final = 1_000_000
"""The length of a huge text in characters. Hosts cut it, freeze, or pass it on."""

NO_VERSION: Final = "1999-01-01"
"""A date that is not a protocol version."""

_FAR: Final = 1_000_000
"""The distance of a wrong id from the right one: the next number may be another request's."""

_WORDS: Final = {
    "en": "Broken on purpose, to see what you make of it.",
    "ja": "どう扱われるかを見るため、わざと壊した回答です。",
}
"""Replacements for placeholders, so that the fault is the only problem."""


def faults(exchange: Exchange) -> tuple[Fault, ...]:
    """List the faults that an answer to this request can have."""
    return tuple(fault for fault in Fault if not fault.is_of_http and _fits(fault, exchange))


def _fits(fault: Fault, exchange: Exchange) -> bool:
    match fault:
        case Fault.ID_AS_TEXT:
            return not isinstance(exchange.id.value, str)
        case Fault.ID_AS_NUMBER:
            return _number_in(exchange.id) is not None
        case Fault.WRONG_VERSION:
            return exchange.method == "initialize"
        case Fault.WRONG_RESULT_TYPE:
            typed = features(exchange.version).result_types
            return typed and methods.has_request(exchange.method, exchange.version)
        case _:
            return True


def with_fault(exchange: Exchange, text: str, fault: Fault, language: str = "en") -> str:
    """Return an answer with a fault in it. `text` is the whole message so far.

    If the text is not a JSON object, or has no result where the fault needs one, it starts from the
    draft in the person's language. Never raises, whatever the text.
    """
    parts = _parts(_worded(text))
    if not parts or (fault in _IN_RESULT and "result" not in parts):
        parts = _parts(_worded(start(exchange, language=language)))
    if fault in _IN_RESULT:
        parts = {name: raw for name, raw in parts.items() if name != "error"}
        result = _parts(parts.get("result", "{}"))
        return _written({**parts, "result": _written(_IN_RESULT[fault](result))})
    return _AROUND[fault](exchange.id, parts)


def _worded(text: str) -> str:
    for language, placeholder in examples.PLACEHOLDERS.items():
        text = text.replace(f'"{placeholder}"', f'"{_WORDS[language]}"')
    return text


# -- the text of an object, member by member -------------------------------------------------


def _parts(text: str) -> dict[str, str]:
    """Return the members of the object in `text` as written; {} for other texts."""
    return parts_of(text) if object_in(text) else {}


def _written(parts: Mapping[str, str]) -> str:
    """Write an object with one member per line, and indent its multi-line values."""
    lines = [f"  {json.dumps(name)}: {_moved(raw)}" for name, raw in parts.items()]
    return "{\n" + ",\n".join(lines) + "\n}" if lines else "{}"


def _moved(raw: str) -> str:
    """Indent the lines of a value by two more spaces. No JSON string has a line break."""
    first, *rest = raw.split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first, *("  " + line[margin:] for line in rest)])


# -- around the result -----------------------------------------------------------------------


def _number_in(request_id: RequestId) -> str | None:
    """Return the integer in a string id; None for other ids."""
    text = request_id.value
    if not isinstance(text, str) or not (text.isascii() and text.isdigit()):
        return None
    return text if text == "0" or not text.startswith("0") else None


def _wrong_id(request_id: RequestId, parts: dict[str, str]) -> str:
    token = (
        f'{request_id.token[:-1]}-wrong"'
        if isinstance(request_id.value, str)
        else str(int(request_id.value) + _FAR)
    )
    return _written({**parts, "id": token})


def _both(_request_id: RequestId, parts: dict[str, str]) -> str:
    error = '{ "code": -32603, "message": "Internal error" }'
    return _written({**parts, **({"error": error} if "result" in parts else {"result": "{}"})})


def _cut(_request_id: RequestId, parts: dict[str, str]) -> str:
    whole = _written(parts)
    return whole[: len(whole) // 2].rstrip()


_AROUND: Final[Mapping[Fault, Callable[[RequestId, dict[str, str]], str]]] = {
    Fault.WRONG_ID: _wrong_id,
    Fault.ID_AS_TEXT: lambda own, parts: _written({**parts, "id": f'"{own.token}"'}),
    Fault.ID_AS_NUMBER: lambda own, parts: _written({**parts, "id": _number_in(own) or "0"}),
    Fault.RESULT_AND_ERROR: _both,
    Fault.NO_JSONRPC: lambda _own, parts: _written(
        {name: raw for name, raw in parts.items() if name != "jsonrpc"}
    ),
    Fault.UNKNOWN_FIELD: lambda _own, parts: _written({**parts, "unknownField": "true"}),
    Fault.CUT_IN_HALF: _cut,
    Fault.LOG_LINE: lambda _own, _parts: LOG_LINE,
}


# -- in the result ---------------------------------------------------------------------------


def _with_text(result: dict[str, str], text: str) -> dict[str, str]:
    """Put a text where the model reads it, else into a member that every result may have."""
    if "content" in result:
        item = f'{{ "type": "text", "text": {text} }}'
        one = result["content"].startswith("{")  # a model's content is one item, a tool's is a list
        return {**result, "content": item if one else f"[\n  {item}\n]"}
    meta = _parts(result.get("_meta", "{}"))
    return {**result, "_meta": _written({**meta, "text": text})}


_IN_RESULT: Final[Mapping[Fault, Callable[[dict[str, str]], dict[str, str]]]] = {
    Fault.WRONG_VERSION: lambda result: {**result, "protocolVersion": f'"{NO_VERSION}"'},
    Fault.WRONG_RESULT_TYPE: lambda result: {**result, "resultType": '"finished"'},
    Fault.LONE_SURROGATE: lambda result: _with_text(result, '"?\\ud83d?"'),
    Fault.HUGE: lambda result: _with_text(result, f'"{"0123456789" * (HUGE // 10)}"'),
}
