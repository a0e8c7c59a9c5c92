"""The real server: a process, or an address with the three pipes of a process.

Of an address: what the client writes is posted line by line; what comes back is written to stdout.
A request without an answer (no server listens there, the stream was cut) is answered with an error
that says so: a client that speaks over a pipe knows of no status, and would wait for ever.

Nor does it know that the server has ended the session (404). Then the tap begins another one with
what the client began with, asks in it for what the client had asked for that lasts, and says what
could not be said. The record has these lines as the tap's own.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final

from humanmcp.common.child import EndedError
from humanmcp.common.line_pipe import lines
from humanmcp.common.own_process import leave_signals_to_the_main_thread
from humanmcp.http.server_address import SessionOverError
from humanmcp.http.transport import HttpTransport
from humanmcp.locales import say
from humanmcp.protocol.conversation.transcript import HTTP, OTHER_ID, SAID_AGAIN
from humanmcp.protocol.http.client import named_after, part_as_json
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Kind, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.http.server_address import ServerAddress
    from humanmcp.http.transport import HttpPart
    from humanmcp.locales.stop import StopError

NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
"""What a shell returns for a command that is not there, or cannot be run."""

_KILLED_BY: Final = 128
"""What a shell adds to the number of the signal that ended a command."""

_PR_SET_PDEATHSIG: Final = 1


class ServerProcess:
    """A server as a process, with its three pipes. Whoever takes the descriptors closes them."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start it.

        Raises:
            OSError: there is no such command, or it cannot be run.
        """
        self.command = tuple(command)
        self._process = subprocess.Popen(  # noqa: S603 - the command is what the user asked for
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            preexec_fn=_die_with_us(),  # noqa: PLW1509 - no thread of ours runs yet
        )
        self.stdin = _detached(self._process.stdin)
        self.stdout = _detached(self._process.stdout)
        self.stderr = _detached(self._process.stderr)
        self.status: int | None = None
        """Its exit status; None as long as it runs. Known once it is watched."""

    @property
    def pid(self) -> int:
        return self._process.pid

    def watch(self, ended: Callable[[], object]) -> None:
        """Call `ended`, from another thread, when it has ended and its status is known."""

        def wait() -> None:
            leave_signals_to_the_main_thread()
            self.status = exit_status(self._process.wait())
            ended()

        threading.Thread(target=wait, name="tap-waits", daemon=True).start()

    def pass_on(self, number: int) -> None:
        """Send it a signal; one that has ended already gets none."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it without asking."""
        self._process.kill()


def exit_status(returned: int) -> int:
    """Return the status to exit with for what `Popen` returned: a shell's 128 + n for a signal."""
    return _KILLED_BY - returned if returned < 0 else returned


def _detached(pipe: object) -> int:
    """Take the descriptor out of a pipe object: the pumps read and write it themselves."""
    fileno: int = os.dup(pipe.fileno())  # type: ignore[attr-defined] # Popen made it: it is a file
    pipe.close()  # type: ignore[attr-defined]
    return fileno


def _die_with_us() -> Callable[[], None] | None:
    """Return what makes the kernel end the child when the thread that started it ends (Linux).

    That is the main thread, which lives as long as we do.
    """
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # noqa: PLC0415 - exists everywhere, is of use here only

    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):  # a C library without it
        return None
    parent = os.getpid()

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # we died before the kernel was told
            os._exit(1)

    return ask


INTERNAL_ERROR: Final = -32603
OWN_ID: Final = '"humanmcp: begun anew"'
"""The id of an `initialize` that is the tap's own: the client sees nothing of it."""

INITIALIZED: Final = '{"jsonrpc":"2.0","method":"notifications/initialized"}'


class LastingRequests:
    """What a client asked of a session that lasts as long as the session does."""

    def __init__(self) -> None:
        self.beginning: Message | None = None
        """The client's own `initialize`."""
        self._requests: dict[tuple[str, object], Message] = {}
        self._lock = threading.Lock()

    def said(self, line: bytes) -> None:
        """Take note of a line of the client's."""
        for one in jsonrpc.items_in(line):
            if isinstance(one, Message) and one.kind is Kind.REQUEST:
                with self._lock:
                    self._asked(one)

    def _asked(self, request: Message) -> None:
        match request.method:
            case "initialize":
                self.beginning = request
                self._requests.clear()
            case "logging/setLevel":
                self._requests[request.method, None] = request
            case "resources/subscribe":
                self._requests[request.method, _uri_of(request)] = request
            case "resources/unsubscribe":
                self._requests.pop(("resources/subscribe", _uri_of(request)), None)

    def in_force(self) -> list[Message]:
        """Return the requests that still hold, in the order in which they were said first."""
        with self._lock:
            return [*self._requests.values()]


def _uri_of(request: Message) -> str:
    return json.dumps(request.params.get("uri"))


