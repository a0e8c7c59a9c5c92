"""What a class has done, to take away: a table of all lessons of all seats, and a page of each."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections import Counter
from html import escape
from typing import TYPE_CHECKING, Final

from humanmcp.desk.login import parts_of
from humanmcp.export.readable import defused, write_html
from humanmcp.export.recording import ExportOptions, Recording
from humanmcp.extensions.classroom.room import records
from humanmcp.extensions.classroom.room.records import RoomRole, StepRecord, Visitor
from humanmcp.extensions.classroom.room.take_home import as_file, name_in_files
from humanmcp.locales import say, who
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.json.removed import mark_of
from humanmcp.protocol.json.visible import visible
from humanmcp.protocol.validation.redaction import redact_recording, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from humanmcp.extensions.classroom.room.classroom import Classroom
    from humanmcp.extensions.classroom.room.seat import RoomSeat
    from humanmcp.inbox.contract import SessionFacts

HOME: Final = "take-home"
_KEY: Final = mark_of("ROOM_KEY")
_UNSAFE: Final = re.compile(r"[^\w-]+")


class _Growing:
    """What an archive writes that is sent while it grows."""

    def __init__(self) -> None:
        self._parts = bytearray()

    def write(self, part: bytes, /) -> int:
        self._parts += part
        return len(part)

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def take(self) -> bytes:
        """Return what was written since the last call."""
        taken, self._parts = bytes(self._parts), bytearray()
        return taken


def packed(classroom: Classroom) -> Iterator[bytes]:
    """Yield an archive with the lessons of each seat, what it takes home, and the table.

    It comes file by file, so that a browser shows at once that it does: a class takes seconds. No
    key of this room is in it: a learner may have written the own link into an answer.
    """
    made, keys = _Growing(), _keys(classroom)
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in _files(classroom):
            encoding = "utf-8-sig" if name.endswith(".csv") else "utf-8"
            archive.writestr(keys.sub(_KEY, name), keys.sub(_KEY, text).encode(encoding))
            yield made.take()
    yield made.take()


def _files(classroom: Classroom) -> Iterator[tuple[str, str]]:
    yield "seats.csv", table(classroom)
    for seat in classroom.seats:
        number, of = f"{seat.record.number:03d}", name_in_files(classroom, seat)
        for title, text in _pages(seat):
            name = _UNSAFE.sub("-", f"{of}-{without_secrets(title)}").strip("-")
            yield f"{number}-{name}.html", text
        yield f"{number}-{HOME}.html", as_file(classroom, seat)


def _keys(classroom: Classroom) -> re.Pattern[str]:
    """Return what finds whatever opens a door of this room."""
    room = classroom.record
    typed = [room.code, *map(records.typed_key, (room.teacher, room.wall))]
    seats = [*(one.record for one in classroom.seats), *classroom.removed.values()]
    holders = [
        (Visitor(RoomRole.TEACHER), room.teacher),
        (Visitor(RoomRole.GUEST), room.wall),
        *((Visitor(RoomRole.LEARNER, one.number), one.key) for one in seats),
    ]
    cookies = [parts_of(records.login(*one))[1] for one in holders]
    keys = [*typed, *map(records.spaced, typed), *(key for _, key in holders), *cookies]
    return re.compile("|".join(map(re.escape, keys)), re.IGNORECASE)


def _pages(seat: RoomSeat) -> Iterator[tuple[str, str]]:
    """Export the longest session of each lesson and of each own host: restarts leave short ones.

    The page of a lesson ends with the final text of each step, whichever session it is of.
    """
    longest: dict[str, tuple[tuple[Frame, ...], SessionFacts, str | None]] = {}
    for facts in seat.inbox.sessions():
        lesson = seat.record.sessions.get(facts.name)
        title = f"host {facts.client}" if lesson is None else lesson.rpartition("/")[2]
        frames = tuple(seat.inbox.frames(facts.name))
        if title not in longest or len(frames) > len(longest[title][0]):
            longest[title] = frames, facts, lesson
    for title, (frames, facts, lesson) in sorted(longest.items()):
        yield title, _page(frames, facts, _final_texts(seat, lesson) if lesson else {})


def _page(frames: Sequence[Frame], facts: SessionFacts, final: Mapping[str, str]) -> str:
    typed = [Frame(0, "", Direction.OUT, one.encode("utf-8", "replace")) for one in final.values()]
    redacted = redact_recording([*frames, *typed])
    recording = Recording(facts.name, redacted.frames[: len(frames)], facts)
    page = write_html(recording, ExportOptions())
    head, end, tail = page.rpartition("</main>")
    texts = zip(final, redacted.frames[len(frames) :], strict=True)
    parts = (
        f"<h3>{escape(step)}</h3><pre>{escape(visible(one.text))}</pre>" for step, one in texts
    )
    return f"{head}<h2>{escape(say('room', 'final'))}</h2>{''.join(parts)}{end}{tail}"


def _final_texts(seat: RoomSeat, lesson: str) -> dict[str, str]:
    """Return what was written last at each step of a lesson: sent, or still a draft."""
    found = {}
    for number, step in sorted(seat.steps_in(lesson).items(), key=lambda one: int(one[0])):
        for item in seat.items_of(step.asked):
            answer, draft = item.answer, item.draft
            if answer is not None:
                found[f"{number} {item.method}, {who(answer.by)}"] = answer.line
            elif draft is not None and draft.touched:
                found[f"{number} {item.method}, {say('room', 'draft')}"] = draft.text
            else:
                continue
            break
    return found


_COLUMNS: Final = (
    *("seat", "name", "mark", "joined", "lesson", "handed in", "step", "steps", "passed", "given"),
    *("tries", "hints", "hands", "mistakes", "stopped", "sent"),
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
        passed = max(passed, standing.passed)
    yield str(record.number)
    yield name_in_files(classroom, seat)
    yield seat.mark.words()
    yield record.joined
    yield lesson.rpartition("/")[2]
    yield record.handed_in.get(lesson, "")
    yield str(at)
    yield str(len(classroom.lesson_steps(lesson=lesson).requests))
    yield str(passed)
    yield " ".join(number for number in sorted(steps, key=int) if steps[number].given)
    yield str(sum(one.tries for one in steps.values()))
    yield str(sum(one.hints for one in steps.values()))
    yield str(sum(one.hands for one in steps.values()))
    yield _counted(code for one in steps.values() for code in one.mistakes)
    yield _counted(code for one in steps.values() for code in one.stopped)
    yield _counted(code for one in steps.values() for code in one.sent)
    each = [steps.get(str(step), StepRecord()) for step in range(1, total + 1)]
    yield from (str(one.tries) for one in each)
    seconds = (seat.seconds_at(lesson, step) for step in range(1, total + 1))
    yield from ("" if one is None else f"{one:.0f}" for one in seconds)


def _counted(codes: Iterable[str]) -> str:
    """Return each code with the number of steps in which it was made."""
    return " ".join(f"{code}:{count}" for code, count in sorted(Counter(codes).items()))
