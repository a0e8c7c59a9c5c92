"""Texts that stand in the place of a person's own words, and were left there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.locate import PLACEHOLDER, RawDiagnostic
from humanmcp.protocol.json.tree import leaves
from humanmcp.protocol.spec.examples import PLACEHOLDERS
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.diagnostics.locate import Path
    from humanmcp.protocol.json.jsonrpc import Json
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer


_OURS: Final = tuple(PLACEHOLDERS.values())
_TYPED: Final = f'"{PLACEHOLDER}"'
_ESCAPED: Final = json.dumps(PLACEHOLDER).strip('"')


@rule("tools/call", "tasks/result", "sampling/createMessage")
def words_of_the_draft(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """The words of the starting draft were replaced."""
    if not answer.asks_back:
        yield from _left_in(answer.value.get("content"), answer.at("content"))


@rule("prompts/get")
def words_of_a_prompt(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """So were those of the messages of a prompt."""
    messages = answer.value.get("messages")
    for at, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, dict):
            yield from _left_in(message.get("content"), answer.at("messages", at, "content"))


def _left_in(content: Json, path: Path) -> Iterator[RawDiagnostic]:
    """Find a placeholder in content, alone or beside a person's own words."""
    for at, block in enumerate(content if isinstance(content, list) else [content]):
        text = block.get("text") if isinstance(block, dict) else None
        words = text.strip() if isinstance(text, str) else ""
        if words.startswith(_OURS) or words.endswith(_OURS):
            left = next(one for one in _OURS if words.startswith(one) or words.endswith(one))
            where = (*path, at) if isinstance(content, list) else path
            yield kinds.unfilled_placeholder((*where, "text"), text=left)


def unwritten(value: Json, path: Path, text: str) -> list[RawDiagnostic]:
    """Find what a fix or an example of ours put in the place of a person's words.

    `text` is the JSON that holds the value: it is searched first, since nearly no answer has any.
    """
    if _TYPED not in text and _ESCAPED not in text:
        return []
    left = [at for at, leaf in leaves(value, path) if leaf == PLACEHOLDER]
    return [kinds.unfilled_placeholder(at, text=PLACEHOLDER) for at in left]
