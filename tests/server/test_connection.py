"""The pipes, and real processes: nothing is lost, nothing strange gets on the wire."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Final

import pytest

from humanmcp.common.own_process import StopSignals
from humanmcp.server.connection import EndOfInput, LineError, PipeConnection
from humanmcp.server.memory_connection import MemoryConnection
from humanmcp.server.serve import Stderr
from tests.support.waiting import PATIENCE, until

ROOT: Final = Path(__file__).parents[2]
MIB: Final = 1024 * 1024

START: Final = """
import os, signal, sys, time
from humanmcp.common.own_process import *
from humanmcp.common.line_pipe import Cut
from humanmcp.server.connection import *
from humanmcp.server.connection import *
wire = PipeConnection.claim()
"""


def stuck(wire: PipeConnection) -> bool:
    """Return True if the client has taken nothing for a moment."""
    return wire.backpressure.stuck_for(time.monotonic()) > 0.02


class Pipes:
    """A wire between two pipes, with the test at the client's ends."""

    def __init__(self, longest: int = 64 * MIB) -> None:
        """Open both pipes and start."""
        self.source, self.to_server = os.pipe()
        self.from_server, self.sink = os.pipe()
        self.wire = PipeConnection(self.source, self.sink, longest=longest)

    def say(self, content: bytes) -> None:
        """Write to its stdin, from a thread: a pipe holds 64 KiB."""
        threading.Thread(target=write_all, args=(self.to_server, content), daemon=True).start()

    def hang_up(self) -> None:
        """Close its stdin."""
        os.close(self.to_server)
        self.to_server = -1

    def next(self) -> object:
        """Return what the loop gets next."""
        return self.wire.get(PATIENCE)

    def hear(self, size: int) -> bytes:
        """Read as many bytes of its stdout."""
        got = bytearray()
        while len(got) < size:
            chunk = os.read(self.from_server, MIB)
            assert chunk
            got += chunk
        return bytes(got)

    def close(self) -> None:
        """Let both threads of the wire come to rest, then close what is open."""
        for end in (self.to_server, self.from_server):
            if end >= 0:
                os.close(end)
        self.to_server = self.from_server = -1


@pytest.fixture
def pipes() -> Iterator[Pipes]:
    """Make a wire."""
    made = Pipes()
    yield made
    made.close()


