"""Reading sessions and exchanges, and remembering what has not changed since.

Whatever lies in the folder may be torn or written by another program: what cannot be read is
passed over with a line in the log.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from humanmcp.inbox import records
from humanmcp.inbox.atomic import Signature, signature
from humanmcp.inbox.contract import Item, Key, Life, SessionFacts, UnknownItemError
from humanmcp.inbox.life_lock import is_held
from humanmcp.inbox.session_folder import read_record
from humanmcp.protocol.conversation.exchange import NegotiatedState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from humanmcp.inbox.session_folder import SessionFolder
    from humanmcp.protocol.conversation.stages import ExchangeState

_log = logging.getLogger(__name__)
_Value = TypeVar("_Value")

_ITEMS: Final = 4096
_LONGEST_REMEMBERED: Final = 8192
"""Bytes of an exchange: longer ones are read again each time, they would fill the memory."""


class RecordCache:
    """Records that were read, by path, as long as their files have not changed."""

    def __init__(self) -> None:
        self._values: dict[Path, tuple[Signature, Any]] = {}  # `Any`: what the reader returns

    def read(self, path: Path, reader: Callable[[records.Record], _Value]) -> _Value | None:
        """Return the record of a file; None if it is missing or unreadable."""
        seen = signature(path)
        if seen is None:
            self._values.pop(path, None)
            return None
        before, value = self._values.get(path, (None, None))
        if before == seen and value is not None:
            known: _Value = value
            return known
        try:  # what could not be read may be readable now: it is told once
            value = read_record(path, reader, logging.DEBUG if before == seen else logging.WARNING)
        except FileNotFoundError:
            return None
        self._values[path] = (seen, value)
        return value


class SessionCache:
    """Reads the facts of sessions, and which ones are alive."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._remembered = RecordCache()
        self._gone: dict[str, SessionFacts] = {}

    def names(self) -> Iterator[str]:
        """List the folders that may be sessions, in no order."""
        with suppress(FileNotFoundError), os.scandir(self._path) as entries:
            for entry in entries:
                if records.is_session_name(entry.name) and entry.is_dir(follow_symlinks=False):
                    yield entry.name

    def facts(self, name: str) -> SessionFacts | None:
        """Return the facts of a session; None if its record cannot be read."""
        facts = self._read(name)
        if facts is not None and facts.role.traits.is_guest:
            return facts._replace(life=Life.OPEN if self._is_asking(name) else Life.CLOSED)
        if facts is None or facts.life is not Life.OPEN:
            return facts
        if self._gone.get(name) is not facts:
            lock = self._path / name / records.LOCK
            held = is_held(lock)
            if held:
                return facts
            # A server that ends writes first and lets go then: what was read may be old by now.
            facts = self._read(name)
            if facts is None or facts.life is not Life.OPEN:
                return facts
            if held is None and is_held(lock):  # the folder was away for a moment
                return facts
            # Who takes the lock that was given up writes the record anew: nobody has, until then.
            if held is False:
                self._gone[name] = facts
        return facts._replace(life=Life.GONE)

    def _is_asking(self, name: str) -> bool:
        """Return True while a prompt of a guest waits."""
        path = self._path / name
        with suppress(OSError), os.scandir(path / records.PENDING) as entries:
            return any(is_held(path / records.ENTERED / entry.name) for entry in entries)
        return False

    def _read(self, name: str) -> SessionFacts | None:
        path = self._path / name / records.SESSION
        return self._remembered.read(path, lambda record: records.read_facts(name, record))

    def letter(self, name: str) -> str:
        """Return the letter of a session, which never changes; "" before it has one."""
        path = self._path / name / records.LETTER
        return self._remembered.read(path, records.read_letter) or ""

    def negotiated(self, name: str) -> NegotiatedState:
        path = self._path / name / records.KNOWN
        return (
            self._remembered.read(path, partial(records.read, NegotiatedState)) or NegotiatedState()
        )


class ItemCache:
    """Reads exchanges."""

    def __init__(self) -> None:
        self._items: dict[Key, tuple[ExchangeState, Mapping[str, Signature], Item]] = {}
        self._lock = threading.Lock()

    def item(self, folder: SessionFolder, number: int) -> Item:
        found = folder.follow(
            number, lambda state, path: self._item(Key(folder.name, number), state, path)
        )
        if found is None:
            raise UnknownItemError(f"{folder.name}/{number}")
        return found

    def items(self, folder: SessionFolder, state: ExchangeState, most: int = 0) -> Iterator[Item]:
        """Yield the exchanges in one state, oldest first. One that moves meanwhile is left out."""
        for number in folder.numbers(state)[-most:]:
            found: Item | None = None
            try:
                found = self._item(Key(folder.name, number), state, folder.at(state, number))
            except FileNotFoundError:  # it moved, or only one of its files was taken away
                with suppress(UnknownItemError):
                    found = self.item(folder, number)
            if found is not None and found.state is state:
                yield found

    def _item(self, key: Key, state: ExchangeState, path: Path) -> Item | None:
        files = _signatures(path)
        if not path.is_dir():
            raise FileNotFoundError(path)  # it moved while it was listed: a part of it is missing
        with self._lock:
            cached = self._items.get(key)
        if cached is not None and cached[:2] == (state, files):
            return cached[2]
        item = _read_item(key, state, path, files)
        if item is not None and sum(file.size for file in files.values()) <= _LONGEST_REMEMBERED:
            self._remember(key, state, files, item)
        return item

    def _remember(
        self, key: Key, state: ExchangeState, files: Mapping[str, Signature], item: Item
    ) -> None:
        with self._lock:
            self._items.pop(key, None)
            self._items[key] = (state, files, item)
            if len(self._items) > _ITEMS:
                del self._items[next(iter(self._items))]


def _signatures(path: Path) -> dict[str, Signature]:
    found: dict[str, Signature] = {}
    with os.scandir(path) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                file = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(file.st_mode):
                    found[entry.name] = Signature(entry.inode(), file.st_mtime_ns, file.st_size)
    return found


def _read_item(
    key: Key, state: ExchangeState, path: Path, files: Mapping[str, Signature]
) -> Item | None:
    """Read what is there. A file that is listed and gone means that the exchange has moved."""

    def read(name: str, reader: Callable[[records.Record], _Value]) -> _Value | None:
        return read_record(path / name, reader) if name in files else None

    numbers = records.numbers_in(files, records.KEPT)
    return records.read_item(key, state, read, map(records.KEPT.format, numbers))
