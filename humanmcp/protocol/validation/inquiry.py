"""A question to a person, as a model asks it by the call of a tool: with context and with options.

What makes a call one are its arguments, whatever the tool is called: a `question`, and beside it
perhaps `context`, `options` and `allow_free_text`. An option is a text, or an object with a `label`
and perhaps a `description`. A member of another type than these is not read here, and is shown as
it came. Knows no desk; each of them words it in its own way.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from humanmcp.protocol.json.jsonrpc import Kind, Message

QUESTION: Final = "question"
CONTEXT: Final = "context"
OPTIONS: Final = "options"
FREE_TEXT: Final = "allow_free_text"
LABEL: Final = "label"
DESCRIPTION: Final = "description"
_OF_OPTION: Final = frozenset({LABEL, DESCRIPTION})
MOST_OPTIONS: Final = 50
"""Options that are offered; who brings more of them lets the person write instead."""


class Inquiry(NamedTuple):
    """A question to a person. `covered` are the arguments that it stands for."""

    question: str
    context: str = ""
    options: tuple[str, ...] = ()
    """What may be answered, word for word: a text, or the label of an object."""
    free_text: bool = True
    """Whether an answer in one's own words is wanted, too."""
    covered: frozenset[str] = frozenset()
    descriptions: tuple[str, ...] = ()
    """What is said of each option, "" for nothing; empty where nothing is said of any."""

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """Return each option with its description."""
        return tuple(zip(self.options, self.descriptions or [""] * len(self.options), strict=True))


def inquiry_of(message: Message) -> Inquiry | None:
    """Read the question that a request puts to a person; None where it puts none."""
    if message.kind is not Kind.REQUEST or message.method != "tools/call":
        return None
    arguments = message.params.get("arguments")
    if not isinstance(arguments, dict) or not _is_words(arguments.get(QUESTION)):
        return None
    covered = {QUESTION}
    context, free_text = "", True
    if _is_words(arguments.get(CONTEXT)):
        context, covered = arguments[CONTEXT], covered | {CONTEXT}
    given = arguments.get(OPTIONS)
    options, descriptions = _options_in(given)
    if options and not any(one.keys() - _OF_OPTION for one in given or () if isinstance(one, dict)):
        covered |= {OPTIONS}
    if isinstance(arguments.get(FREE_TEXT), bool):
        # Without anything to choose from, an answer can only be written.
        free_text, covered = arguments[FREE_TEXT] or not options, covered | {FREE_TEXT}
    return Inquiry(
        arguments[QUESTION], context, options, free_text, frozenset(covered), descriptions
    )


def _is_words(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    return isinstance(value, str) and bool(value.strip())


def _options_in(value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:  # noqa: ANN401 - any JSON value
    """Return the options, and what is said of each; nothing where one of them cannot be chosen."""
    if not isinstance(value, list) or not 0 < len(value) <= MOST_OPTIONS:
        return (), ()
    objects = [one if isinstance(one, dict) else {LABEL: one} for one in value]
    if not all(_is_words(one.get(LABEL)) for one in objects):
        return (), ()
    notes = [one.get(DESCRIPTION) for one in objects]
    descriptions = tuple(str(note) if _is_words(note) else "" for note in notes)
    return tuple(one[LABEL] for one in objects), descriptions if any(descriptions) else ()
