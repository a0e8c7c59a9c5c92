"""One request and what happened to it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation.stages import (
    NEXT,
    STATES,
    ExchangeState,
    ImpossibleStepError,
    Stage,
    Transition,
)
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import member
from humanmcp.protocol.json.tree import follow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.diagnostics.problem import RawDiagnostic
    from humanmcp.protocol.json.jsonrpc import JsonObject, Message, RequestId


class NegotiatedState(NamedTuple):
    """What the conversation has established so far: what a check needs beside the request.

    `server_capabilities`: as the server declared them, None before. `tools`: the tools of the last
    `tools/list` response by name, None before; `prompts` the same. `partly_listed`: whether there
    are more than these, by method. `offered`: tools of the answer book that a
    client may call without a list. `prepared`: the lists of the answer book as results, by method;
    drafts start from them. `server`: our name and version from the answer book, empty if it has
    none.
    `cache_scopes`: the `cacheScope` of the first page of each list (2026-07-28), by method.
    `newly_prepared`: `prepared` has changed since `tools` were listed.
    """

    client_name: str = ""
    client_version: str = ""
    client_capabilities: Mapping[str, Any] = MappingProxyType({})
    server_capabilities: Mapping[str, Any] | None = None
    tools: Mapping[str, Any] | None = None
    prompts: Mapping[str, Any] | None = None
    partly_listed: Mapping[str, Any] = MappingProxyType({})
    initialized: bool = False
    prepared: Mapping[str, Any] = MappingProxyType({})
    server: Mapping[str, Any] = MappingProxyType({})
    newly_prepared: bool = False
    offered: Mapping[str, Any] = MappingProxyType({})
    cache_scopes: Mapping[str, Any] = MappingProxyType({})

    @property
    def known_tools(self) -> Mapping[str, Any]:
        """The tools that the client knows: the listed ones, else those of the answer book."""
        return self.offered if self.tools is None else self.tools


NOTHING_ESTABLISHED: Final = NegotiatedState()

KIND: Final = "humanmcp/kind"
"""The member of a tool's `_meta` that says what it is for."""
APPROVAL: Final = "approval"
QUESTION: Final = "question"
KINDS: Final = (APPROVAL, QUESTION)


def kind_of_tool(tool: object, tools: Mapping[str, Any] | None) -> str:
    """Return the kind of a tool from the answer book; "" if it has none."""
    found = follow(tools, tool, "_meta", KIND) if isinstance(tool, str) else None
    return found if found in KINDS else ""


class TransportFacts(NamedTuple):
    """What the transport says about a request beside its line, such as HTTP headers.

    `version` is the protocol version of the request. `error` is the response that the specification
    requires for a wrong request, None if it is right; `found` are the same problems for people.
    """

    version: str
    error: Mapping[str, Any] | None = None
    found: tuple[RawDiagnostic, ...] = ()


CUT: Final = "cut"
"""The value of `Exchange.awaiting_retry` if the client may retry without a `requestState`."""


class InputRound(NamedTuple):
    """A result that asked for input (2026-07-28), and the request that got it."""

    request: Message
    result: JsonObject


class Exchange(NamedTuple):
    """One request and what happened to it.

    `number` counts the exchanges of a session from 1, because the peer's id may repeat, be huge, or
    be a path. `version` is the protocol version of the response. `batch` numbers the batch that it
    came in (2025-03-26), 0 for none. `attempts` counts how often a 2026-07-28 client was asked to
    retry while a person works on the answer; `awaiting_retry` is the `requestState` that the retry
    will carry, "" while the client waits for the response. `continues` is the number of the
    exchange whose `input_required` this request answers, 0 for none; `retried` is what it seems to
    retry, also if it does so wrongly. `make_remarks` checks the request; it runs only when somebody
    reads the remarks. `direction` is IN from the client, OUT from the server; a party and an
    observer keep the same record. `parked` says how the client fetches the answer of a parked call
    later (`parking.py`), "" for other calls.
    """

    number: int
    request: Message
    version: str
    stage: Stage = Stage.PENDING
    batch: int = 0
    attempts: int = 0
    awaiting_retry: str = ""
    continues: int = 0
    retried: InputRound | None = None
    make_remarks: Callable[[], tuple[Diagnostic, ...]] = tuple
    transport_facts: TransportFacts | None = None
    direction: Direction = Direction.IN
    parked: str = ""

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """The problems that the check found in the request."""
        return self.make_remarks()

    @property
    def id(self) -> RequestId:
        """The peer's id, as the response must contain it."""
        if self.request.id is None:  # `McpSession` creates exchanges only for requests
            raise NoIdError(self.number)
        return self.request.id

    @property
    def method(self) -> str:
        return self.request.method

    @property
    def name(self) -> str:
        """The tool, prompt or resource address that the request names; "" for none."""
        return name_of(self.request)

    @property
    def tool(self) -> str:
        """The tool of a `tools/call` or the prompt of a `prompts/get`; "" for other methods."""
        name = self.request.params.get("name")
        return name if isinstance(name, str) else ""

    @property
    def progress_token(self) -> str | None:
        """The token for progress notifications, as the client wrote it; None without a valid one.

        MCP, progress: "Progress tokens MUST be a string or integer value".
        """
        value = self.request.meta.get("progressToken")
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            return None
        return member(self.request.raw, "params", "_meta", "progressToken")

    @property
    def state(self) -> ExchangeState:
        """The state that people see."""
        return STATES[self.stage]

    def after(self, transition: Transition) -> Exchange:
        """Return the exchange after a transition.

        Raises:
            ImpossibleStepError: the table has no such step.
        """
        stage = NEXT.get((self.stage, transition))
        if stage is None:
            raise ImpossibleStepError(self.number, self.stage, transition)
        return self._replace(stage=stage)


def name_of(message: Message) -> str:
    """Return the tool, prompt or resource address that a request names; "" for none."""
    for key in ("name", "uri"):
        name = message.params.get(key)
        if isinstance(name, str):
            return name
    return ""


class NoIdError(LookupError):
    """A message without an id cannot become an exchange."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    def __str__(self) -> str:
        return f"exchange {self.number} has no request id: make exchanges of requests only"
