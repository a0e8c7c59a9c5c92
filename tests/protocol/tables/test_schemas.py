"""A schema as rows: what a person writes, and back again without losing anything."""

from typing import Any

import pytest

from humanmcp.protocol.tables.schemas import SchemaRow, rows_of, schema_of

ROWS = (
    SchemaRow("city", needed=True, description="Where"),
    SchemaRow("days", "integer"),
    SchemaRow("unit", "choice", choices=("C", "F")),
    SchemaRow("tags[]", "string", description="Words"),
    SchemaRow("place", "object", needed=True, description="Inside"),
    SchemaRow("place.street", needed=True),
    SchemaRow("rooms[].beds", "integer", needed=True),
)


def test_names_say_where_a_value_stands() -> None:
    """In an object, in a list, in each object of a list."""
    schema = schema_of(ROWS)
    assert schema["required"] == ["city", "place"]
    assert schema["properties"]["tags"] == {
        "type": "array",
        "items": {"type": "string"},
        "description": "Words",
    }
    assert schema["properties"]["place"]["required"] == ["street"]
    beds = schema["properties"]["rooms"]["items"]
    assert (beds["properties"], beds["required"]) == ({"beds": {"type": "integer"}}, ["beds"])


def test_rows_come_back_as_they_were() -> None:
    """What is written is what is shown."""
    assert rows_of(schema_of(ROWS)) == ROWS
    assert rows_of({"type": "object"}) == ()


@pytest.mark.parametrize(
    "schema",
    [
        {
            "type": "object",
            "properties": {
                "question": {"type": "string", "description": "What to answer"},
                "options": {"type": "array", "items": {"type": "string"}, "default": []},
            },
            "required": ["question"],
        },
        {
            "type": "object",
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "additionalProperties": False,
            "properties": {
                "n": {"type": "number", "minimum": 0, "title": "N"},
                "o": {"type": "object", "additionalProperties": True},
                "l": {"type": "array", "items": {"type": "string", "pattern": "a"}, "maxItems": 3},
            },
            "required": ["o", "n"],
        },
    ],
)
def test_what_rows_do_not_show_stays(schema: dict[str, Any]) -> None:
    """A default, a pattern, how many: a row that is changed loses none of it."""
    rows = rows_of(schema)
    assert rows is not None
    again = schema_of((*rows, SchemaRow("more")), schema)
    assert again["properties"].pop("more") == {"type": "string"}
    assert sorted(again.pop("required")) == sorted(schema["required"])
    assert again == {key: one for key, one in schema.items() if key != "required"} | {
        "properties": {
            name: {**one, "properties": {}} if name == "o" else one
            for name, one in schema["properties"].items()
        }
    }


@pytest.mark.parametrize(
    "value",
    [
        {"oneOf": [{"type": "string"}]},
        {"type": ["string", "null"]},
        {"enum": [1, 2]},
        {"type": "string", "enum": ["a, b"]},
        {"type": "array"},
        True,
    ],
)
def test_what_is_put_together_otherwise_has_no_rows(value: object) -> None:
    """It is written as JSON."""
    assert rows_of({"type": "object", "properties": {"a": value}}) is None
    assert rows_of(value) is None
