"""One request and what became of it.

The state table below is the whole life of an exchange; `docs/` draws its diagram from it.
"""

from __future__ import annotations

import enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.json.jsonrpc import member

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.diagnostics.raw import RawDiagnostic
    from humanmcp.protocol.json.jsonrpc import Message, RequestId


class ExchangeState(enum.Enum):
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
    """It asked which revisions there are, and opened a handshake without the answer."""
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


class Established(NamedTuple):
    """What the conversation has established so far: what a check needs beside the request.

    `offered` are the capabilities that our side declared, None while it has declared none.
    `tools` are the tools of the last answer to `tools/list`, by name; None while there was none.
    `prepared` are the lists of the answer book, as results by method: a draft starts from them.
    `server` is who the book says that we are; empty where it says nothing of it. `newly_prepared`:
    what is prepared has changed since `tools` were listed.
    """

    client_name: str = ""
    client_version: str = ""
    client_capabilities: Mapping[str, Any] = MappingProxyType({})
    offered: Mapping[str, Any] | None = None
    tools: Mapping[str, Any] | None = None
    initialized: bool = False
    prepared: Mapping[str, Any] = MappingProxyType({})
    server: Mapping[str, Any] = MappingProxyType({})
    newly_prepared: bool = False


NOTHING_ESTABLISHED: Final = Established()


class TransportFacts(NamedTuple):
    """What a transport says of a request beside its line: HTTP does, in headers.

    `revision` is what the request belongs to. `error` is what the specification has it answered
    with, None for a request that is in order; `found` says the same to people.
    """

    revision: str
    error: Mapping[str, Any] | None = None
    found: tuple[RawDiagnostic, ...] = ()


CUT: Final = "cut"
"""Stands in `Exchange.awaiting_retry` where the client may ask the same again, without a state."""


class Exchange(NamedTuple):
    """One request and what became of it.

    `number` is our own, counted from 1 in a session: the peer's id may repeat, be huge, or be a
    path. `revision` is what this request must be answered in. `batch` numbers the array that it
    came in (2025-03-26), 0 for none. `attempts` counts how often a 2026-07-28 client was asked to
    repeat the request while a person is at it; `awaiting_retry` is the `requestState` that the
    repeat will carry, "" when the client waits for an answer right now. `continues` is the number
    of the exchange whose question back to the user this one answers, 0 for none. `make_remarks`
    runs the check of the request: a request that is answered at once waits for no remarks.
    `transport_facts` is what the transport says of it.
    """

    number: int
    request: Message
    revision: str
    state: ExchangeState = ExchangeState.PENDING
    batch: int = 0
    attempts: int = 0
    awaiting_retry: str = ""
    continues: int = 0
    make_remarks: Callable[[], tuple[Diagnostic, ...]] = tuple
    transport_facts: TransportFacts | None = None

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


class NoIdError(LookupError):
    """An exchange was made of a message without an id."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    def __str__(self) -> str:
        """Return what is wrong."""
        return f"exchange {self.number} has no request id: make exchanges of requests only"
