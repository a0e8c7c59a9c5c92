"""The signals that end a program, passed to the code that ends it in order, or raised in it."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from humanmcp.common import file_descriptors

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Self

    _Reaction: TypeAlias = Callable[[int, FrameType | None], object] | int | None
    from collections.abc import Callable, Iterator
    from types import FrameType


class StopSignals:
    """Calls `notify` with the number of each signal that ends a server, at once.

    Hosts send SIGINT, SIGTERM or both; a terminal that closes sends SIGHUP, which stays ignored
    where it was (`nohup`). `undo` brings the former state back.

    A handler in Python would not do: it runs in the main thread, which does not notice a signal
    that arrives just before it begins to wait. So the interpreter writes the number of each signal
    into a pipe, and a thread reads it there.
    """

    def __init__(self, notify: Callable[[int], object]) -> None:
        """Begin to listen. Only the main thread may."""
        self._notify = notify
        self._before: dict[int, _Reaction] = {}
        for number in file_descriptors.ending_signals():
            if number.name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, _leave_it_to_the_pipe)
        reader, self._writer = os.pipe()
        if os.name != "nt":  # there it need not be, and cannot
            os.set_blocking(self._writer, False)
        self._writer_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        listen = threading.Thread(target=self._listen, args=(reader,), name="signals", daemon=True)
        listen.start()

    def undo(self) -> None:
        """Restore the handlers of before. A second call changes nothing."""
        if self._writer < 0:
            return
        signal.set_wakeup_fd(self._writer_before)
        for number, before in self._before.items():
            signal.signal(number, before)
        os.close(self._writer)
        self._writer = -1

    def __enter__(self) -> Self:
        """Listen as long as the context lasts."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give the signals back."""
        self.undo()

    def _listen(self, reader: int) -> None:
        while numbers := os.read(reader, 64):
            for number in numbers:
                if number in self._before:
                    self._notify(number)
        os.close(reader)


def _leave_it_to_the_pipe(_number: int, _frame: FrameType | None) -> None:
    """Stand in for the default reaction, which would end the process on the spot."""


_SIGNALS: Final = ("SIGTERM", "SIGHUP")


class ToldToStopError(SystemExit):
    """A signal told this process to stop. Its exit status is the usual one for the signal."""


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    raise ToldToStopError(128 + number)


@contextlib.contextmanager
def in_order() -> Iterator[None]:
    """Let `finally` run when a signal ends us, so that no child is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    before = {number: signal.signal(number, _stop) for number in numbers}
    try:
        yield
    finally:
        for number, reaction in before.items():
            signal.signal(number, reaction)


def undisturbed(close: Callable[[], object]) -> Callable[[], None]:
    """Make a closing that a second Ctrl-C does not cut short: it takes a few seconds at most."""

    def run() -> None:
        if threading.current_thread() is not threading.main_thread():
            close()
            return
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            close()
        finally:
            signal.signal(signal.SIGINT, before)

    return run
