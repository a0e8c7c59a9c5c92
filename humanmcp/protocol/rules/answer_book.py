"""The answer book: which requests it answers without a person, and when.

`decide` returns the book's decision on one exchange; `rule.py` defines a rule, and `book_format.py`
the format of a book. The book has no clock: `waited` is an argument. Objects of MCP are spelled as
on the wire.
"""

from __future__ import annotations

import enum
import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, assert_never

from humanmcp import __version__
from humanmcp.protocol.conversation.approvals import APPROVAL, KIND, QUESTION
from humanmcp.protocol.conversation.questions import (
    LONGEST_LIMIT,
    MOST_QUESTIONS,
    NO_ANSWER_AFTER,
    OUTCOME,
    limit_in,
    no_answer,
    questions_in,
    result_of,
)
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.tree import object_at, text_at
from humanmcp.protocol.rules import timeouts
from humanmcp.protocol.spec import examples, methods, versions
from humanmcp.protocol.spec.methods import DISCOVER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.rules.following import BookMemory
    from humanmcp.protocol.rules.rule import DefinitionChange, Notice, Question, Rule


class Mode(enum.Enum):
    """How much is answered without a person."""

    NORMAL = "normal"
    """Pings at once, the handshake as `HandshakePolicy` says, the rest never."""
    BY_HAND = "by hand"
    """Nothing at all."""
    AUTO = "auto"
    """Everything that the book can answer, at once."""


class HandshakePolicy(enum.Enum):
    """Who answers `initialize` and the lists, if the mode does not say it."""

    BY_CLIENT = "by client"
    """The book: at once for a known host, after a grace time for other clients."""
    BOOK = "book"
    """The book, at once, so that the model has its tools in the first turn."""
    HAND = "hand"
    """A person. The book answers at the last moment before a known client gives up.

    It answers an open `server/discover` with "no such method", so that a handshake follows.
    """
    PERSON = "person"
    """As `HAND`, regardless of the mode and the book: a person at the inbox chose it."""


_ASKED: Final[Mapping[str, Any]] = {  # see `conversation/questions.py`
    "question": {"type": "string", "description": "What the person should answer"},
    "context": {"type": "string", "description": "What the person needs to know to answer it"},
    "options": {
        "type": "array",
        "items": {
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"label": {"type": "string"}, "description": {"type": "string"}},
                    "required": ["label"],
                },
            ]
        },
        "description": "Answers to choose from. The chosen one comes back word for word",
    },
    "multiple": {"type": "boolean", "description": "Whether several options may be chosen"},
    "allow_free_text": {
        "type": "boolean",
        "default": True,
        "description": "Whether the person may answer in their own words as well",
    },
    "default": {
        "type": "string",
        "description": "What you take if nobody answers. It comes back as a default only",
    },
}
_LIMIT: Final = "timeout_seconds"
ASK_TOOL: Final[Mapping[str, Any]] = {
    "name": "ask_human",
    "title": "Ask the human",
    "description": "Ask a person a question, or several at once, and wait for the answers",
    "inputSchema": {
        "type": "object",
        "properties": {
            **_ASKED,
            "questions": {
                "type": "array",
                "maxItems": MOST_QUESTIONS,
                "items": {"type": "object", "properties": _ASKED, "required": ["question"]},
                "description": "Several questions at once, instead of `question`",
            },
            _LIMIT: {
                "type": "number",
                "minimum": 1,
                "maximum": LONGEST_LIMIT,
                "description": "After so many seconds the result is no_answer. Without it, the "
                "call waits for the person",
            },
        },
    },
    "outputSchema": OUTCOME,
    # Without `readOnlyHint`, Claude Code asks several questions one after the other. Asking changes
    # nothing; a person is not a closed system; asking twice disturbs twice.
    "annotations": {"readOnlyHint": True, "idempotentHint": False, "openWorldHint": True},
    "_meta": {KIND: QUESTION, NO_ANSWER_AFTER: _LIMIT},
}


APPROVE_TOOL: Final[Mapping[str, Any]] = {
    "name": "approve",
    "title": "Ask the human for permission",
    "description": "Hosts send permission prompts here. Not for the model",
    "inputSchema": {
        "type": "object",
        "properties": {
            "tool_name": {"type": "string", "description": "The tool that is to run"},
            "input": {"type": "object", "description": "What it is to run with"},
            "tool_use_id": {"type": "string"},
        },
        "required": ["tool_name", "input"],
    },
    "annotations": {"readOnlyHint": True, "idempotentHint": False, "openWorldHint": True},
    "_meta": {KIND: APPROVAL},
}
"""The tool that `humanmcp serve --approvals` adds."""


