"""The session as a sequence diagram for Mermaid: one arrow a message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from humanmcp.export.conversation import tell
from humanmcp.protocol.conversation.transcript import CHANGED, HELD, INSTEAD, Direction
from humanmcp.protocol.json.escaping import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.export.conversation import Conversation, Entry
    from humanmcp.export.reading import ExportOptions, Recording

_LONGEST: Final = 60
_ARROWS: Final = {
    "request": "->>",
    "notification": "-)",
    "result": "-->>",
    "error": "--x",
    "batch": "->>",
    "broken": "-x",
}


def write(recording: Recording, manner: ExportOptions) -> str:  # noqa: ARG001 - every format takes it
    """Write the diagram. It can be pasted into Markdown between ```mermaid and ```."""
    return "\n".join(_diagram(tell(recording))) + "\n"


def _diagram(story: Conversation) -> Iterator[str]:
    yield "sequenceDiagram"
    yield f"  participant C as {_label(story.client or 'client')}"
    person = any(turn.frame.note in (HELD, CHANGED, INSTEAD) for turn in story.turns)
    if person:
        yield "  participant P as tap"
    yield f"  participant S as {_label(story.server or 'server')}"
    for turn in story.turns:
        if turn.kind in _ARROWS:
            start, end = _ends(turn)
            yield f"  {start}{_ARROWS[turn.kind]}{end}: {_label(_said(turn))}"
        elif turn.kind == "note" and turn.frame.note and not turn.frame.raw:
            yield f"  Note over C,S: {_label(turn.frame.note)}"


def _ends(turn: Entry) -> tuple[str, str]:
    """Say from whom to whom an arrow goes; what was held went no further than the tap."""
    start, end = ("C", "S") if turn.frame.way is Direction.IN else ("S", "C")
    if turn.frame.note == HELD:
        return start, "P"
    return ("P", end) if turn.frame.note in (CHANGED, INSTEAD) else (start, end)


def _said(turn: Entry) -> str:
    if turn.kind in ("result", "error"):
        return turn.gist or turn.kind
    return turn.words


def _label(text: str) -> str:
    """Write a text so that Mermaid takes no part of it for its own language."""
    shown = one_line(text, _LONGEST)
    return re.sub(r"[^\w .,/:!?'(){}\[\]=+*-]|\bend\b", _entity, shown)


def _entity(found: re.Match[str]) -> str:
    return "".join(f"#{ord(character)};" for character in found[0])
