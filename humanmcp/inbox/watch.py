"""Report changed files of inboxes, as far as the system does.

Who wants to know is woken; what changed, it reads itself. One recursive observer serves all
sessions, of several inboxes below one folder too: a machine
allows 128 inotify instances to a user. Where changes are not reported (network drives, shared
folders of a container or a virtual machine) or no observer is to be had, a slow poll finds them
anyway, and `why_polling` says so.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from humanmcp.inbox import records
from humanmcp.inbox.atomic import Signature, signature
from humanmcp.inbox.life_lock import is_held

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver

_log = logging.getLogger(__name__)


Wake: TypeAlias = "Callable[[str, int], None]"
FileEvent: TypeAlias = "FileSystemEvent"

_FAST: Final = 0.25
"""Seconds between two polls where nothing else reports changes."""
_FILES: Final = (records.SESSION, records.KNOWN, records.TRANSCRIPT, records.HOLDS, records.OUTBOX)
_EACH_LOOK: Final = 50
"""Sessions whose files one slow look reads while the system reports changes: it only confirms."""
_AT_ONCE: Final = 20
"""Sessions that one slow look takes before it gives way."""
_GIVE_WAY: Final = 0.002
_SILENT: Final = 3
"""Polls in a row that found what no event had told, before events are given up."""


class Watch:
    """Wakes with a session and the number of its exchange that may have changed.

    It watches the inbox in `home`, or, without a `wake`, those below it that are added.

    The number is 0 for everything else of the session: its record, its transcript, its life. `wake`
    is called from threads of the watch, often several times for one change, and must not block.
    Watching starts with the `with` block: read everything after it was entered.
    """

    def __init__(self, home: Path, wake: Wake | None = None, every: float = 2.0) -> None:
        """Watch the sessions of an inbox; look at least `every` so many seconds."""
        self._path = home if wake is None else home / records.SESSIONS
        self._inboxes: dict[Path, _Watched] = {}
        self._every = every
        self._stop = threading.Event()
        self._poller = threading.Thread(target=self._poll, name="inbox-poll", daemon=True)
        self._observer: BaseObserver | None = None
        self._reported: set[tuple[Path, str]] = set()
        self._events = 0
        self._why_polling = ""
        if wake is not None:
            self.add(home, wake)

    @property
    def why_polling(self) -> str:
        """Why changes are found by looking only; "" while the system reports them."""
        return self._why_polling

    def add(self, home: Path, wake: Wake) -> None:
        """Watch an inbox from now on: read everything in it after this."""
        path = home / records.SESSIONS
        look = _Snapshotter(path)
        look.changed()
        self._inboxes = {**self._inboxes, path: _Watched(wake, look)}

    def __enter__(self) -> Self:
        for one in self._inboxes.values():
            one.look.changed()
        self._observe()
        self._poller.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop. Nothing is woken after this."""
        self._stop.set()
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()
        self._poller.join()

    # -- events -------------------------------------------------------------------------------

    def _observe(self) -> None:
        try:
            self._observer = observe(self._path, self._event, _FILES_AND_FOLDERS, recursive=True)
        except (OSError, ImportError) as error:
            self._give_up(str(error))

    def _event(self, event: FileSystemEvent) -> None:
        self._events += 1
        for path in {event.src_path, event.dest_path}:
            changed = PurePath(os.fsdecode(path))
            inbox = next((one for one in changed.parents if one in self._inboxes), None)
            name, number = ("", 0) if inbox is None else self._belongs(changed.relative_to(inbox))
            if inbox is not None and name:
                self._reported.add((Path(inbox), name))
                self._call(Path(inbox), name, number)

    def _belongs(self, path: PurePath) -> tuple[str, int]:
        """Return the session, and the exchange or 0, that a path belongs to; "" for no session."""
        parts = path.parts
        if not parts or not records.is_session_name(parts[0]):
            return "", 0
        if parts[1:] == (records.BELL,):
            return "", 0  # it says nothing to a desk, and whoever rings has changed something else
        inside = len(parts) > 2 and parts[1] in records.STATES
        return parts[0], (records.exchange_number(parts[2]) or 0) if inside else 0

    def _give_up(self, why: str) -> None:
        self._why_polling = why or "unknown"
        _log.warning("changes in %s are found by polling only: %s", self._path, why)

    # -- the safety net -----------------------------------------------------------------------

    def _poll(self) -> None:
        untold_polls, events = 0, self._events
        while not self._stop.wait(min(self._every, _FAST) if self._why_polling else self._every):
            changed = self._changed()
            told = changed <= self._reported  # perhaps before several looks
            self._reported -= changed
            if self._why_polling or not changed:
                continue
            if told or self._events != events:
                untold_polls, events = 0, self._events
                continue
            untold_polls += 1
            if untold_polls >= _SILENT:
                self._give_up("the system does not report changes there")

    def _changed(self) -> set[tuple[Path, str]]:
        """Look at every inbox, wake for what differs, and return the sessions."""
        changed = set()
        for path, one in self._inboxes.items():
            most = 0 if self._why_polling else _EACH_LOOK
            for name, numbers in one.look.changed(gently=True, most=most).items():
                changed.add((path, name))
                for number in sorted(numbers):
                    self._call(path, name, number)
        return changed

    def _call(self, path: Path, name: str, number: int) -> None:
        if self._stop.is_set():
            return
        try:
            self._inboxes[path].wake(name, number)
        except Exception:  # noqa: BLE001 - whatever goes wrong there, watching goes on
            _log.exception("waking for session %s failed", name)


