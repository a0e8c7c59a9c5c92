"""What a session makes of a received line, and of a reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.diagnostics.model import Diagnostic, Verdict
    from humanmcp.protocol.json.jsonrpc import Malformed, Message


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
