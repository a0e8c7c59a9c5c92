"""What a tap is to hold, as a person writes it: `tools/call`, `tool:NAME`, `in`, `out`, `next`.

`in:` and `out:` before one of them ask for the direction, too: `tools/call` is the request,
`out:tools/call` its answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from humanmcp.protocol.conversation.transcript import Direction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from humanmcp.protocol.conversation.state import ObservedMessage

NEXT: Final = "next"
_TOOL: Final = "tool:"
_WAYS: Final[Mapping[str, Direction]] = {"in": Direction.IN, "out": Direction.OUT}


class PatternError(ValueError):
    """A pattern says nothing."""

    room: ClassVar = "hold"
    code: Final = "no pattern"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    @property
    def fillings(self) -> Mapping[str, str]:
        """What fills the sentence that says what can be written."""
        return {"text": self.text}


@dataclass(frozen=True, slots=True)
class Pattern:
    """One thing to hold. What is empty is not asked for; `once` holds one message and no more."""

    text: str
    direction: Direction | None = None
    method: str = ""
    tool: str = ""
    once: bool = False

    def fits(self, observed: ObservedMessage) -> bool:
        """Return True if a message is meant."""
        if self.direction is not None and observed.direction is not self.direction:
            return False
        if self.tool:
            named = observed.method == "tools/call" and observed.name == self.tool
            return named and self._asked_of(observed) != ""
        return not self.method or self._asked_of(observed) == self.method

    def _asked_of(self, observed: ObservedMessage) -> str:
        """Return the method that counts: without a direction an answer has none."""
        return observed.message.method if self.direction is None else observed.method


def parse(text: str) -> Pattern:
    """Read a pattern.

    Raises:
        PatternError: it says nothing.
    """
    first, colon, rest = text.partition(":")
    direction = _WAYS.get(first)
    what = (rest if colon else "") if direction else text
    if not what:
        if direction is None or colon:
            raise PatternError(text)
        return Pattern(text, direction)
    if what == NEXT:
        return Pattern(text, direction, once=True)
    if what.startswith(_TOOL):
        tool = what.removeprefix(_TOOL)
        if not tool:
            raise PatternError(text)
        return Pattern(text, direction, tool=tool)
    if not what.strip() or what != what.strip():
        raise PatternError(text)
    return Pattern(text, direction, method=what)


def parse_all(texts: Iterable[str]) -> tuple[Pattern, ...]:
    """Read several patterns.

    Raises:
        PatternError: one of them says nothing.
    """
    return tuple(parse(text) for text in texts)
