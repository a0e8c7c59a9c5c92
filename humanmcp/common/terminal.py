"""Write to a terminal: every command but `serve` writes to stdout through this module.

Control characters are made visible first (`protocol/json/visible.py`), so that no message can
act on the terminal that shows it. Colour is added after that, part by part.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import unicodedata
from dataclasses import asdict
from typing import Any, Final, NamedTuple, TextIO

from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.json.visible import left_to_right, visible

SEVERITY_COLOURS: Final = {
    Severity.ERROR: "red",
    Severity.WARNING: "yellow",
    Severity.HINT: "cyan",
    Severity.HOSTS: "cyan",
    Severity.REPAIRED: "green",
}
_COLOURS: Final = {
    "dim": "2",
    "bold": "1",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}


_LEFT: Final[set[int]] = set()
"""Descriptors whose reader is gone; further output is dropped."""


class Painted(NamedTuple):
    """A part of a line with its colour: dim, bold, red, green, yellow, cyan, or "" for none.

    The words of code keep their order on a screen that orders text.
    """

    text: str
    colour: str
    is_code: bool = False


def to_stdout(*parts: str | Painted) -> None:
    """Write the parts as one line to stdout. A reader that is gone (`| head`) is not an error."""
    _write(sys.stdout, parts)  # noqa: TID251 - this module writes to stdout


def quoted_to_stdout(text: str, colour: str = "") -> None:
    """Write a text of another program with a bar before each line.

    Without it, its lines could look like options or sentences of ours.
    """
    for line in text.split("\n"):
        to_stdout("  \N{BOX DRAWINGS LIGHT VERTICAL} ", Painted(line, colour))


def to_stderr(*parts: str | Painted) -> None:
    """Write the parts as one line to stderr."""
    _write(sys.stderr, parts)


def asked_whether(question: str) -> bool | None:
    """Ask the person at stdin a yes-or-no question; None without a terminal. Ctrl-C is a no."""
    if not sys.stdin.isatty():
        return None
    to_stderr(question)
    try:
        typed = sys.stdin.readline()
    except KeyboardInterrupt:
        return False
    # an input method types wide letters
    return unicodedata.normalize("NFKC", typed).strip().lower() in ("y", "yes", "はい")


def rewrite(text: str) -> None:
    """Replace the text of the cursor's line."""
    stream = sys.stdout  # noqa: TID251 - this module writes to stdout
    with contextlib.suppress(OSError):  # a terminal that was closed
        stream.buffer.write(f"\r\x1b[K{visible(text)}".encode("utf-8", "replace"))
        stream.buffer.flush()


def json_to_stdout(value: Any) -> None:  # noqa: ANN401 - any JSON value
    """Write a value as one line of JSON, for machines."""
    _raw(sys.stdout, json.dumps(value, ensure_ascii=True, default=asdict))  # noqa: TID251 - this module writes to stdout


def raw_to_stdout(text: str) -> None:
    """Write text unchanged, for files and pipes."""
    _raw(sys.stdout, text)  # noqa: TID251 - this module writes to stdout


def is_read() -> bool:
    """Return True if stdout had a reader at the last write."""
    return sys.stdout.fileno() not in _LEFT  # noqa: TID251 - this module writes to stdout


def is_terminal() -> bool:
    """Return True if a person reads stdout."""
    return sys.stdout.isatty()  # noqa: TID251 - this module writes to stdout


def _write(stream: TextIO, parts: tuple[str | Painted, ...]) -> None:
    # https://no-color.org: "should check for a NO_COLOR environment variable that, when present
    # and not an empty string (regardless of its value), prevents the addition of ANSI color"
    coloured = stream.isatty() and not os.environ.get("NO_COLOR")
    _raw(stream, "".join(_shown(part, coloured=coloured) for part in parts))


def _shown(part: str | Painted, *, coloured: bool) -> str:
    if isinstance(part, str):
        return visible(part)
    text = visible(part.text)
    if part.is_code:
        text = left_to_right(text)
    return f"\x1b[{_COLOURS[part.colour]}m{text}\x1b[0m" if coloured and part.colour else text


def _raw(stream: TextIO, text: str) -> None:
    try:
        stream.buffer.write(text.encode("utf-8", "replace") + b"\n")
        stream.buffer.flush()
    except BrokenPipeError:
        # No reader: point the descriptor elsewhere, so that the flush at exit is silent too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        _LEFT.add(stream.fileno())
