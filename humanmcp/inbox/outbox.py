"""What people say first: a notification or a request of their own, and what became of it.

A saying is a file with a number for its name, its ticket; the server puts a result beside it.
"""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from humanmcp.inbox import layout, records
from humanmcp.inbox.atomic import FolderTime, read_file, replace_file
from humanmcp.inbox.contract import Reply, UnknownItemError
from humanmcp.inbox.exchanges import read_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.inbox.exchanges import SessionFolder
    from humanmcp.protocol.diagnostics.model import Diagnostic

_log = logging.getLogger(__name__)


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
        """Hand in a saying under the next free number."""
        number = max((int(ticket) for ticket in self._tickets()[0]), default=0) + 1
        number = self._folder.publish(
            records.record_of(reply),
            lambda free: self._path / layout.OUTGOING.format(layout.exchange_name(free)),
            number,
        )
        return layout.exchange_name(number)

    def refused(self, ticket: str) -> tuple[Diagnostic, ...] | None:
        """Return what became of a saying."""
        if not layout.is_ticket(ticket):
            raise UnknownItemError(f"{self._folder.name}/{layout.OUTBOX}/{ticket!r}")
        try:
            return records.read_diagnostics(
                records.decode(read_file(self._path / layout.RESULT.format(ticket)))
            )
        except FileNotFoundError:
            if (self._path / layout.OUTGOING.format(ticket)).exists():
                return None
            raise UnknownItemError(f"{self._folder.name}/{layout.OUTBOX}/{ticket}") from None
        except records.UnreadableError as error:
            _log.warning("what became of saying %s cannot be read: %s", ticket, error)
            return None

    # -- the server's side ----------------------------------------------------------------------

    def outgoing(self) -> Sequence[tuple[str, Reply]]:
        """Return what is not settled, oldest first."""
        if self._may_have_changed():
            self._look()
        return sorted(self._waiting.items(), key=lambda outgoing: int(outgoing[0]))

    def settle(self, ticket: str, diagnostics: Sequence[Diagnostic]) -> None:
        """Put the result beside a saying."""
        if not layout.is_ticket(ticket):
            raise UnknownItemError(f"{self._folder.name}/{layout.OUTBOX}/{ticket!r}")
        result = records.encode(records.diagnostics_record(diagnostics))
        path = self._path / layout.RESULT.format(ticket)
        replace_file(self._folder.temporary, path, result, durable=False)
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
                path = self._path / layout.OUTGOING.format(ticket)
                reply = read_record(path, records.read_reply)
            if reply is None:
                self._passed.add(ticket)
            else:
                self._waiting[ticket] = reply

    def _tickets(self) -> tuple[set[str], set[str]]:
        """Return every ticket, and those that are settled."""
        with os.scandir(self._path) as entries:
            names = {entry.name for entry in entries}
        tickets = {ticket for name in names if (ticket := layout.ticket_of(name)) is not None}
        return tickets, {ticket for ticket in tickets if layout.RESULT.format(ticket) in names}
