"""Report what is saved in the folder of the text files, as far as the system does."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import PurePath
from typing import TYPE_CHECKING

from humanmcp.common.own_process import leave_signals_to_the_main_thread
from humanmcp.inbox.watch import observe

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path
    from typing import Self

    from humanmcp.inbox.watch import FileEvent

_log = logging.getLogger(__name__)

_taken = threading.Lock()


class FolderEvents:
    """Calls `saved`, from a separate thread, when a file in a folder has changed.

    A process has one at most: of several sessions the first that asks gets it, and the others look
    themselves, as all do where there are no events.
    """

    def __init__(self, folder: Path, own: Collection[str], saved: Callable[[], object]) -> None:
        """Report changes in `folder`, except of the files with the names `own`."""
        self._folder = folder
        self._own = own
        self._saved = saved
        self._closed = False
        self._stop: Callable[[], object] | None = None
        self._changing = threading.Lock()
        self._beginning = threading.Thread(target=self.begin, name="folder-events", daemon=True)

    @classmethod
    def start(cls, folder: Path, own: Collection[str], saved: Callable[[], object]) -> Self | None:
        """Report changes of a folder; return None if this process already watches one."""
        if not _taken.acquire(blocking=False):
            return None
        events = cls(folder, own, saved)
        events._beginning.start()
        return events

    def close(self) -> None:
        """Stop reporting. Calling it again does nothing.

        Waits for what begins: a Python that ends while a thread imports may crash.
        """
        with self._changing:
            if self._closed:
                return
            self._closed = True
            if self._stop is not None:
                self._stop()
        self._beginning.join()
        _taken.release()

    def begin(self) -> None:
        """Watch the folder; where the system cannot, polling finds the changes."""
        leave_signals_to_the_main_thread()
        try:
            # A move is not asked for: one that leaves the folder would hold up what comes after it
            # for half a second. Who saves by a rename writes another file in the folder first.
            with self._changing:
                if self._closed:
                    return
                kinds = ("FileModified", "FileClosed")
                self._stop = observe(self._folder, self._changed, kinds).stop
        except (OSError, ImportError) as error:
            _log.info("files saved in %s are found by looking: %s", self._folder, error)
            return
        self._saved()  # what was saved before nobody was told of

    def _changed(self, event: FileEvent) -> None:
        if PurePath(os.fsdecode(event.src_path)).name not in self._own:
            self._saved()
