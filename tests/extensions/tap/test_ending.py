"""However a tapped run ends: the server ends, too, and nothing it said is lost."""

import fcntl
import os
import random
import signal
import subprocess
import sys
import termios
from array import array
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from humanmcp.extensions.tap.real_server import exit_status
from humanmcp.protocol.conversation.transcript import HELD, Direction
from tests.extensions.tap.tap_process import COMMAND, Tapped, python, server
from tests.support.waiting import PATIENCE, until

STUBBORN: Final = """
import os, signal, time
for name in ("SIGTERM", "SIGINT", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
os.write(1, b"%d\\n" % os.getpid())
while True:
    time.sleep(60)
"""
"""Ignores the end of its input and every signal that can be ignored."""

POLITE: Final = """
import os, signal
heeded = {signal.SIGTERM, signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, heeded)
os.write(1, b"ready\\n")
number = signal.sigwait(heeded)
os.write(1, b"told %d\\n" % number)
os._exit(40 + number)
"""


def lives(pid: int) -> bool:
    """Return True if a process runs (a zombie does not)."""
    with suppress(OSError):
        os.kill(pid, 0)
        status = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        return bool(status.stdout.strip()) and not status.stdout.startswith("Z")
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_passed_on_and_the_server_may_answer_it(
    home: Path, number: signal.Signals
) -> None:
    """What it says last arrives, and its status is ours."""
    with Tapped(home, python(POLITE)) as tapped:
        assert tapped.hear() == b"ready\n"
        tapped.process.send_signal(number)
        assert tapped.hear() == b"told %d\n" % number
        assert tapped.process.wait(timeout=PATIENCE) == 40 + number
        assert tapped.recorded(Direction.OUT)[-1] == b"told %d" % number


CALLS: Final = b"".join(
    b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"dice"}}\n' % number
    for number in range(3000)
)
"""More than can be put in the inbox within seconds."""


def test_a_signal_passes_thousands_of_messages_that_are_to_be_held(home: Path) -> None:
    """Hosts soon send SIGKILL: the server must hear of it before all of them are held."""
    with Tapped(home, python(POLITE), "--hold", "tools/call") as tapped:
        assert tapped.hear() == b"ready\n"
        tapped.say(CALLS)
        tapped.held()
        tapped.process.terminate()
        assert tapped.hear() == b"told %d\n" % signal.SIGTERM
        assert tapped.process.wait(timeout=PATIENCE) == 40 + signal.SIGTERM


