"""Who is writing an answer now, in any window of any desk."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from humanmcp.inbox import records
from humanmcp.inbox.atomic import LEFT_BEHIND, drop, replace_file, write_temporary
from humanmcp.inbox.contract import WRITES_FOR
from humanmcp.inbox.session_folder import find_record
from humanmcp.protocol.conversation.decisions import sha256

if TYPE_CHECKING:
    from pathlib import Path

    from humanmcp.inbox.contract import Key, Writer


class WriterFiles:
    """Who writes what: one file for each window, and the time of its last sign is the file's.

    Only the clock of the disk counts: the time now is that of a file written there now.
    """

    def __init__(self, home: Path) -> None:
        """Use the folder in `home`, which is made when somebody writes."""
        self._path = home / records.WRITERS
        self._temporary = home / records.TEMPORARY

    def note(self, key: Key, writer: Writer) -> None:
        """Write the file of a window."""
        self._path.mkdir(mode=0o700, exist_ok=True)
        content = records.encode(records.writer_record(key, writer))
        replace_file(self._temporary, self._file(writer.page), content, durable=False)

    def clear(self, page: str) -> None:
        """Remove the file of a window."""
        drop(self._file(page))

    def _file(self, page: str) -> Path:
        return self._path / records.WRITER.format(sha256(page)[:32])

    def lately(self) -> dict[Key, tuple[Writer, ...]]:
        """Read the files whose sign counts, and remove those that a crash left."""
        found: dict[Key, tuple[Writer, ...]] = {}
        with suppress(OSError):
            with os.scandir(self._path) as entries:
                signs = sorted((one.stat().st_mtime_ns, one.name) for one in entries)
            now = self._now() if signs else 0
            for at, name in signs:
                age = (now - at) / 1e9
                if not 0 <= age < WRITES_FOR:
                    if abs(age) > LEFT_BEHIND:
                        drop(self._path / name)
                elif record := find_record(self._path / name, records.read_writer):
                    key, writer = record
                    found[key] = (*found.get(key, ()), writer)
        return found

    def _now(self) -> int:
        written, now = write_temporary(self._temporary, b"", durable=False)
        drop(written)
        return now.mtime_ns
