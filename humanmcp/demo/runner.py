"""The demo step by step: asks, waits for the answer, and gives up where none can come any more."""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from humanmcp.common.child import ChildCommand, ChildTransport, EndedError
from humanmcp.demo.good_host import (
    GIVES_UP_AFTER,
    Answered,
    Failed,
    Ignored,
    Noticed,
    WasAsked,
)
from humanmcp.demo.passing import NOTHING
from humanmcp.demo.steps import list_again
from humanmcp.http.server_address import ServerAddress
from humanmcp.http.transport import HttpTransport
from humanmcp.inbox.opening import open_inbox
from humanmcp.locales.stop import StopError
from humanmcp.protocol.http.client import IncomingResponse, OutgoingRequest, named_after
from humanmcp.protocol.json.jsonrpc import Kind

if TYPE_CHECKING:
    from humanmcp.demo.good_host import Reaction, Strictness
    from humanmcp.demo.screen import Screen
    from humanmcp.demo.steps import Course, DemoStep
    from humanmcp.http.transport import HttpPart
    from humanmcp.protocol.json.jsonrpc import Message

    Arrived: TypeAlias = bytes | IncomingResponse | StopError
    """A line, the head of an HTTP response, or why there will be no answer."""

_LOOK_EVERY: Final = 0.05
_VISIBLE_WITHIN: Final = 5.0


class DemoServer:
    """The server, as a host has it: its lines wait here until they are read."""

    url = ""
    """Its address, where it has one."""

    def __init__(self, command: list[str]) -> None:
        """Start it. What it says on stderr is kept for the case that it dies."""
        self.lines: queue.SimpleQueue[Arrived | None] = queue.SimpleQueue()
        self.said: list[bytes] = []
        self.child = ChildTransport(ChildCommand(tuple(command)))
        self.transport: ChildTransport | HttpTransport = self.child
        self.child.start(self)

    def __enter__(self) -> Self:
        """Use it as a context: it ends with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close its stdin and wait: that is how a client says goodbye over stdio."""
        self.transport.close()

    def files(self, home: Path, wanted: Path) -> Path:
        """Return where its text files are: another folder than `wanted` where that one is in use.

        A session can be seen from its first message on; call this after that.
        """
        inbox = open_inbox(home)
        until = time.monotonic() + _VISIBLE_WITHIN
        while time.monotonic() < until:
            for facts in inbox.sessions():
                if facts.pid == self.child.process.pid and facts.files:
                    return Path(facts.files)
            time.sleep(_LOOK_EVERY)
        return wanted

    def posted(self) -> OutgoingRequest | None:
        """Return the POST of the line that was sent last; None over stdin and stdout."""
        return None

    def receive(self, timeout: float) -> Arrived | None:
        """Return the next line of the server, None when none came in time.

        Raises:
            EndedError: the server is gone.
        """
        try:
            line = self.lines.get(timeout=timeout)
        except queue.Empty:
            return None
        if line is None:
            raise self.transport.end_reason()
        return line

    def line_arrived(self, line: bytes, asked: str = "") -> None:
        """Keep a line from the server; an error without an id answers what was `asked`."""
        line = named_after(line, asked) if asked else line
        self.lines.put(line)

    def stderr_line(self, line: bytes) -> None:
        """Keep a line of its stderr."""
        self.said.append(line)

    def ended(self) -> None:
        """Tell the reader that waits for a line that none will come."""
        self.lines.put(None)


