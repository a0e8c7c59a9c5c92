"""The messages that people start in a session, and what became of each."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from humanmcp.inbox import records
from humanmcp.inbox.atomic import replace_file
from humanmcp.inbox.contract import OutgoingResult, UnknownItemError
from humanmcp.inbox.session_folder import find_record, read_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.inbox.contract import Reply
    from humanmcp.inbox.session_folder import SessionFolder
    from humanmcp.protocol.diagnostics.model import Diagnostic


class Outbox:
    """The outbox of one session."""

    def __init__(self, folder: SessionFolder) -> None:
        self._folder = folder
        self._path = folder.path / records.OUTBOX
        self._unreadable: set[int] = set()

    # -- the desk's side ----------------------------------------------------------------------

    def submit(self, reply: Reply) -> str:
        """Submit an outgoing message under the next free number."""
        number = self._folder.publish(
            reply,
            lambda free: self._path / records.OUTGOING.format(free),
            max(self._numbers()[0], default=0) + 1,
        )
        return records.exchange_name(number)

    def result(self, ticket: str) -> OutgoingResult | None:
        """Return what became of an outgoing message; None while it waits."""
        number = self._number(ticket)
        try:
            path = self._path / records.RESULT.format(number)
            found = read_record(path, records.read_diagnostics)
        except FileNotFoundError:
            if (self._path / records.OUTGOING.format(number)).exists():
                return None
            raise UnknownItemError(f"{self._folder.name}/{records.OUTBOX}/{ticket}") from None
        return None if found is None else OutgoingResult(found)

    def _number(self, ticket: str) -> int:
        number = records.exchange_number(ticket)
        if number is None:
            raise UnknownItemError(f"{self._folder.name}/{records.OUTBOX}/{ticket!r}")
        return number

    # -- the server's side ----------------------------------------------------------------------

    def outgoing(self) -> Sequence[tuple[str, Reply]]:
        """Return the unsettled messages, oldest first."""
        waiting: list[tuple[str, Reply]] = []
        with suppress(FileNotFoundError):
            submitted, settled = self._numbers()
            for number in sorted(submitted - settled - self._unreadable):
                path = self._path / records.OUTGOING.format(number)
                reply = find_record(path, records.read_reply)
                if reply is None:
                    self._unreadable.add(number)
                else:
                    waiting.append((records.exchange_name(number), reply))
        return waiting

    def settle_outgoing(self, ticket: str, diagnostics: Sequence[Diagnostic]) -> None:
        """Put the result beside an outgoing message."""
        path = self._path / records.RESULT.format(self._number(ticket))
        result = records.encode(records.diagnostics_record(diagnostics))
        replace_file(self._folder.temporary, path, result, durable=False)

    def _numbers(self) -> tuple[set[int], set[int]]:
        """Return the numbers of all messages, and of those that are settled."""
        with os.scandir(self._path) as entries:
            names = [entry.name for entry in entries]
        submitted, settled = (
            {number for name in names if (number := records.number_in(name, one)) is not None}
            for one in (records.OUTGOING, records.RESULT)
        )
        return submitted, settled
