"""What an agent asks a person, and the typed result for each outcome.

A tool of the answer book with `kind = "question"` asks one or more questions. Its result says what
happened: a person answered, a person declined, or nobody answered before the agent's limit. The
result names an agent's default as a default, never as an answer.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from humanmcp.protocol.json.jsonrpc import Kind, as_json
from humanmcp.protocol.json.tree import array_at, follow, text_at
from humanmcp.protocol.tables.versions import features

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from humanmcp.protocol.json.jsonrpc import JsonObject, Message

T = TypeVar("T")

MOST_QUESTIONS: Final = 10
MOST_OPTIONS: Final = 50
"""The maximum number of offered options; with more, the person types the answer."""
PROBLEMS: Final = ("no questions", "too many questions", "same question")
"""Codes of why the questions of a call cannot be shown one by one: it is answered in words."""
UNREAD: Final = "answer"
"""The name under which these words are sent."""
LONGEST: Final = 200_000
"""The maximum length of the questions of one card, in characters."""
LONGEST_LIMIT: Final = 7 * 24 * 3600
NO_ANSWER_AFTER: Final = "humanmcp/no_answer_after"
"""The member of a tool's `_meta` that names the argument with the agent's limit in seconds."""
LIMIT: Final = "timeout_seconds"
"""That argument of `ask_human`."""
LABEL: Final = "label"
DESCRIPTION: Final = "description"


class QuestionNote(NamedTuple):
    """What a person must know of how a question was read.

    The code is that of a sentence: "as text" for a member whose JSON came as a text, "unread" for
    one that cannot be used, "unread options" for options that cannot be offered. `value` is JSON.
    """

    code: str
    name: str
    value: str = ""


class AskedQuestion(NamedTuple):
    """One question with its options and their descriptions.

    `default` is what the agent uses if nobody answers.
    """

    text: str
    header: str = ""
    options: tuple[tuple[str, str], ...] = ()
    multiple: bool = False
    free_text: bool = True
    context: str = ""
    default: str | list[str] = ""
    notes: tuple[QuestionNote, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The possible answers, word for word."""
        return tuple(label for label, _description in self.options)


def inquiry_of(message: Message) -> AskedQuestion | None:
    """Return the question that a request asks a person; None if it asks none."""
    is_call = message.kind is Kind.REQUEST and message.method == "tools/call"
    return _question(message.params.get("arguments")) if is_call else None


def shown_with(question: AskedQuestion, arguments: Mapping[str, Any]) -> set[str]:
    """Return the arguments of a call that its question shows completely."""
    unread = {note.name for note in question.notes if note.code != "as text"}
    options = [one for one in array_at(arguments, "options") if isinstance(one, dict)]
    is_whole = question.options and all(one.keys() <= {LABEL, DESCRIPTION} for one in options)
    shown = {"question", "allow_free_text"} | ({"options"} if is_whole else set())
    return (shown | ({"context"} if question.context else set())) - unread


def questions_in(given: Mapping[str, Any]) -> tuple[tuple[AskedQuestion, ...], str]:
    """Read the questions of a call: `question`, and each of `questions`.

    Returns (), and the code of a sentence, if one of them cannot be shown completely.
    """
    listed, notes = _read(given, "questions", list, [])
    if notes and not listed:
        return (), "no questions"
    first = [given] if "question" in given else []
    if len(first) + len(listed) > MOST_QUESTIONS:
        return (), "too many questions"
    found = [question for one in (*first, *listed) if (question := _question(one)) is not None]
    if not found or len(found) < len(first) + len(listed):
        return (), "no questions"
    if len({one.text for one in found}) < len(found):
        return (), "same question"
    if given.get(LIMIT) is not None and limit_in(given, LIMIT) is None:
        notes = (*notes, _unread(LIMIT, given[LIMIT]))
    found[0] = found[0]._replace(notes=(*notes, *found[0].notes))
    return tuple(found), ""


def _read(
    given: object, name: str, wanted: type[T], default: T
) -> tuple[T, tuple[QuestionNote, ...]]:
    """Return a member, also if it came as a text with the right JSON in it; else the default."""
    value = follow(given, name)
    if value is None or isinstance(value, wanted):
        return (default if value is None else value), ()
    if isinstance(value, str):
        try:
            read: Any = json.loads(value)
        except (ValueError, RecursionError):
            read = None
        if isinstance(read, wanted):
            return read, (QuestionNote("as text", name),)
    return default, (_unread(name, value),)


def _unread(name: str, value: object) -> QuestionNote:
    return QuestionNote("unread", name, as_json(value))


def _question(value: Any) -> AskedQuestion | None:  # noqa: ANN401 - any JSON value
    words = text_at(value, "question")
    if not words.strip():
        return None
    read, context = options_in(value), text_at(value, "context")
    selects, of_selects = _read(value, "multiSelect", bool, default=False)
    multiple, of_multiple = _read(value, "multiple", bool, default=False)
    own_words, of_own_words = _read(value, "allow_free_text", bool, default=True)
    default = follow(value, "default", missing="")
    texts = [one for one in array_at(default) if isinstance(one, str)]
    return AskedQuestion(
        words,
        text_at(value, "header"),
        read.choices,
        selects or multiple,
        own_words or not read.is_whole,
        context if context.strip() else "",
        default if isinstance(default, str) else texts,
        (*read.notes, *of_selects, *of_multiple, *of_own_words),
    )


class ReadOptions(NamedTuple):
    """The options that can be offered, each with its description."""

    choices: tuple[tuple[str, str], ...] = ()
    notes: tuple[QuestionNote, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Return True if there are options, and each can be offered."""
        return bool(self.choices) and all(one.code == "as text" for one in self.notes)


def options_in(value: object) -> ReadOptions:
    """Read the options of a question: texts, or objects with a label."""
    listed, notes = _read(value, "options", list, [])
    objects = [(one, one if isinstance(one, dict) else {LABEL: one}) for one in listed]
    unread = [one for one, option in objects if not text_at(option, LABEL).strip()]
    if len(listed) > MOST_OPTIONS:
        unread, objects = listed, []
    found = tuple(
        (text_at(one, LABEL), note if (note := text_at(one, DESCRIPTION)).strip() else "")
        for _, one in objects
        if text_at(one, LABEL).strip()
    )
    values = [as_json(one) for one in unread]
    values += [one.value for one in notes if one.code == "unread"]
    if not values:
        return ReadOptions(found, notes)
    return ReadOptions(found, (QuestionNote("unread options", "options", ", ".join(values)),))


def limit_in(given: Mapping[str, Any], name: str) -> float | None:
    """Return the agent's limit in seconds, also if it came as text; None without a valid limit."""
    value = given.get(name)
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
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
    return {"status": "no_answer", "answers": {}, **({"defaults": defaults} if defaults else {})}


def waiting(ticket: str) -> JsonObject:
    """Return the outcome that a person is still working, and how to get the answer."""
    return {"status": "waiting", "answers": {}, "ticket": ticket}


def result_with(version: str, outcome: JsonObject) -> JsonObject:
    """Return a result with this outcome: as text, and as structured data if the version has it."""
    content = {"content": [{"type": "text", "text": as_json(outcome)}]}
    has_data = features(version).structured_content
    return {**content, "structuredContent": outcome} if has_data else content