class HttpDemoServer(DemoServer):
    """The server at an address: each message is a POST, with the headers of its version."""

    def __init__(self, command: list[str], version: str) -> None:
        """Start it, and wait until it says where it is. `version` is "" before a handshake.

        Raises:
            EndedError: it did not start.
        """
        self._urls: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._posts: queue.SimpleQueue[OutgoingRequest] = queue.SimpleQueue()
        super().__init__([*command, "--http", "127.0.0.1"])
        with contextlib.suppress(queue.Empty):
            self.url = self._urls.get(timeout=_VISIBLE_WITHIN)
        if not self.url:
            self.child.close()
            raise self.child.end_reason()
        self.transport = HttpTransport(ServerAddress(self.url))
        self.transport.conversation.version = version
        self.transport.start(self)

    def __exit__(self, *_: object) -> None:
        """Hang up, and end the server: it does not end with its stdin."""
        self.transport.close()
        self.child.process.terminate()
        self.child.close()

    def posted(self) -> OutgoingRequest | None:
        """Return the POST of the line that was sent last."""
        return self._posts.get(timeout=_VISIBLE_WITHIN)

    def stderr_line(self, line: bytes) -> None:
        """Keep a line of its stderr; one of the first says where it is."""
        super().stderr_line(line)
        if found := re.search(rb"http://[\d.:]+/\w+", line):
            self._urls.put(found[0].decode())

    def ended(self) -> None:
        """Tell who waits for an address or a line that none will come."""
        self._urls.put("")
        super().ended()

    def http_passed(self, number: int, what: HttpPart) -> None:  # noqa: ARG002 - one is under way
        """Keep a POST, and the head of a response."""
        if isinstance(what, IncomingResponse):
            self.lines.put(what)
        elif isinstance(what, OutgoingRequest) and what.method == "POST":
            self._posts.put(what)

    def unanswered(self, line: str, why: StopError) -> None:  # noqa: ARG002 - one is under way
        """Keep why no answer will come."""
        self.lines.put(why)


LOOK_EVERY: Final = 0.2
_NOTES_WITHIN: Final = 1.0


def take_typed(descriptor: int, out: Path) -> None:
    """Write each line that is typed in a terminal into `out.txt`, until the terminal closes.

    A line that is JSON replaces what stands there; any other line continues it, as the lines of a
    pasted text do. The descriptor is read directly: a thread inside `sys.stdin` would keep the
    program from ending.
    """
    while typed := os.read(descriptor, 65536).decode("utf-8", "replace"):
        try:
            json.loads(typed)
        except ValueError:
            before = out.read_text(encoding="utf-8") if out.exists() else ""
        else:
            before = ""
        if typed.strip():
            out.write_text(before + typed, encoding="utf-8")


