"""What a difference means to clients, and what is not compared."""

from typing import Any, Final

import pytest

from humanmcp.extensions.testing.drift import Ignored, Tier, tier_of
from humanmcp.protocol.json.removed import mark_of


def tool(**members: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Make a list with one tool."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    return {"tools": [{"name": "t", "description": "d", "inputSchema": schema, **members}]}


def schema(**members: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Make a list with one tool of this schema."""
    return tool(inputSchema={"type": "object", **members})


def text(words: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Make the result of a tool."""
    return {"result": {"content": [{"type": "text", "text": words}], **more}}


A: Final = {"a": {"type": "string", "enum": ["x", "y"]}}
TIERS: Final[list[tuple[Any, Any, Tier | None]]] = [
    (tool(), tool(), None),
    (tool(), {"tools": []}, Tier.BREAKING),
    ({"tools": []}, tool(), Tier.MINOR),
    (tool(), tool(description="e"), Tier.DANGEROUS),
    (tool(), tool(title="T"), Tier.MINOR),
    (tool(title="S"), tool(title="T"), Tier.MINOR),
    (tool(), tool(annotations={"readOnlyHint": True}), Tier.DANGEROUS),
    (schema(properties=A), schema(properties={}), Tier.BREAKING),
    (schema(properties={}), schema(properties=A), Tier.MINOR),
    (schema(properties=A), schema(properties=A, required=["a"]), Tier.BREAKING),
    (schema(properties=A, required=["a"]), schema(properties=A, required=[]), Tier.MINOR),
    (schema(properties=A), schema(properties={"a": {"type": "number"}}), Tier.BREAKING),
    (schema(properties=A), schema(properties={"a": {**A["a"], "enum": ["x"]}}), Tier.BREAKING),
    (
        schema(properties=A),
        schema(properties={"a": {**A["a"], "enum": ["x", "y", "z"]}}),
        Tier.DANGEROUS,
    ),
    (text("a"), text("b"), Tier.DANGEROUS),
    (text("a"), text("a", isError=True), Tier.BREAKING),
    (text("a"), text("a", structuredContent={"n": 1}), Tier.MINOR),
    (text("a", structuredContent={"n": 1}), text("a"), Tier.BREAKING),
    (text("a", structuredContent={"n": 1}), text("a", structuredContent={"n": "1"}), Tier.BREAKING),
    (text("a", structuredContent={"n": 1}), text("a", structuredContent={"n": 2}), Tier.DANGEROUS),
    (text("a"), {"error": {"code": 1, "message": "m"}}, Tier.BREAKING),
    ({"protocolVersion": "2025-06-18"}, {"protocolVersion": "2025-11-25"}, Tier.BREAKING),
    ({"capabilities": {"tools": {}}}, {"capabilities": {}}, Tier.BREAKING),
    ({"capabilities": {}}, {"capabilities": {"tools": {}}}, Tier.MINOR),
    ({"serverInfo": {"version": "1"}}, {"serverInfo": {"version": "2"}}, Tier.MINOR),
    (text(mark_of("TOKEN")), text("any"), None),
]


@pytest.mark.parametrize(("old", "new", "tier"), TIERS)
def test_a_difference_has_a_tier(old: object, new: object, tier: Tier | None) -> None:
    assert tier_of(old, new) == tier


@pytest.mark.parametrize(
    ("word", "path", "has"),
    [
        ("id", "result structuredContent id", True),
        ("id", "result id x", False),
        ("$.result.content[*].text", "result content 0 text", True),
        ("$.result.content[0].text", "result content 1 text", False),
        ("$.result.*.id", "result a id", True),
        ("$.result", "result a", False),
        ("$.params.a", "params a", True),
    ],
)
def test_a_member_or_a_place_can_be_ignored(word: str, path: str, *, has: bool) -> None:
    assert Ignored((word,)).has(tuple(path.split())) is has
