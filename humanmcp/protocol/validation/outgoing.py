"""Check an outgoing message of a person: a notification, or a request to the client.

The version, the direction and the capabilities of both sides decide what a server may send. Each
check names its sentence of the specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import Verdict, grouped
from humanmcp.protocol.diagnostics.problem import (
    RawDiagnostic,
    delete,
    insert,
    quoted,
    replace_with,
    shown,
)
from humanmcp.protocol.json.jsonrpc import (
    Kind,
    RequestId,
    compact,
    json_type,
    kind_of_message,
    wire_line,
)
from humanmcp.protocol.json.spelling import alike
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.repair.reading import read_json
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.methods import CANCELLED, LOG, PROGRESS
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation.crash_guard import judging
from humanmcp.protocol.validation.envelope import (
    judge_error,
    misspelt,
    strange_members,
    version_member,
)
from humanmcp.protocol.validation.results import one_each
from humanmcp.protocol.validation.rules.capabilities import declares_more
from humanmcp.protocol.validation.rules.registry import RuleSet
from humanmcp.protocol.validation.rules.sampling import tool_results_of_turns
from humanmcp.protocol.validation.rules.tools import unwritten
from humanmcp.protocol.validation.secret_shapes import warn_of_secrets
from humanmcp.protocol.validation.shape_checker import judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.conversation.exchange import NegotiatedState
    from humanmcp.protocol.conversation.state import Progress
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject, Message


@judging(text_at=0)
def check_outgoing(  # noqa: PLR0913 - what it depends on
    text: str,
    version: str,
    negotiated: NegotiatedState,
    *,
    unreadable: bool = False,
    invalid: frozenset[tuple[str, str | int | float]] = frozenset(),
    initialized: bool = True,
    progress: Progress | None = None,
) -> Verdict:
    """Check an outgoing message of a person.

    `unreadable`: an unreadable line was received, so an error without an id may be sent. `invalid`
    are the ids of received lines that were JSON, but no messages: an error may answer each.
    `initialized`: the client sent `notifications/initialized`. `progress` is the progress of the
    client's open requests, None if it is unknown.
    """
    reading = read_json(text)
    if not reading.readable:
        return Verdict(text, None, wire_line(text), reading.diagnostics)
    value = reading.value
    if isinstance(value, dict) and "method" not in value:
        found = _no_method(value, version, unreadable=unreadable, invalid=invalid)
    else:
        found = _judge(value, version, negotiated, initialized=initialized)
        found += unwritten(value, (), reading.json)
        if progress is not None and isinstance(value, dict) and value["method"] == PROGRESS:
            found += progress.judge(value.get("params"))
    method = value.get("method") if isinstance(value, dict) else ""
    page = methods.page(method if isinstance(method, str) else "", version)
    placed = reading.placed(one_each(found), page)
    diagnostics = (*reading.diagnostics, *placed, *warn_of_secrets(text))
    diagnostics = grouped(sorted(diagnostics, key=lambda each: each.start))
    line = compact(reading.json)
    blocked = any(each.blocks for each in diagnostics)
    forced = wire_line(text) if reading.edits and blocked else line
    return Verdict(
        text,
        None if blocked else line,
        forced,
        diagnostics,
        kind_of_message(value) if isinstance(value, dict) else None,
    )


def _judge(
    value: Json, version: str, negotiated: NegotiatedState, *, initialized: bool
) -> list[RawDiagnostic]:
    if isinstance(value, list):
        return [kinds.batch_not_allowed()]
    if not isinstance(value, dict):
        return [kinds.message_not_object(got=json_type(value))]
    method = value["method"]
    if not isinstance(method, str):
        return [kinds.method_not_string(("method",), got=json_type(method))]
    found = _envelope(value)
    is_request = "id" in value
    rules = own_request if is_request else own_notice
    found += rules.first(method, OwnMessage(value, method, version, negotiated))
    if not (found or initialized or methods.of(method).early or features(version).stateless):
        # Servers "SHOULD NOT send requests other than pings and logging".
        # https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization
        found = [kinds.sent_too_early(("method",))]
    if method == CANCELLED and "params" not in value:
        example = '{"requestId": 1}'
        return [*found, kinds.missing_member(key="params", example=example, where=method)]
    record = methods.named(method, is_request=is_request)
    params = value.get("params", {})
    if not isinstance(params, dict):
        fix = delete(("params",)) if params in (None, []) else None
        return [*found, kinds.params_not_object(("params",), fix)]
    if record.name and not any(each.kind in _NO_SUCH for each in found):
        found += judge(params, record.params, version, ("params",))
    return found


def gates(message: Message, version: str, negotiated: NegotiatedState) -> list[RawDiagnostic]:
    """Return what is wrong with this message of a server beside its shape.

    The capabilities of both sides count only if they were observed: else they are unknown.
    """
    rules = own_request if message.kind is Kind.REQUEST else own_notice
    found = rules.judge(
        message.method, OwnMessage(message.body, message.method, version, negotiated)
    )
    known = _OF_TURNS if negotiated.server_capabilities is None else (*_OF_TURNS, *_GATES)
    return [each for each in found if each.kind in known]


_GATES: Final = (
    kinds.undeclared_client_capability,
    kinds.undeclared_server_capability,
    kinds.missing_subscription_id,
)
_OF_TURNS: Final = (kinds.unbalanced_tool_results, kinds.mixed_tool_results)
_NO_SUCH: Final = (kinds.not_a_server_method, kinds.notification_with_id, kinds.no_server_requests)
"""The problems of an unknown name in this direction; its parameters are then not checked."""


def _no_method(
    value: JsonObject,
    version: str,
    *,
    unreadable: bool,
    invalid: frozenset[tuple[str, str | int | float]],
) -> list[RawDiagnostic]:
    """Report a message without a method: a response to no request, or nothing at all."""
    if "error" in value and "result" not in value:
        if _may_follow(value, unreadable=unreadable, invalid=invalid):
            return [*_envelope(value), *judge_error(value["error"], version, ("error",))]
        if value.get("id") is None:
            return [kinds.error_without_id(("error",))]
    if "result" in value or "error" in value:
        return [kinds.nothing_waits_for_id(("id",), typed=quoted(value.get("id")))]
    typed = alike("method", list(value))
    if typed is not None:
        return [misspelt((), typed, "method")]
    return [kinds.missing_method()]


def _may_follow(
    value: JsonObject, *, unreadable: bool, invalid: frozenset[tuple[str, str | int | float]]
) -> bool:
    """Return True if an error reports a malformed line, without an id or with its id."""
    named, error = value.get("id"), value["error"]
    if named is None:
        code = error.get("code") if isinstance(error, dict) else None
        return unreadable and code in (-32700, -32600)
    if isinstance(named, bool) or not isinstance(named, (str, int, float)):
        return False
    return RequestId("", named).key in invalid


def _envelope(value: JsonObject) -> list[RawDiagnostic]:
    report = {name: one for name, one in value.items() if "method" in value or name != "error"}
    return [*version_member(value), *strange_members(report)]


class OwnMessage(NamedTuple):
    """A person's outgoing request or notification, and its session."""

    value: JsonObject
    method: str
    version: str
    negotiated: NegotiatedState


