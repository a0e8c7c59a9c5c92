"""The folder of one session, and what is done to the exchanges in it.

An exchange is a folder; where it lies is its state. It moves once, from `pending` to its last
state, and what is at work on it at that moment follows it (`SessionFolder.follow`).
"""

from __future__ import annotations

import errno
import logging
import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from humanmcp.inbox import records
from humanmcp.inbox.atomic import (
    Signature,
    discard,
    drop,
    make_temporary_folder,
    move,
    publish_first,
    read_file,
    replace_file,
    signature,
    sync_folder,
    write_new,
    write_temporary,
)
from humanmcp.inbox.contract import Draft, Key, Reply, TakenError, UnknownItemError
from humanmcp.inbox.life_lock import turn
from humanmcp.protocol.conversation.stages import ExchangeState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from humanmcp.inbox.contract import Answer, Item, Waiting
    from humanmcp.protocol.diagnostics.model import Diagnostic

_log = logging.getLogger(__name__)
_Found = TypeVar("_Found")
_TRIES: Final = 4  # an exchange moves once; the rest is for a reply that is given back meanwhile


class SessionFolder:
    """The folder of one session."""

    def __init__(self, name: str, path: Path) -> None:
        """Use the session of this name, at `path`, which may not exist yet."""
        self.name = name
        self.path = path

    @property
    def temporary(self) -> Path:
        """Where files are written before they get their name."""
        return self.path.parent.parent / records.TEMPORARY

    def make(self) -> None:
        """Make the folder with everything that is always in it.

        Raises:
            FileExistsError: another session has this name.
        """
        self.path.mkdir(mode=0o700)
        for name in (records.OUTBOX, *records.STATES):
            (self.path / name).mkdir(mode=0o700)

    def at(self, state: ExchangeState, number: int) -> Path:
        """Return where an exchange lies when it is in this state."""
        return self.path / state.value / records.exchange_name(number)

    def numbers(self, state: ExchangeState) -> list[int]:
        """List the exchanges in one state, oldest first.

        A copy of a session may lack its empty folders: git and some archives leave them out.
        """
        with suppress(FileNotFoundError), os.scandir(self.path / state.value) as entries:
            found = (
                records.exchange_number(entry.name)
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
            )
            return sorted(number for number in found if number is not None)
        return []

    def locate(self, number: int) -> tuple[ExchangeState, Path]:
        """Find an exchange.

        It moves from `pending` to one of the others and never back: looking in that order finds it.

        Raises:
            UnknownItemError: there is none with this number.
        """
        found = self._find(number)
        if found is None:
            raise UnknownItemError(f"{self.name}/{number}")
        return found

    def _find(self, number: int) -> tuple[ExchangeState, Path] | None:
        for state in ExchangeState:
            path = self.at(state, number)
            if path.is_dir() and not path.is_symlink():
                return state, path
        return None

    def follow(self, number: int, act: Callable[[ExchangeState, Path], _Found]) -> _Found:
        """Act on an exchange; again, if it was moved meanwhile."""
        for _ in range(_TRIES):
            state, path = self.locate(number)
            try:
                return act(state, path)
            except FileNotFoundError:
                continue
        raise UnknownItemError(f"{self.name}/{number}")

    def _replace(
        self, path: Path, value: records.Record | tuple[object, ...], *, durable: bool = False
    ) -> None:
        replace_file(self.temporary, path, records.encode(value), durable=durable)

    # -- what the server does -------------------------------------------------------------------

    def deliver(self, item: Item) -> Signature | None:
        """Make the folder of an exchange appear, complete. Returns its draft's signature."""
        found = self._find(item.key.number)
        if found is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(found[1]))
        new = make_temporary_folder(self.temporary)
        try:
            draft = _fill(new, item)
            move(new, self.at(item.state, item.key.number))
        except BaseException:
            discard(new)
            raise
        sync_folder(self.path / item.state.value)
        return draft

    def update(self, number: int, line: str, id_token: str, waiting: Waiting) -> None:
        """Replace the request where it differs, and how long it may wait."""
        path = self.at(ExchangeState.PENDING, number)
        request = records.decode(read_file(path / records.REQUEST))
        if (request.get("line"), request.get("id")) != (line, id_token):
            changed = {**request, "line": line, "id": id_token}
            self._replace(path / records.REQUEST, changed, durable=True)
        self._replace(path / records.WAIT, waiting)

    def refuse(self, number: int, diagnostics: Sequence[Diagnostic]) -> Signature | None:
        """Turn the reply into the draft again, with its problems. Returns the draft's signature."""
        path = self.at(ExchangeState.PENDING, number)
        reply = find_record(path / records.REPLY, records.read_reply)
        if reply is not None:
            self._change_draft(path, partial(self._give_back, path, reply))
        self._replace(path / records.PROBLEMS, records.diagnostics_record(diagnostics))
        (path / records.REPLY).unlink(missing_ok=True)
        return signature(path / records.DRAFT)

    def _give_back(self, path: Path, reply: Reply, draft: Draft | None) -> Draft:
        shown, beside = reply.given_back(draft)
        if beside is not None:
            self.keep(path, beside)
        return shown

    def close(
        self,
        number: int,
        state: ExchangeState,
        answer: Answer | None,
        reason: str,
        taken: Signature | None,
    ) -> None:
        """Move an exchange to its last state. `taken` is the reply that the server has seen.

        Without an answer and a reason it ends as somebody has written down who did not move it.
        """
        path = self.at(ExchangeState.PENDING, number)
        try:
            if answer is not None or reason:
                self._replace(path / records.ANSWER, records.close_record(state, answer, reason))
            else:
                state = find_record(path / records.ANSWER, records.read_ending) or state
            target = self.at(state, number)
            move(path, target)
        except FileNotFoundError:
            self.locate(number)  # closed before: nothing to do
            return
        if signature(target / records.REPLY) not in (None, taken):
            self._keep_untaken(target)

    def fetched(self, number: int, at: str, became: str, after: str) -> bool:
        """Note in the ending of an exchange what became of it, the first time or `after` that."""
        path = self.at(ExchangeState.ANSWERED, number) / records.ANSWER
        record = records.decode(read_file(path))
        is_next: bool = record.get("became" if after else "fetched", "") == after
        if is_next:
            self._replace(path, {**record, "fetched": at, "became": became})
        return is_next

    def _keep_untaken(self, path: Path) -> None:
        """Turn a reply that came too late into a draft."""
        reply = find_record(path / records.REPLY, records.read_reply)
        if reply is not None:
            self.keep(path, reply.as_draft)
            (path / records.REPLY).unlink(missing_ok=True)

    # -- what the desks do --------------------------------------------------------------------

    def save(self, number: int, draft: Draft, since: str) -> None:
        """Put the draft in the place of the one before, wherever the exchange lies."""

        def change(path: Path, before: Draft | None) -> Draft:
            if before is not None and not draft.replaces(before, since):
                self.keep(path, before, before.page)
            return draft

        self.follow(number, lambda _, path: self._change_draft(path, partial(change, path)))

    def change_draft(self, number: int, change: Callable[[Draft | None], Draft]) -> None:
        """Replace the draft by what is made of it, wherever the exchange lies."""
        self.follow(number, lambda _, path: self._change_draft(path, change))

    def _change_draft(self, path: Path, change: Callable[[Draft | None], Draft]) -> None:
        """Replace the draft, in turn: who is killed here leaves what it took to the next one.

        The draft is taken away in one step, and the changed one gets its name only if it is free:
        a program that waits for no turn may write one, too. Until then readers find the old one.
        """
        draft: Draft | None = None
        with turn(self.path / records.DRAFT_TURN):
            while True:
                with suppress(FileNotFoundError):
                    move(path / records.DRAFT, path / records.OLD_DRAFT)
                draft = find_record(path / records.OLD_DRAFT, records.read_draft) or draft
                new = records.encode(change(draft))
                written, _ = write_temporary(self.temporary, new, durable=True)
                try:
                    if publish_first(written, path / records.DRAFT):
                        return
                finally:
                    drop(written)

    def send(self, number: int, reply: Reply) -> None:
        """Publish a reply, if it is the first.

        Raises:
            TakenError: it is not. Its text is kept.
        """
        content = records.encode(reply)
        written, _ = write_temporary(self.temporary, content, durable=True)
        try:
            winner = self.follow(number, partial(_publish, written))
        finally:
            drop(written)
        if winner is not None:
            self.put_aside(number, reply.as_draft)
            raise TakenError(Key(self.name, number), *winner)

    def put_aside(self, number: int, draft: Draft) -> None:
        """Keep a text beside the draft, wherever the exchange lies."""
        self.follow(number, lambda _, path: self.keep(path, draft))

    def keep(self, path: Path, draft: Draft, page: str = "") -> None:
        """Keep a text beside the draft, under the next free number, unless it is there already.

        It takes the place of an older draft of the same page.
        """
        kept, draft = kept_drafts(path), draft._replace(touched=True, page=page)
        if draft.is_in(kept.values()):
            return
        number = max(_kept_numbers(path), default=0) + 1
        self.publish(draft, lambda free: path / records.KEPT.format(free), number)
        for number in [number for number, old in kept.items() if draft.follows(old)]:
            drop(path / records.KEPT.format(number))

    def publish(self, value: Draft | Reply, name: Callable[[int], Path], number: int) -> int:
        """Write a record under the first free number from this one, and return it."""
        written, _ = write_temporary(self.temporary, records.encode(value), durable=True)
        try:
            while not publish_first(written, name(number)):
                number += 1
        finally:
            drop(written)
        return number