def write_all(descriptor: int, content: bytes) -> None:
    """Write everything."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def run(script: str, **options: object) -> subprocess.Popen[bytes]:
    """Start a process that claims its stdin and stdout; `script` goes on from there."""
    settings: dict[str, object] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "cwd": ROOT,
        **options,
    }
    command = [sys.executable, "-c", START + script]
    return subprocess.Popen(command, **settings)  # type: ignore[call-overload,no-any-return]  # the options are the test's own


@contextlib.contextmanager
def running(script: str, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run such a process and leave nothing of it behind."""
    process = run(script, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


ECHO: Final = """
while not isinstance(line := wire.get(30), EndOfInput):
    wire.send(line)
wire.flush(30)
"""


# -- lines in ---------------------------------------------------------------------------------


def test_a_line_comes_without_its_line_feed(pipes: Pipes) -> None:
    """And the next one after it."""
    pipes.say(b'{"id":1}\n{"id":2}\n')
    assert pipes.next() == b'{"id":1}'
    assert pipes.next() == b'{"id":2}'


def test_get_returns_none_when_nothing_came(pipes: Pipes) -> None:
    """A timeout is no event."""
    assert pipes.wire.get(0) is None
    assert pipes.wire.get(0.01) is None


@pytest.mark.parametrize(
    "content",
    [b'\n\n{"id":1}', b'{"id":1}\n{"id":1}', b'{"id":1}\nContent-Length: 60\r\n\r', b"\xff"],
)
def test_a_deliberate_fault_goes_out_whatever_is_in_it(pipes: Pipes, content: bytes) -> None:
    """Also line feeds: a client in memory hears the lines that one at the pipe reads."""
    memory = MemoryConnection()
    for wire in (pipes.wire, memory):
        wire.send(content, deliberate=True)
    assert pipes.hear(len(content) + 1) == content + b"\n"
    heard = list(iter(memory.hear, None))
    assert [one.content for one in heard] == content.split(b"\n")


@pytest.mark.parametrize("size", [MIB, 15 * MIB])
def test_a_long_line_passes_and_so_does_the_next(pipes: Pipes, size: int) -> None:
    """No limit of 64 KiB ends the conversation silently."""
    pipes.say(b"x" * size + b"\n" + b"next\n")
    assert pipes.next() == b"x" * size
    assert pipes.next() == b"next"


def test_a_line_that_is_too_long_takes_no_more_memory_than_the_limit() -> None:
    """80 MiB against a limit of 4 MiB; the process grows by less than 24 MiB."""
    script = """
import resource
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
got = wire.get(60)
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
assert isinstance(got, Cut) and got.size == 80 * 1024 * 1024, got
assert wire.get(60) == b"next"
sys.exit(grown)
"""
    start = START.replace("claim()", "claim(longest=4 << 20)")
    process = subprocess.Popen(
        [sys.executable, "-c", start + script], stdin=subprocess.PIPE, cwd=ROOT
    )
    assert process.stdin is not None
    for _ in range(80):
        process.stdin.write(b"x" * MIB)
    process.stdin.write(b"\nnext\n")
    process.stdin.close()
    assert process.wait(PATIENCE) < 24


def test_ten_thousand_lines_arrive_in_order(pipes: Pipes) -> None:
    """And go back in order, each whole."""
    with running(ECHO) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines = [b'{"n":%d}\n' % number for number in range(10_000)]
        writer = threading.Thread(target=process.stdin.write, args=(b"".join(lines),))
        writer.start()
        got = [process.stdout.readline() for _ in lines]
        writer.join()
        assert got == lines


def test_reading_goes_no_further_ahead_of_the_loop_than_the_limit() -> None:
    """A client that floods a busy loop waits; the process does not grow without end."""
    pipes = Pipes()
    try:
        total = 200 * MIB
        line = b"x" * (MIB - 1) + b"\n"

        def flood() -> None:
            for _ in range(total // MIB):
                write_all(pipes.to_server, line)

        flooding = threading.Thread(target=flood, daemon=True)
        flooding.start()
        until(lambda: pipes.wire._read_bytes > 64 * MIB, "the reading to fill up")
        assert flooding.is_alive()
        for _ in range(total // MIB):
            assert pipes.next() == line[:-1]
            assert pipes.wire._read_bytes - pipes.wire._taken_bytes <= 65 * MIB
        flooding.join(PATIENCE)
    finally:
        pipes.close()


# -- lines out --------------------------------------------------------------------------------


def test_a_line_goes_out_with_one_line_feed(pipes: Pipes) -> None:
    """In the order of `send`."""
    pipes.wire.send(b'{"id":1}')
    pipes.wire.send('{"text":"東京\u2028"}'.encode())
    expected = b'{"id":1}\n' + '{"text":"東京\u2028"}\n'.encode()
    assert pipes.hear(len(expected)) == expected


@pytest.mark.parametrize(
    "line",
    [b"", b"a\nb", b"a\n", b"\r", b"a\r\n", b"\xff", "\ud800".encode("utf-8", "surrogatepass")],
)
def test_what_is_no_line_is_refused(pipes: Pipes, line: bytes) -> None:
    """A line break or a byte that is no UTF-8 would end the conversation for good."""
    with pytest.raises(LineError, match="not written to the client"):
        pipes.wire.send(line)
    pipes.wire.send(b"fine")
    assert pipes.hear(5) == b"fine\n"


@pytest.mark.parametrize("size", [MIB, 15 * MIB])
def test_a_long_line_goes_out_whole_and_so_does_the_next(pipes: Pipes, size: int) -> None:
    """A pipe takes 64 KiB at a time; partial writes are gone on with."""
    pipes.wire.send(b"y" * size)
    pipes.wire.send(b"next")
    assert pipes.hear(size + 6) == b"y" * size + b"\nnext\n"
    pipes.wire.flush(PATIENCE)
    assert pipes.wire.backpressure.unsent == 0


@pytest.mark.skipif(not hasattr(select, "poll"), reason="a pipe does not tell what it takes here")
def test_a_short_line_is_in_the_pipe_when_send_returns(pipes: Pipes) -> None:
    """No other thread has to be woken for it; what a full pipe does not take waits its turn."""
    for number in range(3):
        pipes.wire.send(b'{"id":%d}' % number)
        assert pipes.wire.backpressure.unsent == 0
    pipes.wire.send(b"x" * MIB)
    pipes.wire.send(b"last")
    assert pipes.wire.backpressure.unsent > 0
    short = b'{"id":0}\n{"id":1}\n{"id":2}\n'
    whole = short + b"x" * MIB + b"\nlast\n"
    assert pipes.hear(len(whole)) == whole


def test_flush_waits_for_the_client(pipes: Pipes) -> None:
    """And no longer than it was told to; what is unsent says whether everything was taken."""
    pipes.wire.send(b"z" * MIB)
    pipes.wire.flush(0.01)
    assert pipes.wire.backpressure.unsent
    pipes.hear(MIB + 1)
    pipes.wire.flush(PATIENCE)
    assert not pipes.wire.backpressure.unsent


def test_a_client_that_stops_reading_is_still_heard(pipes: Pipes) -> None:
    """The pipe to it is full, and its lines arrive all the same; `send` never waits."""
    for _ in range(20):
        pipes.wire.send(b"w" * MIB)
    until(
        lambda: pipes.wire.backpressure.stuck_for(time.monotonic()) > 0.02,
        "the writing to be stuck",
    )
    pipes.say(b'{"method":"ping"}\n' * 1000)
    assert [pipes.next() for _ in range(1000)] == [b'{"method":"ping"}'] * 1000
    assert pipes.wire.backpressure.stuck_for(time.monotonic()) > 0
    assert pipes.wire.backpressure.unsent > 19 * MIB
    assert pipes.hear(20 * (MIB + 1)) == (b"w" * MIB + b"\n") * 20
    pipes.wire.flush(PATIENCE)
    assert pipes.wire.backpressure.stuck_for(time.monotonic()) == 0


def test_a_client_that_is_gone_ends_the_input(pipes: Pipes) -> None:
    """EPIPE counts as end of input; what is sent afterwards goes nowhere, without a word."""
    os.close(pipes.from_server)
    pipes.from_server = -1
    pipes.wire.send(b"hello?")
    assert isinstance(pipes.next(), EndOfInput)
    assert pipes.wire.closed
    pipes.wire.send(b"still there?")
    pipes.wire.flush(PATIENCE)
    assert not pipes.wire.backpressure.unsent  # nothing that anybody will ever take


def test_a_gone_client_leaves_no_traceback() -> None:
    """A broken pipe is the usual end of a session, not an accident."""
    with running(
        'wire.send(b"hello")\nwire.flush(9)\nwire.get(9)\nassert wire.closed\n'
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == b""


def test_pipes_that_the_host_made_non_blocking_work() -> None:
    """EAGAIN: Node.js hosts give such pipes. The flag is theirs and stays as it is."""
    pipes = Pipes()
    try:
        for descriptor in (pipes.source, pipes.sink):
            os.set_blocking(descriptor, False)
        pipes.wire.send(b"v" * (3 * MIB))
        assert pipes.hear(3 * MIB + 1) == b"v" * (3 * MIB) + b"\n"
        pipes.say(b"a" * MIB + b"\nb\n")
        assert pipes.next() == b"a" * MIB
        assert pipes.next() == b"b"
        assert not os.get_blocking(pipes.source)
    finally:
        pipes.close()


def test_waiting_on_a_non_blocking_pipe_costs_no_processor_time() -> None:
    """The threads wait for the pipe to become ready; they do not ask again and again."""
    pipes = Pipes()
    try:
        os.set_blocking(pipes.sink, False)
        os.set_blocking(pipes.source, False)
        pipes.wire.send(b"u" * MIB)
        pipes.say(b"wake\n")  # from now on the source is read as a non-blocking pipe
        assert pipes.next() == b"wake"
        until(
            lambda: pipes.wire.backpressure.stuck_for(time.monotonic()) > 0.02,
            "the pipe to be full",
        )
        start, used = time.monotonic(), time.process_time()
        until(lambda: time.monotonic() - start > 0.3, "some time to pass")
        assert time.process_time() - used < 0.2
    finally:
        pipes.close()


# -- who else would like to speak -------------------------------------------------------------


def test_nothing_but_lines_reaches_the_client() -> None:
    """A print, a write to descriptor 1 and a child's output all go to stderr."""
    script = """
import subprocess
print("print", flush=True)
sys.stdout.write("sys.stdout\\n"); sys.stdout.flush()
os.write(1, b"os.write\\n")
os.system("echo os.system")
subprocess.run(["echo", "subprocess"])
wire.send(b'{"the":"line"}')
wire.flush(9)
"""
    with running(script) as process:
        out, err = process.communicate(timeout=PATIENCE)
        assert out == b'{"the":"line"}\n'
        said = err.decode().split()
        assert said == ["print", "sys.stdout", "os.write", "os.system", "subprocess"]


def test_nobody_else_reads_what_the_client_says() -> None:
    """A child that reads its stdin finds it empty, and takes nothing from the wire."""
    script = """
import subprocess
taken = subprocess.run(["cat"], capture_output=True).stdout
assert taken == b"" == os.read(0, 10), taken
wire.send(wire.get(9))
wire.flush(9)
"""
    with running(script) as process:
        out, err = process.communicate(b"for the wire\n", timeout=PATIENCE)
        assert (out, err) == (b"for the wire\n", b"")


def test_a_child_holds_neither_end_of_the_wire() -> None:
    """A desk that a server starts must not keep the client's pipes open after the server's end."""
    script = """
import subprocess
child = subprocess.Popen(["sleep", "60"], close_fds=False, stderr=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL)
wire.send(str(child.pid).encode())
wire.flush(9)
"""
    with running(script) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            assert process.stdout.read() == b""  # end of file although the child lives
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("closed", ["0", "1", "2", "0 1", "1 2", "0 1 2"])
def test_a_host_may_leave_any_of_the_three_closed(closed: str, tmp_path: Path) -> None:
    """Without a stdin the input has ended; without a stdout or stderr nothing breaks."""
    script = """
wire.send(b"line")
wire.flush(9)
assert isinstance(wire.get(9), EndOfInput)
print("stray", flush=True)
"""
    ways = {"0": "<&-", "1": ">&-", "2": "2>&-"}
    out = tmp_path / "out"
    redirections = " ".join(ways[each] for each in closed.split())
    shell = f'exec "$0" -c "$1" </dev/null >{out} {redirections}'
    done = subprocess.run(
        ["sh", "-c", shell, sys.executable, START + script],
        cwd=ROOT,
        check=False,
        timeout=PATIENCE,
        stderr=subprocess.DEVNULL,
    )
    assert done.returncode == 0
    assert out.read_bytes() == (b"" if "1" in closed else b"line\n")


# -- the end ----------------------------------------------------------------------------------

UNTIL_TOLD: Final = """
from humanmcp.inbox.attendant import Attendant
attendant, told = Attendant(), []
stop = StopSignals(lambda number: (told.append(number), attendant.stop()))
class Waiting:
    def begin_steps(self, wake):
        pass
    def step(self, now):
        wire.send(b"ready")
        return now + 60
    def leave(self):
        pass
attendant.attend(Waiting())
attendant.run()
wire.send(b"%d" % told[0])
wire.flush(0.05)
"""


def test_what_nobody_took_is_there_at_the_end(pipes: Pipes) -> None:
    """A client that says much at once is not waited for when the session is over."""
    pipes.say(b"one\ntwo\nthree\n")
    assert pipes.next() == b"one"
    until(lambda: pipes.wire._coming.qsize() == 2, "the other lines")
    assert list(pipes.wire.drain()) == [b"two", b"three"]
    assert pipes.wire.get() is None


def test_who_listens_is_told_of_each_line_also_of_one_that_came_before(pipes: Pipes) -> None:
    """From then on nobody has to wait in `get`."""
    told = threading.Semaphore(0)
    pipes.say(b"one\n")
    until(lambda: not pipes.wire._coming.empty(), "the first line")
    pipes.wire.listen(told.release)
    assert told.acquire(timeout=PATIENCE)
    assert pipes.wire.get() == b"one"
    pipes.say(b"two\n")
    assert told.acquire(timeout=PATIENCE)
    assert pipes.wire.get() == b"two"
    pipes.hang_up()
    assert told.acquire(timeout=PATIENCE)
    assert isinstance(pipes.wire.get(), EndOfInput)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_wakes_the_loop_at_once(number: signal.Signals) -> None:
    """It would wait for a minute, and is told in a moment."""
    with running(UNTIL_TOLD) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == b"%d\n" % number
        assert process.wait(PATIENCE) == 0


def test_a_server_that_was_started_with_nohup_keeps_ignoring_sighup() -> None:
    """SIGHUP stays ignored where it was; SIGTERM still ends it."""

    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with running(UNTIL_TOLD, preexec_fn=ignore) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == b"%d\n" % signal.SIGTERM


def test_the_process_ends_at_once_while_the_pipe_is_full() -> None:
    """The writing thread is stuck in write(2), and nobody waits for it."""
    script = """
wire.send(b"x" * 10_000_000)
while wire.backpressure.stuck_for(time.monotonic()) < 0.02:
    time.sleep(0.005)
wire.flush(0.05)
"""
    with running(script) as process:
        assert process.wait(PATIENCE) == 0


def test_signals_tear_no_line_apart() -> None:
    """EINTR: a read or write that a signal interrupts goes on where it was."""
    script = """
stop = StopSignals(lambda _number: None)
wire.send(b"ready")
while not isinstance(got := wire.get(60), EndOfInput):
    if isinstance(got, bytes):
        wire.send(got)
wire.flush(30)
"""
    line = b"s" * (8 * MIB)
    with running(script) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        writer = threading.Thread(target=process.stdin.write, args=(line + b"\nnext\n",))
        writer.start()
        got = bytearray()
        while len(got) < len(line) + 6:
            process.send_signal(signal.SIGHUP)
            got += os.read(process.stdout.fileno(), 256 * 1024)
        writer.join()
        assert got == line + b"\nnext\n"


def test_stop_gives_the_signals_back() -> None:
    """What reacted to them before does so again."""
    before = signal.getsignal(signal.SIGTERM)
    with StopSignals(lambda _number: None):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_in_this_process_is_told_by_its_number() -> None:
    """The handler itself does nothing: a thread tells."""
    told: SimpleQueue[int] = SimpleQueue()
    with StopSignals(told.put):
        os.kill(os.getpid(), signal.SIGHUP)
        assert told.get(timeout=PATIENCE) == signal.SIGHUP


def test_a_vanished_parent_is_noticed() -> None:
    """The host was killed, and another of its children holds our stdin open."""
    reader, writer = os.pipe()
    server = f"""
import os, time
from humanmcp.server.serve import ParentWatch
gone = []
watch = ParentWatch(lambda: gone.append(1))
assert watch.step(0.0) and not gone
os.write({writer}, b"alive\\n")
while watch.step(0.0) is not None:
    time.sleep(0.01)
assert gone
os.write({writer}, b"orphaned\\n")
"""
    script = f"""
import subprocess
child = subprocess.Popen([sys.executable, "-c", {server!r}], pass_fds=[{writer}])
time.sleep(60)
"""
    with running(script, pass_fds=[writer]) as process, os.fdopen(reader, "rb") as told:
        os.close(writer)
        assert told.readline() == b"alive\n"
        process.kill()
        process.wait()
        assert told.readline() == b"orphaned\n"


# -- stderr -----------------------------------------------------------------------------------


def test_stderr_says_at_most_two_kilobytes() -> None:
    """Hosts that never read stderr hang a server that talks on."""
    reader, writer = os.pipe()
    stderr = Stderr(writer)
    said = [stderr.write(f"line {number} 東京") for number in range(1000)]
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        got = pipe.read()
    assert said[0]
    assert not said[-1]
    assert len(got) <= 2048
    assert got.decode().startswith("line 0 東京\nline 1 東京\n")  # and no character is cut in two


def test_stderr_is_dropped_when_nobody_reads_it() -> None:
    """A full pipe loses the line, and nothing waits."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    assert not Stderr(writer).write("nobody hears this")
    os.close(reader)
    os.close(writer)


def test_stderr_that_is_closed_raises_nothing() -> None:
    """Closed, or with nobody at the other end."""
    reader, writer = os.pipe()
    os.close(reader)
    assert not Stderr(writer).write("x")
    os.close(writer)
    assert not Stderr(writer).write("x")
    assert not Stderr(-1).write("x")


def test_stderr_shows_what_could_act_on_a_terminal() -> None:
    """No escape sequence leaves the process; line feeds stay."""
    reader, writer = os.pipe()
    Stderr(writer).write("a\x1b[2J\nb\u202ec\n")
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read().decode() == "a⟦U+001B⟧[2J\nb⟦U+202E⟧c\n"


def test_a_line_error_says_what_to_do() -> None:
    """It names the reason and the way out."""
    assert str(LineError("it is empty", b"")) == (
        "not written to the client: it is empty; write one message as one line of UTF-8"
    )
