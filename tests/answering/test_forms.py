"""Fields of a schema, and what a person types into them."""

from typing import Any

import pytest

from humanmcp.answering.forms import (
    FieldError,
    TypingError,
    arguments,
    choices_of,
    default_of,
    kind_of,
    value,
)
from humanmcp.protocol.json.tree import object_at
from humanmcp.protocol.tables.schemas import Choice, Field

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
    found = {field.name: field for field in Field("", SCHEMA).fields}
    city = found["city"]
    assert (kind_of(city), city.about, city.needed) == ("string", "where", True)
    assert default_of(found["days"]) == "3"
    assert choices_of(found["unit"]) == (Choice("C", "C"), Choice("F", "F"))
    assert choices_of(found["level"]) == (Choice("low", "Low"), Choice("high", "high"))


@pytest.mark.parametrize("schema", [None, 7, {}, {"properties": []}, {"type": "string"}])
def test_a_schema_without_properties_has_no_fields(schema: object) -> None:
    """It came over a wire: it may be anything."""
    assert Field("", object_at(schema)).fields == ()


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
    [
        "days=two",
        "days=1.5",
        "loud=perhaps",
        "unit=K",
        "more={}",
        "deep=[]",
        "share=true",
    ],
)
def test_what_a_field_does_not_take_is_refused(typed: str) -> None:
    """Before anything is sent."""
    with pytest.raises(FieldError) as caught:
        arguments(typed, SCHEMA)
    assert caught.value.field.name in str(caught.value)


@pytest.mark.parametrize(
    "typed", ["Tokyo", "city", "=5", 'city="open', "more=[1", "{", '{"a":', '{"a":' * 5_000]
)
def test_what_is_no_pair_is_refused(typed: str) -> None:
    """The place is named."""
    with pytest.raises(TypingError) as caught:
        arguments(typed, SCHEMA)
    assert caught.value.at in typed


def test_an_integer_may_be_written_as_json_writes_it() -> None:
    """`2.0` is a whole number in JSON Schema."""
    assert value(Field("n", {"type": "integer"}), "2.0") == 2.0


MANY = {"type": "array", "items": {"anyOf": [{"const": "g", "title": "Guitar"}, {"const": "p"}]}}


@pytest.mark.parametrize(
    ("part", "typed", "found"),
    [
        ({"type": "string", "enum": ["C", "F"]}, "2", "F"),
        ({"type": "string", "enum": ["C", "F"]}, "f", "F"),
        ({"type": "string", "enum": ["c", "C"]}, "C", "C"),
        ({"type": "string", "enum": ["3", "1", "2"]}, "1", "1"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["Ann", "Bob"]}, "bob", "b"),
        ({"oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0"}]}, "Red", "#f00"),
        ({"oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0"}]}, "\uff12", "#0f0"),
        ({"enum": [1, True, None]}, "true", True),
        (MANY, "Guitar", ["g"]),
        (MANY, "1, p", ["g", "p"]),
        (MANY, "1 2", ["g", "p"]),
        (MANY, "guitar\u3001p", ["g", "p"]),
        (MANY, '["p", "g"]', ["p", "g"]),
        (
            {"type": "array", "items": {"type": "string", "enum": ["x", "y z"]}},
            "y z,x",
            ["y z", "x"],
        ),
        ({"type": "integer"}, "\uff13\uff16", 36),
        ({"type": ["string", "null"]}, "plain", "plain"),
    ],
)
def test_a_choice_is_made_by_number_title_or_value(
    part: dict[str, Any], typed: str, found: object
) -> None:
    """`enum` with and without names, `oneOf`, `anyOf` in a list; with wide digits too."""
    field = Field("it", part)
    assert value(field, typed, numbered=True) == found


@pytest.mark.parametrize(
    ("part", "typed"),
    [
        ({"type": "string", "enum": ["C", "F"]}, "3"),
        ({"type": "string", "enum": ["C", "F"]}, ""),
        ({"type": "string", "enum": ["ab", "aB"]}, "AB"),
        (MANY, "Guitar, Drum"),
        (MANY, "[1"),
        (MANY | {"minItems": 2}, "Guitar"),
        ({"type": "string", "format": "email"}, "nomail"),
        ({"type": "string", "format": "date"}, "yesterday"),
        ({"type": "string", "minLength": 3}, "ab"),
        ({"type": "integer", "maximum": 5}, "9"),
    ],
)
def test_a_value_that_breaks_its_field_is_refused_where_it_is_typed(
    part: dict[str, Any], typed: str
) -> None:
    """By the one check of JSON Schema that all of humanmcp uses."""
    field = Field("it", part)
    with pytest.raises(FieldError):
        value(field, typed, numbered=True)


def test_a_number_counts_only_where_numbers_were_shown() -> None:
    """`call tool unit=2` means the value 2, and there is none."""
    with pytest.raises(FieldError):
        arguments("unit=2", SCHEMA)
