"""The person's files: `in.txt` to read, `out.txt` to write, `problems.txt` for what to fix.

Beside them stands `status.txt`, which is written here and made in `status.py`.

This module decides when a text is complete and where it goes. It judges no text.

How a text is sent: two looks at `out.txt` find the same content → the file is read → the text is
complete, or 2 s old → `poll` returns it → `settle` receives its result → the file is renamed to
`sent/0001.txt`. Refused texts are written back to `out.txt`. The renamed file is compared with the
judged text and still watched, because an editor that has it open may write more.
Nothing that a person typed is ever deleted or overwritten.
"""

from __future__ import annotations

import errno
import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.extensions.text_files.folder import (
    TEMPORARY,
    InTxt,
    OpenFolder,
    Unfit,
)
from humanmcp.extensions.text_files.out_txt import (
    Document,
    DocumentOutcome,
    TextReading,
    moved_to,
    note,
    over_line_end,
    report,
    texts_of,
    without,
)
from humanmcp.extensions.text_files.watched_file import Absence, WatchedFile
from humanmcp.inbox.atomic import OPEN_FILE_WAITS
from humanmcp.inbox.records import IN_TEXT, OUT_TEXT, PROBLEMS_TEXT, SENT, STATUS_TEXT
from humanmcp.locales.stop import trouble
from humanmcp.protocol.diagnostics.model import blocking
from humanmcp.protocol.repair.reading import decode_file
from humanmcp.protocol.validation.addressing import divide

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import Self

    from humanmcp.extensions.text_files.folder import FileMark

OWN: Final = frozenset({IN_TEXT, PROBLEMS_TEXT, STATUS_TEXT, TEMPORARY})
"""What this program alone writes: a change there is none of the person's."""
REFUSED: Final = "out.refused"
"""The stem of a text that was refused while the next one was written."""
BEFORE: Final = "out.before"
"""The stem of a text that stood there before the session."""

SAVES_WITHIN: Final = 2.0
"""Seconds that an editor may take to save: it empties the file first, and writes it then."""

_HELD_EVERY: Final = 0.1  # seconds between two looks at the files that were sent
_MOST_HELD: Final = 4
_MOST_FOLDERS: Final = 99
_MOST_TEXTS: Final = 1000  # in one file; more than that was not typed


class _Round(NamedTuple):
    """The texts that one look returned, and their results so far."""

    file: WatchedFile
    mark: FileMark
    raw: bytes
    reading: TextReading
    start: int
    texts: tuple[Document, ...]
    outcomes: tuple[DocumentOutcome, ...] = ()
    """What became of the texts, in their order; nothing before they are judged."""

    def became(self, *, sent: bool) -> list[DocumentOutcome]:
        """Return the results of the sent texts, or of the others, in order."""
        return [one for one in self.outcomes if one.sent is sent]


class _Move:
    """A planned rename of `out.txt`, and the number of failed attempts."""

    def __init__(self, round_: _Round) -> None:
        self.round = round_
        self.tries = 0
        self.next_try = 0.0


class _GivenBack(NamedTuple):
    """The refused texts of one source that humanmcp wrote back into `out.txt`."""

    file: WatchedFile
    content: bytes


