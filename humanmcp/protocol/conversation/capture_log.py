"""Text logs: that of the first capture script, `[YYYY-MM-DD HH:MM:SS.mmm] IN: {…}`, a line each.

It is written beside a running tap and by the export, and read back by the export. The log that
Claude Desktop keeps of a server is read, too: `mcp-server-NAME.log`. Knows no clock: the time comes
in, and goes out, as text.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.conversation.transcript import Direction, Frame, from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_LABELS: Final = {Direction.IN: "IN", Direction.OUT: "OUT", Direction.ERR: "ERR"}
_WAYS: Final = {label: direction for direction, label in _LABELS.items()}
_TIME: Final = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"
_DESKTOP_TIME: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
_DESKTOP_LINE: Final = re.compile(
    rf"({_DESKTOP_TIME}) (?:\[[^\]]*\] )+Message from (client|server): (.*?)"
    r"(?: \{ metadata: undefined \})?",
    re.DOTALL,
)
_DESKTOP_WAYS: Final = {"client": Direction.IN, "server": Direction.OUT}
_FIRST: Final = re.compile(rf"\[|{_DESKTOP_TIME} ")
_LINE: Final = re.compile(rf"\[({_TIME})\] (IN|OUT|ERR): (.*)", re.DOTALL)


class LogLine(NamedTuple):
    """One line of such a log: its time as written, which way the message went, and the message."""

    time: str
    direction: Direction
    text: str


def label(direction: Direction) -> str:
    """Return what a log calls a way; "" for what does not stand in a log."""
    return _LABELS.get(direction, "")


def write_log_line(frame: Frame, time: str) -> str | None:
    """Write a frame as one line, without a line feed; None for what does not stand in a log.

    A carriage return at the end belongs to the line's end, and blank lines say nothing.
    """
    text = frame.text.rstrip("\r")
    if frame.direction not in _LABELS or not text.strip():
        return None
    return f"[{time}] {_LABELS[frame.direction]}: {text}"


def read_log_line(line: str) -> LogLine | None:
    """Read a line of a log; None for one without a message."""
    if found := _LINE.fullmatch(line):
        return LogLine(found[1], _WAYS[found[2]], found[3])
    if found := _DESKTOP_LINE.fullmatch(line):
        return LogLine(found[1], _DESKTOP_WAYS[found[2]], found[3])
    return None


def is_log_line(line: str) -> bool:
    """Tell by its first line a text log from a transcript."""
    return _FIRST.match(line) is not None


def read_log(lines: Iterable[str], time: Callable[[str], str]) -> Iterator[Frame]:
    """Read a log as frames; `time` makes a frame's time of a log's. What is no entry is a note."""
    seq = 0
    for line in lines:
        text = line.rstrip("\r")
        found = read_log_line(text)
        if found is None and not text.strip():
            continue
        seq += 1
        if found is None:
            yield Frame(seq, "", Direction.NOTE, b"", note=text)
        else:
            yield Frame(seq, time(found.time), found.direction, found.text.encode())


def read_recording(lines: Iterable[str], time: Callable[[str], str]) -> Iterator[Frame]:
    """Read a transcript, or a text log. What a crash has torn in a transcript is passed over."""
    lines = iter(lines)
    first = next(filter(str.strip, lines), "")
    if is_log_line(first):
        yield from read_log(chain((first,), lines), time)
        return
    for line in chain((first,), lines):
        try:
            yield from_json(line)
        except (ValueError, RecursionError):
            continue
