"""An open folder: the few operations that the text files need; no link is followed.

Names are looked up in the folder that was opened, wherever its path leads later. No link is
followed, no pipe is waited for, and nothing is read before its kind, owner and size are known.
Knows nothing of what is in the files.
"""

from __future__ import annotations

import enum
import math
import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.common.settings import UnsafeFolderError
from humanmcp.inbox import records
from humanmcp.inbox.atomic import OPEN_FLAGS
from humanmcp.inbox.life_lock import LifeLock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Self

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a text that is read. Clients take 10 MiB; white space and UTF-16 need some more."""

_CHUNK: Final = 1024 * 1024

_COARSEST_CLOCK: Final = 2.5
"""Seconds: FAT writes the time of a change in steps of two."""

_AT_LEAST_EVERY: Final = 5.0
"""Seconds between two looks for missing files whatever the folder's time says."""

LOCK_NAME: Final = ".humanmcp.lock"
TEMPORARY: Final = ".humanmcp.tmp"

_BY_DESCRIPTOR: Final = os.open in os.supports_dir_fd


class Unfit(enum.Enum):
    """Why a file is not read. The value is the code of its sentence."""

    LINK = "link"
    FOLDER = "folder"
    SPECIAL = "special"
    SHARED = "shared"
    FOREIGN = "foreign"
    LARGE = "large"
    LOCKED = "locked"
    CROWDED = "crowded"
    """Not of the file, but of what is in it: too many texts."""


class FileMark(NamedTuple):
    """A file's identity, size and times: two equal marks mean that it did not change."""

    inode: int
    size: int
    changed_ns: int
    mode: int
    links: int
    owner: int

    @classmethod
    def of(cls, found: os.stat_result) -> Self:
        """Make the mark from the result of `stat`."""
        return cls(
            found.st_ino,
            found.st_size,
            found.st_mtime_ns,
            found.st_mode,
            found.st_nlink,
            found.st_uid,
        )

    @property
    def version(self) -> tuple[int, int, int]:
        """The part of the mark that an open file has, too, on every system."""
        return self.inode, self.size, self.changed_ns

    @property
    def unfit(self) -> Unfit | None:
        """Return why this file must not be read, or None."""
        if stat.S_ISLNK(self.mode):
            return Unfit.LINK
        if stat.S_ISDIR(self.mode):
            return Unfit.FOLDER
        if not stat.S_ISREG(self.mode):
            return Unfit.SPECIAL
        if hasattr(os, "getuid") and self.owner != os.getuid():
            return Unfit.FOREIGN
        if self.links > 1:
            return Unfit.SHARED
        return Unfit.LARGE if self.size > LARGEST else None


