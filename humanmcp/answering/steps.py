"""Exchanges that are no messages of MCP: a step has its own form, and an extension knows its kind.

A step has a name (`Item.method`), what came (`Item.line`), and what its process says beside it
(`Item.context`). A person answers in the form of the kind (`TextForm.STEP`).
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from humanmcp import extensions
from humanmcp.inbox.contract import Purpose
from humanmcp.locales.explain import Card
from humanmcp.protocol.conversation.transcript import STEP, Direction, is_of_step
from humanmcp.protocol.diagnostics.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.inbox.contract import Item
    from humanmcp.protocol.conversation.transcript import Frame

ALLOW: Final = "allow"
DENY: Final = "deny"
"""The names of the ready answers that decide a step, where a person decides."""


class StepKind(Protocol):
    """Reads the steps of one kind."""

    template: str
    """The template of a step on the page of its exchange; it gets what `view` returns."""

    def card(self, item: Item) -> Card:
        """Explain a step."""

    def judge(self, item: Item, text: str) -> Verdict:
        """Check an answer, as the process does again. The line is the answer itself."""

    def ready(self, item: Item) -> Mapping[str, str]:
        """Return ready answers by name, the right one first; `ALLOW` and `DENY` decide."""

    def view(self, item: Item) -> Mapping[str, Any]:
        """Return what the template shows."""

    def gist(self, name: str, text: str, *, inwards: bool) -> tuple[str, str]:
        """Return title and content of a row, by the name of the step and what came or went out."""


class _Unknown:
    """Reads a step whose extension is not installed: as what it is, a text."""

    template = ""

    def card(self, item: Item) -> Card:
        return Card(item.method, item.method, "", "", "", "", "")

    def judge(self, item: Item, text: str) -> Verdict:  # noqa: ARG002 - its process will say so
        return Verdict(text, text, text)

    def ready(self, item: Item) -> Mapping[str, str]:  # noqa: ARG002 - nothing is known of it
        return MappingProxyType({})

    def view(self, item: Item) -> Mapping[str, Any]:  # noqa: ARG002 - nothing is known of it
        return MappingProxyType({})

    def gist(self, name: str, text: str, *, inwards: bool) -> tuple[str, str]:  # noqa: ARG002 - nothing is known of it
        return name, text.partition("\n")[0]


_UNKNOWN: Final = _Unknown()


@cache
def kind_named(name: str) -> StepKind:
    """Return what reads the steps of a kind."""
    found = (extensions.guard(*one, _Unknown) for one in extensions.brought_by("kinds", name))
    return next(found, _UNKNOWN)


def step_of(item: Item) -> StepKind | None:
    """Return what reads a step; None for any other exchange."""
    return kind_named(item.host) if item.purpose is Purpose.STEP else None


def note_of_step(kind: str, name: str, mistake: str = "") -> str:
    """Return the note of the lines of a step in the transcript."""
    return f"{STEP} {kind} {name}" + (f" (on purpose: {mistake})" if mistake else "")


def gist_of_frame(frame: Frame) -> tuple[str, str] | None:
    """Return title and content of a recorded step or answer; None for any other line."""
    if not is_of_step(frame):
        return None
    _, kind, name = [*frame.note.split(" ", 2), "", ""][:3]
    return kind_named(kind).gist(name, frame.text, inwards=frame.direction is Direction.IN)