class DemoRunner:
    """Plays the host's part of one session."""

    def __init__(  # noqa: PLR0913 - the parts of a lesson that is played
        self,
        child: DemoServer,
        course: Course,
        strictness: Strictness,
        screen: Screen,
        pause: float,
        *,
        asks_again: bool = False,
        typed: bool = False,
    ) -> None:
        """Put the parts together. `pause` is in seconds, between two steps.

        With `asks_again` it asks the last request again where the lesson cannot go on; with
        `typed` what is typed in this terminal is an answer.
        """
        self._child = child
        self._course = course
        self._host = course.host(strictness)
        self._heard: list[Reaction] = []
        self.passed: list[bool] = []
        """Of each request that is over, whether its answer passed."""
        self._screen = screen
        self._pause = pause
        self._folder: Path | None = None
        self._tools_changed = False
        self._asks_again = asks_again
        self._typed = typed

    def play(self, home: Path, wanted: Path, language: str) -> bool:
        """Play all steps; the text files are `wanted`. False when the connection ended before."""
        script, number, last = self._course.steps, 0, 0
        try:
            while number < len(script):
                number, step = number + 1, script[number]
                line, request = self._say(step)
                if self._folder is None:
                    self._folder = self._child.files(home, wanted)
                    self._screen.begin(self._folder, self._child.url)
                    if self._typed:
                        out = self._folder / "out.txt"
                        threading.Thread(target=take_typed, args=(0, out), daemon=True).start()
                if not line and (self._course.teaches or self._asks_again):
                    if not self._asks_again or script[last].method == "initialize":
                        self._screen.cannot_go_on()
                        return True
                    self.passed.pop()
                    number = last
                    continue
                self._screen.step(f"{number}/{len(script)}", step, line, self._posted(line))
                if request is not None and not self._settle(step, request, language):
                    return False
                if step.example is not None:
                    last = number - 1
                    passed = request is not None and self._course.passes(
                        len(self.passed), self._heard, self._host.tools
                    )
                    self.passed.append(passed)
                    if self._course.teaches:
                        self._screen.judged(step, passed=passed)
                time.sleep(self._pause)
        except EndedError:
            self._child.transport.close()  # then all that it said is here
            self._screen.gone(self._child.said)
            return False
        return True

    def _say(self, step: DemoStep) -> tuple[str, Message | None]:
        """Send a step's message. Returns its line, and the request to wait for if it is one."""
        params = self._course.params(step, self._host.tools, passed=all(self.passed[-1:]))
        if params is None:
            return "", None  # there is no tool to call
        if step.method.startswith("notifications/"):
            self._child.transport.send(step.line)
            return step.line, None
        request = self._host.ask(step.method, params)
        self._child.transport.send(request.raw)
        return request.raw, request

    def _posted(self, line: str) -> OutgoingRequest | None:
        return self._child.posted() if line else None

    def _settle(self, step: DemoStep, request: Message, language: str) -> bool:
        """Wait for an answer and show what became of it. False when that ends the connection."""
        if step.example is not None and step.passes.answer != NOTHING:
            self._screen.invite(step, request)
        answer = self._answer_to(request, step)
        self._screen.notes(within=_NOTES_WITHIN)
        if answer is not None:
            self._screen.answered(answer)
        understood = isinstance(answer, Answered) and answer.message.kind is Kind.RESULT
        if request.method == "initialize" and not understood:
            self._screen.not_connected()
            return False
        return self._list_again(language)

    def _list_again(self, language: str) -> bool:
        """Ask for the tools once more where the server has said that they changed."""
        if not self._tools_changed:
            return True
        self._tools_changed = False
        heard, again = self._heard, list_again(language)
        line, request = self._say(again)
        self._screen.step("+", again, line, self._posted(line))
        goes_on = request is None or self._settle(again, request, language)
        self._heard = heard
        return goes_on

    def _answer_to(self, request: Message, step: DemoStep) -> Answered | Failed | None:
        """Wait for the answer to the one request that is open. None where the host gave up."""
        deadline = time.monotonic() + step.patience if step.patience else math.inf
        self._heard = []
        while (left := deadline - time.monotonic()) > 0:
            line = self._child.receive(min(LOOK_EVERY, left))
            if isinstance(line, IncomingResponse):
                self._screen.responded(line)
                continue
            if isinstance(line, StopError):
                self._screen.unanswered(line)
                self._host.give_up(request, 0)
                return None
            if line is None:
                self._screen.complaint()
                continue
            self._screen.heard(line)
            for reaction in self._host.take(line):
                self._heard.append(reaction)
                if isinstance(reaction, (Answered, Failed)):
                    return reaction
                if self._is_in_vain(reaction):
                    deadline = min(deadline, time.monotonic() + GIVES_UP_AFTER)
        self._give_up(request, step.gives_up_after)
        return None

    def _is_in_vain(self, reaction: Reaction) -> bool:
        """Take what is no answer. True when the server may think that it has answered now."""
        match reaction:
            case Ignored():
                in_vain = reaction.is_in_vain
                self._screen.ignored(reaction, GIVES_UP_AFTER if in_vain else 0)
                return in_vain
            case WasAsked(message, line):
                self._child.transport.send(line)
                self._screen.was_asked(message, line)
            case Noticed(message):
                self._tools_changed |= message.method == "notifications/tools/list_changed"
                self._screen.noticed(message)
            case _:
                pass
        return False

    def _give_up(self, request: Message, seconds: float) -> None:
        line = self._host.give_up(request, seconds)
        if line is not None:
            self._child.transport.send(line)
        self._screen.gave_up(request, seconds, line or "")
