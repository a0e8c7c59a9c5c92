"""A language model behind the chat completions of OpenAI, or anything that speaks like it.

Ollama, vLLM and LM Studio do: `--base-url http://localhost:11434/v1`. Uses the `openai` library.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, assert_never

from humanmcp.host.conversation import (
    ImageBlock,
    StopReason,
    TextBlock,
    ToolResult,
    ToolUse,
    Turn,
    TurnRole,
)
from humanmcp.host.models import ModelError
from humanmcp.host.models.service import ServiceModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from humanmcp.host.conversation import ModelTool
    from humanmcp.host.models import Heard

_BUSY = (503, 529)
_STOPS = {"length": StopReason.LENGTH, "content_filter": StopReason.FILTER}


class OpenAIModel(ServiceModel):
    """One model of such a service, by its name there."""

    library = "openai"
    client = "OpenAI"

    def _ask(self, history: Sequence[Turn], tools: Sequence[ModelTool], heard: Heard) -> Turn:
        more: dict[str, Any] = {"tools": [_tool(tool) for tool in tools]} if tools else {}
        if self._max_tokens:
            # OpenAI renamed it; what speaks like OpenAI mostly knows the old name only.
            limit = "max_completion_tokens" if self._is_home else "max_tokens"
            more[limit] = self._max_tokens
        with self._client.chat.completions.create(
            model=self.name, messages=messages_of(history), stream=True, **more
        ) as stream:
            return _gathered(stream, heard)

    def _is_busy(self, status: int, why: str) -> bool:  # noqa: ARG002 - the status says all
        return status in _BUSY


def _tool(tool: ModelTool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}


def messages_of(history: Sequence[Turn]) -> Any:  # noqa: ANN401 - the library's own union of eight shapes
    """Write the conversation in the service's form: each tool result is a message of its own."""
    found: list[dict[str, Any]] = []
    for turn in history:
        calls: list[dict[str, Any]] = []
        pictures: list[dict[str, Any]] = []
        for block in turn.blocks:
            match block:
                case TextBlock():
                    pass  # all text of a turn stands together, below
                case ToolUse(call, name, given, broken):
                    typed = broken or json.dumps(given, ensure_ascii=False)
                    function = {"name": name, "arguments": typed}
                    calls.append({"id": call, "type": "function", "function": function})
                case ImageBlock():
                    pictures.append(_picture(block))
                case ToolResult(call, text, _, images):
                    found.append({"role": "tool", "tool_call_id": call, "content": text})
                    if images:
                        pictures.append({"type": "text", "text": f"The images of {call}:"})
                    pictures += map(_picture, images)
                case impossible:
                    assert_never(impossible)
        if turn.text or calls:
            said: dict[str, Any] = {"role": turn.role.value, "content": turn.text or None}
            found.append(said | ({"tool_calls": calls} if calls else {}))
        if pictures:  # a tool's message holds text only; the user's comes after all of them
            found.append({"role": "user", "content": pictures})
    return found


def _picture(image: ImageBlock) -> dict[str, Any]:
    url = f"data:{image.mime};base64,{image.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _gathered(stream: Iterable[Any], heard: Callable[[str], None]) -> Turn:
    """Put the pieces of a streamed answer together; a call comes in pieces too.

    Raises:
        ModelError: there was no piece. A service that does not stream answers 200, too.
    """
    text: list[str] = []
    calls: dict[int, dict[str, str]] = {}
    finish = None
    for chunk in stream:
        for choice in chunk.choices[:1]:
            finish = choice.finish_reason or finish or ""
            delta = choice.delta
            if delta.content:
                text.append(delta.content)
                heard(delta.content)
            for piece in delta.tool_calls or ():
                call = calls.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
                call["id"] = piece.id or call["id"]
                if piece.function is not None:
                    call["name"] += piece.function.name or ""
                    call["arguments"] += piece.function.arguments or ""
    if finish is None:
        raise ModelError("no stream")
    said = (TextBlock("".join(text)),) if text else ()
    uses = (_use(at, call) for at, call in sorted(calls.items()))
    return Turn(TurnRole.ASSISTANT, (*said, *uses), _STOPS.get(finish, StopReason.DONE))


def _use(at: int, call: dict[str, str]) -> ToolUse:
    """Read a call. Arguments that are no JSON object stay as written: the host tells the model."""
    name, own, typed = call["name"], call["id"] or f"call-{at}", call["arguments"] or "{}"
    try:
        given = json.loads(typed)
    except ValueError:
        given = None
    return ToolUse(own, name, given) if isinstance(given, dict) else ToolUse(own, name, {}, typed)
