"""Read what a person types at a prompt: one reader for everything that asks.

Lines come from a script first and from the terminal then. Only one question is open at a time: a
server may ask something while the prompt stands there.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import re
import sys
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering import forms
from humanmcp.answering.forms import FieldError, MistypedError, value
from humanmcp.common.terminal import Painted, rewrite, to_stdout
from humanmcp.locales import say
from humanmcp.protocol.json.tree import object_at
from humanmcp.protocol.json.visible import visible
from humanmcp.protocol.tables.schemas import Field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from types import ModuleType


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question that waits for the keyboard, and the future of the thread that asked it."""

    question: Callable[[], None]
    over: Future[None] = field(default_factory=concurrent.futures.Future)

    def put(self) -> None:
        """Put it to the person. What goes wrong is raised in the thread that asked."""
        try:
            self.question()
        except Exception as error:  # noqa: BLE001 - it is raised again, there
            self.over.set_exception(error)
        finally:
            if not self.over.done():
                self.over.set_result(None)


class Typist:
    """The person at the terminal, or the script in their place."""

    def __init__(self, script: Sequence[str] = ()) -> None:
        """Read the lines of the script first. In it `#` begins a comment."""
        self._script = [line for line in script if line.strip() and not line.startswith("#")]
        self._waits = False
        self._owner = threading.get_ident()
        self._asked: deque[_Asked] = deque()
        self._changed = threading.Condition()
        self._writing = threading.RLock()
        self._open_prompt: str | None = None
        self._has_dropped = False
        if sys.stdin is not None and sys.stdin.isatty():
            _line_editor()  # gives `input` its editing

    @property
    def is_there(self) -> bool:
        """Return True if a person sits at a terminal."""
        return sys.stdin is not None and sys.stdin.isatty()

    @property
    def can_answer(self) -> bool:
        """Return True if a question would be answered: by a person, or by what the script holds."""
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
        before = self._waits
        line = self._next
        self._waits = before or (line is not None and not re.fullmatch(pattern, line.strip()))
        try:
            yield self.can_answer
        finally:
            self._waits = before

    # -- questions from other threads -----------------------------------------------------------

    def put(self, question: Callable[[], None], notice: str = "") -> None:
        """Have the person asked something, one question at a time; wait until they are done.

        A server asks in a thread of its own, but the keyboard belongs to one thread only: the one
        that made the typist, to which Ctrl-C goes. It asks while it waits, or after the line that
        is just being typed; `notice` says so above that line.
        """
        if threading.get_ident() == self._owner:
            question()
            return
        asked = _Asked(question)
        with self._changed:
            self._asked.append(asked)
            self._changed.notify_all()
        if notice and self._open_prompt is not None:
            with self.above():
                to_stdout(notice)
        asked.over.result()

    def answer_waiting(self) -> None:
        """Put every question that waits to the person."""
        while (asked := self._first_asked()) is not None:
            asked.put()

    def _first_asked(self) -> _Asked | None:
        with self._changed:
            return self._asked.popleft() if self._asked else None

    def wait(self, futures: Sequence[Future[Any]], timeout: float | None = None) -> None:
        """Wait until one of these is done; put questions to the person in the meantime.

        Returns earlier after a question: the caller may have to count its time anew.
        """
        if threading.get_ident() != self._owner:
            concurrent.futures.wait(futures, timeout, concurrent.futures.FIRST_COMPLETED)
            return
        for future in futures:
            future.add_done_callback(self._notify)
        with self._changed:
            self._changed.wait_for(
                lambda: bool(self._asked) or any(one.done() for one in futures), timeout
            )
        self.answer_waiting()

    def _notify(self, _future: Future[Any]) -> None:
        with self._changed:
            self._changed.notify_all()

    # -- the terminal ----------------------------------------------------------------------------

    @contextlib.contextmanager
    def above(self) -> Iterator[None]:
        """Write inside this above the line that is just being typed, which is then shown again.

        Other threads that write wait: what belongs together stands together.
        """
        with self._writing:
            prompt = self._open_prompt
            if prompt is None or not (self.is_there and sys.stderr.isatty()):
                yield
                return
            rewrite("")
            try:
                yield
            finally:
                rewrite(prompt + _half_typed())

    def ask(self, prompt: str, *, can_leave: bool = False) -> str | None:
        """Return the next line; None at the end of input.

        Ctrl-C at a terminal drops the line, as in a shell; a second one in a row is the caller's,
        and so is the first one where one `can_leave` by it.
        """
        if self._next is not None:
            line = self._script.pop(0)
            to_stdout(prompt + line)
            return line
        self._open_prompt = prompt
        dropped, self._has_dropped = self._has_dropped, False
        try:
            return input(visible(prompt))
        except EOFError:
            to_stdout("")  # what follows begins a line of its own
            return None
        except KeyboardInterrupt:
            to_stdout("")
            if dropped or can_leave or not self.is_there:
                raise
            self._has_dropped = True
            return ""
        finally:
            self._open_prompt = None

    def choose(self, prompt: str, letters: str) -> str:
        """Return one of the letters, asking until one is typed; the last one at the end of input.

        A slip of the finger decides nothing.
        """
        while (typed := self.ask(prompt, can_leave=True)) is not None:
            letter = typed.strip()[:1].lower()
            if letter and letter in letters:
                return letter
        return letters[-1]