ATTRIBUTES: Final[Mapping[str, str]] = {
    "tools": "tools",
    "resources": "resources",
    "resourceTemplates": "resource_templates",
    "prompts": "prompts",
}
"""The key of each list in a book, by the member of the result."""
LISTED: Final = {
    one.listing.member: one.listing.key
    for one in methods.LISTS
    if one.listing and one.listing.member in ATTRIBUTES
}
"""The member that names an entry of each list."""


class Book(NamedTuple):
    """What is answered without a person. The defaults are those without an answer book."""

    name: str = "humanmcp"
    version: str = __version__
    title: str = ""
    instructions: str = "Every answer is typed by a person. Please allow several minutes per call."
    protocol_versions: tuple[str, ...] = versions.ALL
    capabilities: Mapping[str, Any] | None = None
    """None: the capabilities of the lists below."""
    tools: tuple[Mapping[str, Any], ...] = (ASK_TOOL,)
    resources: tuple[Mapping[str, Any], ...] = ()
    resource_templates: tuple[Mapping[str, Any], ...] = ()
    prompts: tuple[Mapping[str, Any], ...] = ()
    rules: tuple[Rule, ...] = ()
    wait: Mapping[str, float | None] = MappingProxyType({})
    """The seconds before the book answers a method, None for never; others have a default."""
    progress: bool = True
    """Send progress to the client while a person works on a request."""
    park: float | None = None
    """The seconds after which a call is parked (`parking.py`), None for never."""

    def declared_capabilities(self, version: str = "") -> Mapping[str, Any]:
        """Return the capabilities that the book declares; a person may change each list later.

        A book that parks calls declares tasks in the form of this protocol version.
        """
        if self.capabilities is not None:
            return self.capabilities
        tasks: Mapping[str, Any] = {}
        if self.park is not None:
            from humanmcp.protocol.rules.parking import CAPABILITIES  # noqa: PLC0415 - seldom wanted

            tasks = CAPABILITIES.get(version, {})
        resources = self.resources or self.resource_templates
        wanted = {"tools": self.tools, "resources": resources, "prompts": self.prompts}
        return {
            **{name: {"listChanged": True} for name, entries in wanted.items() if entries},
            **tasks,
        }

    def listed_tools(self, version: str = "") -> tuple[Mapping[str, Any], ...]:
        """Return the tools in the list for a client; a book that parks calls adds one."""
        tools = self.tools
        if version and not versions.features(version).structured_content:
            tools = tuple(
                {name: part for name, part in one.items() if name != "outputSchema"}
                for one in tools
            )
        if self.park is None:
            return tools
        from humanmcp.protocol.rules.parking import with_result_tool  # noqa: PLC0415 - as above

        return with_result_tool(tools, version)

    def changed(self, change: DefinitionChange) -> Book:
        """Return the changed book; an added entry replaces the one with its name."""
        lists: dict[str, Any] = {}
        for member, key in LISTED.items():
            gone = {
                *change.remove.get(member, ()),
                *(one[key] for one in change.add.get(member, ())),
            }
            kept = [one for one in getattr(self, ATTRIBUTES[member]) if one.get(key) not in gone]
            lists[ATTRIBUTES[member]] = (*kept, *change.add.get(member, ()))
        return self._replace(**lists)


