"""A class, in real processes: what a waiting server costs, and how soon a reply is out of many."""

from __future__ import annotations

import os
import selectors
import statistics
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from bench.figures import Figure, percentile
from bench.peer import TOO_LONG, Peer, call, exists, humanmcp, watch
from humanmcp.common.own_process import need_files
from humanmcp.inbox.contract import Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CLASSES: Final = ((1, 1), (1, 5), (100, 1), (100, 5), (200, 1), (200, 5))
"""Stubs, and requests that wait in each of them."""
A_SECOND: Final = 20
IDLE_FOR: Final = 10.0
BARELY: Final = 10
"""Rounds below which this only shows that it runs."""
BESIDE: Final = 128
"""Open files of a process besides those of its sessions."""
WAKING: Final = """
import os, time
print(flush=True)
while True:
    time.sleep(1)
    for _ in range(10):
        os.path.lexists("nothing")
"""
"""What a server does while it waits, without the server: what it costs is of the machine."""


def affordable(wanted: int, files_each: int) -> int:
    """Return how many sessions this process and its children can have at most, of those wanted."""
    return min(wanted, (need_files() - BESIDE) // files_each)


class _Seat(NamedTuple):
    """One server of a class: the process, its session, and the requests that wait, oldest first."""

    peer: Peer
    session: str
    waiting: list[int]


def idle(folder: Path, rounds: int) -> Iterator[Figure]:
    """The share of a core that a server takes while one request waits and nobody does anything."""
    if not Path("/proc/self/task").exists():
        return
    with Peer((sys.executable, "-c", WAKING)) as plain:
        assert plain.process.stdout is not None
        plain.process.stdout.readline()
        share = share_of_core(partial(on_core, plain), rounds)
    yield Figure("Python that looks for ten files a second: share of a core", f"{share:.3f} %")
    for name, flags, bound in (
        ("a waiting server", (), 0.1),
        ("a waiting server, --files and just asked", ("--files", str(folder / "text")), 0.1),
    ):
        home = folder / f"idle-{len(flags)}"
        with Peer(humanmcp(home, "--auto", *flags)) as server:
            server.open()
            server.write(call(1))
            watch(partial(_waits, home))
            time.sleep(1)
            share = share_of_core(partial(on_core, server), rounds)
        yield Figure(f"{name}: share of a core", f"{share:.3f} %", share, bound, "% of a core")


def _waits(home: Path) -> bool:
    return any(home.glob("sessions/*/pending/*/request.json"))


def share_of_core(spent: Callable[[], float], rounds: int) -> float:
    """Return the percentage of a core that is spent at rest; `spent` returns seconds on a core."""
    began, before = time.perf_counter(), spent()
    time.sleep(IDLE_FOR if rounds > BARELY else 0.5)
    return (spent() - before) / (time.perf_counter() - began) * 100


def on_core(peer: Peer) -> float:
    """Return the seconds that all threads of a process were on a core."""
    threads = Path(f"/proc/{peer.process.pid}/task").iterdir()
    return sum(int((one / "schedstat").read_text().split()[0]) for one in threads) / 1e9


def classes(folder: Path, rounds: int) -> Iterator[Figure]:
    """From the reply in the folder to the pipe, with more and more servers that wait."""
    for servers, waiting in CLASSES if rounds > BARELY else CLASSES[:2]:
        took = _class(folder / f"class-{servers}-{waiting}", servers, waiting, rounds)
        p50, p99 = statistics.median(took) * 1e3, percentile(took, 0.99) * 1e3
        plural = "s" if servers > 1 else ""
        yield Figure(
            f"reply to stdout, {servers} server{plural} with {waiting} waiting",
            f"p50 {p50:.1f} ms, p99 {p99:.1f} ms",
            p99,
            100,
            "ms at p99",
        )


def _class(home: Path, servers: int, waiting: int, rounds: int) -> list[float]:
    """Let a class work for a while: requests come and are answered; return how long that took."""
    with ExitStack() as stack:
        inbox = FolderInbox(home)
        seats = [_seat(stack, inbox, number, waiting) for number in range(servers)]
        time.sleep(1)  # all of them are done with their start
        selector = stack.enter_context(selectors.DefaultSelector())
        for seat in seats:
            assert seat.peer.process.stdout is not None
            selector.register(seat.peer.process.stdout, selectors.EVENT_READ)
        return _rounds(inbox, seats, selector, rounds)


def _seat(stack: ExitStack, inbox: FolderInbox, number: int, waiting: int) -> _Seat:
    before = set(_names(inbox))
    peer = stack.enter_context(Peer(humanmcp(inbox.home, "--auto", "--title", str(number))))
    peer.open()
    (session,) = set(_names(inbox)) - before
    numbers = [*range(2, waiting + 2)]  # 1 is initialize
    for one in numbers:
        peer.write(call(one))
    last = inbox.home / "sessions" / session / "pending" / f"{numbers[-1]:04d}"
    watch(exists(str(last)))
    return _Seat(peer, session, numbers)


def _names(inbox: FolderInbox) -> list[str]:
    return os.listdir(inbox.home / "sessions")  # noqa: PTH208 - only the names


def _rounds(
    inbox: FolderInbox, seats: list[_Seat], selector: selectors.BaseSelector, rounds: int
) -> list[float]:
    """In each round a request comes and the oldest is answered, `A_SECOND` messages a second."""
    sent: dict[int, float] = {}
    took: list[float] = []
    pace = 2 / A_SECOND
    began = time.perf_counter()
    for turn in range(rounds):
        seat = seats[turn * 7 % len(seats)]
        seat.peer.write(call(seat.waiting[-1] + 1))
        seat.waiting.append(seat.waiting[-1] + 1)
        key = Key(seat.session, seat.waiting.pop(0))
        watch(exists(str(inbox.home / "sessions" / key.session / "pending" / f"{key.number:04d}")))
        inbox.send(key, Reply("sunny", TextForm.TEXT, by="bench"))
        assert seat.peer.process.stdout is not None
        sent[seat.peer.process.stdout.fileno()] = time.perf_counter()
        last = turn == rounds - 1
        _gather(selector, sent, took, TOO_LONG if last else began + (turn + 1) * pace, last=last)
    return took


def _gather(
    selector: selectors.BaseSelector,
    sent: dict[int, float],
    took: list[float],
    until: float,
    *,
    last: bool,
) -> None:
    """Note when answers come out, until the next round or, after the last, until all are out."""
    until = time.perf_counter() + until if last else until
    while (now := time.perf_counter()) < until and (sent or not last):
        for key, _ in selector.select(max(0.0, until - now)):
            came = time.perf_counter()
            os.read(key.fd, 1 << 16)
            if key.fd in sent:
                took.append(came - sent.pop(key.fd))
    if last and sent:
        raise TimeoutError


ALL: Final = (idle, classes)
