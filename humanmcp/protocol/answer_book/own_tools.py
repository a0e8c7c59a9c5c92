"""The tools that a server has without a book: to ask a person, and to ask them to allow a call.

`conversation/parking.py` has `ask_human_result`, which comes with parked calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.conversation.exchange import APPROVAL, KIND, QUESTION
from humanmcp.protocol.conversation.questions import (
    LIMIT,
    LONGEST_LIMIT,
    MOST_QUESTIONS,
    NO_ANSWER_AFTER,
    OUTCOME,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


_ASKED: Final[Mapping[str, Any]] = {  # see `conversation/questions.py`
    "question": {"type": "string", "description": "What the person should answer"},
    "context": {"type": "string", "description": "What the person needs to know to answer it"},
    "options": {
        "type": "array",
        "items": {
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"label": {"type": "string"}, "description": {"type": "string"}},
                    "required": ["label"],
                },
            ]
        },
        "description": "Answers to choose from. The chosen one comes back word for word",
    },
    "multiple": {"type": "boolean", "description": "Whether several options may be chosen"},
    "allow_free_text": {
        "type": "boolean",
        "default": True,
        "description": "Whether the person may answer in their own words as well",
    },
    "default": {
        "type": "string",
        "description": "What you take if nobody answers. It comes back as a default only",
    },
}


ASK_TOOL: Final[Mapping[str, Any]] = {
    "name": "ask_human",
    "title": "Ask the human",
    "description": "Ask a person a question, or several at once, and wait for the answers",
    "inputSchema": {
        "type": "object",
        "properties": {
            **_ASKED,
            "questions": {
                "type": "array",
                "maxItems": MOST_QUESTIONS,
                "items": {"type": "object", "properties": _ASKED, "required": ["question"]},
                "description": "Several questions at once, instead of `question`",
            },
            LIMIT: {
                "type": "number",
                "minimum": 1,
                "maximum": LONGEST_LIMIT,
                "description": "After so many seconds the result is no_answer. Without it, the "
                "call waits for the person",
            },
        },
    },
    "outputSchema": OUTCOME,
    # Without `readOnlyHint`, Claude Code asks several questions one after the other. Asking changes
    # nothing; a person is not a closed system; asking twice disturbs twice.
    "annotations": {"readOnlyHint": True, "idempotentHint": False, "openWorldHint": True},
    "_meta": {KIND: QUESTION, NO_ANSWER_AFTER: LIMIT},
}


APPROVE_TOOL: Final[Mapping[str, Any]] = {
    "name": "approve",
    "title": "Ask the human for permission",
    "description": "Hosts send permission prompts here. Not for the model",
    "inputSchema": {
        "type": "object",
        "properties": {
            "tool_name": {"type": "string", "description": "The tool that is to run"},
            "input": {"type": "object", "description": "What it is to run with"},
            "tool_use_id": {"type": "string"},
        },
        "required": ["tool_name", "input"],
    },
    "annotations": {"readOnlyHint": True, "idempotentHint": False, "openWorldHint": True},
    "_meta": {KIND: APPROVAL},
}
"""The tool that `humanmcp serve --approvals` adds."""
