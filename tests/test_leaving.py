"""Whatever ends a command, nothing that it started is left: no process, no folder."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from humanmcp import launch
from humanmcp.cli import commands
from tests.support.desk_process import FORM
from tests.support.serve_http import ask_http
from tests.support.serve_process import HUMANMCP, bare_environment
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc")

ROOT: Final = Path(__file__).parent.parent
DICE: Final = (sys.executable, str(ROOT / "samples" / "servers" / "dice.py"))


class Command(NamedTuple):
    """A command, and how many processes run when it has started everything."""

    words: tuple[str, ...]
    processes: int
    demo_host: bool = False
    """Whether its page starts the demo host."""


COMMANDS: Final[Mapping[str, Command]] = {
    "demo": Command(("demo", "--by-hand", "--open"), 3),
    "lesson over HTTP": Command(("lesson", "over-http", "--open"), 3),
    "desk": Command(("desk", "--port", "0"), 3, demo_host=True),
    "play": Command(("play", "--people", "server,model", "--port", "0"), 3),
    "client": Command(("client", "--", *DICE), 2),
    "host": Command(("host", "--config", "mcp.json", "--model", "human"), 2),
    "tap": Command(("tap", "--", *DICE), 2),
    "serve": Command(("serve",), 1),
    "serve over HTTP": Command(("serve", "--http", "127.0.0.1"), 1),
    "room": Command(("room", "--port", "0"), 1),
    "inbox": Command(("inbox", "--watch"), 1),
}
INSTALLED: Final = {name: one for name, one in COMMANDS.items() if one.words[0] in commands()}
"""Those of this installation: extensions may have been removed."""
SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")


class Started:
    """A command, and all processes of its home directory."""

    def __init__(self, folder: Path, command: Command) -> None:
        """Start it, and wait until it has started the others."""
        self.home, self.temporary = folder / "home", folder / "temporary"
        self.home.mkdir()
        self.temporary.mkdir()
        (self.home / "mcp.json").write_text(
            f'{{"mcpServers": {{"dice": {{"command": "{DICE[0]}", "args": ["{DICE[1]}"]}}}}}}'
        )
        self.process = subprocess.Popen(
            [*HUMANMCP, *command.words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.home,
            env=bare_environment(self.home) | {"TMPDIR": str(self.temporary)},
        )
        if command.demo_host:
            inbox = self.home / ".humanmcp"
            facts = until(lambda: launch.find(inbox), "the desk")
            port = int(facts.address.rstrip("/").rpartition(":")[2])
            key = {"Authorization": f"Bearer {facts.token}"}
            assert ask_http(port, "POST", "/try", b"", FORM | key).status == 303
        until(lambda: len(self.running()) >= command.processes, f"{command.processes} processes")

    def running(self) -> dict[int, str]:
        """Return the processes with this home directory, and their command lines."""
        return dict(self._processes())

    def _processes(self) -> Iterator[tuple[int, str]]:
        mark = f"HOME={self.home}".encode()
        for folder in Path("/proc").iterdir():
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    words = (folder / "cmdline").read_bytes().decode().split("\0")
                    if any(words):  # one that has ended has no words
                        yield int(folder.name), " ".join(words)
            except (OSError, ValueError):
                continue


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("command", INSTALLED.values(), ids=INSTALLED)
def test_nothing_is_left_when_a_signal_ends_a_command(
    tmp_path: Path, command: Command, name: str
) -> None:
    """SIGKILL gives it no time: then the pipes to its children end, and with them the children."""
    started = Started(tmp_path, command)
    started.process.send_signal(getattr(signal, name))
    started.process.wait(PATIENCE)
    try:
        until(lambda: not started.running(), "the end of all processes")
    finally:
        for process in started.running():
            os.kill(process, signal.SIGKILL)
        assert started.process.stdin is not None
        started.process.stdin.close()
    assert list(started.temporary.iterdir()) == []


def test_nothing_is_left_when_a_desk_is_stopped_from_another_terminal(tmp_path: Path) -> None:
    """The demo host that the page started is gone as well."""
    started = Started(tmp_path, COMMANDS["desk"])
    subprocess.run(
        [*HUMANMCP, "desk", "--stop"], env=bare_environment(started.home), check=True, timeout=60
    )
    assert started.process.wait(PATIENCE) == 0
    until(lambda: not started.running(), "the end of all processes")
    assert started.process.stdin is not None
    started.process.stdin.close()
