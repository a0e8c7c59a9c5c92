"""What a person types at the client's and the host's prompt: one reader for all who ask.

Lines come from a script first and from the terminal then. Only one question is open at a time: a
server may ask something while the prompt stands there.
"""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from typing import TYPE_CHECKING

from humanmcp.protocol.visible import visible
from humanmcp.terminal import rewrite, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType


class Typist:
    """The person at the terminal, or the script in their place."""

    def __init__(self, script: Sequence[str] = ()) -> None:
        """Read the lines of the script first. In it `#` begins a comment."""
        self._script = [line for line in script if line.strip() and not line.startswith("#")]
        self._waits = False
        self._turn = threading.RLock()
        self._asking = 0
        self._changed = threading.Condition()
        self._open_prompt: str | None = None
        self._has_dropped = False
        if sys.stdin is not None and sys.stdin.isatty():
            _line_editor()  # gives `input` its editing

    @property
    def is_there(self) -> bool:
        """Say whether a person sits at a terminal."""
        return sys.stdin is not None and sys.stdin.isatty()

    @property
    def can_answer(self) -> bool:
        """Say whether a question would be answered: by a person, or by what the script holds."""
        return self.is_there or self._next is not None

    @property
    def _next(self) -> str | None:
        """The line that the script types next; None where it has none, or waits."""
        return self._script[0] if self._script and not self._waits else None

    @contextlib.contextmanager
    def expecting(self, pattern: str) -> Iterator[bool]:
        """Let the script wait inside this when its next line is nothing that is expected.

        Yields whether a question would then be answered.
        A server asks when it likes, many for the roots as soon as the session is open, and the
        script's next line may be meant for the prompt.
        """
        with self._turn:
            before = self._waits
            line = self._next
            self._waits = before or (line is not None and not re.fullmatch(pattern, line.strip()))
            try:
                yield self.can_answer
            finally:
                self._waits = before

    @contextlib.contextmanager
    def turn(self, notice: str = "") -> Iterator[None]:
        """Have the terminal for oneself: several questions in a row belong together.

        `notice` is shown where the person is just typing something else.
        """
        with self._changed:
            self._asking += 1
        try:
            if notice and not self._turn.acquire(blocking=False):
                with self.above():
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

    @contextlib.contextmanager
    def above(self) -> Iterator[None]:
        """Write inside this above the line that is just being typed, which is then shown again."""
        prompt = self._open_prompt
        if prompt is None or not (self.is_there and sys.stderr.isatty()):
            yield
            return
        rewrite("")
        try:
            yield
        finally:
            rewrite(prompt + _half_typed())

    def ask(self, prompt: str) -> str | None:
        """Return the next line; None at the end of input.

        Ctrl-C at a terminal drops the line, as in a shell; a second one in a row is the caller's.
        """
        with self._turn:
            if self._next is not None:
                line = self._script.pop(0)
                say(prompt + line)
                return line
            self._open_prompt = prompt
            dropped, self._has_dropped = self._has_dropped, False
            try:
                return input(visible(prompt))
            except EOFError:
                say("")  # what follows begins a line of its own
                return None
            except KeyboardInterrupt:
                say("")
                if dropped or not self.is_there:
                    raise
                self._has_dropped = True
                return ""
            finally:
                self._open_prompt = None

    def choose(self, prompt: str, letters: str) -> str:
        """Return one of the letters, asking until one is typed; the last one at the end of input.

        A slip of the finger decides nothing.
        """
        while (typed := self.ask(prompt)) is not None:
            letter = typed.strip()[:1].lower()
            if letter and letter in letters:
                return letter
        return letters[-1]


def _line_editor() -> ModuleType | None:
    """Return the line editor of this system; None where there is none."""
    try:
        import readline  # noqa: PLC0415 - not everywhere, and only where somebody types
    except ImportError:  # pragma: no cover - Windows
        return None
    return readline


def _half_typed() -> str:
    """Return what stands in the line that is just being typed."""
    editor = _line_editor() if sys.stdin.isatty() else None
    return editor.get_line_buffer() if editor is not None else ""


def complete_with(names: Callable[[], Sequence[str]]) -> None:
    """Let the tab key complete these names, where the terminal can."""
    editor = _line_editor()
    if editor is None:  # pragma: no cover - Windows
        return
    editor.set_completer_delims(" ")
    editor.set_completer(lambda start, at: completion(names(), start, at))
    is_libedit = "libedit" in (editor.__doc__ or "")  # macOS: the same module, another library
    editor.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")


def completion(names: Sequence[str], start: str, at: int) -> str | None:
    """Return the completion number `at` of what was typed; None when there are no more."""
    found = sorted({name for name in names if name.startswith(start)})
    return found[at] if at < len(found) else None
