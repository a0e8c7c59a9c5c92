"""What a session says: what happened when a line came in, and what became of a reply.

Events are in the past tense. All of them are frozen values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.diagnostics.verdict import Verdict
    from humanmcp.protocol.json.jsonrpc import Malformed, Message

# -- what happened: the events of one line ------------------------------------------------------


class RequestArrived(NamedTuple):
    """A request that wants an answer."""

    exchange: Exchange


class RequestRepeated(NamedTuple):
    """The client repeated a request that it was asked to hold: the same exchange, a new id."""

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
