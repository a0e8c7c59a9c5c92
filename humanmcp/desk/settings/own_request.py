"""What the desk starts for a person: what a listener or a page of an extension lets them try."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MOST: Final = 3
"""The maximum number of such processes at once."""

_running: Final[list[subprocess.Popen[bytes]]] = []
_lock: Final = threading.Lock()


def start(words: Sequence[str], home: Path, language: str, log: str, given: bytes = b"") -> bool:
    """Run a module of ours at this inbox, with these words; return True if it started.

    With `given` on its standard input, it prints to a pipe that is there until the desk ends;
    without, its input stays open until then, and what it prints replaces the file `log`.

    If it `helps`, its person does not answer the handshake.

    Raises:
        OSError: it cannot be started.
    """
    with _lock:
        _running[:] = [process for process in _running if process.poll() is None]
        if len(_running) >= MOST:
            return False
        file = home / log if log else os.devnull
        output = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(output, "wb") as stream:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own words
                [sys.executable, "-m", *words, "--home", str(home), "--lang", language],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if given else stream,
                stderr=stream,
                start_new_session=True,
            )
        _running.append(process)
        if given:
            with process.stdin as stream:  # type: ignore[union-attr] # a pipe, as asked for
                stream.write(given)
        return True
