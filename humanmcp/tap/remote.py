"""The real server at an address, with the three pipes of a process.

What the client writes is posted line by line; what comes back stands on stdout. A request that gets
no answer (no server listens there, the stream was cut) is answered with an error that says so: a
client that speaks over a pipe knows of no status, and would wait for ever.

Nor does it know that the server has ended the session (404). Then the tap begins another one with
what the client began with, and says in it what could not be said.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from typing import TYPE_CHECKING, Final

from humanmcp.calling.errors import SessionOverError
from humanmcp.calling.transport import HttpTransport
from humanmcp.common.child import EndedError, lines
from humanmcp.common.file_descriptors import leave_signals_to_the_main_thread
from humanmcp.locales import say
from humanmcp.protocol.http.client import named_after
from humanmcp.protocol.http.recorded import as_json
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Kind, Message
from humanmcp.protocol.json.other_id import with_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.calling.address import ServerAddress
    from humanmcp.calling.transport import HttpPart
    from humanmcp.locales.stop import StopError

INTERNAL_ERROR: Final = -32603
OWN_ID: Final = '"humanmcp: begun anew"'
"""The id of an `initialize` that is the tap's own: the client sees nothing of it."""

INITIALIZED: Final = '{"jsonrpc":"2.0","method":"notifications/initialized"}'


class RemoteServer:
    """A server that is called. The one that takes the descriptors closes them."""

    def __init__(
        self, address: ServerAddress, language: str, http: Callable[[bytes], object]
    ) -> None:
        """Prepare to call it. `http` takes what HTTP says beside the lines, as JSON."""
        self.status: int | None = None
        """0 when it is over; None before."""
        self._transport = HttpTransport(address)
        self._language = language
        self._http = http
        self._beginning = b""
        """The client's own `initialize`."""
        self._reopening = threading.Lock()
        self._said_again: set[str] = set()
        """What was said again in the session that is open now."""
        self._writing = threading.Lock()
        self._lines, self.stdin = os.pipe()
        self.stdout, self._answers = os.pipe()
        self.stderr, self._aside = os.pipe()

    def watch(self, ended: Callable[[], object]) -> None:
        """Begin to call; `ended` is called, from another thread, when the client said its last."""
        self._transport.start(self)

        def run() -> None:
            leave_signals_to_the_main_thread()
            with open(self._lines, "rb") as coming:  # noqa: PTH123 - a descriptor, no path
                for line in lines(coming):
                    if b'"initialize"' in line:
                        self._beginning = line
                    with contextlib.suppress(EndedError):  # we were told to stop
                        self._transport.send(line.decode("utf-8", "surrogateescape"))
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
        """Take a line from the server."""
        if not _is_own(line):
            self._write(self._answers, named_after(line, asked) if asked else line)

    def unanswered(self, line: str, why: StopError) -> None:
        """Answer a request that gets no answer, and say why; begin anew where that helps."""
        if _is_own(line.encode("utf-8", "replace")):
            return
        if isinstance(why, SessionOverError) and self._say_again(line):
            return
        said = f"humanmcp: {why.sentence(self._language)}"
        message = jsonrpc.read(line.encode("utf-8", "surrogatepass"))
        if isinstance(message, Message) and message.kind is Kind.REQUEST and message.id:
            error = json.dumps({"code": INTERNAL_ERROR, "message": said}, ensure_ascii=False)
            answer = f'{{"jsonrpc":"2.0","id":{message.id.token},"error":{error}}}'
            self._write(self._answers, answer.encode("utf-8", "replace"))
        self.stderr_line(said.encode("utf-8", "replace"))

    def _say_again(self, line: str) -> bool:
        """Say a line in a session that takes the place of the one that is over.

        "When a client receives HTTP 404 […], it MUST start a new session by sending a new
        `InitializeRequest` without a session ID attached."
        https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
        """
        with self._reopening:
            was_said = line in self._said_again
            if not self._transport.conversation.session and not self._begin_anew():
                return False
            if was_said:
                return False
            self._said_again.add(line)
        self._transport.say_now(line)
        return True

    def _begin_anew(self) -> bool:
        message = jsonrpc.read(self._beginning)
        if not isinstance(message, Message) or message.method != "initialize":
            return False
        self._said_again.clear()
        self.stderr_line(say("tap", "begun anew", self._language).encode("utf-8", "replace"))
        begun = self._transport.say_now(with_id(message.raw, OWN_ID))
        return begun and self._transport.say_now(INITIALIZED)

    def stderr_line(self, line: bytes) -> None:
        """Say something beside the wire."""
        self._write(self._aside, line)

    def http_passed(self, number: int, what: HttpPart) -> None:
        """Write down what HTTP says beside the lines."""
        self._http(as_json(number, what).encode("utf-8", "replace"))

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
