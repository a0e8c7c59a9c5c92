"""Real processes: killed at random moments, and racing for one exchange."""

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from humanmcp.inbox.contract import Key, Life, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from tests.inbox.contract import AT, item_of
from tests.support.waiting import until

ROOT: Final = Path(__file__).parents[2]
ROUNDS: Final = 200
KILLS: Final = 12


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Start one of the programs of `living.py`; kill it at the end if it still runs."""
    command = [sys.executable, "-m", "tests.inbox.living", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def next_line(process: subprocess.Popen[str]) -> str:
    """Read one acknowledgement."""
    assert process.stderr is not None
    return process.stderr.readline().strip()


def rest_of(process: subprocess.Popen[str]) -> list[str]:
    """Kill the process as kill -9 does, and read what it had acknowledged."""
    process.kill()
    assert process.stderr is not None
    return process.stderr.read().splitlines()


@pytest.mark.parametrize("seed", range(KILLS))
def test_nothing_acknowledged_is_lost_by_kill_9(seed: int, tmp_path: Path) -> None:
    """Promises 1, 2, 5 and 8: server and desk killed at a random moment."""
    chance = random.Random(seed)
    home = str(tmp_path / "home")
    with started("server", home) as server:
        session = next_line(server).removeprefix("session ")
        with started("desk", home, session) as desk:
            said = [next_line(desk) for _ in range(chance.randrange(1, 40))]
            first, second = (server, desk) if chance.random() < 0.5 else (desk, server)
            lines = {id(first): rest_of(first)}
            lines[id(second)] = rest_of(second)
    after = FolderInbox(Path(home))
    assert after.facts(session).life is Life.GONE
    assert [facts.name for facts in after.sessions()] == [session]
    items = {
        item.key.number: item for state in ExchangeState for item in after.items(session, state)
    }
    recorded = {frame.seq for frame in after.frames(session)}
    for line in lines[id(server)] + said + lines[id(desk)]:
        deed, number, *text = line.split(" ", 2)
        match deed:
            case "recorded":
                assert int(number) in recorded
            case "delivered":
                assert items[int(number)].line == item_of(session).line
            case "answered":
                assert items[int(number)].state is ExchangeState.ANSWERED
            case "typed":
                item = items[int(number)]
                drafts = [item.draft, item.reply, *item.kept]
                assert text[0] in [draft.text for draft in drafts if draft]


def test_of_two_processes_that_send_at_once_one_wins(tmp_path: Path) -> None:
    """Promise 2: 200 races; the loser knows the winner, and its text is kept."""
    home = tmp_path / "home"
    inbox = FolderInbox(home)
    session = inbox.begin_session(SessionFacts("", AT))
    with (
        started("race", str(home), session, "A") as one,
        started("race", str(home), session, "B") as other,
    ):
        assert [next_line(process) for process in (one, other)] == ["ready", "ready"]
        winners = set()
        for number in range(1, ROUNDS + 1):
            inbox.deliver(item_of(session, number))
            for process in (one, other) if number % 2 else (other, one):
                assert process.stdin is not None
                process.stdin.write(f"{number}\n")
                process.stdin.flush()
            results = {"A": next_line(one), "B": next_line(other)}
            [winner] = [name for name, result in results.items() if result == "won"]
            [loser] = [name for name, result in results.items() if result == f"lost {winner}"]
            item = inbox.item(Key(session, number))
            assert item.reply is not None
            assert item.reply.text == winner
            assert [draft.text for draft in item.kept] == [loser]
            assert inbox.take_replies(session) == [(item.key, item.reply)]
            inbox.close(item.key, ExchangeState.ANSWERED)
            winners.add(winner)
    inbox.end(session)
    assert winners == {"A", "B"}


def test_a_session_is_gone_as_soon_as_its_process_is_killed(tmp_path: Path) -> None:
    """Promise 8: the system frees the lock; no process number is looked at."""
    home = str(tmp_path / "home")
    with started("server", home) as server:
        session = next_line(server).removeprefix("session ")
        desk = FolderInbox(Path(home))
        assert desk.facts(session).life is Life.OPEN
        server.kill()
        server.wait()
        until(lambda: desk.facts(session).life is Life.GONE, "the session is gone")


CHILDREN: Final = """
import os, subprocess, sys
from pathlib import Path
from humanmcp.inbox.contract import SessionFacts
from humanmcp.inbox.folder import FolderInbox
session = FolderInbox(Path(sys.argv[1])).begin_session(SessionFacts("", ""))
subprocess.Popen([sys.executable, "-c", "input()"], close_fds=False)
if os.fork() == 0:
    sys.stdin.readline()
    os._exit(0)
sys.stderr.write(session + "\\n")
sys.stderr.flush()
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_child_that_lives_on_does_not_keep_the_session_open(tmp_path: Path) -> None:
    """Neither a started nor a forked child inherits the lock."""
    home = tmp_path / "home"
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", CHILDREN, str(home)]
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stderr=pipe, text=True) as process:
        session = next_line(process)
        process.wait()
        desk = FolderInbox(home)
        until(lambda: desk.facts(session).life is Life.GONE, "the session is gone")