class Decision(NamedTuple):
    """The book's decision on an exchange: which answer, and how long after its arrival.

    `after` is in seconds, None if only a person answers. `by` is the author in the transcript.
    `rule` is the index of the rule, None for the book's own answers. `stoppable`: a person who
    opens the exchange stops it; so it is for a safety net, not for a rule. `replayed` is the frame
    number of the recorded answer, right or wrong; None if it is not recorded. `forward`: the real
    server gets the request.

    Before the answer, `notices` are sent, then each round of `ask`, with its questions by name,
    then the definition changes. `fault` is the fault in the answer. `counts`: the answer counts for
    the rule's `times`. `values` fill the placeholders of its text; None leaves them. `keep` is the
    content of the record `key` after the answer.
    """

    after: float | None = None
    text: str = ""
    form: TextForm = TextForm.RESULT
    by: str = ""
    rule: int | None = None
    stoppable: bool = False
    replayed: int | None = None
    forward: bool = False
    notices: tuple[Notice, ...] = ()
    ask: tuple[Mapping[str, Question], ...] = ()
    change: DefinitionChange | None = None
    fault: str = ""
    counts: bool = True
    values: Mapping[str, Any] | None = None
    key: str = ""
    keep: Mapping[str, Any] = MappingProxyType({})

    @property
    def has_steps(self) -> bool:
        """True if messages or changes come before the answer."""
        return bool(self.notices or self.ask or self.change)

    @property
    def at_once(self) -> bool:
        """True if the answer is sent at once: nobody sees the request wait."""
        return self.due(0) and not self.has_steps

    def answered(self, answers: Mapping[str, Any]) -> Decision:
        """Return the decision with its text filled; nothing is left to ask."""
        if self.values is None:
            return self._replace(ask=()) if self.ask else self
        from humanmcp.protocol.rules.following import fill, fill_answer  # noqa: PLC0415 - as below

        values = {**self.values, **answers}
        text = fill_answer(self.text, self.form, values)
        return self._replace(text=text, keep=fill(self.keep, values), ask=())

    def refused(self, error: Mapping[str, Any]) -> Decision:
        """Return the decision with an error instead of the answer and of all steps before it."""
        refusal = Decision(self.after, json.dumps(error), TextForm.ERROR, self.by, self.rule)
        return refusal._replace(counts=False)

    def due(self, waited: float, *, touched: bool = False) -> bool:
        """Return True if the book answers now, `waited` seconds after the arrival."""
        if self.after is None or (touched and self.stoppable):
            return False
        return waited >= self.after


BY_PERSON: Final = Decision()
EVERYTHING: Final = "*"
"""The key in `[wait]` for all methods that the book can answer and that are not listed."""

HEADERS_AFTER: Final = 8.0
"""The seconds before the book refuses a request with wrong headers: a stream begins after 10."""

UNSUPPORTED_VERSION: Final = -32022
HEADER_MISMATCH: Final = -32020
NO_RULE: Final = -32602
_METHOD_NOT_FOUND: Final[Mapping[str, Any]] = {"code": -32601, "message": "Method not found"}


