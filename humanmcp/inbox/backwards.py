"""Read a transcript from its end: the newest frames first matter, and there may be a million.

The place of a frame is found by halving the file, since the numbers of frames only grow. Nothing is
kept between two calls.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, Final

from humanmcp.inbox.atomic import LARGEST
from humanmcp.inbox.transcripts import SEQ_OF, read_frame

if TYPE_CHECKING:
    from pathlib import Path

    from humanmcp.protocol.conversation.transcript import Frame


_CHUNK: Final = 1 << 16
_SEARCHED: Final = 1 << 20
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
        wanted = word.encode("ascii")
        lines = (
            _with_word(stream, end, count, wanted) if word else _lines_before(stream, end, count)
        )
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
    """Return where the first whole line from offset `at` begins, and its number."""
    if at > 0:
        stream.seek(at - 1)
        at += len(stream.readline(LARGEST)) - 1
    else:
        stream.seek(0)
    while at < limit:
        line = stream.readline(LARGEST)
        found = SEQ_OF.match(line)
        if found is not None and line.endswith(b"\n"):
            return at, int(found[1])
        if not line:
            break
        at += len(line)
    return at, None


def _lines_before(stream: BinaryIO, end: int, count: int) -> list[bytes]:
    """Return up to `count` whole lines that end at or before offset `end`, oldest first."""
    taken: list[bytes] = []
    at, size = end, _CHUNK
    while at > 0 and sum(chunk.count(b"\n") for chunk in taken) <= count:
        size = min(size * 2, 1 << 24)
        start = max(0, at - size)
        stream.seek(start)
        taken.insert(0, stream.read(at - start))
        at = start
    lines = b"".join(taken).split(b"\n")[:-1]
    return lines[1:][-count:] if at > 0 else lines[-count:]


def _with_word(stream: BinaryIO, end: int, count: int, word: bytes) -> list[bytes]:
    """Return up to `count` lines before offset `end` that hold a word, oldest first.

    A part of the file that has not the word is not taken apart: a hundred thousand lines are looked
    through in a few hundredths of a second.
    """
    found: list[bytes] = []
    at, rest = end, b""
    while at > 0 and len(found) < count:
        start = max(0, at - _SEARCHED)
        stream.seek(start)
        block = stream.read(at - start) + rest
        at = start
        # The first line of a block begins in the block before it.
        head, line_end, tail = (b"", b"\n", block) if start == 0 else block.partition(b"\n")
        rest = head + line_end
        if word in tail.lower():
            lines = [line for line in tail.split(b"\n")[:-1] if word in line.lower()]
            found = [*lines, *found]
    return found[-count:]
