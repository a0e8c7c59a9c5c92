"""One request and what happened to it.

`NEXT` below has every stage of an exchange; `docs/` draws its diagram from it.
"""

from __future__ import annotations

import enum
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import member
from humanmcp.protocol.json.tree import array_at, follow
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.versions import META_SUBSCRIPTION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from humanmcp.protocol.diagnostics.model import Diagnostic, Verdict
    from humanmcp.protocol.diagnostics.problem import RawDiagnostic
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject, Malformed, Message, RequestId


class ExchangeState(enum.StrEnum):
    """The state of an exchange."""

    PENDING = "pending"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"


class Stage(enum.StrEnum):
    """Where an exchange stands between its two sides."""

    PENDING = "pending"
    SUBSCRIBED = "subscribed"
    """A subscription that was acknowledged: its peer waits for changes, and for no answer."""
    AWAITING_RETRY = "awaiting retry"
    """The peer was asked to repeat the request, or may repeat it: now it cannot be answered."""
    PARKED = "parked"
    """The peer has a task or a ticket; a person still answers."""
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"


_STATES: Final[Mapping[Stage, ExchangeState]] = {
    **{Stage(state.value): state for state in ExchangeState},
    Stage.SUBSCRIBED: ExchangeState.PENDING,
    Stage.AWAITING_RETRY: ExchangeState.PENDING,
    Stage.PARKED: ExchangeState.ANSWERED,
}
"""The state that people see at each stage: of the same name, except for three."""


class Transition(enum.Enum):
    """An event that changes the stage of an exchange."""

    ACKNOWLEDGED = "acknowledged"
    RETRY_AWAITED = "retry awaited"
    CLIENT_RETRIED = "client retried"
    CALL_PARKED = "call parked"
    REPLY_SENT = "reply sent"
    CLIENT_CANCELLED = "client cancelled"
    SESSION_ENDED = "session ended"
    CLIENT_WENT_QUIET = "client went quiet"
    """The client was asked to retry the request (2026-07-28) and did not."""
    CLIENT_WENT_ON = "client went on"
    """The client sent `server/discover`, then `initialize` without waiting for the response."""
    ID_WAS_TAKEN = "id was taken"
    """Another open request with the same id was answered."""


_OPEN: Final = (Stage.PENDING, Stage.SUBSCRIBED, Stage.AWAITING_RETRY)
_ENDS: Final = (
    (Transition.REPLY_SENT, Stage.ANSWERED),
    (Transition.CLIENT_CANCELLED, Stage.CANCELLED),
    (Transition.SESSION_ENDED, Stage.ABANDONED),
    (Transition.CLIENT_WENT_ON, Stage.ABANDONED),
    (Transition.ID_WAS_TAKEN, Stage.ABANDONED),
)
NEXT: Final[Mapping[tuple[Stage, Transition], Stage]] = MappingProxyType(
    {
        (Stage.PENDING, Transition.ACKNOWLEDGED): Stage.SUBSCRIBED,
        (Stage.PENDING, Transition.RETRY_AWAITED): Stage.AWAITING_RETRY,
        (Stage.AWAITING_RETRY, Transition.RETRY_AWAITED): Stage.AWAITING_RETRY,
        (Stage.AWAITING_RETRY, Transition.CLIENT_RETRIED): Stage.PENDING,
        (Stage.AWAITING_RETRY, Transition.CLIENT_WENT_QUIET): Stage.ABANDONED,
        (Stage.PENDING, Transition.CALL_PARKED): Stage.PARKED,
    }
    | {(stage, transition): after for stage in _OPEN for transition, after in _ENDS}
)
"""The next stage for each stage and transition. Any other step is a fault of ours: it raises."""


class ImpossibleStepError(Exception):
    """A step of an exchange that is not in the table."""

    def __init__(self, number: int, stage: Stage, transition: Transition) -> None:
        super().__init__(f"exchange {number} is {stage.value}: {transition.value} is no step")


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
        return _STATES[self.stage]

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


RESULT_TOOL_NAME: Final = "ask_human_result"
"""The tool that a model calls with a ticket."""
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,11}", re.ASCII)


