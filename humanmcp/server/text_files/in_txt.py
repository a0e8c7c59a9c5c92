"""`in.txt`: every line from the client, verbatim, for `tail -f` and for editors.

Knows bytes and line feeds, and nothing of what a line says.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from humanmcp.common.paths import UnsafeFolderError
from humanmcp.server.text_files.folder import Unfit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.server.text_files.folder import OpenFolder

IN: Final = "in.txt"
_NO_FILE: Final = frozenset({Unfit.LINK, Unfit.FOLDER, Unfit.SPECIAL, Unfit.FOREIGN})


class InTxt:
    """`in.txt` of one session. `trouble` is what keeps it from being written, None when nothing."""

    def __init__(self, folder: OpenFolder, before: Sequence[bytes] = ()) -> None:
        """Begin with the lines that came before; keep what an earlier session left in it.

        Copied and emptied in place, not renamed: a `tail -f in.txt` that is still running reads on
        in the same file, says "file truncated", and shows the new session.

        Raises:
            UnsafeFolderError: something else than a file of the person's has the name.
            OSError: it cannot be written.
        """
        self.trouble: OSError | None = None
        self._folder = folder
        self._backlog = bytearray(b"".join(line + b"\n" for line in before))
        self.was_ours = False
        """Whether the file held these lines already: this session has had the folder before."""
        mark = folder.mark(IN)
        if mark is not None and mark.unfit in _NO_FILE:
            raise UnsafeFolderError("no-file", folder=folder.path / IN)
        if mark is not None and before and mark.size == len(self._backlog):
            self.was_ours = folder.read(IN, mark) == bytes(self._backlog)
        if self.was_ours:
            self._backlog.clear()
            return
        if mark is not None and mark.size:
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(mark.changed_ns / 1e9))
            folder.copy(IN, folder.free_name(f"in.{stamp}"))
        folder.empty(IN)
        self.catch_up()

    def add(self, line: bytes, *, later: bool = False) -> None:
        """Add a line, with one write. What the disk does not take now is written later.

        With `later` it waits for `catch_up`.
        """
        self._backlog += line + b"\n"
        if not later:
            self.catch_up()

    def catch_up(self) -> None:
        """Write what the disk did not take so far."""
        try:
            while self._backlog:
                self._backlog = self._backlog[self._folder.append(IN, self._backlog) :]
        except OSError as error:
            self.trouble = error
        else:
            self.trouble = None
