"""What a class has done, to take away: a table of all lessons of all seats, and a page of each."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections import Counter
from typing import TYPE_CHECKING, Final

from humanmcp.export.readable import defused, write_html
from humanmcp.export.recording import ExportOptions, Recording
from humanmcp.export.redact import redact_recording
from humanmcp.locales import say
from humanmcp.room.practice import Outcome
from humanmcp.room.records import StepRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from humanmcp.inbox.contract import SessionFacts
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.room.classroom import Classroom
    from humanmcp.room.seat import RoomSeat

_UNSAFE: Final = re.compile(r"[^\w-]+")


def packed(classroom: Classroom) -> bytes:
    """Return an archive with a page for each lesson of each seat, and the table."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("seats.csv", table(classroom).encode("utf-8-sig"))
        for seat in classroom.seats:
            for title, text in _pages(seat):
                name = _UNSAFE.sub("-", f"{classroom.name_of(seat)}-{title}").strip("-")
                archive.writestr(f"{seat.record.number:03d}-{name}.html", text)
    return made.getvalue()


def _pages(seat: RoomSeat) -> Iterator[tuple[str, str]]:
    """Export the longest session of each lesson and of each own host: restarts leave short ones."""
    longest: dict[str, tuple[tuple[Frame, ...], SessionFacts]] = {}
    for facts in seat.inbox.sessions():
        lesson = seat.record.sessions.get(facts.name)
        title = f"host {facts.client}" if lesson is None else lesson.rpartition("/")[2]
        frames = tuple(seat.inbox.frames(facts.name))
        if title not in longest or len(frames) > len(longest[title][0]):
            longest[title] = frames, facts
    for title, (frames, facts) in sorted(longest.items()):
        yield title, _page(frames, facts)


def _page(frames: Sequence[Frame], facts: SessionFacts) -> str:
    redacted = redact_recording(frames)
    recording = Recording(facts.name, redacted.frames, facts)
    return write_html(recording, ExportOptions(secrets=redacted.names))


_COLUMNS: Final = (
    *("seat", "name", "mark", "joined", "lesson", "step", "steps", "passed", "given", "tries"),
    *("hints", "hands", "mistakes", "sent"),
)


def table(classroom: Classroom) -> str:
    """Return a table of steps, tries and mistakes: a line for each seat and each of its lessons."""
    made = io.StringIO()
    writer = csv.writer(made)
    rows = [(seat, lesson) for seat in classroom.seats for lesson in _lessons(classroom, seat)]
    total = max((len(classroom.lesson_steps(lesson=one).requests) for _, one in rows), default=0)
    heads = [say("room", f"table.{one}") for one in _COLUMNS]
    heads += [
        say("room", f"table.{one} n", step=step)
        for one in ("tries", "seconds")
        for step in range(1, total + 1)
    ]
    writer.writerow(heads)
    for seat, lesson in rows:
        writer.writerow([defused(one) for one in _row(classroom, seat, lesson, total)])
    return made.getvalue()


def _lessons(classroom: Classroom, seat: RoomSeat) -> list[str]:
    """Return the lessons of a seat, the present one last."""
    now = classroom.lesson_of(seat.record)
    return [*(one for one in seat.record.steps if one != now), now]


def _row(classroom: Classroom, seat: RoomSeat, lesson: str, total: int) -> Iterator[str]:
    record, steps = seat.record, seat.steps_in(lesson)
    at, passed = max(map(int, steps), default=0), sum(one.passed for one in steps.values())
    if lesson == classroom.lesson_of(record) and (standing := seat.standing) is not None:
        at = min(standing.step, standing.total)
        passed = max(passed, standing.outcomes.count(Outcome.PASSED))
    yield str(record.number)
    yield classroom.name_of(seat)
    yield seat.mark.words()
    yield record.joined
    yield lesson.rpartition("/")[2]
    yield str(at)
    yield str(len(classroom.lesson_steps(lesson=lesson).requests))
    yield str(passed)
    yield " ".join(number for number in sorted(steps, key=int) if steps[number].given)
    yield str(sum(one.tries for one in steps.values()))
    yield str(sum(one.hints for one in steps.values()))
    yield str(sum(one.hands for one in steps.values()))
    yield _counted(code for one in steps.values() for code in one.mistakes)
    yield _counted(code for one in steps.values() for code in one.sent)
    each = [steps.get(str(step), StepRecord()) for step in range(1, total + 1)]
    yield from (str(one.tries) for one in each)
    yield from ("" if one.seconds is None else f"{one.seconds:.0f}" for one in each)


def _counted(codes: Iterable[str]) -> str:
    """Return each code with the number of steps in which it was made."""
    return " ".join(f"{code}:{count}" for code, count in sorted(Counter(codes).items()))
