"""Writing the frames of a session: one process appends, everybody reads.

A frame is written with one call, and with it what belongs to it; so a reader sees whole lines. Only
a crash of the machine, or a disk that was full, can leave a torn one, and readers pass over it.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from humanmcp.inbox.atomic import fdatasync, open_private
from humanmcp.inbox.contract import StoreError
from humanmcp.protocol.conversation.transcript import to_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from humanmcp.protocol.conversation.transcript import Frame

_log = logging.getLogger(__name__)
_choosing: Final = threading.Lock()

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

    def append(
        self, *frames: Frame, durable: bool = False, then: Callable[[], object] | None = None
    ) -> None:
        """Write frames, with one call. Durable ones are on the disk when this returns.

        `then` writes what belongs to them: if the disk refuses that, they are cut off again.

        Raises:
            StoreError: they were not written, and the file is as it was before.
        """
        # JSON escapes stand in for lone surrogates, which UTF-8 cannot hold.
        lines = "".join(f"{to_json(one)}\n" for one in frames).encode("utf-8", "backslashreplace")
        with self._lock:
            try:
                self._write(lines, durable=durable)
                if then is not None:
                    then()
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
