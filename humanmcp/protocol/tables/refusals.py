"""The errors that 2026-07-28 requires for a request in which something is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.versions import META_REQUIRED, features

if TYPE_CHECKING:
    from humanmcp.protocol.json.jsonrpc import JsonObject, Message


def refusal(request: Message, version: str) -> JsonObject | None:
    """Return the error that 2026-07-28 requires for an incomplete request; None for others."""
    missing = lacking_in(request, version)
    if missing is not None:
        return lacking(missing)
    extension = undeclared_extension(request, version)
    return _lacking_extension(extension) if extension else None


def lacking_in(message: Message, version: str) -> str | None:
    """Return the required member that the `_meta` of a stateless version's request lacks.

    "A request missing any required field is malformed; the server MUST reject it with JSON-RPC
    error code -32602 (Invalid params)."
    https://modelcontextprotocol.io/specification/2026-07-28/basic
    """
    if not features(version).stateless or not methods.has_request(message.method, version):
        return None
    return next((key for key in META_REQUIRED if key not in message.meta), None)


def undeclared_extension(message: Message, version: str) -> str:
    """Return the extension that a request needs and its client did not declare, else "".

    "Servers **MUST** return this error [-32021] for non-declaring clients requesting task
    notifications on `subscriptions/listen`" and "for non-declaring clients issuing `tasks/get`,
    `tasks/update`, and `tasks/cancel` requests."
    https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/2026-07-28/tasks.md
    """
    if not features(version).stateless or not methods.has_request(message.method, version):
        return ""
    filtered = message.params.get("notifications")
    watches_tasks = isinstance(filtered, dict) and methods.TASK_IDS in filtered
    needs_tasks = methods.of(message.method) in methods.TASKS.methods or (
        methods.of(message.method).stays_open and watches_tasks
    )
    return methods.TASKS.id if needs_tasks and not methods.declares(message, methods.TASKS) else ""


def lacking(key: str) -> JsonObject:
    """Return the error for a request whose `_meta` lacks a required member."""
    return {"code": -32602, "message": f"Invalid params: _meta lacks {key}"}


def _lacking_extension(extension: str) -> JsonObject:
    """Return the error for a request that needs an extension its client did not declare."""
    return {
        "code": -32021,
        "message": f"The client has not declared {extension}",
        "data": {"requiredCapabilities": {"extensions": {extension: {}}}},
    }
