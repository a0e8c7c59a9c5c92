"""What a person types at the client's and the host's prompt: one reader for all who ask.

Lines come from a script first and from the terminal then. Only one question is open at a time: a
server may ask something while the prompt stands there.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING

from humanmcp.protocol.visible import visible
from humanmcp.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Typist:
    """The person at the terminal, or the script in their place."""

    def __init__(self, script: Sequence[str] = ()) -> None:
        """Read the lines of the script first. In it `#` begins a comment."""
        self._script = [line for line in script if line.strip() and not line.startswith("#")]
        self._turn = threading.RLock()
        self._asking = 0
        self._changed = threading.Condition()
        if sys.stdin is not None and sys.stdin.isatty():  # pragma: no cover - needs a terminal
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401, PLC0415 - gives `input` its editing

    @property
    def is_there(self) -> bool:
        """Say whether a person sits at a terminal."""
        return sys.stdin is not None and sys.stdin.isatty()

    @property
    def can_answer(self) -> bool:
        """Say whether a question would be answered: by a person, or by what the script holds."""
        return self.is_there or bool(self._script)

    @contextlib.contextmanager
    def turn(self, notice: str = "") -> Iterator[None]:
        """Have the terminal for oneself: several questions in a row belong together.

        `notice` is shown where the person is just typing something else.
        """
        with self._changed:
            self._asking += 1
        try:
            if notice and not self._turn.acquire(blocking=False):
                say("")
                say(notice)
                self._turn.acquire()
            elif not notice:
                self._turn.acquire()
            try:
                yield
            finally:
                self._turn.release()
        finally:
            with self._changed:
                self._asking -= 1
                self._changed.notify_all()

    def let_others_finish(self) -> None:
        """Wait until nobody else has or wants the terminal."""
        with self._changed:
            self._changed.wait_for(lambda: self._asking == 0)

    def ask(self, prompt: str) -> str | None:
        """Return the next line; None at the end of input."""
        with self._turn:
            if self._script:
                line = self._script.pop(0)
                say(prompt + line)
                return line
            try:
                return input(visible(prompt))
            except EOFError:
                return None