def _line_editor() -> ModuleType | None:
    try:
        import readline  # noqa: PLC0415 - not everywhere, and only where somebody types
    except ImportError:  # pragma: no cover - Windows
        return None
    return readline


def _half_typed() -> str:
    """Return the unfinished line."""
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
    """Return the completion with number `at`; None after the last one."""
    found = sorted({name for name in names if name.startswith(start)})
    return found[at] if at < len(found) else None


SECTION: Final = "client"
BACK: Final = "/back"
LEAVE: Final = "/leave"
NOTHING: Final = '""'
"""How a text of no characters is typed: Enter alone leaves a field out."""


class LineError(MistypedError):
    """A person typed a line that cannot be sent."""

    section = SECTION


class LeftError(Exception):
    """The person left the form."""


class FormAtTerminal:
    """One form, put to the person as often as it takes."""

    def __init__(self, schema: object, typist: Typist) -> None:
        self.fields = Field("", object_at(schema)).fields
        self.typist = typist
        self._typed: dict[str, str] = {}

    def fill(self) -> dict[str, Any]:
        """Return what the person fills in. An empty answer leaves a field out.

        Raises:
            LeftError: they left: by a word, by Ctrl-C, or by the end of input.
        """
        filled: dict[str, Any] = {}
        if self.fields:
            to_stdout(Painted(f"  {say(SECTION, 'how to fill')}", "dim"))
        at = 0
        while at < len(self.fields):
            field = self.fields[at]
            filled.pop(field.name, None)
            if self._fill(field, filled):
                at += 1
            else:
                at = max(0, at - 1)
        return filled

    def _fill(self, field: Field, filled: dict[str, Any]) -> bool:
        """Ask for one field until it fits. False when the person wants to go back."""
        self._show_choices(field)
        while True:
            typed = self._asked(field)
            if typed == BACK:
                return False
            if not typed and not field.needed:
                self._typed.pop(field.name, None)
                return True
            try:
                filled[field.name] = self._value(field, typed)
            except FieldError as error:
                to_stdout("  ", Painted(error.sentence(), "yellow"))
            else:
                self._typed[field.name] = typed
                return True

    def _value(self, field: Field, typed: str) -> Any:  # noqa: ANN401 - any JSON value
        if not typed:
            raise FieldError(field, typed)
        if typed == NOTHING and field.kind == "string" and not forms.choices_of(field):
            return value(field, "")
        return value(field, typed, numbered=True)

    def _asked(self, field: Field) -> str:
        kind = say(SECTION, "several") if forms.takes_many(field) else forms.kind_of(field)
        needed = "*" if field.needed else ""
        use = field.about or field.title
        about = f": {use}" if use else ""
        ready = self._typed.get(field.name, forms.default_of(field))
        default = f" [{ready}]" if ready else ""
        prompt = f"  {field.name}{needed} ({kind}){about}{default}: "
        try:
            typed = self.typist.ask(prompt, can_leave=True)
        except KeyboardInterrupt:
            typed = LEAVE
        if typed is None or typed.strip() == LEAVE:
            raise LeftError
        return BACK if typed.strip() == BACK else typed or ready

    def _show_choices(self, field: Field) -> None:
        for number, one in enumerate(forms.choices_of(field), 1):
            own = f" ({one.value})" if str(one.value) != one.title else ""
            to_stdout("    ", Painted(f"{number}", "bold"), f"  {one.title}{own}")
