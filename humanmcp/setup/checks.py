"""What `humanmcp doctor` looks at on this machine: one small function a thing.

Each check yields findings; a finding names its sentence by a code and holds what fills it. Checks
look, and change nothing but a scratch file that they take away again.
"""

from __future__ import annotations

import enum
import importlib.util
import os
import shutil
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.common.book_file import BookFileError, read_book
from humanmcp.common.paths import book_file, home_folder
from humanmcp.inbox.lock import is_held

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.common.settings import Settings

OLDEST_PYTHON: Final = (3, 11)
LEAST_SPACE: Final = 50 * 1024 * 1024
"""Bytes; a session keeps every line, and a tool's result may hold megabytes."""
LEAST_WATCHES: Final = 8192
LEAST_INSTANCES: Final = 16
_INOTIFY: Final = Path("/proc/sys/fs/inotify")
_MOUNTS: Final = Path("/proc/self/mounts")
_REMOTE_KINDS: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "fuse.sshfs"}
    | {"drvfs", "vboxsf", "fuse.vmhgfs-fuse", "davfs"}
)
_DESK_NEEDS: Final = ("fastapi", "jinja2", "starlette", "uvicorn", "watchdog")


class Level(enum.Enum):
    """How well a thing is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: the code of its sentence, what fills it, and how bad it is."""

    code: str
    level: Level
    fillings: tuple[tuple[str, object], ...] = ()
    note: str = ""
    """A sentence that was made elsewhere (a file's own trouble), already in words."""


def ok(code: str, **fillings: object) -> Finding:
    """Make a finding that all is well."""
    return Finding(code, Level.OK, tuple(fillings.items()))


def warning(code: str, **fillings: object) -> Finding:
    """Make a finding that something may not work."""
    return Finding(code, Level.WARNING, tuple(fillings.items()))


def problem(code: str, **fillings: object) -> Finding:
    """Make a finding that something does not work."""
    return Finding(code, Level.PROBLEM, tuple(fillings.items()))


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> Iterator[Finding]:
    """Look whether this Python is new enough and the parts of the page are there."""
    written = ".".join(map(str, version))
    if version < OLDEST_PYTHON:
        yield problem("python old", version=written)
    else:
        yield ok("python", version=written, path=sys.executable)
    missing = [name for name in _DESK_NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        yield warning("parts missing", names=", ".join(missing))
    yield ok("not needed")


def check_home(settings: Settings) -> Iterator[Finding]:
    """Look whether the inbox folder is there, private, and can be written."""
    home = home_folder(settings.home)
    try:
        found = home.lstat()
    except FileNotFoundError:
        yield from _check_parent(home)
        return
    except OSError as error:
        yield problem("home unreadable", path=home, why=error)
        return
    if not stat.S_ISDIR(found.st_mode):
        yield problem("home no folder", path=home)
        return
    if os.name != "nt" and found.st_uid != os.getuid():
        yield problem("home foreign", path=home)
    elif os.name != "nt" and found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield problem("home open", path=home)
    elif os.name != "nt" and found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield warning("home readable", path=home)
    else:
        yield ok("home", path=home)
    yield from _check_writable(home)


def _check_parent(home: Path) -> Iterator[Finding]:
    """Look whether a folder that is not there yet can be made."""
    above = next(one for one in home.parents if one.exists())
    if os.access(above, os.W_OK | os.X_OK):
        yield ok("home new", path=home)
    else:
        yield problem("home impossible", path=home, above=above)


def _check_writable(folder: Path) -> Iterator[Finding]:
    try:
        with tempfile.NamedTemporaryFile(prefix=".doctor-", dir=folder) as scratch:
            scratch.write(b"x")
            scratch.flush()
            os.fsync(scratch.fileno())
    except OSError as error:
        yield problem("unwritable", path=folder, why=error)


def check_disk(settings: Settings) -> Iterator[Finding]:
    """Look how much space there is, and whether the disk is one of this machine."""
    home = home_folder(settings.home)
    above = next(one for one in (home, *home.parents) if one.exists())
    free = shutil.disk_usage(above).free
    megabytes = free // (1024 * 1024)
    if free < LEAST_SPACE:
        yield problem("disk full", path=above, free=megabytes)
    else:
        yield ok("disk", free=megabytes)
    kind = kind_of_disk(above)
    if kind in _REMOTE_KINDS:
        yield warning("disk remote", path=above, kind=kind)


def kind_of_disk(folder: Path, mounts: Path = _MOUNTS) -> str:
    """Return the kind of file system that holds a folder, "" where that is not known."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    real = str(folder.resolve())
    best = ("", "")
    for line in lines:
        words = line.split()
        if len(words) < 3:
            continue
        # proc(5): space, tab, newline and backslash stand as octal escapes.
        point = words[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = point, words[2]
    return best[1]


def check_watching(limits: Path = _INOTIFY) -> Iterator[Finding]:
    """Look whether the page may watch the folder (Linux limits that for each user)."""
    try:
        instances = int((limits / "max_user_instances").read_text())
        watches = int((limits / "max_user_watches").read_text())
    except (OSError, ValueError):
        return  # not Linux: nothing to be said
    if instances < LEAST_INSTANCES or watches < LEAST_WATCHES:
        yield warning("watching", instances=instances, watches=watches)
    else:
        yield ok("watching ok", instances=instances, watches=watches)


def check_book(settings: Settings) -> Iterator[Finding]:
    """Look whether the answer book can be used."""
    home = home_folder(settings.home)
    path = book_file(settings.book, home)
    if not path.exists():
        yield problem("book missing", path=path) if settings.book else ok("book none")
        return
    try:
        book = read_book(path)
    except BookFileError as error:
        yield problem("book bad", why=error)
    else:
        yield ok("book", path=path, tools=len(book.tools), rules=len(book.rules))


def check_files(settings: Settings) -> Iterator[Finding]:
    """Look whether the folder of the two text files can be used."""
    if not settings.files:
        return
    folder = Path(settings.files).expanduser().absolute()
    if not folder.exists():
        yield ok("files new", path=folder)
        return
    if not folder.is_dir():
        yield problem("files no folder", path=folder)
        return
    yield ok("files", path=folder)
    yield from _check_writable(folder)
    kind = kind_of_disk(folder)
    if kind in _REMOTE_KINDS:
        yield warning("disk remote", path=folder, kind=kind)


def check_desk(settings: Settings) -> Iterator[Finding]:
    """Look whether a page is running: its lock says so, never a process number."""
    home = home_folder(settings.home)
    if is_held(home / "desk.lock"):
        yield ok("desk")
    elif (home / "desk.json").exists():
        yield ok("desk stale")
    else:
        yield ok("desk none")
