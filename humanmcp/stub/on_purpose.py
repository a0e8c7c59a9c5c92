"""The text files for what is wrong on purpose: saved, sent as it is, and put away in `sent/`.

`out.anyway.txt` goes out although the check finds errors in it, `out.raw.txt` byte for byte, and
`out.do.txt` holds words for the server itself: `silence on`, `progress off`, `exit 3`, `crash`.
Knows files, and not what becomes of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.stub.watched import Watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.stub.place import Place
    from humanmcp.stub.sentbox import SentBox

ANYWAY: Final = "out.anyway.txt"
RAW: Final = "out.raw.txt"
DO: Final = "out.do.txt"
NAMES: Final = (ANYWAY, RAW, DO)

_EVERY: Final = 0.1
"""Seconds between two looks: these are for testing, and each look costs three calls."""


class Deliberate(NamedTuple):
    """What was saved in one of the files: its name and its bytes."""

    name: str
    content: bytes


class OnPurpose:
    """Watches the files in one folder."""

    def __init__(self, place: Place, sent: SentBox) -> None:
        """Leave alone what stood there before the session: nobody knows what it was meant for."""
        self._place = place
        self._sent = sent
        self._files = [Watched(name) for name in NAMES]
        self._next_look = -math.inf
        for file in self._files:
            file.settle(place.mark(file.name))

    @property
    def look_again(self) -> float | None:
        """When to look again at what somebody is writing; None while nobody does."""
        moments = [one.look_again for one in self._files]
        writing = [one for one in moments if one is not None]
        return max(min(writing), self._next_look) if writing else None

    def look(self, now: float) -> Iterator[Deliberate]:
        """Yield what was saved since the last look and has come to rest. It is put away first."""
        if now < self._next_look:
            return
        self._next_look = now + _EVERY
        for file in self._files:
            found = file.look(self._place, now)
            if isinstance(found, tuple) and found[0]:
                self._sent.take(file.name)
                file.settle(None)
                yield Deliberate(file.name, found[0])
