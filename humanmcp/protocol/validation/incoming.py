"""What the check has to say of what the peer sent: hints and warnings, never in anybody's way.

Works for both directions: a request that a client sent us, and the answer of a real server that a
tap lets pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation.exchange import NOTHING_ESTABLISHED
from humanmcp.protocol.conversation.questions import DESCRIPTION, LABEL, options_in
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.locate import Placer, RawDiagnostic, Source, quoted, shown
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.json.jsonrpc import Kind, Message, is_large
from humanmcp.protocol.json.tree import alike, follow
from humanmcp.protocol.repair.reading import DEEPEST, strict
from humanmcp.protocol.spec import methods, versions
from humanmcp.protocol.spec.versions import features
from humanmcp.protocol.validation.envelope import judge_envelope, remarking, version_member
from humanmcp.protocol.validation.json_schema import validator
from humanmcp.protocol.validation.results import judge_result, one_each
from humanmcp.protocol.validation.rules.elicitation import declares_more
from humanmcp.protocol.validation.rules.registry import RuleSet
from humanmcp.protocol.validation.shape_checker import judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject


class HeardMessage(NamedTuple):
    """A request or notification that came in, the version of its session, what is known of it."""

    message: Message
    version: str
    negotiated: NegotiatedState

    @property
    def is_request(self) -> bool:
        """Return True if it wants an answer."""
        return self.message.kind is Kind.REQUEST

    @property
    def params(self) -> JsonObject:
        """Its parameters."""
        return self.message.params


rule: Final[RuleSet[HeardMessage]] = RuleSet()
"""What MCP asks of what comes in, beside its envelope and the shape of its parameters."""


@remarking
def remarks(  # noqa: PLR0913 - what it depends on
    message: Message,
    version: str,
    negotiated: NegotiatedState = NOTHING_ESTABLISHED,
    also: tuple[RawDiagnostic, ...] = (),
    *,
    sender: Direction = Direction.IN,
    strict: bool = False,
) -> tuple[Diagnostic, ...]:
    """Return what there is to say of a request or notification that somebody else sent.

    `also` is what was found by who knows the messages before it; of a server's (`sender` is OUT)
    they know whether it may be sent at all. `strict` is for those who can still change it: an error
    is one, not a warning about the peer. Of a large message of a peer nothing is said: others wait
    while it is looked through.
    """
    if is_large(message.raw) and not strict:
        return ()
    found = [*version_member(message.body), *_as_text(message), *also]
    if sender is Direction.IN:
        found += rule.judge(message.method, HeardMessage(message, version, negotiated))
    said = {each.path for each in found}
    found += [each for each in _params(message, version) if each.path not in said]
    return _placed(message, found, message.method, version, strict=strict)


def same_id(message: Message, version: str) -> Diagnostic:
    """Say of a request that another one with the same id is still open."""
    return _placed(message, [kinds.id_in_use(("id",))], message.method, version)[0]


@remarking
def review(
    exchange: Exchange,
    response: Message,
    negotiated: NegotiatedState = NOTHING_ESTABLISHED,
    *,
    strict: bool = False,
) -> tuple[Diagnostic, ...]:
    """Return what there is to say of the peer's answer to a request; of a large one nothing."""
    if is_large(response.raw) and not strict:
        return ()
    typed = response.id.token if response.id is not None else ""
    found = _as_text(response)
    found += judge_envelope(response.body, exchange.id, typed, exchange.version)
    if response.kind is Kind.RESULT:
        found += judge_result(exchange, response.body.get("result"), negotiated)
    return _placed(response, found, exchange.method, exchange.version, strict=strict)


def _placed(
    message: Message,
    found: list[RawDiagnostic],
    method: str,
    version: str,
    *,
    strict: bool = False,
) -> tuple[Diagnostic, ...]:
    """Make problems that block nothing and offer no fix: the text is the peer's."""
    if not found:
        return ()
    page = methods.page(method, version)
    placer = Placer(Source(message.raw, message.raw, (), None, page))
    diagnostics = placer.diagnostics(
        each.without_fix(_level(each, strict=strict)) for each in one_each(found)
    )
    return tuple(sorted(diagnostics, key=lambda each: each.start))


def _level(diagnostic: RawDiagnostic, *, strict: bool) -> Severity:
    """Return how bad a problem is; in what the peer sent at most a warning.

    Another version than the one asked for is what a server must choose that does not have that
    one; of a person's own draft it is more often a slip.
    """
    if diagnostic.kind is kinds.protocol_version_differs:
        # "Otherwise, the server MUST respond with another protocol version it supports."
        return Severity.HINT
    is_error = diagnostic.severity is Severity.ERROR
    return Severity.WARNING if is_error and not strict else diagnostic.severity


def _as_text(message: Message) -> list[RawDiagnostic]:
    """Return what is wrong with a message as JSON that some parser takes."""
    try:
        strict(message.raw)
    except ValueError:
        return [kinds.not_strict_json()]
    except RecursionError:
        return [kinds.nested_too_deep(limit=str(DEEPEST))]
    return []


@rule()
def method_of_the_version(heard: HeardMessage) -> Iterator[RawDiagnostic]:
    """A method is one of the version that is spoken; else it is said which one may be meant.

    "Both parties MUST: Respect the negotiated protocol version"
    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation
    """
    message, version, negotiated = heard
    record = methods.named(message.method, is_request=message.kind is Kind.REQUEST)
    if record.is_in(version) or versions.unserved_in(message) is not None:
        return
    at, name = ("method",), shown(message.method)
    meant = alike(message.method, (*methods.REQUESTS, *methods.NOTIFICATIONS))
    if message.kind is Kind.NOTIFICATION and message.method in methods.REQUESTS:
        yield kinds.request_without_id(at, method=name)
    elif record.name:
        there = ", ".join(record.versions)
        yield kinds.method_of_other_version(at, method=name, version=version, versions=there)
    elif meant is not None:
        yield kinds.misspelt_method(at, method=name, version=version, meant=meant)
    else:
        extended = declares_more(negotiated.server_capabilities) or declares_more(
            negotiated.client_capabilities
        )
        kind = kinds.maybe_extension_method if extended else kinds.unknown_method
        yield kind(at, method=name, version=version)


