"""The folder of a guest's session, which the processes of an agent's prompts share.

Each prompt has a number, and a lock in `entered/` that its process holds. What all of them change
(the last number, the transcript with the chain of decisions, the patterns) is changed in turn:
under a lock that is held for as long as a disk takes.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from humanmcp.inbox import records
from humanmcp.inbox.atomic import replace_file, signature
from humanmcp.inbox.bell import Bell
from humanmcp.inbox.contract import Key, SessionFacts, Tail
from humanmcp.inbox.life_lock import LifeLock, is_held, turn
from humanmcp.inbox.session_folder import SessionFolder, find_record
from humanmcp.inbox.transcript_writer import TranscriptWriter
from humanmcp.inbox.transcripts import frames_after, frames_before
from humanmcp.protocol.conversation.decisions import DecisionChain, sha256
from humanmcp.protocol.conversation.stages import ExchangeState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from humanmcp.protocol.conversation.transcript import Frame


def present_name(name: str, is_forgotten: Callable[[str], bool]) -> str:
    """Return the name of a guest's session: another one follows each time that it was forgotten.

    None of them is the beginning of another one.
    """
    while is_forgotten(name):
        name = f"{name.rpartition('-')[0]}-{sha256(name)[:16]}"
    return name


def is_forgotten(home: Path, session: str) -> bool:
    """Return True if a guest's session of this name was forgotten."""
    try:
        (home / records.FORGOTTEN / session).lstat()
    except FileNotFoundError:
        return False
    return True


def join(
    home: Path,
    facts: SessionFacts,
    present: Callable[[str], str],
    give_letter: Callable[[SessionFolder], str],
) -> GuestFolder:
    """Take part in a guest's session, under its present name. It is made if it is not there."""
    name = present(facts.name)
    guest = GuestFolder(SessionFolder(name, home / records.SESSIONS / name))
    is_new = guest.begin(facts._replace(name=name), give_letter)
    if not is_forgotten(home, name):
        return guest
    if is_new:  # forgotten meanwhile: its name must not begin anew
        from humanmcp.inbox.forgetting import throw_away  # noqa: PLC0415 - very seldom

        throw_away(guest.folder, guest.path)
    return join(home, facts, present, give_letter)


def entered_path(folder: SessionFolder, number: int) -> Path:
    """Return the lock of a prompt: who finds it free knows that its process is gone."""
    return folder.path / records.ENTERED / records.exchange_name(number)


class Entered:
    """A prompt of this process: its lock, and its bell."""

    def __init__(self, folder: SessionFolder, number: int) -> None:
        self.folder = folder
        self._lock_path = entered_path(folder, number)
        self.lock = LifeLock.take(self._lock_path)
        self.bell = Bell.hang(folder.path / records.PROMPT_BELL.format(number))

    def leave(self) -> None:
        if self.bell is not None:
            self.bell.close()
        with suppress(OSError):
            self._lock_path.unlink()
        self.lock.release()


class GuestFolder:
    """A guest's session, for a process that takes part in it."""

    def __init__(self, folder: SessionFolder) -> None:
        self.folder = folder
        self.path = folder.path

    def begin(self, facts: SessionFacts, give_letter: Callable[[SessionFolder], str]) -> bool:
        """Make the session if it is not there, and close what dead processes have left open.

        Returns True if it was not there.
        """
        for name in ("", records.OUTBOX, records.ENTERED, *records.STATES):
            (self.path / name).mkdir(mode=0o700, exist_ok=True)
        with turn(self.path / records.TURN):
            is_new = self._facts() is None
            if is_new:  # or torn by a crash
                give_letter(self.folder)
                chain = DecisionChain()
                for frame in self._frames():
                    if frame.decision:
                        chain.go_on(frame.decision)
                last = chain.last if chain.number else ""
                self._write_facts(facts._replace(decisions=chain.number, last_decision=last))
        for number in self.folder.numbers(ExchangeState.PENDING):
            if not is_held(entered_path(self.folder, number)):
                # A reply that was on its way stays one: its process may have printed it.
                sent = signature(self.folder.at(ExchangeState.PENDING, number) / records.REPLY)
                self.folder.close(number, ExchangeState.ABANDONED, None, "", sent)
        return is_new

    def enter(self) -> tuple[Key, Entered]:
        """Take the next number."""
        path = self.path / records.NUMBER
        with turn(self.path / records.TURN):
            number = find_record(path, records.read_number)
            if number is None:  # new, or torn by a crash: what was shown to somebody is recorded
                number = max((one.number for one in self._frames()), default=0)
            self._replace(path, {"number": number + 1})
        return Key(self.folder.name, number + 1), Entered(self.folder, number + 1)

    def _frames(self) -> Iterator[Frame]:
        path = self.path / records.TRANSCRIPT
        return frames_after(path, 0) if path.exists() else iter(())

    def _facts(self) -> SessionFacts | None:
        name = self.folder.name
        path = self.path / records.SESSION
        return find_record(path, lambda record: records.read_facts(name, record))

    def share(self, write: Callable[[Tail], tuple[Sequence[Frame], Tail]]) -> None:
        """Append to the transcript, and keep the end of the chain in the facts."""
        path = self.path / records.TRANSCRIPT
        with turn(self.path / records.TURN):
            facts = self._facts()
            if facts is None:
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(self.path / records.SESSION))
            chain = DecisionChain(facts.decisions, facts.last_decision)
            last = frames_before(path, 0, _MOST_AT_ONCE)
            for frame in last:  # a process may have died before it wrote the facts
                if frame.decision:
                    chain.go_on(frame.decision)
            seq = last[-1].seq if last else 0
            frames, after = write(Tail(seq, chain.number, chain.last))
            kept = facts._replace(decisions=after.decisions, last_decision=after.last_decision)
            writer = TranscriptWriter(path, new=not path.exists())
            try:
                also = None if kept == facts else partial(self._write_facts, kept)
                writer.append(*frames, durable=True, then=also)
            finally:
                writer.close()

    def _write_facts(self, facts: SessionFacts) -> None:
        self._replace(self.path / records.SESSION, records.facts_record(facts))

    def _replace(self, path: Path, record: records.Record) -> None:
        content = records.encode(record)
        replace_file(self.folder.temporary, path, content, durable=os.name != "nt")


_MOST_AT_ONCE: Final = 4
"""The most frames that are appended at once."""
