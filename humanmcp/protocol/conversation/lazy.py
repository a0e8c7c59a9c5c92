"""A value that is worked out when somebody first asks for it, and never if nobody does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Value = TypeVar("_Value")


class Lazy(Generic[_Value]):
    """Calls `work`, which must be pure, the first time that it is called itself."""

    __slots__ = ("_found", "_work")

    def __init__(self, work: Callable[[], _Value]) -> None:
        """Do nothing yet."""
        self._work = work
        self._found: list[_Value] = []

    def __call__(self) -> _Value:
        """Return the value."""
        if not self._found:
            self._found.append(self._work())
        return self._found[0]
