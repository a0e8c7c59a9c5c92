"""*Try it now*: the demo host, whose first request arrives at the desk in seconds."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

LOG_NAME: Final = "demo.log"
MOST: Final = 3
"""The maximum number of demo hosts at once."""

_running: Final[list[subprocess.Popen[bytes]]] = []
_lock: Final = threading.Lock()


def start(home: Path, language: str) -> bool:
    """Start the demo host; return True if it started. It ends with its session, and with the desk.

    Raises:
        OSError: it cannot be started.
    """
    with _lock:
        _running[:] = [process for process in _running if process.poll() is None]
        if len(_running) >= MOST:
            return False
        words = (sys.executable, "-m", "humanmcp.as_child", "demo", "--by-hand")
        log = os.open(home / LOG_NAME, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(log, "wb") as stream:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own words
                [*words, "--home", str(home), "--lang", language],
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        _running.append(process)
        return True
