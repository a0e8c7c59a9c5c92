"""Start `humanmcp serve` as a host would, in a scratch folder, and look at what it does.

A host reads nothing but JSON-RPC lines from stdout and gives up on a slow start: so the trial
measures both, with the environment of six variables that most hosts give.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import Final

LONGEST: Final = 20.0
"""Seconds for the whole trial."""
_PASSED_ON: Final = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "SYSTEMROOT", "APPDATA")

_INITIALIZE: Final[dict[str, object]] = {
    "jsonrpc": "2.0",
    "id": "doctor-1",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "humanmcp-doctor", "version": "1"},
    },
}
_PING: Final[dict[str, object]] = {"jsonrpc": "2.0", "id": "doctor-2", "method": "ping"}


@dataclass(slots=True)
class Trial:
    """What was seen. Times are seconds; None where it never came to that."""

    first_answer: float | None = None
    last_answer: float | None = None
    exit_time: float | None = None
    status: int | None = None
    stray: list[str] = field(default_factory=list)
    """Lines on stdout that are no JSON-RPC message."""
    stderr: str = ""
    failure: OSError | None = None
    """Why it could not even be started."""


def run() -> Trial:
    """Start the server, say hello, ping it, close its stdin and wait for its end."""
    trial = Trial()
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    with tempfile.TemporaryDirectory(prefix="humanmcp-doctor-") as scratch:
        words = [sys.executable, "-m", "humanmcp", "serve", "--auto", "--home", scratch]
        began = time.monotonic()
        try:
            process = subprocess.Popen(  # noqa: S603 - our own command
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=scratch,
            )
        except OSError as error:
            trial.failure = error
            return trial
        # A bound on everything below: a killed process ends every read.
        alarm = threading.Timer(LONGEST, process.kill)
        alarm.start()
        try:
            _talk(process, trial, began)
        finally:
            alarm.cancel()
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    with contextlib.suppress(OSError):
                        stream.close()
    return trial


def _talk(process: subprocess.Popen[bytes], trial: Trial, began: float) -> None:
    for request in (_INITIALIZE, _PING):
        if not _ask(process, trial, request):
            break
        trial.last_answer = time.monotonic() - began
        if trial.first_answer is None:
            trial.first_answer = trial.last_answer
    closing = time.monotonic()
    with contextlib.suppress(subprocess.TimeoutExpired):
        rest, errors = process.communicate(timeout=LONGEST)
        trial.exit_time = time.monotonic() - closing
        trial.status = process.returncode
        trial.stderr = errors.decode("utf-8", "replace")
        for line in rest.splitlines():
            _is_message(line, trial)


def _ask(process: subprocess.Popen[bytes], trial: Trial, request: dict[str, object]) -> bool:
    """Send a request and read until its answer. False when the server went away."""
    if process.stdin is None or process.stdout is None:  # both are pipes: see above
        return False
    try:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    except OSError:
        return False
    for line in process.stdout:
        message = _is_message(line, trial)
        if message and message.get("id") == request["id"]:
            return True
    return False


def _is_message(line: bytes, trial: Trial) -> dict[str, object] | None:
    """Return the JSON-RPC message of a line; note it as stray when it is none."""
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if isinstance(value, dict) and value.get("jsonrpc") == "2.0":
        return value
    trial.stray.append(line.decode("utf-8", "replace").rstrip("\n"))
    return None
