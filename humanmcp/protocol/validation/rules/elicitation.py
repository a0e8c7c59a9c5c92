"""Questions back to the user: what may be asked of which client, and what may be answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.protocol.diagnostics.raw import RawDiagnostic, delete, quoted, replace_with, shown
from humanmcp.protocol.spec import methods, versions
from humanmcp.protocol.validation.json_schema import validator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.conversation.exchange import Exchange, Known
    from humanmcp.protocol.diagnostics.raw import Path
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject


def lacking(method: str, params: Json, declared: Mapping[str, Json]) -> str:
    """Return the capability that a question needs and the client did not declare, or ""."""
    record = methods.named(method, is_request=True)
    capability = record.capability
    if not record.to_client or not capability:
        return ""
    if capability not in declared:
        return capability
    has = declared[capability]
    details = params if isinstance(params, dict) else {}
    inside = has if isinstance(has, dict) else {}
    if capability == "elicitation":
        mode = details.get("mode", "form")
        # `"elicitation": {}` means forms only
        known = inside or {"form": {}}
        return f"elicitation.{mode}" if mode in ("form", "url") and mode not in known else ""
    if capability == "sampling" and ("tools" in details or "toolChoice" in details):
        return "" if "tools" in inside else "sampling.tools"
    return ""


def declares_more(capabilities: Mapping[str, Json] | None) -> bool:
    """Say whether one side can do more than MCP knows of: an extension, or an experiment."""
    return any((capabilities or {}).get(name) for name in ("experimental", "extensions"))


def asking(exchange: Exchange, value: JsonObject, path: Path) -> list[RawDiagnostic]:
    """MCP 2026-07-28: a server must not ask for what this request's client did not declare."""
    requests = value.get("inputRequests")
    if value.get("resultType") != "input_required" or not isinstance(requests, dict):
        return []
    stated = exchange.request.meta.get(versions.META_CAPABILITIES)
    declared = stated if isinstance(stated, dict) else {}
    found: list[RawDiagnostic] = []
    for name, request in requests.items():
        if not isinstance(request, dict):
            continue
        method = request.get("method")
        missing = (
            lacking(method, request.get("params"), declared) if isinstance(method, str) else ""
        )
        if missing:
            at = (*path, "inputRequests", name)
            found.append(RawDiagnostic("M57", (*at, "method"), (("capability", missing),)))
    return found


def listening(
    exchange: Exchange, value: JsonObject, _known: Known, path: Path
) -> list[RawDiagnostic]:
    """MCP, subscriptions: the id is the one of the request that listens, of the same type."""
    meta = value.get("_meta")
    if not isinstance(meta, dict) or versions.META_SUBSCRIPTION not in meta:
        return []
    typed, wanted = meta[versions.META_SUBSCRIPTION], exchange.id.value
    if type(typed) is type(wanted) and typed == wanted:
        return []
    at = (*path, "_meta", versions.META_SUBSCRIPTION)
    detail = (("typed", quoted(typed)), ("id", shown(exchange.id.token)))
    return [RawDiagnostic("M74", at, detail, replace_with(at, wanted))]


def filled_form(
    exchange: Exchange, value: JsonObject, _known: Known, path: Path
) -> list[RawDiagnostic]:
    """Judge what a user filled into the form that a server asked for."""
    content, action = value.get("content"), value.get("action")
    at = (*path, "content")
    if action in ("decline", "cancel") and content:
        return [RawDiagnostic("M77", at, (("action", str(action)),), delete(at), at_name=True)]
    schema = exchange.request.params.get("requestedSchema")
    if action != "accept" or not isinstance(schema, dict):
        return []
    filled = content if isinstance(content, dict) else {}
    differences, missed = validator.compare(filled, schema)
    found = [
        each
        for inside, detail in differences
        for each in _unfit(schema, inside, dict(detail), at if filled else path)
    ]
    return found + validator.unchecked_at(at if filled else path, missed)


def _unfit(
    schema: JsonObject, inside: Path, detail: dict[str, str], at: Path
) -> list[RawDiagnostic]:
    """Report one way in which the answers of a form break its schema: by the field, if any."""
    if detail.get("rule") == "required" and not inside:
        names = detail["names"].split(", ")
        return [RawDiagnostic("M78", at, (("key", name),)) for name in names]
    key = str(inside[0]) if inside else "content"
    told = detail | {"key": shown(key)} | _titled(schema, inside, detail)
    return [RawDiagnostic("M79", (*at, *inside), tuple(told.items()))]


def _titled(schema: JsonObject, inside: Path, detail: dict[str, str]) -> dict[str, str]:
    """Return what fills the sentence of titled choices: MCP writes them as forms of one value."""
    part: Json = schema
    for step in inside:
        part = part.get("items" if isinstance(step, int) else "properties", {})
        part = part if isinstance(step, int) else part.get(step, {})
    listed = validator.choices(part) if detail.get("rule") in ("oneOf", "anyOf") else []
    values = ", ".join(quoted(each) for each in listed)
    return {"rule": "enum", "limit": shown(values)} if values else {}
