"""Wait for what another process does with what was handed in.

Whoever has a wake of its own (the page's board) passes it; the others look again after short naps
that grow, so that an answer is seen within milliseconds and a slow process costs little.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    Wake: TypeAlias = Callable[[float], object]
    """Waits until something may have changed, and no longer than so many seconds."""

T = TypeVar("T")

FIRST_NAP: Final = 0.002
LONGEST_NAP: Final = 0.05
_GROWTH: Final = 1.5


def nap(seconds: float) -> None:
    """Wait without a wake."""
    time.sleep(seconds)


def await_result(look: Callable[[], T | None], within: float, wake: Wake = nap) -> T | None:
    """Return what `look` finds; None when it has found nothing after so many seconds."""
    end = time.monotonic() + within
    pause = FIRST_NAP
    while (found := look()) is None and (left := end - time.monotonic()) > 0:
        wake(min(pause, left))
        pause = min(pause * _GROWTH, LONGEST_NAP)
    return found
