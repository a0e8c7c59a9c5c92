"""What people sent and drafted for the pending exchanges of a session."""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Final

from humanmcp.inbox import records
from humanmcp.inbox.atomic import read_file, signature
from humanmcp.inbox.contract import Key
from humanmcp.inbox.session_folder import read_record
from humanmcp.protocol.conversation.stages import ExchangeState

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from humanmcp.inbox.atomic import Signature
    from humanmcp.inbox.contract import Draft, Reply
    from humanmcp.inbox.session_folder import SessionFolder

_log = logging.getLogger(__name__)

_TORN_FOR: Final = 1.0
"""Seconds after which a reply that cannot be read counts as torn, not as half-written."""
_FOR_NOW: Final = frozenset({errno.ENOENT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO})
"""Why a reply cannot be read although nothing is wrong with it."""


class _Poll:
    """What one exchange is asked for, and what was seen of it."""

    __slots__ = ("draft", "draft_seen", "reply", "reply_taken", "torn")

    def __init__(self, folder: Path, draft_seen: Signature | None) -> None:
        """Watch the exchange in `folder`."""
        self.reply = folder / records.REPLY
        self.draft = folder / records.DRAFT
        self.reply_taken: Signature | None = None
        self.draft_seen = draft_seen
        self.torn: tuple[Signature, float] | None = None


class ReplyReader:
    """Asks for the replies and drafts of a session's pending exchanges.

    The process that began the session knows their numbers (`add`, `drop`); any other one looks.
    """

    def __init__(self, folder: SessionFolder, *, own: bool) -> None:
        """Ask in `folder`; `own` says that this process delivers its exchanges."""
        self._folder = folder
        self._own = own
        self._polls: dict[int, _Poll] = {}
        self._lock = threading.Lock()

    def add(self, number: int, draft_seen: Signature | None) -> None:
        """Ask for this exchange, too. The draft it starts with is nothing new."""
        path = self._folder.at(ExchangeState.PENDING, number)
        with self._lock:
            self._polls[number] = _Poll(path, draft_seen)

    def taken(self, number: int) -> Signature | None:
        """Return the reply of this exchange that was taken last."""
        poll = self._polls.get(number)
        return poll.reply_taken if poll else None

    def drop(self, number: int) -> None:
        """Stop reading it."""
        with self._lock:
            self._polls.pop(number, None)

    def given_back(self, number: int, draft_seen: Signature | None) -> None:
        """Take the next reply of this exchange as a new one."""
        poll = self._polls.get(number)
        if poll is not None:
            poll.reply_taken = None
            poll.draft_seen = draft_seen

    def _current(self) -> Sequence[tuple[int, _Poll]]:
        if not self._own:
            self._look()
        with self._lock:
            return tuple(self._polls.items())

    def _look(self) -> None:
        try:
            numbers = self._folder.numbers(ExchangeState.PENDING)
        except OSError:
            numbers = []
        with self._lock:
            self._polls = {
                number: self._polls.get(number)
                or _Poll(self._folder.at(ExchangeState.PENDING, number), None)
                for number in numbers
            }

    def replies(self, only: int = 0) -> Sequence[tuple[Key, Reply]]:
        """Return the replies that are new, oldest first: all, or the one to this exchange."""
        found: list[tuple[int, str, int, Reply]] = []
        for number, poll in self._current():
            if only not in (0, number):
                continue
            seen = signature(poll.reply)
            if seen is None or seen == poll.reply_taken:
                continue
            reply = self._reply(poll, seen)
            if reply is not None:
                poll.reply_taken = seen
                found.append((seen.mtime_ns, reply.at, number, reply))
        found.sort(key=lambda entry: entry[:3])  # some systems' times of files are of 4 ms
        return [(Key(self._folder.name, number), reply) for _, _, number, reply in found]

    def _reply(self, poll: _Poll, seen: Signature) -> Reply | None:
        try:
            reply = records.read_reply(records.decode(read_file(poll.reply)))
        except (OSError, records.UnreadableError) as error:
            if getattr(error, "errno", 0) not in _FOR_NOW:
                self._torn(poll, seen, error)
            return None
        poll.torn = None
        return reply

    def _torn(self, poll: _Poll, seen: Signature, error: Exception) -> None:
        """Put a reply that stays unreadable out of the way: it would keep everybody from sending.

        Only the server does so, and only it takes replies away: no readable one can be hit.
        """
        now = time.monotonic()
        if poll.torn is None or poll.torn[0] != seen:
            _log.warning("%s cannot be read (yet): %s", poll.reply, error)
            poll.torn = (seen, now)
        elif now - poll.torn[1] > _TORN_FOR:
            aside = poll.reply.with_name(records.TORN.format(os.urandom(6).hex()))
            _log.warning("%s is put aside as %s: %s", poll.reply, aside, error)
            poll.reply.replace(aside)
            poll.torn = None

    def drafts(self) -> Sequence[tuple[Key, Draft]]:
        found: list[tuple[Key, Draft]] = []
        for number, poll in self._current():
            seen = signature(poll.draft)
            if seen is None or seen == poll.draft_seen:
                continue
            try:
                draft = read_record(poll.draft, records.read_draft)
            except FileNotFoundError:
                continue
            if draft is not None:
                found.append((Key(self._folder.name, number), draft))
            poll.draft_seen = seen
        return found
