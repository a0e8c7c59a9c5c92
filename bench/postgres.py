"""Two processes on one database against one process on the folder, with the same traffic.

`python -m bench.postgres WHERE HOME SESSIONS A_SECOND SECONDS` is one of the processes: it has so
many sessions that ask so many times a second in all, and prints how long each answer took. The
bench itself is the desk that answers, at once.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from bench.figures import Figure, spread
from bench.load import BARELY, affordable
from bench.many_sessions import FILES_EACH
from humanmcp.common import terminal
from humanmcp.common.own_process import need_files
from humanmcp.extensions.postgres import database
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import InboxError, Item, Key, Reply, SessionFacts
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from tests.support.postgres_server import PostgresServer, why_no_postgres

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.inbox.contract import Inbox

LINE: Final = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather"}}'
AT: Final = "2026-11-20T18:49:07.123Z"
GIVES_UP_AFTER: Final = 10.0
BOUND_MS: Final = 200.0
"""At p99: rings are gathered for 50 ms at each end (`PAUSE` in `database.py`)."""


class Traffic(NamedTuple):
    """What one process does: sessions, questions a second in all of them, seconds."""

    sessions: int
    a_second: int
    seconds: float


WHOLE: Final = Traffic(2_000, 200, 20.0)
BARE: Final = Traffic(4, 20, 0.5)


def several(folder: Path, rounds: int) -> Iterator[Figure]:
    """Compare them."""
    few = rounds <= BARELY
    most = affordable(WHOLE.sessions, FILES_EACH)
    sessions, a_second, seconds = all_of_it = BARE if few else WHOLE._replace(sessions=most)
    what = f"asked to answered, one of {sessions} sessions"
    one, two = f"the folder, one process: {what}", f"PostgreSQL, two processes: {what}"
    alone = _run("", folder / "one", 1, all_of_it)
    yield spread(one, alone, 0)
    if reason := why_no_postgres():
        yield Figure(two, f"skipped: {reason}")
        return
    with PostgresServer() as server:
        server.wait_for_disk()
        half = Traffic(sessions // 2, a_second // 2, seconds)
        together = _run(server.url, folder / "two", 2, half)
        yield spread(two, together, 0 if few else BOUND_MS)
        ours = database.opened(server.url)
        ours.close()
        atexit.unregister(ours.close)


def _run(where: str, home: Path, count: int, traffic: Traffic) -> list[float]:
    """Run the processes, and answer what they ask. Returns the seconds that each answer took."""
    desk = open_inbox(home, where)
    woken: set[Key] = set()
    new, over = threading.Condition(), threading.Event()

    def wake(session: str, number: int) -> None:
        if number:
            with new:
                woken.add(Key(session, number))
                new.notify()

    def answer() -> None:
        answered: set[Key] = set()
        while not over.is_set():
            with new:
                new.wait_for(lambda: woken, 0.1)
                keys = woken - answered
                woken.clear()
            for key in keys:
                with suppress(InboxError):  # it is not whole yet
                    desk.item(key)
                    desk.send(key, Reply("sunny", by="bench"))
                    answered.add(key)

    words = [sys.executable, "-m", "bench.postgres", where, str(home), *map(str, traffic)]
    with desk.watch(wake):
        answering = threading.Thread(target=answer)
        answering.start()
        children = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(count)]
        took = [seconds for child in children for seconds in json.loads(child.communicate()[0])]
        over.set()
        answering.join()
    return took


class _Asking:
    """One of the processes: its sessions, and when each question was asked."""

    def __init__(self, inbox: Inbox, sessions: int) -> None:
        """Begin the sessions."""
        self._inbox = inbox
        self._names = [inbox.begin_session(SessionFacts("", AT)) for _ in range(sessions)]
        self._asked: dict[Key, float] = {}
        self._rung: set[str] = set()
        self.took: list[float] = []
        for name in self._names:
            self._listen(name)

    def _listen(self, name: str) -> None:
        bell = self._inbox.bell(name)
        if bell is not None:
            bell.listen(lambda: self._rung.add(name))

    def run(self, a_second: int, seconds: float) -> list[float]:
        """Ask at these times, and hear. Returns the seconds that each answer took."""
        start = time.perf_counter()
        for turn in range(int(a_second * seconds)):
            self._hear_until(start + turn / a_second)
            key = Key(self._names[turn % len(self._names)], turn // len(self._names) + 1)
            self._asked[key] = time.perf_counter()
            self._record(key, 2 * key.number - 1, Direction.IN)
            self._inbox.deliver(Item(key, LINE, "tools/call", "1", "2025-11-25", AT))
        self._hear_until(time.perf_counter() + GIVES_UP_AFTER, last=True)
        return self.took + [GIVES_UP_AFTER] * len(self._asked)

    def _record(self, key: Key, seq: int, direction: Direction) -> None:
        self._inbox.record(key.session, Frame(seq, AT, direction, LINE.encode(), key.number))

    def _hear_until(self, moment: float, *, last: bool = False) -> None:
        while (left := moment - time.perf_counter()) > 0 and (self._asked or not last):
            while self._rung:
                self._take(self._rung.pop())
            time.sleep(min(left, 0.005))

    def _take(self, session: str) -> None:
        for key, _ in self._inbox.take_replies(session):
            self._record(key, 2 * key.number, Direction.OUT)
            self._inbox.close(key, ExchangeState.ANSWERED)
            self.took.append(time.perf_counter() - self._asked.pop(key))


ALL: Final = (several,)


def _main(where: str, home: str, sessions: str, a_second: str, seconds: str) -> None:
    need_files()
    asking = _Asking(open_inbox(Path(home), where), int(sessions))
    terminal.raw_to_stdout(json.dumps(asking.run(int(a_second), float(seconds))))


if __name__ == "__main__":
    _main(*sys.argv[1:])
