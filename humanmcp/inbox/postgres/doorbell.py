"""The bells of a database: who has changed something rings, and who waits looks.

A ring is `NOTIFY humanmcp` with the number of an inbox, and nothing else: it wakes, and a look at
the tables decides. So it may be lost, and rings that come close together are one.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from humanmcp.inbox.contract import InboxError

if TYPE_CHECKING:
    from collections.abc import Callable

PAUSE: Final = 0.05
"""Seconds between two rings for one inbox: PostgreSQL lets one transaction with a ring end after
the other (https://www.postgresql.org/docs/current/sql-notify.html), so a ring is one of its own."""


class Ringer:
    """Rings at once, and for what comes within the pause after it once more at its end."""

    def __init__(self, ring: Callable[[int], object]) -> None:
        """Ring by calling `ring` with the number of an inbox."""
        self._ring = ring
        self._changing = threading.Condition()
        self._rung: dict[int, float] = {}
        self._late: set[int] = set()
        self._thread: threading.Thread | None = None

    def ring(self, inbox: int) -> None:
        """Ring for this inbox."""
        with self._changing:
            now = time.monotonic()
            if now - self._rung.get(inbox, -PAUSE) < PAUSE:
                self._later(inbox)
                return
            self._rung[inbox] = now
        self._call(inbox)

    def _later(self, inbox: int) -> None:
        self._late.add(inbox)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="ringer", daemon=True)
            self._thread.start()
        self._changing.notify()

    def _work(self) -> None:
        while True:
            with self._changing:
                self._changing.wait_for(lambda: self._late)
            time.sleep(PAUSE)
            self.flush()

    def flush(self) -> None:
        """Ring now for what came within a pause."""
        with self._changing:
            late, self._late = self._late, set()
            self._rung.update(dict.fromkeys(late, time.monotonic()))
        for inbox in late:
            self._call(inbox)

    def _call(self, inbox: int) -> None:
        with suppress(InboxError):  # the database is away: who waits looks when it is back
            self._ring(inbox)
