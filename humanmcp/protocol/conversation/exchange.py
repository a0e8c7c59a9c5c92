"""One request and what became of it.

The state table below is the whole life of an exchange; `docs/` draws its diagram from it.
"""

from __future__ import annotations

import enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import member
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.spec import methods
from humanmcp.protocol.spec.versions import META_SUBSCRIPTION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from humanmcp.protocol.diagnostics.locate import RawDiagnostic
    from humanmcp.protocol.diagnostics.model import Diagnostic, Verdict
    from humanmcp.protocol.json.jsonrpc import Json, Malformed, Message, RequestId


class ExchangeState(enum.StrEnum):
    """Where an exchange is in its life."""

    PENDING = "pending"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"


class Transition(enum.Enum):
    """What can happen to an exchange."""

    REPLY_SENT = "reply sent"
    CLIENT_CANCELLED = "client cancelled"
    SESSION_ENDED = "session ended"
    CLIENT_WENT_QUIET = "client went quiet"
    """It was asked to repeat a request (2026-07-28) and never did."""
    CLIENT_WENT_ON = "client went on"
    """It asked which versions there are, and opened a handshake without the answer."""
    ID_WAS_TAKEN = "id was taken"
    """Another request was open under the same id, and that one was answered."""


NEXT: Final[Mapping[tuple[ExchangeState, Transition], ExchangeState]] = MappingProxyType(
    {
        (ExchangeState.PENDING, Transition.REPLY_SENT): ExchangeState.ANSWERED,
        (ExchangeState.PENDING, Transition.CLIENT_CANCELLED): ExchangeState.CANCELLED,
        (ExchangeState.PENDING, Transition.SESSION_ENDED): ExchangeState.ABANDONED,
        (ExchangeState.PENDING, Transition.CLIENT_WENT_QUIET): ExchangeState.ABANDONED,
        (ExchangeState.PENDING, Transition.CLIENT_WENT_ON): ExchangeState.ABANDONED,
        (ExchangeState.PENDING, Transition.ID_WAS_TAKEN): ExchangeState.ABANDONED,
    }
)
"""What leads where. What is not listed changes nothing: the last three states are final."""


class NegotiatedState(NamedTuple):
    """What the conversation has established so far: what a check needs beside the request.

    `server_capabilities` are those that the server declared, None while it has declared none.
    `tools` are the tools of the last answer to `tools/list`, by name; None while there was none.
    `offered` are tools of the book that a client may call without having listed any.
    `prepared` are the lists of the answer book, as results by method: a draft starts from them.
    `server` is who the book says that we are; empty where it says nothing of it. `newly_prepared`:
    what is prepared has changed since `tools` were listed.
    """

    client_name: str = ""
    client_version: str = ""
    client_capabilities: Mapping[str, Any] = MappingProxyType({})
    server_capabilities: Mapping[str, Any] | None = None
    tools: Mapping[str, Any] | None = None
    initialized: bool = False
    prepared: Mapping[str, Any] = MappingProxyType({})
    server: Mapping[str, Any] = MappingProxyType({})
    newly_prepared: bool = False
    offered: Mapping[str, Any] = MappingProxyType({})

    @property
    def known_tools(self) -> Mapping[str, Any]:
        """The tools as the client knows them: listed, else as the book offers them."""
        return self.offered if self.tools is None else self.tools


NOTHING_ESTABLISHED: Final = NegotiatedState()


class TransportFacts(NamedTuple):
    """What a transport says of a request beside its line: HTTP does, in headers.

    `version` is what the request belongs to. `error` is what the specification has it answered
    with, None for a request that is in order; `found` says the same to people.
    """

    version: str
    error: Mapping[str, Any] | None = None
    found: tuple[RawDiagnostic, ...] = ()


CUT: Final = "cut"
"""Stands in `Exchange.awaiting_retry` where the client may ask the same again, without a state."""


