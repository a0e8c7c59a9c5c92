"""A form at the terminal: field by field, each value checked where it is typed.

A field can be gone back to, and the whole form can be left at any time. What was typed is kept for
the next time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.forms import FieldError, FormField, fields, value
from humanmcp.common.terminal import Painted, to_stdout
from humanmcp.locales import say

if TYPE_CHECKING:
    from humanmcp.host.terminal.typing import Typist

ROOM: Final = "client"
BACK: Final = "/back"
LEAVE: Final = "/leave"
NOTHING: Final = '""'
"""How a text of no characters is typed: Enter alone leaves a field out."""


class LeftError(Exception):
    """The person left the form."""


class FormAtTerminal:
    """One form, put to the person as often as it takes."""

    def __init__(self, schema: object, typist: Typist, language: str) -> None:
        self.fields = fields(schema)
        self.typist = typist
        self.language = language
        self._typed: dict[str, str] = {}

    def fill(self) -> dict[str, Any]:
        """Return what the person fills in. An empty answer leaves a field out.

        Raises:
            LeftError: they left: by a word, by Ctrl-C, or by the end of input.
        """
        filled: dict[str, Any] = {}
        if self.fields:
            to_stdout(Painted(f"  {self._say('how to fill')}", "dim"))
        at = 0
        while at < len(self.fields):
            field = self.fields[at]
            filled.pop(field.name, None)
            if self._fill(field, filled):
                at += 1
            else:
                at = max(0, at - 1)
        return filled

    def _fill(self, field: FormField, filled: dict[str, Any]) -> bool:
        """Ask for one field until it fits. False when the person wants to go back."""
        self._show_choices(field)
        while True:
            typed = self._asked(field)
            if typed == BACK:
                return False
            if not typed and not field.required:
                self._typed.pop(field.name, None)
                return True
            try:
                filled[field.name] = self._value(field, typed)
            except FieldError as error:
                to_stdout("  ", Painted(error.sentence(self.language), "yellow"))
            else:
                self._typed[field.name] = typed
                return True

    def _value(self, field: FormField, typed: str) -> Any:  # noqa: ANN401 - any JSON value
        if not typed:
            raise FieldError(field, typed)
        if typed == NOTHING and field.kind == "string" and not field.choices:
            return value(field, "")
        return value(field, typed, numbered=True)

    def _asked(self, field: FormField) -> str:
        kind = self._say("several") if field.takes_many else field.kind
        needed = "*" if field.required else ""
        about = f": {field.about}" if field.about else ""
        ready = self._typed.get(field.name, field.default)
        default = f" [{ready}]" if ready else ""
        prompt = f"  {field.name}{needed} ({kind}){about}{default}: "
        try:
            typed = self.typist.ask(prompt, can_leave=True)
        except KeyboardInterrupt:
            typed = LEAVE
        if typed is None or typed.strip() == LEAVE:
            raise LeftError
        return BACK if typed.strip() == BACK else typed or ready

    def _show_choices(self, field: FormField) -> None:
        for number, one in enumerate(field.choices, 1):
            own = f" ({one.value})" if str(one.value) != one.title else ""
            to_stdout("    ", Painted(f"{number}", "bold"), f"  {one.title}{own}")

    def _say(self, code: str) -> str:
        return say(ROOM, code, self.language)
