"""Rules for the answers of a user to the requests of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import RawDiagnostic, delete, quoted, shown
from humanmcp.protocol.tables import schemas
from humanmcp.protocol.validation.json_schema import validator
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.diagnostics.problem import Path
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer


@rule("elicitation/create")
def nothing_filled_in(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that a user who declines or cancels fills in nothing.

    `content`: "only present when action is "accept" and mode was "form""
    https://modelcontextprotocol.io/specification/2025-11-25/schema#elicitresult
    """
    action, at = answer.value.get("action"), answer.at("content")
    if action in ("decline", "cancel") and answer.value.get("content"):
        yield kinds.content_without_accept(at, delete(at), at_name=True, action=str(action))


@rule("elicitation/create")
def filled_form(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the user's input fits the server's form.

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
    """Report a difference of the user's input from the form's schema, at its field if possible."""
    if detail.get("rule") == "required" and not inside:
        names = detail["names"].split(", ")
        return [kinds.missing_form_field(at, key=name) for name in names]
    key = str(inside[0]) if inside else "content"
    fillings = detail | _titled(schema, inside, detail)
    return [
        kinds.form_value_mismatch((*at, *inside), key=shown(key), broken=tuple(fillings.items()))
    ]


def _titled(schema: JsonObject, inside: Path, detail: dict[str, str]) -> dict[str, str]:
    """Return the fillings for titled choices, which MCP writes as alternatives of one value."""
    part: Json = schema
    for step in inside:
        part = part.get("items" if isinstance(step, int) else "properties", {})
        part = part if isinstance(step, int) else part.get(step, {})
    listed = schemas.choices(part) if detail.get("rule") in ("oneOf", "anyOf") else []
    values = ", ".join(quoted(each.value) for each in listed)
    return {"rule": "enum", "limit": shown(values)} if values else {}
