"""Let a process die, or its disk fail, at each single call that changes the file system.

A killed process runs none of its cleaning up, so from the chosen call on every call fails.
"""

import errno
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from unittest.mock import patch

CALLS: Final = ("write", "replace", "rename", "link", "unlink", "mkdir", "rmdir", "fsync")
SYNCS: Final = ("humanmcp.inbox.atomic.fdatasync", "humanmcp.inbox.transcript_writer.fdatasync")


class Crash(BaseException):
    """The process was killed here."""


class Countdown:
    """Counts calls, and fails at one of them: from there on always, or just there."""

    def __init__(self, at: int, failure: Callable[[], BaseException], *, once: bool) -> None:
        """Fail at call number `at`, counted from 1."""
        self.at = at
        self.failure = failure
        self.once = once
        self.count = 0

    def wrap(self, call: Callable[..., object]) -> Callable[..., object]:
        """Count the calls of a function."""

        def counted(*args: object, **options: object) -> object:
            self.count += 1
            if self.count == self.at or (self.count > self.at and not self.once):
                raise self.failure()
            return call(*args, **options)

        return counted

    @property
    def happened(self) -> bool:
        """Return True if the call was reached."""
        return self.count >= self.at


@contextmanager
def _counting(countdown: Countdown) -> Iterator[Countdown]:
    wanted = {f"os.{name}": getattr(os, name) for name in CALLS}
    wanted |= dict.fromkeys(SYNCS, os.fdatasync if hasattr(os, "fdatasync") else os.fsync)
    patches = [patch(name, countdown.wrap(call)) for name, call in wanted.items()]
    for one in patches:
        one.start()
    try:
        yield countdown
    finally:
        for one in patches:
            one.stop()


@contextmanager
def killed_at(call: int) -> Iterator[Countdown]:
    """Kill the process at its n-th call that changes something. It is dead from there on."""
    with _counting(Countdown(call, Crash, once=False)) as countdown:
        try:
            yield countdown
        except Crash:
            return


@contextmanager
def killing_at(call: int) -> Iterator[Countdown]:
    """Kill this process with SIGKILL before its n-th call that changes something."""

    def failure() -> BaseException:
        os.kill(os.getpid(), signal.SIGKILL)
        return Crash()

    with _counting(Countdown(call, failure, once=False)) as countdown:
        yield countdown


@contextmanager
def watched(look: Callable[[], object]) -> Iterator[None]:
    """Let another process look before each call that changes something, and once at the end."""
    looking = False

    def looked() -> None:
        nonlocal looking
        if not looking:
            looking = True
            look()
            looking = False

    class Watched(Countdown):
        def wrap(self, call: Callable[..., object]) -> Callable[..., object]:
            def watched_call(*args: object, **options: object) -> object:
                looked()
                return call(*args, **options)

            return watched_call

    with _counting(Watched(0, Crash, once=True)):
        yield
    looked()


@contextmanager
def racing(seed: int, most: float = 0.002, kill: tuple[str, int] = ("", 0)) -> Iterator[None]:
    """Let each thread wait before each call that changes something, for a random time.

    `most` is in seconds. The thread with the name in `kill` dies at its n-th such call.
    """
    chances: dict[str, random.Random] = {}
    counts: dict[str, int] = {}
    never = threading.Event()

    class Racing(Countdown):
        def wrap(self, call: Callable[..., object]) -> Callable[..., object]:
            def late(*args: object, **options: object) -> object:
                name = threading.current_thread().name
                chance = chances.setdefault(name, random.Random(f"{seed} {name}"))
                counts[name] = counts.get(name, 0) + 1
                if name == kill[0] and counts[name] >= kill[1]:
                    raise Crash
                never.wait(chance.random() * most)
                return call(*args, **options)

            return late

    with _counting(Racing(0, Crash, once=True)):
        yield


@contextmanager
def failing_at(call: int, number: int = errno.ENOSPC, *, once: bool = True) -> Iterator[Countdown]:
    """Fail the n-th call that changes something, and no other one; or each from there on."""

    def failure() -> OSError:
        return OSError(number, os.strerror(number))

    with _counting(Countdown(call, failure, once=once)) as countdown:
        yield countdown
