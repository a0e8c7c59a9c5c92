"""A recorded conversation, for `serve --replay`: where it is, and what is added to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from humanmcp.extensions.recordings import SECTION
from humanmcp.extensions.recordings.replay import Match, Otherwise, Replay
from humanmcp.inbox import records
from humanmcp.inbox.contract import InboxError
from humanmcp.locales.stop import REFUSED, stopped
from humanmcp.protocol.answer_book.recorded import recorded
from humanmcp.protocol.conversation.transcript import SPOKEN, to_json
from humanmcp.protocol.json.encodings import ENOUGH, utf16_of
from humanmcp.protocol.validation.captures import is_transcript, read_recording
from humanmcp.protocol.validation.redaction import Redaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from humanmcp.protocol.conversation.transcript import Frame


class RecordingPlace(NamedTuple):
    """Where a recording is: in a file, or in a database as the session of this name."""

    path: Path
    """The file; for a session in a database, the one with what is added to it."""
    home: Path
    session: str = ""
    database: str = ""

    @classmethod
    def find(cls, wanted: str, home: Path, database: str = "") -> Self:
        """Find a transcript or text log, or a session by its folder, its letter or its name."""
        path = Path(wanted).expanduser()
        if not path.exists() and records.is_session_name(wanted):
            wanted = _name_of(wanted, home, database)
            path = home / records.SESSIONS / wanted
            if database and not path.exists():
                return cls(home / records.FORWARDED.format(wanted), home, wanted, database)
        return cls(path / records.TRANSCRIPT if path.is_dir() else path, home)

    @property
    def is_in_inbox(self) -> bool:
        """Return True for a session, which is private; a file may be committed or sent."""
        return bool(self.session) or self.path.is_relative_to(self.home)

    @property
    def is_missing(self) -> bool:
        """Return True if there is no such file; of a database only reading it tells."""
        return not self.session and not self.path.exists()

    def frames(self) -> Iterator[Frame]:
        """Read the recording and its additions, with unique frame numbers.

        Raises:
            OSError: it cannot be read.
            InboxError: the database cannot be used, or has no such session.
        """
        last = 0
        for part in self._parts():
            for frame in part:
                last = max(last + 1, frame.seq)
                yield frame._replace(seq=last)

    def _parts(self) -> Iterator[Iterator[Frame]]:
        if self.session:
            from humanmcp.inbox import open_inbox  # noqa: PLC0415 - few have a database

            yield open_inbox(self.home, self.database).frames(self.session)
        else:
            yield read_frames(self.path)
        added = self.path if self.session else beside(self.path)
        if added.exists():
            yield read_frames(added)


def _name_of(wanted: str, home: Path, database: str) -> str:
    """Return the name of the session that a letter or the start of a name means."""
    if not (database or home.is_dir()):
        return wanted
    from humanmcp.answering.summary import sessions_named  # noqa: PLC0415 - few replay a session
    from humanmcp.inbox import open_inbox  # noqa: PLC0415 - likewise

    found = sessions_named(open_inbox(home, database).sessions(), wanted)
    return found[0].name if len(found) == 1 else wanted


def read_replay(
    recording: RecordingPlace,
    match: str,
    otherwise: str = "hand",
    *,
    paced: bool = False,
    faults: Iterable[str] = (),
) -> Replay:
    """Read the recorded answers. `faults` are written as `3:silence`.

    Where the real server stands behind it, a recording may be empty, or a file that is to be made.

    Raises:
        StopError: there is no such recording, or no answer in it, or no such fault.
    """
    wrong = _faults(faults)
    begins = Otherwise(otherwise).forwards
    path = recording.path
    may_be_made = path.parent.is_dir() and not records.is_session_name(path.name)
    is_new = begins and recording.is_missing and may_be_made
    named = recording.session or recording.path
    try:
        frames = () if is_new else recording.frames()
        replay = Replay(
            recorded(frames), Match(match), Otherwise(otherwise), paced=paced, faults=wrong
        )
    except (OSError, InboxError) as error:
        raise stopped(SECTION, "no replay", REFUSED, path=named, why=error) from error
    if not len(replay) and not begins:
        _read_messages(recording)
        raise stopped(SECTION, "nothing to replay", REFUSED, path=named)
    return replay


def _read_messages(recording: RecordingPlace) -> None:
    """Say what a file is that is no recording.

    Raises:
        StopError: it has no messages.
    """
    if recording.session or any(one.direction in SPOKEN for one in recording.frames()):
        return
    from humanmcp.answering.files import read_file  # noqa: PLC0415 - a recording never needs it

    read_file(recording.path.read_bytes()).messages(recording.path)


def _faults(given: Iterable[str]) -> dict[int, str]:
    from humanmcp.protocol.tables.faults import EntryFault, Fault  # noqa: PLC0415 - few ask for one

    names = {one.value for kind in (EntryFault, Fault) for one in kind}
    found = {}
    for one in given:
        number, _, fault = one.partition(":")
        if not (number.isascii() and number.isdigit() and fault in names):
            raise stopped(SECTION, "no fault", REFUSED, value=one, known=", ".join(sorted(names)))
        found[int(number)] = fault
    return found


def read_forward(
    recording: RecordingPlace, command: Iterable[str], *, redact: bool = True
) -> Forward:
    """Return the command for unrecorded requests and the file that records its answers.

    With `redact`, what is added has no secrets.
    """
    frames = () if recording.is_missing else recording.frames()
    last = max((frame.seq for frame in frames), default=0)
    path = recording.path if recording.session else growing(recording.path)
    return Forward(tuple(command), Addition(path, last, Redaction() if redact else None))


def read_frames(path: Path) -> Iterator[Frame]:
    """Read a transcript, or a text log.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as start:
        wide, bom = utf16_of(start.read(ENOUGH))
    errors = "replace" if wide else "surrogateescape"
    with path.open(encoding=wide or "utf-8", errors=errors, newline="\n") as stream:
        stream.read(bom // 2)
        yield from read_recording((line.removesuffix("\n") for line in stream), str)


_PRIVATE: Final = 0o600


def beside(path: Path) -> Path:
    """Name the file that grows beside a recording: `capture.log.forwarded.jsonl`."""
    return path.with_name(records.FORWARDED.format(path.name))


def growing(path: Path) -> Path:
    """Return the file that grows for a recording: itself, or the one beside it."""
    if not path.exists():
        return path
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        is_other = not is_transcript(stream.readline())
    is_session = path.name == records.TRANSCRIPT and (path.parent / records.SESSION).exists()
    return beside(path) if is_other or is_session else path


class Addition:
    """What is added to a recording, one request with all that belongs to it at a time."""

    def __init__(self, path: Path, last: int, redaction: Redaction | None = None) -> None:
        self.path = path
        self._seq = last
        self._redaction = redaction

    def add(self, frames: Sequence[Frame]) -> OSError | None:
        """Add frames at the end, in one write: others may add to the same file."""
        if self._redaction is not None:
            frames = self._redaction.redact_frames(frames)
        first = self._seq + 1
        self._seq += len(frames)
        numbered = (frame._replace(seq=seq) for seq, frame in enumerate(frames, first))
        text = "".join(f"{to_json(frame)}\n" for frame in numbered)
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _PRIVATE)
            with os.fdopen(descriptor, "ab") as stream:
                stream.write((_line_end(self.path) + text).encode("utf-8", "replace"))
        except OSError as error:
            return error
        return None


def _line_end(path: Path) -> str:
    """Return a line feed if a crash has torn the last line of a file, else nothing."""
    with path.open("rb") as stream:
        if not stream.seek(0, os.SEEK_END):
            return ""
        stream.seek(-1, os.SEEK_END)
        return "" if stream.read(1) == b"\n" else "\n"


class Forward(NamedTuple):
    """What was not recorded is asked of this command, and its answers are added to a recording."""

    command: tuple[str, ...]
    recording: Addition
