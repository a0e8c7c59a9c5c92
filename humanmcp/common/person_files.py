"""Files of the person's: read only if they are files, and replaced with owner and mode kept.

A configuration or a book may be a link to where it is kept. Its path may also lead to a device, or
to a pipe without a writer: those are neither waited for nor replaced. A file with a key is read
only if nobody else can read it.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.locales.stop import REFUSED, StopError, stopped
from humanmcp.protocol.diagnostics.model import blocking
from humanmcp.protocol.repair.reading import decode_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


PRIVATE: Final = 0o600
"""The mode of a file that was not there before."""

_FLAGS: Final = (
    getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a pipe must not wait for its other end
    | getattr(os, "O_BINARY", 0)
)


class NotRegularError(OSError):
    """The path does not lead to a regular file."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EINVAL, "not a regular file", str(path))


def read_regular(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        FileNotFoundError: it does not exist.
        NotRegularError: it is a device, a pipe or a socket.
        OSError: it cannot be read, or is a folder.
    """
    found = path.stat()  # before it is opened: to open a device may act
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise NotRegularError(path)
    descriptor = os.open(path, os.O_RDONLY | _FLAGS)
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read()


def replace_regular(
    path: Path,
    content: bytes,
    mode: int = PRIVATE,
    still_wanted: Callable[[], object] = lambda: None,
) -> None:
    """Replace the content of a file completely or not at all; a link to it stays a link.

    Owner and mode are kept; `mode` is that of a new file. Where the owner
    cannot be kept otherwise, the file is written in place. `still_wanted` is called at the last
    moment, and raises if the file shall stay as it is.

    Raises:
        NotRegularError: something else has this name.
        OSError: it cannot be written. The old content is unchanged.
    """
    real = path.resolve()
    before = _found(real)
    written = real.with_name(f".{real.name}.{os.urandom(4).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
    descriptor = os.open(written, flags, PRIVATE)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        still_wanted()
        if before is not None and not keep_owner(written, before):
            _write_in_place(real, content)
            written.unlink()
            return
        written.chmod(mode if before is None else stat.S_IMODE(before.st_mode))
        written.replace(real)
    except BaseException:
        with suppress(OSError):
            written.unlink()
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Write a file completely or not at all. A pipe or device is written to, as in a shell.

    Raises:
        OSError: it cannot be written. The old content of a file is unchanged.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
    else:
        replace_regular(path, content, mode=_usual_mode())


def _usual_mode() -> int:
    """Return the usual mode of a new file of this user: exports are for sharing."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def keep_owner(written: Path, before: os.stat_result) -> bool:
    """Give a file the owner and group of another one. Return True if that worked."""
    own = written.stat()
    if (own.st_uid, own.st_gid) == (before.st_uid, before.st_gid):
        return True
    try:
        os.chown(written, before.st_uid, before.st_gid)
    except OSError:
        return False
    return True


def _found(real: Path) -> os.stat_result | None:
    try:
        found = real.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise NotRegularError(real)
    return found


def _write_in_place(real: Path, content: bytes) -> None:
    descriptor = os.open(real, os.O_WRONLY | _FLAGS | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(descriptor, "wb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotRegularError(real)
        stream.write(content)
        stream.truncate()
        stream.flush()
        os.fsync(descriptor)


# -- the text of a file that is named on a command line -----------------------------------------


STDIN: Final = "-"


def unreadable_file(name: str, error: OSError) -> StopError:
    """Return the error of a file that cannot be read."""
    return stopped("check", "unreadable file", name=name, why=error)


def typed_or_read(json_or_name: str) -> str:
    """Return JSON as it was typed, or the text of a file of this name.

    Raises:
        StopError: there is no such file, or it cannot be read.
    """
    is_typed = json_or_name.lstrip().startswith(("{", "["))
    return json_or_name if is_typed else read_text(json_or_name)


def read_bytes(name: str) -> bytes:
    """Return the bytes of a file, or of stdin for `-`.

    Raises:
        StopError: it cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    except OSError as error:
        raise unreadable_file(name, error) from error


def read_text(name: str) -> str:
    """Return the text of a file, or of stdin for `-`.

    Raises:
        StopError: it cannot be read, or is not text.
    """
    return decoded(read_bytes(name), name)


def decoded(content: bytes, name: str) -> str:
    """Decode the content of a file as `out.txt` is decoded.

    Raises:
        StopError: its encoding is not known for sure.
    """
    text, diagnostics = decode_file(content)
    wrong = blocking(diagnostics)
    if wrong:
        raise stopped("check", "no text", name=name, why=wrong[0])
    return text


# -- a key for a service -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class ApiKey:
    """A key. Only `secret` reveals it."""

    secret: str

    def __repr__(self) -> str:
        return "Key(…)"

    def hidden_in(self, text: str) -> str:
        """Hide the key in a text, such as an error message."""
        return text.replace(self.secret, "…") if self.secret else text


def find_key(name: str, file: str, environment: Mapping[str, str] = os.environ) -> ApiKey | None:
    """Return the key in the file, else that of the environment variable, else None.

    Raises:
        StopError: the file cannot be read, or other users can read it.
    """
    if file:
        return _from_file(Path(file).expanduser())
    found = environment.get(name, "").strip()
    return ApiKey(found) if found else None


def _from_file(path: Path) -> ApiKey:
    try:
        with path.open(encoding="utf-8") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if os.name != "nt" and mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise stopped("calling", "key file is open", REFUSED, path=path)
            return ApiKey(stream.read().strip())
    except (OSError, UnicodeDecodeError) as error:
        raise stopped("calling", "unreadable key", REFUSED, path=path, why=error) from error
