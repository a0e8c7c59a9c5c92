"""The check of the peer's messages: hints and warnings, which block nothing.

It works for both directions: a client's message to us, and a real server's message at a tap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.conversation.exchange import NOTHING_ESTABLISHED
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.locate import Placer, Source
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.diagnostics.problem import RawDiagnostic, quoted, shown
from humanmcp.protocol.json.jsonrpc import Kind, Message
from humanmcp.protocol.json.tree import array_at, follow
from humanmcp.protocol.json.undecoded import is_large
from humanmcp.protocol.repair.reading import json_doubts
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.versions import R2025_11, features
from humanmcp.protocol.validation import rules
from humanmcp.protocol.validation.crash_guard import remarking
from humanmcp.protocol.validation.envelope import judge_envelope, strange_members, version_member
from humanmcp.protocol.validation.json_schema import validator
from humanmcp.protocol.validation.results import judge_result, one_each
from humanmcp.protocol.validation.retries import judge_retry
from humanmcp.protocol.validation.rules.capabilities import declares_more
from humanmcp.protocol.validation.rules.registry import RuleSet
from humanmcp.protocol.validation.shape_checker import judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.conversation.exchange import Exchange, InputRound, NegotiatedState
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject


class HeardMessage(NamedTuple):
    """A received request or notification, the version of its session, and the negotiated state."""

    message: Message
    version: str
    negotiated: NegotiatedState

    @property
    def is_request(self) -> bool:
        """True if it needs a response."""
        return self.message.kind is Kind.REQUEST

    @property
    def params(self) -> JsonObject:
        return self.message.params


rule: Final[RuleSet[HeardMessage]] = RuleSet()
"""The rules of MCP for received messages, beside the envelope and the shape of parameters."""


@remarking
def remarks(  # noqa: PLR0913 - what it depends on
    message: Message,
    version: str,
    negotiated: NegotiatedState = NOTHING_ESTABLISHED,
    also: tuple[RawDiagnostic, ...] = (),
    *,
    retried: InputRound | None = None,
    sender: Direction = Direction.IN,
    strict: bool = False,
) -> tuple[Diagnostic, ...]:
    """Return the problems of a request or notification of the peer.

    `also` are problems that depend on earlier messages, such as whether a server (`sender` is OUT)
    may send it. `retried` is the question that a request answers (2026-07-28). With `strict`, an
    error stays an error, for people who can still change the message. Large messages are not
    checked, because other sessions would wait.
    """
    if is_large(message.raw) and not strict:
        return ()
    found = [*(version_member(message.body) or strange_members(message.body)), *also]
    if sender is Direction.IN:
        found += rule.judge(message.method, HeardMessage(message, version, negotiated))
    if retried is not None:
        found += judge_retry(message, retried, negotiated)
    said = {each.path for each in found}
    found += [each for each in _params(message, version) if each.path not in said]
    return _placed(message, found, message.method, version, strict=strict)


def same_id(message: Message, version: str) -> Diagnostic:
    """Return the problem of a request whose id another open request has."""
    found = _placed(message, [kinds.id_in_use(("id",))], message.method, version)
    return next(one for one in found if one.code == kinds.id_in_use.code)


@remarking
def review(
    exchange: Exchange,
    response: Message,
    negotiated: NegotiatedState = NOTHING_ESTABLISHED,
    *,
    strict: bool = False,
) -> tuple[Diagnostic, ...]:
    """Return the problems of the peer's response to a request; () for a large one."""
    if is_large(response.raw) and not strict:
        return ()
    typed = response.id.token if response.id is not None else ""
    found = judge_envelope(response.body, exchange.id, typed, exchange.version)
    if response.kind is Kind.RESULT:
        found += judge_result(exchange, response.body.get("result"), negotiated)
    else:
        found += rules.judge_error(exchange, response.body.get("error"), negotiated)
    return _placed(response, found, exchange.method, exchange.version, strict=strict)


def _placed(
    message: Message, found: list[RawDiagnostic], method: str, version: str, *, strict: bool = False
) -> tuple[Diagnostic, ...]:
    """Return the problems of the peer's text, which block nothing.

    With `strict` they have their fixes, for people who can still change the message.
    """
    most = Severity.ERROR if strict else Severity.WARNING
    diagnostics = [each._replace(severity=most, fix=None) for each in json_doubts(message.raw)]
    if found:
        page = methods.page(method, version)
        placer = Placer(Source(message.raw, message.raw, (), None, page))
        diagnostics += placer.diagnostics(
            each._replace(severity=_level(each, strict=strict), fix=each.fix if strict else None)
            for each in one_each(found)
        )
    return tuple(sorted(diagnostics, key=lambda each: each.start))