_FILES_AND_FOLDERS: Final = (
    *("FileCreated", "FileModified", "FileMoved", "FileDeleted"),
    *("DirCreated", "DirMoved", "DirDeleted"),
)
"""What readers do themselves (open, close) is not among them."""


_PAIRED_WITHIN: Final = 0.02
"""Seconds in which `watchdog` waits for the second half of a move.

All later events wait, too, and its half a second is longer than a desk may take to learn of them.
Here a move in two halves is as good as a whole one. The two halves are read together, or one of
them is outside.
"""
_MOVES: Final = (
    ("inotify_move_event_grouper", "InotifyMoveEventGrouper"),
    ("inotify_buffer", "InotifyBuffer"),
)
"""Where `watchdog` 7 and 6 keep it."""


def _pair_moves_soon() -> None:
    for module, name in _MOVES if sys.platform == "linux" else ():
        with suppress(ImportError):
            found = importlib.import_module(f"watchdog.observers.{module}")
            getattr(found, name).delay = _PAIRED_WITHIN


def observe(
    path: Path,
    on_event: Callable[[FileEvent], object],
    kinds: Iterable[str],
    *,
    recursive: bool = False,
) -> BaseObserver:
    """Start an observer of events of these kinds."""
    from watchdog import events, observers  # noqa: PLC0415 - no start of a server waits for it

    # A folder that appears while its parent's folders are listed is found twice, which harms
    # nobody; the warning names every folder that is watched.
    warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)

    class Listener(events.FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            on_event(event)

    _pair_moves_soon()
    observer = observers.Observer()
    wanted = [getattr(events, f"{kind}Event") for kind in kinds]
    observer.schedule(Listener(), str(path), recursive=recursive, event_filter=wanted)
    observer.start()
    return observer


class _Snapshot(NamedTuple):
    """A snapshot of a session: its files, whether it lives, and its exchanges."""

    files: tuple[Signature | None, ...]
    lives: bool
    exchanges: frozenset[tuple[str, Signature]]


def _differ(old: _Snapshot | None, new: _Snapshot | None) -> set[int]:
    """Return the numbers of the changed exchanges; 0 for the session itself."""
    before, after = (one.exchanges if one else frozenset() for one in (old, new))
    numbers = {records.exchange_number(name) or 0 for name, _ in before ^ after}
    same = old is not None and new is not None and old[:2] == new[:2]
    return numbers if same else {0, *numbers}


class _Snapshotter:
    """Compares snapshots of the sessions, cheaply enough for every other second."""

    def __init__(self, path: Path) -> None:
        """Look at the sessions in `path`. The first look finds everything changed."""
        self._path = path
        self._seen: Mapping[str, _Snapshot] = {}
        self._turn = 0
        self._dead: dict[str, Signature] = {}

    def changed(self, *, gently: bool = False, most: int = 0) -> dict[str, set[int]]:
        """Return the sessions that changed since the last call, also new and removed ones.

        `gently` lets others have their turn: pages wait for the same interpreter. With `most`, the
        files of so many sessions are read, in turn, and of the others only whether they live.
        With each, the exchanges in it that do, and 0 for the rest of the session.
        """
        try:
            with os.scandir(self._path) as entries:
                names = [entry.name for entry in entries if records.is_session_name(entry.name)]
        except OSError:
            names = []
        names.sort()
        turns = -(-len(names) // most) if most else 1
        self._turn = (self._turn + 1) % max(turns, 1)
        seen: dict[str, _Snapshot] = {}
        for at, name in enumerate(names):
            before = self._seen.get(name)
            if before is not None and at % turns != self._turn:
                seen[name] = before._replace(lives=self._lives(name))
                continue
            if gently and at // turns % _AT_ONCE == _AT_ONCE - 1:
                time.sleep(_GIVE_WAY)
            seen[name] = self._of(name)
        both = seen.keys() | self._seen.keys()
        changed = {name: _differ(self._seen.get(name), seen.get(name)) for name in both}
        self._seen = seen
        return {name: numbers for name, numbers in changed.items() if numbers}

    def _of(self, name: str) -> _Snapshot:
        path = self._path / name
        files = (*_FILES, *records.STATES)
        return _Snapshot(
            tuple(signature(path / file) for file in files),
            self._lives(name),
            self._exchanges(name),
        )

    def _exchanges(self, name: str) -> frozenset[tuple[str, Signature]]:
        """Return what waits; the prompts of an agent as long as their processes live."""
        path = self._path / name
        found = _folders(path / records.PENDING)
        if not found or not (path / records.ENTERED).is_dir():
            return found
        return frozenset(one for one in found if is_held(path / records.ENTERED / one[0]))

    def _lives(self, name: str) -> bool:
        """Return True if its process lives. A process that died changes no file."""
        record = signature(self._path / name / records.SESSION)
        if record is not None and self._dead.get(name) == record:
            return False
        held = is_held(self._path / name / records.LOCK)
        if held is None and (self._path / name / records.ENTERED).is_dir():  # a guest's session
            return bool(self._exchanges(name))
        # Whoever takes the lock writes the record anew, then or later. A lock that is missing may
        # come back: its folder was moved away.
        if held is False and record is not None:
            self._dead[name] = record
        return bool(held)


def _folders(path: Path) -> frozenset[tuple[str, Signature]]:
    """Return the exchanges in a folder with their times: a file that appears there changes it."""
    try:
        with os.scandir(path) as entries:
            names = [entry.name for entry in entries]
    except OSError:
        return frozenset()
    found = ((name, signature(path / name)) for name in names)
    return frozenset((name, seen) for name, seen in found if seen is not None)


class _Watched(NamedTuple):
    """One inbox: who is woken for it, and what it looked like."""

    wake: Wake
    look: _Snapshotter
