"""The fields of a form: what a JSON Schema lets a person fill in, as the page's scripts draw it.

The scripts know no JSON Schema. What no field can show is a piece of JSON, and the check judges all
of it: a form never decides what is right.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal

from humanmcp.answering.schema.page import ArmShape, FieldShape
from humanmcp.desk.presenters.forms import ByType, Switch
from humanmcp.protocol.diagnostics.model import Applicability, Fix, TextEdit
from humanmcp.protocol.diagnostics.raw import json_text
from humanmcp.protocol.repair.reading import read
from humanmcp.protocol.validation.json_schema.validator import choices
from humanmcp.protocol.validation.starting_draft import first_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.diagnostics.model import Diagnostic

DEEPEST: Final = 6
LONGEST_HELP: Final = 300
_STRINGS: Final[dict[str, Literal["long", "media"]]] = {"long": "long", "media": "media"}
_COMBINED: Final = ("anyOf", "oneOf", "allOf", "$ref")


def field_of(schema: Any, name: str = "", *, needed: bool = False, depth: int = 0) -> FieldShape:  # noqa: ANN401 - it came over a wire
    """Return the field of a schema, with the fields inside it."""
    if not isinstance(schema, dict):
        schema = {}
    help_text, title = schema.get("description"), schema.get("title")
    field = FieldShape(
        kind="json",
        name=name,
        label=title[:LONGEST_HELP] if isinstance(title, str) and title else name,
        help=help_text[:LONGEST_HELP] if isinstance(help_text, str) else "",
        needed=needed,
        fields=[],
        item=None,
        blank="",
        choices=_choices(schema),
        arms=[],
    )
    kind = _type_of(schema)
    if isinstance(schema, Switch):
        field["kind"], field["choices"] = "switch", []
        field["blank"] = "true" if kind == "boolean" else "{}"
        field["fields"] = _members({"properties": schema.get("properties", {})}, depth)
    elif isinstance(schema, ByType):
        field["kind"] = "arms"
        field["arms"] = [_arm(name, one, depth) for name, one in schema.items()]
    elif field["choices"]:
        field["kind"] = "choice"
    elif depth >= DEEPEST or any(word in schema for word in _COMBINED):
        pass
    elif kind == "object" and isinstance(schema.get("properties"), dict):
        field["kind"] = "group"
        field["fields"] = _members(schema, depth)
    elif kind == "array":
        item = schema.get("items")
        field["kind"] = "list"
        field["item"] = field_of(item, depth=depth + 1)
        field["blank"] = json.dumps(_blank(item or {}), ensure_ascii=False, indent=2)
    elif kind == "string":
        field["kind"] = _STRINGS.get(str(schema.get("format")), "text")
    elif kind in ("number", "integer"):
        field["kind"] = "number"
    return field


def _blank(schema: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return what an item starts from: of an object that has several forms, the first of them."""
    if isinstance(schema, ByType):
        name, arm = next(iter(schema.items()))
        return {**_blank(arm), "type": name}
    value = first_value(schema)
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        value |= {one: _blank(parts[one]) for one in value if isinstance(parts.get(one), ByType)}
    return value


def _arm(name: str, schema: Mapping[str, Any], depth: int) -> ArmShape:
    blank = {**first_value(schema), "type": name}
    return {"type": name, "field": field_of(schema, depth=depth + 1), "blank": json_text(blank)}


def _members(schema: Mapping[str, Any], depth: int) -> list[FieldShape]:
    """List the fields of an object; a member with one possible value leaves nothing to choose."""
    needed = schema.get("required")
    names = needed if isinstance(needed, list) else []
    return [
        field_of(part, name, needed=name in names, depth=depth + 1)
        for name, part in schema["properties"].items()
        if not (isinstance(part, dict) and "const" in part)
    ]


def _type_of(schema: Mapping[str, Any]) -> object:
    """Return the type of a schema; of several the first that says something."""
    kind = schema.get("type")
    if isinstance(kind, list):
        return next((one for one in kind if one != "null"), None)
    return kind


def _choices(schema: dict[str, Any]) -> list[tuple[str, str]]:
    """List the few values that are allowed, as JSON, each with its title or ""."""
    if _type_of(schema) == "boolean":
        return [("true", ""), ("false", "")]
    return [(json_text(one.value), one.title) for one in choices(schema)]


def unread(raw: str) -> tuple[Diagnostic, ...]:
    """Return what keeps the text of one field from being JSON."""
    found = [one for one in read(raw).diagnostics if one.blocks]
    return tuple(_quoted(one, raw) if one.code == "J20" else one for one in found)


def _quoted(diagnostic: Diagnostic, raw: str) -> Diagnostic:
    """Offer the quotes that words need: in a field, unlike a message, words can be all there is."""
    edit = TextEdit(0, len(raw), json_text(raw.strip()))
    return diagnostic._replace(fix=Fix((edit,), "quote", Applicability.GUESS))
