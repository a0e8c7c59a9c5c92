"""Wait for a thing, with a bound. No test sleeps for a time and hopes."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

T = TypeVar("T")

PATIENCE: Final = 20.0
"""Seconds that anything may take before it counts as not happening, on the slowest machine."""
EVERY: Final = 0.005


def until(
    happened: Callable[[], T | None], what: str | Callable[[], str], within: float = PATIENCE
) -> T:
    """Return what `happened` returns as soon as that is true.

    It may read a file of another process that is not there yet. A function for `what` tells, at the
    end, what is there instead.

    Raises:
        AssertionError: it did not become true in time.
    """
    deadline = time.monotonic() + within
    while True:
        with suppress(FileNotFoundError):
            if result := happened():
                return result
        if time.monotonic() > deadline:
            told = what if isinstance(what, str) else what()
            raise AssertionError(f"waited {within:g} s in vain: {told}")
        time.sleep(EVERY)
