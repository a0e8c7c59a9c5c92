"""Notices: tell a person who is elsewhere that a request waits, with Apprise or ntfy.

`notices.toml` in the inbox folder says where notices go and how much of a request they contain.
There are none while somebody looks at a page of this desk. A failed notice is sent again while its
request waits.
"""

from __future__ import annotations

import fnmatch
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from humanmcp.answering.standing import Urgency
from humanmcp.answering.summary import place_of
from humanmcp.common import terminal
from humanmcp.desk.moments import Listener
from humanmcp.extensions.notices import ntfy
from humanmcp.extensions.notices.notice_rules import FILE, Detail, NoticesError, read_rules
from humanmcp.extensions.notices.notices import LOOK_EVERY, Planner, PressNotes, Service
from humanmcp.inbox.contract import Key, UnknownItemError
from humanmcp.locales.stop import sentence_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from humanmcp.answering.summary import Row
    from humanmcp.desk.desk import Desk
    from humanmcp.extensions.notices.notices import NoticeTarget

_log = logging.getLogger(__name__)

LOOKED_WITHIN: Final = 30.0
"""The seconds for which a page counts as looked at."""
AGAIN_AFTER: Final = 2.0
"""The seconds until a failed notice is sent again; doubled each time."""
LONGEST_WAIT: Final = 60.0


class Looked:
    """The time when somebody last looked at a page. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at: float | None = None

    def now(self) -> None:
        """Record that somebody looks at a page."""
        self._at = self._clock()

    def within(self, seconds: float) -> bool:
        """Return True if that was at most `seconds` ago."""
        return self._at is not None and self._clock() - self._at < seconds


@dataclass(slots=True)
class _Delivery:
    """A notice that its service has not accepted yet. `at` is when to send it, by the clock.

    `sender` is who asks, and in which folder.
    """

    sender: str
    at: float
    wait: float = AGAIN_AFTER


_NEVER: Final = float("inf")


class Notifier(Listener):
    """Sends the notices of a desk while it is served."""

    def __init__(self, home: Path) -> None:
        self.file = home / FILE
        self.targets: Sequence[NoticeTarget] = ()
        self.presses = PressNotes()
        self._looked = Looked()
        self._planner = Planner()
        self._deliveries: dict[tuple[int, Key], _Delivery] = {}
        self._ended = threading.Event()

    def begin(self, desk: Desk) -> None:
        """Read the rules, and start if there is a target. Without valid rules, say so."""
        try:
            rules, phones = read_rules(self.file)
            self.targets = (*map(Service, rules), *ntfy.phones_of(phones, desk.home))
        except NoticesError as error:  # the desk also works without notices
            terminal.to_stderr("humanmcp: ", sentence_of(error))
        self.watches = bool(self.targets)
        used = [one for one in self.targets if one.rule.detail is not Detail.NOTHING]
        for target in used:
            target.begin(desk, self.presses)
        if used:
            threading.Thread(
                target=self._work, args=(desk,), name="desk-notices", daemon=True
            ).start()

    def end(self) -> None:
        """Stop. Notices that are being sent are dropped."""
        self._ended.set()
        for target in self.targets:
            target.end()

    def looked(self) -> None:
        """Keep notices back: somebody looks at a page."""
        self._looked.now()

    def notes(self, key: Key) -> Sequence[str]:
        """Return what was pressed at a request and sent nothing."""
        return [note.sentence for note in self.presses.of(key)]

    def _work(self, desk: Desk) -> None:
        with ThreadPoolExecutor(4, "desk-notice") as senders:
            while not self._ended.wait(LOOK_EVERY):
                self._look(desk, senders)

    def _look(self, desk: Desk, senders: Executor) -> None:
        now, looked_at = time.monotonic(), self._looked.within(LOOKED_WITHIN)
        rows = desk.board.waiting()
        for row in self._planner.due(rows, now, looked_at=looked_at):
            self._plan(desk, row, now)
        rows = [] if looked_at else rows
        waiting = {row.key: row for row in rows if row.standing.urgency is not Urgency.NEVER}
        for place, delivery in list(self._deliveries.items()):
            if place[1] not in waiting:
                self._deliveries.pop(place, None)
            elif now >= delivery.at:
                delivery.at = _NEVER
                senders.submit(self._deliver, desk, place, delivery, waiting[place[1]])

    def _plan(self, desk: Desk, row: Row, now: float) -> None:
        try:
            facts = desk.board.session(row.key.session).facts
        except UnknownItemError:  # it ended meanwhile
            return
        for number, target in enumerate(self.targets):
            is_told = target.rule.detail is not Detail.NOTHING
            if is_told and fnmatch.fnmatchcase(facts.client, target.rule.client):
                self._deliveries[number, row.key] = _Delivery(place_of(facts), now)

    def _deliver(self, desk: Desk, place: tuple[int, Key], delivery: _Delivery, row: Row) -> None:
        try:
            is_taken = self.targets[place[0]].tell(desk, row, delivery.sender)
        except Exception:  # noqa: BLE001 - it is sent again
            _log.exception("a notice could not be sent")
            is_taken = False
        if is_taken:
            self._deliveries.pop(place, None)
        else:
            delivery.at = time.monotonic() + delivery.wait
            delivery.wait = min(delivery.wait * 2, LONGEST_WAIT)
