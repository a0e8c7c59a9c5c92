"""Run a client against a server that does one thing wrong, and leave nothing of it."""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import secrets
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from humanmcp.judge.playing import SERVER, Event, HttpServer, HttpSession, Player, Record, events
from humanmcp.locales.stop import StopError
from humanmcp.setup.hosts import BY_NAME, HostCommand, local_entry, snippet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from humanmcp.judge.misbehaviours import Misbehaviour
    from humanmcp.setup.hosts import Host

KEPT: Final = 100_000
"""Bytes of a client's output that are kept of its beginning, and of its end."""
MOST_OUTPUT: Final = 64 * 1024 * 1024
"""Bytes of output after which a client is ended."""
MOST_MEMORY: Final = 2 * 1024**3
"""Bytes of memory after which a client is ended, with the programs of its session."""
GRACE: Final = 2.0
"""Seconds from SIGTERM to SIGKILL, as with the official SDKs."""

_MEGABYTE: Final = 1024**2 if sys.platform == "darwin" else 1024
"""In the unit of `ru_maxrss`."""
_MARK: Final = "HUMANMCP_JUDGED"
"""The variable by which every process that a client started is found again."""
_LOOK_EVERY: Final = 0.05
_LOOKS_TO_WEIGH: Final = 20
_LAST_WORDS: Final = 1.0  # seconds that the pipes and servers of an ended client may stay


class ClientNotStartedError(StopError):
    """The client cannot be started."""

    section = "judge"


@dataclass(frozen=True, slots=True)
class Client:
    """How to start the client, and how long to wait for it.

    In `words`, `{server}` is the command of the server as one word, `{server...}` as several,
    `{url}` its address, `{config}` a file in the form of `host`. Without any of them it is in the
    variable HUMANMCP_SERVER. `seconds` count from the misbehaviour, `most` from the start.
    """

    words: tuple[str, ...]
    tools: tuple[str, ...] = ("t",)
    host: str = "claude-desktop"
    seconds: float = 10.0
    most: float = 60.0

    @property
    def transport(self) -> str:
        """The transport over which it speaks."""
        return "http" if any("{url}" in word for word in self.words) else "stdio"


@dataclass(slots=True)
class Run:
    """What was seen of a client: times are seconds since the epoch."""

    events: list[Event]
    """What its server read and wrote."""
    status: int | None = 0
    """The exit status; the number of a signal below 0; None if a person runs the client."""
    ended_at: float = 0.0
    ended_for: str = ""
    """Why it had to be ended: "late" (it did nothing more within its seconds), "flooded" (its
    output) or "outgrown" (its memory); "" if it ended itself."""
    cpu: float | None = None
    """Seconds of its processor time, with that of the programs that it waited for."""
    memory: int | None = None
    """Megabytes that one of these had at most. None if that is not known."""
    output: str | None = ""
    """What it printed; None if that is not known."""
    left: list[str] = field(default_factory=list)
    """The command lines of processes that it left behind; they are ended."""

    @property
    def odd_at(self) -> float | None:
        """When the misbehaviour began; None if it never did."""
        return min((one.at for one in self.events if one.what == "odd"), default=None)


class _Output:
    """Reads what a client writes, and keeps the beginning and the end."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.size = 0
        self._first, self._last = bytearray(), bytearray()
        self._stream = stream
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while piece := os.read(self._stream.fileno(), 65536):
                self.size += len(piece)
                room = KEPT - len(self._first)
                self._first += piece[:room]
                self._last = (self._last + piece[room:])[-KEPT:]

    def text(self) -> str:
        """Return what was kept, after a moment for what is on its way."""
        self._thread.join(_LAST_WORDS)
        between = b"\n...\n" if self.size > len(self._first) + len(self._last) else b""
        kept = bytes(self._first + between + self._last)
        return kept.replace(b"\0", b"").decode("utf-8", "replace")  # UTF-16 can be read, too


def run_client(client: Client, row: Misbehaviour, stopped: threading.Event) -> Run:
    """Run it once. Ends it early when `stopped` is set.

    Raises:
        ClientNotStartedError: there is no such program.
    """
    mark = secrets.token_hex(8)
    with tempfile.TemporaryDirectory(prefix="humanmcp-judge-") as name:
        folder = Path(name)
        with _words(client, row, folder) as (words, server):
            environment = os.environ | {_MARK: mark, "HUMANMCP_SERVER": shlex.join(server)}
            try:
                process = subprocess.Popen(  # noqa: S603 - starting what the person named is our task
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    start_new_session=True,
                )
            except OSError as error:
                raise ClientNotStartedError("not started", client=words[0], why=error) from error
            assert process.stdout is not None  # noqa: S101 - Popen made the pipe
            run = Run([])
            output = _Output(process.stdout)
            try:
                _Watch(process, folder, output, run).until_ended(client, stopped)
            finally:
                run.events = events(folder)
                run.left = _end_all(process, mark, run)
                run.output = output.text()
                process.stdout.close()
                run.events = events(folder)
            return run


@contextlib.contextmanager
def _words(
    client: Client, row: Misbehaviour, folder: Path
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the command line of the client, and of the server. Over HTTP, the server runs."""
    life = client.seconds + client.most + 2 * GRACE
    server = server_command(folder, life, client.tools, row.name)
    host = BY_NAME[client.host]
    config = folder / f"config.{host.format.value}"
    config.write_text(configuration(host, server), "utf-8")
    fillings = {"{server}": shlex.join(server), "{config}": str(config)}
    with contextlib.ExitStack() as stack:
        if client.transport == "http":
            session = HttpSession(Player(row, client.tools), Record(folder))
            http = HttpServer(lambda _method, _name: session)
            stack.callback(http.close)
            fillings["{url}"] = http.url
        words: list[str] = []
        for word in client.words:
            if word == "{server...}":
                words += server
                continue
            for mark, meaning in fillings.items():
                word = word.replace(mark, meaning)  # noqa: PLW2901 - the word is filled step by step
            words.append(word)
        yield words, server


