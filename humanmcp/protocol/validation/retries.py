"""Check the retry of a request with the user's input, against the question (2026-07-28).

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import quoted, shown
from humanmcp.protocol.json.jsonrpc import made
from humanmcp.protocol.json.tree import object_at
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.validation.results import judge_result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.conversation.exchange import InputRound, NegotiatedState
    from humanmcp.protocol.diagnostics.problem import RawDiagnostic
    from humanmcp.protocol.json.jsonrpc import Json, Message


def judge_retry(
    retry: Message, retried: InputRound, negotiated: NegotiatedState
) -> Iterator[RawDiagnostic]:
    """Return the problems of a retry that only its question can show."""
    # "The JSON-RPC `id` **MUST** be different between the initial request and the retry"
    own, other = retry.id, retried.request.id
    if own is not None and other is not None and own.key == other.key:
        yield kinds.retry_with_same_id(("id",))
    # "the client **MUST** echo back the exact value of that field when retrying"
    state = retried.result.get("requestState")
    if retry.params.get("requestState") != state:
        at = ("params", "requestState") if "requestState" in retry.params else ("params",)
        yield kinds.wrong_request_state(at, wanted=quoted(state) if state else "-")
    # "Keys correspond to the keys in the `InputRequests` map"
    asked = object_at(retried.result, "inputRequests")
    given, at = retry.params.get("inputResponses", {}), ("params", "inputResponses")
    if not isinstance(given, dict):
        return
    for key in given.keys() - asked.keys():
        names = shown(", ".join(asked)) or "-"
        yield kinds.unknown_input_response((*at, key), at_name=True, key=quoted(key), asked=names)
    for key in asked.keys() - given.keys():
        place = at if "inputResponses" in retry.params else ("params",)
        yield kinds.missing_input_response(place, key=quoted(key))
    for key in asked.keys() & given.keys():
        yield from _judge_input(key, asked[key], given[key], negotiated)


def _judge_input(
    key: str, asked: Json, given: Json, negotiated: NegotiatedState
) -> Iterator[RawDiagnostic]:
    """Judge one input as the response to the server's request that it was until 2025-11-25."""
    method = asked.get("method") if isinstance(asked, dict) else None
    if not isinstance(method, str) or not methods.of(method).to_client:
        return
    request = made({"jsonrpc": "2.0", "id": key, "method": method, "params": asked.get("params")})
    exchange = Exchange(0, request, versions.LATEST_HANDSHAKE)
    for each in judge_result(exchange, given, negotiated):
        yield each._replace(path=("params", "inputResponses", key, *each.path[1:]), fix=None)
