"""The loop of a host: the person says something, the model asks for tools, and at last answers.

Every tool call gets exactly one result, whatever happens: refused, failed, unknown, interrupted, or
one too many. A history with a call that has no result is refused by every LLM service from then on.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar, assert_never

from humanmcp.host.conversation import TextBlock, ToolResult, ToolUse, Turn, TurnRole
from humanmcp.host.models import ModelError, OverloadedError
from humanmcp.host.offering import NoToolError
from humanmcp.locales.stop import StopError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from humanmcp.host.conversation import Block
    from humanmcp.host.models import Model
    from humanmcp.host.offering import ToolAddress
    from humanmcp.host.servers import Called, Servers

T = TypeVar("T")

MOST: Final = 5
FIRST: Final = 1.0
LONGEST: Final = 30.0


def pauses(most: int = MOST) -> Iterator[float]:
    """Yield the seconds before each new attempt: doubling, 30 at most."""
    for attempt in range(most):
        yield min(LONGEST, FIRST * 2**attempt)


def with_retries(
    attempt: Callable[[], T],
    sleep: Callable[[float], None],
    *,
    on_wait: Callable[[float], None] = lambda _seconds: None,
    most: int = MOST,
) -> T:
    """Return what the attempt returns. `on_wait` hears of each pause before it begins.

    Raises:
        ModelError: as the attempt, or because the service stays overloaded.
    """
    for pause in pauses(most):
        try:
            return attempt()
        except OverloadedError:
            on_wait(pause)
            sleep(pause)
    try:
        return attempt()
    except OverloadedError as error:
        raise ModelError("overloaded") from error


REFUSED: Final = "The user refused this tool call."
INTERRUPTED: Final = "The user interrupted this tool call."


# -- what the person at the host may do with a call ------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Call the tool."""


@dataclass(frozen=True, slots=True)
class Instead:
    """Do not call it; tell the model this, as if the tool had said so."""

    text: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """Do not call it, and tell the model so."""


Choice: TypeAlias = ToolCall | Instead | Refuse
"""What becomes of a call: made and its value returned, answered as if made, or refused."""


class Watcher(Protocol):
    """Sees what happens in the loop, and is asked before each call."""

    def heard(self, piece: str) -> None:
        """Hear a piece of what the model says."""

    def turn_ended(self, turn: Turn) -> None:
        """See a whole turn of the model."""

    def broke_off(self) -> None:
        """See that the model did not end its turn."""

    def permit(self, use: ToolUse, tool: ToolAddress) -> Choice:
        """Decide about a call."""

    def calling(self, use: ToolUse, tool: ToolAddress) -> None:
        """See that a tool is called."""

    def returned(self, use: ToolUse, result: ToolResult) -> None:
        """See what the model will read."""

    def waiting(self, seconds: float) -> None:
        """See that the service has no room, and for how long it is waited."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a model may go after one prompt."""

    turns: int = 20
    calls: int = 10
    """In one turn."""


class TurnLimitError(StopError):
    """The model asks for tools again and again."""

    room = "model"


class HostLoop:
    """One conversation between a person, a model and their servers."""

    def __init__(  # noqa: PLR0913 - the parts of a host, each with its own module
        self,
        model: Model,
        servers: Servers,
        watcher: Watcher,
        *,
        system: str = "",
        limits: Limits | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model = model
        self.servers = servers
        self.watcher = watcher
        self.limits = limits or Limits()
        self.sleep = sleep
        self.history: list[Turn] = [Turn(TurnRole.SYSTEM, (TextBlock(system),))] if system else []

    def run(self, prompt: str, shown: tuple[Block, ...] = ()) -> str:
        """Say something to the model and return its last words; `shown` stands before the prompt.

        Raises:
            StopError, KeyboardInterrupt: as `say`.
        """
        return self.say((Turn(TurnRole.USER, (*shown, TextBlock(prompt))),))

    def say(self, turns: tuple[Turn, ...]) -> str:
        """Put turns into the conversation, and return the model's last words to them.

        Raises:
            ModelError: it took no turn. The history is as it was before that turn.
            TurnLimitError: it asks for tools without end.
            KeyboardInterrupt: the person had enough; no call is left without a result.
        """
        before = len(self.history)
        self.history += turns
        for _ in range(self.limits.turns):
            try:
                turn = self._turn()
            except (ModelError, KeyboardInterrupt):
                self.watcher.broke_off()
                if len(self.history) == before + len(turns):
                    del self.history[
                        before:
                    ]  # the model has not heard it: the next one stands in its place
                raise
            self.history.append(turn)
            self.watcher.turn_ended(turn)
            if not turn.calls:
                return turn.text
            self._answer(turn.calls)
        raise TurnLimitError("turn limit", turns=self.limits.turns)

    def _turn(self) -> Turn:
        tools = self.servers.offered()
        turn = with_retries(
            lambda: self.model.turn(tuple(self.history), tools, self.watcher.heard),
            self.sleep,
            on_wait=self.watcher.waiting,
        )
        return self._with_own_ids(turn)

    def _with_own_ids(self, turn: Turn) -> Turn:
        """Give a call another id when one before it has the same: a result names its call by it."""
        seen = {call.id for each in self.history for call in each.calls}
        blocks = []
        for block in turn.blocks:
            own = block
            if isinstance(own, ToolUse):
                while own.id in seen:
                    own = replace(own, id=own.id + "'")
                seen.add(own.id)
            blocks.append(own)
        return replace(turn, blocks=tuple(blocks))

    def _answer(self, calls: tuple[ToolUse, ...]) -> None:
        """Give every call its result, in one turn of the user."""
        results: list[ToolResult] = []
        try:
            for number, use in enumerate(calls):
                results.append(self._result(use, number))
                self.watcher.returned(use, results[-1])
        finally:
            results += [
                ToolResult(use.id, INTERRUPTED, is_error=True) for use in calls[len(results) :]
            ]
            self.history.append(Turn(TurnRole.USER, tuple(results)))

    def _result(self, use: ToolUse, number: int) -> ToolResult:
        if number >= self.limits.calls:
            why = f"not called: at most {self.limits.calls} tools can be called in one turn"
            return _failed(use, why)
        if use.broken:
            return _failed(use, f"the arguments are no JSON object: {use.broken}")
        try:
            tool = self.servers.place(use.name)
        except NoToolError as error:
            return ToolResult(use.id, str(error), is_error=True)
        choice = self.watcher.permit(use, tool)
        match choice:
            case ToolCall():
                self.watcher.calling(use, tool)
                called: Called = self.servers.call(tool, use.input)
                return ToolResult(use.id, called.text, called.is_error, called.images)
            case Instead(text):
                return ToolResult(use.id, text)
            case Refuse():
                return ToolResult(use.id, REFUSED, is_error=True)
            case impossible:
                assert_never(impossible)


def _failed(use: ToolUse, why: str) -> ToolResult:
    return ToolResult(use.id, f"Error calling tool {use.name}: {why}", is_error=True)