def server_command(folder: Path, life: float, tools: Sequence[str], *name: str) -> list[str]:
    """Return the command of a server: the next one without a name."""
    # -P: a mcp.py or json.py in the client's folder is not ours
    words = [sys.executable, "-P", "-m", SERVER, str(folder), str(life), ",".join(tools)]
    return [*words, *name]


def configuration(host: Host, server: Sequence[str]) -> str:
    """Return the configuration of a host that starts this server."""
    command = HostCommand(server[0], tuple(server[1:]))
    return snippet(host, "judge", local_entry(host, command, 0))


class _Watch:
    """Waits until a client has ended, or has to be."""

    def __init__(
        self, process: subprocess.Popen[bytes], folder: Path, output: _Output, run: Run
    ) -> None:
        self._process = process
        self._folder = folder
        self._output = output
        self._run = run
        self._ended = threading.Event()
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        if sys.platform == "win32":
            self._run.status = self._process.wait()
        else:
            import resource  # noqa: PLC0415 - Windows has none

            # a program that has just been started counts the memory of the one that started it
            least = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            _, status, usage = os.wait4(self._process.pid, 0)
            self._run.status = self._process.returncode = os.waitstatus_to_exitcode(status)
            self._run.cpu = round(usage.ru_utime + usage.ru_stime, 2)
            if usage.ru_maxrss > least:
                self._run.memory = usage.ru_maxrss // _MEGABYTE
        self._run.ended_at = time.time()
        self._ended.set()

    def until_ended(self, client: Client, stopped: threading.Event) -> None:
        """Return when it has ended; end it when its seconds are over, or when it takes too much."""
        run, started = self._run, time.time()
        for look in itertools.count(1):
            if self._ended.wait(_LOOK_EVERY):
                return
            if run.odd_at is None:  # afterwards, a flood would be read again at each look
                run.events = events(self._folder)
            limit = started + client.most if run.odd_at is None else run.odd_at + client.seconds
            if self._output.size > MOST_OUTPUT:
                run.ended_for = "flooded"
            elif look % _LOOKS_TO_WEIGH == 0 and _memory(self._process.pid) > MOST_MEMORY:
                run.ended_for = "outgrown"
            elif stopped.is_set() or time.time() > limit:
                run.ended_for = "late"
            if run.ended_for:
                _signal_group(self._process, signal.SIGTERM)
                if not self._ended.wait(GRACE):
                    _signal_group(self._process, _KILL)
                    self._ended.wait(GRACE)
                return


_SESSION, _PAGES = 3, 21
"""The members of /proc/PID/stat, counted after the name of the program."""


def _memory(session: int) -> int:
    """Return the bytes of memory of the programs of a session, where the system shows them."""
    pages = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            of_program = file.read_text("utf-8", "replace").rpartition(")")[2].split()
            pages += int(of_program[_PAGES]) if int(of_program[_SESSION]) == session else 0
    return pages * mmap.PAGESIZE


_KILL: Final = getattr(signal, "SIGKILL", signal.SIGTERM)


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, number)


def end_servers(runs: Iterable[Run]) -> None:
    """End the servers that still run."""
    for pid in filter(_is_server, (pid for run in runs for pid in _servers(run))):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, _KILL)


def leaves_server(run: Run) -> bool:
    """Return True if a server of this run still runs."""
    return any(map(_is_server, _servers(run)))


def _end_all(process: subprocess.Popen[bytes], mark: str, run: Run) -> list[str]:
    """End what the client started and left, also outside its group. Return the command lines."""
    left: dict[int, str] = {}
    end = time.monotonic() + _LAST_WORDS
    while leaves_server(run) and time.monotonic() < end:
        time.sleep(_LOOK_EVERY)  # the client may have ended them in its last moment
    end = time.monotonic() + GRACE
    while time.monotonic() < end:
        alive = {pid: words for pid, words in _marked(mark) if pid != process.pid}
        alive |= {pid: SERVER for pid in _servers(run) if pid not in alive and _is_server(pid)}
        left |= alive
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, _KILL)
        if not alive:
            break
        time.sleep(_LOOK_EVERY)  # what forks all the time may be quicker than one look
    _signal_group(process, _KILL)
    return sorted(left.values())


def _servers(run: Run) -> list[int]:
    """Return the process of each server that was started."""
    return [int(one.text) for one in run.events if one.what == "start"]


def _marked(mark: str) -> Iterator[tuple[int, str]]:
    """Find the processes with this mark in their environment, where the system shows it."""
    wanted = f"{_MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                yield int(folder.name), words.decode("utf-8", "replace").strip()


def _is_server(pid: int) -> bool:
    """Return True if this is a server of ours; the SDKs give theirs none of our variables."""
    with contextlib.suppress(OSError):
        return SERVER.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
