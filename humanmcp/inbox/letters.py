"""The letters of an inbox: each session has one, which a person types instead of its name."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from humanmcp.inbox import records
from humanmcp.inbox.atomic import drop, publish_first, read_file, write_temporary

if TYPE_CHECKING:
    from pathlib import Path

    from humanmcp.inbox.session_folder import SessionFolder

_log = logging.getLogger(__name__)


def letter_of(rank: int) -> str:
    """Count in letters: 0 is a, 25 is z, 26 is aa."""
    text = ""
    while rank >= 0:
        text = chr(ord("a") + rank % 26) + text
        rank = rank // 26 - 1
    return text


def rank_of(letter: str) -> int:
    """Return the number that a letter counts; -1 for none."""
    rank = 0
    for character in letter.lower():
        rank = rank * 26 + ord(character) - ord("a") + 1
    return rank - 1


class Letters:
    """The letters of an inbox."""

    def __init__(self, home: Path) -> None:
        self._path = home / records.LETTERS

    def give(self, folder: SessionFolder) -> str:
        """Give a session its letter, and return the one it has; "" where that cannot be kept."""
        try:
            self._path.mkdir(mode=0o700, exist_ok=True)
            rank = max(self._taken(), default=-1) + 1
            while not (letter := self._claim(folder, rank)):
                rank += 1
        except OSError as error:
            _log.warning("session %s gets no letter: %s", folder.name, error)
            return ""
        return letter

    def _claim(self, folder: SessionFolder, rank: int) -> str:
        """Take a letter for a session. "" when another session has it."""
        taken = self._path / records.LETTER_TAKEN.format(rank + 1)
        own = folder.path / records.LETTER
        record = {"letter": letter_of(rank), "session": folder.name}
        written, _ = write_temporary(folder.temporary, records.encode(record), durable=False)
        try:
            if not publish_first(written, taken, durable=False):
                return ""
            if publish_first(written, own, durable=False):
                return letter_of(rank)
            drop(taken)  # another desk gave it one at the same moment
            return records.read_letter(records.decode(read_file(own)))
        except records.UnreadableError as error:
            raise OSError(str(error)) from error
        finally:
            drop(written)

    def _taken(self) -> list[int]:
        with os.scandir(self._path) as entries:
            numbers = records.numbers_in((entry.name for entry in entries), records.LETTER_TAKEN)
        return [number - 1 for number in numbers]

    def sweep(self, sessions: Path) -> None:
        """Drop the records of sessions whose folders are gone, but for the last letter of all.

        No letter comes again: what was listed by its name must never name another one's prompt.
        """
        with suppress(FileNotFoundError):
            for rank in self._taken()[:-1]:
                path = self._path / records.LETTER_TAKEN.format(rank + 1)
                with suppress(OSError, records.UnreadableError):
                    name = records.decode(read_file(path)).get("session")
                    ours = isinstance(name, str) and records.is_session_name(name)
                    if ours and not (sessions / str(name)).exists():
                        drop(path)
