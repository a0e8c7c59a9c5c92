"""A lock says who is alive."""

import errno
import fcntl
import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Final

import pytest

from humanmcp.inbox import life_lock
from humanmcp.inbox.atomic import open_private
from humanmcp.inbox.life_lock import LifeLock, is_held

ROOT: Final = Path(__file__).parents[2]


def test_a_lock_is_held_until_it_is_released(tmp_path: Path) -> None:
    """Also when the file stays."""
    path = tmp_path / "lock"
    assert not is_held(path)
    lock = LifeLock.take(path)
    assert is_held(path)
    lock.release()
    lock.release()
    assert not is_held(path)
    assert path.exists()


def test_looking_at_a_lock_does_not_take_it(tmp_path: Path) -> None:
    """A reader never makes a session look alive, nor a server fail."""
    path = tmp_path / "lock"
    LifeLock.take(path).release()
    assert not is_held(path)
    lock = LifeLock.take(path)
    assert is_held(path)
    lock.release()


def test_a_lock_is_taken_once(tmp_path: Path) -> None:
    """A second holder is turned away at once, and the first one keeps it."""
    lock = LifeLock.take(tmp_path / "lock")
    with pytest.raises(OSError, match=r".*") as caught:
        LifeLock.take(tmp_path / "lock")
    assert caught.value.errno in (errno.EAGAIN, errno.EACCES)
    assert is_held(tmp_path / "lock")
    lock.release()


def test_who_waits_for_a_turn_keeps_nobody_else_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each held a shared lock for 1 ms, so of four who waited one had its turn in 10 ms."""
    held = open_private(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    real, tried = life_lock._lock, list[bool]()

    def lock(descriptor: int, *, shared: bool) -> None:
        tried.append(shared)
        if len(tried) == 3:
            fcntl.flock(held, fcntl.LOCK_UN)
        real(descriptor, shared=shared)

    monkeypatch.setattr(life_lock, "_lock", lock)
    LifeLock.take(tmp_path / "lock", within=30).release()
    os.close(held)
    assert tried == [False] * 3


def test_where_locks_exclude_nothing_inside_a_process_its_own_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some network drives; there, to close a second descriptor would give the lock up, too."""
    monkeypatch.setattr(life_lock, "_lock", lambda *_, **__: None)
    lock = LifeLock.take(tmp_path / "lock")
    with monkeypatch.context() as patched:
        patched.setattr(life_lock, "open_private", None)
        assert is_held(tmp_path / "lock")
        with pytest.raises(BlockingIOError):
            LifeLock.take(tmp_path / "lock")
    lock.release()
    assert not is_held(tmp_path / "lock")
    LifeLock.take(tmp_path / "lock").release()


@pytest.mark.parametrize("act", [LifeLock.take, is_held])
def test_two_threads_of_a_process_do_not_take_the_same_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[Path], object]
) -> None:
    """Where the system would not stop them: one of them is in the midst of taking it.

    A thread that only looks must not even open the file: to close it would give the lock up.
    """
    path = tmp_path / "lock"
    got: list[object] = []

    def other() -> None:
        with suppress(BlockingIOError):
            got.append(act(path))

    thread = Thread(target=other)

    def slowly(path: Path, flags: int) -> int:
        descriptor = open_private(path, flags)
        monkeypatch.setattr(life_lock, "open_private", open_private)
        thread.start()
        thread.join(0.2)  # it comes to its end only if nobody keeps it from it
        return descriptor

    monkeypatch.setattr(life_lock, "_lock", lambda *_, **__: None)
    monkeypatch.setattr(life_lock, "open_private", slowly)
    lock = LifeLock.take(path)
    thread.join()
    assert got in ([], [True])
    lock.release()


FORKING: Final = """
import os, sys, threading
from pathlib import Path
from humanmcp.inbox import life_lock
from humanmcp.inbox.atomic import open_private
from humanmcp.inbox.life_lock import LifeLock, is_held
path, own = Path(sys.argv[1]), Path(sys.argv[2])
opened, going = life_lock.open_private, threading.Event()
def slowly(path, flags):
    descriptor = opened(path, flags)
    going.set()
    return descriptor
life_lock.open_private = slowly
locks = []
taking = threading.Thread(target=lambda: locks.append(LifeLock.take(path)))
taking.start()
going.wait()
child = os.fork()
if not child:
    LifeLock.take(own)
    os._exit(0)
taking.join()
ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.exit(ended if is_held(path) else 1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_child_that_is_forked_while_a_lock_is_taken_can_take_its_own(tmp_path: Path) -> None:
    """And the lock that was being taken stays with the parent."""
    paths = [str(tmp_path / "lock"), str(tmp_path / "own")]
    command = [sys.executable, "-W", "ignore", "-c", FORKING, *paths]
    assert subprocess.run(command, check=False, cwd=ROOT, timeout=60).returncode == 0
    assert not is_held(tmp_path / "lock")


def test_a_file_that_was_closed_by_number_is_not_closed_again(tmp_path: Path) -> None:
    """A released lock never closes what got its number afterwards."""
    lock = LifeLock.take(tmp_path / "lock")
    lock.release()
    other = LifeLock.take(tmp_path / "other")
    lock.release()
    assert is_held(tmp_path / "other")
    other.release()


def test_nobody_is_declared_dead_for_a_trouble_of_our_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many open files: the lock cannot be looked at, so it counts as held."""
    LifeLock.take(tmp_path / "lock").release()

    def too_many(*_: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "open", too_many)
    assert is_held(tmp_path / "lock")


def test_a_lock_that_nobody_has_any_more_gives_its_descriptor_back(tmp_path: Path) -> None:
    """A program that opens many inboxes runs out of none."""
    lock = LifeLock.take(tmp_path / "lock")
    descriptor = lock._descriptor
    del lock
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    assert not is_held(tmp_path / "lock")


def test_who_looks_keeps_nobody_from_taking_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look holds the file for a moment; whoever begins in that moment waits for its end."""
    path = tmp_path / "lock"
    path.touch(mode=0o600)
    looking = os.open(path, os.O_RDWR)
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr(time, "sleep", lambda _seconds: os.close(looking))
    held = LifeLock.take(path)
    assert is_held(path)
    held.release()
