"""Notices: tell a person who is elsewhere that a request waits, with Apprise or ntfy.

`notices.toml` in the inbox folder says where notices go and how much of a request they contain.
Each request has one notice, and another before its client gives up; a prompt of an agent's hook has
one: its agent then decides itself. There are none while somebody looks at a page of this desk. A
failed notice is sent again while its request waits.
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
from humanmcp.answering.summary import place_of, row_title
from humanmcp.desk.desk import NoticeTarget
from humanmcp.desk.notices.notice_rules import SECTION, Detail, NoticesError, load_apprise
from humanmcp.inbox.contract import Key, UnknownItemError
from humanmcp.locales import say
from humanmcp.protocol.validation.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Executor
    from typing import Self

    from humanmcp.answering.summary import Row
    from humanmcp.desk.desk import Desk
    from humanmcp.desk.notices.notice_rules import Rule

_log = logging.getLogger(__name__)

SETTLED_AFTER: Final = 1.0
"""The seconds after which an unanswered request has a notice."""
BOOK_SOON: Final = 30.0
"""The seconds within which an automatic answer makes a notice unnecessary."""
BEFORE_LIMIT: Final = 30.0
"""The seconds before its client gives up in which a request has its second notice."""
LOOKED_WITHIN: Final = 30.0
"""The seconds for which a page counts as looked at."""
LOOK_EVERY: Final = 0.25
"""The seconds between two looks at what waits."""
AGAIN_AFTER: Final = 2.0
"""The seconds until a failed notice is sent again; doubled each time."""
LONGEST_WAIT: Final = 60.0


class Service(NoticeTarget):
    """A service of Apprise."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule, rule.to.partition("://")[0])

    def send(self, desk: Desk, row: Row | None, sender: str) -> None:
        """Send a notice with the link."""
        text = say(SECTION, "waits" if row else "try")
        if row is not None and self.rule.detail is Detail.QUESTION:
            text = without_secrets(f"{sender}: {row_title(row) or row.method} {row.gist}".strip())
        link = link_to(desk, row, f"http://127.0.0.1:{desk.address.port}")
        service = load_apprise().Apprise()
        service.add(self.rule.to)
        try:
            taken = service.notify(title="humanmcp", body=f"{text}\n{link}")
        except Exception as error:
            raise NoticesError("not taken") from error  # each service has other exceptions
        if not taken:
            raise NoticesError("not taken")


def link_to(desk: Desk, row: Row | None, otherwise: str = "") -> str:
    """Return the address of a request for another device.

    `otherwise` is its beginning if no other device reaches the desk; without it, return "".
    """
    start = desk.address.elsewhere or otherwise
    return f"{start}/m/{row.anchor}" if start and row else start


class Planner:
    """Decides which waiting requests need a notice now.

    The waiting time is measured by our monotonic clock, because the arrival time is from the clock
    of another process, perhaps on another computer. `wall` returns seconds since 1970.
    """

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._told: dict[Key, int] = {}
        self._came: dict[Key, float] | None = None

    def due(self, rows: Iterable[Row], now: float, *, looked_at: bool) -> list[Row]:
        """Return the requests that need a notice; a request that somebody looks at does not.

        `now` is in seconds of any clock.
        """
        rows = list(rows)
        self._came = {row.key: self._when(row, now) for row in rows}
        rows = [row for row in rows if row.standing.urgency is not Urgency.NEVER]
        self._told = {row.key: self._told.get(row.key, 0) for row in rows}
        found = []
        for row in rows:
            told = self._told[row.key]
            if (wanted := _wanted(row, now - self._came[row.key])) > told:
                self._told[row.key] = wanted
                if not looked_at:
                    found.append(row)
        return found

    def _when(self, row: Row, now: float) -> float:
        """Return when a request came: after the last look if it was not there then."""
        if self._came is not None and row.key in self._came:
            return self._came[row.key]
        waited = max(0.0, self._wall() - row.arrived)
        return now - (waited if self._came is None else min(waited, LOOK_EVERY))


def _wanted(row: Row, waited: float) -> int:
    """Return the number of notices that a request should have after so many seconds."""
    waiting = row.waiting
    book_at = waiting.answers_at
    if waited < SETTLED_AFTER or (book_at is not None and book_at - waited < BOOK_SOON):
        return 0
    limit = None if row.asker.is_hook else waiting.limit
    return 2 if limit is not None and waited > max(limit - BEFORE_LIMIT, limit / 2) else 1


@dataclass(slots=True)
class _Delivery:
    """A notice that its service has not accepted yet. `at` is when to send it, by the clock.

    `sender` is who asks, and in which folder.
    """

    sender: str
    at: float
    wait: float = AGAIN_AFTER


_NEVER: Final = float("inf")


class Notifier:
    """Sends the notices of a desk within a `with` block."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._targets = [one for one in desk.notices if one.rule.detail is not Detail.NOTHING]
        self._planner = Planner()
        self._deliveries: dict[tuple[int, Key], _Delivery] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="desk-notices", daemon=True)

    def __enter__(self) -> Self:
        """Start, if there is a target."""
        for target in self._targets:
            target.begin(self._desk)
        if self._targets:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop. Notices that are being sent are dropped."""
        self._ended.set()
        for target in self._targets:
            target.end()

    def _work(self) -> None:
        with ThreadPoolExecutor(4, "desk-notice") as senders:
            while not self._ended.wait(LOOK_EVERY):
                self._look(senders)

    def _look(self, senders: Executor) -> None:
        now, looked_at = time.monotonic(), self._desk.looked.within(LOOKED_WITHIN)
        rows = self._desk.board.waiting()
        for row in self._planner.due(rows, now, looked_at=looked_at):
            self._plan(row, now)
        rows = [] if looked_at else rows
        waiting = {row.key: row for row in rows if row.standing.urgency is not Urgency.NEVER}
        for place, delivery in list(self._deliveries.items()):
            if place[1] not in waiting:
                self._deliveries.pop(place, None)
            elif now >= delivery.at:
                delivery.at = _NEVER
                senders.submit(self._deliver, place, delivery, waiting[place[1]])

    def _plan(self, row: Row, now: float) -> None:
        try:
            facts = self._desk.board.session(row.key.session).facts
        except UnknownItemError:  # it ended meanwhile
            return
        for number, target in enumerate(self._targets):
            if fnmatch.fnmatchcase(facts.client, target.rule.client):
                self._deliveries[number, row.key] = _Delivery(place_of(facts), now)

    def _deliver(self, place: tuple[int, Key], delivery: _Delivery, row: Row) -> None:
        try:
            is_taken = self._targets[place[0]].tell(self._desk, row, delivery.sender)
        except Exception:  # noqa: BLE001 - it is sent again
            _log.exception("a notice could not be sent")
            is_taken = False
        if is_taken:
            self._deliveries.pop(place, None)
        else:
            delivery.at = time.monotonic() + delivery.wait
            delivery.wait = min(delivery.wait * 2, LONGEST_WAIT)