class OpenFolder:
    """A person's folder that only this process uses until it closes it or ends."""

    def __init__(
        self, path: Path, lock: LifeLock | None = None, descriptor: int | None = None
    ) -> None:
        """Keep the lock and the descriptor, if the system has them.

        A folder of our own needs neither: nobody else can take it, or put another in its place.
        """
        self.path = path
        self._lock = lock
        self._descriptor = descriptor
        self._changed = (-1, 0.0)
        """The folder's own time, and when we noticed it."""
        self._looked = -math.inf
        self.may_have_more = True

    @classmethod
    def open(cls, path: Path) -> Self | None:
        """Open a folder and create it if it is missing. None if another process uses it.

        Raises:
            UnsafeFolderError: it is a link, or another user's, or everybody may write in it.
            OSError: it cannot be made or opened.
        """
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
        _refuse_strange(path, found)
        try:
            lock = LifeLock.take(path / LOCK_NAME)
        except BlockingIOError:
            return None
        except PermissionError:
            if os.name == "nt":  # pragma: no cover - what Windows says of a lock that is taken
                return None
            raise
        try:
            _refuse_open_to_all(path, found)
            descriptor = None
            if _BY_DESCRIPTOR:
                descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | OPEN_FLAGS)
        except BaseException:
            lock.release()
            raise
        return cls(path, lock, descriptor)

    def close(self) -> None:
        """Release the folder. A second call changes nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def is_gone(self) -> bool:
        """Return True if the folder is missing or was replaced."""
        if self._descriptor is None:
            return not self.path.is_dir()
        try:
            found = self.path.lstat()
        except OSError:
            return True
        return not os.path.samestat(found, os.fstat(self._descriptor))

    # -- looking ------------------------------------------------------------------------------

    def look_around(self, now: float) -> None:
        """Note with one call whether missing files may exist now.

        Two changes can carry the same time, so a change is followed by looks until the coarsest
        clock has ticked. And some drives never change it: now and then any look finds something.
        """
        if not _BY_DESCRIPTOR:  # pragma: no cover - Windows
            return
        try:
            own = self._descriptor
            found = self.path.stat() if own is None else os.fstat(own)
        except (FileNotFoundError, NotADirectoryError):
            self.may_have_more = False
        else:
            if found.st_mtime_ns != self._changed[0]:
                self._changed = (found.st_mtime_ns, now)
            is_due = now - self._looked >= _AT_LEAST_EVERY
            self.may_have_more = is_due or now - self._changed[1] <= _COARSEST_CLOCK
            if self.may_have_more:
                self._looked = now

    def mark(self, name: str) -> FileMark | None:
        """Return the mark of a file without opening it, or None if it is missing."""
        try:
            return FileMark.of(
                os.stat(self._at(name), dir_fd=self._descriptor, follow_symlinks=False)
            )
        except OSError:
            return None

    def read(self, name: str, mark: FileMark) -> bytes | Unfit | None:
        """Read a whole file; None if its mark changed."""
        if mark.unfit is not None:
            return mark.unfit
        try:
            descriptor = self._open(name, os.O_RDONLY)
        except PermissionError:
            return Unfit.LOCKED
        except OSError:  # gone, or become something else
            return None
        with os.fdopen(descriptor, "rb") as stream:
            if FileMark.of(os.fstat(descriptor)).version != mark.version:
                return None
            try:
                content = stream.read(LARGEST + 1)
            except OSError:  # Windows: another program holds a part of it
                return Unfit.LOCKED
            unchanged = FileMark.of(os.fstat(descriptor)).version == mark.version
            return content if unchanged else None

    def free_name(self, stem: str) -> str:
        """Return the first unused name of STEM.txt, STEM-2.txt, STEM-3.txt and so on."""
        name, count = f"{stem}.txt", 1
        while self.mark(name) is not None:
            count += 1
            name = f"{stem}-{count}.txt"
        return name

    # -- changing -----------------------------------------------------------------------------

    def make_folder(self, name: str) -> None:
        """Create a private folder unless it exists."""
        with suppress(FileExistsError):
            os.mkdir(self._at(name), 0o700, dir_fd=self._descriptor)

    def append(self, name: str, content: bytes | bytearray) -> int:
        """Append to a file with one write. Return the number of written bytes."""
        descriptor = self._open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(f"{name} is no file any more")
            return os.write(descriptor, content)
        finally:
            os.close(descriptor)

    def empty(self, name: str) -> None:
        """Create an empty file, or empty it in place, so that `tail -f` continues."""
        descriptor = self._open(name, os.O_WRONLY | os.O_CREAT)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.ftruncate(descriptor, 0)
        finally:
            os.close(descriptor)

    def copy(self, old: str, new: str) -> None:
        """Copy a file of any size to an unused name, and sync it to disk."""
        source = self._open(old, os.O_RDONLY)
        target = self._open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(source, "rb") as reader, os.fdopen(target, "wb") as writer:
            while chunk := reader.read(_CHUNK):
                writer.write(chunk)
            writer.flush()
            os.fsync(target)

    def create(self, name: str, content: bytes) -> None:
        """Write a new file.

        Raises:
            FileExistsError: something has that name already.
        """
        descriptor = self._open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)

    def replace(self, name: str, content: bytes) -> None:
        """Replace a file in one step: nobody sees half of it."""
        with suppress(FileNotFoundError):
            self.remove(TEMPORARY)
        self.create(TEMPORARY, content)
        os.replace(
            self._at(TEMPORARY),
            self._at(name),
            src_dir_fd=self._descriptor,
            dst_dir_fd=self._descriptor,
        )

    def rename(self, old: str, new: str) -> None:
        """Rename a file to an unused name.

        The caller holds the folder, and picks names that only this process uses.
        """
        os.rename(
            self._at(old),
            self._at(new),
            src_dir_fd=self._descriptor,
            dst_dir_fd=self._descriptor,
        )

    def give_back(self, private: str, name: str) -> bool:
        """Rename a file back unless the name is in use. Return True if it was renamed."""
        if os.name == "nt":  # pragma: no cover - there, rename never replaces
            with suppress(FileExistsError):
                self.rename(private, name)
                return True
            return False
        try:
            os.link(
                self._at(private),
                self._at(name),
                src_dir_fd=self._descriptor,
                dst_dir_fd=self._descriptor,
                follow_symlinks=False,
            )
        except OSError:  # taken, or a file system without links: the caller keeps it elsewhere
            return False
        self.remove(private)
        return True

    def remove(self, name: str) -> None:
        """Delete one of our files."""
        os.unlink(self._at(name), dir_fd=self._descriptor)

    def _at(self, name: str) -> str:
        return name if self._descriptor is not None else str(self.path / name)

    def _open(self, name: str, flags: int) -> int:
        return os.open(self._at(name), flags | OPEN_FLAGS, 0o600, dir_fd=self._descriptor)


def _refuse_strange(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISDIR(found.st_mode):
        raise UnsafeFolderError("link", folder=path, place=path.resolve())
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        raise UnsafeFolderError("owner", folder=path, flag="--files")


def _refuse_open_to_all(path: Path, found: os.stat_result) -> None:
    """Refuse a folder that everybody may write to, if the file system has permissions."""
    if os.name == "nt" or not found.st_mode & stat.S_IWOTH:
        return
    if not _keeps_modes(path):
        return  # a Windows drive in WSL, a shared folder of a container: every file is 0777 there
    raise UnsafeFolderError("writable", folder=path, mode="o-w")


def _keeps_modes(path: Path) -> bool:
    """Return True if a new file in this folder is private."""
    probe = path / f"{TEMPORARY}.{os.urandom(6).hex()}"
    descriptor = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN_FLAGS, 0o600)
    try:
        return not os.fstat(descriptor).st_mode & 0o077
    finally:
        os.close(descriptor)
        probe.unlink()


_NO_FILE: Final = frozenset({Unfit.LINK, Unfit.FOLDER, Unfit.SPECIAL, Unfit.FOREIGN})


class InTxt:
    """`in.txt` of one session. `trouble` is why it cannot be written, or None."""

    def __init__(self, folder: OpenFolder, before: Sequence[bytes] = ()) -> None:
        """Begin with the earlier lines; keep a copy of what a former session left.

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
        mark = folder.mark(records.IN_TEXT)
        if mark is not None and mark.unfit in _NO_FILE:
            raise UnsafeFolderError("no-file", folder=folder.path / records.IN_TEXT)
        if mark is not None and before and mark.size == len(self._backlog):
            self.was_ours = folder.read(records.IN_TEXT, mark) == bytes(self._backlog)
        if self.was_ours:
            self._backlog.clear()
            return
        if mark is not None and mark.size:
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(mark.changed_ns / 1e9))
            folder.copy(records.IN_TEXT, folder.free_name(f"in.{stamp}"))
        folder.empty(records.IN_TEXT)
        self.catch_up()

    def add(self, line: bytes, *, later: bool = False) -> None:
        """Add a line with one write. What the disk refuses is written later.

        With `later` it waits for `catch_up`.
        """
        self._backlog += line + b"\n"
        if not later:
            self.catch_up()

    def catch_up(self) -> None:
        """Write the lines that the disk refused before."""
        try:
            while self._backlog:
                self._backlog = self._backlog[self._folder.append(records.IN_TEXT, self._backlog) :]
        except OSError as error:
            self.trouble = error
        else:
            self.trouble = None
