"""What goes on after its request: tasks, and subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics.kinds.mcp import MemberMissing
from humanmcp.protocol.diagnostics.raw import (
    RawDiagnostic,
    json_text,
    quoted,
    replace_with,
    shown,
)
from humanmcp.protocol.spec import versions
from humanmcp.protocol.spec.versions import features
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.protocol.json.jsonrpc import Json
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer

_HOLDS: Final[Mapping[str, tuple[str, Json]]] = {
    "completed": ("result", {"content": []}),
    "failed": ("error", {"code": -32603, "message": "…"}),
    "input_required": ("inputRequests", {"answer": {"method": "elicitation/create"}}),
}
"""What a task must hold by its status, and an example of it."""


@rule("tasks/get")
def outcome_beside_status(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Its result, its error, its questions stand beside the status that tells of them.

    https://modelcontextprotocol.io/extensions/tasks/overview
    """
    status = answer.value.get("status")
    needed = _HOLDS.get(status) if isinstance(status, str) else None
    if not features(answer.exchange.revision).result_types or needed is None:
        return
    name, example = needed
    if name not in answer.value:
        yield MemberMissing(answer.path, key=name, example=json_text(example), where="result")


class OtherSubscription(RawDiagnostic, code="M74"):
    """The client would not know which of its subscriptions it ends."""

    typed: str
    id: str


@rule("subscriptions/listen")
def own_subscription(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """The id is the one of the request that listens, of the same type.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
    """
    meta = answer.value.get("_meta")
    if not isinstance(meta, dict) or versions.META_SUBSCRIPTION not in meta:
        return
    typed, wanted = meta[versions.META_SUBSCRIPTION], answer.exchange.id.value
    if type(typed) is not type(wanted) or typed != wanted:
        at = answer.at("_meta", versions.META_SUBSCRIPTION)
        own = shown(answer.exchange.id.token)
        yield OtherSubscription(at, replace_with(at, wanted), typed=quoted(typed), id=own)
