"""Saved answers: short texts that a person keeps for the next time, one file each.

The files stand in `answers/` of the inbox folder and may be copied to another person. Their names
are ours; what is for which method and tool stands inside.
"""

from __future__ import annotations

import json
import logging
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from humanmcp.desk import history
from humanmcp.desk.login import write_private
from humanmcp.protocol.diagnostics.model import TextForm

if TYPE_CHECKING:
    from pathlib import Path

    from humanmcp.desk.board import Board, SessionView

_log = logging.getLogger(__name__)

FOLDER: Final = "answers"
MOST: Final = 200
"""Saved answers that are read; the keys 1 to 9 stand for the first ones that fit."""
_FILE: Final = re.compile(r"(\d{4})\.json", re.ASCII)


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved answer. `method` and `tool` say what it is for; `text` is in the given form."""

    number: int
    name: str
    method: str
    tool: str
    form: TextForm
    text: str


class Shelf:
    """The folder of saved answers."""

    def __init__(self, home: Path) -> None:
        """Keep them in `home`."""
        self._folder = home / FOLDER
        self.thrown: Saved | None = None
        """What was thrown away last, until it is brought back."""

    def all(self) -> tuple[Saved, ...]:
        """List every saved answer, in the order in which they were saved."""
        found = (self._read(path) for path in self._files()[:MOST])
        return tuple(one for one in found if one is not None)

    def fitting(self, method: str, tool: str) -> tuple[Saved, ...]:
        """List what fits a request: those for the same tool first, then those for any."""
        fits = [one for one in self.all() if one.method == method and one.tool in ("", tool)]
        return tuple(sorted(fits, key=lambda one: (one.tool == "", one.number)))

    def add(self, *, name: str, method: str, tool: str, form: TextForm, text: str) -> Saved:
        """Save an answer.

        Raises:
            OSError: it cannot be written.
        """
        self._folder.mkdir(mode=0o700, exist_ok=True)
        number = max((int(path.stem) for path in self._files()), default=0) + 1
        saved = Saved(number, name[:80], method, tool, form, text)
        record = {**asdict(saved), "form": form.value}
        del record["number"]
        write_private(self._path(number), json.dumps(record, ensure_ascii=False, indent=1))
        return saved

    def remove(self, number: int) -> None:
        """Throw a saved answer away. One that is gone already is no trouble."""
        path = self._path(number)
        self.thrown = self._read(path) if path.exists() else self.thrown
        path.unlink(missing_ok=True)

    def bring_back(self) -> None:
        """Save what was thrown away last once more, after the others.

        Raises:
            OSError: it cannot be written.
        """
        if self.thrown is not None:
            named = asdict(self.thrown)
            del named["number"]
            self.add(**named)
            self.thrown = None

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:04d}.json"

    def _files(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return sorted(path for path in self._folder.iterdir() if _FILE.fullmatch(path.name))

    def _read(self, path: Path) -> Saved | None:
        try:
            record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return Saved(
                number=int(path.stem),
                name=str(record["name"]),
                method=str(record["method"]),
                tool=str(record.get("tool", "")),
                form=TextForm(record["form"]),
                text=str(record["text"]),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _log.warning("%s is no saved answer: %s", path, error)
            return None


RECENT: Final = 12
"""Lines of the past that stand under what waits."""
FEW: Final = 6
"""Running sessions that stand above the list by name; of more it shows those that wait."""


def listed(board: Board, session: str) -> dict[str, Any]:
    """Gather what the list shows, of one session if named."""
    return {
        "session": session,
        "find": "",
        "running": _running(board, session),
        "rows": board.waiting(session),
        "writers": board.writers,
        "recent": () if board.inbox.away else history.recent(board, RECENT),
    }


def _running(board: Board, session: str = "") -> list[SessionView]:
    """List the running sessions: the oldest first, or of many the one chosen and who waits."""
    running = [one for one in board.sessions() if one.facts.is_open]
    if len(running) <= FEW:
        return running[::-1]
    return sorted(running, key=lambda one: (one.facts.name != session, not one.waiting))


def found(board: Board, text: str) -> SessionView | None:
    """Return the running session with a letter, or the first with these words in what is shown."""
    wanted = text.strip().casefold()
    running = _running(board)
    words = ((one, f"{one.facts.title} {one.facts.client}".casefold()) for one in running)
    by_letter = (one for one in running if one.badge.letter.casefold() == wanted)
    return next(by_letter, next((one for one, said in words if wanted in said), None))
