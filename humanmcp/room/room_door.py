"""Who may enter a room, and as what: the code, the keys, and the visits that follow from them.

Everybody who is known has a *key*, and each key leads to a place of its own (`/~…/`) with a cookie
that counts there alone. Both follow from the key: a room that was killed knows its visitors again.
Knows secrets and the clock; nothing of HTTP.
"""

from __future__ import annotations

import base64
import enum
import hmac
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.desk.auth.login import LETTERS, Door, digest, parts_of, start_of, visit_of

if TYPE_CHECKING:
    from collections.abc import Callable

JOINS: Final = 40
"""People who join from one address at once, and in each minute after that."""
_MOST_ADDRESSES: Final = 10_000


class VisitorKind(enum.Enum):
    """As what a visitor is in the room."""

    TEACHER = "teacher"
    LEARNER = "learner"
    WATCHER = "watcher"
    """The teacher, at a learner's seat."""
    GUEST = "guest"
    """Who sees the wall and nothing else."""
    KNOCKER = "knocker"
    """Who waits at the door."""


class Visitor(NamedTuple):
    """Who a visitor is. `seat` is the number of a seat, or that of a knock; 0 for none."""

    kind: VisitorKind
    seat: int = 0


class RateLimit:
    """Allows each address `most` things at once, and as many in each minute after that."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        """Begin with nothing taken."""
        self._most, self._clock = most, clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, address: str) -> bool:
        """Take one; False where none is left."""
        if len(self._left) > _MOST_ADDRESSES:
            self._left.clear()
        now = self._clock()
        left, at = self._left.get(address, (float(self._most), now))
        left = min(self._most, left + (now - at) * self._most / 60)
        self._left[address] = (left - 1 if left >= 1 else left, now)
        return left >= 1


@dataclass
class RoomDoor(Door):
    """The door of a room: it knows its visitors by their keys, and no script by a token."""

    seen: dict[Visitor, float] = field(default_factory=dict)
    """When each was seen last, by the clock of the door."""
    _visitors: dict[bytes, Visitor] = field(default_factory=dict)
    _by_key: dict[bytes, Visitor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Count who joins from each address."""
        self.joins = RateLimit(JOINS, self.clock)

    def admit(self, visitor: Visitor, key: str) -> None:
        """Know who comes with this key from now on."""
        self._visitors[digest(visit(visitor, key))] = visitor
        if visitor.kind is not VisitorKind.WATCHER:
            self._by_key[digest(key)] = visitor

    def dismiss(self, visitor: Visitor) -> None:
        """Know a visitor no more."""
        for known in (self._visitors, self._by_key):
            for gone in [one for one, who in known.items() if who == visitor]:
                del known[gone]

    def who(self, visit: str) -> Visitor | None:
        """Return who a visit belongs to."""
        return self._visitors.get(digest(visit))

    def holder(self, key: str) -> Visitor | None:
        """Return whose key this is."""
        return self._by_key.get(digest(key))

    # -- what the guard asks --------------------------------------------------------------------

    def knows_token(self, token: str) -> bool:  # noqa: ARG002 - no script is known by one
        """Return False: there is no token for everything in a room."""
        return False

    def knows_visit(self, visit: str) -> bool:
        """Return True if this names a visit, and note that its visitor was seen."""
        found = self.who(visit)
        if found is not None:
            self.seen[found] = self.clock()
        return found is not None

    def still_in(self, visit: str) -> bool:
        """Return True as long as the visitor is known."""
        return self.who(visit) is not None

    def leave(self, visit: str) -> None:
        """Do nothing: the browser forgets its cookie, and the key stays good."""


def fits(typed: str, code: str) -> bool:
    """Compare what a person typed with a code."""
    plain = unicodedata.normalize("NFKC", typed[:64]).upper()  # full width: Japanese keyboards
    return hmac.compare_digest("".join(one for one in plain if one in LETTERS), code)


def visit(visitor: Visitor, key: str) -> str:
    """Return the visit that follows from a key: its place and its cookie."""
    name = f"{visitor.kind.value} {visitor.seat}"
    return visit_of(_derived(key, f"place {name}")[:22], _derived(key, f"cookie {name}"))


def place(visitor: Visitor, key: str) -> str:
    """Return what the addresses of a visitor begin with."""
    return start_of(parts_of(visit(visitor, key))[0])


def _derived(key: str, purpose: str) -> str:
    signed = hmac.digest(key.encode(), purpose.encode(), "sha256")
    return base64.urlsafe_b64encode(signed).decode().rstrip("=")
