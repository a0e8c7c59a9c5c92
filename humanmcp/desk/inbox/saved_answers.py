"""Saved answers: short texts that a person keeps for later, one file each.

The files are in `answers/` of the inbox folder and can be copied to another person. Their names are
ours; each file contains its method and tool.
"""

from __future__ import annotations

import json
import logging
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from humanmcp.inbox.atomic import write_private
from humanmcp.protocol.answer_book.placeholders import fill_answer
from humanmcp.protocol.diagnostics.model import TextForm

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_log = logging.getLogger(__name__)

FOLDER: Final = "answers"
MOST: Final = 200
"""The maximum number of saved answers; the keys 1 to 9 choose the first that match."""
_FILE: Final = re.compile(r"(\d{4})\.json", re.ASCII)


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved answer for a `method` and a `tool`; `text` has the given form."""

    number: int
    name: str
    method: str
    tool: str
    form: TextForm
    text: str


def filled(text: str, form: TextForm, arguments: Mapping[str, Any]) -> str:
    """Return an answer with the values of a request; a text that is not JSON stays unchanged."""
    try:
        return fill_answer(text, form, arguments)
    except ValueError:
        return text


class Shelf:
    """The folder of saved answers."""

    def __init__(self, home: Path) -> None:
        """Use the folder below `home`."""
        self._folder = home / FOLDER
        self.thrown: Saved | None = None
        """The last deleted answer, until it is restored."""

    def all(self) -> tuple[Saved, ...]:
        """Return every saved answer, in the order of saving."""
        found = (self._read(path) for path in self._files()[:MOST])
        return tuple(one for one in found if one is not None)

    def fitting(self, method: str, tool: str) -> tuple[Saved, ...]:
        """Return the answers for a request: those for the same tool first, then those for any."""
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
        """Delete a saved answer, if it exists."""
        path = self._path(number)
        self.thrown = self._read(path) if path.exists() else self.thrown
        path.unlink(missing_ok=True)

    def bring_back(self) -> None:
        """Restore the last deleted answer, after the others.

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
            texts = {name: str(record[name]) for name in ("name", "method", "text")}
            tool, form = str(record.get("tool", "")), TextForm(record["form"])
            return Saved(int(path.stem), tool=tool, form=form, **texts)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _log.warning("%s is no saved answer: %s", path, error)
            return None
