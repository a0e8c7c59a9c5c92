"""The tools that a model is offered, as a person reads them: name, description, parameters.

Pure, and nothing of what came is trusted: what is no tool is shown as the JSON that came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from humanmcp.desk.presenters.readable_json import Shown, is_text, shown, written
from humanmcp.protocol.json.escaping import one_line
from humanmcp.protocol.json.tree import array_at, object_at

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST: Final = 40
"""Tools, and parameters of one tool, that are shown."""
_NAME: Final = 80
_ABOUT: Final = 600


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool. `type` is its type or what may be chosen, "" for anything."""

    name: str
    type: str
    needed: bool
    about: Shown


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool that the model may call. `more` counts the parameters that are not shown."""

    name: str
    about: Shown
    parameters: tuple[Parameter, ...]
    more: int = 0
    unread: Shown | None = None
    """The JSON of what stands among the tools and is none."""


def offered(tool: Any) -> Offered:  # noqa: ANN401 - it came over a wire
    """Read one of the tools."""
    if not isinstance(tool, dict) or not is_text(tool.get("name")):
        return Offered("", Shown(""), (), unread=shown(written(tool)))
    schema = object_at(tool, "inputSchema")
    properties, needed = object_at(schema, "properties"), array_at(schema, "required")
    return Offered(
        one_line(tool["name"], _NAME),
        _about(tool),
        tuple(
            _parameter(name, schema, needed=name in needed)
            for name, schema in list(properties.items())[:MOST]
        ),
        max(0, len(properties) - MOST),
    )


def _parameter(name: str, schema: Any, *, needed: bool) -> Parameter:  # noqa: ANN401 - it came over a wire
    facts = object_at(schema)
    kinds = facts.get("enum", facts.get("type"))
    several = kinds if isinstance(kinds, list) else [kinds]
    kind = " | ".join(
        one if is_text(one) else written(one) for one in several[:MOST] if one is not None
    )
    return Parameter(one_line(name, _NAME), one_line(kind, _NAME), needed, _about(facts))


def _about(facts: Mapping[str, Any]) -> Shown:
    words = facts.get("description")
    return shown(words, _ABOUT) if is_text(words) else Shown("")
