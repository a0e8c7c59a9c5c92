"""A room in which one thing happens, in a process that is killed at any moment of it.

`open_room` is that process, and the one after it: it ends when every seat has its one request.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.desk.desk import BY
from humanmcp.desk.guard import Address
from humanmcp.extensions.classroom.room.classroom import Classroom
from humanmcp.extensions.classroom.room.pages import around_of
from humanmcp.extensions.classroom.room.seat import RoomSeat
from humanmcp.inbox.transcript_writer import TranscriptWriter
from humanmcp.protocol.conversation.transcript import Frame
from humanmcp.server import resuming  # noqa: F401 - imported once for every run
from tests.support.living_on import APPENDED
from tests.support.waiting import until

if TYPE_CHECKING:
    from psycopg import Connection

    from humanmcp.extensions.postgres.database import Database, Row

STORED: Final = "humanmcp.stored"
"""The event of Python's audit for a statement that a database is given."""


def join(classroom: Classroom) -> None:
    """Let somebody in, unless they are here since before the kill."""
    if not classroom.seats:
        classroom.join("Ann")


def answer(classroom: Classroom) -> None:
    """Send the answer to the first request."""
    seat = classroom.seats[0]
    until(partial(has_its_request, seat), "the first request")
    row = seat.board.waiting()[0]
    if row.key.number == 1:
        reply = classroom.lesson_steps("en").requests[0].reply
        seat.inbox.send(row.key, reply._replace(by=BY))
        until(lambda: [one.key.number for one in seat.board.waiting()] == [2], "the next request")


def come_back(classroom: Classroom) -> None:
    """Remove a seat, and give it back."""
    classroom.remove(classroom.seats)
    knock = classroom.knock("Ann", lost=True)
    assert knock is not None
    classroom.let_in(knock.number, 1)


ACTS: Final[dict[str, Callable[[Classroom], object]]] = {
    "open": lambda _classroom: None,
    "join": join,
    "answer": answer,
    "restart": lambda classroom: classroom.seats[0].practise(told="reset"),
    "another lesson": lambda classroom: classroom.take_lesson("recover"),
    "come back": come_back,
}


def open_room(home: Path, act: str, database: str = "") -> None:
    """Open the room, let the act happen, and wait until each seat has its one request."""
    _audit()
    if database:  # the processes before this one are dead
        from humanmcp.extensions.postgres.database import opened  # noqa: PLC0415 - few have it

        _audit_database()
        opened(database).run("DELETE FROM humanmcp.processes")
    classroom = Classroom(home, "en", around_of, database)
    classroom.open(Address(1), "http://127.0.0.1:1")
    classroom.run()
    ACTS[act](classroom)
    for seat in classroom.seats:
        until(partial(has_its_request, seat), f"the request of {seat.record}")
        for step in seat.steps.values():
            assert step.tries == step.passed, "each answer is counted once"


def has_its_request(seat: RoomSeat) -> bool:
    """Return True if the learner sees one request, that of the lesson."""
    practice, waiting = seat.practice, seat.board.waiting()
    return [one.key.session for one in waiting] == [practice and practice.session]


def _audit() -> None:
    append = TranscriptWriter.append

    def appended(
        self: TranscriptWriter,
        *frames: Frame,
        durable: bool = False,
        then: Callable[[], object] | None = None,
    ) -> None:
        sys.audit(APPENDED, str(self._path))
        append(self, *frames, durable=durable, then=then)
        sys.audit(APPENDED, str(self._path))

    TranscriptWriter.append = appended  # type: ignore[method-assign] # in a process of its own


def _audit_database() -> None:
    from humanmcp.extensions.postgres.database import Database  # noqa: PLC0415 - few have it

    rows = Database._rows

    def stored(
        self: Database, connection: Connection[Row], sql: str, values: Mapping[str, object]
    ) -> list[Row]:
        if not sql.lstrip().startswith("SELECT"):
            sys.audit(STORED, sql)
        return rows(self, connection, sql, values)

    Database._rows = stored  # type: ignore[method-assign] # likewise
