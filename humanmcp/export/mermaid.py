"""The session as a sequence diagram for Mermaid: one arrow a message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from humanmcp.answering.summary import LineKind
from humanmcp.export.conversation import ANSWERING, build_conversation
from humanmcp.protocol.conversation.transcript import CHANGED, HELD, INSTEAD, Direction
from humanmcp.protocol.json.jsonrpc import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.export.conversation import Conversation, Entry
    from humanmcp.export.reading import ExportOptions, Recording

_LONGEST: Final = 60
_ARROWS: Final = {
    LineKind.REQUEST: "->>",
    LineKind.NOTIFICATION: "-)",
    LineKind.RESULT: "-->>",
    LineKind.ERROR: "--x",
    LineKind.BATCH: "->>",
    LineKind.BROKEN: "-x",
}


def write(recording: Recording, options: ExportOptions) -> str:  # noqa: ARG001 - every format takes it
    """Write the diagram. It can be pasted into Markdown between ```mermaid and ```."""
    return "\n".join(_diagram(build_conversation(recording))) + "\n"


def _diagram(conversation: Conversation) -> Iterator[str]:
    yield "sequenceDiagram"
    yield f"  participant C as {_label(conversation.client or 'client')}"
    person = any(entry.frame.note in (HELD, CHANGED, INSTEAD) for entry in conversation.entries)
    if person:
        yield "  participant P as tap"
    yield f"  participant S as {_label(conversation.server or 'server')}"
    for entry in conversation.entries:
        if entry.kind in _ARROWS:
            start, end = _ends(entry)
            yield f"  {start}{_ARROWS[entry.kind]}{end}: {_label(_said(entry))}"
        elif entry.kind is LineKind.NOTE and entry.frame.note and not entry.frame.raw:
            yield f"  Note over C,S: {_label(entry.frame.note)}"


def _ends(entry: Entry) -> tuple[str, str]:
    """Say from whom to whom an arrow goes; what was held went no further than the tap."""
    start, end = ("C", "S") if entry.frame.direction is Direction.IN else ("S", "C")
    if entry.frame.note == HELD:
        return start, "P"
    return ("P", end) if entry.frame.note in (CHANGED, INSTEAD) else (start, end)


def _said(entry: Entry) -> str:
    if entry.kind in ANSWERING:
        return entry.gist or entry.kind.value
    return entry.words


def _label(text: str) -> str:
    """Write a text so that Mermaid takes no part of it for its own language."""
    shown = one_line(text, _LONGEST)
    return re.sub(r"[^\w .,/:!?'(){}\[\]=+*-]|\bend\b", _entity, shown)


def _entity(found: re.Match[str]) -> str:
    return "".join(f"#{ord(character)};" for character in found[0])
