"""A person as the model: each turn is an item of the inbox, answered at any desk.

MCP has a word for asking a client's model something: `sampling/createMessage`. So a turn is put to
the person as exactly that request, in the shape of 2025-11-25, which knows tools: the conversation
in `messages`, the offered tools in `tools`, the system's words in `systemPrompt`. The person
answers with a `CreateMessageResult` whose content is text, or one or more `tool_use` blocks; plain
text (`humanmcp answer N --text "…"`) becomes a text block. The ordinary check, drafts and pages
work on it, because it is an ordinary request: seen from the person, the host is the peer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from humanmcp.extensions.host.at_inbox import PersonAsked
from humanmcp.extensions.host.conversation import (
    ImageBlock,
    ModelError,
    TextBlock,
    ToolResult,
    Turn,
    TurnRole,
    blocks_of,
    written_block,
)
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.validation.rules.sampling import TEXT_ONLY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.extensions.host.at_inbox import QuestionInbox
    from humanmcp.extensions.host.conversation import Block, ModelTool
    from humanmcp.extensions.host.models import Heard

METHOD: Final = "sampling/createMessage"
MAX_TOKENS: Final = 4096
"""A person writes as much as they like; the shape wants a number."""


class HumanModel:
    """A person who is shown the conversation and the tools, and answers in the model's place."""

    def __init__(self, session: QuestionInbox) -> None:
        can: dict[str, Any] = {"sampling": {"tools": {}}}
        self.person = PersonAsked(
            session, NegotiatedState(TEXT_ONLY, client_capabilities=can, initialized=True)
        )

    def turn(self, history: Sequence[Turn], tools: Sequence[ModelTool], heard: Heard) -> Turn:
        """Put the turn into the inbox and wait for the person, however long it takes."""
        response = self.person.ask(METHOD, params_of(history, tools))
        if response is None:
            raise ModelError("left")
        turn = said(response, self.person.asked)
        heard(turn.text)
        return turn

    def close(self) -> None:
        self.person.end()


def params_of(history: Sequence[Turn], tools: Sequence[ModelTool]) -> dict[str, Any]:
    """Make the parameters that show a person the conversation."""
    system = "\n".join(turn.text for turn in history if turn.role is TurnRole.SYSTEM)
    params: dict[str, Any] = {
        "messages": messages_of(history),
        **({"systemPrompt": system} if system else {}),
        "maxTokens": MAX_TOKENS,
    }
    if tools:
        params["tools"] = [
            {
                "name": tool.name,
                **({"description": tool.description} if tool.description else {}),
                "inputSchema": dict(tool.schema),
            }
            for tool in tools
        ]
    return params


def messages_of(history: Sequence[Turn]) -> list[dict[str, Any]]:
    """Write the conversation as messages of MCP, without the system prompt."""
    return [_message(turn) for turn in history if turn.role is not TurnRole.SYSTEM]


def _message(turn: Turn) -> dict[str, Any]:
    blocks = [_block(block) for block in turn.blocks]
    return {"role": turn.role.value, "content": blocks[0] if len(blocks) == 1 else blocks}


def _block(block: Block) -> dict[str, Any]:
    match block:
        case ImageBlock(mime, data):
            return {"type": "image", "mimeType": mime, "data": data}
        case ToolResult(call, text, is_error, images):
            wrong = {"isError": True} if is_error else {}
            content = [_block(TextBlock(text)), *map(_block, images)]
            return {"type": "tool_result", "toolUseId": call, "content": content, **wrong}
        case _:  # a text or a call is the same for model services
            return written_block(block)


def said(response: dict[str, Any], number: int = 1) -> Turn:
    """Read the person's answer as a turn.

    Raises:
        ModelError: the person answered with an error, or with something that is no turn.
    """
    if isinstance(response.get("error"), dict):
        raise ModelError.quoting(str(response["error"].get("message", "")))
    return Turn(TurnRole.ASSISTANT, blocks_of(follow(response, "result", "content"), number))
