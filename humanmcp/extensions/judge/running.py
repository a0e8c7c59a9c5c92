"""Run a client against a server that does one thing wrong, and leave nothing of it."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import mmap
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.common.child import start_error
from humanmcp.extensions.judge.playing import (
    SERVER,
    Event,
    HttpServer,
    HttpSession,
    Player,
    Record,
    events,
)
from humanmcp.locales.stop import StopError
from humanmcp.protocol.http.outbound import PATH
from humanmcp.setup.hosts import BY_NAME, HostCommand, local_entry, snippet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from humanmcp.extensions.judge.server_faults import ServerFault
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
"""The variable by which what a client started is found where no limit of the run could be set."""
_KILL: Final = getattr(signal, "SIGKILL", signal.SIGTERM)
_LOOK_EVERY: Final = 0.05
_LOOKS_TO_WEIGH: Final = 20
_LAST_WORDS: Final = 1.0  # seconds that the pipes and servers of an ended client may stay


class JudgeError(StopError):
    """A client cannot be judged; `humanmcp judge` says why, and ends."""

    section = "judge"


@dataclass(frozen=True, slots=True)
class Client:
    """How to start the client, and how long to wait for it.

    In `words`, `{server}` is the command of the server as one word, `{server...}` as several,
    `{url}` its address, `{config}` a file in the form of `host`. Without any of them it is in the
    variable HUMANMCP_SERVER. `seconds` count from the fault, `most` from the start.
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
    """The processes that it left behind, as `processes` tells them; they are ended."""
    stays: bool = False
    """Whether one of them, or it, could not be ended."""

    @property
    def odd_at(self) -> float | None:
        """When the fault began; None if it never did."""
        return min((one.at for one in self.events if one.what == "odd"), default=None)


class _Program:
    """A client that runs. Of what it writes, the beginning and the end are kept."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.size = 0
        self._first, self._last = bytearray(), bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None  # noqa: S101 - Popen made the pipe
        with self.process.stdout as stream, contextlib.suppress(OSError, ValueError):
            while piece := os.read(stream.fileno(), 65536):
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

    def has_ended(self, run: Run, seconds: float) -> bool:
        """Wait for so long until it has ended, and note how it ended and what it used."""
        end = time.monotonic() + seconds
        while (status := self._status(run)) is None:
            if time.monotonic() > end:
                return False
            time.sleep(_LOOK_EVERY)
        run.status, run.ended_at = status, time.time()
        return True

    def _status(self, run: Run) -> int | None:
        if sys.platform == "win32":
            return self.process.poll()
        import resource  # noqa: PLC0415 - Windows has none

        # a program that has just been started counts the memory of the one that started it
        least = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if not pid:
            return None
        run.cpu = round(usage.ru_utime + usage.ru_stime, 2)
        run.memory = usage.ru_maxrss // _MEGABYTE if usage.ru_maxrss > least else None
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return self.process.returncode

    def signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self.process.kill()
            else:
                os.killpg(self.process.pid, number)


def run_client(client: Client, row: ServerFault, stopped: threading.Event) -> Run:
    """Run it once. Ends it early when `stopped` is set.

    Raises:
        JudgeError: there is no such program.
    """
    with tempfile.TemporaryDirectory(prefix="humanmcp-judge-") as name:
        folder = Path(name)
        with _words(client, row, folder) as (words, server):
            environment = os.environ | {_MARK: name, "HUMANMCP_SERVER": shlex.join(server)}
            try:
                with _limiting(folder):
                    process = subprocess.Popen(  # noqa: S603 - starting what the person named is our task
                        words,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        env=environment,
                        start_new_session=True,
                    )
            except OSError as error:
                why = start_error(words, error)
                raise JudgeError("not started", client=words[0], why=why) from error
            run, program = Run([]), _Program(process)
            try:
                _watch(program, folder, run, client, stopped)
            finally:
                _end_rest(program, folder, run)
                run.output = program.text()
                run.events = events(folder)
            return run


_starting = threading.Lock()


@contextlib.contextmanager
def _limiting(folder: Path) -> Iterator[None]:
    """Start a client with a limit that nothing else has: by that all that it starts is known.

    Neither an empty environment nor a session or a parent of its own takes it away: "A child
    process created via fork(2) inherits its parent's resource limits. Resource limits are preserved
    across execve(2)." (https://man7.org/linux/man-pages/man2/getrlimit.2.html). What it bounds is
    the processor time of a program with a real-time priority, and that to more than eight years.
    A program that starts another one for another user may set all limits anew (`su`). Meanwhile no
    other thread of this process may start anything.
    """
    if sys.platform != "linux":
        yield
        return
    import resource  # noqa: PLC0415 - Windows has none

    with _starting:
        before = resource.getrlimit(resource.RLIMIT_RTTIME)
        with contextlib.suppress(OSError, ValueError):  # above what this system allows
            resource.setrlimit(resource.RLIMIT_RTTIME, (_limit_of(folder), before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_RTTIME, before)


def _limit_of(folder: Path) -> int:
    """Return the microseconds that are the limit of a run."""
    digest = hashlib.blake2b(os.fsencode(folder), digest_size=6).digest()
    return 2**48 + int.from_bytes(digest, "big")


@contextlib.contextmanager
def _words(client: Client, row: ServerFault, folder: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the command line of the client, and of the server. Over HTTP, the server runs."""
    life = client.seconds + client.most + 2 * GRACE
    server = server_command(folder, life, client.tools, row.name)
    host = BY_NAME[client.host]
    config = folder / f"config.{host.format.value}"
    config.write_text(configuration(host, server), "utf-8", "surrogateescape")
    meanings = {"{server}": shlex.join(server), "{config}": str(config)}
    with contextlib.ExitStack() as stack:
        if client.transport == "http":
            session = HttpSession(Player(row, client.tools), Record(folder))
            http = HttpServer(lambda _method, _name: session)
            stack.callback(session.record.close)
            stack.callback(http.close)
            if row.guarded is not None:
                origin = http.url.removesuffix(PATH)
                http.guard = row.guarded.begin(origin, session.record.add)
            meanings["{url}"] = http.url
        words: list[str] = []
        for word in client.words:
            filled = re.sub(
                "|".join(map(re.escape, meanings)), lambda mark: meanings[mark[0]], word
            )
            words += server if word == "{server...}" else [filled]
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


