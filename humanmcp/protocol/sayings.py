"""What a person says without being asked: a notification, or a request of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.protocol.jsontext import read
from humanmcp.protocol.messages import Kind, compact
from humanmcp.protocol.verdict import Verdict

if TYPE_CHECKING:
    from humanmcp.protocol.exchange import Known


def check_saying(
    text: str, revision: str, known: Known, *, unreadable: bool = False, initialized: bool = True
) -> Verdict:
    """Judge something of the person's own."""
    reading = read(text)
    if not reading.readable:
        return Verdict(text, None, None, reading.problems)
    return Verdict(
        text, compact(reading.json), compact(reading.json), reading.problems, Kind.NOTIFICATION
    )
