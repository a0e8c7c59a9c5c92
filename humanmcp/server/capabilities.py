"""The capabilities of a server, in the order in which they hear each moment (`moments.py`).

Those of extensions come before the answer book: they may answer what it would answer.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Final

from humanmcp import extensions
from humanmcp.locales.stop import StopError
from humanmcp.protocol.answer_book.decision import BY_PERSON
from humanmcp.server.answer_book import AnswerBook
from humanmcp.server.front_end import FrontEnd
from humanmcp.server.keepalive import Keepalive
from humanmcp.server.moments import Capability
from humanmcp.server.orders import Orders
from humanmcp.server.parking import ParkedCalls

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.protocol.answer_book.decision import Decision
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.server.moments import Way


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
    brought = (partial(_guarded, *one) for one in extensions.parts("capabilities"))
    return (*_FIRST, *brought, *_LAST)


def _guarded(name: str, make: Callable[[Way], Capability | None], way: Way) -> Capability | None:
    """Make a capability of an extension whose faults stay in it.

    Raises:
        StopError, OSError: what a person asked it for cannot be done.
    """
    made = extensions.call(name, "capabilities", make, way, passes=(StopError, OSError))
    base = FrontEnd if isinstance(made, FrontEnd) else Capability
    instead = {"decide": _decide_without}
    return None if made is None else extensions.guard(name, made, base, instead=instead)


def _decide_without(
    _capability: Capability, exchange: Exchange, rest: Callable[[Exchange], Decision]
) -> Decision:
    """Leave a call to a person: it is not known what the capability would have kept from a rule."""
    return BY_PERSON if exchange.method == "tools/call" else rest(exchange)
