"""*Try it now*: the demo host, whose first request arrives at the desk in seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final

from humanmcp.locales import say
from humanmcp.protocol.conversation.prompts import OWN

if TYPE_CHECKING:
    from pathlib import Path

LOG_NAME: Final = "demo.log"
MOST: Final = 3
"""The maximum number of demo hosts at once."""

_running: Final[list[subprocess.Popen[bytes]]] = []
_lock: Final = threading.Lock()


def start(home: Path, language: str, helps: bool) -> bool:  # noqa: FBT001 - as `Desk.play`
    """Start the demo host; return True if it started. It ends with its session, and with the desk.

    If it `helps`, its person does not answer the handshake.

    Raises:
        OSError: it cannot be started.
    """
    with _lock:
        _running[:] = [process for process in _running if process.poll() is None]
        if len(_running) >= MOST:
            return False
        words = [sys.executable, "-m", "humanmcp.as_child", "demo", "--by-hand"]
        words += [] if helps else ["--handshake"]
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


def ask_for_nothing(home: Path, language: str) -> None:
    """Send the person a permission prompt of humanmcp's own. Its decision is kept, and no more.

    Raises:
        OSError: it cannot be started.
    """
    words = say("approval", "test prompt")
    asked = {"hook_event_name": "PermissionRequest", "tool_name": say("approval", "test tool")}
    text = json.dumps({**asked, "session_id": "test", "tool_input": {"message": words}})
    command = (sys.executable, "-m", "humanmcp", "hook", "--host", OWN)
    with _lock:
        _running[:] = [process for process in _running if process.poll() is None]
        if len(_running) >= MOST:
            return
        process = subprocess.Popen(  # noqa: S603 - as above
            [*command, "--home", str(home), "--lang", language],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        _running.append(process)
        with process.stdin as stream:  # type: ignore[union-attr] # a pipe, as asked for
            stream.write(text.encode())
