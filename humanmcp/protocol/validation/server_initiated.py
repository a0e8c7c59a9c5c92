"""What a server may say first: messages to begin from, and bytes as a person types them.

A message to begin from is one that the revision has; whether this client may be sent it, the check
says.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation.progress import METHOD as PROGRESS
from humanmcp.protocol.spec import methods
from humanmcp.protocol.validation.outgoing import LOG

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from humanmcp.protocol.conversation.exchange import Exchange

_ESCAPE: Final = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|([nrt\\]))")
_MEANT: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\"}


class Opener(NamedTuple):
    """A message to begin from: its method, what it is about ("" for nothing), and its text."""

    method: str
    about: str
    text: str


def message(method: str, params: Any = None, own: str | int | None = None) -> str:  # noqa: ANN401 - any JSON value
    """Write a notification, or a request where it has an id of its own."""
    body: dict[str, Any] = {"jsonrpc": "2.0"}
    if own is not None:
        body["id"] = own
    body["method"] = method
    if params is not None:
        body["params"] = params
    return json.dumps(body, ensure_ascii=False)


def request(method: str, own: str) -> str:
    """Write a request of one's own, with parameters to begin from."""
    return message(method, _PARAMS.get(method), own)


def log(level: str, text: str) -> str:
    """Write a log message."""
    return message(LOG, {"level": level, "logger": "humanmcp", "data": text})


def progress(exchange: Exchange, value: float, total: float | None = None) -> str:
    """Write a progress notification of a request. Without a token of its own it names its id."""
    token = exchange.request.meta.get("progressToken", exchange.id.value)
    of = {} if total is None else {"total": total}
    return message(PROGRESS, {"progressToken": token, "progress": value, **of})


def openers(revision: str, waiting: Sequence[Exchange], own: str) -> tuple[Opener, ...]:
    """List the messages to begin from. `own` is the id of a request."""
    return tuple(_openers(revision, waiting, own))


def _openers(revision: str, waiting: Sequence[Exchange], own: str) -> Iterator[Opener]:
    for about, method in methods.CHANGED.items():
        if revision in methods.of(method).to_client:
            yield Opener(method, about, message(method))
    if revision in methods.of(LOG).to_client:
        yield Opener(LOG, "info", log("info", "a person is at it"))
    for exchange in waiting:
        if exchange.progress_token is not None:
            yield Opener(PROGRESS, exchange.tool or exchange.method, progress(exchange, 1, 4))
    for method in ("ping", "roots/list", *_PARAMS):
        if revision in methods.of(method).to_client:
            yield Opener(method, "", request(method, own))


_PARAMS: Final[dict[str, Any]] = {
    "elicitation/create": {
        "message": "What is your name?",
        "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
    },
    "sampling/createMessage": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hello!"}}],
        "maxTokens": 100,
    },
}


def typed_bytes(text: str) -> bytes:
    r"""Return the bytes that are meant: `\xff` is one byte, `\n` a line feed, `\\` a backslash.

    Everything else is UTF-8, half characters included.
    """
    raw = text.encode("utf-8", "surrogatepass")
    return _ESCAPE.sub(lambda found: _byte(found[1], found[2]), raw)


def _byte(digits: bytes | None, letter: bytes | None) -> bytes:
    return bytes([int(digits, 16)]) if digits is not None else _MEANT[letter or b"\\"]
