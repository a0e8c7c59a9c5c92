"""Where texts go that were sent: `sent/0001.txt` and on. Nothing here is ever written over.

Knows names and files, and not why a text was sent.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from humanmcp.server.text_files.folder import OpenFolder

SENT: Final = "sent"


class SentFolder:
    """The folder `sent` in the archive or, where that cannot be, in the place itself."""

    def __init__(self, folder: OpenFolder, archive: Path | None = None) -> None:
        """Keep files of `folder` in `archive`."""
        self._place = folder
        self._folder = SENT if archive is None else str(archive / SENT)
        self._count = 0

    def take(self, name: str) -> str:
        """Rename a file of the place to the next number. Returns the name it has now.

        Raises:
            FileNotFoundError: there is no such file.
            OSError: it cannot be renamed now; Windows does not rename what is open elsewhere.
        """
        new = self._next()
        try:
            self._place.rename(name, new)
        except OSError as error:
            if error.errno != errno.EXDEV or self._folder == SENT:
                raise
            self._settle_here()  # the archive is on another disk
            new = self._next()
            self._place.rename(name, new)
        return new

    def keep(self, content: bytes) -> None:
        """Keep a copy of a file that is not there any more."""
        self._place.create(self._next(), content)

    def _next(self) -> str:
        try:
            self._place.make_folder(self._folder)
        except FileNotFoundError:  # somebody removed the archive
            self._settle_here()
            self._place.make_folder(self._folder)
        while True:
            self._count += 1
            name = f"{self._folder}/{self._count:04d}.txt"
            if self._place.mark(name) is None:
                return name

    def _settle_here(self) -> None:
        self._folder, self._count = SENT, 0
