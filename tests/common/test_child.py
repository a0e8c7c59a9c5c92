"""A server as a child process: its environment, and an end that leaves nothing behind."""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Final

import pytest

from humanmcp.common.child import (
    ChildCommand,
    ChildTransport,
    EndedError,
    StartError,
    environment,
)
from humanmcp.extensions.host.client.callbacks import Nobody
from humanmcp.extensions.host.client.client import Client
from humanmcp.extensions.host.client.handshake import SessionStart
from tests.extensions.host.seats import Notes, sample
from tests.support.waiting import PATIENCE, until

HARD_TO_END: Final = Path(__file__).parent / "child_of_child.py"


def lives(pid: int) -> bool:
    """Return True if a process runs. A zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def started(kind: str, timeout: float) -> tuple[ChildTransport, list[int]]:
    """Start a server that is hard to end; return it with its process id and its child's."""
    notes = Notes()
    transport = ChildTransport(ChildCommand((sys.executable, str(HARD_TO_END), kind)), timeout)
    Client(transport, Nobody(), observers=[notes])
    (said,) = until(lambda: notes.aside[:1], "the process ids")
    return transport, [int(word) for word in said.split()]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
@pytest.mark.parametrize(("kind", "status"), [("obedient", 0), ("deaf", -15), ("stubborn", -9)])
def test_nothing_is_left_behind(kind: str, status: int) -> None:
    """Closed stdin, SIGTERM, SIGKILL, in that order; also what the child had started."""
    transport, pids = started(kind, 0.3)
    assert all(map(lives, pids))
    transport.close()
    assert transport.process.returncode == status
    until(lambda: not any(map(lives, pids)), "the end of what it had started")


@pytest.mark.parametrize(
    ("command", "folder", "cause"),
    [
        ("{}/inside", "", IsADirectoryError),
        ("./inside", "{}", IsADirectoryError),
        ("{}/note.txt", "", PermissionError),
        ("{}/nothing", "", FileNotFoundError),
        ("inside", "{}", FileNotFoundError),
    ],
)
def test_why_a_command_does_not_start_is_named(
    tmp_path: Path, command: str, folder: str, cause: type[OSError]
) -> None:
    """Of a folder, the system says only that permission is denied."""
    (tmp_path / "inside").mkdir()
    (tmp_path / "note.txt").touch()
    words = (command.format(tmp_path),)
    with pytest.raises(StartError) as raised:
        ChildTransport(ChildCommand(words, folder=folder.format(tmp_path)))
    assert isinstance(raised.value.fillings["why"], cause)


def test_a_second_close_does_nothing() -> None:
    """And sending afterwards is an error that says how the server ended."""
    transport = ChildTransport(sample("dice"))
    client = Client(transport, Nobody())
    client.open(SessionStart.HANDSHAKE)
    transport.close()
    transport.close()
    assert transport.process.returncode == 0
    with pytest.raises(EndedError):
        client.request("ping")


def test_a_server_that_was_never_listened_to_can_be_closed() -> None:
    """A host that fails between starting two servers ends the first one too."""
    transport = ChildTransport(sample("dice"))
    transport.close()
    assert transport.process.returncode == 0


def test_a_child_gets_six_variables_and_what_was_given() -> None:
    """HOME LOGNAME PATH SHELL TERM USER; no key of ours, no exported shell function."""
    ours = {
        "HOME": "/home/me",
        "PATH": "/bin",
        "SHELL": "/bin/sh",
        "TERM": "() { :; }; echo trap",
        "OPENAI_API_KEY": "secret",
        "LANG": "ja_JP.UTF-8",
    }
    assert environment({"TOKEN": "given", "PATH": "/usr/bin"}, ours, windows=False) == {
        "HOME": "/home/me",
        "PATH": "/usr/bin",
        "SHELL": "/bin/sh",
        "TOKEN": "given",
    }


def test_windows_programs_get_what_they_cannot_start_without() -> None:
    """There the six have other names."""
    ours = {"SYSTEMROOT": "C:\\Windows", "PATH": "C:\\", "HOME": "x", "API_KEY": "secret"}
    assert environment({}, ours, windows=True) == {"SYSTEMROOT": "C:\\Windows", "PATH": "C:\\"}


def test_the_child_sees_that_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked from the child itself."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    script = "import json, os; os.write(2, (json.dumps(dict(os.environ)) + '\\n').encode())"
    notes = Notes()
    transport = ChildTransport(ChildCommand((sys.executable, "-c", script), {"GIVEN": "yes"}))
    Client(transport, Nobody(), observers=[notes])
    (said,) = until(lambda: notes.aside[:1], "its environment")
    transport.close()
    got = set(json.loads(said)) - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"}
    allowed = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "GIVEN"}
    assert got <= allowed
    assert {"GIVEN", "PATH"} <= got


