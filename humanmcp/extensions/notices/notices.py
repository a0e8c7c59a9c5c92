"""When a request needs a notice, and where notices go.

Each request has one notice, and another before its client gives up; a prompt of an agent's hook has
one: its agent then decides itself.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.answering.standing import Urgency
from humanmcp.answering.summary import row_title
from humanmcp.extensions.notices.notice_rules import SECTION, Detail, NoticesError, load_apprise
from humanmcp.inbox.contract import Key, UnknownItemError
from humanmcp.locales import say
from humanmcp.locales.stop import StopError, sentence_of
from humanmcp.protocol.validation.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from humanmcp.answering.summary import Row
    from humanmcp.desk.desk import Desk
    from humanmcp.extensions.notices.notice_rules import Rule

_log = logging.getLogger(__name__)

SETTLED_AFTER: Final = 1.0
"""The seconds after which an unanswered request has a notice."""
BOOK_SOON: Final = 30.0
"""The seconds within which an automatic answer makes a notice unnecessary."""
BEFORE_LIMIT: Final = 30.0
"""The seconds before its client gives up in which a request has its second notice."""
LOOK_EVERY: Final = 0.25
"""The seconds between two looks at what waits."""


class PressNote(NamedTuple):
    """A press that sent nothing: the `code` of its sentence, and `at` in seconds since 1970."""

    at: float
    code: str
    device: str
    key: Key = Key("", 0)
    label: str = ""

    @property
    def sentence(self) -> str:
        return say(
            "ntfy",
            f"press {self.code}",
            device=self.device,
            label=self.label,
            number=self.key.number,
        )


class PressNotes:
    """The presses that sent nothing, newest first, for people at the desk."""

    def __init__(self) -> None:
        self._notes: deque[PressNote] = deque(maxlen=50)

    def add(self, note: PressNote) -> None:
        """Add a note; it replaces the last one if that is of the same kind."""
        if self._notes and self._notes[0]._replace(at=0) == note._replace(at=0):
            self._notes.popleft()
        else:
            _log.warning("%s", note.sentence)
        self._notes.appendleft(note)

    def all(self) -> tuple[PressNote, ...]:
        return tuple(self._notes)

    def of(self, key: Key) -> tuple[PressNote, ...]:
        return tuple(note for note in self.all() if note.key == key)


class NoticeTarget:
    """A target of notices. `trouble` is why the last one failed, None if it did not."""

    def __init__(self, rule: Rule, name: str) -> None:
        """Send by this rule. `name` can be logged; the address of a service is a secret."""
        self.rule = rule
        self.name = name
        self.trouble: StopError | None = None
        self.reply_trouble: StopError | None = None
        """Why answers cannot be read there now; None if they can, or need not be."""

    def tell(self, desk: Desk, row: Row | None = None, sender: str = "") -> bool:
        """Send a notice of a request, or a test. Return False if it failed."""
        try:
            self.send(desk, row, sender)
        except UnknownItemError:  # it ended meanwhile
            return True
        except StopError as error:
            if self.trouble is None:
                _log.warning("%s did not take a notice: %s", self.name, sentence_of(error))
            self.trouble = error
            return False
        self.trouble = None
        return True

    def send(self, desk: Desk, row: Row | None, sender: str) -> None:
        """Send a notice of a request, or a test.

        Raises:
            StopError: it was not accepted.
            UnknownItemError: the request has gone.
        """
        raise NotImplementedError

    def begin(self, desk: Desk, presses: PressNotes) -> None:
        """Start other work of the target; it notes the presses that sent nothing."""

    def end(self) -> None:
        """Stop the other work."""


class Service(NoticeTarget):
    """A service of Apprise."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule, rule.to.partition("://")[0])

    def send(self, desk: Desk, row: Row | None, sender: str) -> None:
        """Send a notice with the link."""
        text = say(SECTION, "waits" if row else "try")
        if row is not None and self.rule.detail is Detail.QUESTION:
            text = without_secrets(
                f"{sender}: {row_title(row.summary) or row.method} {row.summary.gist}".strip()
            )
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