def _level(diagnostic: RawDiagnostic, *, strict: bool) -> Severity:
    """Return the severity of a problem; for the peer's messages at most a warning.

    A server that does not have the requested version must choose another one. In a person's own
    draft, another version is probably a mistake.
    """
    if diagnostic.kind is kinds.protocol_version_differs:
        # "Otherwise, the server MUST respond with another protocol version it supports."
        return Severity.HINT
    is_error = diagnostic.severity is Severity.ERROR
    return Severity.WARNING if is_error and not strict else diagnostic.severity


@rule()
def method_of_the_version(heard: HeardMessage) -> Iterator[RawDiagnostic]:
    """Check that the method exists in the version; suggest a similar one.

    "Both parties MUST: Respect the negotiated protocol version"
    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation
    """
    message, version, negotiated = heard
    record = methods.named(message.method, is_request=message.kind is Kind.REQUEST)
    if record.is_in(version) or versions.unserved_in(message) is not None:
        return
    at, name = ("method",), shown(message.method)
    known = (*methods.REQUESTS, *methods.NOTIFICATIONS)
    meant = methods.meant(message.method, known, message.params)
    if message.kind is Kind.REQUEST and message.method in methods.NOTIFICATIONS:
        yield kinds.notification_as_request(("id",), method=name)
    elif message.kind is Kind.NOTIFICATION and message.method in methods.REQUESTS:
        yield kinds.request_without_id(at, method=name)
    elif record.name:
        there = ", ".join(record.versions)
        yield kinds.method_of_other_version(at, method=name, version=version, versions=there)
    elif meant is not None:
        yield kinds.misspelt_method(at, method=name, version=version, meant=meant)
    else:
        kind = kinds.maybe_extension_method if declares_more(negotiated) else kinds.unknown_method
        yield kind(at, method=name, version=version)


@rule()
def version_that_there_is(heard: HeardMessage) -> Iterator[RawDiagnostic]:
    """Check that a 2026-07-28 request states an existing version.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
    """
    unserved = versions.unserved_in(heard.message)
    if unserved is not None:
        at = ("params", "_meta", versions.META_VERSION)
        yield kinds.unknown_client_version(at, typed=quoted(unserved))


@rule()
def initialized_first(heard: HeardMessage) -> Iterator[RawDiagnostic]:
    """Check that the handshake comes first.

    "The client SHOULD NOT send requests other than pings before the server has responded to the
    `initialize` request."
    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization
    """
    message, version, negotiated = heard
    ready = (
        features(version).stateless or negotiated.initialized or methods.of(message.method).early
    )
    if message.kind is Kind.REQUEST and not ready:
        yield kinds.request_before_initialized(("method",), method=shown(message.method))


@rule("tools/call")
def arguments_by_their_name(heard: HeardMessage) -> Iterator[RawDiagnostic]:
    """Check that the arguments of a tool are in `arguments`.

    https://modelcontextprotocol.io/specification/2025-11-25/server/tools#calling-tools
    """
    if heard.is_request and "args" in heard.params and "arguments" not in heard.params:
        yield kinds.args_for_arguments(("params", "args"), at_name=True)


@rule("tools/call")
def call_of_a_listed_tool(heard: HeardMessage) -> Iterator[RawDiagnostic]:
    """Check that a call names a listed tool, and fits its schema.

    "Servers MUST: Validate all tool inputs"
    https://modelcontextprotocol.io/specification/2025-11-25/server/tools#security-considerations
    """
    params, tools = heard.params, heard.negotiated.tools
    misnamed = "args" in params and "arguments" not in params
    if not heard.is_request or tools is None or misnamed:
        return
    name = params.get("name")
    tool = tools.get(name) if isinstance(name, str) else None
    if tool is None and heard.negotiated.partly_listed.get("tools/list"):
        return
    if tool is None:
        names = shown(", ".join(tools)) or "?"
        yield kinds.unknown_tool(("params", "name"), tool=quoted(name), tools=names)
        return
    schema = follow(tool, "inputSchema")
    at = ("params", "arguments") if "arguments" in params else ("params",)
    if not validator.is_here():  # each call would say the same; an answer says it where it matters
        return
    yield from validator.first_found(
        kinds.arguments_mismatch, params.get("arguments", {}), schema, at
    )


