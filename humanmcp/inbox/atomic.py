"""Files that appear whole or not at all.

What is written goes to a temporary file first, to the disk where that matters, and then gets its
name in one step: by rename, which replaces, or by link, which fails when there is one already.
Knows nothing of what is in the files.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.inbox.contract import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_log = logging.getLogger(__name__)

LARGEST: Final = 256 * 1024 * 1024
"""Bytes that are read of one file at most: a wire line of 64 MiB fits with everything around it."""

OPEN_FLAGS: Final = (
    getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a FIFO must not wait for its other end
    | getattr(os, "O_BINARY", 0)
)
"""Flags of every `open`: follow no link, do not block."""

_NO_LINKS: Final = frozenset(
    {errno.EPERM, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.ENOTSUP, errno.EOPNOTSUPP}
)
# Virus scanners and indexers on Windows hold a file for a moment after it was written:
# access denied, sharing violation, lock violation.
_HELD_ON_WINDOWS: Final = frozenset({5, 32, 33})
_WAITS: Final = (0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.4, 0.5, 0.5, 0.5)

fdatasync = getattr(os, "fdatasync", os.fsync)  # macOS and Windows have fsync alone


class Signature(NamedTuple):
    """Identifies one version of a file without reading it."""

    inode: int
    mtime_ns: int
    size: int


def signature(path: Path) -> Signature | None:
    try:
        found = path.stat(follow_symlinks=False)
    except OSError:
        return None
    return Signature(found.st_ino, found.st_mtime_ns, found.st_size)


@contextmanager
def keeping(what: str, **named: object) -> Iterator[None]:
    """Turn a disk error into a `StoreError` that names what was not stored."""
    try:
        yield
    except OSError as error:
        raise StoreError(error, what, **named) from error


def read_file(path: Path) -> bytes:
    """Read a regular file whole, following no link.

    Raises:
        FileNotFoundError: there is none.
        OSError: it cannot be read, is no regular file, or is larger than anything of ours.
    """
    descriptor = os.open(path, os.O_RDONLY | OPEN_FLAGS)
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        if found.st_size > LARGEST:
            raise OSError(errno.EFBIG, "larger than anything written here", str(path))
        return stream.read(found.st_size + 1)  # more would be allocated first


def open_private(path: Path, flags: int) -> int:
    """Open a private file (0600) for writing, without following a link."""
    return os.open(path, flags | OPEN_FLAGS, 0o600)


def write_all(descriptor: int, content: bytes) -> None:
    """Write everything, however many calls that takes."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def temporary_name(folder: Path) -> Path:
    """Return an unused name in a folder."""
    return folder / f"{os.getpid()}-{os.urandom(6).hex()}"


def make_temporary_folder(folder: Path) -> Path:
    """Make a folder with an unused name."""
    path = temporary_name(folder)
    folder.mkdir(mode=0o700, exist_ok=True)
    path.mkdir(mode=0o700)
    return path


def write_temporary(folder: Path, content: bytes, *, durable: bool) -> tuple[Path, Signature]:
    """Write a file with an unused name; remove it on any error."""
    path = temporary_name(folder)
    try:
        return path, write_new(path, content, durable=durable)
    except FileNotFoundError:  # somebody cleaned up
        folder.mkdir(mode=0o700, exist_ok=True)
        return path, write_new(path, content, durable=durable)


def write_new(path: Path, content: bytes, *, durable: bool) -> Signature:
    """Write a file that must not exist yet; on any error none is left."""
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        write_all(descriptor, content)
        if durable:
            fdatasync(descriptor)
        found = os.fstat(descriptor)
    except BaseException:
        os.close(descriptor)
        drop(path)
        raise
    os.close(descriptor)
    return Signature(found.st_ino, found.st_mtime_ns, found.st_size)


def drop(written: Path) -> None:
    """Remove a temporary file, and ignore errors."""
    with suppress(OSError):
        written.unlink()


def discard(folder: Path) -> None:
    """Remove a folder that no reader has seen yet. What cannot be removed stays."""
    from shutil import rmtree  # noqa: PLC0415 - seldom wanted

    rmtree(folder, ignore_errors=True)


LEFT_BEHIND: Final = 3600.0
"""Seconds after which a file that has no name yet was left by a crash; it takes one a moment."""


def sweep_temporary(folder: Path) -> None:
    """Remove what crashes left among the files that have no name yet."""
    until = time.time() - LEFT_BEHIND
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_mtime <= until:
                    is_folder = entry.is_dir(follow_symlinks=False)
                    (discard if is_folder else drop)(folder / entry.name)


def replace_file(temporary: Path, path: Path, content: bytes, *, durable: bool) -> Signature:
    """Replace a file atomically.

    Raises:
        FileNotFoundError: the folder it should be in is gone.
    """
    written, new = write_temporary(temporary, content, durable=durable)
    try:
        move(written, path)
    except BaseException:
        drop(written)
        raise
    if durable:
        sync_folder(path.parent)
    return new


