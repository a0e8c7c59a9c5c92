"""Send the requests of a recording to a server again, and record what it answers now."""

from __future__ import annotations

import json
import os
import queue
import re
import shlex
from typing import TYPE_CHECKING, Any, Final

from humanmcp.common.child import ChildCommand, ChildTransport
from humanmcp.common.timestamps import now
from humanmcp.export.recording import Recording, build_conversation
from humanmcp.extensions.testing.runnable import client_answers, sent_and_answered
from humanmcp.http.server_address import ServerAddress, is_address
from humanmcp.http.transport import HttpTransport
from humanmcp.locales.stop import stopped
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Kind, Message
from humanmcp.protocol.json.removed import mark_of, names_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.http.transport import HttpPart
    from humanmcp.locales.stop import StopError

TIMEOUT: Final = 30.0
"""Seconds that an answer may take."""
VARIABLE: Final = "MCP_SECRET_{}"
"""The variable with the value of a removed part, as in exported tests."""


class _Listener:
    """Queues what a server says; None at its end."""

    def __init__(self) -> None:
        self.lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def line_arrived(self, line: bytes, asked: str = "") -> None:  # noqa: ARG002 - each answer names its request
        self.lines.put(line)

    def stderr_line(self, line: bytes) -> None: ...

    def ended(self) -> None:
        self.lines.put(None)

    def answer_failed(self, line: str, error: StopError) -> None:  # noqa: ARG002 - the request has no answer
        self.lines.put(None)

    def http_passed(self, number: int, what: HttpPart) -> None: ...


class _Rerun:
    """One session with a server."""

    def __init__(self, recording: Recording, target: str) -> None:
        """Start the server, or prepare to call it.

        Raises:
            StopError: it cannot be started, or the address cannot be called.
        """
        self._recorded = build_conversation(recording, Direction.OUT)
        self._answers = {
            method: list(all_) for method, all_ in client_answers(self._recorded).items()
        }
        self._listener = _Listener()
        self.frames: list[Frame] = []
        command = ChildCommand(tuple(shlex.split(target)), os.environ)
        address = ServerAddress.of(target) if is_address(target) else None
        self._transport = HttpTransport(address) if address else ChildTransport(command)
        self._transport.start(self._listener)

    def run(self) -> None:
        """Send each message, and wait for each answer.

        Raises:
            StopError: a removed part is not known, or an answer does not come.
        """
        try:
            for message, answer in sent_and_answered(self._recorded):
                self._send(message)
                if answer is not None:
                    self._await(message)
        finally:
            self._transport.close()

    def _send(self, message: Mapping[str, Any]) -> None:
        line = _filled(jsonrpc.as_line(message))
        self._record(Direction.IN, line.encode("utf-8", "replace"))
        self._transport.send(line)

    def _await(self, request: Mapping[str, Any]) -> None:
        while True:
            try:
                line = self._listener.lines.get(timeout=TIMEOUT)
            except queue.Empty:
                line = None
            if line is None:
                raise stopped("diff", "no answer", method=request["method"])
            self._record(Direction.OUT, line)
            for item in jsonrpc.items_in(line):
                if not isinstance(item, Message):
                    continue
                if item.kind is Kind.REQUEST:
                    self._answer(item)
                elif item.kind.is_answer and item.body.get("id") == request["id"]:
                    return

    def _answer(self, asked: Message) -> None:
        """Answer what the server asks as the client did then, each time in turn."""
        unknown = {"error": {"code": -32601, "message": "Method not found"}}
        answers = self._answers.get(asked.method, [unknown])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        self._send({**answer, "jsonrpc": "2.0", "id": asked.body["id"]})

    def _record(self, direction: Direction, raw: bytes) -> None:
        self.frames.append(Frame(len(self.frames) + 1, now(), direction, raw))


def _filled(line: str) -> str:
    """Return a line with its removed parts, from the environment.

    Raises:
        StopError: one of them is not there.
    """
    for name in names_in(line):
        variable = VARIABLE.format(name)
        if variable not in os.environ:
            raise stopped("diff", "no variable", name=variable)
        inside = json.dumps(os.environ[variable])[1:-1]
        line = re.sub(re.escape(mark_of(name)), lambda _: inside, line)  # noqa: B023 - used at once
    return line


def rerun(recording: Recording, target: str) -> Recording:
    """Send the requests of a recording to a server, by its command or its URL.

    Raises:
        StopError: it cannot be started, does not answer, or needs what was removed.
    """
    session = _Rerun(recording, target)
    session.run()
    return Recording(recording.name, tuple(session.frames))
