"""The file of a session's frames: one process appends, everybody reads.

A frame is written with one call, and with it what belongs to it; so a reader sees whole lines. Only
a crash of the machine, or a disk that was full, can leave a torn one, and readers pass over it.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import threading
from collections import OrderedDict
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, Final

from humanmcp.inbox.atomic import LARGEST, fdatasync, open_private
from humanmcp.inbox.contract import StoreError
from humanmcp.protocol.conversation.transcript import Frame, from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_log = logging.getLogger(__name__)
_choosing: Final = threading.Lock()
SEQ_OF: Final = re.compile(rb'\{"seq":([0-9]{1,18})[,}]')
"""The number of a frame, read without the rest of its line."""


MOST_OPEN: Final = 16
"""Transcripts that a process keeps open: those that were written last."""

_written_last: OrderedDict[TranscriptWriter, None] = OrderedDict()


class TranscriptWriter:
    """The one writer of a transcript. Threads may share it.

    Of many only those that were written last stay open, so a quiet session costs no open file.
    """

    __slots__ = ("_descriptor", "_lock", "_path", "_size")

    def __init__(self, path: Path, *, new: bool = True) -> None:
        """Create the file if it is `new`, else append to it.

        Raises:
            OSError: a new one exists already, or it cannot be made, or the old one cannot be read.
        """
        self._path = path
        self._lock = threading.Lock()
        self._size = 0
        if new:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
            self._descriptor = open_private(path, flags)
            self._keep_open()
            return
        self._descriptor = open_private(path, os.O_RDWR | os.O_APPEND)
        self._size = os.fstat(self._descriptor).st_size
        self._end_what_is_torn()
        self._keep_open()

    def _end_what_is_torn(self) -> None:
        """End a line that a crash has torn, so that the next one is separate."""
        os.lseek(self._descriptor, max(0, self._size - 1), os.SEEK_SET)
        if os.read(self._descriptor, 1) not in (b"", b"\n"):
            self._size += os.write(self._descriptor, b"\n")

    def append(self, *frames: Frame, durable: bool = False) -> None:
        """Write frames, with one call. Durable ones are on the disk when this returns.

        Raises:
            StoreError: they were not written, and the file is as it was before.
        """
        # JSON escapes stand in for lone surrogates, which UTF-8 cannot hold.
        lines = "".join(f"{to_json(one)}\n" for one in frames).encode("utf-8", "backslashreplace")
        with self._lock:
            try:
                self._write(lines, durable=durable)
            except OSError as error:
                self._restore()
                line = frames[0].seq
                raise StoreError(error, "line", line=line, file=self._path.name) from error
            self._size += len(lines)

    def _write(self, lines: bytes, *, durable: bool) -> None:
        if self._descriptor < 0:
            self._descriptor = self._reopen()
        self._keep_open()
        if os.write(self._descriptor, lines) < len(lines):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if durable:
            fdatasync(self._descriptor)

    def _restore(self) -> None:
        """Cut off what was written of a frame, and trust this open file no more.

        After a failed fsync the kernel may call the same pages clean: only a fresh look tells.
        """
        if self._descriptor < 0:
            return
        try:
            os.ftruncate(self._descriptor, self._size)
        except OSError as error:
            _log.warning("%s: a torn line stays at the end: %s", self._path, error)
        os.close(self._descriptor)
        self._descriptor = -1

    def _reopen(self) -> int:
        descriptor = open_private(self._path, os.O_RDWR | os.O_APPEND)
        found = os.fstat(descriptor).st_size
        if found < self._size:
            os.close(descriptor)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if found > self._size:
            os.ftruncate(descriptor, self._size)
        return descriptor

    def _keep_open(self) -> None:
        """Count as the one that was written last, and close the one that was written first."""
        with _choosing:
            _written_last[self] = None
            _written_last.move_to_end(self)
            oldest = next(iter(_written_last)) if len(_written_last) > MOST_OPEN else None
            if oldest is not None:
                del _written_last[oldest]
        if oldest is not None:
            oldest.close_for_now()

    def close_for_now(self) -> None:
        """Close the file until the next line, unless one is written at this moment."""
        if self._lock.acquire(blocking=False):
            try:
                self._close()
            finally:
                self._lock.release()

    def close(self) -> None:
        """Close the file. A second time changes nothing."""
        with self._lock, _choosing:
            _written_last.pop(self, None)
            self._close()

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


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


def _lines_before(stream: BinaryIO, end: int, count: int, word: bytes) -> list[bytes]:
    """Return up to `count` whole lines that end at or before offset `end`, oldest first.

    With a word only those that hold it. A part of the file that has not the word is not taken
    apart: a hundred thousand lines are looked through in a few hundredths of a second.
    """
    found: list[bytes] = []
    at, rest, size = end, b"", _CHUNK
    while at > 0 and len(found) < count:
        size = min(size * 2, _LARGEST_CHUNK)
        start = max(0, at - size)
        stream.seek(start)
        block = stream.read(at - start) + rest
        at = start
        # The first line of a block begins in the block before it.
        head, line_end, tail = (b"", b"\n", block) if start == 0 else block.partition(b"\n")
        rest = head + line_end
        if not word or word in tail.lower():
            lines = tail.split(b"\n")[:-1]
            found = [*(line for line in lines if not word or word in line.lower()), *found]
    return found[-count:]
