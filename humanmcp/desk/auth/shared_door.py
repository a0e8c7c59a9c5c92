"""One door for all desks of a database: who was let in at one of them may enter the others.

So a proxy may send each request of a browser to another desk. The keys, the code, the visits and
the token are one record there, in digests where a digest will do; each change is one transaction.
Where the database is away no new person is let in, and who was known is known.
"""

from __future__ import annotations

import json
import math
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from humanmcp.desk.auth.login import IDLE, Door, KnownVisit, digest, new_code
from humanmcp.inbox.contract import InboxError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.inbox.contract import SharedRecord

_KNOWN_FOR: Final = 1.0
"""Seconds after which it is looked again whether a visit was ended at another desk."""
_SEEN_EVERY: Final = 60.0
"""Seconds that two signs of life have to lie apart for the record to tell them apart."""


@dataclass
class SharedDoor(Door):
    """The door of a desk beside others. Its clock is the one on the wall, as theirs is."""

    record: SharedRecord = field(kw_only=True)
    _read_at: float = -math.inf
    _is_stale: bool = False

    def __post_init__(self) -> None:
        """Know who the others know."""
        self.clock = self.wall
        with self._changing():
            self._code = self._code or new_code()

    def knows_visit(self, visit: str) -> bool:
        """Return True if this names a visit that still counts, and note that it was seen."""
        self._catch_up(visit)
        knows = super().knows_visit(visit)
        if self._is_stale:
            self._is_stale = False
            with suppress(InboxError), self._changing():
                pass
        return knows

    def still_in(self, visit: str) -> bool:
        """Return True if a visit has not been ended, without counting as a sign of life."""
        self._catch_up(visit)
        return super().still_in(visit)

    def _catch_up(self, visit: str) -> None:
        """Read the record where it may say something else of a visit."""
        is_fresh = self.clock() - self._read_at < _KNOWN_FOR
        if not (is_fresh and digest(visit).hex() in self._visits):
            with suppress(InboxError), self._lock:
                self._load(self.record.read())

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._lock, self.record.changing() as box:
            self._load(box[0])
            yield
            box[0] = self._dumped()

    def _write(self) -> None:
        self._written = self.clock()
        self._is_stale = True

    def _load(self, text: str) -> None:
        self._read_at = self.clock()
        if not text:
            return
        known: dict[str, Any] = json.loads(text)
        before, self._code = self._code, known["code"]
        self.token, self._wrong, self._pause_until = known["token"], known["wrong"], known["pause"]
        self._keys = {bytes.fromhex(name): tuple(one) for name, one in known["keys"].items()}
        seen = {name: one.seen for name, one in self._visits.items()}
        self._visits = {
            name: KnownVisit(began, max(at, seen.get(name, at)), seat)
            for name, (began, at, seat) in known["visits"].items()
        }
        if before and before != self._code:
            self.tell(self.code)

    def _dumped(self) -> str:
        now = self.clock()
        visits = {
            name: [one.began, one.seen // _SEEN_EVERY * _SEEN_EVERY, one.seat]
            for name, one in self._visits.items()
            if now - one.seen < IDLE
        }
        record = {
            "code": self._code,
            "token": self.token,
            "wrong": self._wrong,
            "pause": self._pause_until,
            "keys": {name.hex(): one for name, one in self._keys.items()},
            "visits": visits,
        }
        return json.dumps(record)
