"""The messages that people start in a session, and what became of each."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from humanmcp.inbox import records
from humanmcp.inbox.atomic import replace_file
from humanmcp.inbox.contract import OutgoingResult, UnknownItemError
from humanmcp.inbox.folder_time import FolderTime
from humanmcp.inbox.session_folder import read_record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from humanmcp.inbox.contract import Reply
    from humanmcp.inbox.session_folder import SessionFolder
    from humanmcp.protocol.diagnostics.model import Diagnostic


class Outbox:
    """The outbox of one session."""

    def __init__(self, folder: SessionFolder) -> None:
        self._folder = folder
        self._path = folder.outbox
        self._waiting: dict[str, Reply] = {}
        self._passed: set[str] = set()
        self._time = FolderTime()

    # -- the desk's side ----------------------------------------------------------------------

    def submit(self, reply: Reply) -> str:
        """Submit an outgoing message under the next free number."""
        number = max((int(ticket) for ticket in self._tickets()[0]), default=0) + 1
        number = self._folder.publish(
            reply,
            lambda free: self._path / records.OUTGOING.format(records.exchange_name(free)),
            number,
        )
        return records.exchange_name(number)

    def result(self, ticket: str) -> OutgoingResult | None:
        """Return what became of an outgoing message; None while it waits."""
        try:
            found = read_record(self._result_of(ticket), records.read_diagnostics)
        except FileNotFoundError:
            if (self._path / records.OUTGOING.format(ticket)).exists():
                return None
            raise UnknownItemError(f"{self._folder.name}/{records.OUTBOX}/{ticket}") from None
        return None if found is None else OutgoingResult(found)

    def _result_of(self, ticket: str) -> Path:
        if not records.is_ticket(ticket):
            raise UnknownItemError(f"{self._folder.name}/{records.OUTBOX}/{ticket!r}")
        return self._path / records.RESULT.format(ticket)

    # -- the server's side ----------------------------------------------------------------------

    def outgoing(self) -> Sequence[tuple[str, Reply]]:
        """Return the unsettled messages, oldest first."""
        if self._may_have_changed():
            self._look()
        return sorted(self._waiting.items(), key=lambda outgoing: int(outgoing[0]))

    def settle_outgoing(self, ticket: str, diagnostics: Sequence[Diagnostic]) -> None:
        """Put the result beside an outgoing message."""
        result = records.encode(records.diagnostics_record(diagnostics))
        replace_file(self._folder.temporary, self._result_of(ticket), result, durable=False)
        self._waiting.pop(ticket, None)
        self._passed.add(ticket)

    def _may_have_changed(self) -> bool:
        """Return True if to look: one `stat`, unless something happened a moment ago."""
        try:
            found = self._path.stat(follow_symlinks=False)
        except OSError:
            return False
        return self._time.may_have_changed(found, time.monotonic())

    def _look(self) -> None:
        tickets, settled = self._tickets()
        for ticket in settled:
            self._waiting.pop(ticket, None)
        for ticket in tickets - settled - self._passed - self._waiting.keys():
            reply = None
            with suppress(FileNotFoundError):
                path = self._path / records.OUTGOING.format(ticket)
                reply = read_record(path, records.read_reply)
            if reply is None:
                self._passed.add(ticket)
            else:
                self._waiting[ticket] = reply

    def _tickets(self) -> tuple[set[str], set[str]]:
        """Return every ticket, and those that are settled."""
        with os.scandir(self._path) as entries:
            names = {entry.name for entry in entries}
        tickets = {ticket for name in names if (ticket := records.ticket_of(name)) is not None}
        return tickets, {ticket for ticket in tickets if records.RESULT.format(ticket) in names}