def test_the_end_passes_thousands_of_messages_that_are_to_be_held(home: Path) -> None:
    """The server exits, and nobody waits until all of them were put in the inbox."""
    code = "import sys; sys.stdin.readline(); raise SystemExit(3)"
    with Tapped(home, python(code), "--hold", "tools/call") as tapped:
        tapped.say(CALLS + b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        assert tapped.process.wait(timeout=PATIENCE) == 3
        held = [frame for frame in tapped.frames() if frame.note == HELD]
        assert len(held) == 3000


def test_a_server_that_ignores_the_signal_is_ended_within_two_seconds(home: Path) -> None:
    """Hosts wait 2 s before they kill us: no orphan is left then."""
    with Tapped(home, python(STUBBORN)) as tapped:
        pid = int(tapped.hear())
        tapped.process.terminate()
        assert tapped.process.wait(timeout=PATIENCE) == 128 + signal.SIGKILL
    until(lambda: not lives(pid), "the end of the server")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's help is Linux only")
def test_not_even_kill_9_leaves_an_orphan(home: Path) -> None:
    """The kernel ends the server when the tap is gone."""
    with Tapped(home, python(STUBBORN)) as tapped:
        pid = int(tapped.hear())
        tapped.process.kill()
        tapped.process.wait()
    until(lambda: not lives(pid), "the end of the server")


def test_a_pipe_that_a_grandchild_holds_open_holds_nothing_up(home: Path) -> None:
    """The server has ended and left a process behind that has its output: we do not wait for it."""
    code = (
        "import subprocess, sys, os\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "os.write(1, b'%d\\n' % child.pid)\n"
        "os._exit(6)\n"
    )
    with Tapped(home, python(code)) as tapped:
        pid = int(tapped.hear())
        assert tapped.process.wait(timeout=PATIENCE) == 6
    os.kill(pid, signal.SIGKILL)


def test_a_client_that_reads_slowly_still_gets_everything(home: Path) -> None:
    """More than its pipe holds, from a server that has ended long since: nothing is cut off."""
    size = 150_000
    code = f"import os; os.write(1, b'x' * {size}); os.write(2, b'done')"
    command = [*COMMAND, "--home", str(home), *python(code)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stderr.read(4) == b"done"
        assert process.poll() is None
        assert len(process.stdout.read()) == size
        assert process.wait(timeout=PATIENCE) == 0


def test_a_client_that_reads_nothing_keeps_nobody_from_the_end(home: Path) -> None:
    """Told to stop, the tap does not wait for a reader that does not read."""
    command = [*COMMAND, "--home", str(home), *python("print('x' * (3 << 20))")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        until_full(process.stdout.fileno())
        process.terminate()
        assert process.wait(timeout=PATIENCE) in (137, 143)
        process.stdout.close()


def test_what_is_let_go_to_nobody_keeps_nobody_from_the_end(home: Path) -> None:
    """A held answer goes on to a client that does not read: signals are heard all the same."""
    head, tail = '{"jsonrpc":"2.0","id":1,"result":{"text":"', '"}}'
    code = f"import time; print({head!r} + 'x' * (1 << 20) + {tail!r}, flush=True); time.sleep(60)"
    command = [*COMMAND, "--home", str(home), "--hold", "out", "--release-after", "0.1"]
    with subprocess.Popen(
        [*command, *python(code)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        until_full(process.stdout.fileno())
        process.terminate()
        assert process.wait(timeout=PATIENCE) == 143
        process.stdout.close()


def until_full(pipe: int) -> None:
    """Wait until a pipe that nobody reads takes no more."""
    most = fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)

    def full() -> bool:
        waiting = array("i", [0])
        fcntl.ioctl(pipe, termios.FIONREAD, waiting)
        return waiting[0] >= most

    until(full, "a full pipe")


def test_a_status_of_a_signal_is_that_of_a_shell() -> None:
    """128 and the number of the signal."""
    assert exit_status(3) == 3
    assert exit_status(-9) == 137


def test_the_clients_end_is_the_servers_end(home: Path) -> None:
    """The server sees the end of its input at once."""
    with Tapped(home, server("echo")) as tapped:
        tapped.say(b"{}\n")
        tapped.hear()
        tapped.stdin.close()
        assert tapped.process.wait(timeout=PATIENCE) == 0


CALLED: Final = 200


@pytest.mark.parametrize("seed", range(5))
def test_kill_9_loses_no_line_that_was_passed(home: Path, seed: int) -> None:
    """200 answered calls, one after the other or in bursts, then the end at a random moment."""
    chance = random.Random(seed)
    with Tapped(home, server("echo"), "--log-dir", str(home.parent / "log")) as tapped:
        heard: list[bytes] = []
        while len(heard) < CALLED:
            burst = [b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % n for n in range(CALLED)]
            burst = burst[len(heard) : len(heard) + chance.choice((1, 1, 1, 20))]
            tapped.say(b"".join(burst))
            heard += [tapped.hear() for _ in burst]
        tapped.say(
            b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n' * chance.randrange(9)
        )
        tapped.process.kill()
        tapped.process.wait()
        passed = [line.removesuffix(b"\n") for line in heard]
        assert tapped.recorded(Direction.IN)[:CALLED] == passed
        assert tapped.recorded(Direction.OUT)[:CALLED] == passed
        (log,) = (home.parent / "log").iterdir()
        assert all(log.read_bytes().count(b": " + line + b"\n") == 2 for line in passed)
