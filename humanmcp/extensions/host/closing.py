"""What a host does at its end, though a person presses Ctrl-C again."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def undisturbed(close: Callable[[], object]) -> Callable[[], None]:
    """Wrap `close` so that a second Ctrl-C does not interrupt it; it takes a few seconds."""

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
