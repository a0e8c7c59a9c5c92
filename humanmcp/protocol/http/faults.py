"""The ways to break HTTP on purpose: the message is right, and what carries it is not.

Each says what becomes of a status, of headers and of a body; who sends them knows when. What a
good client does with it stands in `locales/`, by the name of the fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.http.headers import SESSION
from humanmcp.protocol.spec.faults import OF_HTTP, Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Pairs = tuple[tuple[str, str], ...]

INSTEAD: Final = frozenset({Fault.UNAUTHORIZED, Fault.LOST_SESSION, Fault.REDIRECT})
"""What stands in the place of an answer. Asked for by a person it meets the next POST, once."""

TAKEN_BACK: Final = "none"
"""What is asked for to take back a fault that no answer has met yet."""

ON_STREAM: Final = frozenset(
    {
        Fault.CUT_STREAM,
        Fault.NO_FINAL_EVENT,
        Fault.EVENT_TWICE,
        Fault.EVENT_WITHOUT_ID,
        Fault.SLOW_DRIP,
    }
)
"""What needs a stream: one begins for it."""

_NUMBERS: Final[Mapping[Fault, tuple[int, int, int]]] = {
    Fault.WRONG_STATUS: (500, 200, 599),
    Fault.CUT_STREAM: (20, 0, 1_000_000),
}
"""The number that a fault can be given: what it is without one, its least and its greatest."""


class HttpFault(NamedTuple):
    """A fault, and its number: a status, or how many bytes come before the end."""

    fault: Fault
    number: int = 0

    @classmethod
    def read(cls, text: str) -> HttpFault | None:
        """Read a name, and a number where the fault has one; None for anything else."""
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
        """Return the status that goes out in the place of the right one."""
        return self.number if self.fault is Fault.WRONG_STATUS else right

    def headers(self, right: Iterable[tuple[str, str]]) -> Pairs:
        """Return the headers that go out in the place of the right ones."""
        match self.fault:
            case Fault.WRONG_TYPE:
                return _with(right, "content-type", "text/html")
            case Fault.NO_TYPE:
                return tuple(pair for pair in right if pair[0] != "content-type")
            case Fault.OTHER_SESSION:
                return _with(right, SESSION, "another-session")
            case _:
                return tuple(right)

    def instead(self, path: str) -> tuple[int, Pairs]:
        """Return the status and the headers in the place of an answer. `path` is the endpoint's."""
        match self.fault:
            case Fault.UNAUTHORIZED:
                return 401, (("www-authenticate", "Bearer"),)
            case Fault.REDIRECT:
                return 307, (("location", f"{path}?once-more"),)
            case _:
                return 404, ()


def _with(right: Iterable[tuple[str, str]], name: str, value: str) -> Pairs:
    return (*(pair for pair in right if pair[0] != name), (name, value))