@rule()
def version_that_there_is(heard: HeardMessage) -> Iterator[RawDiagnostic]:
    """2026-07-28: a request states the version that it is written in, one that there is.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
    """
    unserved = versions.unserved_in(heard.message)
    if unserved is not None:
        at = ("params", "_meta", versions.META_VERSION)
        yield kinds.unknown_client_version(at, typed=quoted(unserved))


@rule()
def initialized_first(heard: HeardMessage) -> Iterator[RawDiagnostic]:
    """The handshake comes before everything else.

    "The client SHOULD NOT send requests other than pings before the server has responded to the
    `initialize` request." https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization
    """
    message, version, negotiated = heard
    ready = (
        features(version).stateless or negotiated.initialized or methods.of(message.method).early
    )
    if message.kind is Kind.REQUEST and not ready:
        yield kinds.request_before_initialized(("method",), method=shown(message.method))


@rule("tools/call")
def arguments_by_their_name(heard: HeardMessage) -> Iterator[RawDiagnostic]:
    """The arguments of a tool stand under `arguments`.

    https://modelcontextprotocol.io/specification/2025-11-25/server/tools#calling-tools
    """
    if heard.is_request and "args" in heard.params and "arguments" not in heard.params:
        yield kinds.args_for_arguments(("params", "args"), at_name=True)


@rule("tools/call")
def call_of_a_listed_tool(heard: HeardMessage) -> Iterator[RawDiagnostic]:
    """A call names a tool that was listed, and fits what it takes.

    "Servers MUST: Validate all tool inputs"
    https://modelcontextprotocol.io/specification/2025-11-25/server/tools#security-considerations
    """
    params, tools = heard.params, heard.negotiated.tools
    misnamed = "args" in params and "arguments" not in params
    if not heard.is_request or tools is None or misnamed:
        return
    name = params.get("name")
    tool = tools.get(name) if isinstance(name, str) else None
    if tool is None:
        names = shown(", ".join(tools)) or "?"
        yield kinds.unknown_tool(("params", "name"), tool=quoted(name), tools=names)
        return
    schema = follow(tool, "inputSchema")
    at = ("params", "arguments") if "arguments" in params else ("params",)
    yield from validator.first_found(
        kinds.arguments_mismatch, params.get("arguments", {}), schema, at
    )


@rule("resources/directory/read")
def directory_read_that_was_declared(heard: HeardMessage) -> Iterator[RawDiagnostic]:
    """A folder is read from a server that says it can be.

    "Clients **MUST NOT** call `resources/directory/read` against a server that has not declared
    `directoryRead: true`."
    https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
    """
    capabilities = heard.negotiated.server_capabilities
    declared = follow(capabilities, "extensions", methods.SKILLS.id, "directoryRead")
    if heard.is_request and capabilities is not None and declared is not True:
        yield kinds.undeclared_directory_read(("method",))


def _params(message: Message, version: str) -> list[RawDiagnostic]:
    """Judge the parameters by their shape."""
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
    """2026-07-28: without its two members of `_meta` a request says nothing of itself.

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


QUESTION: Final = "question"
CONTEXT: Final = "context"
OPTIONS: Final = "options"
FREE_TEXT: Final = "allow_free_text"
_OF_OPTION: Final = frozenset({LABEL, DESCRIPTION})


class Inquiry(NamedTuple):
    """A question to a person. `covered` are the arguments that it stands for."""

    question: str
    context: str = ""
    options: tuple[str, ...] = ()
    """What may be answered, word for word: a text, or the label of an object."""
    free_text: bool = True
    """Whether an answer in one's own words is wanted, too."""
    covered: frozenset[str] = frozenset()
    descriptions: tuple[str, ...] = ()
    """What is said of each option, "" for nothing; empty where nothing is said of any."""

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """Return each option with its description."""
        return tuple(zip(self.options, self.descriptions or [""] * len(self.options), strict=True))


def inquiry_of(message: Message) -> Inquiry | None:
    """Read the question that a request puts to a person; None where it puts none."""
    if message.kind is not Kind.REQUEST or message.method != "tools/call":
        return None
    arguments = message.params.get("arguments")
    if not isinstance(arguments, dict) or not _is_words(arguments.get(QUESTION)):
        return None
    covered = {QUESTION}
    context, free_text = "", True
    if _is_words(arguments.get(CONTEXT)):
        context, covered = arguments[CONTEXT], covered | {CONTEXT}
    given = arguments.get(OPTIONS)
    choices = options_in(given)
    options = tuple(label for label, _ in choices)
    descriptions = tuple(note for _, note in choices) if any(note for _, note in choices) else ()
    if options and not any(one.keys() - _OF_OPTION for one in given or () if isinstance(one, dict)):
        covered |= {OPTIONS}
    if isinstance(arguments.get(FREE_TEXT), bool):
        # Without anything to choose from, an answer can only be written.
        free_text, covered = arguments[FREE_TEXT] or not options, covered | {FREE_TEXT}
    return Inquiry(
        arguments[QUESTION], context, options, free_text, frozenset(covered), descriptions
    )


def _is_words(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    return isinstance(value, str) and bool(value.strip())
