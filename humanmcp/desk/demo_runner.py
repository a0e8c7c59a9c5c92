"""Try it now: start the demo host beside the desk, so that the first request arrives in seconds."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

LOG_NAME: Final = "demo.log"

_playing: list[subprocess.Popen[bytes]] = []
_lock: Final = threading.Lock()
MOST: Final = 3
"""Demo hosts at once: a button that is pressed ten times starts no more than this."""


def start(home: Path, language: str) -> bool:
    """Start the demo host; says whether it did. It ends by itself when its session is over.

    Raises:
        OSError: it cannot be started.
    """
    with _lock:
        _playing[:] = [process for process in _playing if process.poll() is None]
        if len(_playing) >= MOST:
            return False
        words = (sys.executable, "-m", "humanmcp", "demo", "--by-hand")
        log = os.open(home / LOG_NAME, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(log, "wb") as stream:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own words
                [*words, "--home", str(home), "--lang", language],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        _playing.append(process)
        return True


def end() -> None:
    """Stop the demo hosts that still run."""
    with _lock:
        for process in _playing:
            if process.poll() is None:
                process.terminate()
        _playing.clear()
