"""Judge a client that no program starts: each time that it connects, it meets the next server."""

from __future__ import annotations

import os
import queue
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.common.terminal import to_stderr
from humanmcp.extensions.judge.playing import SERVER, HttpServer, NextSessions, events
from humanmcp.extensions.judge.reports import SECTION, said
from humanmcp.extensions.judge.running import Run, configuration, end_all, processes, server_command
from humanmcp.extensions.judge.server_faults import GOOD, RIGHT, WRONG, server_fault
from humanmcp.extensions.judge.trying import SHOWN
from humanmcp.extensions.judge.verdicts import Verdict, verdict
from humanmcp.locales import say
from humanmcp.setup.hosts import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.extensions.judge.running import Client
    from humanmcp.extensions.judge.server_faults import ServerFault

_LIFE: Final = 24 * 3600.0
"""Seconds after which a server ends which its client does not end."""
_LOOK_EVERY: Final = 0.2


class _Meetings:
    """The servers that the client meets one after the other, and what was seen of it."""

    def __init__(self, base: Path, chosen: Iterable[ServerFault]) -> None:
        for number, row in enumerate((GOOD, *chosen)):
            (base / "queue" / f"{number:03}-{row.name}").mkdir(parents=True)
        (base / "taken").mkdir()
        self._base = base
        self._met: list[Path] = []
        self._shown: dict[Path, str] = {}

    def tell_new(self) -> None:
        """Name each server that the client has met since the last call."""
        for folder in sorted((self._base / "taken").iterdir()):
            if folder not in self._met:
                self._met.append(folder)
                name = _row(folder).name
                what = say(SECTION, "good server") if name == GOOD.name else _row(folder).what()
                to_stderr(say(SECTION, "met", number=len(self._met) - 1, name=name, what=what))

    def note_shown(self, letter: str) -> None:
        """Keep what the client showed after it met its last server, and tell the word."""
        if letter not in SHOWN or not self._met:
            return to_stderr(say(SECTION, "letters", right=RIGHT, wrong=WRONG))
        self._shown[self._met[-1]] = SHOWN[letter]
        for one in self.verdicts()[-1:]:
            to_stderr(f"{one.name}: {said(one.word)}")
        return None

    def are_over(self, seconds: float) -> bool:
        """Return True if this client can meet no other server, and was quiet for so long."""
        seen = [one for folder in self._met for one in events(folder)]
        ours = str(os.getpid())
        used = {"http" if one.text == ours else "stdio" for one in seen if one.what == "start"}
        left = map(_row, (self._base / "queue").iterdir())
        is_last = used and not any(row.transport in ("", *used) for row in left)
        return bool(is_last) and time.time() - max(seen).at > seconds

    def _run(self, folder: Path) -> Run:
        seen = events(folder)
        ended_at = seen[-1].at if seen else time.time()
        run = Run(seen, None, ended_at, output=self._shown.get(folder))
        alive = processes(self._base)
        run.left = [SERVER for one in seen if one.what == "start" and int(one.text) in alive]
        return run

    def verdicts(self) -> list[Verdict]:
        """Judge what the client did with each server, in that order."""
        good, *runs = map(self._run, self._met) if self._met else [Run([])]
        good.output = RIGHT
        rows = map(_row, self._met[1:])
        return [verdict(row, run, good) for row, run in zip(rows, runs, strict=True)]


def _row(folder: Path) -> ServerFault:
    return server_fault(folder.name.partition("-")[2])


def serve(client: Client, chosen: Iterable[ServerFault], port: int) -> list[Verdict]:
    """Be one server after the other until Ctrl-C, or until there is none that is left.

    Raises:
        OSError: the port is in use.
    """
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="humanmcp-judge-")))
        meetings = _Meetings(base, chosen)
        http = HttpServer(NextSessions(base, client.tools), port)
        stack.callback(end_all, base)
        stack.callback(http.close)
        server = server_command(base, _LIFE, client.tools)
        to_stderr(say(SECTION, "serving", url=http.url, tool=client.tools[0]))
        to_stderr(configuration(BY_NAME[client.host], server).rstrip())
        to_stderr(say(SECTION, "letters", right=RIGHT, wrong=WRONG))
        typed: queue.Queue[str] = queue.Queue()
        threading.Thread(target=_read, args=(typed,), daemon=True).start()
        with suppress(KeyboardInterrupt):
            while not meetings.are_over(client.seconds):
                meetings.tell_new()
                with suppress(queue.Empty):
                    meetings.note_shown(typed.get(timeout=_LOOK_EVERY))
        meetings.tell_new()
        return meetings.verdicts()


def _read(typed: queue.Queue[str]) -> None:
    for line in sys.stdin:
        typed.put(line.strip().lower())
