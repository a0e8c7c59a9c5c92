"""Read what a person gives as a file or on stdin, in whatever encoding their editor saved it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from humanmcp.locales.stop import StopError
from humanmcp.protocol.diagnostics.model import blocking
from humanmcp.protocol.repair.decoding import decode

STDIN: Final = "-"


class FileError(StopError):
    """A file cannot be read, or is no text."""

    room = "check"


def unreadable(name: str, error: OSError) -> FileError:
    """Return why a file cannot be read."""
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
    """Decode a file in the way in which `out.txt` is decoded.

    Raises:
        FileError: it is no text in any encoding that can be told for sure.
    """
    text, problems = decode(content)
    wrong = blocking(problems)
    if wrong:
        raise FileError("no text", name=name, why=wrong[0])
    return text
