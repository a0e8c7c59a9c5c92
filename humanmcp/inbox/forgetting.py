"""Forget what was said: one exchange, or a whole session that is over.

A server that still runs has its transcript and `in.txt` open and goes on writing at their ends. So
nothing is cut out of them: what is to be forgotten is written over where it stands, byte for byte
as long as before, and every place that a reader remembers stays where it is.
"""

from __future__ import annotations

import logging
import os
import stat
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.inbox import records
from humanmcp.inbox.atomic import discard, make_temporary_folder, move, sync_folder
from humanmcp.inbox.contract import InboxError, Life
from humanmcp.inbox.form_drafts import FormDrafts
from humanmcp.inbox.transcripts import read_frame
from humanmcp.protocol.conversation.questions import inquiry_of
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import FORGOTTEN, Direction, Frame, to_json
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.repair.reading import decode_file, read_json
from humanmcp.protocol.validation.addressing import divide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from humanmcp.inbox.contract import SessionFacts
    from humanmcp.inbox.session_folder import SessionFolder

_log = logging.getLogger(__name__)

_SHOWN: Final = 100
"""Characters of a question by which its line in `status.txt` is found."""
_GONE_LINE: Final = b'{"forgotten":true}'
"""What stands in `in.txt` instead of a line that was forgotten."""


class NotForgottenError(InboxError):
    """It cannot be forgotten yet: its answer is awaited."""


def forget_exchange(home: Path, folder: SessionFolder, facts: SessionFacts, number: int) -> None:
    """Forget a finished exchange: request, answer, drafts and every copy of them.

    Raises:
        OSError: a text of it cannot be forgotten.
        NotForgottenError: its client still waits for an answer.
    """
    pending = folder.at(ExchangeState.PENDING, number).is_dir()
    if pending and facts.life is Life.OPEN:
        raise NotForgottenError("still waits", number=number)
    FormDrafts(home).forget_place(f"{folder.name}/{number}")  # first: it is found by its name only
    # The copies first: they are found by the lines of the transcript, and who is killed in between
    # has to find them again.
    forget_texts(folder.path, facts, _frames_of(folder, number))
    _blank(folder.path / records.TRANSCRIPT, lambda line: _left_of(line, folder, number))
    for state in ExchangeState:
        path = folder.at(state, number)
        if path.is_dir() and not path.is_symlink():
            throw_away(folder, path)


def forget_session(home: Path, folder: SessionFolder, facts: SessionFacts) -> None:
    """Forget a session that is over, with everything in its folder, and first what is elsewhere.

    Raises:
        OSError: a text of it cannot be forgotten.
        NotForgottenError: it still runs.
    """
    if facts.life is Life.OPEN:
        raise NotForgottenError("still runs", session=facts.letter or facts.name)
    FormDrafts(home).forget_place(folder.name)
    marker = home / records.FORGOTTEN / folder.name
    if facts.role.traits.is_guest:  # who is killed behind this goes on in another session
        marker.parent.mkdir(mode=0o700, exist_ok=True)
        marker.touch(mode=0o600)
    try:
        forget_texts(folder.path, facts, _frames_of(folder))
        throw_away(folder, folder.path)
    except OSError:
        if folder.path.exists():
            marker.unlink(missing_ok=True)  # it goes on
        raise


def throw_away(folder: SessionFolder, path: Path) -> None:
    """Remove a folder: rename it in one step, then delete its content."""
    away = make_temporary_folder(folder.temporary)
    move(path, away / path.name)
    sync_folder(path.parent)
    discard(away)


def _frames_of(folder: SessionFolder, number: int = 0) -> Iterator[Frame]:
    """Read the recorded lines of an exchange, of all of them for 0."""
    with suppress(FileNotFoundError), (folder.path / records.TRANSCRIPT).open("rb") as stream:
        for line in stream:
            frame = read_frame(line, folder.path)
            if frame is not None and number in (0, frame.number):
                yield frame


def _left_of(line: bytes, folder: SessionFolder, number: int) -> bytes | None:
    frame = read_frame(line, folder.path)
    if frame is None or frame.number != number or frame.note == FORGOTTEN:
        return None
    return to_json(without_words(frame)).encode()


def without_words(frame: Frame) -> Frame:
    """Return what stays of a frame: where it stood, and that it was forgotten."""
    return frame._replace(direction=Direction.NOTE, raw=b"", by="", note=FORGOTTEN)


def forget_texts(session: Path, facts: SessionFacts, frames: Iterable[Frame]) -> None:
    """Forget the copies among the text files: lines of `in.txt`, questions, and what was typed.

    A server that runs writes `status.txt` anew soon; one that was killed never does.
    """
    lines: dict[Direction, set[bytes]] = defaultdict(set)
    for frame in frames:
        lines[frame.direction].add(frame.raw)
    asked = {words for raw in lines[Direction.IN] for words in _asked(raw)}
    answers = [raw.decode("utf-8", "replace") for raw in lines[Direction.OUT]]
    for folder in {session, Path(facts.files or session)}:
        for file in folder.glob("in*.txt"):
            _blank(file, lambda line: _GONE_LINE if line in lines[Direction.IN] else None)
        _blank(folder / records.STATUS_TEXT, lambda line: b"" if _tells(line, asked) else None)
        for file in (folder / records.SENT).glob("*.txt"):
            if _is_part_of(file, answers):
                file.unlink(missing_ok=True)


def _asked(raw: bytes) -> Iterator[bytes]:
    """Return how a question and its options begin in `status.txt`."""
    request = jsonrpc.read(raw)
    inquiry = inquiry_of(request) if isinstance(request, jsonrpc.Message) else None
    if inquiry is not None:
        for text in filter(str.strip, (inquiry.text, *inquiry.labels)):
            yield one_line(text)[:_SHOWN].encode("utf-8", "replace")


def _tells(line: bytes, asked: Iterable[bytes]) -> bool:
    """Return True if a line of `status.txt` has one of these questions or options."""
    return line.startswith(b" ") and any(words in line for words in asked)


def _is_part_of(file: Path, answers: list[str]) -> bool:
    """Return True if a text of this file went out with one of these answers."""
    try:
        text, _ = decode_file(file.read_bytes())
    except OSError as error:
        _log.warning("%s is passed over: %s", file, error)
        return False
    return any(typed and typed in answer for typed in _typed(text) for answer in answers)


def _typed(text: str) -> Iterator[str]:
    """Return how the texts of a file look in the line that they went out in."""
    for start, end in divide(text).texts:
        typed = text[start:end].strip()
        yield typed
        reading = read_json(typed)
        if reading.readable:
            yield jsonrpc.compact(reading.json)


def _blank(file: Path, left: Callable[[bytes], bytes | None]) -> None:
    """Overwrite lines of a file with the result of `left`; None keeps the line.

    Raises:
        OSError: it cannot be overwritten. A link is no file of ours.
    """
    try:
        descriptor = os.open(file, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError as error:
        if isinstance(error, FileNotFoundError) or file.is_symlink():
            return
        raise
    with os.fdopen(descriptor, "r+b") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        offset = 0
        while line := stream.readline():
            words = line.rstrip(b"\r\n")
            new = left(words)
            if new is not None:
                stream.seek(offset)
                stream.write(new[: len(words)].ljust(len(words)))
            offset += len(line)
            stream.seek(offset)
        stream.flush()
        os.fsync(descriptor)
