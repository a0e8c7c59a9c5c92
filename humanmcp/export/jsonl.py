"""The transcript itself, frame by frame: the form that loses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.protocol.conversation.transcript import to_json

if TYPE_CHECKING:
    from humanmcp.export.options import ExportOptions
    from humanmcp.export.reading import Recording


def write(recording: Recording, manner: ExportOptions) -> str:  # noqa: ARG001 - every format takes it
    """Write a frame a line."""
    lines = (to_json(frame) for frame in recording.frames)
    # JSON escapes stand in for lone surrogates, which UTF-8 cannot hold.
    text = "".join(f"{line}\n" for line in lines)
    return text.encode("utf-8", "backslashreplace").decode()
