"""Many sessions in one process: what they cost at rest, and how soon a reply is out."""

from __future__ import annotations

import statistics
import threading
import time
from typing import TYPE_CHECKING, Final

from bench.figures import Figure, percentile
from bench.load import BARELY, affordable, share_of_core
from bench.peer import TOO_LONG, call, exists, watch
from humanmcp.common.book_file import BookFile
from humanmcp.inbox.attendant import Attendant
from humanmcp.inbox.contract import Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.answer_book.decide import Mode
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.server.memory_connection import MemoryConnection
from humanmcp.server.serve import ServerParts
from humanmcp.server.waiting import ServeOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSIONS: Final = 500
WAITING: Final = 2
FILES_EACH: Final = 2
"""Open files of a session in a folder: its lock and its bell."""


def sessions(folder: Path, rounds: int) -> Iterator[Figure]:
    """Sessions of one attendant, each with requests that wait."""
    few = rounds <= BARELY
    count = 10 if few else affordable(SESSIONS, FILES_EACH)
    inbox, attendant = FolderInbox(folder / "many-sessions"), Attendant()
    book_file = BookFile(inbox.home / "book.toml")
    parts = ServerParts(inbox.home, book_file, ServeOptions(Mode.BY_HAND))
    joined = [_join(inbox, attendant, parts) for _ in range(count)]
    thread = threading.Thread(target=attendant.run)
    thread.start()
    for connection, name in joined:
        for number in range(1, WAITING + 1):
            connection.say(call(number).rstrip(b"\n"))
        watch(exists(str(inbox.home / "sessions" / name / "pending" / f"{WAITING:04d}")))
    time.sleep(1 if few else 5)  # all of them have said what they had to say
    share = share_of_core(time.process_time, rounds)
    what = f"{count} waiting sessions in one process: share of a core"
    yield Figure(what, f"{share:.2f} %", share, 10, "% of a core")
    turns = min(rounds, count)
    took = [_answered(inbox, *joined[turn * count // turns], turn) for turn in range(turns)]
    p50, p99 = statistics.median(took) * 1e3, percentile(took, 0.99) * 1e3
    what = f"reply to the client, one of {count} sessions"
    yield Figure(what, f"p50 {p50:.1f} ms, p99 {p99:.1f} ms", p99, 100, "ms at p99")
    attendant.stop()
    thread.join()


def _join(
    inbox: FolderInbox, attendant: Attendant, parts: ServerParts
) -> tuple[MemoryConnection, str]:
    connection = MemoryConnection()
    session = parts.session(connection, inbox)
    attendant.attend(session)
    return connection, session.journal.name


def _answered(inbox: FolderInbox, connection: MemoryConnection, name: str, turn: int) -> float:
    """Answer a request that waits. Returns how long it took until its client heard."""
    number = 1 + turn // SESSIONS
    inbox.send(Key(name, number), Reply("sunny", TextForm.TEXT, by="bench"))
    began = time.perf_counter()
    if connection.hear(TOO_LONG) is None:
        raise TimeoutError
    return time.perf_counter() - began


ALL: Final = (sessions,)
