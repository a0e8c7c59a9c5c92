"""Keep boards up to date: one thread reads again whatever the watch says may have changed.

The watch may wake many times for one change, and must not be held up; so its wakes only mark an
exchange, or the rest of a session, and a burst of them is read once.
"""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from humanmcp.common.paths import UnsafeFolderError
from humanmcp.inbox.contract import InboxError
from humanmcp.inbox.watch import Watch

if TYPE_CHECKING:
    from typing import Self

    from humanmcp.desk.state.board import Board

_log = logging.getLogger(__name__)


class Following:
    """Follows the inbox of a board, or those of several, while its `with` block lasts."""

    def __init__(self, board: Board | None = None, *, below: Path | None = None) -> None:
        """Keep `board` up to date with its inbox; or those that are added.

        With `below` one watch serves all of them: their inboxes are folders there.
        """
        self._first = board
        self._boards: list[Board] = []
        self._below = None if below is None else Watch(below)
        self._watches = ExitStack()
        self._marked: set[tuple[int, str, int]] = set()
        self._condition = threading.Condition()
        self._ending = False
        self._thread = threading.Thread(target=self._work, name="desk-follow", daemon=True)

    def add(self, home: Path, board: Board) -> None:
        """Keep another board up to date; its inbox may lie in the folder `home`."""
        wake = partial(self._wake, len(self._boards))
        self._boards.append(board)
        if self._below is None:
            self._watches.enter_context(board.inbox.watch(wake))
        else:
            self._below.add(home, wake)
        board.refresh_all()

    def __enter__(self) -> Self:
        """Start to watch, then read everything: what comes in between is marked."""
        if self._below is not None:
            self._watches.enter_context(self._below)
        if self._first is not None:
            self.add(Path(), self._first)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._watches.close()
        with self._condition:
            self._ending = True
            self._condition.notify()
        self._thread.join()

    def _wake(self, board: int, session: str, number: int) -> None:
        with self._condition:
            self._marked.add((board, session, number))
            self._condition.notify()

    def _work(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._marked or self._ending)
                if self._ending:
                    return
                marked, self._marked = self._marked, set()
            for board, session, number in sorted(marked):
                self._read(self._boards[board], session, number)

    def _read(self, board: Board, session: str, number: int) -> None:
        try:
            board.refresh(session, number)
        except (OSError, InboxError, UnsafeFolderError) as error:
            _log.warning("session %s cannot be read: %s", session, error)
