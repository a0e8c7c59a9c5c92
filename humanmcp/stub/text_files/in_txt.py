"""`in.txt`: every line from the client, verbatim, for `tail -f` and for editors.

Knows bytes and line feeds, and nothing of what a line says.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from humanmcp.common.paths import UnsafeFolderError
from humanmcp.stub.text_files.folder import Unfit

if TYPE_CHECKING:
    from humanmcp.stub.text_files.folder import OpenFolder

IN: Final = "in.txt"
_NO_FILE: Final = frozenset({Unfit.LINK, Unfit.FOLDER, Unfit.SPECIAL, Unfit.FOREIGN})


class InTxt:
    """`in.txt` of one session. `trouble` is what keeps it from being written, None when nothing."""

    def __init__(self, place: OpenFolder) -> None:
        """Begin with an empty file; keep what an earlier session left in it.

        Copied and emptied in place, not renamed: a `tail -f in.txt` that is still running reads on
        in the same file, says "file truncated", and shows the new session.

        Raises:
            UnsafeFolderError: something else than a file of the person's has the name.
            OSError: it cannot be written.
        """
        self.trouble: OSError | None = None
        self._place = place
        self._backlog = bytearray()
        self._lines = 0
        mark = place.mark(IN)
        if mark is not None and mark.unfit in _NO_FILE:
            raise UnsafeFolderError("no-file", folder=place.path / IN)
        if mark is not None and mark.size:
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(mark.changed_ns / 1e9))
            place.copy(IN, place.free_name(f"in.{stamp}"))
        place.empty(IN)

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return self._lines

    def add(self, line: bytes, *, later: bool = False) -> int:
        """Add a line, with one write. What the disk does not take now is written later.

        With `later` it waits for `catch_up`. Returns which line it is, from 1.
        """
        self._lines += 1
        self._backlog += line + b"\n"
        if not later:
            self.catch_up()
        return self._lines

    def catch_up(self) -> None:
        """Write what the disk did not take so far."""
        try:
            while self._backlog:
                self._backlog = self._backlog[self._place.append(IN, self._backlog) :]
        except OSError as error:
            self.trouble = error
        else:
            self.trouble = None
