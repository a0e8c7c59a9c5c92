"""The real server at an address, with the three pipes of a process.

What the client writes is posted line by line; what comes back stands on stdout. A request that gets
no answer (no server listens there, the stream was cut) is answered with an error that says so: a
client that speaks over a pipe knows of no status, and would wait for ever.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from typing import TYPE_CHECKING, Final

from humanmcp.calling.transport import HttpTransport
from humanmcp.common.child import EndedError, lines
from humanmcp.common.file_descriptors import leave_signals_to_the_main_thread
from humanmcp.protocol.http.client import named_after
from humanmcp.protocol.http.recorded import as_json
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Kind, Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.calling.address import ServerAddress
    from humanmcp.calling.transport import HttpPart
    from humanmcp.locales.stop import StopError

INTERNAL_ERROR: Final = -32603


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
        self._write(self._answers, named_after(line, asked) if asked else line)

    def unanswered(self, line: str, why: StopError) -> None:
        """Answer a request that gets no answer, and say why."""
        said = f"humanmcp: {why.sentence(self._language)}"
        message = jsonrpc.read(line.encode("utf-8", "surrogatepass"))
        if isinstance(message, Message) and message.kind is Kind.REQUEST and message.id:
            error = json.dumps({"code": INTERNAL_ERROR, "message": said}, ensure_ascii=False)
            answer = f'{{"jsonrpc":"2.0","id":{message.id.token},"error":{error}}}'
            self._write(self._answers, answer.encode("utf-8", "replace"))
        self.stderr_line(said.encode("utf-8", "replace"))

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
