"""The file of a session's frames: one process appends, everybody reads.

A frame is written with one call, so a reader sees whole lines; only a crash of the machine, or a
disk that was full, can leave a torn one, and readers pass over it.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import threading
from typing import TYPE_CHECKING, Final

from humanmcp.inbox.atomic import LARGEST, fdatasync, keeping, open_private
from humanmcp.protocol.transcript import Frame, Way, from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_log = logging.getLogger(__name__)
_SEQ: Final = re.compile(rb'\{"seq":([0-9]{1,18})[,}]')


class TranscriptWriter:
    """The one writer of a transcript. Threads may share it."""

    __slots__ = ("_descriptor", "_lock", "_path", "_size")

    def __init__(self, path: Path) -> None:
        """Make the file.

        Raises:
            OSError: it exists already, or cannot be made.
        """
        self._path = path
        self._lock = threading.Lock()
        self._size = 0
        self._descriptor = open_private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL)

    def append(self, frame: Frame) -> None:
        """Write a frame. A request that waits for a person is on the disk when this returns.

        Raises:
            StoreError: it was not written, and the file is as it was before.
        """
        # JSON escapes stand in for lone surrogates, which UTF-8 cannot hold.
        line = to_json(frame).encode("utf-8", "backslashreplace") + b"\n"
        waits = frame.way is Way.IN and frame.number > 0
        with self._lock, keeping(f"line {frame.seq} of {self._path.name}"):
            try:
                self._write(line, durable=waits)
            except OSError:
                self._restore()
                raise
            self._size += len(line)

    def _write(self, line: bytes, *, durable: bool) -> None:
        if self._descriptor < 0:
            self._descriptor = self._reopen()
        if os.write(self._descriptor, line) < len(line):
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
        os.ftruncate(descriptor, self._size)
        return descriptor

    def close(self) -> None:
        """Close the file. A second time changes nothing."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1


class TranscriptReader:
    """Reads a transcript, and remembers where it stopped: the next look starts there."""

    __slots__ = ("_path", "_stopped")

    def __init__(self, path: Path) -> None:
        """Read the transcript at `path`, which may not exist yet."""
        self._path = path
        self._stopped = (0, 0)  # the last frame that was read, and the offset after it

    def frames(self, after: int) -> Iterator[Frame]:
        """Yield the frames whose `seq` is greater than `after`, as far as they are written."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except OSError as error:
            _log.warning("%s: cannot be read: %s", self._path, error)
            return
        with os.fdopen(descriptor, "rb") as stream:
            seq, offset = self._stopped
            if after < seq or os.fstat(descriptor).st_size < offset:
                offset = 0
            stream.seek(offset)
            while (line := stream.readline(LARGEST)).endswith(b"\n"):
                offset += len(line)
                found = _SEQ.match(line)
                if found is not None and int(found[1]) <= after:
                    continue
                frame = self._read(line)
                if frame is not None and frame.seq > after:
                    yield frame
                    self._stopped = (frame.seq, offset)

    def _read(self, line: bytes) -> Frame | None:
        try:
            return from_json(line.decode("utf-8"))
        except (ValueError, RecursionError, OverflowError) as error:
            _log.warning("%s: a line is no frame: %s", self._path, error)
            return None
