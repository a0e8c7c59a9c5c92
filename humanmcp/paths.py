"""Where humanmcp keeps its things: one folder, derived from the home directory alone.

Hosts start servers with a stripped environment (HOME, LOGNAME, PATH, SHELL, TERM, USER), so a stub
and a desk can only agree on a place that needs nothing else.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

FOLDER_NAME = ".humanmcp"


class UnsafeFolderError(Exception):
    """Somebody else could read or change what is kept in a folder."""

    def __init__(self, folder: Path, why: str, advice: str) -> None:
        """Remember the folder, what is wrong with it and what to do."""
        super().__init__(folder, why, advice)
        self.folder = folder
        self.why = why
        self.advice = advice

    def __str__(self) -> str:
        """Say what is wrong and what to do."""
        return f"{self.folder} {self.why}. {self.advice}"


def home_folder(wanted: str = "") -> Path:
    """Return the inbox folder: the wanted one, else `~/.humanmcp`, as an absolute path."""
    return Path(wanted).expanduser().absolute() if wanted else Path.home() / FOLDER_NAME


def make_private(folder: Path) -> Path:
    """Make a folder that only its owner may enter (0700), and return it.

    Raises:
        UnsafeFolderError: it belongs to another user, or others may write in it.
        OSError: it cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "nt":  # pragma: no cover - Windows keeps other users out of the profile folder
        return folder
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise UnsafeFolderError(
            folder, "is a link to another place", "Give the place that it leads to."
        )
    if found.st_uid != os.getuid():
        raise UnsafeFolderError(folder, "belongs to another user", "Choose another with --home.")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnsafeFolderError(
            folder, "can be written by other users", f"Run: chmod 700 '{folder}'"
        )
    return folder
