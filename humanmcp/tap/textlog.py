"""The text log: `[2025-04-06 15:09:35.419] IN: {…}`, a line a message, in local time.

The way of the first capture script; `humanmcp export --format log` writes the same from a
transcript.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from humanmcp.common.timestamps import log_time
from humanmcp.protocol.conversation.capture_log import write_log_line

if TYPE_CHECKING:
    from pathlib import Path

    from humanmcp.protocol.conversation.transcript import Frame


class TextLog:
    """One log file of one run. Two runs in one second have two files."""

    def __init__(self, folder: Path, moment: float) -> None:
        """Make the folder where it is missing, and a new file in it.

        Raises:
            OSError: it cannot be made.
        """
        folder.mkdir(parents=True, exist_ok=True)
        began = time.strftime("%Y%m%d-%H%M%S", time.localtime(moment))
        self.path, descriptor = _new_file(folder, f"mcp-capture-{began}")
        self._file = os.fdopen(descriptor, "wb")

    def write(self, frame: Frame) -> None:
        """Write a frame; what is no line of the wire is not in this log."""
        line = write_log_line(frame, log_time(frame.at))
        if line is not None:
            self._file.write(line.encode("utf-8", "replace") + b"\n")
            self._file.flush()

    def hear(self, frame: Frame) -> None:
        """Do nothing: it is written."""

    def idle(self) -> bool:
        """Do nothing: each line is written at once."""
        return False

    def hurry(self) -> None:
        """Go on as before: there is nothing that could be left out."""

    def last_words(self) -> None:
        """Say nothing: what is known at the end only is no line of the wire."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _new_file(folder: Path, name: str) -> tuple[Path, int]:
    """Make a file of our own: the name, or the name with -2, -3 and so on."""
    count = 1
    while True:
        path = folder / (f"{name}.log" if count == 1 else f"{name}-{count}.log")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        try:
            return path, os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
        except FileExistsError:
            count += 1
