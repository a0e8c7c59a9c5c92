"""Every line on the wire, for the person in the client's seat to read: on stderr, as it happens.

Two styles: the log lines of a Go SDK's example client, which lessons quote, and a pretty one.
"""

from __future__ import annotations

import threading
from datetime import datetime
from typing import TYPE_CHECKING, Final

from humanmcp.host.company import Onlooker
from humanmcp.host.explaining import told
from humanmcp.locales import say
from humanmcp.protocol.events import NoticeArrived, RequestArrived, ResponseArrived
from humanmcp.protocol.events import UnreadableArrived as Unreadable
from humanmcp.protocol.pretty import pretty
from humanmcp.protocol.problems import Level, Problem
from humanmcp.terminal import Painted, complain

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.protocol.events import Event

ROOM: Final = "client"


class WireLog(Onlooker):
    """Writes every line with its time and its sender, and what the check says of it."""

    def __init__(
        self,
        *,
        language: str,
        name: str = "",
        laid_out: bool = False,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        """Begin. `laid_out` spreads each message over several lines; `name` tells servers apart."""
        self.language = language
        self.name = f"{name} " if name else ""
        self.laid_out = laid_out
        self.now = now
        self._one_at_a_time = threading.Lock()

    def line_sent(self, line: str) -> None:
        """Show a line of ours."""
        self._show(f"{self.name}Client :  ", line, "cyan")

    def line_arrived(self, line: bytes) -> None:
        """Show a line of the server's."""
        self._show(f"{self.name}Server :   ", line.decode("utf-8", "replace"), "green")

    def said_aside(self, line: bytes) -> None:
        """Show a line of the server's stderr; it is no message."""
        with self._one_at_a_time:
            text = line.decode("utf-8", "replace").rstrip("\r")
            complain(Painted(f"{self._stamp()}  {self.name}stderr :   {text}", "dim"))

    def happened(self, event: Event) -> None:
        """Say what is wrong with what the server sent."""
        problems: tuple[Problem, ...] = ()
        match event:
            case ResponseArrived(_, None):
                self._remark(say(ROOM, "answers nothing", self.language))
            case ResponseArrived(_, _, problems) | NoticeArrived(_, problems):
                pass
            case RequestArrived(exchange):
                problems = exchange.remarks
            case Unreadable(malformed):
                found = Problem(malformed.why, Level.ERROR, malformed.detail)
                problems = (found,)
            case _:
                return
        with self._one_at_a_time:
            for one in problems:
                complain(*told(one, self.language))

    def server_ended(self, why: str) -> None:
        """Say that the server is gone."""
        self._remark(why)

    def _remark(self, text: str) -> None:
        with self._one_at_a_time:
            complain(Painted("  " + text, "dim"))

    def _show(self, sender: str, line: str, colour: str) -> None:
        text = pretty(line) if self.laid_out else line
        with self._one_at_a_time:
            complain(Painted(f"{self._stamp()}  {sender}", colour), text)
            complain("")

    def _stamp(self) -> str:
        return f"{self.now():%Y/%m/%d %H:%M:%S}"
