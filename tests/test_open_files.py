"""What is said where the system allows too few open files."""

import contextlib
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from humanmcp.inbox import records
from humanmcp.inbox.transcript_writer import MOST_OPEN
from tests.support.desk_process import Desking
from tests.support.serve_http import ServingHttp
from tests.support.waiting import until

OPEN_FILES = Path("/proc/self/fd")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
from humanmcp.cli import main
sys.exit(main())
"""


def run(home: Path, command: str, soft: int, hard: int) -> subprocess.CompletedProcess[str]:
    """Run a command with so many open files allowed; its input ends at once."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED.format(soft=soft, hard=hard), command, "--lang", "en"],
        env={**os.environ, "HUMANMCP_HOME": str(home)},
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("command", ["serve", "desk"])
def test_too_few_open_files_are_a_sentence(tmp_path: Path, command: str) -> None:
    """With the command that allows more; no traceback, and nothing on stdout."""
    ended = run(tmp_path / "home", command, 8, 8)
    assert ended.returncode != 0
    assert "ulimit -n 32" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_a_server_over_http_says_at_which_number_of_sessions_it_stops(tmp_path: Path) -> None:
    """Where the system allows fewer open files than all sessions need."""
    code = LIMITED.format(soft=256, hard=256)
    with subprocess.Popen(
        [sys.executable, "-c", code, "serve", "--http", "0", "--home", str(tmp_path), "--lang=en"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        told = "".join(process.stderr.readline() for _ in range(2))
        process.terminate()
    assert "the limit is 48 sessions at once" in told
    assert "ulimit -n 8064" in told


def test_a_server_over_http_opens_more_files_than_it_was_allowed_at_first(tmp_path: Path) -> None:
    """The soft limit is the shell's choice; the hard one is the system's."""
    command = (sys.executable, "-c", LIMITED.format(soft=64, hard=1024))
    with ServingHttp(tmp_path / "inbox", "--auto", command=command) as server:
        for _ in range(80):
            server.initialize()


def test_silent_connections_leave_files_for_those_who_ask(home: Path) -> None:
    """The oldest are hung up on long before the files are used up, not after a while."""
    never = "from humanmcp.http import listening; listening.FIRST_LINE_WITHIN = 3600"
    code = LIMITED.format(soft=64, hard=64).replace("sys.exit", f"{never}\nsys.exit")
    with contextlib.ExitStack() as stack:
        command = (sys.executable, "-c", code, "desk")
        desk = stack.enter_context(Desking(home, command=command))
        for _ in range(80):
            stack.enter_context(socket.create_connection(("127.0.0.1", desk.port)))
        assert desk.get("/api/state")["waiting"] == 0


@pytest.mark.skipif(not OPEN_FILES.exists(), reason="only Linux lists what a process has open")
def open_files(pid: int) -> Iterator[str]:
    """Name the files that a process has open; one may be closed while they are listed."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            yield link.readlink().name


def test_a_quiet_session_keeps_its_lock_and_its_bell_open_and_nothing_else(tmp_path: Path) -> None:
    """Of many sessions only the transcripts that were written last stay open."""
    with ServingHttp(tmp_path / "inbox", "--auto") as server:
        for _ in range(3 * MOST_OPEN):
            server.initialize()
        every = 3 * MOST_OPEN
        held = {
            records.TRANSCRIPT: MOST_OPEN,
            records.LOCK: every,
            records.BELL: every,
            ".humanmcp.lock": 0,  # of the text files
        }

        def is_held() -> bool:
            names = Counter(open_files(server.process.pid))
            return all(names[name] == count for name, count in held.items())

        until(is_held, "what stays open, and nothing else")


def test_what_may_be_allowed_is_allowed(tmp_path: Path) -> None:
    """A low limit that the process may raise itself is no obstacle."""
    assert run(tmp_path / "home", "serve", 8, 4096).returncode == 0
