"""The fields of a form: what a schema from anybody becomes, and what stands in one field."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.desk.inbox.answer_form import DEEPEST, field_of, unread
from humanmcp.desk.rendering import template
from humanmcp.desk.send.request_form import tool_form
from humanmcp.protocol.diagnostics.model import applied
from humanmcp.protocol.validation.json_schema.validator import mismatch

WORDS = st.sampled_from(
    ["type", "properties", "required", "items", "enum", "const", "oneOf", "anyOf", "title", "a"]
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)


def drawn(schema: Any, **given: Any) -> str:  # noqa: ANN401 - any schema, and values for the template
    """Return the markup of a form: of an answer, or with `given` of a request."""
    macros: Any = template("fields.html").module
    words = lambda code: code  # noqa: E731 - a catalog
    fields = tool_form("t", {"inputSchema": schema}).fields
    drawn = macros.rows(fields, words, given) if given else macros.control(field_of(schema), words)
    return str(drawn)


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "format": "long"}, "long"),
        ({"type": ["null", "integer"]}, "number"),
        ({"type": "boolean"}, "choice"),
        ({"enum": ["a", 1]}, "choice"),
        ({"oneOf": [{"type": "string"}, {"type": "number"}]}, "json"),
        ({"oneOf": [{"const": "a"}, {"type": "string"}]}, "json"),
        ({"type": "object"}, "json"),
        ({"type": "object", "properties": {}}, "group"),
        ({"type": "array"}, "list"),
        (True, "json"),
    ],
)
def test_a_schema_becomes_the_field_that_shows_it(schema: Any, kind: str) -> None:  # noqa: ANN401 - any schema
    """What no field can show is a piece of JSON."""
    assert field_of(schema).kind == kind


def test_a_titled_choice_is_shown_by_its_title() -> None:
    """MCP's `oneOf` of `const` and `title` is a choice like an `enum`."""
    titled = [{"const": "s", "title": "Sunny"}, {"const": "r", "title": "Rain"}]
    assert field_of({"oneOf": titled}).choices == (('"s"', "Sunny"), ('"r"', "Rain"))


def test_a_new_item_starts_from_what_it_must_have() -> None:
    """Fixed values and needed members are there, and what is there fits wherever something can."""
    item = {
        "type": "object",
        "properties": {
            "type": {"const": "text"},
            "name": {"type": "string"},
            "size": {"type": "integer", "minimum": 3},
            "inner": {
                "type": "object",
                "properties": {"sure": {"type": "boolean"}},
                "required": ["sure"],
            },
            "note": {"type": "string"},
        },
        "required": ["name", "size", "inner"],
    }
    field = field_of({"type": "array", "items": item})
    assert field.item is not None
    value = json.loads(field.item.blank)
    assert value == {"type": "text", "name": "", "size": 3, "inner": {"sure": False}}
    assert mismatch(value, item) is None
    assert [one.name for one in field.item.fields] == ["name", "size", "inner", "note"]


@given(ANY_JSON)
def test_no_schema_whatever_breaks_the_page(schema: Any) -> None:  # noqa: ANN401 - any JSON value
    """It came over a wire: it may be anything."""
    assert "data-kind" in drawn(schema)
    drawn(schema, typed={}, ref="{}", path="/")


def test_a_form_is_drawn_with_text_alone() -> None:
    """Names, titles, choices and what was typed are never markup."""
    odd = '"><i>'
    item = {"type": "object", "properties": {odd: {"enum": [odd], "title": odd}}}
    inner = {"type": "array", "items": item, "title": odd, "description": odd}
    schema = {"type": "object", "properties": {odd: {"type": "string"}, "inner": inner}}
    asked = drawn(schema, typed={f"field {odd}": odd, "field inner": odd}, ref=odd, path=odd)
    assert 'value="&#34;&gt;&lt;i&gt;"' in asked
    assert "<i>" not in drawn(schema) + asked


def test_a_deep_schema_ends_in_json() -> None:
    """A form inside a form inside a form helps nobody."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(DEEPEST + 2):
        schema = {"type": "object", "properties": {"a": schema}}
    field = field_of(schema)
    for _ in range(DEEPEST):
        (field,) = field.fields
    assert field.kind == "json"


@pytest.mark.parametrize(
    ("raw", "code", "fixed"),
    [
        ('{"type": "object"', "J07", {"type": "object"}),
        ("hello", "J20", "hello"),
        ("+5", "J21", 5),
        ("{'a': 1}", "J05", {"a": 1}),
    ],
)
def test_a_field_that_is_no_json_says_why_and_how(raw: str, code: str, fixed: object) -> None:
    """The codes that exist, with their fixes; their places count in the field's own text."""
    (diagnostic,) = unread(raw)
    assert (diagnostic.code, diagnostic.blocks) == (code, True)
    assert diagnostic.fix is not None
    assert json.loads(applied(raw, diagnostic.fix.edits)) == fixed


def test_json_in_a_field_says_nothing() -> None:
    """What is JSON is judged with the whole document."""
    assert unread('{"a": [1.0, "é"]}') == ()