own_request: Final[RuleSet[OwnMessage]] = RuleSet()
"""The rules of MCP for a request to the client: the first problem is reported."""
own_notice: Final[RuleSet[OwnMessage]] = RuleSet()
"""The same for a notification."""


@own_request()
def own_id(own: OwnMessage) -> Iterator[RawDiagnostic]:
    """Check that a request has an id.

    "Requests MUST include a string or integer ID."
    https://modelcontextprotocol.io/specification/2025-11-25/basic#requests
    """
    typed = own.value["id"]
    if isinstance(typed, bool) or not isinstance(typed, (str, int)):
        yield kinds.invalid_request_id(("id",), replace_with(("id",), "h-1"), typed=quoted(typed))


@own_request()
def notification_without_id(own: OwnMessage) -> Iterator[RawDiagnostic]:
    """Check that a notification has no id.

    "Notifications MUST NOT include an ID."
    https://modelcontextprotocol.io/specification/2025-11-25/basic#notifications
    """
    if own.method.startswith("notifications/"):
        yield kinds.notification_with_id(("id",), delete(("id",)), at_name=True)


@own_request()
def requests_that_there_are(own: OwnMessage) -> Iterator[RawDiagnostic]:
    """Check that the version has this request; 2026-07-28 has no requests to the client.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns
    """
    if not features(own.version).server_requests:
        yield kinds.no_server_requests(("method",), method=shown(own.method))
    elif own.version not in methods.named(own.method, is_request=True).to_client:
        yield _not_ours(own.method, own.version)


