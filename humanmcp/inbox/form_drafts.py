"""What people typed into the forms of pages, until it is sent, and notes: one file for each.

The key of a draft is the place, a space and the form: `SESSION/NUMBER deny`. An exchange's place is
`Desk.draft_name`; other places are a session or a page. No key becomes part of a path.
"""

from __future__ import annotations

import hashlib
import re
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.inbox import records
from humanmcp.inbox.atomic import keeping, replace_file
from humanmcp.inbox.session_folder import find_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FOLDER: Final = "forms"
MOST: Final = 1000
"""The maximum number of drafts in an inbox: nobody can fill the disk with their keys."""


class FormDraft(NamedTuple):
    """A form as a person left it. `words` is what they typed, to read and to copy."""

    key: str
    fields: Mapping[str, str]
    words: str
    at: str


class FormDrafts:
    """The drafts of all forms. Several processes may share the folder."""

    def __init__(self, home: Path) -> None:
        """Use the folder below `home`."""
        self._home = home / FOLDER

    def _folder(self, key: str) -> Path:
        """Return the folder of a session or page, the first word of a key."""
        return self._home / _digest(re.split("[/ ]", key)[0])

    def _file(self, key: str) -> Path:
        return self._folder(key) / f"{_digest(key)}.json"

    def save(self, draft: FormDraft) -> None:
        """Replace the draft of a form.

        Raises:
            StoreError: the disk does not take it.
        """
        file = self._file(draft.key)
        with keeping("form"):
            for folder in (self._home, file.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
            content = records.encode(draft._asdict())
            replace_file(self._home / "tmp", file, content, durable=False)

    def is_full_for(self, key: str) -> bool:
        """Return True if a new draft has no place."""
        return not self._file(key).exists() and sum(1 for _ in self._home.glob("*/*.json")) >= MOST

    def find(self, key: str) -> FormDraft | None:
        found = _read(self._file(key))
        return found if found is not None and found.key == key else None

    def at(self, place: str) -> Sequence[FormDraft]:
        """List the drafts of all forms of a place in which there are words, oldest first."""
        found = (_read(file) for file in self._folder(place).glob("*.json"))
        mine = [one for one in found if one and one.words and one.key.startswith(f"{place} ")]
        return sorted(mine, key=lambda one: one.at)

    def forget(self, key: str) -> None:
        self._file(key).unlink(missing_ok=True)

    def forget_place(self, place: str) -> None:
        """Delete the drafts of a place and of the places below it: of a session, all of them."""
        for file in self._folder(place).glob("*.json"):
            found = _read(file)
            if found is None or found.key.startswith((f"{place} ", f"{place}/")):
                file.unlink(missing_ok=True)

    # -- notes at recorded lines: drafts that nobody sends, forgotten with their session or exchange

    def note(self, session: str, seq: int, number: int, text: str | None) -> None:
        """Keep a note at a line of the exchange `number`, "" for a mark alone; None removes it.

        Raises:
            StoreError: the disk does not take it.
        """
        place = f"{session}/{number}" if number else session
        key = f"{place} note {seq}"
        if text is None:
            self.forget(key)
        elif not self.is_full_for(key):
            self.save(FormDraft(key, {"line": str(seq), "note": text}, "", ""))

    def notes(self, session: str) -> dict[int, str]:
        """Return the notes at the lines of a session by the number of the line."""
        found = (_read(file) for file in self._folder(session).glob("*.json"))
        return {
            int(one.fields["line"]): one.fields.get("note", "")
            for one in found
            if one is not None and _NOTE.fullmatch(one.key) and "line" in one.fields
        }


_NOTE: Final = re.compile(r"[^ ]+ note [0-9]+")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _read(file: Path) -> FormDraft | None:
    return find_record(file, partial(records.read, FormDraft))
