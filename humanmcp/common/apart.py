"""Work on a stranger's text, for whom others wait: apart from them, and only while it is wanted.

`SERVED` says who serves others beside this work, and how. A command serves nobody else: without
it, the work is done where it is called.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_Item = TypeVar("_Item")

SMALL: Final = 64 * 1024
"""The size of a text that is worked on at once: the worst one takes about 50 ms."""
LARGE: Final = 1024 * 1024
"""The size of messages that are decoded or written at once: the worst one takes about 50 ms."""


class Visitor(Protocol):
    """Who wants the work."""

    def items(
        self, function: Callable[..., Iterable[_Item]], *arguments: object
    ) -> Iterator[_Item]:
        """Yield what a function of a module yields; it runs where it keeps nobody waiting."""

    def check(self) -> None:
        """Raise if the visitor has gone."""


VISITOR: Final[ContextVar[Visitor | None]] = ContextVar("visitor", default=None)


def items(
    size: int, function: Callable[..., Iterable[_Item]], *arguments: object
) -> Iterable[_Item]:
    """Return what a function of a module yields about a text of this size.

    Its arguments and what it yields are copied if the text is large.
    """
    visitor = VISITOR.get()
    if visitor is None or size <= SMALL:
        return function(*arguments)
    return visitor.items(function, *arguments)


def call(
    size: int, function: Callable[..., _Item], *arguments: object, at_once: int = SMALL
) -> _Item:
    """Return what a function of a module returns about a text of this size."""
    if size <= at_once:
        return function(*arguments)
    found: _Item
    (found,) = items(size, _once, function, *arguments)
    return found


def _once(function: Callable[..., _Item], *arguments: object) -> Iterator[_Item]:
    yield function(*arguments)


def while_wanted(steps: Iterable[_Item]) -> Iterator[_Item]:
    """Yield the steps of long work until its visitor has gone."""
    for step in steps:
        check()
        yield step


def check() -> None:
    """Raise before a step of long work if its visitor has gone."""
    visitor = VISITOR.get()
    if visitor is not None:
        visitor.check()
