"""Fields of a schema, and what a person types into them."""

from __future__ import annotations

from typing import Any

import pytest

from humanmcp.host.forms import Field, FieldError, TypingError, arguments, fields, value

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "where"},
        "days": {"type": "integer", "default": 3},
        "unit": {"type": "string", "enum": ["C", "F"]},
        "level": {"oneOf": [{"const": "low", "title": "Low"}, {"const": "high"}]},
        "loud": {"type": "boolean"},
        "more": {"type": "array"},
        "deep": {"type": "object"},
        "share": {"type": "number"},
    },
    "required": ["city"],
}


def test_fields_say_what_they_take_and_what_they_are_for() -> None:
    """Name, kind, description, choices, default and whether it is needed."""
    found = {field.name: field for field in fields(SCHEMA)}
    assert found["city"] == Field("city", "string", "where", required=True)
    assert found["days"].default == "3"
    assert found["unit"].choices == ("C", "F")
    assert found["level"].choices == ("low", "high")


@pytest.mark.parametrize("schema", [None, 7, {}, {"properties": []}, {"type": "string"}])
def test_a_schema_without_properties_has_no_fields(schema: object) -> None:
    """It came over a wire: it may be anything."""
    assert fields(schema) == ()


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("city=Tokyo days=2", {"city": "Tokyo", "days": 2}),
        ('city="New York" loud=yes', {"city": "New York", "loud": True}),
        ('more=[1, "a b"] deep={"x": [2]}', {"more": [1, "a b"], "deep": {"x": [2]}}),
        (
            "city=5 share=0.5 unit=C level=high",
            {"city": "5", "share": 0.5, "unit": "C", "level": "high"},
        ),
        ("unknown=5 other=five", {"unknown": 5, "other": "five"}),
        ('{"city": "Tokyo"}', {"city": "Tokyo"}),
        ("", {}),
        ("city=", {"city": ""}),
        ("loud=いいえ", {"loud": False}),
    ],
)
def test_pairs_become_arguments_of_the_right_kind(typed: str, found: dict[str, Any]) -> None:
    """A text stays a text even when it looks like a number; JSON is JSON."""
    assert arguments(typed, SCHEMA) == found


@pytest.mark.parametrize(
    "typed",
    ["days=two", "days=1.5", "loud=perhaps", "unit=K", "more={}", "deep=[]", "share=true"],
)
def test_what_a_field_does_not_take_is_refused(typed: str) -> None:
    """Before anything is sent."""
    with pytest.raises(FieldError) as caught:
        arguments(typed, SCHEMA)
    assert caught.value.field.name in str(caught.value)


@pytest.mark.parametrize("typed", ["Tokyo", "city", "=5", 'city="open', "more=[1", "{", '{"a":'])
def test_what_is_no_pair_is_refused(typed: str) -> None:
    """The place is named."""
    with pytest.raises(TypingError) as caught:
        arguments(typed, SCHEMA)
    assert caught.value.at in typed


def test_an_integer_may_be_written_as_json_writes_it() -> None:
    """`2.0` is a whole number in JSON Schema."""
    assert value(Field("n", "integer"), "2.0") == 2.0
