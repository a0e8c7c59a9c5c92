"""A language model behind the messages API of Anthropic. Uses the `anthropic` library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from humanmcp.host.conversation import (
    StopReason,
    TextBlock,
    ToolUse,
    Turn,
    TurnRole,
    tool_written,
    written,
)
from humanmcp.host.models import ModelError
from humanmcp.host.models.service import ServiceModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.host.conversation import Block, ModelTool
    from humanmcp.host.models import Heard

OVERLOADED = "overloaded_error"
MAX_TOKENS = 4096
"""The tokens of one turn where nothing else is said: the service wants a number, and its oldest
models allow no more."""
_STOPS = {"max_tokens": StopReason.LENGTH, "refusal": StopReason.FILTER}
_BUSY = 529


class AnthropicModel(ServiceModel):
    """One model of the service, by its name there."""

    library = "anthropic"
    client = "Anthropic"

    def _ask(self, history: Sequence[Turn], tools: Sequence[ModelTool], heard: Heard) -> Turn:
        more: dict[str, Any] = {"tools": [tool_written(tool) for tool in tools]} if tools else {}
        system = "\n".join(turn.text for turn in history if turn.role is TurnRole.SYSTEM)
        if system:
            more["system"] = system
        with self._client.messages.stream(
            model=self.name,
            max_tokens=self._max_tokens or MAX_TOKENS,
            messages=messages_of(history),
            **more,
        ) as stream:
            for piece in stream.text_stream:
                heard(piece)
            try:
                answer = stream.get_final_message()
            except AssertionError as error:  # how the library says that no event came
                raise ModelError("no stream") from error
        stop = _STOPS.get(answer.stop_reason or "", StopReason.DONE)
        return Turn(TurnRole.ASSISTANT, tuple(_blocks(answer.content)), stop)

    def _is_busy(self, status: int, why: str) -> bool:
        # In the middle of a stream the status is 200: then only the name of the error says it.
        return status == _BUSY or OVERLOADED in why


def messages_of(history: Sequence[Turn]) -> Any:  # noqa: ANN401 - the library's own union of shapes
    """Write the conversation in the service's form; the system's words go beside it."""
    return [written(turn) for turn in history if turn.role is not TurnRole.SYSTEM and turn.blocks]


def _blocks(content: Sequence[Any]) -> list[Block]:
    found: list[Block] = []
    for block in content:
        if block.type == "text" and block.text:
            found.append(TextBlock(block.text))
        elif block.type == "tool_use":
            given = block.input if isinstance(block.input, dict) else {}
            found.append(ToolUse(block.id, block.name, given))
    return found