class TextFiles:
    """The text files of one session in one folder. `note` is a message about the folder."""

    def __init__(
        self,
        folder: OpenFolder,
        before: Sequence[bytes] = (),
        *,
        archive: Path | None = None,
        shared: bool = True,
        note_: str = "",
    ) -> None:
        """Use a folder that is already claimed; call `claim` to get one."""
        self.shared = shared
        self.note = note_
        self._folder = folder
        self._now = 0.0
        self._emptied_until = -math.inf
        self._named = WatchedFile(OUT_TEXT)
        self._given_back: _GivenBack | None = None
        self._held: list[WatchedFile] = []
        self._next_held_look = 0.0
        self._round: _Round | None = None
        self._move: _Move | None = None
        self._last_text: str | None = None
        self._blames = False
        self._sent = SentFolder(folder, archive)
        self._trouble: OSError | None = None
        self.in_txt = InTxt(folder, before)
        aside = "" if self.in_txt.was_ours else self._set_old_out_aside()
        self._tell(aside)
        self.tell_status("")

    @classmethod
    def claim(
        cls,
        folder: Path,
        before: Sequence[bytes] = (),
        *,
        archive: Path | None = None,
        shared: bool = True,
    ) -> Self:
        """Claim a folder for this session, or the first free one of DIR-2, DIR-3 and so on.

        `before` are the lines of the client that came before: `in.txt` begins with them. A folder
        that is not `shared` is the session's own, and free. `archive` is the folder in which
        `sent/` keeps what was sent: this one, if none is given.

        Raises:
            UnsafeFolderError: it is a link, or others may write in it.
            OSError: it cannot be made or written.
        """
        wanted = folder.absolute()
        if not shared:
            own = OpenFolder(wanted)
            return cls(own, archive=archive, shared=False)
        for count in range(1, _MOST_FOLDERS + 1):
            path = wanted if count == 1 else wanted.with_name(f"{wanted.name}-{count}")
            place = OpenFolder.open(path)
            if place is None:
                continue
            note_ = note("in-use", wanted=wanted, folder=path) if count > 1 else ""
            try:
                return cls(
                    place,
                    before,
                    archive=archive,
                    note_=note_.strip(),
                )
            except BaseException:
                place.close()
                raise
        raise OSError(errno.EBUSY, f"{_MOST_FOLDERS} servers use it already", str(wanted))

    @property
    def folder(self) -> Path:
        return self._folder.path

    def release(self) -> None:
        """Release the folder; the files stay. A second call changes nothing."""
        self._folder.close()

    @property
    def is_gone(self) -> bool:
        """Return True if the folder was deleted or moved."""
        return self._folder.is_gone

    @property
    def trouble(self) -> OSError | None:
        """Why a file cannot be written; None if all can."""
        return self._trouble or self.in_txt.trouble

    def tell_status(self, text: str) -> None:
        """Write `status.txt`: what happened to each line of `in.txt`, and what will happen."""
        self.in_txt.catch_up()
        with self._noting_trouble():
            self._folder.replace(STATUS_TEXT, text.encode("utf-8", "replace"))

    # -- out.txt ------------------------------------------------------------------------------

    def poll(self, now: float) -> Sequence[Document]:
        """Look at `out.txt` and return the texts that are complete since the last look.

        `now` is in seconds, of a clock that never goes back. There are no others until each of
        these is settled.
        """
        self._now = now
        self._folder.look_around(now)
        self.in_txt.catch_up()
        if self._round is not None:
            return ()
        with self._noting_trouble():
            self._look(self._named)
            self._look_at_held()
        if self._named.has_content:
            self._emptied_until = now + SAVES_WITHIN
        return self._handed_out()

    @property
    def is_being_written(self) -> bool:
        """Return True if `out.txt` had unsent text at the last look.

        Also for a moment after it was emptied: an editor that saves empties the file first.
        """
        return self._move is None and (self._named.has_content or self._now < self._emptied_until)

    @property
    def look_again(self) -> float | None:
        """When to look again at a file that is being written; None if none is."""
        own = self._named.look_again if self._move is None else self._move.next_try
        emptied = self._emptied_until if self._now < self._emptied_until else None
        moments = [own, emptied]
        return min((one for one in moments if one is not None), default=None)

    def say_it_has_come(self, token: str) -> None:
        """Write into `problems.txt` that the request arrived that `out.txt` already answers."""
        self._tell(note("early", id=token), blames=True)

    def settle(self, outcomes: Sequence[DocumentOutcome]) -> None:
        """Accept the results of the texts that `poll` returned, in order.

        Unsent texts stay in `out.txt`, as typed.
        """
        if self._round is not None:
            judged, self._round = self._round._replace(outcomes=tuple(outcomes)), None
            with self._noting_trouble():
                self._finish(judged)

    def _handed_out(self) -> Sequence[Document]:
        return () if self._round is None else self._round.texts

    def _look_at_held(self) -> None:
        if self._now < self._next_held_look:
            return
        self._next_held_look = self._now + _HELD_EVERY
        for file in self._held:
            if self._round is None:
                self._look(file)

    def _look(self, file: WatchedFile) -> None:
        found = file.look(self._folder, self._now)
        match found:
            case Unfit() if file is self._named:
                self._tell(note(found.value, file=file.name), blames=True)
            case (bytes() as raw, mark):
                self._read(file, raw, mark)
            case Absence() if file is self._named:
                self._is_absent(found)
            case None if file is self._named and self._move is not None:
                self._try_to_move(self._move)
            case _:
                pass

    def _is_absent(self, absence: Absence) -> None:
        """Handle a missing `out.txt`: it was deleted, or an editor is replacing it."""
        if self._move is not None:
            move, self._move = self._move, None
            self._sent.keep(move.round.raw)
        if absence is Absence.GONE and self._blames:
            self._tell("")

    def _read(self, file: WatchedFile, raw: bytes, mark: FileMark) -> None:
        if file is self._named:
            self._given_back = None  # it is the person's again
        reading = TextReading(*decode_file(raw))
        if blocking(reading.repairs):
            self._refuse_bytes(file, mark, reading)
            return
        start = file.start_in(reading.text)
        documents = divide(reading.text[start:])
        unfinished = documents.incomplete or documents.malformed
        if not documents.texts and not unfinished:
            file.settle(mark)
            if file is self._named and self._blames:
                self._tell("")
        elif len(documents.texts) > _MOST_TEXTS:
            file.settle(mark)
            self._tell(note(Unfit.CROWDED.value, file=OUT_TEXT), blames=True)
        elif not unfinished or file.is_silent(self._now):
            texts = texts_of(reading, documents, start)
            self._round = _Round(file, mark, raw, reading, start, texts)
        elif file is self._named and self._blames:
            about_older = note("older text")
            told = (self._last_text or "").removeprefix(about_older)
            self._tell(f"{about_older}{told}", blames=True)

    def _refuse_bytes(self, file: WatchedFile, mark: FileMark, reading: TextReading) -> None:
        """Report bytes that are not text in any encoding, when no more are being written."""
        if file.is_silent(self._now):
            file.settle(mark)
            whole = Document(reading.text, repairs=reading.repairs)
            aside = "" if file is self._named else file.name
            self._report([DocumentOutcome(whole, sent=False, diagnostics=())], aside)

    # -- what becomes of a file ---------------------------------------------------------------

    def _finish(self, round_: _Round) -> None:
        file, text = round_.file, round_.reading.text
        file.settle(round_.mark)
        sent = [one.document for one in round_.became(sent=True)]
        if sent:
            end = over_line_end(text, sent[-1].end)
            file.send(text, end, without(text, round_.start, end, sent))
        if file is not self._named:
            self._return_refused(round_)
            return
        self._report(round_.outcomes)
        if sent:  # else it stays as it is, and is judged again when it changes
            self._try_to_move(_Move(round_))

    def _try_to_move(self, move: _Move) -> None:
        """Rename `out.txt` to its private name; try again later if that fails."""
        self._move, self._emptied_until = move, -math.inf
        if self._now < move.next_try:
            return
        try:
            name = self._sent.take(OUT_TEXT)
        except FileNotFoundError:  # the person took it away: keep what was sent
            self._move = None
            self._sent.keep(move.round.raw)
        except OSError as error:
            move.next_try = self._now + OPEN_FILE_WAITS[min(move.tries, len(OPEN_FILE_WAITS) - 1)]
            move.tries += 1
            if move.tries == len(OPEN_FILE_WAITS):
                why = trouble(error)
                self._tell(note("kept", file=OUT_TEXT, why=why))
        else:
            self._move = None
            self._moved(move.round, name)

    def _moved(self, round_: _Round, name: str) -> None:
        """Compare the renamed file with the judged text, and write refused texts back."""
        file = round_.file
        file.name = name
        mark = self._folder.mark(name)
        found = None if mark is None else self._folder.read(name, mark)
        # Anything else was written since: it is looked at like a text in out.txt.
        file.settle(mark if found == round_.raw else None)
        if isinstance(found, bytes) and not found.startswith(round_.raw):
            self._sent.keep(round_.raw)
        self._held = [file, *self._held[: _MOST_HELD - 1]]
        self._named = WatchedFile(OUT_TEXT)
        self._given_back = None
        self._return_refused(round_)

    def _return_refused(self, round_: _Round) -> None:
        """Write the refused texts of a sent file back into `out.txt`, with the reasons."""
        file, refused = round_.file, round_.became(sent=False)
        remainder = file.early + round_.reading.text[file.gone :]
        self._withdraw(file)
        aside = self._give_back(file, remainder) if remainder.strip() else ""
        self._report([*moved_to(remainder, refused), *round_.became(sent=True)], aside)
        if self._given_back is not None and self._folder.mark(OUT_TEXT) is None:
            self._tell("")  # they deleted it before it was looked at again

    def _give_back(self, file: WatchedFile, remainder: str) -> str:
        """Write refused texts into `out.txt`, or into another file: return its name then."""
        content = remainder.encode("utf-8", "surrogatepass")
        try:
            self._folder.create(OUT_TEXT, content)
        except FileExistsError:  # somebody is writing the next one already
            aside = self._folder.free_name(REFUSED)
            self._folder.create(aside, content)
            return aside
        self._named = WatchedFile(OUT_TEXT)
        self._named.settle(self._folder.mark(OUT_TEXT))
        self._given_back = _GivenBack(file, content)
        return ""

    def _withdraw(self, file: WatchedFile) -> None:
        """Remove the texts of this source that we wrote back, unless a person edited them."""
        back = self._given_back
        if back is None or back.file is not file or not self._named.is_as_settled(self._folder):
            return
        self._given_back = None
        name = self._sent.take(OUT_TEXT)
        mark = self._folder.mark(name)
        if mark is not None and self._folder.read(name, mark) == back.content:
            self._folder.remove(name)
        else:
            self._folder.give_back(name, OUT_TEXT)

    def _set_old_out_aside(self) -> str:
        """Set older content aside: nobody knows which request it answers."""
        mark = self._folder.mark(OUT_TEXT)
        if mark is None or not mark.size or mark.unfit not in (None, Unfit.LARGE):
            return ""
        aside = self._folder.free_name(BEFORE)
        self._folder.rename(OUT_TEXT, aside)
        return note("before", file=aside)

    @contextmanager
    def _noting_trouble(self) -> Iterator[None]:
        """Keep the session alive if the disk fails: typed and renamed files are still there."""
        try:
            yield
        except OSError as error:
            self._trouble = error

    # -- problems.txt -------------------------------------------------------------------------

    def _report(self, outcomes: Iterable[DocumentOutcome], aside: str = "") -> None:
        outcomes = tuple(outcomes)
        text = report(outcomes, aside)
        self._tell(text, blames=any(not one.sent for one in outcomes))

    def _tell(self, text: str, *, blames: bool = False) -> None:
        """Write `problems.txt`. `blames` says that its text is still in `out.txt`."""
        self._blames = blames
        if text == self._last_text:
            return
        try:
            self._folder.replace(PROBLEMS_TEXT, text.encode("utf-8", "replace"))
        except OSError as error:
            self._trouble = error
        else:
            self._last_text, self._trouble = text, None


