"""Questions back to the user: what may be asked of which client, and what may be answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.protocol.conversation.negotiation import declared_by
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.diagnostics.raw import RawDiagnostic, SchemaDiagnostic, delete, quoted, shown
from humanmcp.protocol.spec import methods
from humanmcp.protocol.validation.json_schema import validator
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.protocol.diagnostics.raw import Path
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer


def declares_more(capabilities: Mapping[str, Json] | None) -> bool:
    """Return True if one side can do more than MCP knows of: an extension, or an experiment."""
    return any((capabilities or {}).get(name) for name in ("experimental", "extensions"))


class NotToBeAsked(RawDiagnostic, code="M57"):
    """A client refuses a question that it did not declare."""

    capability: str


class ContentWithoutAccept(RawDiagnostic, code="M77", severity=Severity.WARNING):
    """Servers read it only where the user has accepted."""

    action: str


class FieldMissing(RawDiagnostic, code="M78"):
    """The server refuses the form."""

    key: str


class FieldUnfit(SchemaDiagnostic, code="M79"):
    """The server refuses the form."""

    key: str


@rule(*(one.name for one in methods.REQUESTS.values() if one.asks_back))
def declared_by_client(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """A server must not ask for what this request's client did not declare.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
    """
    requests = answer.value.get("inputRequests")
    if not isinstance(requests, dict) or not answer.asks_back:
        return
    declared = declared_by(answer.exchange, answer.established)
    for name, request in requests.items():
        method = request.get("method") if isinstance(request, dict) else None
        if not isinstance(method, str):
            continue
        missing = methods.undeclared(method, request.get("params"), declared)
        if missing:
            at = answer.at("inputRequests", name, "method")
            yield NotToBeAsked(at, capability=missing)


@rule("elicitation/create")
def nothing_filled_in(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """A user who declines or cancels fills nothing in.

    `content`: "only present when action is "accept" and mode was "form""
    https://modelcontextprotocol.io/specification/2025-11-25/schema#elicitresult
    """
    action, at = answer.value.get("action"), answer.at("content")
    if action in ("decline", "cancel") and answer.value.get("content"):
        yield ContentWithoutAccept(at, delete(at), at_name=True, action=str(action))


@rule("elicitation/create")
def filled_form(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """What a user filled in fits the form that the server asked for.

    https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema
    """
    schema = answer.exchange.request.params.get("requestedSchema")
    if answer.value.get("action") != "accept" or not isinstance(schema, dict):
        return
    content = answer.value.get("content")
    filled = content if isinstance(content, dict) else {}
    at = answer.at("content") if filled else answer.path
    differences, missed = validator.compare(filled, schema)
    for inside, detail in differences:
        yield from _unfit(schema, inside, dict(detail), at)
    yield from validator.unchecked_at(at, missed)


def _unfit(
    schema: JsonObject, inside: Path, detail: dict[str, str], at: Path
) -> list[RawDiagnostic]:
    """Report one way in which the answers of a form break its schema: by the field, if any."""
    if detail.get("rule") == "required" and not inside:
        names = detail["names"].split(", ")
        return [FieldMissing(at, key=name) for name in names]
    key = str(inside[0]) if inside else "content"
    fillings = detail | _titled(schema, inside, detail)
    return [FieldUnfit((*at, *inside), key=shown(key), broken=tuple(fillings.items()))]


def _titled(schema: JsonObject, inside: Path, detail: dict[str, str]) -> dict[str, str]:
    """Return what fills the sentence of titled choices: MCP writes them as forms of one value."""
    part: Json = schema
    for step in inside:
        part = part.get("items" if isinstance(step, int) else "properties", {})
        part = part if isinstance(step, int) else part.get(step, {})
    listed = validator.choices(part) if detail.get("rule") in ("oneOf", "anyOf") else []
    values = ", ".join(quoted(each.value) for each in listed)
    return {"rule": "enum", "limit": shown(values)} if values else {}
