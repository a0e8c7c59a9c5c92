"""Start `humanmcp` many times at the price of one start: fork it from a process that has it loaded.

Importing what the desk needs takes about one second of a core, and hundreds of tests want a desk
of their own. The first of them starts a *nursery*: an interpreter that has imported everything
and waits at a socket. Each request carries a command line, an environment, a working directory
and three file descriptors; the nursery forks, and the child goes on as `python -m humanmcp` would.
It is a process like any other: with signals, an exit status, descriptors and a folder of its own.
What is said of a start itself (its time, its imports, what `ps` shows) needs a real one.
"""

import atexit
import contextlib
import functools
import importlib
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from humanmcp import extensions
from humanmcp.cli import main
from humanmcp.common.web_folder import web_folder
from humanmcp.desk import rendering
from humanmcp.desk.app import static_files
from humanmcp.locales import LANGUAGES

CAN_FORK: Final = hasattr(socket, "send_fds") and sys.platform == "linux"
_WANTED: Final = (
    *("humanmcp.desk.app", "humanmcp.desk.command", "humanmcp.desk.settings.own_request"),
    *("humanmcp.server.http.sessions", "humanmcp.inbox.folder"),
    *(one.module for name, one in extensions.commands().items() if name == "room"),
    *("anyio._backends._asyncio", "tomlkit", "uvicorn.loops.auto", "uvicorn.lifespan.off"),
    "watchdog.observers",
)
"""What a desk, a room and a server load, also what they load late."""
_MOST: Final = 1 << 16
"""Bytes of a request: a command line and an environment."""


class Forked:
    """A process of the nursery, with the methods of `subprocess.Popen` that tests use."""

    def __init__(
        self,
        words: Sequence[str],
        files: tuple[int, int, int],
        environment: dict[str, str],
        folder: Path,
    ) -> None:
        """Start `humanmcp` with these words. `files` are its stdin, stdout and stderr."""
        self.returncode: int | None = None
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._line.connect(_nursery())
        request = {"words": list(words), "environment": environment, "folder": str(folder)}
        socket.send_fds(self._line, [json.dumps(request).encode()], files)
        self.pid = int(self._line.recv(32))

    def poll(self) -> int | None:
        """Return its exit status, None while it runs."""
        return self._status(0)

    def wait(self, timeout: float) -> int:
        """Wait for its end, and return its exit status."""
        status = self._status(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("humanmcp", timeout)
        return status

    def send_signal(self, number: int) -> None:
        """Send it a signal while it runs."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended, and says so in a moment
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """End it as a system does that shuts down."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash does."""
        self.send_signal(signal.SIGKILL)

    def _status(self, timeout: float) -> int | None:
        if self.returncode is None and select.select([self._line], [], [], timeout)[0]:
            self.returncode = int(self._line.recv(32))
            self._line.close()
        return self.returncode


def start(
    words: Sequence[str],
    files: tuple[int, int, int],
    environment: dict[str, str],
    folder: Path,
    command: Sequence[str] = (),
) -> Forked | subprocess.Popen[bytes]:
    """Start `humanmcp` with these words; with a `command` as a process of its own from the start.

    `files` are its stdin, stdout and stderr.
    """
    if CAN_FORK and not command:
        return Forked(words, files, environment, folder)
    command = [*(command or (sys.executable, "-m", "humanmcp")), *words]
    stdin, stdout, stderr = files
    return subprocess.Popen(
        command, stdin=stdin, stdout=stdout, stderr=stderr, env=environment, cwd=folder
    )


@functools.cache
def _nursery() -> str:
    """Return the address of the nursery of this worker, which ends with it."""
    place = tempfile.mkdtemp(prefix="nursery-")
    address = str(Path(place) / "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forking", str(listener.fileno())],
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )

    def end() -> None:
        with process:
            process.kill()
        Path(address).unlink(missing_ok=True)
        Path(place).rmdir()

    atexit.register(end)
    return address


# -- inside the nursery -------------------------------------------------------------------------


def _serve(listener: socket.socket) -> list[str] | None:
    """Fork for each request. Returns its words in each child, None when the tests have ended."""
    born: dict[int, socket.socket] = {}
    bell, clapper = socket.socketpair()
    clapper.settimeout(0)
    signal.set_wakeup_fd(clapper.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([listener, bell, sys.stdin], [], [])
        if sys.stdin in ready:
            return None
        if bell in ready:
            bell.recv(_MOST)
            _report(born)
        if listener in ready:
            asking, _ = listener.accept()
            request, files, _, _ = socket.recv_fds(asking, _MOST, 3)
            pid = os.fork()
            if not pid:
                for own in (listener, bell, clapper, asking, *born.values()):
                    own.close()
                return _become(json.loads(request), files)
            born[pid] = asking
            asking.sendall(str(pid).encode())
            for one in files:
                os.close(one)


def _report(born: dict[int, socket.socket]) -> None:
    """Tell the tests of each child that has ended."""
    while born:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with born.pop(pid) as asking:
            asking.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _become(request: dict[str, Any], files: Sequence[int]) -> list[str]:
    """Take on what was asked for: descriptors, folder, environment, signals, words."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, own in zip((0, 1, 2), files, strict=True):
        os.dup2(own, number)
        os.close(own)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    words: list[str] = request["words"]
    return words


def _main() -> NoReturn:
    """Load everything, wait for requests, and be `humanmcp` in each child."""
    for module in _WANTED:
        importlib.import_module(module)
    static_files()
    templates = web_folder() / "templates"
    for page in templates.rglob("*.html"):
        rendering.template(page.relative_to(templates).as_posix())
    for language in LANGUAGES:
        rendering.for_scripts(language)
    words = _serve(socket.socket(fileno=int(sys.argv[1])))
    if words is None:
        sys.exit(0)
    sys.argv = ["humanmcp", *words]
    returned: list[int] = []
    atexit.register(_end_at_once, returned)  # the first of the child is the last to be called
    returned.append(main())
    sys.exit(returned[0])


def _end_at_once(returned: Sequence[int]) -> None:
    """End this child with all its objects in place, if its command has returned a status.

    To clear them would copy each page of memory that it shares with the nursery: up to 150 ms of a
    core. A process that was started the usual way clears them, and tests start those, too.
    """
    if returned:
        logging.shutdown()  # it is registered in the nursery, so it would come after this
        sys.stdout.flush()  # noqa: TID251 - as the interpreter does at its end
        sys.stderr.flush()
        os._exit(returned[0])


if __name__ == "__main__":
    _main()
