"""The person's three files: `in.txt` to read, `out.txt` to write, `problems.txt` to mend by.

Knows when a text is complete and what becomes of it, and judges none: the loop does, one by one.

How a text goes: two looks at `out.txt` see the same → it is read → it is complete, or 2 s old →
`poll` hands it out → `accept` or `refuse` → when the last one is settled, the file is renamed to
`sent/0001.txt`. What was refused comes back to `out.txt`. The renamed file is compared with what
was judged and watched on: who still had it open may go on writing, and that counts as well.
Nothing that a person typed is ever deleted or written over.
"""

from __future__ import annotations

import errno
import re
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.problems import line_and_column
from humanmcp.stub.explain import note, report
from humanmcp.stub.place import Place, Unfit
from humanmcp.stub.reading import Outcome, texts_of, without
from humanmcp.stub.watched import Absence, Watched

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from typing import Self

    from humanmcp.protocol.problems import Problem
    from humanmcp.stub.place import Mark
    from humanmcp.stub.reading import Decode, Divide, Reading, Text

IN: Final = "in.txt"
OUT: Final = "out.txt"
PROBLEMS: Final = "problems.txt"
SENT: Final = "sent"

_HELD_EVERY: Final = 0.1  # seconds between two looks at the files that were sent
_MOST_HELD: Final = 4
_MOST_FOLDERS: Final = 99
# Windows: an editor, an indexer or a virus scanner keeps a file for a moment after it was written.
_RETRIES: Final = (0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.4, 0.5, 0.5, 0.5)
_NUMBERED: Final = re.compile(r"(\d{4,})\.txt", re.ASCII)


@dataclass(slots=True)
class _Round:
    """The texts of one reading that were handed out, and what became of them so far."""

    source: Watched
    mark: Mark
    raw: bytes
    reading: Reading
    start: int
    texts: tuple[Text, ...]
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    @property
    def sent(self) -> list[Text]:
        """The texts that were accepted."""
        return [one.text for one in self.outcomes.values() if one.sent]

    @property
    def refused(self) -> list[Outcome]:
        """What became of the others, in their order."""
        return [self.outcomes[text.number] for text in self.texts if text not in self.sent]


@dataclass(slots=True)
class _Move:
    """A rename of `out.txt` that is to be done, and how often it was tried in vain."""

    round: _Round
    tries: int = 0
    next_try: float = 0.0


class _GivenBack(NamedTuple):
    """What we wrote into `out.txt` ourselves: refused texts of this source."""

    source: Watched
    content: bytes