class SentFolder:
    """The folder `sent` in the archive, or in the folder itself if that is not possible."""

    def __init__(self, folder: OpenFolder, archive: Path | None = None) -> None:
        self._place = folder
        self._folder = SENT if archive is None else str(archive / SENT)
        self._count = 0

    def take(self, name: str) -> str:
        """Rename a file of the folder to the next number. Return its new name.

        Raises:
            FileNotFoundError: there is no such file.
            OSError: it cannot be renamed now; Windows does not rename what is open elsewhere.
        """
        new = self._next()
        try:
            self._place.rename(name, new)
        except OSError as error:
            if error.errno != errno.EXDEV or self._folder == SENT:
                raise
            self._settle_here()  # the archive is on another disk
            new = self._next()
            self._place.rename(name, new)
        return new

    def keep(self, content: bytes) -> None:
        """Store the content of a file that no longer exists."""
        self._place.create(self._next(), content)

    def _next(self) -> str:
        try:
            self._place.make_folder(self._folder)
        except FileNotFoundError:  # somebody removed the archive
            self._settle_here()
            self._place.make_folder(self._folder)
        while True:
            self._count += 1
            name = f"{self._folder}/{self._count:04d}.txt"
            if self._place.mark(name) is None:
                return name

    def _settle_here(self) -> None:
        self._folder, self._count = SENT, 0
