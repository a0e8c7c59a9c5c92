"""The real server: started as the host would have started it, and gone when we are gone.

It stays in our process group, so that a host that ends the whole group ends it, too. On Linux the
kernel ends it even when we are killed without a chance to do anything.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final

from humanmcp.common.file_descriptors import leave_signals_to_the_main_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
"""What a shell returns for a command that is not there, or cannot be run."""

_KILLED_BY: Final = 128
"""What a shell adds to the number of the signal that ended a command."""

_PR_SET_PDEATHSIG: Final = 1


class ServerProcess:
    """A running server and its three pipes. The one that takes the descriptors closes them."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start it.

        Raises:
            OSError: there is no such command, or it cannot be run.
        """
        self.command = tuple(command)
        self._process = subprocess.Popen(  # noqa: S603 - the command is what the user asked for
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            preexec_fn=_die_with_us(),  # noqa: PLW1509 - no thread of ours runs yet
        )
        self.stdin = _detached(self._process.stdin)
        self.stdout = _detached(self._process.stdout)
        self.stderr = _detached(self._process.stderr)
        self.status: int | None = None
        """Its exit status; None as long as it runs. Known once it is watched."""

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def watch(self, ended: Callable[[], object]) -> None:
        """Call `ended`, from another thread, when it has ended and its status is known."""

        def wait() -> None:
            leave_signals_to_the_main_thread()
            self.status = exit_status(self._process.wait())
            ended()

        threading.Thread(target=wait, name="tap-waits", daemon=True).start()

    def pass_on(self, number: int) -> None:
        """Send it a signal; one that has ended already gets none."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it without asking."""
        self._process.kill()


def exit_status(returned: int) -> int:
    """Return the status to exit with for what `Popen` returned: a shell's 128 + n for a signal."""
    return _KILLED_BY - returned if returned < 0 else returned


def _detached(pipe: object) -> int:
    """Take the descriptor out of a pipe object: the pumps read and write it themselves."""
    fileno: int = os.dup(pipe.fileno())  # type: ignore[attr-defined] # Popen made it: it is a file
    pipe.close()  # type: ignore[attr-defined]
    return fileno


def _die_with_us() -> Callable[[], None] | None:
    """Return what makes the kernel end the child when the thread that started it ends (Linux).

    That is the main thread, which lives as long as we do.
    """
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # noqa: PLC0415 - exists everywhere, is of use here only

    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):  # a C library without it
        return None
    parent = os.getpid()

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # we died before the kernel was told
            os._exit(1)

    return ask
