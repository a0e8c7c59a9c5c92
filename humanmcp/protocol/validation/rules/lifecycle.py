"""The opening (versions, capabilities, what was agreed on), and what goes on after its request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics.kinds.mcp import MemberMissing
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.diagnostics.raw import (
    RawDiagnostic,
    delete,
    json_text,
    quoted,
    rename_to,
    replace_with,
    shown,
)
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.spec import methods, versions
from humanmcp.protocol.spec.objects import SHAPES
from humanmcp.protocol.spec.versions import features
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.protocol.json.jsonrpc import Json
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer


class NotDeclared(RawDiagnostic, code="M05", severity=Severity.WARNING):
    """Clients do not ask for what was not declared."""

    capability: str
    method: str


class NoSuchVersion(RawDiagnostic, code="M44"):
    """A client ends the session with a version that it does not know."""

    value: str
    allowed: str


class OtherVersion(RawDiagnostic, code="M04", severity=Severity.WARNING):
    """A client that has only the one it asked for disconnects."""

    asked: str
    answered: str


class OldNameOfCompletions(RawDiagnostic, code="M48", severity=Severity.WARNING):
    """A client looks for the name of today."""


class CapabilitiesInServerInfo(RawDiagnostic, code="M47", severity=Severity.WARNING):
    """Clients read the other place."""

    only: str


class CapabilityOutside(RawDiagnostic, code="M63", severity=Severity.WARNING):
    """Clients look for it inside `capabilities`."""

    key: str


class CalledClient(RawDiagnostic, code="M49", severity=Severity.HINT):
    """The name is shown to users as that of the server."""

    value: str


class NoVersions(RawDiagnostic, code="M45", severity=Severity.WARNING):
    """A client has nothing to choose from."""


class OtherVersions(RawDiagnostic, code="M46", severity=Severity.WARNING):
    """A client falls back to a handshake."""

    value: str
    allowed: str


@rule()
def declared_capability(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """What a server answers, it has declared.

    "Both parties MUST: […] Only use capabilities that were successfully negotiated"
    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation
    """
    offered, method = answer.established.offered, answer.exchange.method
    if offered is None:
        return
    record = methods.of(method)
    capability = record.capability if record.to_server else ""
    if not capability or capability in offered:
        return
    if capability != "completions" or features(answer.exchange.revision).completions:
        yield NotDeclared(answer.path, capability=capability, method=shown(method))


@rule("initialize")
def agreed_version(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """The version is the one that was asked for, or another that there is.

    "If the server supports the requested protocol version, it MUST respond with the same version."
    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation
    """
    typed = answer.value.get("protocolVersion")
    wanted = answer.exchange.request.params.get("protocolVersion")
    at = answer.at("protocolVersion")
    if not isinstance(typed, str):
        return
    speaks = wanted in versions.HANDSHAKE
    if typed not in versions.HANDSHAKE:
        meant = wanted if speaks else versions.LATEST_HANDSHAKE
        allowed = ", ".join(versions.HANDSHAKE)
        yield NoSuchVersion(at, replace_with(at, meant), value=shown(typed), allowed=allowed)
    elif speaks and typed != wanted:
        yield OtherVersion(at, replace_with(at, wanted), asked=str(wanted), answered=typed)


@rule("initialize", "server/discover")
def name_of_completions(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """The capability is `completions`, the method `completion/complete`.

    https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion#capabilities
    """
    declared, at = answer.value.get("capabilities"), answer.at("capabilities", "completion")
    if not isinstance(declared, dict) or "completion" not in declared:
        return
    if features(answer.exchange.revision).completions and "completions" not in declared:
        yield OldNameOfCompletions(at, rename_to(at, "completions"), at_name=True)


@rule("initialize")
def capabilities_in_their_place(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Capabilities stand in `capabilities`: not beside it, and not in `serverInfo`.

    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization
    """
    server, declared = answer.value.get("serverInfo"), answer.value.get("capabilities")
    if isinstance(server, dict) and "capabilities" in server:
        there, at = server["capabilities"], answer.at("serverInfo", "capabilities")
        only = [
            name
            for name in (there if isinstance(there, dict) else ())
            if not isinstance(declared, dict) or name not in declared
        ]
        names = shown(", ".join(only)) or "?"
        yield CapabilitiesInServerInfo(at, delete(at), at_name=True, only=names)
    for name in SHAPES["ServerCapabilities"].members:
        if name in answer.value:
            at = answer.at(name)
            yield CapabilityOutside(at, delete(at), at_name=True, key=name)


@rule("initialize")
def name_of_the_server(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Who answers is the server, and its name seldom says "client"."""
    name = follow(answer.value, "serverInfo", "name")
    if isinstance(name, str) and "client" in name.lower():
        yield CalledClient(answer.at("serverInfo", "name"), value=shown(name))


@rule("server/discover")
def versions_that_there_are(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """A server names the versions that a request can state, and no others.

    https://modelcontextprotocol.io/specification/2026-07-28/server/discover
    """
    named, at = answer.value.get("supportedVersions"), answer.at("supportedVersions")
    if not isinstance(named, list):
        return
    fix = replace_with(at, list(versions.STATELESS))
    unknown = [each for each in named if isinstance(each, str) and each not in versions.ALL]
    if not named:
        yield NoVersions(at, fix)
    elif unknown or not any(each in versions.STATELESS for each in named):
        wrong = shown(json_text(unknown or named))
        yield OtherVersions(at, fix, value=wrong, allowed=", ".join(versions.ALL))


# -- tasks and subscriptions --------------------------------------------------------------------

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
