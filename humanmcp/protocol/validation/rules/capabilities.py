"""Rules for what a side must have declared: neither uses what the other has not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.conversation.state import declared_by
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import RawDiagnostic, shown
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.conversation.exchange import NegotiatedState
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer


@rule()
def declared_capability(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the server declared the capability.

    "Both parties MUST: […] Only use capabilities that were successfully negotiated"
    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation
    """
    capabilities, method = answer.negotiated.server_capabilities, answer.exchange.method
    if capabilities is None:
        return
    record = methods.of(method)
    capability = record.capability if record.to_server else ""
    if not capability or capability in capabilities:
        return
    if capability != "completions" or features(answer.exchange.version).completions:
        yield kinds.undeclared_capability(answer.path, capability=capability, method=shown(method))


@rule(*(one.name for one in methods.REQUESTS.values() if one.asks_back))
def declared_by_client(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that this request's client declared what the server asks for.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
    """
    requests = answer.value.get("inputRequests")
    if not isinstance(requests, dict) or not answer.asks_back:
        return
    declared = declared_by(answer.exchange, answer.negotiated)
    for name, request in requests.items():
        method = request.get("method") if isinstance(request, dict) else None
        if not isinstance(method, str):
            continue
        missing = methods.undeclared(method, request.get("params"), declared)
        if missing:
            at = answer.at("inputRequests", name, "method")
            yield kinds.undeclared_input_request(at, capability=missing)


_UNKNOWN_METHOD: Final = -32601
_PARTS: Final = ("resources/subscribe", "resources/unsubscribe", "resources/templates/list")
"""The methods that a server with the capability may lack."""


@rule(errors=True)
def declared_and_there(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that a side knows the methods of what it declared.

    "Both parties MUST: […] Only use capabilities that were successfully negotiated". About a tool,
    prompt or resource, the error may mean this one.
    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation
    """
    exchange, negotiated = answer.exchange, answer.negotiated
    record = methods.of(exchange.method)
    if answer.value.get("code") != _UNKNOWN_METHOD or exchange.method in _PARTS or record.named_by:
        return
    if exchange.direction is Direction.IN:
        is_there = record.capability in (negotiated.server_capabilities or {})
    else:
        declared, params = negotiated.client_capabilities, exchange.request.params
        is_there = not methods.undeclared(exchange.method, params, declared)
    if record.capability and is_there:
        at, method = answer.at("code"), shown(exchange.method)
        yield kinds.declared_and_refused(at, capability=record.capability, method=method)


def declares_more(negotiated: NegotiatedState) -> bool:
    """Return True if one side declares an extension or an experiment, which MCP does not define."""
    sides = (negotiated.server_capabilities or {}, negotiated.client_capabilities)
    return any(one.get("experimental") or one.get("extensions") for one in sides)
