"""Every line on the wire, for the person in the client's seat to read: on stderr, as it happens.

Two styles: the log lines of a Go SDK's example client, which lessons quote, and a pretty one.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, Final

from humanmcp.common.terminal import Painted, to_stderr
from humanmcp.host.client.callbacks import ClientObserver
from humanmcp.host.terminal.results import diagnostic_line, shortened
from humanmcp.locales import say
from humanmcp.protocol.conversation.events import NoticeArrived, RequestArrived, ResponseArrived
from humanmcp.protocol.conversation.events import UnreadableArrived as Unreadable
from humanmcp.protocol.diagnostics.model import unreadable
from humanmcp.protocol.http.client import IncomingResponse, OutgoingRequest
from humanmcp.protocol.json.escaping import visible
from humanmcp.protocol.json.jsonrpc import Flaw
from humanmcp.protocol.json.layout import pretty

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from humanmcp.common.child import EndedError
    from humanmcp.host.client.callbacks import MisdirectedResponse
    from humanmcp.http.transport import HttpPart
    from humanmcp.locales.stop import StopError
    from humanmcp.protocol.conversation.events import Event
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import Message

ROOM: Final = "client"
_NOISE: Final = (Flaw.NOT_JSON, Flaw.NOT_UTF8)
"""The codes of lines that are no JSON, or no text: logs, as a rule."""


class WireLog(ClientObserver):
    """Writes every line with its time and its sender, and what the check says of it."""

    def __init__(  # noqa: PLR0913 - all but the language have defaults
        self,
        *,
        language: str,
        name: str = "",
        laid_out: bool = False,
        lines: bool = True,
        above: Callable[[], AbstractContextManager[object]] = nullcontext,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        """Begin. `laid_out` spreads each message over several lines; `name` tells servers apart.

        Without `lines` only what is unusual is shown: what is wrong, and the server's own stderr.
        What is written stands `above` a line that is just being typed, in one piece.
        """
        self.language = language
        self.name = f"{name} " if name else ""
        self.laid_out = laid_out
        self.lines = lines
        self.above = above
        self.now = now
        self._has_explained_noise = False

    def line_sent(self, line: str) -> None:
        """Show a line of ours."""
        self._show(f"{self.name}Client :  ", line, "cyan")

    def line_arrived(self, line: bytes) -> None:
        """Show a line of the server's."""
        self._show(f"{self.name}Server :   ", line.decode("utf-8", "replace"), "green")

    def stderr_line(self, line: bytes) -> None:
        """Show a line of the server's stderr; it is no message."""
        with self.above():
            text = line.decode("utf-8", "replace").rstrip("\r")
            to_stderr(Painted(f"{self._stamp()}  {self.name}stderr :   {text}", "dim"))

    def http_passed(self, number: int, what: HttpPart) -> None:
        """Show what HTTP says beside the lines."""
        if not self.lines:
            return
        first, *more = _http_lines(what)
        with self.above():
            to_stderr(Painted(f"{self._stamp()}  {self.name}HTTP {number} {first}", "dim"))
            for line in more:
                to_stderr(Painted(f"    {line}", "dim"))

    def not_taken(self, error: StopError) -> None:
        """Say why a message that awaits no answer did not get to the server."""
        self._remark(error.sentence(self.language))

    def happened(self, event: Event) -> None:
        """Say what is wrong with what the server sent."""
        diagnostics: tuple[Diagnostic, ...] = ()
        match event:
            case ResponseArrived(_, _, diagnostics) | NoticeArrived(_, diagnostics):
                pass
            case RequestArrived(exchange):
                diagnostics = exchange.remarks
            case Unreadable(malformed):
                diagnostics = (unreadable(malformed),)
            case _:
                pass
        if not diagnostics:
            return
        with self.above():
            for one in diagnostics:
                to_stderr(*self._signed(diagnostic_line(one, self.language, seen=True)))
                self._explain_noise(one)

    def _signed(self, parts: tuple[str | Painted, ...]) -> tuple[str | Painted, ...]:
        """Put the server's name in front, where there are several whose lines come as they like."""
        return ("  ", Painted(self.name, "bold"), *parts[1:]) if self.name else parts

    def _explain_noise(self, diagnostic: Diagnostic) -> None:
        """Say once what every author of a server has to learn: stdout is the wire."""
        if diagnostic.code in _NOISE and not self._has_explained_noise:
            self._has_explained_noise = True
            to_stderr(Painted("  " + say(ROOM, "noise", self.language), "dim"))

    def answer_went_astray(self, response: MisdirectedResponse) -> None:
        """Explain an answer that no request awaits, and list the requests that wait."""
        own = response.message.id.token if response.message.id is not None else "null"
        waiting = ", ".join(map(_named, response.waiting))
        if response.taken is not None:
            code, waiting = "taken all the same", _named(response.taken)
        elif response.late is not None:
            code, waiting = "answers too late", response.late.method
        else:
            code = "answers nothing" if waiting else "answers nothing, none waits"
        self._remark(say(ROOM, code, self.language, id=own, waiting=waiting))

    def server_ended(self, error: EndedError) -> None:
        """Say that the server is gone; without the lines, the request that waits for it says so."""
        if self.lines:
            self._remark(error.sentence(self.language))

    def _remark(self, text: str) -> None:
        with self.above():
            to_stderr(*self._signed(("  ", Painted(text, "dim"))))

    def _show(self, sender: str, line: str, colour: str) -> None:
        if not self.lines:
            return
        text = pretty(line) if self.laid_out else line
        if sys.stderr.isatty():
            text = shortened(text, self.language)
        with self.above():
            to_stderr(Painted(f"{self._stamp()}  {sender}", colour), text)
            to_stderr("")

    def _stamp(self) -> str:
        return f"{self.now():%Y/%m/%d %H:%M:%S}"


def _http_lines(what: HttpPart) -> list[str]:
    """Write a part of an HTTP exchange as HTTP does; what a server says may hold anything."""
    match what:
        case OutgoingRequest(method, headers, _, url):
            lines = [f"-> {method} {url}", *(f"{name}: {value}" for name, value in headers)]
        case IncomingResponse(status, reason, headers):
            lines = [f"<- {status} {reason}", *(f"{name}: {value}" for name, value in headers)]
        case _:
            retry = "" if what.retry is None else f"  retry: {what.retry}"
            lines = [f"<- event: {what.event}  id: {what.id or '-'}{retry}"]
    return [visible(line) for line in lines]


def _named(request: Message) -> str:
    """Name a request that waits: its id as on the wire, and its method."""
    return f"{request.id.token if request.id is not None else ''} ({request.method})"
