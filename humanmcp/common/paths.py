"""Where humanmcp keeps its things: one folder, derived from the home directory alone.

Hosts start servers with a stripped environment (HOME, LOGNAME, PATH, SHELL, TERM, USER), so
a server and a desk can only agree on a place that needs nothing else.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from humanmcp.locales.stop import StopError

FOLDER_NAME = ".humanmcp"

BOOK_NAME: Final = "book.toml"
"""The book that every server of an inbox folder reads unless it was given another."""


class UnsafeFolderError(StopError):
    """Other users could read or change what is kept in a folder."""

    room = "unsafe"


def home_folder(wanted: str = "") -> Path:
    """Return the inbox folder: the wanted one, else `~/.humanmcp`, as an absolute path."""
    return Path(wanted).expanduser().absolute() if wanted else Path.home() / FOLDER_NAME


def book_file(wanted: str, home: Path) -> Path:
    """Return the answer book: the wanted one, else the one in the inbox folder."""
    return Path(wanted).expanduser() if wanted else home / BOOK_NAME


def sample(name: str) -> Path:
    """Return the path of a sample: in the installed package, else in a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "samples" / name
    return installed if installed.exists() else package.parent / "samples" / name


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
        raise UnsafeFolderError("link", folder=folder, place=folder.resolve())
    if found.st_uid != os.getuid():
        raise UnsafeFolderError("owner", folder=folder, flag="--home")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnsafeFolderError("writable", folder=folder, mode="700")
    return folder