@rule("tools/call")
def call_as_a_task(heard: HeardMessage) -> Iterator[RawDiagnostic]:
    """Check that a tool is called as a task if it must be, and only if it can be.

    "If `execution.taskSupport` is `"required"`, clients **MUST** invoke the tool as a task." and
    "If `execution.taskSupport` is not present or `"forbidden"`, clients **MUST NOT** attempt to
    invoke the tool as a task."
    https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#tool-level-negotiation
    """
    tools, name = heard.negotiated.tools, heard.params.get("name")
    tool = tools.get(name) if tools and isinstance(name, str) else None
    if tool is None or not heard.is_request or heard.version != R2025_11:
        return
    support, is_task = follow(tool, "execution", "taskSupport"), "task" in heard.params
    if support == "required" and not is_task:
        yield kinds.task_required(("params",), tool=quoted(name))
    elif is_task and support in (None, "forbidden"):
        yield kinds.task_not_supported(("params", "task"), at_name=True, tool=quoted(name))


@rule("prompts/get")
def arguments_of_a_listed_prompt(heard: HeardMessage) -> Iterator[RawDiagnostic]:
    """Check that a listed prompt is named, with all of its required arguments.

    "Invalid prompt name: `-32602`", "Missing required arguments: `-32602`"
    https://modelcontextprotocol.io/specification/2025-11-25/server/prompts#error-handling
    """
    name, prompts = heard.params.get("name"), heard.negotiated.prompts
    if not heard.is_request or prompts is None or not isinstance(name, str):
        return
    if name not in prompts:
        if not heard.negotiated.partly_listed.get("prompts/list"):
            names = shown(", ".join(prompts)) or "?"
            yield kinds.unknown_prompt(("params", "name"), prompt=quoted(name), prompts=names)
        return
    given = heard.params.get("arguments", {})
    for argument in array_at(prompts[name], "arguments"):
        key, needed = follow(argument, "name"), follow(argument, "required") is True
        if needed and isinstance(key, str) and isinstance(given, dict) and key not in given:
            at = ("params", "arguments") if "arguments" in heard.params else ("params",)
            yield kinds.missing_prompt_argument(at, prompt=quoted(name), key=quoted(key))


@rule("resources/directory/read")
def directory_read_that_was_declared(heard: HeardMessage) -> Iterator[RawDiagnostic]:
    """Check that the server declared that it can read folders.

    "Clients **MUST NOT** call `resources/directory/read` against a server that has not declared
    `directoryRead: true`."
    https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
    """
    capabilities = heard.negotiated.server_capabilities
    declared = follow(capabilities, "extensions", methods.SKILLS.id, "directoryRead")
    if heard.is_request and capabilities is not None and declared is not True:
        yield kinds.undeclared_directory_read(("method",))


def _params(message: Message, version: str) -> list[RawDiagnostic]:
    """Check the shape of the parameters."""
    record = methods.named(message.method, is_request=message.kind is Kind.REQUEST)
    params: Json = message.body.get("params", {})
    if not isinstance(params, dict):
        return [kinds.params_not_object(("params",))]
    if not record.name:
        return []
    found = judge(params, record.params, version, ("params",))
    if message.kind is Kind.REQUEST and features(version).stateless:
        found = _meta_first(found, params)
    return found


def _meta_first(found: list[RawDiagnostic], params: JsonObject) -> list[RawDiagnostic]:
    """Report a missing `_meta` member (2026-07-28) first, and only once.

    "A request missing any required field is malformed"
    https://modelcontextprotocol.io/specification/2026-07-28/basic
    """
    meta = params.get("_meta")
    needed = versions.META_REQUIRED
    missing = [key for key in needed if not isinstance(meta, dict) or key not in meta]
    if not missing:
        return found
    said = {("key", key) for key in ("_meta", *needed)}
    rest = [
        each
        for each in found
        if each.kind is not kinds.missing_member or said.isdisjoint(each.detail)
    ]
    at = ("params", "_meta") if isinstance(meta, dict) else ("params",)
    return [kinds.missing_meta_member(at, key=missing[0]), *rest]
