"""What a hook prints: one answer, once, and what is safe when nobody decided."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Final

from humanmcp.common.line_pipe import write_pieces
from humanmcp.locales import say
from humanmcp.protocol.conversation.prompts import Decided, answer

if TYPE_CHECKING:
    from humanmcp.protocol.conversation.prompts import AgentPrompt

logger = logging.getLogger(__name__)

SECTION: Final = "hook"
DENIED: Final = 2
"""The exit status that most agents read as a denial."""
LATEST: Final = 1.0
"""Seconds after the limit at which this process ends, whatever it waits for."""


class Printer:
    """Prints the answer to one prompt, once, to the descriptor `sink`.

    `limit` are the seconds from the start of the process until it is too late, at `deadline`.
    """

    def __init__(self, prompt: AgentPrompt, sink: int, deadline: float, limit: float) -> None:
        self.prompt = prompt
        self.sink = sink
        self.deadline = deadline
        self.limit = limit
        self.status = 0
        self.is_over = False
        self.said: str | None = None
        """What the agent has; None as long as that is not known."""
        self._lock = threading.Lock()

    def print(self, text: str, words: str = "") -> bool:
        """Print an answer. Return True if the agent has it.

        To an agent that nobody knows a denial is the exit status, with `words` on stderr. Until
        all is written the status denies: some agents run the tool after half an answer.
        """
        with self._lock:
            if self.is_over:
                return False
            self.is_over, self.status = True, DENIED
            is_unknown = not self.prompt.host and words
            try:
                if is_unknown:
                    os.write(2, f"{words}\n".encode("utf-8", "backslashreplace"))
                raw = f"{text}\n".encode() if text else b""
                for _written in write_pieces(self.sink, raw):
                    pass
            except Exception as error:  # noqa: BLE001 - whatever it is, the status denies
                logger.warning("not printed: %r", error)
                return False
            self.said, self.status = text, DENIED if is_unknown else 0
            return True

    def lost(self, words: str) -> str:
        """Print what is safe when nobody decided, unless something was printed. Return it."""
        safe = answer(self.prompt, Decided("ask", words))
        self.print(safe, words)
        return safe if self.said is None else self.said

    @property
    def too_late(self) -> str:
        return say(SECTION, "too late", seconds=round(self.limit))

    def watch_limit(self) -> None:
        """End this process with what is safe when it is too late, whatever keeps it."""

        def end() -> None:
            try:
                self.lost(self.too_late)
            finally:
                os._exit(self.status)

        timer = threading.Timer(max(0.0, self.deadline + LATEST - time.monotonic()), end)
        timer.daemon = True
        timer.start()
