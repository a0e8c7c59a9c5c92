"""Finds the session that is meant, and reads what was recorded of it.

A session of the inbox by its name (or the beginning of it), the newest one, a transcript file, a
session's folder, or a text log in the format of the first capture script.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.common.timestamps import from_log_time
from humanmcp.inbox.backends import open_inbox
from humanmcp.inbox.contract import DeskInbox, InboxError, SessionFacts
from humanmcp.locales.stop import stopped
from humanmcp.protocol.conversation.transcript import read_recording

if TYPE_CHECKING:
    from datetime import tzinfo

    from humanmcp.protocol.conversation.transcript import Frame

LAST: Final = "last"
TRANSCRIPT: Final = "transcript.jsonl"


@dataclass(frozen=True, slots=True)
class Recording:
    """What was recorded of one session. `facts` are there when the inbox knows it."""

    name: str
    frames: tuple[Frame, ...]
    facts: SessionFacts | None = None


def find(wanted: str, home: Path, zone: tzinfo | None = None, *, inbox: str = "") -> Recording:
    """Read the recording that is meant. `zone` is that of a text log, None for this machine's.

    `inbox` is the address of a database, where the sessions are in one.

    Raises:
        StopError: there is none.
    """
    path = Path(wanted).expanduser()
    if wanted != LAST and path.exists():
        return _from_path(path, zone)
    return _from_inbox(wanted, open_inbox(home, inbox))


def _from_inbox(wanted: str, inbox: DeskInbox) -> Recording:
    sessions = inbox.sessions()
    named = [facts for facts in sessions if wanted == LAST or facts.name.startswith(wanted)]
    if not named:
        raise stopped("export", "no session", what=wanted)
    if wanted != LAST and len(named) > 1:
        raise stopped("export", "several sessions", what=wanted, count=len(named))
    facts = named[0]
    try:
        return Recording(facts.name, tuple(inbox.frames(facts.name)), facts)
    except InboxError as error:
        raise stopped("export", "unreadable", what=wanted, why=error) from error


def _from_path(path: Path, zone: tzinfo | None) -> Recording:
    name = path.name if path.is_dir() else path.parent.name
    if path.is_dir():
        path /= TRANSCRIPT
    elif path.name != TRANSCRIPT:
        name = path.stem
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise stopped("export", "unreadable", what=path, why=error) from error
    frames = tuple(read_recording(text.split("\n"), lambda time: from_log_time(time, zone)))
    if not frames:
        raise stopped("export", "nothing recorded", what=path)
    return Recording(name, frames)


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What every format may ask for. `zone` is None for the zone of this machine."""

    zone: tzinfo | None = None
    command: tuple[str, ...] = ()
    """The command that starts the real server, for a test that runs it; empty for unknown."""
    secrets: tuple[str, ...] = ()
    """The names of the values that were taken out of the recording, for what can be run."""
