"""End in order whatever ends us: SIGTERM and a closed terminal count as the end of input."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

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
