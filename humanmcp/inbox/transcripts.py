"""Reading the frames of a session. A line that a crash has torn is passed over."""

from __future__ import annotations

import logging
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, Final

from humanmcp.common import apart
from humanmcp.inbox.atomic import LARGEST
from humanmcp.protocol.conversation.transcript import Frame, from_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_log = logging.getLogger(__name__)
SEQ_OF: Final = re.compile(rb'\{"seq":([0-9]{1,18})[,}]')
"""The number of a frame, read without the rest of its line."""


def frames_after(path: Path, after: int) -> Iterator[Frame]:
    """Yield the frames whose `seq` is greater than `after`, as far as they are written."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError as error:
        _log.warning("%s: cannot be read: %s", path, error)
        return
    with os.fdopen(descriptor, "rb") as stream:
        if after:
            stream.seek(_end_of(stream, os.fstat(descriptor).st_size, after + 1))
        while (line := stream.readline(LARGEST)).endswith(b"\n"):
            found = SEQ_OF.match(line)
            if found is None or int(found[1]) > after:
                frame = read_frame(line, path)
                if frame is not None and frame.seq > after:
                    yield frame


def read_frame(line: bytes, path: Path) -> Frame | None:
    """Read a line of the transcript at `path`; None, with a word in the log, where it is torn."""
    try:
        return from_json(line.decode("utf-8"))
    except (ValueError, RecursionError, OverflowError) as error:
        _log.warning("%s: a line is no frame: %s", path, error)
        return None


_HEAD: Final = 32
"""The bytes of a line in which its number is."""
_CHUNK: Final = 1 << 16
_LARGEST_CHUNK: Final = 1 << 24
_LONG: Final = 1 << 20


def frames_before(path: Path, before: int, count: int, word: str = "") -> tuple[Frame, ...]:
    """Return the last `count` frames whose `seq` is less than `before` (0: the very last).

    They come oldest first. A torn line is passed over, and so is one that has not this word of
    lower-case ASCII letters and digits in it, whatever their case there.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return ()
    with os.fdopen(descriptor, "rb") as stream:
        size = os.fstat(descriptor).st_size
        end = _end_of(stream, size, before) if before > 0 else size
        lines = _lines_before(stream, end, count, word.encode("ascii"))
        frames = [frame for line in lines if (frame := _read(line, path))]
    return tuple(frame for frame in frames if not before or frame.seq < before)


def _read(line: bytes, path: Path) -> Frame | None:
    return read_frame(line, path) if len(line) < _LONG else _read_long(line, path)


_read_long: Final = lru_cache(4)(read_frame)
"""A line of megabytes among the newest ones is read for every list: others wait for so long."""


def _end_of(stream: BinaryIO, size: int, before: int) -> int:
    """Return the offset where the first frame from number `before` on begins."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        start, seq = _first_after(stream, middle, high)
        if seq is None or seq >= before:
            high = middle
        else:
            low = start + 1
    # `low` lies within the last line that is too early, or at the beginning.
    return _first_after(stream, low, size)[0] if low else 0


def _first_after(stream: BinaryIO, at: int, limit: int) -> tuple[int, int | None]:
    """Return where the first line from offset `at` begins, and its number; None for none.

    It reads the beginnings of lines, and nothing behind `limit`: a search comes by a line of
    megabytes again and again.
    """
    stream.seek(max(0, at - 1))
    if at > 0:
        at += len(stream.readline(limit - at + 1)) - 1
    while at < limit:
        head = stream.readline(_HEAD)
        found = SEQ_OF.match(head)
        if found is not None:
            return at, int(found[1])
        if not head:
            break
        at += len(head)
        if not head.endswith(b"\n"):
            at += len(stream.readline(max(0, limit - at)))
    return at, None


def _lines_before(stream: BinaryIO, end: int, count: int, word: bytes) -> list[bytes]:
    """Return up to `count` whole lines that end at or before offset `end`, oldest first.

    With a word only those that hold it. A part of the file that has not the word is not taken
    apart: a hundred thousand lines are looked through in a few hundredths of a second.
    """
    found: list[bytes] = []
    rest: list[bytes] = []  # a line whose beginning was not read yet: its parts, the last one first
    at, size = end, _CHUNK
    while at > 0 and len(found) < count:
        if word:  # a log of gigabytes may not have it
            apart.check()
        size = min(size * 2, _LARGEST_CHUNK)
        start = max(0, at - size)
        stream.seek(start)
        block = stream.read(at - start)
        at = start
        # The first line of a block begins in the block before it.
        head, line_end, tail = (b"", b"\n", block) if start == 0 else block.partition(b"\n")
        if not line_end:
            rest.append(block)
            continue
        tail = b"".join((tail, *reversed(rest)))
        rest = [head + line_end]
        if not word or word in tail.lower():
            lines = tail.split(b"\n")[:-1]
            found = [*(line for line in lines if not word or word in line.lower()), *found]
    return found[-count:]
