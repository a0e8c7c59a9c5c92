"""Run a command in a process that is killed at a chosen moment.

One JSON object a line says what to run; the answer says whether it was killed. Everything is
imported once, and each run is a fork. A run is killed before its n-th call that changes the file
system (`call`), or in the middle of writing, when a file would grow beyond so many bytes (`size`).
"""

import gc
import importlib
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any, Final

from humanmcp import cli, extensions
from humanmcp.desk.inbox import saved_answers
from humanmcp.export import command, readable  # noqa: F401 - imported once for every run
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.setup import config  # noqa: F401 - imported once for every run
from humanmcp.terminal import forget  # noqa: F401 - imported once for every run
from tests.support.living_on import APPENDED, live_on
from tests.support.opened_room import STORED, open_room

for _command in extensions.commands().values():
    importlib.import_module(_command.module)

CHANGES: Final = {"os.rename", "os.remove", "os.link", "os.chmod", "os.mkdir", "os.rmdir"}
WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def is_change(event: str, arguments: tuple[Any, ...], under: str) -> bool:
    """Return True for an event of Python's audit that changes something in a folder."""
    if event == "open":
        return bool(arguments[2] & WRITES) and str(arguments[0]).startswith(under)
    if event in {APPENDED, STORED}:
        return True
    return event in CHANGES and any(str(one).startswith(under) for one in arguments)


def kill_before(call: int, under: str, but: str) -> None:
    """Kill this process with SIGKILL before its n-th change in a folder.

    Files in a folder `but` count only when they leave it: nobody sees them before.
    """
    seen = 0

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if is_change(event, arguments, under) and not (but and is_within(event, arguments, but)):
            seen += 1
            if seen == call:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(heard)


def is_within(event: str, arguments: tuple[Any, ...], folder: str) -> bool:
    """Return True for a change that nobody sees outside a folder."""
    return event in {"open", "os.mkdir", "os.remove"} and f"/{folder}/" in str(arguments[0])


def kill_beyond(size: int) -> None:
    """Kill this process when it writes more than this many bytes to one file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def run(words: list[str]) -> int:
    """Run a command of humanmcp, or what the page does when a rule or an answer is saved."""
    name, *rest = words
    if name == "save a rule":
        from humanmcp.extensions.books import rules  # noqa: PLC0415 - it may be removed

        rules.add(Path(rest[0]), rules.NewRule("tools/call", "sunny", "t"))
        return 0
    if name == "save an answer":
        shelf = saved_answers.Shelf(Path(rest[0]))
        shelf.add(name="a", method="tools/call", tool="t", form=TextForm.TEXT, text="sunny")
        return 0
    if name == "record":
        from humanmcp.extensions.host.models.script import (  # noqa: PLC0415 - it may be removed
            ScriptModel,
            ScriptRecorder,
        )

        recorder = ScriptRecorder(ScriptModel.read(Path(rest[0])), Path(rest[1]).absolute())
        for _turn in recorder.model.turns:  # type: ignore[attr-defined]  # a recorded model
            recorder.turn((), (), lambda _piece: None)
        return 0
    if name == "live on":
        live_on(Path(rest[0]).absolute())
        return 0
    if name == "open a room":
        open_room(Path(rest[0]).absolute(), *rest[1:])
        return 0
    return cli.main(words)


def child(order: dict[str, Any]) -> int:
    """Do one run, in a process of its own."""
    os.chdir(order["under"])
    os.environ.update(order["environment"])
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    if order["call"]:
        kill_before(order["call"], order["under"], order["but"])
    if order["size"] >= 0:
        kill_beyond(order["size"])
    return run(order["words"])


def main() -> None:
    """Run what each line says."""
    gc.freeze()  # a collection in a fork would copy all that was imported
    for line in sys.stdin:
        number = os.fork()
        if not number:
            status = 70
            try:
                status = child(json.loads(line))
            finally:
                os._exit(status)
        _, status = os.waitpid(number, 0)
        was_killed = os.WIFSIGNALED(status)
        answer = {"killed": was_killed, "status": 0 if was_killed else os.WEXITSTATUS(status)}
        os.write(1, json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
