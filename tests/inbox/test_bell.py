"""Whoever sends something rings, and a ring never holds anybody up."""

import gc
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from humanmcp.inbox import records
from humanmcp.inbox.bell import Bell, ring
from humanmcp.inbox.contract import Draft, Item, Key, Reply, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from tests.support.waiting import PATIENCE, until

AT = "2026-11-20T18:49:07.123Z"
CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"forecast"}}'

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the bell of a test hangs."""
    return tmp_path / records.BELL


@pytest.fixture
def bell(path: Path) -> Iterator[Bell]:
    """Return a bell that hangs."""
    bell = Bell.hang(path)
    assert bell is not None
    yield bell
    bell.close()


def test_a_ring_is_answered_once_and_not_again(bell: Bell, path: Path) -> None:
    """Also one that came before anybody listened; several are one."""
    assert not bell.answer()
    for _ in range(10_000):  # more than the pipe holds of one write each
        ring(path)
    assert bell.answer()
    assert not bell.answer()


def test_a_full_bell_holds_nobody_up_and_still_rings(bell: Bell, path: Path) -> None:
    """Nobody reads it: 100,000 rings are more than a pipe takes."""
    for _ in range(100_000):
        ring(path)
    assert bell.answer()


def test_nobody_listens_and_nobody_waits(path: Path) -> None:
    """No bell, one whose process died, and a file of somebody else's with that name."""
    ring(path)
    os.mkfifo(path)
    ring(path)
    path.unlink()
    path.write_bytes(b"mine")
    ring(path)
    assert path.read_bytes() == b"mine"


def test_where_there_are_no_fifos_there_is_no_bell(tmp_path: Path) -> None:
    """As on a drive that cannot hold one: the server then looks by itself."""
    assert Bell.hang(tmp_path / "missing" / "bell") is None


def test_who_listens_is_called_after_each_ring_until_the_bell_is_closed(
    bell: Bell, path: Path
) -> None:
    """From the thread that hears all bells of the process."""
    rung = threading.Event()
    bell.listen(rung.set)
    for _ in range(3):
        ring(path)
        assert rung.wait(PATIENCE)
        rung.clear()
    bell.close()
    assert not path.exists()
    bell.close()


def test_one_thread_hears_all_bells_and_each_has_its_own_listener(tmp_path: Path) -> None:
    """Also those that were hung while others were closed."""
    rung: list[int] = []
    bells: dict[int, Bell] = {}
    for number in range(60):
        bell = Bell.hang(tmp_path / f"bell-{number}")
        assert bell is not None
        bell.listen(partial(rung.append, number))
        bells[number] = bell
        if number % 3 == 2:
            bells.pop(number - 1).close()
    # By its name: threads of tests before this one may be about to end.
    assert [each.name for each in threading.enumerate()].count("bells") == 1
    for number in bells:
        ring(tmp_path / f"bell-{number}")
    until(lambda: sorted(rung) == sorted(bells), "each ring to be heard by its own")
    for bell in bells.values():
        bell.close()


def _send(inbox: FolderInbox, key: Key) -> None:
    inbox.send(key, Reply("sunny"))


def _save(inbox: FolderInbox, key: Key) -> None:
    inbox.save(key, Draft("sun"))


def _say(inbox: FolderInbox, key: Key) -> None:
    inbox.submit(key.session, Reply('{"jsonrpc":"2.0","method":"notifications/message"}'))


def _hold(inbox: FolderInbox, key: Key) -> None:
    inbox.hold(key.session, ["tools/call"])


@pytest.mark.parametrize("act", [_send, _save, _say, _hold])
def test_a_desk_rings_whatever_it_sends(
    tmp_path: Path, act: Callable[[FolderInbox, Key], None]
) -> None:
    """After it was sent: who looks then finds it."""
    server = FolderInbox(tmp_path / "home")
    name = server.begin_session(SessionFacts("", AT))
    server.deliver(Item(Key(name, 1), CALL, "tools/call", "1", "2025-11-25", AT))
    bell = server.bell(name)
    assert bell is not None
    assert not bell.answer()
    act(FolderInbox(server.home), Key(name, 1))
    assert bell.answer()
    assert (server.folder(name) / records.BELL).stat().st_mode & 0o777 == 0o600
    server.end(name)
    assert not (tmp_path / "home" / "sessions" / name / records.BELL).exists()


def test_a_bell_that_nobody_has_any_more_gives_its_descriptor_back(tmp_path: Path) -> None:
    """A program that opens many inboxes runs out of none."""
    bell = Bell.hang(tmp_path / "bell")
    assert bell is not None
    descriptor = bell._descriptor
    del bell
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