class Exchange(NamedTuple):
    """One request and what became of it.

    `number` is our own, counted from 1 in a session: the peer's id may repeat, be huge, or be a
    path. `version` is what this request must be answered in. `batch` numbers the array that it came
    in (2025-03-26), 0 for none. `attempts` counts how often a 2026-07-28 client was asked to
    repeat the request while a person is at it; `awaiting_retry` is the `requestState` that the
    repeat will carry, "" when the client waits for an answer right now. `continues` is the number
    of the exchange whose question back to the user this one answers, 0 for none. `make_remarks`
    runs the check of the request: a request that is answered at once waits for no remarks.
    `transport_facts` is what the transport says of it. `direction` is where it came from: IN from
    the client, OUT from the server. A party and who observes one keep the same record.
    The answer to a `parked` one is fetched later: it says how (`rules/parking.py`), "" for no.
    """

    number: int
    request: Message
    version: str
    state: ExchangeState = ExchangeState.PENDING
    batch: int = 0
    attempts: int = 0
    awaiting_retry: str = ""
    continues: int = 0
    make_remarks: Callable[[], tuple[Diagnostic, ...]] = tuple
    transport_facts: TransportFacts | None = None
    direction: Direction = Direction.IN
    parked: str = ""

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """What the check says of the request."""
        return self.make_remarks()

    @property
    def id(self) -> RequestId:
        """The peer's id, as the reply must carry it."""
        if self.request.id is None:  # `Session` makes exchanges of requests only
            raise NoIdError(self.number)
        return self.request.id

    @property
    def method(self) -> str:
        """The method that was asked for."""
        return self.request.method

    @property
    def name(self) -> str:
        """The tool, the prompt or the address that was asked for; "" where there is none."""
        return name_of(self.request)

    @property
    def tool(self) -> str:
        """The tool of a `tools/call`, the prompt of a `prompts/get`; empty elsewhere."""
        name = self.request.params.get("name")
        return name if isinstance(name, str) else ""

    @property
    def progress_token(self) -> str | None:
        """The token for progress notifications, as the client wrote it; None without a usable one.

        MCP, progress: "Progress tokens MUST be a string or integer value".
        """
        value = self.request.meta.get("progressToken")
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            return None
        return member(self.request.raw, "params", "_meta", "progressToken")

    def after(self, transition: Transition) -> Exchange:
        """Return the exchange after something happened; itself where that changes nothing."""
        state = NEXT.get((self.state, transition))
        return self if state is None else self._replace(state=state)


def name_of(message: Message) -> str:
    """Return the tool, the prompt or the address that a request asks for; "" for none."""
    for key in ("name", "uri"):
        name = message.params.get(key)
        if isinstance(name, str):
            return name
    return ""


class NoIdError(LookupError):
    """An exchange was made of a message without an id."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    def __str__(self) -> str:
        """Return what is wrong."""
        return f"exchange {self.number} has no request id: make exchanges of requests only"


REMEMBERED: Final = 1_000
"""How many requests that are over are remembered, at most."""

REMEMBERED_SIZE: Final = 4 * 1024 * 1024
"""How long the lines of those may be together, in characters. The last one stays, however long."""


def related_to(message: Message, pending: Sequence[Exchange]) -> int:
    """Return the number of the request that a message of our own belongs to, 0 for none.

    A notification names it by its token, or by the id of the subscription. Anything else belongs to
    the request that came last: "These messages SHOULD relate to the originating client request".
    What tells of a change belongs to none, what tells of a task to the subscription that names it.
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
    """Return True if a subscription asked to hear of a task."""
    wanted = follow(exchange.request.params, "notifications", methods.TASK_IDS)
    return methods.of(exchange.method).stays_open and isinstance(wanted, list) and task in wanted


