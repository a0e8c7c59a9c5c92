"""A server process on two bare pipes, timed by a client that does nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable

SDK_SERVER: Final = (sys.executable, str(Path(__file__).parent / "sdk_server.py"))
TS_SERVER: Final = ("node", str(Path(__file__).parent / "ts_server.mjs"))
TS_PACKAGES: Final = Path(__file__).parent.parent / "tests" / "clients" / "node" / "node_modules"
INITIALIZE: Final = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}\n'
)
INITIALIZED: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
TOO_LONG: Final = 30.0


def humanmcp(home: Path, *flags: str) -> tuple[str, ...]:
    """Return the command of a server."""
    return (sys.executable, "-m", "humanmcp", "serve", "--home", str(home), *flags)


def call(number: int) -> bytes:
    """Return the line of one tools/call."""
    return (
        b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"forecast",'
        b'"arguments":{"location":"Tokyo"}}}\n' % number
    )


class Peer:
    """One server process, and the clock beside it."""

    def __init__(self, command: tuple[str, ...]) -> None:
        """Start it; `spawned` is when."""
        self.spawned = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def __enter__(self) -> Self:
        """Use it as a context: it is gone afterwards."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def write(self, line: bytes) -> None:
        """Write to its stdin."""
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """Return the next message of its stdout."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args!r} ended")
        message: dict[str, Any] = json.loads(line)
        return message

    def ask(self, line: bytes) -> float:
        """Write a request, read its answer; returns the seconds between."""
        began = time.perf_counter()
        self.write(line)
        answer = self.read()
        took = time.perf_counter() - began
        if "result" not in answer:
            raise RuntimeError(f"no result: {answer}")
        return took

    def open(self) -> float:
        """Shake hands; returns the seconds from the spawn to the first answer."""
        self.ask(INITIALIZE)
        took = time.perf_counter() - self.spawned
        self.write(INITIALIZED)
        return took

    def resident(self) -> float:
        """Return the memory that it occupies, in MB (resident set size)."""
        status = Path(f"/proc/{self.process.pid}/status")
        if status.exists():
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
            return int(lines["VmRSS"].split()[0]) / 1024
        said = subprocess.check_output(["ps", "-o", "rss=", "-p", str(self.process.pid)])
        return int(said) / 1024

    def ends_after(self, leave: Callable[[subprocess.Popen[bytes]], object]) -> float:
        """Return the seconds from `leave` to the end of the process."""
        began = time.perf_counter()
        leave(self.process)
        self.process.wait(timeout=TOO_LONG)
        return time.perf_counter() - began


def watch(happened: Callable[[], bool]) -> float:
    """Return the moment at which something has happened, to a tenth of a millisecond."""
    began = time.perf_counter()
    while not happened():
        if time.perf_counter() - began > TOO_LONG:
            raise TimeoutError
        time.sleep(0.0001)
    return time.perf_counter()


def exists(path: str) -> Callable[[], bool]:
    """Return a quick test for a file."""
    return lambda: os.path.exists(path)  # noqa: PTH110 - a tenth of the time of a Path