def test_a_program_that_does_not_exist_is_named() -> None:
    """The message says what was tried; the given environment, with its keys, is not in it."""
    with pytest.raises(StartError) as caught:
        ChildTransport(ChildCommand(("no-such-program", "--x"), {"KEY": "secret"}))
    assert "no-such-program --x" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_folder_that_does_not_exist_is_named_instead_of_the_program() -> None:
    """The system reports both with the same error."""
    with pytest.raises(StartError) as caught:
        ChildTransport(ChildCommand((sys.executable, "-c", ""), {}, "/no/such folder"))
    assert "there is no folder /no/such folder" in str(caught.value)


def test_a_line_of_a_mebibyte_passes_both_ways() -> None:
    """BRIDGE-22, from the other seat: there is no 64 KiB limit."""
    long = "x" * (1 << 20)
    echo = (
        "import sys\n"
        "for line in sys.stdin.buffer:\n"
        "    sys.stdout.buffer.write(line); sys.stdout.buffer.flush()\n"
    )
    notes = Notes()
    transport = ChildTransport(ChildCommand((sys.executable, "-c", echo)))
    Client(transport, Nobody(), observers=[notes])
    transport.send(f'{{"jsonrpc":"2.0","method":"notifications/x","params":{{"long":"{long}"}}}}')
    (line,) = until(lambda: notes.arrived[:1], "the long line")
    transport.close()
    assert long in line


def test_a_child_that_reads_nothing_blocks_nobody() -> None:
    """Sending never waits; closing ends it all the same."""
    transport = ChildTransport(
        ChildCommand((sys.executable, "-c", "import time; time.sleep(600)")), 0.3
    )
    Client(transport, Nobody())
    for _ in range(8):
        transport.send("x" * (1 << 20))
    transport.close()
    assert transport.process.returncode == -15


def test_ctrl_c_in_our_terminal_reaches_us_alone() -> None:
    """The child leads its own process group, and is ended in order."""
    transport = ChildTransport(sample("dice"))
    assert os.getpgid(transport.process.pid) == transport.process.pid != os.getpgrp()
    transport.close()


class Stumbling(Notes):
    """A listener that cannot bear what it hears."""

    def __init__(self) -> None:
        """Begin."""
        super().__init__()
        self.end = threading.Event()

    def line_arrived(self, line: bytes) -> None:
        """Stumble."""
        raise ValueError(line)

    def ended(self) -> None:
        """Note it."""
        self.end.set()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_listener_that_stumbles_still_learns_of_the_end() -> None:
    """Otherwise whoever waits for an answer would wait for ever."""
    listener = Stumbling()
    transport = ChildTransport(ChildCommand((sys.executable, "-c", "print('x')")))
    transport.start(listener)
    assert listener.end.wait(PATIENCE)
    transport.close()


@pytest.mark.skipif(os.name == "nt", reason="sessions of processes are a thing of POSIX")
def test_a_pipe_that_lives_on_elsewhere_does_not_hold_up_the_end() -> None:
    """A daemon that a server leaves behind on purpose keeps the server's stdout open."""
    daemon = "import os, time; os.setsid(); print(os.getpid(), flush=True); time.sleep(600)"
    words = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {daemon!r}]); input()"
    heard = Heard()
    transport = ChildTransport(ChildCommand((sys.executable, "-c", words)))
    transport.start(heard)
    pid = int(until(lambda: heard.lines[:1], "the daemon")[0])
    transport.close()
    os.kill(pid, signal.SIGKILL)
    assert heard.end.wait(PATIENCE)


class Heard(Stumbling):
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        """Begin."""
        super().__init__()
        self.lines: list[bytes] = []

    def line_arrived(self, line: bytes) -> None:
        """Keep it."""
        self.lines.append(line)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such process groups")
def test_a_child_may_stay_in_our_group() -> None:
    """Whoever ends our whole group ends it as well; the end in order reaches it alone."""
    transport = ChildTransport(ChildCommand((sys.executable, "-c", ENDLESS)), 0.2, own_group=False)
    assert os.getpgid(transport.process.pid) == os.getpgid(0)
    transport.close()
    assert transport.process.returncode == -signal.SIGTERM


ENDLESS: Final = "import time; time.sleep(600)"
