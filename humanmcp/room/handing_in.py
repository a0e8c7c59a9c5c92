"""What is handed in after a lesson: a page for each seat, and a table of all of them."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from typing import TYPE_CHECKING, Final

from humanmcp.export import html
from humanmcp.export.reading import ExportOptions, Recording
from humanmcp.export.redact import redact_recording
from humanmcp.locales import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.room.classroom import Classroom
    from humanmcp.room.seat import RoomSeat

_UNSAFE: Final = re.compile(r"[^\w-]+")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""A cell that begins so is a formula to a spreadsheet."""


def packed(room: Classroom, language: str) -> bytes:
    """Return an archive with a page for each seat, and the table."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("seats.csv", table(room, language).encode("utf-8-sig"))
        for seat in room.seats:
            text = _page(seat, language)
            if text:
                name = _UNSAFE.sub("-", room.name_of(seat, language)).strip("-")
                archive.writestr(f"{seat.record.number:03d}-{name}.html", text)
    return made.getvalue()


def _page(seat: RoomSeat, language: str) -> str:
    """Write the longest session of a seat: those of a lesson that was begun anew are short."""
    recorded = [(tuple(seat.inbox.frames(one.name)), one) for one in seat.inbox.sessions()]
    if not recorded:
        return ""
    frames, facts = max(recorded, key=lambda one: len(one[0]))
    redacted = redact_recording(frames)
    recording = Recording(facts.name, redacted.frames, facts)
    return html.write(recording, ExportOptions(language, secrets=redacted.names))


def table(room: Classroom, language: str) -> str:
    """Return a table of steps, tries and mistakes, a line a seat."""
    made = io.StringIO()
    writer = csv.writer(made)
    total = max((seat.standing.total for seat in room.seats if seat.standing), default=0)
    columns = ("seat", "name", "mark", "joined", "step", "steps", "passed", "tries", "mistakes")
    heads = [say("room", f"table.{one}", language) for one in columns]
    heads += [say("room", "table.step n", language, step=step + 1) for step in range(total)]
    writer.writerow(heads)
    for seat in room.seats:
        writer.writerow([_cell(one) for one in _row(room, seat, total, language)])
    return made.getvalue()


def _row(room: Classroom, seat: RoomSeat, total: int, language: str) -> Iterator[str]:
    record, standing = seat.record, seat.standing
    yield str(record.number)
    yield room.name_of(seat, language)
    yield seat.mark.words(language)
    yield record.joined
    yield str(min(standing.step, standing.total) if standing else 0)
    yield str(standing.total if standing else 0)
    yield str(sum(standing.passed) if standing else 0)
    yield str(sum(record.tries.values()))
    yield " ".join(f"{code}:{count}" for code, count in sorted(record.codes.items()))
    for step in range(1, total + 1):
        yield str(record.tries.get(str(step), 0))


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
