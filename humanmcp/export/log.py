"""The text log of the first capture script: `[time] IN: {…}`, a line a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.common.timestamps import log_time
from humanmcp.protocol.conversation.capture_log import write_log_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.export.options import ExportOptions
    from humanmcp.export.reading import Recording
    from humanmcp.protocol.conversation.transcript import Frame


def write(recording: Recording, manner: ExportOptions) -> str:
    """Write a line for each line of the wire and of stderr, in order."""
    return "".join(f"{line}\n" for frame in recording.frames for line in _line(frame, manner))


def _line(frame: Frame, manner: ExportOptions) -> Iterator[str]:
    line = write_log_line(frame, log_time(frame.at, manner.zone))
    if line is not None:
        yield line
