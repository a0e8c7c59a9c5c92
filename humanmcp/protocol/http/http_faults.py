"""The faults of an HTTP response that a person can order (`tables/faults.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.http.http_headers import SESSION
from humanmcp.protocol.http.outbound import PATH
from humanmcp.protocol.tables.faults import OF_HTTP, Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Pairs = tuple[tuple[str, str], ...]

INSTEAD: Final[Mapping[Fault, tuple[int, Pairs]]] = {
    Fault.UNAUTHORIZED: (401, (("www-authenticate", "Bearer"),)),
    Fault.LOST_SESSION: (404, ()),
    Fault.REDIRECT: (307, (("location", f"{PATH}?once-more"),)),
}
"""The faults that replace a response, and its status and headers.

If a person orders one, it applies to the next POST, once.
"""

TAKEN_BACK: Final = "none"
"""The word that cancels a fault which was not applied yet."""

ON_STREAM: Final = frozenset(
    {
        Fault.CUT_STREAM,
        Fault.NO_FINAL_EVENT,
        Fault.EVENT_TWICE,
        Fault.EVENT_WITHOUT_ID,
        Fault.SLOW_DRIP,
    }
)
"""The faults that need a stream; the server starts one for them."""

_NUMBERS: Final[Mapping[Fault, tuple[int, int, int]]] = {
    Fault.WRONG_STATUS: (500, 200, 599),
    Fault.CUT_STREAM: (20, 0, 1_000_000),
}
"""The number of a fault: its default, its minimum and its maximum."""


class HttpFault(NamedTuple):
    """A fault, and its number: a status, or how many bytes are sent before the end."""

    fault: Fault
    number: int = 0

    @classmethod
    def read(cls, text: str) -> HttpFault | None:
        """Read a fault's name, and a number if it has one; None for other texts."""
        name, _, number = text.partition(" ")
        fault = next((one for one in OF_HTTP if one.value == name), None)
        if fault is None:
            return None
        usual, least, most = _NUMBERS.get(fault, (0, 0, -1))
        if not number:
            return cls(fault, usual)
        known = len(number) < 10 and number.isascii() and number.isdigit()
        return cls(fault, int(number)) if known and least <= int(number) <= most else None

    def status(self, right: int) -> int:
        """Return the HTTP status to send instead of the right one."""
        return self.number if self.fault is Fault.WRONG_STATUS else right

    def headers(self, right: Iterable[tuple[str, str]]) -> Pairs:
        """Return the headers to send instead of the right ones."""
        match self.fault:
            case Fault.WRONG_TYPE:
                return _with(right, "content-type", "text/html")
            case Fault.NO_TYPE:
                return tuple(pair for pair in right if pair[0] != "content-type")
            case Fault.OTHER_SESSION:
                return _with(right, SESSION, "another-session")
            case _:
                return tuple(right)


def _with(right: Iterable[tuple[str, str]], name: str, value: str) -> Pairs:
    return (*(pair for pair in right if pair[0] != name), (name, value))
