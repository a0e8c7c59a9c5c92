"""Read what a person gives as a file or on stdin, in whatever encoding their editor saved it."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path
from typing import Final

from humanmcp.locales.stop import StopError

STDIN: Final = "-"

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class FileError(StopError):
    """A file cannot be read, or is no text."""

    room = "check"


def unreadable(name: str, error: OSError) -> FileError:
    """Say why a file cannot be read."""
    return FileError("unreadable file", name=name, why=error)


def read_bytes(name: str) -> bytes:
    """Return the bytes of a file, or of stdin for `-`.

    Raises:
        FileError: it cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    except OSError as error:
        raise unreadable(name, error) from error


def read_text(name: str) -> str:
    """Return the text of a file, or of stdin for `-`.

    Raises:
        FileError: it cannot be read, or is no text.
    """
    return decoded(read_bytes(name), name)


def decoded(content: bytes, name: str) -> str:
    """Decode UTF-8, with or without a byte-order mark, and UTF-16 with one.

    Raises:
        FileError: it is neither.
    """
    encoding = next((code for mark, code in _MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise FileError("no text", name=name, why=error.start + 1) from error
