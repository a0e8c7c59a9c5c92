"""Run the person's command when a question waits: for a sound, a message on a phone, a lamp.

A question belongs to one server process, so it is announced here, once, whether or not a desk runs.
The command gets names and numbers and never a word of the question: what it passes on may be read
by others. It runs beside the server, one at a time, and the wire never waits for it.
"""

from __future__ import annotations

import logging
import os
import queue
import re
import shlex
import subprocess
import threading
from typing import Final

from humanmcp.locales.stop import REFUSED, stopped

logger = logging.getLogger(__name__)

LONGEST: Final = 30.0
"""Seconds that one run of the command may take; then it is ended."""
MOST: Final = 100
"""Announcements that may wait; more are dropped."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,127}")
"""How the name of a tool may look to be passed on: it comes from the client."""


class CommandNotifier:
    """Announces the questions of one session."""

    def __init__(self, command: str) -> None:
        """Read the command, which no shell sees.

        Raises:
            StopError: a quote in it is not closed, or it is empty.
        """
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise stopped("setting_error", "notify", REFUSED, value=command, why=error) from error
        self._waiting: queue.Queue[tuple[str, str, str]] = queue.Queue(MOST)
        self._thread: threading.Thread | None = None

    def __call__(self, session: str, number: int, tool: str) -> None:
        """Announce that a request waits for a person."""
        named = tool if _PLAIN.fullmatch(tool) else ""
        try:
            self._waiting.put_nowait((session, str(number), named))
        except queue.Full:
            logger.warning("question %d is not announced: %d wait for it", number, MOST)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="notify", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            self._announce(*self._waiting.get())

    def _announce(self, session: str, number: str, tool: str) -> None:
        variables = {"HUMANMCP_SESSION": session, "HUMANMCP_NUMBER": number, "HUMANMCP_TOOL": tool}
        try:
            subprocess.run(  # noqa: S603 - the person's own command, from their own settings
                [*self._words, session, number, tool],
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # ours is the wire
                stderr=subprocess.DEVNULL,
                timeout=LONGEST,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            logger.warning("notify: %s", error)
