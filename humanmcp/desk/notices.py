"""Notices: tell a person who is elsewhere that something waits, through Apprise.

`notices.toml` in the inbox folder says where notices go and how much of a question leaves this
computer. Each request has one notice, and one more before its client gives up. While somebody looks
at a page of this desk there are none.
"""

from __future__ import annotations

import fnmatch
import logging
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.inbox.contract import Key, UnknownItemError
from humanmcp.locales import say
from humanmcp.locales.stop import StopError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from typing import Self

    from humanmcp.answering.summary import Row
    from humanmcp.desk.http.context import Desk

_log = logging.getLogger(__name__)

FILE: Final = "notices.toml"
ROOM: Final = "notices"
SETTLED_AFTER: Final = 1.0
"""Seconds after which a request that nobody answered is worth a notice."""
BOOK_SOON: Final = 30.0
"""A request that the answer book answers within so many seconds has no notice."""
BEFORE_LIMIT: Final = 30.0
"""Seconds before its client gives up in which a request has its second notice."""
LOOKED_WITHIN: Final = 30.0
"""Seconds for which a page that was looked at counts as being looked at."""
LOOK_EVERY: Final = 0.5
"""Seconds between two looks at what waits."""


class Detail(StrEnum):
    """How much of a request leaves this computer."""

    NOTHING = "nothing"
    WAITING = "waiting"
    QUESTION = "question"


class Rule(NamedTuple):
    """Where notices go (an address of Apprise), how much they tell, and of which clients."""

    to: str
    detail: Detail = Detail.WAITING
    client: str = "*"

    @property
    def service(self) -> str:
        """The kind of service: the rest of its address is a secret."""
        return self.to.partition("://")[0]


class NoticesError(StopError):
    """`notices.toml` cannot be used, or Apprise is not installed."""

    room = ROOM


def read_rules(file: Path) -> list[Rule]:
    """Read `notices.toml`; no rules without one.

    Raises:
        NoticesError: it is not what it must be.
    """
    try:
        record = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise NoticesError("unreadable", file=file, why=error) from error
    entries: Any = record.get("notices", [])  # `Any`: whatever the file holds
    if not isinstance(entries, list) or set(record) - {"notices"}:
        raise NoticesError("no list", file=file)
    return [_rule(file, number, entry) for number, entry in enumerate(entries, 1)]


def _rule(file: Path, number: int, entry: Any) -> Rule:  # noqa: ANN401 - whatever the file holds
    if (
        not isinstance(entry, dict)
        or set(entry) - set(Rule._fields)
        or not all(isinstance(value, str) for value in entry.values())
        or "to" not in entry
    ):
        raise NoticesError("no rule", file=file, number=number)
    try:
        detail = Detail(entry.get("detail", Detail.WAITING))
    except ValueError as error:
        raise NoticesError("no detail", file=file, number=number, detail=entry["detail"]) from error
    if not _is_address(entry["to"]):
        raise NoticesError("no address", file=file, number=number)
    return Rule(entry["to"], detail, entry.get("client", "*"))


def _is_address(to: str) -> bool:
    return bool(_apprise().Apprise().add(to))


def _apprise() -> Any:  # noqa: ANN401 - a module that may be missing
    try:
        import apprise  # noqa: PLC0415 - an extra: only who wants notices has it
    except ImportError as error:
        raise NoticesError("no apprise") from error
    return apprise


def deliver(to: str, title: str, body: str) -> bool:
    """Send one notice. Returns False if its service did not take it."""
    service = _apprise().Apprise()
    service.add(to)
    return bool(service.notify(title=title, body=body))


class Planner:
    """Decides which of the requests that wait are worth a notice now."""

    def __init__(self) -> None:
        self._told: dict[Key, int] = {}

    def due(self, rows: Iterable[Row], now: float, *, looked_at: bool) -> list[Row]:
        """Return the requests to tell of; what somebody looks at counts as told.

        `now` is seconds since 1970.
        """
        rows = [row for row in rows if not (row.subscription or row.on_its_way)]
        self._told = {row.key: self._told.get(row.key, 0) for row in rows}
        found = []
        for row in rows:
            told = self._told[row.key]
            if (wanted := _wanted(row, now - row.arrived)) > told:
                self._told[row.key] = wanted
                if not looked_at:
                    found.append(row)
        return found


def _wanted(row: Row, waited: float) -> int:
    """Return how many notices a request should have had after so many seconds."""
    waiting = row.waiting
    book_at = None if waiting.held else waiting.book_at
    if waited < SETTLED_AFTER or (book_at is not None and book_at - waited < BOOK_SOON):
        return 0
    limit = waiting.limit
    return 2 if limit is not None and waited > max(limit - BEFORE_LIMIT, limit / 2) else 1


class Notifier:
    """Sends the notices of a desk while its `with` block lasts."""

    def __init__(
        self,
        desk: Desk,
        send: Callable[[str, str, str], bool] = deliver,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Send by the rules of a desk; `wall` gives seconds since 1970."""
        self._desk = desk
        self._rules = [rule for rule in desk.notices if rule.detail is not Detail.NOTHING]
        self._send = send
        self._wall = wall
        self._planner = Planner()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="desk-notices", daemon=True)

    def __enter__(self) -> Self:
        """Begin, if there is anything to send."""
        if self._rules:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop. What is being sent is given up."""
        self._ended.set()

    def _work(self) -> None:
        with ThreadPoolExecutor(4, "desk-notice") as senders:
            while not self._ended.wait(LOOK_EVERY):
                looked_at = self._desk.looked.within(LOOKED_WITHIN)
                board = self._desk.board
                for row in self._planner.due(board.waiting(), self._wall(), looked_at=looked_at):
                    with suppress(UnknownItemError):  # it has gone meanwhile
                        client = board.session(row.key.session).facts.client
                        for rule in self._rules:
                            if fnmatch.fnmatchcase(client, rule.client):
                                senders.submit(self.tell, rule, row, client)

    def tell(self, rule: Rule, row: Row | None = None, client: str = "") -> bool:
        """Send one notice: of a request, or to try a rule. Returns False if it was not taken."""
        desk = self._desk
        link = desk.address.elsewhere or f"http://127.0.0.1:{desk.address.port}"
        text = say(ROOM, "waits" if row else "try")
        if row is not None:
            link += f"/m/{row.anchor}"
            if rule.detail is Detail.QUESTION:
                text = f"{client}: {row.name or row.method} {row.gist}".strip()
        try:
            taken = self._send(rule.to, "humanmcp", f"{text}\n{link}")
        except Exception:  # noqa: BLE001 - a hundred services have their own
            taken = False
        if not taken:  # the address of a service is a secret: it stays out of the log
            _log.warning("%s did not take a notice", rule.service)
        return taken


class Looked:
    """When somebody last looked at a page. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at: float | None = None

    def now(self) -> None:
        """Note that somebody looks at a page."""
        self._at = self._clock()

    def within(self, seconds: float) -> bool:
        """Return True if that was within so many seconds."""
        return self._at is not None and self._clock() - self._at < seconds
