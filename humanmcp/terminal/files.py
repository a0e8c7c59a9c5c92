"""Read what a person gives as a file or on stdin, in whatever encoding their editor saved it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from humanmcp.locales.stop import StopError, stopped
from humanmcp.protocol.diagnostics.model import blocking
from humanmcp.protocol.repair.decoding import decode

STDIN: Final = "-"


def unreadable(name: str, error: OSError) -> StopError:
    """Return why a file cannot be read."""
    return stopped("check", "unreadable file", name=name, why=error)


def read_bytes(name: str) -> bytes:
    """Return the bytes of a file, or of stdin for `-`.

    Raises:
        StopError: it cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    except OSError as error:
        raise unreadable(name, error) from error


def read_text(name: str) -> str:
    """Return the text of a file, or of stdin for `-`.

    Raises:
        StopError: it cannot be read, or is no text.
    """
    return decoded(read_bytes(name), name)


def decoded(content: bytes, name: str) -> str:
    """Decode a file in the way in which `out.txt` is decoded.

    Raises:
        StopError: it is no text in any encoding that can be told for sure.
    """
    text, diagnostics = decode(content)
    wrong = blocking(diagnostics)
    if wrong:
        raise stopped("check", "no text", name=name, why=wrong[0])
    return text
