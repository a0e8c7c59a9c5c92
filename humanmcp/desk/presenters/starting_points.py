"""What a person in the model's seat may begin with: say something, or call one of the tools.

Each beginning is a whole message and the form that fills it in. A turn of a model comes as
`sampling/createMessage`, with the offered tools beside the conversation.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from humanmcp.desk.presenters.forms import LARGEST_SCHEMA, AnswerForm
from humanmcp.protocol.conversation.exchange import Established
from humanmcp.protocol.validation.results import plain_result
from humanmcp.protocol.validation.starting_draft import calls, message, offered_tools

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.conversation.exchange import Exchange

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
    results = calls(exchange)
    if not results:
        return ()
    said = plain_result(exchange, "", Established())
    say = Start("", "", message(exchange, "result", said), AnswerForm("/result/content", SAY))
    offered = offered_tools(exchange)
    return (
        say,
        *(
            Start(
                name,
                _about(offered[name]),
                message(exchange, "result", result),
                _form(offered[name]),
            )
            for name, result in list(results.items())[:MOST]
        ),
    )


def chosen(starts: tuple[Start, ...], document: str) -> Start | None:
    """Return the beginning that a document goes back to; None when that cannot be told."""
    try:
        content = json.loads(document)["result"]["content"]
        tool = content["name"] if content["type"] == "tool_use" else ""
    except (ValueError, KeyError, TypeError):
        return None
    return next((one for one in starts if one.tool == tool), None)


def _about(tool: Mapping[str, Any]) -> str:
    return str(tool.get("description") or "")


def _form(tool: Mapping[str, Any]) -> AnswerForm:
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or len(json.dumps(schema)) > LARGEST_SCHEMA:
        schema = {}
    return AnswerForm("/result/content/input", schema)
