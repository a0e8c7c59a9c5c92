"""What an agent asks a person, and the typed result for each outcome.

A tool of the answer book with `kind = "question"` asks one or more questions. Its result says what
happened: a person answered, a person declined, or nobody answered before the agent's limit. The
result names an agent's default as a default, never as an answer.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.json.tree import follow, text_at
from humanmcp.protocol.spec.versions import features

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from humanmcp.protocol.json.jsonrpc import JsonObject

MOST_QUESTIONS: Final = 10
MOST_OPTIONS: Final = 50
"""The maximum number of offered options; with more, the person types the answer."""
LONGEST: Final = 200_000
"""The maximum length of the questions of one card, in characters."""
LONGEST_LIMIT: Final = 7 * 24 * 3600
NO_ANSWER_AFTER: Final = "humanmcp/no_answer_after"
"""The member of a tool's `_meta` that names the argument with the agent's limit in seconds."""
LABEL: Final = "label"
DESCRIPTION: Final = "description"


class AskedQuestion(NamedTuple):
    """One question with its options and their descriptions.

    `default` is what the agent uses if nobody answers. With `unread`, its options cannot be
    offered.
    """

    text: str
    header: str = ""
    options: tuple[tuple[str, str], ...] = ()
    multiple: bool = False
    free_text: bool = True
    context: str = ""
    default: str | list[str] = ""
    unread: bool = False


def questions_in(given: Mapping[str, Any]) -> tuple[tuple[AskedQuestion, ...], str]:
    """Read the questions of a call: `question`, and each of `questions`.

    Returns (), and the code of a sentence, if one of them cannot be shown completely.
    """
    listed = given.get("questions", [])
    if not isinstance(listed, list):
        return (), "no questions"
    first = [given] if "question" in given else []
    if len(first) + len(listed) > MOST_QUESTIONS:
        return (), "too many questions"
    found = [question for one in (*first, *listed) if (question := _question(one)) is not None]
    if not found or len(found) < len(first) + len(listed):
        return (), "no questions"
    if len({one.text for one in found}) < len(found):
        return (), "same question"
    return tuple(found), ""


def _question(value: Any) -> AskedQuestion | None:  # noqa: ANN401 - any JSON value
    words, given = text_at(value, "question"), follow(value, "options")
    if not words.strip():
        return None
    options, context = options_in(given), text_at(value, "context")
    many = any(follow(value, name) is True for name in ("multiSelect", "multiple"))
    free = follow(value, "allow_free_text") is not False or not options
    default = follow(value, "default", missing="")
    texts = [one for one in default if isinstance(one, str)] if isinstance(default, list) else []
    kept = default if isinstance(default, str) else texts
    header, unread = text_at(value, "header"), bool(given) and not options
    return AskedQuestion(words, header, options, many, free, context, kept, unread)


def options_in(value: Any) -> tuple[tuple[str, str], ...]:  # noqa: ANN401 - any JSON value
    """Return each option with its description; () if one of them cannot be chosen."""
    if not isinstance(value, list) or not 0 < len(value) <= MOST_OPTIONS:
        return ()
    objects = [one if isinstance(one, dict) else {LABEL: one} for one in value]
    found = tuple((text_at(one, LABEL), text_at(one, DESCRIPTION)) for one in objects)
    if not all(label.strip() for label, _ in found):
        return ()
    return tuple((label, note if note.strip() else "") for label, note in found)


def limit_in(given: Mapping[str, Any], name: str) -> float | None:
    """Return the agent's limit in seconds; None without a valid limit."""
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 < value <= LONGEST_LIMIT else None


# -- the outcomes ---------------------------------------------------------------------------------

OUTCOME: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": ["answered", "declined", "no_answer", "waiting"]},
        "answers": {
            "type": "object",
            "description": "Each answer by its question: a text, or a list with `multiple`",
            "additionalProperties": {"type": ["string", "array"], "items": {"type": "string"}},
        },
        "reason": {"type": "string", "description": "Why the person declined"},
        "ticket": {"type": "string", "description": "With waiting: ask with it for the answer"},
        "defaults": {
            "type": "object",
            "description": "With no_answer: your own defaults. No person chose them",
            "additionalProperties": {"type": ["string", "array"], "items": {"type": "string"}},
        },
    },
    "required": ["status", "answers"],
}
"""The `outputSchema` of a tool that asks a person."""


def answered(
    questions: Sequence[AskedQuestion], answers: Mapping[str, Sequence[str]]
) -> JsonObject:
    """Return the outcome that a person answered each question."""
    many = {one.text for one in questions if one.multiple}
    texts = {
        question: list(chosen) if question in many else ", ".join(chosen)
        for question, chosen in answers.items()
    }
    return {"status": "answered", "answers": texts}


def declined(reason: str) -> JsonObject:
    """Return the outcome that a person declined."""
    said = {"reason": reason.strip()} if reason.strip() else {}
    return {"status": "declined", "answers": {}, **said}


def no_answer(questions: Sequence[AskedQuestion]) -> JsonObject:
    """Return the outcome that nobody answered in time."""
    defaults = {one.text: one.default for one in questions if one.default}
    return {
        "status": "no_answer",
        "answers": {},
        **({"defaults": defaults} if defaults else {}),
    }


def waiting(ticket: str) -> JsonObject:
    """Return the outcome that a person is still working, and how to get the answer."""
    return {"status": "waiting", "answers": {}, "ticket": ticket}


def result_of(version: str, outcome: JsonObject) -> JsonObject:
    """Return a result with this outcome: as text, and as structured data if the version has it."""
    text = json.dumps(outcome, ensure_ascii=False)
    content = {"content": [{"type": "text", "text": text}]}
    has_data = features(version).structured_content
    return {**content, "structuredContent": outcome} if has_data else content
