"""`humanmcp client` at a real terminal, with a test at the keys."""

import codecs
import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from tests.support.serve_process import bare_environment
from tests.support.waiting import until

PROMPT: Final = "Enter method :  "
CTRL_D: Final = "\x04"
TAB: Final = "\t"


class Terminal:
    """A client opposite a server. `shown` is what was shown and not yet looked at."""

    def __init__(
        self, folder: Path, *server: str, flags: tuple[str, ...] = (), wire: bool = False
    ) -> None:
        """Start it. `wire` lets the terminal show stderr too, as terminals do."""
        self.keys, theirs = pty.openpty()
        words = (sys.executable, "-m", "humanmcp", "client", "--lang", "en", *flags)
        self.process = subprocess.Popen(
            [*words, "--", *server],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs if wire else subprocess.DEVNULL,
            env=bare_environment(folder) | {"TERM": "dumb", "NO_COLOR": "1", "PYTHONUTF8": "1"},
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""
        self._reading = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        told = codecs.getincrementaldecoder("utf-8")("replace")
        try:
            while got := os.read(self.keys, 4096):
                with self._reading:
                    self.shown += told.decode(got)
        except OSError:  # the terminal is closed
            return

    def see(self, wanted: str) -> str:
        """Wait until this is shown. Forgets it and what came before it, and returns that."""
        until(lambda: wanted in self.shown, f"{wanted!r} in {self.shown[-400:]!r}")
        with self._reading:
            before, self.shown = self.shown.split(wanted, 1)
        return before

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self.keys, keys.encode())

    def type(self, line: str) -> None:
        """Type a line."""
        self.press(line + "\n")

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def end(self) -> int:
        """Wait for the end."""
        status = self.process.wait(timeout=20)
        os.close(self.keys)
        self._reader.join()
        return status