def first_rule(
    exchange: Exchange,
    book: Book,
    used: Mapping[int, int] = MappingProxyType({}),
    negotiated: NegotiatedState | None = None,
    records: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> tuple[int, Rule] | None:
    """Return the action of the first rule that matches an exchange, and the rule's index.

    None if no rule matches. `used` counts how often each rule was applied; `records` are the kept
    ones.
    """
    for index, rule in enumerate(book.rules):
        count = used.get(index, 0)
        is_left = rule.times is None or count < rule.times
        if is_left and rule.matches(exchange, negotiated, records):
            return index, rule.turn(count)
    return None


def decide(  # noqa: PLR0913 - everything that a decision depends on, by name
    exchange: Exchange,
    book: Book,
    negotiated: NegotiatedState,
    *,
    mode: Mode = Mode.NORMAL,
    handshake: HandshakePolicy = HandshakePolicy.BY_CLIENT,
    grace: float | None = None,
    memory: BookMemory | None = None,
    refuse: bool = False,
) -> Decision:
    """Return the book's decision on an exchange. `memory` is what its rules have done so far.

    With `refuse`, the client gets an error for requests that the book would leave to a person.
    `grace` is how long this client's handshake may wait, in seconds, if a person has set it.
    """
    if mode is Mode.BY_HAND:
        return BY_PERSON
    mismatch = _header_mismatch(exchange, book)
    if mismatch is not None:
        # Before any rule, because rules do not check headers. A person may still answer.
        wait = 0.0 if mode is Mode.AUTO else HEADERS_AFTER
        return Decision(wait, json.dumps(mismatch), TextForm.ERROR, "book", stoppable=wait != 0)
    if book.rules:
        from humanmcp.protocol.rules.following import follow_rules  # noqa: PLC0415 - only with rules

        followed = follow_rules(exchange, book, negotiated, memory)
        if followed is not None:
            return followed
    rejection = _rejection(exchange, book)
    if rejection is not None:
        return Decision(0.0, json.dumps(rejection), TextForm.ERROR, "book")
    own = _own_answer(exchange, book)
    if own is None:
        return _refusal(exchange) if refuse else when_nobody_answers(exchange, book)
    form, answer = own
    after = _after(exchange.method, book, negotiated, mode, handshake, grace)
    if _is_for_a_person(exchange, book, mode, handshake):
        after = timeouts.PROBE_GRACE if grace is None else grace
        if not set(versions.HANDSHAKE).isdisjoint(book.protocol_versions):
            form, answer = TextForm.ERROR, _METHOD_NOT_FOUND
    text = json.dumps(answer, ensure_ascii=False)
    return Decision(after, text, form, "book", stoppable=after != 0)


def _refusal(exchange: Exchange) -> Decision:
    """Refuse a request that the book cannot answer; the error shows a rule that would."""
    if methods.of(exchange.method).stays_open:
        return BY_PERSON
    from humanmcp.protocol.rules.book_format import example_rule  # noqa: PLC0415 - seldom wanted

    method, name = exchange.method, exchange.name
    rule = example_rule(method, name)
    message = f"No rule of the answer book answers {method} {name}".rstrip() + f". Add one:\n{rule}"
    error = json.dumps({"code": NO_RULE, "message": message}, ensure_ascii=False)
    return Decision(0.0, error, TextForm.ERROR, "book")


def when_nobody_answers(exchange: Exchange, book: Book) -> Decision:
    """Answer *no answer* after the agent's limit, if the book has a rule for it."""
    arguments = object_at(exchange.request.params, "arguments")
    tools = book.tools if exchange.method == "tools/call" else ()
    rule = next((text_at(one, "_meta", NO_ANSWER_AFTER) for one in tools if _is(one, exchange)), "")
    limit = limit_in(arguments, rule) if rule else None
    if limit is None:
        return BY_PERSON
    outcome = no_answer(questions_in(arguments)[0])
    result = result_of(exchange.version, outcome)
    text = json.dumps(
        with_result_envelope(result, exchange.method, exchange.version, book), ensure_ascii=False
    )
    return Decision(limit, text, TextForm.RESULT, "book")


def _is(tool: Mapping[str, Any], exchange: Exchange) -> bool:
    return bool(tool.get("name") == exchange.tool)


def by_rule(index: int) -> str:
    """Return the author of a rule's answer in the transcript."""
    return f"book: rule {index + 1}"


def _header_mismatch(exchange: Exchange, book: Book) -> Mapping[str, Any] | None:
    """Return the error for a request with wrong headers, None for others."""
    wrong = exchange.transport_facts.error if exchange.transport_facts is not None else None
    is_mismatch = wrong is not None and wrong["code"] == HEADER_MISMATCH
    return wrong if is_mismatch and _is_stateless(book) else None


def _is_for_a_person(
    exchange: Exchange, book: Book, mode: Mode, handshake: HandshakePolicy
) -> bool:
    """Return True for a probe if a person answers the handshake: its result would decide that."""
    if exchange.method != DISCOVER or not _is_stateless(book):
        return False
    by_hand = handshake is HandshakePolicy.HAND and mode is Mode.NORMAL
    return handshake is HandshakePolicy.PERSON or (by_hand and exchange.method not in book.wait)


def _after(  # noqa: PLR0913, PLR0917 - what `decide` depends on
    method: str,
    book: Book,
    negotiated: NegotiatedState,
    mode: Mode,
    handshake: HandshakePolicy,
    grace: float | None,
) -> float | None:
    if handshake is HandshakePolicy.PERSON and method in timeouts.HANDSHAKE:
        return timeouts.last_moment(negotiated.client_name, method)
    if mode is Mode.AUTO:
        return 0.0
    if method in book.wait or EVERYTHING in book.wait:
        return book.wait.get(method, book.wait.get(EVERYTHING))
    if methods.of(method).at_once:
        return 0.0
    if method not in timeouts.HANDSHAKE:
        return None
    return _opened_after(method, negotiated.client_name, handshake, grace)


def _opened_after(
    method: str, client: str, handshake: HandshakePolicy, grace: float | None
) -> float | None:
    last = timeouts.last_moment(client, method)
    match handshake:
        case HandshakePolicy.BOOK:
            return 0.0
        case HandshakePolicy.HAND | HandshakePolicy.PERSON:
            return last
        case HandshakePolicy.BY_CLIENT if grace is not None:
            return grace if last is None else min(grace, last)
        case HandshakePolicy.BY_CLIENT:
            return timeouts.grace(client)
        case impossible:
            assert_never(impossible)


def _own_answer(exchange: Exchange, book: Book) -> tuple[TextForm, Mapping[str, Any]] | None:
    """Return the book's own answer to a method; None if a rule or a person must answer."""
    method, version = exchange.method, exchange.version
    if not methods.has_request(method, version):
        # FastMCP 4 also pings in 2026-07-28, which has no ping, and waits without a limit.
        return TextForm.ERROR, _METHOD_NOT_FOUND
    if methods.of(method).result == "EmptyResult":
        return TextForm.RESULT, {}
    if method == "initialize":
        return TextForm.RESULT, _initialize(exchange, book)
    if method == DISCOVER:
        return _discover(book)
    lists = _lists(book, version)
    if method in lists:
        return TextForm.RESULT, with_result_envelope(lists[method], method, version, book)
    return None


def _lists(book: Book, version: str = "") -> Mapping[str, Mapping[str, Any]]:
    """Return the content of each list of a book, by method."""
    book = book._replace(tools=book.listed_tools(version))
    return {
        one.name: {one.listing.member: list(getattr(book, ATTRIBUTES[one.listing.member]))}
        for one in methods.LISTS
        if one.listing
    }


def changed_lists(before: Book, after: Book) -> tuple[str, ...]:
    """Return the capabilities whose lists differ between two books."""
    pairs = {
        "tools": (before.listed_tools(), after.listed_tools()),
        "prompts": (before.prompts, after.prompts),
        "resources": (
            (before.resources, before.resource_templates),
            (after.resources, after.resource_templates),
        ),
    }
    return tuple(name for name, (old, new) in pairs.items() if old != new)


def book_lists(book: Book) -> Mapping[str, Mapping[str, Any]]:
    """Return the lists that a person wrote into a book; drafts do not start from empty ones."""
    if book._replace(protocol_versions=versions.ALL) == Book():
        return {}
    return {method: part for method, part in _lists(book).items() if any(part.values())}


def _initialize(exchange: Exchange, book: Book) -> Mapping[str, Any]:
    asked = exchange.request.params.get("protocolVersion")
    served = [one for one in book.protocol_versions if one in versions.HANDSHAKE]
    latest = served[-1] if served else versions.LATEST_HANDSHAKE
    answered = asked if asked in served else latest
    return {
        "protocolVersion": answered,
        "capabilities": book.declared_capabilities(answered),
        "serverInfo": server_info(book),
        **({"instructions": book.instructions} if book.instructions else {}),
    }


def _is_stateless(book: Book) -> bool:
    return not set(versions.STATELESS).isdisjoint(book.protocol_versions)


def _discover(book: Book) -> tuple[TextForm, Mapping[str, Any]]:
    if not _is_stateless(book):
        # Every client understands this error as "handshake only" and then sends `initialize`.
        return TextForm.ERROR, _METHOD_NOT_FOUND
    found = {
        "supportedVersions": list(book.protocol_versions),
        "capabilities": book.declared_capabilities(versions.LATEST_STATELESS),
        **({"instructions": book.instructions} if book.instructions else {}),
    }
    return TextForm.RESULT, with_result_envelope(found, DISCOVER, versions.LATEST_STATELESS, book)


def _rejection(exchange: Exchange, book: Book) -> Mapping[str, Any] | None:
    """Return the error that a 2026-07-28 request must get in any case; None for a valid one.

    A book without 2026-07-28 leaves such requests to its answers for other versions.
    """
    if not _is_stateless(book):
        return None
    if exchange.transport_facts is not None and exchange.transport_facts.error is not None:
        return exchange.transport_facts.error
    if versions.unserved_in(exchange.request) is not None:
        return _unsupported(exchange, book)
    return examples.refusal(exchange.request, exchange.version)


def _unsupported(exchange: Exchange, book: Book) -> Mapping[str, Any]:
    """Return the error with the supported versions: the client picks one, or sends `initialize`."""
    return {
        "code": UNSUPPORTED_VERSION,
        "message": "Unsupported protocol version",
        "data": {
            "supported": list(book.protocol_versions),
            "requested": versions.unserved_in(exchange.request),
        },
    }


def with_result_envelope(
    whole: Mapping[str, Any], method: str, version: str, book: Book
) -> Mapping[str, Any]:
    """Add the members that every 2026-07-28 result has, and the server's name."""
    kind = methods.of(method).result_in(version)
    # MCP: "Servers SHOULD include" it in the `_meta` of every result.
    return examples.dated(dict(whole), kind, version, {versions.META_SERVER: server_info(book)})


def server_info(book: Book) -> Mapping[str, Any]:
    """Return our name and version from the book."""
    title = {"title": book.title} if book.title else {}
    return {"name": book.name, **title, "version": book.version}
