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
# Virus scanners, indexers and editors on Windows hold a file for a moment after it was written:
# access denied, sharing violation, lock violation.
_HELD_ON_WINDOWS: Final = frozenset({5, 32, 33})
OPEN_FILE_WAITS: Final = (0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.4, 0.5, 0.5, 0.5)

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
    for wait in OPEN_FILE_WAITS:
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
        with suppress(FileNotFoundError):  # the exchange was closed and moved meanwhile
            descriptor = os.open(folder, os.O_RDONLY | OPEN_FLAGS)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
    except OSError as error:
        _log.warning("%s: its names may not survive a power cut: %s", folder, error)
