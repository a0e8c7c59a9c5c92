"""The lines of items, each decoded once however often it is looked at.

A page asks a dozen questions about one request, and a list asks again with each wake. A message is
never changed once it is read, so whoever asks next gets the same one.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.json import jsonrpc

if TYPE_CHECKING:
    from humanmcp.protocol.json.jsonrpc import Batch, Malformed, Message

LARGEST: Final = 16 * 1024 * 1024
"""Characters of lines that are remembered together; a decoded one takes several times as much."""
_MOST: Final = 1024


class Decoded:
    """Remembers the lines that were decoded last. Threads may share one."""

    def __init__(self, largest: int = LARGEST) -> None:
        """Remember lines of no more than so many characters together."""
        self._largest = largest
        self._known: dict[str, Message | Batch | Malformed] = {}
        self._size = 0
        self._lock = threading.Lock()

    def read(self, line: str) -> Message | Batch | Malformed:
        """Return the message of a line."""
        with self._lock:
            found = self._known.pop(line, None)
            if found is not None:
                self._known[line] = found  # the one that was asked for last
                return found
        found = jsonrpc.read(line.encode("utf-8", "surrogatepass"))
        self._remember(line, found)
        return found

    def _remember(self, line: str, found: Message | Batch | Malformed) -> None:
        with self._lock:
            if line in self._known or len(line) > self._largest:
                return
            self._known[line] = found
            self._size += len(line)
            while self._size > self._largest or len(self._known) > _MOST:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._size -= len(oldest)


_lines: Final = Decoded()


def read_line(line: str) -> Message | Batch | Malformed:
    """Return the message of an item's line, decoded once in this process."""
    return _lines.read(line)
