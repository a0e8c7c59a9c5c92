"""The text a person starts from: what a tool must be called with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from humanmcp.protocol.starting import empty_arguments

if TYPE_CHECKING:
    from humanmcp.protocol.messages import Json


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (
            {
                "properties": {
                    "city": {"type": "string"},
                    "days": {"type": "integer", "default": 3},
                    "unit": {"enum": ["C", "F"]},
                    "exact": {"type": "boolean"},
                    "note": {"type": "string"},
                    "odd": 5,
                },
                "required": ["city", "days", "unit", "exact", "odd", "unknown"],
            },
            {"city": "", "days": 3, "unit": "C", "exact": False, "odd": ""},
        ),
        ({"properties": {"note": {"type": "string"}}}, {}),
        ({"required": ["a"]}, {}),
        ("no schema", {}),
    ],
)
def test_a_call_begins_with_what_the_tool_needs(schema: Json, arguments: Json) -> None:
    """With defaults where there are any, in the order of the schema; nothing else is filled in."""
    assert empty_arguments({"name": "x", "inputSchema": schema}) == arguments


def test_a_tool_that_is_no_object_needs_nothing() -> None:
    """What a server lists may be anything."""
    assert empty_arguments("tool") == {}