@own_request()
def declared_by_the_client(own: OwnMessage) -> Iterator[RawDiagnostic]:
    """Check that the client declared the capability.

    "Both parties MUST: […] Only use capabilities that were successfully negotiated"
    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation
    """
    declared = own.negotiated.client_capabilities
    missing = methods.undeclared(own.method, own.value.get("params"), declared)
    if missing:
        name = shown(own.method)
        yield kinds.undeclared_client_capability(("method",), capability=missing, method=name)


@own_request("sampling/createMessage")
def results_of_tools(own: OwnMessage) -> Iterator[RawDiagnostic]:
    """Check that each tool call of the conversation has its result."""
    params = own.value.get("params")
    if isinstance(params, dict):
        yield from tool_results_of_turns(params.get("messages"), ("params", "messages"))


def _beyond(method: str, version: str, negotiated: NegotiatedState) -> list[RawDiagnostic]:
    """Check a notification that is not in MCP: an extension or experiment may define it."""
    diagnostic = _not_ours(method, version)
    is_known = diagnostic.fix is not None or method in methods.NOTIFICATIONS
    if is_known or not declares_more(negotiated):
        return [diagnostic]
    if _declared(method, negotiated):
        return []
    return [kinds.maybe_extension_method(("method",), method=shown(method), version=version)]


def _declared(method: str, negotiated: NegotiatedState) -> bool:
    """Return True if an experimental capability of this name was declared (`claude/channel`)."""
    capabilities = (negotiated.server_capabilities or {}).get("experimental")
    name = method.removeprefix("notifications/")
    return isinstance(capabilities, dict) and any(
        name == one or name.startswith(f"{one}/") for one in capabilities
    )


def _not_ours(method: str, version: str) -> RawDiagnostic:
    ours = [
        name
        for name in (*methods.REQUESTS, *methods.NOTIFICATIONS)
        if version in methods.of(name).to_client
    ]
    meant = methods.meant(method, ours)
    fix = replace_with(("method",), meant) if meant else None
    return kinds.not_a_server_method(("method",), fix, method=shown(method), version=version)


@own_notice()
def notices_that_there_are(own: OwnMessage) -> Iterator[RawDiagnostic]:
    """Check that the version has this notification to the client."""
    if own.version in methods.named(own.method, is_request=False).to_client:
        return
    if own.version in methods.of(own.method).to_client:
        yield kinds.missing_id((), insert(("id",), "h-1"), id='"h-1"')
    else:
        yield from _beyond(own.method, own.version, own.negotiated)


@own_notice()
def subscription_named(own: OwnMessage) -> Iterator[RawDiagnostic]:
    """Check that a notification of a subscription (2026-07-28) names it.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
    """
    streamed = features(own.version).subscriptions and own.method != LOG
    if not streamed or not methods.named(own.method, is_request=False).capability:
        return
    if follow(own.value, "params", "_meta", versions.META_SUBSCRIPTION) is None:
        yield kinds.missing_subscription_id(("method",))


@own_notice()
def declared_by_the_server(own: OwnMessage) -> Iterator[RawDiagnostic]:
    """Check that the server declared it: "Only use capabilities that were successfully negotiated".

    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation
    """
    method, declared = own.method, own.negotiated.server_capabilities
    capability = methods.named(method, is_request=False).capability
    by_request = features(own.version).subscriptions and method == LOG
    if capability and declared is not None and capability not in declared and not by_request:
        yield kinds.undeclared_server_capability(("method",), capability=capability, method=method)