class Ticket(NamedTuple):
    """The token of a parked call, which only its client knows: `SESSION.NUMBER.SECRET`.

    "Task IDs act as bearer tokens": every use compares the secret first.
    """

    session: str
    number: int
    secret: str

    def __str__(self) -> str:
        """Return the token for the client."""
        return f"{self.session}.{self.number}.{self.secret}"

    @classmethod
    def read(cls, token: object) -> Ticket | None:
        """Read a received token; None if it is not one of ours."""
        parts = token.split(".") if isinstance(token, str) else []
        if len(parts) != 3 or _NUMBER.fullmatch(parts[1]) is None:
            return None
        return cls(parts[0], int(parts[1]), parts[2])


def asked_ticket(exchange: Exchange) -> Ticket | None:
    """Return the ticket in a request; None for a request without one."""
    params = exchange.request.params
    if exchange.method in methods.REQUESTS and exchange.method.startswith("tasks/"):
        return Ticket.read(params.get("taskId"))
    if asks_with_ticket(exchange):
        return Ticket.read(follow(params, "arguments", "ticket"))
    if methods.of(exchange.method).asks_back and "requestState" in params:
        return Ticket.read(params["requestState"])
    return None


def asks_with_ticket(exchange: Exchange) -> bool:
    """Return True for a call of `ask_human_result`."""
    return exchange.method == "tools/call" and exchange.tool == RESULT_TOOL_NAME