class Exchanges:
    """Finds an exchange by its number, and those that wait without looking at the others.

    What is over is remembered for one purpose: to tell a late answer what became of its request.
    A client that calls a hundred thousand times must neither slow a session down nor fill the
    memory, so only the last ones are. The transcript has them all.
    """

    def __init__(self) -> None:
        self.last = 0
        """The number that was given last. They count from 1."""
        self._waiting: dict[int, Exchange] = {}
        self._awaiting_retry: set[int] = set()
        self._by_id: dict[tuple[str, str | int | float], set[int]] = {}
        self._over: dict[int, Exchange] = {}
        self._size = 0

    def get(self, number: int) -> Exchange | None:
        """Return the exchange with this number; None if there never was one, or it is forgotten."""
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
        """Those that wait for an answer, oldest first."""
        return tuple(self._waiting.values())

    @property
    def awaiting_retry(self) -> tuple[Exchange, ...]:
        """Those whose client was asked to repeat them, or may do so, oldest first."""
        return tuple(self._waiting[number] for number in sorted(self._awaiting_retry))

    @property
    def remembered(self) -> tuple[Exchange, ...]:
        """Those that wait and those that are over and not forgotten, in the order they came in."""
        every = self._over | self._waiting
        return tuple(every[number] for number in sorted(every))

    def same_id_pending(self, exchange: Exchange) -> tuple[Exchange, ...]:
        """Those that wait under the same id as this one, oldest first."""
        numbers = self._by_id.get(exchange.id.key, ())
        if len(numbers) < 2 and exchange.number in numbers:
            return ()
        return tuple(self._waiting[each] for each in sorted(numbers) if each != exchange.number)

    def put(self, exchange: Exchange) -> Exchange:
        """Add an exchange, or the next state of one. Returns it."""
        number = exchange.number
        self.last = max(self.last, number)
        before = self._waiting.get(number)
        if before is not None:
            self._leave(before)
        if exchange.state is ExchangeState.PENDING:
            self._waiting[number] = exchange
            self._by_id.setdefault(exchange.id.key, set()).add(number)
            if exchange.awaiting_retry:
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


# -- what happened: the events of one line ------------------------------------------------------


class RequestArrived(NamedTuple):
    """A request that wants an answer."""

    exchange: Exchange


class RequestRepeated(NamedTuple):
    """The client repeated a request that it was asked to retry: the same exchange, a new id."""

    exchange: Exchange


class NoticeArrived(NamedTuple):
    """A notification: nothing to answer."""

    message: Message
    remarks: tuple[Diagnostic, ...] = ()


class RequestCancelled(NamedTuple):
    """The peer no longer wants an answer. Nothing more is written for this exchange."""

    exchange: Exchange
    reason: str


class RequestSuperseded(NamedTuple):
    """The peer went on without the answer: it wants none any more."""

    exchange: Exchange


class ResponseArrived(NamedTuple):
    """An answer to a request of our own; `request` is None when it belongs to none."""

    message: Message
    request: Message | None
    diagnostics: tuple[Diagnostic, ...] = ()


class UnreadableArrived(NamedTuple):
    """A line that is no message. Nothing is written in reply: that is how storms begin."""

    malformed: Malformed


class LineReady(NamedTuple):
    """A line is to be written that had to wait for others (the answers of a batch).

    `number` is the batch's: that of its first request.
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


# -- what became of a reply ---------------------------------------------------------------------


class Sent(NamedTuple):
    """The reply passed. `line` is to be written now; None while its batch is not complete.

    `superseded` are the other requests that were open under the same id: they can no longer be
    answered. `completed_batches` are those that waited for these only; they are written, too.
    """

    exchange: Exchange
    line: str | None
    own: str
    """The answer itself, also where it waits for its batch."""
    verdict: Verdict
    deliberate: bool = False
    superseded: tuple[Exchange, ...] = ()
    completed_batches: tuple[LineReady, ...] = ()


class Refused(NamedTuple):
    """The reply did not pass; nothing is to be written."""

    exchange: Exchange
    verdict: Verdict


class Late(NamedTuple):
    """No request waits for this reply any more, or none ever did."""

    exchange: Exchange | None


class AwaitingRetry(NamedTuple):
    """The client is just about to repeat the request: try again when it has."""

    exchange: Exchange


Outcome: TypeAlias = Sent | Refused | Late | AwaitingRetry
