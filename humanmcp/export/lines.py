"""The recording line by line: as the transcript, as a text log, and as that log laid out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from humanmcp.common.timestamps import log_time
from humanmcp.protocol.conversation.transcript import Direction, to_json, write_log_line
from humanmcp.protocol.json import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.export.reading import ExportOptions, Recording
    from humanmcp.protocol.conversation.transcript import Frame

_FURTHER: Final = "  "
"""What stands before each further line of a message."""


def write_transcript(recording: Recording, options: ExportOptions) -> str:  # noqa: ARG001 - every format takes it
    """Write a frame a line: the form that loses nothing."""
    text = "".join(f"{to_json(frame)}\n" for frame in recording.frames)
    # JSON escapes stand in for lone surrogates, which UTF-8 cannot hold.
    return text.encode("utf-8", "backslashreplace").decode()


def write_decisions(recording: Recording, options: ExportOptions) -> str:  # noqa: ARG001 - every format takes it
    """Write the record of each decision of a person, a line each (`humanmcp verify`)."""
    return "".join(f"{one.decision}\n" for one in recording.frames if one.decision)


def write_log(recording: Recording, options: ExportOptions) -> str:
    """Write `[time] IN: {…}` for each line of the wire and of stderr, in order."""
    lines = (write_log_line(one, log_time(one.at, options.zone)) for one in recording.frames)
    return "".join(f"{line}\n" for line in lines if line is not None)


def write_laid_out(recording: Recording, options: ExportOptions) -> str:
    """Write every message laid out, and what is no message as it stands in the log."""
    return "".join(f"{line}\n" for frame in recording.frames for line in _lines(frame, options))


def _lines(frame: Frame, options: ExportOptions) -> Iterator[str]:
    if frame.direction is Direction.NOTE and not frame.at:  # a line of a text log that was no entry
        yield frame.note
        return
    line = write_log_line(frame, log_time(frame.at, options.zone))
    if line is None:
        return
    if frame.direction is Direction.ERR or not _is_json(frame.text):
        yield line
        return
    start = line.index(": ") + 2
    first, *further = tree.pretty(line[start:]).split("\n")
    yield line[:start] + first
    yield from (_FURTHER + each for each in further)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