class RemoteServer:
    """A server at an address. Whoever takes the descriptors closes them."""

    def __init__(self, address: ServerAddress, record: Callable[[bytes, str], object]) -> None:
        """Prepare to call it. `record` writes HTTP and the tap's own lines, with a note."""
        self.status: int | None = None
        """0 when it is over; None before."""
        self._transport = HttpTransport(address)
        self._record = record
        self._lasting = LastingRequests()
        self._reopening = threading.Lock()
        self._said_again: set[str] = set()
        """What was said again in the session that is open now."""
        self._writing = threading.Lock()
        self._lines, self.stdin = os.pipe()
        self.stdout, self._answers = os.pipe()
        self.stderr, self._aside = os.pipe()

    def lines_of_client(self, source: int, tell: Callable[[bytes], object]) -> int:  # noqa: ARG002 - as in `KeyedServer`
        """Return a descriptor with the lines of the client alone. `tell` writes between the lines.

        Here nothing else is between them.
        """
        return source

    def watch(self, ended: Callable[[], object]) -> None:
        """Begin to call; `ended` is called, from another thread, when the client said its last."""
        self._transport.start(self)

        def run() -> None:
            leave_signals_to_the_main_thread()
            for cut in lines(self._lines):
                self._lasting.said(cut.line)
                with contextlib.suppress(EndedError):  # we were told to stop
                    self._transport.send(cut.line.decode("utf-8", "surrogateescape"))
            os.close(self._lines)
            self._transport.wait_for_answers()
            self._transport.close()
            with self._writing:
                os.close(self._answers)
                os.close(self._aside)
                self._answers = self._aside = -1
            self.status = 0
            ended()

        threading.Thread(target=run, name="tap-calls", daemon=True).start()

    def pass_on(self, number: int) -> None:
        """Stop calling: a signal says so."""
        del number
        threading.Thread(target=self._transport.close, daemon=True).start()

    def kill(self) -> None:
        """Hang up at once."""
        self.status = 0
        self._transport.drop()

    # -- what comes back -------------------------------------------------------------------------

    def line_arrived(self, line: bytes, asked: str = "") -> None:
        if not _is_own(line):
            self._said_again.discard("")
            named = named_after(line, asked) if asked else line
            if named != line:
                self._record(line, OTHER_ID)
            self._write(self._answers, named)

    def answer_failed(self, line: str, why: StopError) -> None:
        """Answer a request that gets no answer, and say why; begin anew where that helps."""
        if _is_own(line.encode("utf-8", "replace")):
            return
        if isinstance(why, SessionOverError) and self.say_again(line):
            return
        said = f"humanmcp: {why.sentence()}"
        for message in jsonrpc.items_in(jsonrpc.encoded(line)):
            if isinstance(message, Message) and message.kind is Kind.REQUEST and message.id:
                token = message.id.token
                answer = jsonrpc.error_line(token, INTERNAL_ERROR, said, jsonrpc.NO_RESPONSE)
                self._write(self._answers, answer.encode("utf-8", "replace"))
        self.stderr_line(said.encode("utf-8", "replace"))

    def say_again(self, line: str) -> bool:
        """Say a line, "" for none, in a session that takes the place of the one that is over.

        "When a client receives HTTP 404 […], it MUST start a new session by sending a new
        `InitializeRequest` without a session ID attached."
        https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
        """
        with self._reopening:
            was_said = line in self._said_again
            if was_said and not line:  # a stream that brought nothing since begins nothing
                return False
            if not self._transport.conversation.session and not self._begin_anew():
                return False
            if was_said:
                return False
            self._said_again.add(line)
        if line:
            self._transport.send_now(line, self._transport.exchange_type)
        return True

    def _begin_anew(self) -> bool:
        if self._lasting.beginning is None:
            return False
        self._said_again.clear()
        self.stderr_line(say("tap", "begun anew").encode("utf-8", "replace"))
        if not (self._say(self._lasting.beginning) and self._say_line(INITIALIZED)):
            return False
        for request in self._lasting.in_force():
            self._say(request)
        return True

    def _say(self, request: Message) -> bool:
        return self._say_line(jsonrpc.with_token(request.raw, OWN_ID))

    def _say_line(self, line: str) -> bool:
        self._record(line.encode("utf-8", "surrogateescape"), SAID_AGAIN)
        return self._transport.send_now(line)

    def stderr_line(self, line: bytes) -> None:
        self._write(self._aside, line)

    def http_passed(self, number: int, what: HttpPart) -> None:
        self._record(part_as_json(number, what).encode("utf-8", "replace"), HTTP)

    def ended(self) -> None:
        """Do nothing: it ends with its client."""

    def _write(self, descriptor: int, line: bytes) -> None:
        with self._writing, contextlib.suppress(OSError):  # nobody reads any more
            rest = memoryview(line + b"\n")
            while rest and self._answers >= 0:
                rest = rest[os.write(descriptor, rest) :]


def _is_own(line: bytes) -> bool:
    if OWN_ID.encode() not in line:
        return False
    message = jsonrpc.read(line)
    return isinstance(message, Message) and message.id is not None and message.id.token == OWN_ID
