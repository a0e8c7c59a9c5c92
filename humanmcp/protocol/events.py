"""What a session says: what happened when a line came in, and what became of a reply.

Events are in the past tense. All of them are frozen values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from humanmcp.protocol.exchange import Exchange
    from humanmcp.protocol.messages import Malformed, Message
    from humanmcp.protocol.problems import Problem
    from humanmcp.protocol.verdict import Verdict

# -- what happened: the events of one line ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RequestArrived:
    """A request that wants an answer."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class RequestRepeated:
    """The client repeated a request that it was asked to hold: the same exchange, a new id."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class NoticeArrived:
    """A notification: nothing to answer."""

    message: Message
    remarks: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestCancelled:
    """The peer no longer wants an answer. Nothing more is written for this exchange."""

    exchange: Exchange
    reason: str


@dataclass(frozen=True, slots=True)
class ResponseArrived:
    """An answer to a request of our own; `asked` is None when it belongs to none."""

    message: Message
    asked: Message | None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class UnreadableArrived:
    """A line that is no message. Nothing is written in reply: that is how storms begin."""

    malformed: Malformed


@dataclass(frozen=True, slots=True)
class LineReady:
    """A line is to be written that had to wait for others (the answers of a batch)."""

    line: str


Event: TypeAlias = (
    RequestArrived
    | RequestRepeated
    | NoticeArrived
    | RequestCancelled
    | ResponseArrived
    | UnreadableArrived
    | LineReady
)


# -- what became of a reply ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sent:
    """The reply passed. `line` is to be written now; None while its batch is not complete.

    `overtaken` are the other requests that were open under the same id: nobody can answer them any
    more. `freed` are the batches that waited for nothing but those; they are to be written, too.
    """

    exchange: Exchange
    line: str | None
    own: str
    """The answer itself, also where it waits for its batch."""
    verdict: Verdict
    deliberate: bool = False
    overtaken: tuple[Exchange, ...] = ()
    freed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """The reply did not pass; nothing is to be written."""

    exchange: Exchange
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Late:
    """Nobody waits for this reply any more, or nobody ever did."""

    exchange: Exchange | None


@dataclass(frozen=True, slots=True)
class Parked:
    """The client is just about to repeat the request: try again when it has."""

    exchange: Exchange


Outcome: TypeAlias = Sent | Refused | Late | Parked