def write_private(file: Path, text: str) -> None:
    """Replace a file that only its owner can read, atomically; no power cut is waited for.

    Raises:
        OSError: it cannot be written.
    """
    # A character that UTF-8 cannot encode becomes its escape, which JSON decodes again.
    content = text.encode("utf-8", "backslashreplace")
    written = file.with_name(f".{temporary_name(file).name}")  # hidden: people look there
    write_new(written, content, durable=False)
    try:
        move(written, file)
    except BaseException:
        drop(written)
        raise


def publish_first(written: Path, path: Path, *, durable: bool = True) -> bool:
    """Rename a temporary file, unless the name is taken. Return True if it was free.

    Raises:
        FileNotFoundError: the folder it should be in is gone.
    """
    try:
        _give_name(written, path)
    except FileExistsError:
        return False
    if durable:
        sync_folder(path.parent)
    return True


def _give_name(written: Path, path: Path) -> None:
    if os.name == "nt":  # pragma: no cover - there, rename never replaces
        written.rename(path)
        return
    try:
        path.hardlink_to(written)
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LINKS:
            raise
        # exFAT, some network drives and Python in a browser have no links. Creating exclusively
        # decides the race as well; only a crash right here would leave a torn file, which its
        # readers set aside.
        write_new(path, read_file(written), durable=True)


def move(source: Path, target: Path) -> None:
    """Rename and replace. On Windows, wait for an open file."""
    for wait in _WAITS:
        try:
            source.replace(target)
        except OSError as error:
            if getattr(error, "winerror", 0) not in _HELD_ON_WINDOWS:
                raise
            time.sleep(wait)
        else:
            return
    source.replace(target)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut, as far as the disk can.

    The file is there already and others act on it: an error here does not take that back.
    """
    if os.name == "nt":  # pragma: no cover - Windows keeps names in its journal
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | OPEN_FLAGS)
    except FileNotFoundError:  # the exchange was closed and moved meanwhile
        return
    except OSError as error:
        _log.warning("%s: its names may not survive a power cut: %s", folder, error)
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        _log.warning("%s: its names may not survive a power cut: %s", folder, error)
    finally:
        os.close(descriptor)


if sys.platform == "win32":  # pragma: no cover - exercised on Windows only
    import msvcrt

    def _lock(descriptor: int, *, shared: bool) -> None:  # noqa: ARG001 - Windows has one kind
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int, *, shared: bool) -> None:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)


_HELD: dict[tuple[int, int], int] = {}
"""The locks of this process: the descriptor of each file, which is known by device and inode.

On some file systems a lock excludes nothing inside a process, and to close a second descriptor
gives it up (NFS): the files of this list are not even opened again.
"""
_LOOK_LASTS: Final = 0.001
_MOST_TRIES: Final = 1000
_FREE_ERRORS = frozenset({errno.ENOENT, errno.ELOOP, errno.ENOTDIR})


class LifeLock:
    """A lock that is held from `take` until `release`, or until the process dies."""

    __slots__ = ("_descriptor", "_file")

    def __init__(self, descriptor: int, file: tuple[int, int]) -> None:
        self._descriptor, self._file = descriptor, file
        _HELD[file] = descriptor

    def __del__(self) -> None:
        """Give the descriptor back with an inbox that was dropped without an end."""
        self.release()

    @classmethod
    def take(cls, path: Path) -> LifeLock:
        """Make the lock file and hold it.

        Raises:
            OSError: another process holds it (EAGAIN, EACCES), or it cannot be made.
        """
        if _is_ours(path):
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), str(path))
        descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
        try:
            _take(descriptor)
            found = os.fstat(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        return cls(descriptor, (found.st_dev, found.st_ino))

    def release(self) -> None:
        """Let go. A second time changes nothing."""
        if _HELD.get(self._file) == self._descriptor:
            del _HELD[self._file]
            os.close(self._descriptor)
        self._descriptor = -1


def _take(descriptor: int) -> None:
    """Lock a file, although others may look at it: each look holds it for a moment.

    Raises:
        OSError: another process holds it.
    """
    for _ in range(_MOST_TRIES):
        try:
            _lock(descriptor, shared=False)
        except BlockingIOError:
            _lock(descriptor, shared=True)  # refused by who holds it, not by who looks
            time.sleep(_LOOK_LASTS)
        else:
            return
    _lock(descriptor, shared=False)


def _is_ours(path: Path) -> bool:
    try:
        found = path.stat(follow_symlinks=False)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) in _HELD


def is_held(path: Path) -> bool | None:
    """Return True if a living process holds the lock; None if there is none, for now or for ever.

    Where that cannot be found out (too many open files) it counts as held: no process is
    declared dead for a trouble of our own.
    """
    if _is_ours(path):
        return True
    try:
        descriptor = open_private(path, os.O_RDWR)
    except OSError as error:
        return None if error.errno in _FREE_ERRORS else True
    try:
        _lock(descriptor, shared=True)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def _let_go_in_child() -> None:
    """Close the locks in a forked child: it would keep them held after its parent's death."""
    for descriptor in _HELD.values():
        os.close(descriptor)
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)
