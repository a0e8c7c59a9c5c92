"""The list of what waits: by section, and in it by agent and folder.

A page gets the list once. After a change it asks only for what is different since its version of
the board: the rows of changed exchanges, and the names of those that are not in the list any more.
So an event costs one row, however many wait.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

from humanmcp.answering.summary import row_title
from humanmcp.desk.history import search
from humanmcp.inbox.contract import Key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.answering.summary import Asker, Row
    from humanmcp.desk.board import Board, BoardChange, SessionView

SHOWN: Final = 200
"""The number of rows that a section shows."""
RECENT: Final = 12
"""The number of recent lines below what waits."""
FEW: Final = 6
"""The maximum number of running sessions above the list; of more, only those with requests."""


class ListFilter(NamedTuple):
    """What a person wants to see: one session, or only rows with these words; "" for all."""

    session: str = ""
    words: str = ""

    @property
    def query(self) -> str:
        """The end of an address that keeps this filter; "" for none."""
        given = {"session": self.session, "q": self.words}
        return urlencode({name: value for name, value in given.items() if value})

    def rows(self, board: Board) -> list[Row]:
        """Return what waits, the longest waiting first."""
        rows, words = board.waiting(self.session), self.words.casefold().split()
        if not self.session:
            rows = [one for one in rows if not board.is_aside(one.key.session)]
        return [one for one in rows if _has(one, words)] if words else rows


EVERYTHING: Final = ListFilter()


def _has(row: Row, words: Iterable[str]) -> bool:
    text = f"{row_title(row.summary)} {row.method} {row.summary.gist} {row.asker.place}".casefold()
    return all(word in text for word in words)


def listed(board: Board, shown: ListFilter, since: int = 0) -> dict[str, Any]:
    """Return the values of the list; with `since`, if possible, only what changed after it."""
    rows, changes = shown.rows(board), board.since(since) if since else None
    changed = None if changes is None else _changed(changes)
    parked, subscriptions = (
        bisect_left(rows, kind, key=lambda one: (one.subscription, one.parked))
        for kind in ((False, True), (True, False))
    )
    parts = {
        "rows": rows[:parked],
        "parked": rows[parked:subscriptions],
        "subscriptions": rows[subscriptions:],
    }
    there = {one.key for part in parts.values() for one in part[:SHOWN]}
    gone = None if changed is None else sorted(changed - there)
    running = _running(board, shown.session)
    speaking = [one for one in running if one.facts.role.traits.speaks_first]
    return {
        "session": shown.session,
        "searched": shown.words,
        "query": shown.query,
        "find": "",
        "running": running,
        "speaking": [
            one
            for one in speaking
            if shown.session == one.facts.name or (not shown.session and len(speaking) <= FEW // 2)
        ],
        "sections": [
            {
                "name": name,  # "rows" wait for a decision; the others do not
                "groups": _grouped(part, _sent(part, changed, gone)),
                "hidden": len(part) - SHOWN,
            }
            for name, part in parts.items()
        ],
        "total": len(parts["rows"]),
        "gone": gone,
        "writers": board.writers,
        "recent": () if board.inbox.away else search.recent(board, RECENT),
    }


def _changed(changes: tuple[BoardChange, ...]) -> set[Key] | None:
    """Return the changed exchanges; None if anything may be different."""
    if not all(change.session for change in changes):
        return None
    return {Key(change.session, change.number) for change in changes if change.number}


def _sent(part: list[Row], changed: set[Key] | None, gone: list[Key] | None) -> list[Row]:
    """Return the rows of a section that a page does not have as they are.

    Of a long section these are also the rows that follow into the places of those that are gone.
    """
    shown = part[:SHOWN]
    if changed is None or gone is None:
        return shown
    first = len(shown) - len(gone) if len(part) + len(gone) > SHOWN else SHOWN
    return [one for at, one in enumerate(shown) if at >= first or one.key in changed]


def _grouped(part: Iterable[Row], shown: Iterable[Row]) -> list[dict[str, Any]]:
    """Group the shown rows by who asks and where; who has waited longest comes first.

    `count` is how many of an agent in one folder wait in all.

    Two agents in one folder have the end of their session's name beside it.
    """
    by_asker: dict[Asker, list[Row]] = {}
    for row in shown:
        by_asker.setdefault(row.asker, []).append(row)
    named = {asker.place for asker in by_asker}
    counts = Counter(one.asker for one in part if one.asker.place in named) if named else Counter()
    places = Counter(asker.place for asker in counts)
    return [
        {
            "key": asker.key,
            "place": asker.place + (f" · {asker.session[-4:]}" if places[asker.place] > 1 else ""),
            "count": counts[asker],
            "rows": rows,
        }
        for asker, rows in by_asker.items()
    ]


def _running(board: Board, session: str = "") -> list[SessionView]:
    """Return the running sessions, oldest first; of many only the chosen one and who waits.

    The session of a hook is not among them: it is one prompt, which has its row.
    """
    running = [one for one in board.listed() if one.facts.is_open and not one.facts.agent]
    if len(running) <= FEW:
        return running[::-1]
    return sorted(running, key=lambda one: (one.facts.name != session, not one.waiting))


def found(board: Board, text: str) -> SessionView | None:
    """Return the running session with this letter, or the first that matches these words."""
    wanted = text.strip().casefold()
    running = _running(board)
    words = ((one, f"{one.facts.title} {one.facts.client}".casefold()) for one in running)
    by_letter = (one for one in running if one.badge.letter.casefold() == wanted)
    return next(by_letter, next((one for one, said in words if wanted in said), None))