class NoIdError(LookupError):
    """A message without an id cannot become an exchange."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    def __str__(self) -> str:
        return f"exchange {self.number} has no request id: make exchanges of requests only"


REMEMBERED: Final = 1_000
"""The maximum number of finished requests that are kept."""

REMEMBERED_SIZE: Final = 4 * 1024 * 1024
"""The maximum total length of those lines, in characters. The last one is always kept."""


def related_to(message: Message, pending: Sequence[Exchange]) -> int:
    """Return the number of the request that one of our messages belongs to, 0 for none.

    A notification names the request by its token, or by the id of the subscription. Any other
    message belongs to the last request: "These messages SHOULD relate to the originating client
    request". A change notification belongs to no request, and a task notification to the
    subscription that names the task.

    https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
    """
    token = message.params.get("progressToken")
    subscription = message.meta.get(META_SUBSCRIPTION)
    if token is not None or subscription is not None:
        named = (each for each in reversed(pending) if _is_named(each, token, subscription))
        found = next(named, None)
        return 0 if found is None else found.number
    record = methods.of(message.method)
    if record.unrelated or not message.method:
        return 0
    if record.filtered_by == methods.TASK_IDS:
        task = message.params.get("taskId")
        return next((one.number for one in pending if watches(one, task)), 0)
    waiting = [one for one in pending if not methods.of(one.method).stays_open]
    return waiting[-1].number if waiting else 0


def _is_named(exchange: Exchange, token: Json, subscription: Json) -> bool:
    if subscription is not None:
        return bool(exchange.id.value == subscription)
    return "progressToken" in exchange.request.meta and bool(
        exchange.request.meta["progressToken"] == token
    )


def watches(exchange: Exchange, task: Json) -> bool:
    """Return True if a subscription covers a task."""
    wanted = array_at(exchange.request.params, "notifications", methods.TASK_IDS)
    return methods.of(exchange.method).stays_open and task in wanted


class Exchanges:
    """The exchanges of a session, by number; the pending ones are found without a search.

    Finished exchanges only serve to say what happened to the request of a late answer. A client
    that sends a hundred thousand calls must not slow down a session or fill the memory, so only the
    last ones are kept. The transcript has all of them.
    """

    def __init__(self) -> None:
        self.last = 0
        """The last number that was assigned. Numbers count from 1."""
        self._waiting: dict[int, Exchange] = {}
        self._awaiting_retry: set[int] = set()
        self._by_id: dict[tuple[str, str | int | float], set[int]] = {}
        self._over: dict[int, Exchange] = {}
        self._size = 0

    def get(self, number: int) -> Exchange | None:
        """Return the exchange with this number; None if it never existed or is forgotten."""
        return self._waiting.get(number) or self._over.get(number)

    def __getitem__(self, number: int) -> Exchange:
        """Return the exchange with this number.

        Raises:
            KeyError: there never was one, or it is forgotten.
        """
        found = self.get(number)
        if found is None:
            raise KeyError(number)
        return found

    @property
    def waiting(self) -> tuple[Exchange, ...]:
        """The exchanges that wait for an answer, oldest first."""
        return tuple(self._waiting.values())

    @property
    def awaiting_retry(self) -> tuple[Exchange, ...]:
        """The exchanges whose client was asked to retry, or may retry, oldest first."""
        return tuple(self._waiting[number] for number in sorted(self._awaiting_retry))

    @property
    def remembered(self) -> tuple[Exchange, ...]:
        """The pending exchanges and the finished ones that are still kept, in order of arrival."""
        every = self._over | self._waiting
        return tuple(every[number] for number in sorted(every))

    def same_id_pending(self, exchange: Exchange) -> tuple[Exchange, ...]:
        """Return the other pending exchanges with the same id, oldest first.

        MCP forbids them; some clients send them.
        """
        numbers = self._by_id.get(exchange.id.key, ())
        if len(numbers) < 2 and exchange.number in numbers:
            return ()
        return tuple(self._waiting[each] for each in sorted(numbers) if each != exchange.number)

    def put(self, exchange: Exchange) -> Exchange:
        """Add or replace an exchange. Return it."""
        number = exchange.number
        self.last = max(self.last, number)
        before = self._waiting.get(number)
        if before is not None:
            self._leave(before)
        if exchange.state is ExchangeState.PENDING:
            self._waiting[number] = exchange
            self._by_id.setdefault(exchange.id.key, set()).add(number)
            if exchange.stage is Stage.AWAITING_RETRY:
                self._awaiting_retry.add(number)
        elif before is not None:
            del self._waiting[number]
            self._over[number] = exchange
            self._size += len(exchange.request.raw)
            self._forget()
        return exchange

    def _leave(self, exchange: Exchange) -> None:
        self._awaiting_retry.discard(exchange.number)
        alike = self._by_id[exchange.id.key]
        alike.discard(exchange.number)
        if not alike:
            del self._by_id[exchange.id.key]

    def _forget(self) -> None:
        while len(self._over) > 1 and (
            len(self._over) > REMEMBERED or self._size > REMEMBERED_SIZE
        ):
            oldest = self._over.pop(next(iter(self._over)))
            self._size -= len(oldest.request.raw)


# -- the events of one line ---------------------------------------------------------------------


class RequestArrived(NamedTuple):
    """A request that needs an answer."""

    exchange: Exchange


class RequestRepeated(NamedTuple):
    """The client retried a request as it was asked to: the same exchange, a new id."""

    exchange: Exchange


class NoticeArrived(NamedTuple):
    """A notification; it needs no answer."""

    message: Message
    remarks: tuple[Diagnostic, ...] = ()


class RequestCancelled(NamedTuple):
    """The peer cancelled the request. Nothing more is written for this exchange."""

    exchange: Exchange
    reason: str


class RequestSuperseded(NamedTuple):
    """The peer continued without the response and no longer needs it."""

    exchange: Exchange


class ResponseArrived(NamedTuple):
    """A response to one of our requests; `request` is None if it belongs to none."""

    message: Message
    request: Message | None
    diagnostics: tuple[Diagnostic, ...] = ()


class UnreadableArrived(NamedTuple):
    """A line that is not a message. It gets no reply: two such programs would never stop."""

    malformed: Malformed


class LineReady(NamedTuple):
    """A line can be written that had to wait for others (the responses of a batch).

    `number` is that of the first request in the batch.
    """

    line: str
    number: int = 0


Event: TypeAlias = (
    RequestArrived
    | RequestRepeated
    | NoticeArrived
    | RequestCancelled
    | RequestSuperseded
    | ResponseArrived
    | UnreadableArrived
    | LineReady
)


# -- the results of a reply ---------------------------------------------------------------------


class Sent(NamedTuple):
    """The reply passed the check. The caller must write `line`; None until its batch is complete.

    `superseded` are the other open requests with the same id; they can no longer be answered.
    `completed_batches` are the batches that waited only for those; the caller must write them, too.
    """

    exchange: Exchange
    line: str | None
    own: str
    """The response itself, also while it waits for its batch."""
    verdict: Verdict
    deliberate: bool = False
    superseded: tuple[Exchange, ...] = ()
    completed_batches: tuple[LineReady, ...] = ()


class Refused(NamedTuple):
    """The reply did not pass the check; nothing is written."""

    exchange: Exchange
    verdict: Verdict


class Late(NamedTuple):
    """The request of this reply is over, or never existed."""

    exchange: Exchange | None


class AwaitingRetry(NamedTuple):
    """The client is about to retry the request: send the reply again after the retry."""

    exchange: Exchange


Outcome: TypeAlias = Sent | Refused | Late | AwaitingRetry
