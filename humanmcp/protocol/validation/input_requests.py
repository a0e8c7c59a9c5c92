"""Requests to the client while a request waits: to the user, the model, or for roots.

Until 2025-11-25 it is a request of the server, and the client's request stays open; the id of the
server's request names it. In 2026-07-28 it is the result itself (`input_required`), and the client
retries its request with the answers.
"""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.conversation.state import declared_by
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Kind, Message
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.objects import ASKS
from humanmcp.protocol.tables.schemas import SchemaRow, schema_of
from humanmcp.protocol.tables.versions import META_RELATED_TASK, features
from humanmcp.protocol.validation.starting_draft import message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.json.jsonrpc import JsonObject


class InputRequest(enum.Enum):
    """The kinds of such requests, in the order of `ASKS`."""

    USER = "user"
    MODEL = "model"
    ROOTS = "roots"

    @property
    def method(self) -> str:
        return _METHODS[self]


_METHODS: Final = dict(zip(InputRequest, ASKS.shapes, strict=True))


MOST_TOKENS: Final = 1000
"""The `maxTokens` of a sampling request: MCP requires a number, and people do not choose one."""


class Why(enum.Enum):
    """Why such a request cannot be sent."""

    EARLY = "early"
    """Before the end of the handshake, a server only sends pings and logs."""
    VERSION = "version"
    """The version has no such request."""
    METHOD = "method"
    """2026-07-28: the result of this method cannot be `input_required`."""
    CAPABILITY = "capability"
    """The client did not declare the capability."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The reason, and in `capability` what the client did not declare."""

    why: Why
    capability: str = ""


def obstacle(
    input_request: InputRequest, exchange: Exchange, negotiated: NegotiatedState
) -> Obstacle | None:
    """Return why such a request cannot be sent while this exchange waits; None if it can."""
    if features(exchange.version).input_required:
        if not methods.of(exchange.method).asks_back:
            return Obstacle(Why.METHOD)
    else:
        if exchange.version not in methods.of(input_request.method).to_client:
            return Obstacle(Why.VERSION)
        if exchange.method == "initialize" or not negotiated.initialized:
            return Obstacle(Why.EARLY)
    # "Servers MUST NOT send an `inputRequests` that the client has not declared support for"
    missing = methods.undeclared(input_request.method, {}, declared_by(exchange, negotiated))
    return Obstacle(Why.CAPABILITY, missing) if missing else None


def params(
    input_request: InputRequest, words: str, fields: tuple[SchemaRow, ...] = ()
) -> JsonObject | None:
    """Return the parameters of the request; None if it has none."""
    match input_request:
        case InputRequest.USER:
            return {"message": words, "requestedSchema": schema_of(fields)}
        case InputRequest.MODEL:
            asked = {"role": "user", "content": {"type": "text", "text": words}}
            return {"messages": [asked], "maxTokens": MOST_TOKENS}
        case InputRequest.ROOTS:
            return None


def request(
    exchange: Exchange,
    input_request: InputRequest,
    asked: JsonObject | None,
    mark: str,
    task: str = "",
) -> str:
    """Return it as a request of the server, whose id names the client's request.

    `mark` makes the id unique among those of the same request. `task` is the request's task: "The
    receiver **MUST** include the `io.modelcontextprotocol/related-task` metadata in the request to
    associate it with the task."
    https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
    """
    if task:
        asked = {**(asked or {}), "_meta": {META_RELATED_TASK: {"taskId": task}}}
    body: JsonObject = {
        "jsonrpc": "2.0",
        "id": f"{prefix(exchange.number)}{mark}",
        "method": input_request.method,
    }
    whole = body if asked is None else {**body, "params": asked}
    return json.dumps(whole, ensure_ascii=False, indent=2)


def answer(
    exchange: Exchange, input_request: InputRequest, asked: JsonObject | None, mark: str
) -> str:
    """Return it as the result of the client's request (2026-07-28).

    The retry contains the `requestState`, which identifies the exchange.
    """
    inner: JsonObject = {"method": input_request.method}
    if asked is not None:
        inner["params"] = {"mode": "form", **asked} if input_request is InputRequest.USER else asked
    result = {
        "resultType": "input_required",
        "inputRequests": {input_request.value: inner},
        "requestState": f"{prefix(exchange.number)}{mark}",
    }
    return message(exchange, "result", result)


def prefix(number: int) -> str:
    """Return the common beginning of these ids for an exchange."""
    return f"ask-{number}-"


# -- the requests that were sent -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskedBack:
    """A request to the client while another waited, and its response; None while it is open."""

    input_request: InputRequest
    token: str
    request: Message
    answer: Message | None = None


def asked_at(number: int, lines: Iterable[tuple[Direction, bytes]]) -> tuple[AskedBack, ...]:
    """Find the requests to the client that were sent while the exchange `number` waited.

    `lines` are those of the transcript, oldest first.
    """
    begins = prefix(number)
    found: dict[str, AskedBack] = {}
    for direction, raw in lines:
        if begins.encode() not in raw:
            continue
        heard = jsonrpc.read(raw)
        if not isinstance(heard, Message) or heard.id is None:
            continue
        token = heard.id.value
        if not isinstance(token, str) or not token.startswith(begins):
            continue
        if direction is Direction.OUT and heard.kind is Kind.REQUEST and heard.method in _BY_METHOD:
            found[token] = AskedBack(_BY_METHOD[heard.method], token, heard)
        elif direction is Direction.IN and token in found and heard.kind.is_answer:
            found[token] = AskedBack(found[token].input_request, token, found[token].request, heard)
    return tuple(found.values())


_BY_METHOD: Final = {method: input_request for input_request, method in _METHODS.items()}
