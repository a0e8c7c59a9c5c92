"""What clients were seen to wait before they gave up: one small file for all sessions of a home.

Knows nothing of what a limit is used for. The file only ever improves an estimate, so whatever is
wrong with it (no file, no room, another program's text) means that nothing was learned.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Final

from humanmcp.inbox import atomic, layout

if TYPE_CHECKING:
    from pathlib import Path

MOST_CLIENTS: Final = 100
LONGEST_NAME: Final = 100
LARGEST: Final = 64 * 1024
LONGEST: Final = 7 * 86400.0
"""Seconds. What stands there as longer was not written here."""

logger = logging.getLogger(__name__)


class SeenLimits:
    """The seconds that each client waited for a tool call, by its `clientInfo.name`."""

    def __init__(self, home: Path) -> None:
        self._file = home / layout.LEARNED
        self._temporary = home / layout.TEMPORARY
        self._read_as: object = None
        self._seconds: dict[str, float] = {}

    def of(self, client: str) -> float:
        """Return how long this client was seen to wait, 0 when it never was."""
        return self._all().get(client[:LONGEST_NAME], 0.0)

    def learn(self, client: str, seconds: float) -> None:
        """Remember it, in the place of what was seen before: its user may have set another limit.

        Of two stubs that learn in the same moment one may be forgotten; it is learned again.
        """
        name = client[:LONGEST_NAME]
        if not name:
            return
        newest = list(self._others(name).items())[-(MOST_CLIENTS - 1) :]
        self._keep({**dict(newest), name: round(seconds, 1)})

    def forget(self, client: str) -> None:
        """Forget it: the client has waited longer since."""
        name = client[:LONGEST_NAME]
        if name in self._all():
            self._keep(self._others(name))

    def _others(self, name: str) -> dict[str, float]:
        return {one: each for one, each in self._all().items() if one != name}

    def _keep(self, seconds: dict[str, float]) -> None:
        content = json.dumps(seconds, indent=1).encode()
        try:
            atomic.replace_file(self._temporary, self._file, content, durable=False)
        except OSError:
            logger.exception("how long clients wait cannot be kept")

    def _all(self) -> dict[str, float]:
        """Read the file again when it has changed."""
        signature = atomic.signature(self._file)
        if signature != self._read_as:
            self._read_as = signature
            self._seconds = self._read()
        return self._seconds

    def _read(self) -> dict[str, float]:
        try:
            content = atomic.read_file(self._file)
            found = json.loads(content) if len(content) <= LARGEST else None
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(found, dict):
            return {}
        usable = {
            name: float(seconds)
            for name, seconds in found.items()
            if type(seconds) in (int, float) and 0 < seconds <= LONGEST
        }
        return dict(list(usable.items())[-MOST_CLIENTS:])