class TextFiles:
    """The three files of one session in one folder. `note` is what a person should know of it."""

    def __init__(  # noqa: PLR0913 - each is a part of its own
        self,
        place: Place,
        *,
        decode: Decode,
        divide: Divide,
        archive: Path | None = None,
        language: str = "en",
        shared: bool = True,
        told: str = "",
    ) -> None:
        """Begin a session in a folder that is held already; `claim` is the way to get one."""
        self.shared = shared
        self.note = told
        self.trouble: OSError | None = None
        """What keeps `in.txt` or `problems.txt` from being written; None when nothing does."""
        self._place = place
        self._decode = decode
        self._divide = divide
        self._language = language
        self._now = 0.0
        self._named = Watched(OUT)
        self._given_back: _GivenBack | None = None
        self._held: list[Watched] = []
        self._next_held_look = 0.0
        self._round: _Round | None = None
        self._move: _Move | None = None
        self._texts = 0
        self._backlog = b""
        self._told: str | None = None
        self._blames = False
        self._sent = SENT if archive is None else str(archive / SENT)
        self._set_old_in_aside()
        self._tell(self._set_old_out_aside())

    @classmethod
    def claim(  # noqa: PLR0913 - each is a part of its own
        cls,
        folder: Path,
        *,
        decode: Decode,
        divide: Divide,
        archive: Path | None = None,
        language: str = "en",
        shared: bool = True,
    ) -> Self:
        """Take a folder for this session, or the first free of DIR-2, DIR-3, … when it is in use.

        `archive` is the folder in which `sent/` keeps what was sent: this one, if none is given.

        Raises:
            UnsafeFolderError: it is a link, or others may write in it.
            OSError: it cannot be made or written.
        """
        wanted = folder.absolute()
        for count in range(1, _MOST_FOLDERS + 1):
            path = wanted if count == 1 else wanted.with_name(f"{wanted.name}-{count}")
            place = Place.open(path)
            if place is None:
                continue
            told = note("in-use", language, wanted=wanted, folder=path) if count > 1 else ""
            try:
                return cls(
                    place,
                    decode=decode,
                    divide=divide,
                    archive=archive,
                    language=language,
                    shared=shared,
                    told=told.strip(),
                )
            except BaseException:
                place.close()
                raise
        raise OSError(errno.EBUSY, f"{_MOST_FOLDERS} servers use it already", str(wanted))

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._place.path

    def release(self) -> None:
        """Let the folder go; the files stay. A second time changes nothing."""
        self._place.close()

    # -- in.txt -------------------------------------------------------------------------------

    def arrived(self, line: bytes) -> None:
        """Add a line from the client to `in.txt`, verbatim, with one write.

        What the disk does not take now is written later, in order; `trouble` says why.
        """
        self._backlog += line + b"\n"
        self._write_backlog()

    def _write_backlog(self) -> None:
        try:
            while self._backlog:
                written = self._place.append(IN, self._backlog)
                self._backlog = self._backlog[written:]
        except OSError as error:
            self.trouble = error
        else:
            self.trouble = None

    def _set_old_in_aside(self) -> None:
        """Begin with an empty `in.txt`; keep what an earlier session left in it.

        Copied and emptied in place, not renamed: a `tail -f in.txt` that is still running reads on
        in the same file, says "file truncated", and shows the new session.
        """
        mark = self._place.mark(IN)
        if mark is not None and mark.unfit is None and mark.size:
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(mark.changed_ns / 1e9))
            self._place.copy(IN, self._free_name(f"in.{stamp}"))
        self._place.empty(IN)

    # -- out.txt ------------------------------------------------------------------------------

    def poll(self, now: float) -> Sequence[Text]:
        """Look at `out.txt`; return the texts that have become complete since the last look.

        `now` is in seconds, of a clock that never goes back. There are no others until each of
        these was accepted or refused.
        """
        self._now = now
        if self._backlog:
            self._write_backlog()
        if self._round is not None:
            return ()
        self._look(self._named)
        self._look_at_held()
        return self._handed_out()

    def accept(self, text: Text, problems: Sequence[Problem] = ()) -> None:
        """Say that a text was sent; `problems` are what should be noticed all the same."""
        self._settle(Outcome(text, sent=True, problems=tuple(problems)))

    def refuse(self, text: Text, problems: Sequence[Problem]) -> None:
        """Say that a text was not sent, and why. It stays in `out.txt`, as typed."""
        self._settle(Outcome(text, sent=False, problems=tuple(problems)))

    def _handed_out(self) -> Sequence[Text]:
        return () if self._round is None else self._round.texts

    def _look_at_held(self) -> None:
        if self._now < self._next_held_look:
            return
        self._next_held_look = self._now + _HELD_EVERY
        for source in self._held:
            if self._round is None:
                self._look(source)

    def _look(self, source: Watched) -> None:
        found = source.look(self._place, self._now)
        match found:
            case Unfit() if source is self._named:
                self._tell(note(found.value, self._language, file=source.name), blames=True)
            case (bytes() as raw, mark):
                self._read(source, raw, mark)
            case Absence.GONE if source is self._named and self._blames:
                self._tell("")
            case None if source is self._named and self._move is not None:
                self._try_to_move(self._move)
            case _:
                pass

    def _read(self, source: Watched, raw: bytes, mark: Mark) -> None:
        reading = self._decode(raw)
        start = source.start_in(reading.text)
        division = self._divide(reading.text[start:])
        if not division.documents and division.rest is None:
            source.settle(mark)
            if source is self._named and self._blames:
                self._tell("")
        elif division.whole or source.is_silent(self._now):
            texts = texts_of(reading, division, start, self._texts)
            self._texts += len(texts)
            self._round = _Round(source, mark, raw, reading, start, texts)

    def _settle(self, outcome: Outcome) -> None:
        now = self._round
        if now is None or outcome.text not in now.texts or outcome.text.number in now.outcomes:
            return
        now.outcomes[outcome.text.number] = outcome
        if len(now.outcomes) == len(now.texts):
            self._round = None
            self._finish(now)

    # -- what becomes of a file ---------------------------------------------------------------

    def _finish(self, done: _Round) -> None:
        source = done.source
        source.settle(done.mark)
        if done.sent:
            end = max(text.end for text in done.sent)
            source.send(
                done.reading.text, end, without(done.reading.text, done.start, end, done.sent)
            )
        if source is not self._named:
            self._return_refused(done)
        elif done.sent:
            self._report(done.outcomes.values())
            self._try_to_move(_Move(done))
        else:  # it stays as it is, and is judged again when it changes
            self._report(done.outcomes.values())

    def _try_to_move(self, move: _Move) -> None:
        """Rename `out.txt` to its private name. Where that cannot be done now, later."""
        self._move = move
        if self._now < move.next_try:
            return
        try:
            name = self._rename_to_sent()
        except FileNotFoundError:  # the person took it away: keep what was sent
            self._move = None
            self._keep_copy(move.round.raw)
        except OSError:
            move.next_try = self._now + _RETRIES[min(move.tries, len(_RETRIES) - 1)]
            move.tries += 1
            if move.tries == len(_RETRIES):
                self._tell(note("kept", self._language, file=OUT))
        else:
            self._move = None
            self._moved(move.round, name)

    def _moved(self, done: _Round, name: str) -> None:
        """Compare what was renamed with what was judged, and give back what was refused."""
        source = done.source
        source.name = name
        mark = self._place.mark(name)
        found = None if mark is None else self._place.read(name, mark)
        # Anything else was written since: it is looked at like a text in out.txt.
        source.settle(mark if found == done.raw else None)
        if isinstance(found, bytes) and not found.startswith(done.raw):
            self._keep_copy(done.raw)
        self._held = [source, *self._held[: _MOST_HELD - 1]]
        self._named = Watched(OUT)
        self._given_back = None
        self._return_refused(done)

    def _return_refused(self, done: _Round) -> None:
        """Put what was refused in a file that was sent back into `out.txt`, and tell why."""
        source = done.source
        remainder = source.early + done.reading.text[source.gone :]
        self._withdraw(source)
        if not done.refused:
            remainder = remainder if remainder.strip() else ""
        aside = self._give_back(source, remainder) if remainder else ""
        self._report([*_moved_within(remainder, done.refused), *_sent(done)], aside)

    def _give_back(self, source: Watched, remainder: str) -> str:
        """Write refused texts into `out.txt`. Returns the name it had to take instead, if any."""
        content = remainder.encode("utf-8", "surrogatepass")
        try:
            self._place.create(OUT, content)
        except FileExistsError:  # somebody is writing the next one already
            aside = self._free_name("out.refused")
            self._place.create(aside, content)
            return aside
        self._named = Watched(OUT)
        self._named.settle(self._place.mark(OUT))
        self._given_back = _GivenBack(source, content)
        return ""

    def _withdraw(self, source: Watched) -> None:
        """Take back what we gave back of this source, unless a person has touched it."""
        back = self._given_back
        if back is None or back.source is not source or not self._named.is_as_settled(self._place):
            return
        self._given_back = None
        name = self._rename_to_sent()
        mark = self._place.mark(name)
        if mark is not None and self._place.read(name, mark) == back.content:
            self._place.remove(name)
        else:
            self._place.give_back(name, OUT)

    def _set_old_out_aside(self) -> str:
        """Never send what stood there before the session: nobody knows what it answers."""
        mark = self._place.mark(OUT)
        if mark is None or not mark.size or mark.unfit not in (None, Unfit.LARGE):
            return ""
        aside = self._free_name("out.before")
        self._place.rename(OUT, aside)
        return note("before", self._language, file=aside)

    # -- names --------------------------------------------------------------------------------

    def _rename_to_sent(self) -> str:
        try:
            name = self._next_sent()
            self._place.rename(OUT, name)
        except OSError as error:
            if error.errno != errno.EXDEV or self._sent == SENT:
                raise
            self._sent = SENT  # the archive is on another disk: keep it here instead
            name = self._next_sent()
            self._place.rename(OUT, name)
        return name

    def _keep_copy(self, raw: bytes) -> None:
        self._place.create(self._next_sent(), raw)

    def _next_sent(self) -> str:
        self._place.make_folder(self._sent)
        taken = (_NUMBERED.fullmatch(name) for name in self._place.names(self._sent))
        number = max((int(found[1]) for found in taken if found), default=0) + 1
        return f"{self._sent}/{number:04d}.txt"

    def _free_name(self, stem: str) -> str:
        name, count = f"{stem}.txt", 1
        while self._place.mark(name) is not None:
            count += 1
            name = f"{stem}-{count}.txt"
        return name

    # -- problems.txt -------------------------------------------------------------------------

    def _report(self, outcomes: Iterable[Outcome], aside: str = "") -> None:
        outcomes = tuple(outcomes)
        text = report(outcomes, self._language, aside)
        self._tell(text, blames=any(not one.sent for one in outcomes))

    def _tell(self, text: str, *, blames: bool = False) -> None:
        """Write `problems.txt`. `blames` says that it is about a text that still waits there."""
        self._blames = blames
        if text == self._told:
            return
        try:
            self._place.replace(PROBLEMS, text.encode("utf-8", "replace"))
        except OSError as error:
            self.trouble = error
        else:
            self._told = text


def _sent(done: _Round) -> list[Outcome]:
    return [one for one in done.outcomes.values() if one.sent]


def _moved_within(remainder: str, refused: Iterable[Outcome]) -> list[Outcome]:
    """Give each refused text the place that it has in `remainder`, which holds them in order."""
    moved, at = [], 0
    for one in refused:
        start = remainder.find(one.text.text, at)
        at = start + len(one.text.text)
        line, column = line_and_column(remainder, start)
        moved.append(replace(one, text=replace(one.text, start=start, line=line, column=column)))
    return moved
