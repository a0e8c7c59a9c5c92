"""Every measurement of the tap, against a bare pair of pipes in the same run."""

from __future__ import annotations

import statistics
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.figures import Figure, percentile
from bench.peer import Peer, call
from humanmcp.inbox.folder import FolderInbox

if TYPE_CHECKING:
    from collections.abc import Iterator

ECHO: Final = (sys.executable, str(Path(__file__).parent / "echo.py"))
LONG: Final = b'{"jsonrpc":"2.0","id":1,"result":{"x":"' + b"x" * (16 << 20) + b'"}}\n'
MANY: Final = 100_000
FEW_ROUNDS: Final = 10
CALLS: Final = 200


def tapped(home: Path, *flags: str) -> tuple[str, ...]:
    """Return the command of the shortest server with a tap before it."""
    command = (sys.executable, "-m", "humanmcp", "tap", "--quiet", "--home", str(home))
    return (*command, *flags, "--", *ECHO)


def round_trip(folder: Path, rounds: int) -> Iterator[Figure]:
    """One line there and back; bare, tapped, and with every line looked at, taking turns."""
    times: dict[str, list[float]] = {"bare": [], "tapped": [], "looked at": []}
    watched = tapped(folder / "watched", "--hold", "tool:no-such-tool")
    with Peer(ECHO) as bare, Peer(tapped(folder / "tap")) as tap, Peer(watched) as gate:
        for number in range(1, rounds * 5 + 1):
            for name, peer in (("bare", bare), ("tapped", tap), ("looked at", gate)):
                times[name].append(_there_and_back(peer, call(number)))
    middle = {name: statistics.median(took) * 1e3 for name, took in times.items()}
    for name, what, bound in (
        ("tapped", "the tap: added to a round trip", 0.3),
        ("looked at", "the tap: added while every line is looked at", 0.0),
    ):
        added = middle[name] - middle["bare"]
        measured = f"{added:.3f} ms ({middle['bare']:.3f} ms without)"
        yield Figure(what, measured, added, bound, "ms at the median")


def back_to_back(folder: Path, rounds: int) -> Iterator[Figure]:
    """Lines without a pause: the thread that hears must not be in the way of those that forward."""
    times: dict[str, list[float]] = {"bare": [], "tapped": []}
    with Peer(ECHO) as bare, Peer(tapped(folder / "dense")) as tap:
        for _ in range(5):
            for name, peer in (("bare", bare), ("tapped", tap)):
                times[name] += [_there_and_back(peer, call(number)) for number in range(rounds)]
    added = _added(times, 0.5)
    yield Figure("the tap: added back to back", f"{added:.3f} ms", added, 0.06, "ms at the median")
    added = _added(times, 0.99)
    yield Figure("the tap: added back to back, p99", f"{added:.3f} ms", added, 0.5, "ms")


def _added(times: dict[str, list[float]], share: float) -> float:
    return (percentile(times["tapped"], share) - percentile(times["bare"], share)) * 1e3


def killed(folder: Path, rounds: int) -> Iterator[Figure]:
    """A tap that dies after the last answer: what has passed is in the transcript."""
    lost = 0
    for run in range(max(2, rounds // 20)):
        home = folder / f"killed-{run}"
        with Peer(tapped(home)) as peer:
            for number in range(CALLS):
                _there_and_back(peer, call(number))
            peer.process.kill()
            peer.process.wait()
        (session,) = (home / "sessions").iterdir()
        recorded = sum(1 for frame in FolderInbox(home).frames(session.name) if not frame.note)
        lost += 2 * CALLS - recorded
    yield Figure("the tap: lines lost by kill -9", f"{lost}", lost or 0.0, 0.5, "lines")


def _there_and_back(peer: Peer, line: bytes) -> float:
    assert peer.process.stdout is not None
    began = time.perf_counter()
    peer.write(line)
    peer.process.stdout.readline()
    return time.perf_counter() - began


def long_line(folder: Path, rounds: int) -> Iterator[Figure]:
    """A line of 16 MiB there and back, and one that follows it."""
    took: dict[str, float] = {}
    for name, command in (("bare", ECHO), ("tapped", tapped(folder / "long"))):
        with Peer(command) as peer:
            assert peer.process.stdout is not None
            began = time.perf_counter()
            writer = threading.Thread(target=peer.write, args=(LONG,))
            writer.start()
            if peer.process.stdout.readline() != LONG:
                raise RuntimeError("the line came back changed")
            took[name] = time.perf_counter() - began
            writer.join()
            _there_and_back(peer, call(rounds))
    measured = f"{took['tapped']:.2f} s ({took['bare']:.2f} s without)"
    yield Figure("the tap: a line of 16 MiB", measured)


def one_by_one(folder: Path, rounds: int) -> Iterator[Figure]:
    """Many messages, each there and back before the next: the memory stays where it is."""
    count = MANY if rounds > FEW_ROUNDS else 100 * rounds
    with Peer(tapped(folder / "one-by-one")) as peer:
        for number in range(count // 10):
            _there_and_back(peer, call(number))
        early = peer.resident()
        for number in range(count // 10, count):
            _there_and_back(peer, call(number))
        late = peer.resident()
    measured = f"{late:.1f} MB ({late - early:+.1f} MB)"
    yield Figure("the tap: memory after many messages", measured, late, 40, "MB")


def flood(folder: Path, rounds: int) -> Iterator[Figure]:
    """As many messages as the pipes take: all arrive, and the record gets them in the end."""
    count = MANY if rounds > FEW_ROUNDS else 100 * rounds
    home = folder / "flood"
    with Peer(tapped(home)) as peer:
        assert peer.process.stdin is not None
        began = time.perf_counter()
        _flow(peer, count)
        took = time.perf_counter() - began
        resident = peer.resident()
        peer.process.stdin.close()
        peer.process.wait()
    (session,) = (home / "sessions").iterdir()
    recorded = sum(1 for frame in FolderInbox(home).frames(session.name) if not frame.note)
    measured = f"{2 * count / took:,.0f} a second; {recorded:,} of {2 * count:,} recorded"
    yield Figure("the tap: a flood of messages", measured)
    yield Figure("the tap: memory after the flood", f"{resident:.1f} MB", resident, 40, "MB")


def _flow(peer: Peer, count: int) -> None:
    """Send messages as fast as they are taken, and see every one of them come back."""
    assert peer.process.stdout is not None

    def write() -> None:
        for number in range(count):
            peer.write(call(number))

    writer = threading.Thread(target=write)
    writer.start()
    for number in range(count):
        if peer.process.stdout.readline() != call(number):
            raise RuntimeError(f"message {number} came back changed")
    writer.join()


ALL: Final = (round_trip, back_to_back, killed, long_line, one_by_one, flood)
