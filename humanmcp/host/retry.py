"""Try again when a service has no room, and only then: after 1, 2, 4, 8 and 16 seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from humanmcp.host.models import ModelError, OverloadedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

MOST: Final = 5
FIRST: Final = 1.0
LONGEST: Final = 30.0


def pauses(most: int = MOST) -> Iterator[float]:
    """Yield the seconds before each new attempt: doubling, 30 at most."""
    for attempt in range(most):
        yield min(LONGEST, FIRST * 2**attempt)


def with_retries(
    attempt: Callable[[], T],
    sleep: Callable[[float], None],
    *,
    told: Callable[[float], None] = lambda _seconds: None,
    most: int = MOST,
) -> T:
    """Return what the attempt returns. `told` hears of each pause before it begins.

    Raises:
        ModelError: as the attempt, or because the service stays overloaded.
    """
    for pause in pauses(most):
        try:
            return attempt()
        except OverloadedError:
            told(pause)
            sleep(pause)
    try:
        return attempt()
    except OverloadedError as error:
        raise ModelError("overloaded") from error
