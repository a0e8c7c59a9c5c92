"""The copy of a real server's definition: the server is started and asked beside the page.

A server that is installed first, or that hangs, takes long: the page shows it, and a person can
cancel it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

from humanmcp.common.book_file import parse_book
from humanmcp.desk.moments import Listener
from humanmcp.extensions.books import server_definition
from humanmcp.locales import spoken_language
from humanmcp.locales.stop import REFUSED, StopError, stopped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from humanmcp.desk.desk import Desk

WITHIN: Final = 30.0
"""The seconds for a server to start and to list its definition."""
_ADDRESSES: Final = ("http://", "https://")


class ServerCopy(Listener):
    """Copies one server at a time.

    `command` is the last one, asked `since` (in seconds since 1970); `trouble` is why it failed.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self.command = ""
        self.trouble: StopError | None = None
        self.since = 0.0
        self._lock = threading.Lock()
        self._hold: int | None = None  # the other end of the stdin of the process that asks

    @property
    def is_running(self) -> bool:
        return self._hold is not None

    def start(
        self,
        command: str,
        take: Callable[[server_definition.Lists], object],
        changed: Callable[[], object],
    ) -> None:
        """Ask the server for its lists, and hand them to `take`; nothing while another is asked.

        `changed` is called at the end.

        Raises:
            StopError: this is no command.
        """
        words = _command_line(command)
        with self._lock:
            if self._hold is not None:
                return
            reader, hold = os.pipe()
            process = subprocess.Popen(  # noqa: S603 - the owner of this computer typed it; there is no shell
                words, stdin=reader, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self._home
            )
            os.close(reader)
            self._hold, self.command, self.trouble, self.since = hold, command, None, time.time()

        def ask() -> None:
            slow = stopped("server_definition", "too slow", REFUSED, seconds=f"{WITHIN:g}")
            timer = threading.Timer(WITHIN, self._end, (slow,))
            timer.start()
            book, stderr = process.communicate()
            timer.cancel()
            if self._end(None):
                try:
                    take(_lists_of(process.returncode, book, stderr, self._home))
                except StopError as error:
                    self.trouble = error
            changed()

        threading.Thread(target=ask, name="server copy", daemon=True).start()

    def cancel(self) -> None:
        """End the server that is being asked."""
        self._end(stopped("server_definition", "cancelled", REFUSED))

    def _end(self, trouble: StopError | None) -> bool:
        """End the process that asks, in order, and its server with it; return False if it has."""
        with self._lock:
            if self._hold is None:
                return False
            os.close(self._hold)
            self._hold, self.trouble = None, trouble
            return True


def copy_of(desk: Desk) -> ServerCopy:
    """Return the copy that a desk makes. One that is hosted for somebody makes none."""
    made = (one for one in desk.listeners if isinstance(one, ServerCopy))
    return next(made, ServerCopy(desk.home))


def _command_line(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise stopped("server_definition", "not asked", REFUSED, why=error) from error
    if not words:
        raise stopped("server_definition", "no command", REFUSED)
    source = [words[0]] if words[0].startswith(_ADDRESSES) else ["--", *words]
    ours = [sys.executable, "-m", "humanmcp.as_child", "book", "--lang", spoken_language()]
    return [*ours, "--from", *source]


def _lists_of(status: int, book: bytes, stderr: bytes, home: Path) -> server_definition.Lists:
    if status:
        why = stderr.decode("utf-8", "replace").strip()[-500:]
        raise stopped("server_definition", "not asked", REFUSED, why=why)
    return server_definition.of_book(parse_book(book.decode("utf-8", "replace"), home))
