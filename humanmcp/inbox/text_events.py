"""Tell when somebody else saves a file in one folder, as far as the system reports it.

A system allows a user some 128 inotify instances, so a process has one at most: of several sessions
the first that asks gets it, and the others look by themselves, as all do where there are no events.
"""

from __future__ import annotations

import logging
import os
import threading
from pathlib import PurePath
from typing import TYPE_CHECKING

from humanmcp.common.own_process import leave_signals_to_the_main_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path
    from typing import Self

    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver

_log = logging.getLogger(__name__)

_taken = threading.Lock()


class FolderEvents:
    """Calls `saved`, from a thread of its own, when a file in a folder has changed."""

    def __init__(self, folder: Path, own: Collection[str], saved: Callable[[], object]) -> None:
        """Tell of changes in `folder`, but not of the files of ours, whose names are `own`."""
        self._folder = folder
        self._own = own
        self._saved = saved
        self._closed = False
        self._observer: BaseObserver | None = None
        self._changing = threading.Lock()

    @classmethod
    def start(cls, folder: Path, own: Collection[str], saved: Callable[[], object]) -> Self | None:
        """Return what tells of a folder; None where this process has told of one already."""
        if not _taken.acquire(blocking=False):
            return None
        events = cls(folder, own, saved)
        threading.Thread(target=events.begin, name="folder-events", daemon=True).start()
        return events

    def close(self) -> None:
        """Tell of nothing more. A second time changes nothing."""
        with self._changing:
            if self._closed:
                return
            self._closed = True
            if self._observer is not None:
                self._observer.stop()
        _taken.release()

    def begin(self) -> None:
        """Watch the folder, or leave it to those who look."""
        leave_signals_to_the_main_thread()
        try:
            from watchdog import events, observers  # noqa: PLC0415 - no start waits for it

            class Listener(events.FileSystemEventHandler):
                def on_any_event(_self, event: FileSystemEvent) -> None:  # noqa: N805
                    self._changed(event)

            observer = observers.Observer()
            # A move is not asked for: one that leaves the folder would hold up what comes after it
            # for half a second. Who saves by a rename writes another file in the folder first.
            wanted = [events.FileModifiedEvent, events.FileClosedEvent]
            with self._changing:
                if self._closed:
                    return
                observer.schedule(Listener(), str(self._folder), event_filter=wanted)
                observer.start()
                self._observer = observer
        except (OSError, ImportError) as error:
            _log.info("files saved in %s are found by looking: %s", self._folder, error)
            return
        self._saved()  # what was saved before nobody was told of

    def _changed(self, event: FileSystemEvent) -> None:
        if PurePath(os.fsdecode(event.src_path)).name not in self._own:
            self._saved()
