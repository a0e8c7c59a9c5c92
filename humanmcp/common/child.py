"""A server as a child process: lines over its stdin and stdout, and an end that leaves nothing.

The end has an order (MCP, lifecycle, shutdown): close its stdin, wait, SIGTERM, wait, SIGKILL. The
child leads a process group of its own, so that what it started goes with it, and so that Ctrl-C in
our terminal reaches us alone; or it stays in ours, where a signal to the group ends the child too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Final, Protocol, TypeVar

from humanmcp.common.line_pipe import Cutter, lines, write_pieces
from humanmcp.locales.stop import StopError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_Error = TypeVar("_Error", bound=Exception)

PASSED_ON: Final = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""The variables that a server gets, as with the official SDKs. Keys are not forwarded."""

_PASSED_ON_WINDOWS: Final = (
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE",
)

TIMEOUT: Final = 2.0
"""Seconds that a server gets after each step of its end, as with the official SDKs."""

_LOOK_EVERY: Final = 0.01
_LAST_WORDS: Final = 0.5  # seconds from its last line to its exit status, and the other way round


@dataclass(frozen=True, slots=True)
class ChildCommand:
    """How to start a server. `env` is added to the few variables that are forwarded."""

    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""

    def __str__(self) -> str:
        """Show the command line without the environment, which may contain keys."""
        return shlex.join(self.words)


class OutputListener(Protocol):
    """Receives what a transport reads. Called from the transport's thread."""

    def line_arrived(self, line: bytes) -> None:
        """Take a line from the peer, without its line feed."""

    def stderr_line(self, line: bytes) -> None:
        """Take a line that the peer wrote to its stderr."""

    def ended(self) -> None:
        """Note that nothing more will come. Called once."""


class EndedError(StopError):
    """The peer has ended."""

    section = "trouble"

    def __init__(self, code: str = "ended", **fillings: object) -> None:
        super().__init__(code, **fillings)


class StartError(StopError):
    """A server could not be started."""

    section = "trouble"


def start_error(
    words: Sequence[str], error: _Error, folder: str = ""
) -> _Error | IsADirectoryError:
    """Return why a command did not start: for a folder, the system only denies permission."""
    is_path = bool(words) and Path(words[0]).name != words[0]
    if isinstance(error, PermissionError) and is_path and Path(folder, words[0]).is_dir():
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), words[0])
    return error


def environment(
    given: Mapping[str, str],
    ours: Mapping[str, str] = os.environ,
    *,
    windows: bool = os.name == "nt",
) -> dict[str, str]:
    """Return a child's environment: a few harmless variables, and `given`.

    A value that begins with `()` is an exported shell function: it is no text, and was once a
    security hole.
    """
    names: Sequence[str] = _PASSED_ON_WINDOWS if windows else PASSED_ON
    kept = {name: ours[name] for name in names if name in ours}
    return {name: text for name, text in kept.items() if not text.startswith("()")} | dict(given)


