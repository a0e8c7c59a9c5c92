"""What a person in the model's seat may begin with: say something, or call one of the tools.

Each beginning is a whole message and the form that fills it in. A turn of a model comes as
`sampling/createMessage`, with the offered tools beside the conversation.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from humanmcp.desk.forms import LARGEST_SCHEMA, AnswerForm
from humanmcp.protocol.results import MODEL
from humanmcp.protocol.starting import message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.exchange import Exchange

METHOD: Final = "sampling/createMessage"
SAY: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"text": {"type": "string", "format": "long"}},
    "required": ["text"],
}
MOST: Final = 40
"""Tools that get a button; with more of them the page would be nothing else."""


@dataclass(frozen=True, slots=True)
class Start:
    """One beginning. `tool` is the tool that it calls, "" for saying something."""

    tool: str
    about: str
    document: str
    form: AnswerForm


def starts_of(exchange: Exchange) -> tuple[Start, ...]:
    """List the beginnings; none where the request is no turn of a model, or offers no tool."""
    tools = exchange.request.params.get("tools")
    if exchange.method != METHOD or not isinstance(tools, list) or not tools:
        return ()
    say = Start("", "", _document(exchange, {"type": "text", "text": ""}, "endTurn"), _form(SAY))
    return (say, *(_call(exchange, tool) for tool in tools[:MOST] if _is_tool(tool)))


def chosen(starts: tuple[Start, ...], document: str) -> Start | None:
    """Return the beginning that a document goes back to; None when that cannot be told."""
    try:
        content = json.loads(document)["result"]["content"]
        tool = content["name"] if content["type"] == "tool_use" else ""
    except (ValueError, KeyError, TypeError):
        return None
    return next((one for one in starts if one.tool == tool), None)


def _is_tool(tool: Any) -> bool:  # noqa: ANN401 - it came over a wire
    return isinstance(tool, dict) and isinstance(tool.get("name"), str)


def _call(exchange: Exchange, tool: Mapping[str, Any]) -> Start:
    """Begin with a call. Its number of turns makes the id one of its own."""
    name = tool["name"]
    call = f"call-{exchange.id.value}"
    content = {"type": "tool_use", "id": call, "name": name, "input": {}}
    schema = tool.get("inputSchema")
    usable = isinstance(schema, dict) and len(json.dumps(schema)) <= LARGEST_SCHEMA
    return Start(
        name,
        str(tool.get("description") or ""),
        _document(exchange, content, "toolUse"),
        _form(schema if usable and isinstance(schema, dict) else {}, "/input"),
    )


def _form(schema: Mapping[str, Any], inside: str = "") -> AnswerForm:
    return AnswerForm("/result/content" + inside, schema)


def _document(exchange: Exchange, content: Mapping[str, Any], reason: str) -> str:
    said = {"role": "assistant", "content": content, "model": MODEL, "stopReason": reason}
    return message(exchange, "result", said)
