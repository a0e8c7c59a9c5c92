"""Permission prompts that real hosts hand to `humanmcp hook`, and whether the command ran."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from humanmcp.extensions.agents.hook_entries import HOOKS
from humanmcp.inbox.contract import Item
from humanmcp.inbox.folder import FolderInbox
from humanmcp.setup.hosts import filled_in
from tools.hosts.installing import Installed
from tools.hosts.model import Model
from tools.hosts.playing import COMES_WITHIN, HUMANMCP, Room, started, wait, waiting
from tools.hosts.table import PROMPT, RealHost

REASON: Final = 'Not on a Sunday — 今日はだめ, "please".'
SOON: Final = 8
"""Seconds after which nobody has decided."""


class Shell(NamedTuple):
    """How a host is started for one prompt that it asks about, and its tool for commands."""

    words: tuple[str, ...]
    tool: str
    changes: bool
    lost: bool
    """Whether the host runs the command when the hook was killed."""


SHELLS: Final[Mapping[str, Shell]] = {
    "claude-code": Shell(("-p", PROMPT), "Bash", changes=True, lost=False),
    "copilot-cli": Shell(("--prompt", PROMPT, "--no-color"), "bash", changes=False, lost=False),
    "gemini-cli": Shell(
        ("--yolo", "--model", "gemini-2.5-flash", "--prompt", PROMPT),
        "run_shell_command",
        changes=True,
        lost=True,
    ),
}
"""The hosts whose hook is called without a screen."""


class Case(NamedTuple):
    """What the person does, and whether the command runs then; what the model reads."""

    name: str
    words: tuple[str, ...] = ()
    runs: bool = False
    reads: str = ""


CASES: Final = (
    Case("allow", ("--allow",), runs=True, reads="done"),
    Case("deny", ("--deny", REASON), reads=REASON),
    Case("change", ("--change", "-"), reads="changed"),
    Case("hand back", ("--hand-back",)),
    Case("nobody"),
    Case("killed"),
    Case("missing"),
)


class Measured(NamedTuple):
    """What became of one case: whether the command ran, and what is not as it has to be."""

    case: str
    ran: bool
    faults: tuple[str, ...]

    def __str__(self) -> str:
        """Return a line of the report."""
        ran = "the command ran" if self.ran else "the command did not run"
        return f"{self.case}: " + ("; ".join(self.faults) or ran)


def hook(host: RealHost, installed: Installed, folder: Path) -> Iterator[Measured]:
    """Play every case with one host, without a screen."""
    shell = SHELLS[host.name]
    for case in CASES:
        if case.name == "change" and not shell.changes:
            continue
        asking = replace(host, words=shell.words)
        runs = case.runs or (shell.lost and case.name == "killed")
        room = Room(folder / case.name.replace(" ", "-"))
        faults = tuple(_play(asking, installed, room, case, runs=runs))
        yield Measured(case.name, (room.project / "made.txt").exists(), faults)


def _play(
    host: RealHost, installed: Installed, room: Room, case: Case, *, runs: bool
) -> Iterator[str]:
    shell = SHELLS[host.name]
    given = {"command": "touch made.txt; echo done", "description": "Touch"}
    wanted = ["--approvals"]
    if case.name == "nobody":
        wanted += ["--wait", str(SOON)]
    prepare = partial(spoil, host) if case.name == "missing" else host.prepare
    with Model([(shell.tool, given)]) as model:
        with started(replace(host, prepare=prepare), installed, model, room, *wanted) as process:
            item = _card(room, process)
            if (item is None) is not (case.name == "missing"):
                yield f"a prompt reached the inbox: {item is not None}"
            if item is not None:
                yield from decide(room, item, case)
            wait(lambda: process.poll() is not None, COMES_WITHIN)
        results = [one.result for one in model.turns]
    ran = (room.project / "made.txt").exists()
    if ran is not runs:
        yield f"the command ran: {ran}"
    if case.reads and not any(case.reads in one for one in results):
        yield f"the model read {results[-1:]}"


def spoil(host: RealHost, home: Path, url: str) -> None:
    """Let the hook name a program that is not there."""
    host.prepare(home, url)
    path = filled_in(HOOKS[host.name].places, home, {}, home)
    written = path.read_text("utf-8")
    spoilt = written.replace(json.dumps(str(Path(sys.executable).parent))[1:-1], "/nowhere")
    assert spoilt != written
    path.write_text(spoilt, "utf-8")


def _card(room: Room, process: subprocess.Popen[bytes]) -> Item | None:
    wait(lambda: bool(waiting(room)) or process.poll() is not None, COMES_WITHIN)
    return next(iter(waiting(room)), None)


def decide(room: Room, item: Item, case: Case) -> Iterator[str]:
    """Decide as a person does at a terminal; yield why that was not sent."""
    if case.name == "killed":
        os.kill(FolderInbox(room.inbox).facts(item.key.session).pid, signal.SIGKILL)
    if not case.words:
        return
    named = f"{item.key.session}/{item.key.number}"
    changed: Any = {"command": "touch changed.txt; echo changed", "description": "Touch"}
    ran = subprocess.run(
        [*HUMANMCP, "answer", named, *case.words, "--home", str(room.inbox)],
        env=room.environment(),
        input=json.dumps(changed).encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    if ran.returncode:
        yield f"not sent: {ran.stderr.decode()[-300:]}"