def _fill(folder: Path, item: Item) -> Signature | None:
    request = records.encode(records.request_record(item))
    write_new(folder / records.REQUEST, request, durable=True)
    write_new(folder / records.WAIT, records.encode(item.waiting), durable=False)
    if item.diagnostics:
        diagnostics = records.encode(records.diagnostics_record(item.diagnostics))
        write_new(folder / records.PROBLEMS, diagnostics, durable=False)
    if item.state is not ExchangeState.PENDING:
        ending = records.close_record(item.state, item.answer, item.reason)
        write_new(folder / records.ANSWER, records.encode(ending), durable=False)
    if item.draft is None:
        return None
    return write_new(folder / records.DRAFT, records.encode(item.draft), durable=False)


def _publish(written: Path, state: ExchangeState, path: Path) -> tuple[ExchangeState, str] | None:
    """Give the reply its name. Returns the state and who was first, if not this one."""
    closing = (path / records.ANSWER).exists()
    if (
        state is ExchangeState.PENDING
        and not closing
        and publish_first(written, path / records.REPLY)
    ):
        return None
    answer, _reason = find_record(path / records.ANSWER, records.read_close) or (None, "")
    first = answer or find_record(path / records.REPLY, records.read_reply)
    return state, first.by if first else ""


def find_record(path: Path, reader: Callable[[records.Record], _Found]) -> _Found | None:
    """Return what a reader makes of a file; None where there is none, or it cannot be read."""
    with suppress(FileNotFoundError):
        return read_record(path, reader)
    return None


def read_record(
    path: Path, reader: Callable[[records.Record], _Found], level: int = logging.WARNING
) -> _Found | None:
    """Return what a reader makes of a file; None, with a line in the log, where it cannot be read.

    Raises:
        FileNotFoundError: there is none.
    """
    try:
        return reader(records.decode(read_file(path)))
    except FileNotFoundError:
        raise
    except (OSError, records.UnreadableError) as error:
        _log.log(level, "%s is passed over: %s", path, error)
        return None


def kept_drafts(path: Path) -> dict[int, Draft]:
    """Read the texts that are kept beside an exchange, oldest first."""
    files = {number: path / records.KEPT.format(number) for number in _kept_numbers(path)}
    found = ((number, find_record(file, records.read_draft)) for number, file in files.items())
    return {number: draft for number, draft in found if draft is not None}


def _kept_numbers(path: Path) -> list[int]:
    with os.scandir(path) as entries:
        return records.numbers_in((entry.name for entry in entries), records.KEPT)
