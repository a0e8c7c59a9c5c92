"""A question to a person, as a model asks it by the call of a tool: with context and with options.

What makes a call one are its arguments, whatever the tool is called: a `question`, and beside it
perhaps `context`, `options` and `allow_free_text`. A member of another type than these is not read
here, and is shown as it came. Knows no desk; each of them words it in its own way.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from humanmcp.protocol.json.jsonrpc import Kind, Message

QUESTION: Final = "question"
CONTEXT: Final = "context"
OPTIONS: Final = "options"
FREE_TEXT: Final = "allow_free_text"
MOST_OPTIONS: Final = 50
"""Options that are offered; who brings more of them lets the person write instead."""


class Inquiry(NamedTuple):
    """A question to a person. `covered` are the arguments that it stands for."""

    question: str
    context: str = ""
    options: tuple[str, ...] = ()
    free_text: bool = True
    """Whether an answer in one's own words is wanted, too."""
    covered: frozenset[str] = frozenset()

    def option(self, number: int) -> str | None:
        """Return an option by its number, counted from 1; None where there is none."""
        return self.options[number - 1] if 1 <= number <= len(self.options) else None


def inquiry_of(message: Message) -> Inquiry | None:
    """Read the question that a request puts to a person; None where it puts none."""
    if message.kind is not Kind.REQUEST or message.method != "tools/call":
        return None
    arguments = message.params.get("arguments")
    if not isinstance(arguments, dict) or not _is_words(arguments.get(QUESTION)):
        return None
    covered = {QUESTION}
    context, options, free_text = "", (), True
    if _is_words(arguments.get(CONTEXT)):
        context, covered = arguments[CONTEXT], covered | {CONTEXT}
    if _are_options(arguments.get(OPTIONS)):
        options, covered = tuple(arguments[OPTIONS]), covered | {OPTIONS}
    if isinstance(arguments.get(FREE_TEXT), bool):
        # Without anything to choose from, an answer can only be written.
        free_text, covered = arguments[FREE_TEXT] or not options, covered | {FREE_TEXT}
    return Inquiry(arguments[QUESTION], context, options, free_text, frozenset(covered))


def _is_words(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    return isinstance(value, str) and bool(value.strip())


def _are_options(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    if not isinstance(value, list) or not 0 < len(value) <= MOST_OPTIONS:
        return False
    return all(map(_is_words, value))
