"""Seconds by the names of clients, in a small file for all sessions of a home.

One file has what clients were seen to wait before they gave up, and two what a person has set on
the page. Knows nothing of what they are used for. Whatever is wrong with a file (none there, no
room, another program's text) means that nothing is known.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Final

from humanmcp.inbox import atomic, records
from humanmcp.inbox.session_folder import find_record

if TYPE_CHECKING:
    from pathlib import Path

MOST_CLIENTS: Final = 100
LONGEST_NAME: Final = 100
LONGEST: Final = 7 * 86400.0
"""Seconds. This program never writes a larger number."""

logger = logging.getLogger(__name__)


class ClientSeconds:
    """The seconds of each client, by its `clientInfo.name`: those it waited for a call."""

    def __init__(self, home: Path, file: str = records.LEARNED) -> None:
        self._file = home / file
        self._temporary = home / records.TEMPORARY
        self._read_as: object = None
        self._seconds: dict[str, float] = {}

    def of(self, client: str) -> float | None:
        return self.all().get(client[:LONGEST_NAME])

    def put(self, client: str, seconds: float) -> None:
        """Store a client's seconds, and replace the old ones.

        Of two processes that do so in the same moment one may be forgotten; servers learn it again.
        """
        name = client[:LONGEST_NAME]
        if not name:
            return
        newest = list(self._others(name).items())[-(MOST_CLIENTS - 1) :]
        self._keep({**dict(newest), name: round(seconds, 1)})

    def forget(self, client: str) -> None:
        name = client[:LONGEST_NAME]
        if name in self.all():
            self._keep(self._others(name))

    def _others(self, name: str) -> dict[str, float]:
        return {one: each for one, each in self.all().items() if one != name}

    def _keep(self, seconds: dict[str, float]) -> None:
        content = json.dumps(seconds, indent=1).encode()
        try:
            atomic.replace_file(self._temporary, self._file, content, durable=False)
        except OSError:
            logger.exception("how long clients wait cannot be kept")

    def all(self) -> dict[str, float]:
        """Return all of them. The file is read again when it has changed."""
        signature = atomic.signature(self._file)
        if signature != self._read_as:
            self._read_as = signature
            self._seconds = find_record(self._file, _usable) or {}
        return self._seconds


def _usable(record: records.Record) -> dict[str, float]:
    usable = {
        name: float(seconds)
        for name, seconds in record.items()
        if type(seconds) in (int, float) and 0 <= seconds <= LONGEST
    }
    return dict(list(usable.items())[-MOST_CLIENTS:])
