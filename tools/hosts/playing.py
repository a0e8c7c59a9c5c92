"""One prompt to one real host, with `humanmcp config` as it is and a person who answers."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from humanmcp.inbox.contract import Item
from humanmcp.inbox.folder import FolderInbox
from tools.hosts.installing import Installed
from tools.hosts.model import TOOL, Model
from tools.hosts.table import RealHost

ANSWER: Final = "To the east, says a person."
COMES_WITHIN: Final = 90.0
"""Seconds that a host may take to its call, and again to its end."""
LOOK_EVERY: Final = 0.1
HUMANMCP: Final = (sys.executable, "-m", "humanmcp")


@dataclass(slots=True)
class Outcome:
    """What became of one prompt.

    `first` are the seconds until the model was first asked with tools, `faults` what is not as it
    has to be.
    """

    client: str = ""
    first: float | None = None
    offered: bool = False
    reached: bool = False
    came_back: bool = False
    faults: list[str] = field(default_factory=list)
    said: str = ""


@dataclass(frozen=True, slots=True)
class Room:
    """The folders of one run: a home, a project and an inbox of its own."""

    folder: Path

    @property
    def home(self) -> Path:
        """The home of the user that the host runs for."""
        return self.folder / "home"

    @property
    def project(self) -> Path:
        """The folder that the host is started in."""
        return self.folder / "project"

    @property
    def inbox(self) -> Path:
        """Where the messages wait."""
        return self.folder / "inbox"

    def make(self) -> None:
        """Make the folders."""
        for folder in (self.home, self.project, self.inbox):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def environment(self, *first: Path) -> dict[str, str]:
        """Return what every program of this run is given, with folders that come first on PATH."""
        path = os.pathsep.join([*map(str, first), os.environ["PATH"]])
        return {"HOME": str(self.home), "PATH": path, "TERM": "dumb", "LANG": "C.UTF-8"}


def configured(
    host: RealHost, installed: Installed, model: Model, room: Room, *flags: str
) -> dict[str, str]:
    """Configure a host in a room with `humanmcp config`. Return the environment to start it in."""
    room.make()
    words = [*HUMANMCP, "config", host.name, "--write", "--home", str(room.inbox), *flags]
    subprocess.run(
        words, cwd=room.project, env=room.environment(), check=True, capture_output=True, timeout=60
    )
    return prepared(host, installed, model, room)


def prepared(host: RealHost, installed: Installed, model: Model, room: Room) -> dict[str, str]:
    """Tell a configured host where its model is. Return the environment to start it in."""
    host.prepare(room.home, model.url)
    own = {name: value.replace("{url}", model.url) for name, value in host.environment.items()}
    return {**room.environment(*installed.path), **own}


@contextmanager
def started(
    host: RealHost, installed: Installed, model: Model, room: Room, *flags: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Configure a host in a room with `humanmcp config`, and start it for one prompt."""
    environment = configured(host, installed, model, room, *flags)
    with (room.folder / "said.txt").open("wb") as said:
        process = subprocess.Popen(
            [str(installed.program), *host.words],
            cwd=room.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a host and what it started: its own group, and no other."""
    try:
        os.killpg(process.pid, 15)
        process.wait(10)
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
    process.wait()


def tried(host: RealHost, installed: Installed, folder: Path) -> Outcome:
    """Play, and turn what cannot be started into a fault."""
    try:
        return play(host, installed, folder)
    except (OSError, subprocess.SubprocessError) as error:
        return Outcome(faults=[f"cannot be started: {error}"])


def play(host: RealHost, installed: Installed, folder: Path) -> Outcome:
    """Let a host ask a person, and say what came of it."""
    outcome, room = Outcome(), Room(folder)
    with Model() as model:
        began = time.monotonic()
        with started(host, installed, model, room) as process:
            item = waiting_call(room, process)
            if item is not None:
                outcome.reached = True
                outcome.client = client_of(room, item)
                _answer(room, item)
                wait(lambda: process.poll() is not None or _back(model), COMES_WITHIN)
        turns = model.turns
    outcome.said = (room.folder / "said.txt").read_text("utf-8", "replace")[-600:]
    if turns:
        outcome.first = turns[0].at - began
        outcome.offered = any(TOOL in name for name in turns[0].tools)
    outcome.came_back = any(ANSWER in turn.result for turn in turns)
    outcome.faults = _faults(outcome, asked=bool(turns))
    return outcome


def _faults(outcome: Outcome, *, asked: bool) -> list[str]:
    checks = (
        (asked, "never asked the model with any tools"),
        (not asked or outcome.offered, f"the first model request does not offer {TOOL}"),
        (outcome.reached, "no call reached the inbox"),
        (not outcome.reached or outcome.came_back, "the answer did not come back to the model"),
    )
    return [fault for held, fault in checks if not held]


def waiting_call(room: Room, process: subprocess.Popen[bytes]) -> Item | None:
    """Wait for a tool call in the inbox; None when none comes, or the host ends before."""
    wait(lambda: bool(waiting(room)) or process.poll() is not None, COMES_WITHIN)
    found = waiting(room)
    return found[0] if found else None


def waiting(room: Room, method: str = "tools/call") -> Sequence[Item]:
    """List what waits of one method, in every session of the room."""
    inbox = FolderInbox(room.inbox)
    return [
        item
        for facts in inbox.sessions()
        for item in inbox.items(facts.name)
        if item.method == method
    ]


def client_of(room: Room, item: Item) -> str:
    """Say what the client of an exchange calls itself, and which version it speaks."""
    facts = FolderInbox(room.inbox).facts(item.key.session)
    return f"{facts.client} {facts.client_version}, {item.protocol_version}"


def _answer(room: Room, item: Item) -> None:
    """Answer as a person does at a terminal."""
    named = f"{item.key.session}/{item.key.number}"
    subprocess.run(
        [*HUMANMCP, "answer", named, "--text", ANSWER, "--home", str(room.inbox)],
        env=room.environment(),
        check=True,
        capture_output=True,
        timeout=60,
    )


def _back(model: Model) -> bool:
    return any(ANSWER in turn.result for turn in model.turns)


def wait(happened: Callable[[], object], within: float) -> None:
    """Wait until something has happened, for a while."""
    deadline = time.monotonic() + within
    while not happened() and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)
