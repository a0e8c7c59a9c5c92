"""The file that a recording grows in: what the real server answered is added to it.

A transcript that was named as a file grows itself. What is a record of another session, or no
transcript (a text log), stays as it is: a file beside it grows, and is read with it from then on.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from humanmcp.inbox import layout
from humanmcp.protocol.conversation.capture_log import is_log_line
from humanmcp.protocol.conversation.transcript import to_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from humanmcp.protocol.conversation.transcript import Frame

_PRIVATE: Final = 0o600


def beside(path: Path) -> Path:
    """Name the file that grows beside a recording: `capture.log.forwarded.jsonl`."""
    return path.with_name(layout.FORWARDED.format(path.name))


def growing(path: Path) -> Path:
    """Return the file that grows for a recording: itself, or the one beside it."""
    if not path.exists():
        return path
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        is_log = is_log_line(stream.readline())
    is_session = path.name == layout.TRANSCRIPT and (path.parent / layout.SESSION).exists()
    return beside(path) if is_log or is_session else path


class Addition:
    """What is added to a recording, one request with all that belongs to it at a time."""

    def __init__(self, path: Path, last: int) -> None:
        self.path = path
        self._seq = last

    def add(self, frames: Sequence[Frame]) -> OSError | None:
        """Add frames at the end, in one write: others may add to the same file."""
        first = self._seq + 1
        self._seq += len(frames)
        numbered = (frame._replace(seq=seq) for seq, frame in enumerate(frames, first))
        text = "".join(f"{to_json(frame)}\n" for frame in numbered)
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _PRIVATE)
            with os.fdopen(descriptor, "ab") as stream:
                stream.write((_line_end(self.path) + text).encode("utf-8", "replace"))
        except OSError as error:
            return error
        return None


def _line_end(path: Path) -> str:
    """Return what a file needs before a new line: a line feed, where a crash has torn the last."""
    with path.open("rb") as stream:
        if not stream.seek(0, os.SEEK_END):
            return ""
        stream.seek(-1, os.SEEK_END)
        return "" if stream.read(1) == b"\n" else "\n"
