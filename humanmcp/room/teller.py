"""Tells pages that something has changed, but not more often than people can look."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

EVERY: Final = 0.3
"""Seconds between two tellings: thirty people type at once."""


class Broadcaster:
    """Calls `act` after `tell`, soon and once for many. An attendant attends to it."""

    def __init__(self, act: Callable[[], object]) -> None:
        """Begin with nothing to tell."""
        self._act = act
        self._wake: Callable[[], object] = lambda: None
        self._pending = False
        self._not_before = 0.0

    def tell(self) -> None:
        """Let it be told. Callable from any thread."""
        self._pending = True
        self._wake()

    # -- attended -------------------------------------------------------------------------------

    def begin(self, wake: Callable[[], object]) -> None:
        """Learn how to be woken."""
        self._wake = wake

    def step(self, now: float) -> float | None:
        """Tell what is to be told, unless that was done just now."""
        if not self._pending:
            return math.inf
        if now < self._not_before:
            return self._not_before
        self._pending, self._not_before = False, now + EVERY
        self._act()
        return math.inf

    def leave(self) -> None:
        """Do nothing."""