class ChildTransport:
    """A server that we started as a child process, and its three pipes."""

    def __init__(
        self, command: ChildCommand, timeout: float = TIMEOUT, *, own_group: bool = True
    ) -> None:
        """Start it.

        Raises:
            StartError: there is no such program, or it may not be run.
        """
        self.command = command
        self.timeout = timeout
        self._own_group = own_group
        self._leaving: SimpleQueue[bytes | None] = SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._ended = threading.Event()
        self._cutter = Cutter()
        try:
            self.process = subprocess.Popen(  # noqa: S603 - starting what the person named is our task
                command.words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment(command.env),
                cwd=command.folder or None,
                start_new_session=own_group,
            )
        except (OSError, ValueError) as error:
            folder = command.folder
            code = "no start in" if folder and not Path(folder).is_dir() else "no start"
            why = start_error(command.words, error, folder)
            raise StartError(code, command=command, folder=folder, why=why) from error
        self._threads: list[threading.Thread] = []

    # -- lines ---------------------------------------------------------------------------------

    def start(self, listener: OutputListener) -> None:
        stdin, stdout, stderr = self.process.stdin, self.process.stdout, self.process.stderr
        assert stdin is not None  # noqa: S101 - Popen made a pipe for each of the three
        assert stdout is not None  # noqa: S101 - as above
        assert stderr is not None  # noqa: S101 - as above
        for run, arguments in (
            (self._write, (stdin,)),
            (self._read, (stdout, listener)),
            (self._read_aside, (stderr, listener)),
        ):
            thread = threading.Thread(target=run, args=arguments, daemon=True)
            thread.start()
            self._threads.append(thread)

    def send(self, line: str) -> None:
        """Queue a line; a thread writes it, so that a slow child blocks no caller."""
        if self._closed or self._ended.is_set():
            raise self.end_reason()
        self._leaving.put(line.encode("utf-8", "surrogatepass") + b"\n")

    @property
    def unended(self) -> bytes:
        """What the child wrote to stdout after its last line feed."""
        return self._cutter.unended

    def end_reason(self) -> EndedError:
        """Return how the child ended: with a status, by a signal, or only that stdout closed."""
        status = self.process.poll()
        if status is None:
            return EndedError("silent", command=self.command)
        if status < 0:
            return EndedError("killed", command=self.command, signal=-status)
        return EndedError("exited", command=self.command, status=status)

    def _write(self, stdin: IO[bytes]) -> None:
        with contextlib.suppress(OSError):  # the child is gone: reading notices that too
            while (line := self._leaving.get()) is not None:
                for _ in write_pieces(stdin.fileno(), line):
                    pass
        with contextlib.suppress(OSError):
            stdin.close()

    def _read(self, stdout: IO[bytes], listener: OutputListener) -> None:
        try:
            with stdout:
                for cut in lines(stdout.fileno(), cutter=self._cutter):
                    listener.line_arrived(cut.line)
        finally:  # also when a listener raises: no thread may wait forever
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_LAST_WORDS)  # so that `end_reason` knows the status
            self._ended.set()
            listener.ended()

    def _read_aside(self, stderr: IO[bytes], listener: OutputListener) -> None:
        with stderr:
            for cut in lines(stderr.fileno()):
                listener.stderr_line(cut.line)

    # -- the end -------------------------------------------------------------------------------

    def close(self) -> None:
        """End the child and its group: close stdin, wait, SIGTERM, wait, SIGKILL."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._leaving.put(None)
            if not self._threads:
                self._close_pipes()
            if not self._leaves_within(self.timeout):
                self._signal(_TERMINATE)
                self._leaves_within(self.timeout)
            self._signal(_KILL)  # also for what an obedient child left behind in its group
            self.process.wait()
            end = time.monotonic() + _LAST_WORDS  # longer only where its pipes live on elsewhere
            for thread in self._threads:
                thread.join(timeout=max(0.0, end - time.monotonic()))

    def _close_pipes(self) -> None:
        """Close the pipes that no thread serves."""
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def _leaves_within(self, seconds: float) -> bool:
        """Wait for the child and its whole group to end."""
        end = time.monotonic() + seconds
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=seconds)
        while self._group_lives() and time.monotonic() < end:
            time.sleep(_LOOK_EVERY)
        return not self._group_lives()

    def _group_lives(self) -> bool:
        if self.process.poll() is None:
            return True
        return self._signal(0)

    def _signal(self, number: int) -> bool:
        """Send a signal to the child's group, if it has one. Return True if a process was there."""
        if sys.platform == "win32":  # pragma: no cover - Windows has no process groups of this kind
            return self._signal_alone(_KILL if number else 0)
        if not self._own_group:
            return self._signal_alone(number)
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            # macOS says "not permitted" of a group whose members are all dead but not yet reaped.
            return False
        return True

    def _signal_alone(self, number: int) -> bool:
        if self.process.poll() is not None:
            return False
        if number:
            self.process.send_signal(number)
        return True


_TERMINATE: Final = int(signal.SIGTERM)
_KILL: Final = int(getattr(signal, "SIGKILL", signal.SIGTERM))