def _watch(
    program: _Program, folder: Path, run: Run, client: Client, stopped: threading.Event
) -> None:
    """Return when it has ended; end it when its seconds are over, or when it takes too much."""
    started = time.time()
    for look in itertools.count(1):
        if program.has_ended(run, _LOOK_EVERY):
            return
        if run.odd_at is None:  # afterwards, a flood would be read again at each look
            run.events = events(folder)
        limit = started + client.most if run.odd_at is None else run.odd_at + client.seconds
        if program.size > MOST_OUTPUT:
            run.ended_for = "flooded"
        elif look % _LOOKS_TO_WEIGH == 0 and _memory(program.process.pid) > MOST_MEMORY:
            run.ended_for = "outgrown"
        elif stopped.is_set() or time.time() > limit:
            run.ended_for = "late"
        if run.ended_for:
            program.signal_group(signal.SIGTERM)
            if not program.has_ended(run, GRACE):
                program.signal_group(_KILL)
                program.has_ended(run, GRACE)
            return


_STATE, _SESSION, _THREADS, _PAGES = 0, 3, 17, 21
"""The members of /proc/PID/stat, counted after the name of the program."""


def _facts(process: Path) -> list[str]:
    return (process / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()


def _memory(session: int) -> int:
    """Return the bytes of memory of the programs of a session, where the system shows them."""
    pages = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            of_program = _facts(process)
            pages += int(of_program[_PAGES]) if int(of_program[_SESSION]) == session else 0
    return pages * mmap.PAGESIZE


def end_all(folder: Path) -> dict[int, str]:
    """End what belongs to a run. Return what was found, as `processes` does."""
    found: dict[int, str] = {}
    end = time.monotonic() + GRACE
    while (alive := processes(folder)) and time.monotonic() < end:
        found |= alive
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, _KILL)
        time.sleep(_LOOK_EVERY)  # what forks all the time may be quicker than one look
    return found


def _end_rest(program: _Program, folder: Path, run: Run) -> None:
    """End what the client started and left, also outside its group, and note it."""
    end = time.monotonic() + _LAST_WORDS
    while processes(folder) and time.monotonic() < end:
        time.sleep(_LOOK_EVERY)  # what still runs may be about to end
    run.left = sorted(end_all(folder).values())
    run.stays = bool(processes(folder))
    program.signal_group(_KILL)


def processes(folder: Path) -> dict[int, str]:
    """Find what runs of a run, where the system shows it: SERVER for its servers, or command lines.

    What the client started has the limit of the run; where none could be set, the folder of the run
    in its environment. A server of a client that a person runs has it in its command.
    """
    limit = rb"(?m)^Max realtime timeout +%d " % _limit_of(folder)
    mark = rb"(^|\0)%b(\0|$)" % re.escape(os.fsencode(f"{_MARK}={folder}"))
    marks = {"limits": re.compile(limit), "environ": re.compile(mark)}
    server = list(map(os.fsencode, server_command(folder, 0, ())[1:5]))
    found = {}
    for program in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (program / "cmdline").read_bytes().split(b"\0")
            facts = _facts(program)
            if facts[_STATE] == "Z" and facts[_THREADS] in ("0", "1"):
                continue  # it has ended, and is there until its parent asks how
            if words[1:5] == server:
                found[int(program.name)] = SERVER
            elif any(one.search((program / name).read_bytes()) for name, one in marks.items()):
                found[int(program.name)] = b" ".join(words).decode("utf-8", "replace").strip()
    return found
