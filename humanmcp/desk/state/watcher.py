"""Keep boards up to date: one thread reads again whatever the watch says may have changed.

The watch may wake many times for one change, and must not be held up; so its wakes only mark an
exchange, or the rest of a session, and a burst of them is read once.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from humanmcp.common.paths import UnsafeFolderError
from humanmcp.inbox.contract import InboxError
from humanmcp.inbox.watch import Watch

if TYPE_CHECKING:
    from typing import Self

    from humanmcp.desk.state.board import Board
    from humanmcp.inbox.contract import Watching

_log = logging.getLogger(__name__)


class Following:
    """Follows the inbox of a board, or several below a folder, while its `with` block lasts."""

    def __init__(self, board: Board | None = None, *, below: Path = Path()) -> None:
        """Keep `board` up to date with its inbox; or those that are added, `below` a folder."""
        self._boards = [] if board is None else [board]
        self._below = Watch(below)
        self._watch: Watching = (
            self._below if board is None else board.inbox.watch(partial(self._wake, 0))
        )
        self._marked: set[tuple[int, str, int]] = set()
        self._condition = threading.Condition()
        self._ending = False
        self._thread = threading.Thread(target=self._work, name="desk-follow", daemon=True)

    def add(self, home: Path, board: Board) -> None:
        """Keep another board up to date, with an inbox below the folder."""
        self._boards.append(board)
        self._below.add(home, partial(self._wake, len(self._boards) - 1))
        board.refresh_all()

    def __enter__(self) -> Self:
        """Start to watch, then read everything: what comes in between is marked."""
        self._watch.__enter__()
        for board in self._boards:
            board.refresh_all()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._watch.__exit__()
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
