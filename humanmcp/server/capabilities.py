"""The capabilities of a server, in the order in which they hear each moment (`moments.py`).

Those of extensions come before the answer book: they may answer what it would answer.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from humanmcp import extensions
from humanmcp.server.answer_book import AnswerBook
from humanmcp.server.keepalive import Keepalive
from humanmcp.server.orders import Orders
from humanmcp.server.parking import ParkedCalls

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.server.moments import Capability, Way


_FIRST: Final[tuple[Callable[[Way], Capability | None], ...]] = (
    Keepalive,  # keeps a client from timing out while a request waits
    ParkedCalls,  # lets a person answer hours later, and a client come for the answer
)
_LAST: Final[tuple[Callable[[Way], Capability | None], ...]] = (
    AnswerBook,  # answers by a rule, or with what the book declares
    Orders,  # follows what people order: silence, bytes, an exit
)


@cache
def capabilities() -> tuple[Callable[[Way], Capability | None], ...]:
    """Return what makes each capability of a session, those of extensions too."""
    return (*_FIRST, *extensions.loaded("capabilities"), *_LAST)
