"""Permission prompts at a screen: each host is started at a terminal of its own."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from humanmcp.inbox.contract import Item
from tools.hosts.hooking import REASON, Case, decide
from tools.hosts.installing import Installed
from tools.hosts.model import Model
from tools.hosts.playing import COMES_WITHIN, LOOK_EVERY, Room, configured, wait, waiting
from tools.hosts.table import RealHost

QUIET: Final = 2.0
"""Seconds without a change of the screen after which a key is pressed."""
AT_MOST: Final = 20.0
"""Seconds after which it is pressed although the screen still changes: some never rest."""
ENTER: Final = "\r"


def _as_it_is(_room: Room) -> None:
    """Nothing has to be answered before."""


def _claude_is_known(room: Room) -> None:
    """Answer what Claude Code asks a new user."""
    path = room.home / ".claude.json"
    known: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    known |= {"hasCompletedOnboarding": True, "theme": "dark"}
    known["customApiKeyResponses"] = {"approved": ["sk-ant-none"], "rejected": []}
    known["projects"] = {str(room.project): {"hasTrustDialogAccepted": True}}
    path.write_text(json.dumps(known), "utf-8")


class Screen(NamedTuple):
    """How a host is started at a screen, and its tool for commands.

    `dialog` says that its own dialog is open beside the hook: Enter there allows.
    """

    words: tuple[str, ...]
    tool: str
    given: Mapping[str, Any]
    prepare: Callable[[Room], None] = _as_it_is
    dialog: bool = False


_TOUCH: Final = "touch made.txt; echo done"
SCREENS: Final[Mapping[str, Screen]] = {
    "claude-code": Screen(
        ("--permission-mode", "manual"),
        "Bash",
        {"command": _TOUCH, "description": "Touch"},
        prepare=_claude_is_known,
        dialog=True,
    ),
}
CASES: Final = (
    Case("allow", ("--allow",), runs=True, reads="done"),
    Case("deny", ("--deny", REASON), reads="Not on a Sunday"),
    Case("hand back", ("--hand-back",)),
    Case("keyboard", runs=True, reads="done"),
)


class Terminal:
    """A terminal that nobody looks at, with a host in it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def press(self, keys: str) -> None:
        """Press keys once the screen rests."""
        self.rest()
        os.write(self._descriptor, keys.encode())

    def rest(self) -> None:
        """Read until the screen rests, and answer what a program asks a terminal."""
        began = changed = time.monotonic()
        while time.monotonic() - changed < QUIET and time.monotonic() - began < AT_MOST:
            if select.select([self._descriptor], [], [], LOOK_EVERY)[0]:
                try:
                    shown = os.read(self._descriptor, 65536)
                except OSError:  # the host has ended
                    return
                for asked, answer in ((rb"\x1b\[6n", b"\x1b[1;1R"), (rb"\x1b\[0?c", b"\x1b[?1;2c")):
                    if re.search(asked, shown):
                        os.write(self._descriptor, answer)
                changed = time.monotonic()


@contextmanager
def at_terminal(
    host: RealHost, installed: Installed, model: Model, room: Room, *flags: str
) -> Iterator[Terminal]:
    """Start a host at a terminal."""
    environment = configured(host, installed, model, room, *flags)
    SCREENS[host.name].prepare(room)
    pid, descriptor = pty.fork()
    if pid == 0:  # pragma: no cover - the child
        os.chdir(room.project)
        words = [str(installed.program), *host.words]
        os.execve(words[0], words, {**environment, "TERM": "xterm-256color"})
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    try:
        yield Terminal(descriptor)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(descriptor)


def screen(host: RealHost, installed: Installed, folder: Path) -> Iterator[str]:
    """Play every case with one host at a terminal; yield what is not as it has to be."""
    for case in CASES:
        if case.name != "keyboard" or SCREENS[host.name].dialog:
            for fault in _play(host, installed, folder, case):
                yield f"{case.name}: {fault}"


def _play(host: RealHost, installed: Installed, folder: Path, case: Case) -> Iterator[str]:
    own, room = SCREENS[host.name], Room(folder / f"screen-{case.name.replace(' ', '-')}")
    asking = replace(host, words=own.words)
    with (
        Model([(own.tool, own.given)]) as model,
        at_terminal(asking, installed, model, room, "--approvals", "--user") as terminal,
    ):
        for keys in ("do it", ENTER):
            terminal.press(keys)
        item = _card(room, terminal)
        if item is None:
            yield "no prompt reached the inbox"
        elif case.name == "keyboard":
            terminal.press(ENTER)
        else:
            yield from decide(room, item, case)
        _look(terminal, lambda: not waiting(room))
        terminal.rest()
        results = [one.result for one in model.turns]
        left = waiting(room)
    if left:
        yield "the prompt still waits"
    ran = (room.project / "made.txt").exists()
    if ran is not case.runs:
        yield f"the command ran: {ran}"
    if case.reads and not any(case.reads in one for one in results):
        yield f"the model read {results[-1:]}"


def _card(room: Room, terminal: Terminal) -> Item | None:
    _look(terminal, lambda: bool(waiting(room)))
    return next(iter(waiting(room)), None)


def _look(terminal: Terminal, happened: Callable[[], bool]) -> None:
    """Wait until something has happened, and read the screen meanwhile: a full one stops a host."""

    def seen() -> bool:
        terminal.rest()
        return happened()

    wait(seen, COMES_WITHIN)
