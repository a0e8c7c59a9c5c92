"""The stages of an exchange, and the table of every step from one to another.

`docs/` draws its diagram from `NEXT`.
"""

from __future__ import annotations

import enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


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


STATES: Final[Mapping[Stage, ExchangeState]] = {
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
