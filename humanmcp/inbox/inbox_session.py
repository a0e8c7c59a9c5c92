"""What a process does with the exchanges of a session that it runs: take replies, end exchanges.

A full disk must not lose the end of an exchange: its peer has the response, so nothing says again
what became of it. What the disk refuses is owed: `catch_up` writes it, now and then, and once more
before the session ends. Server, tap and asked persons do all this here.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from humanmcp.inbox.contract import InboxError, Key, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.inbox.contract import Answer, Reply, ServerInbox
    from humanmcp.protocol.conversation.exchange import ExchangeState
    from humanmcp.protocol.diagnostics.model import Diagnostic

logger = logging.getLogger(__name__)


class InboxSession:
    """One session of an inbox, for the process that runs it. Safe to use from several threads."""

    def __init__(self, inbox: ServerInbox, session: str) -> None:
        """Run a session that this process has begun."""
        self._inbox = inbox
        self._session = session
        self._owed: list[tuple[str, Callable[[], None]]] = []
        self._settling: set[str] = set()
        self._lock = threading.Lock()

    def close(
        self, number: int, state: ExchangeState, answer: Answer | None = None, reason: str = ""
    ) -> None:
        """Move an exchange to its last state."""
        key = Key(self._session, number)
        self.write(
            f"the end of exchange {number}", lambda: self._inbox.close(key, state, answer, reason)
        )

    def refuse(self, number: int, diagnostics: Sequence[Diagnostic]) -> None:
        """Give a reply back to the person who sent it, with its problems."""
        key = Key(self._session, number)
        self.write(
            f"what is wrong with the reply to {number}",
            lambda: self._inbox.refuse(key, diagnostics),
        )

    def settle(self, ticket: str, diagnostics: Sequence[Diagnostic]) -> None:
        """Store the result of an outgoing message."""
        self._settling.add(ticket)

        def settle() -> None:
            self._inbox.settle(self._session, ticket, diagnostics)
            self._settling.discard(ticket)

        self.write(f"what became of outgoing message {ticket}", settle)

    def outgoing(self) -> list[tuple[str, Reply]]:
        """Return the outgoing messages that people handed in, each until it is settled."""
        waiting = self._inbox.outgoing(self._session)
        return [one for one in waiting if one[0] not in self._settling]

    def handed_in(self) -> Sequence[tuple[Key | str, Reply]]:
        """Return the replies and outgoing messages that people handed in, oldest first.

        Of one moment, what was said before what ends it: whatever was handed in before a reply is
        there by the time that replies have been taken.
        """
        replies = self._inbox.take(self._session)
        return sorted([*self.outgoing(), *replies], key=lambda one: one[1].at)

    def write(self, what: str, write: Callable[[], None]) -> None:
        """Change the inbox now, or later if the disk refuses it."""
        error = self._try(what, write)
        if error is not None:
            logger.warning("not kept yet: %s: %s", what, error)

    def _try(self, what: str, write: Callable[[], None]) -> StoreError | None:
        """Change the inbox, or queue the change. Return the disk's error, if any."""
        try:
            write()
        except StoreError as error:
            with self._lock:
                self._owed.append((what, write))
            return error
        except InboxError as error:
            logger.warning("not kept: %s: %s", what, error)
        return None

    def catch_up(self) -> None:
        """Retry the changes that the disk refused."""
        if not self._owed:
            return
        with self._lock:
            owed, self._owed = self._owed, []
        for what, write in owed:
            self._try(what, write)
