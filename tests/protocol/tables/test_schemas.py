"""A schema as rows: what a person writes, and back again without losing anything."""

from typing import Any

import pytest

from humanmcp.protocol.tables.schemas import (
    Choice,
    Field,
    SchemaRow,
    choices,
    expanded,
    rows_of,
    schema_of,
    template_form,
)

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


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"enum": ["a", 1]}, [Choice("a"), Choice(1)]),
        ({"enum": ["a", "b"], "enumNames": ["A", 2]}, [Choice("a", "A"), Choice("b", "2")]),
        ({"enum": ["a", "b"], "enumNames": ["A"]}, [Choice("a"), Choice("b")]),
        ({"enum": ["a"], "enumNames": "A"}, [Choice("a")]),
        ({"enum": [], "const": 1}, []),
        ({"enum": "ab", "const": 1}, [Choice(1)]),
        ({"const": None}, [Choice(None)]),
        ({"oneOf": [{"const": 1, "title": "One"}, {"const": 2}]}, [Choice(1, "One"), Choice(2)]),
        ({"anyOf": [{"const": 1, "title": 7}]}, [Choice(1, "7")]),
        ({"oneOf": [{"const": 1}], "anyOf": [{"const": 2}]}, [Choice(1)]),
        ({"oneOf": 7, "anyOf": [{"const": 2}]}, [Choice(2)]),
        ({"oneOf": [{"const": 1}, {"type": "string"}]}, []),
        ({"oneOf": [{"const": 1}, "const"]}, []),
        ({"type": "string"}, []),
    ],
)
def test_the_values_that_a_schema_allows_are_listed_with_their_titles(
    schema: dict[str, Any], found: list[Choice]
) -> None:
    """In each way in which a version of MCP writes them; none where it allows others too."""
    assert choices(schema) == found
    assert Field("x", schema).choices == tuple(found)


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("string", "string"),
        (["null", "integer", "string"], "integer"),
        (["null"], ""),
        ("null", ""),
        ([7, "array"], "array"),
        (7, ""),
        (None, ""),
    ],
)
def test_a_field_has_one_type(kind: object, read: str) -> None:
    """Of several the first that is not null."""
    assert Field("x", {"type": kind}).kind == read
    assert (Field("x", {"type": kind, "items": 7}).item is not None) is (read == "array")


def test_a_field_reads_what_is_of_the_right_type_and_nothing_else() -> None:
    """A schema may be any JSON."""
    whole = {"type": "array", "title": "T", "description": "D", "items": {"type": "string"}}
    field = Field("x", whole)
    assert (field.title, field.about, field.item) == ("T", "D", Field("", {"type": "string"}))
    odd = Field("x", {"title": 7, "description": [], "items": 7, "type": "array"})
    assert (odd.title, odd.about, odd.item, odd.needed) == ("", "", Field("", {}), False)
    form = {"properties": {"a": {"type": "string"}, "b": 7}, "required": ["b", "c"]}
    assert Field("", form).fields == (Field("a", {"type": "string"}), Field("b", {}, needed=True))
    assert Field("", {"properties": ["a"], "required": "a"}).fields == ()
    assert Field("", {"properties": {"a": {}}, "required": "a"}).fields == (Field("a", {}),)


def nested(depth: int) -> dict[str, Any]:
    """Write an object within objects."""
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    for _ in range(depth - 1):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_rows_go_eight_levels_deep() -> None:
    """Deeper ones are written as JSON."""
    rows = rows_of(nested(8))
    assert rows is not None
    assert [one.name for one in rows] == [".".join("a" * 8)]
    assert rows_of(nested(9)) is None


@pytest.mark.parametrize(
    ("schema", "rows"),
    [
        ({"type": "object", "properties": {"a": {"type": "string", "enum": [" a"]}}}, None),
        ({"type": "object", "properties": {"a": {"type": "string", "enum": [1]}}}, None),
        ({"type": "object", "properties": {"a": {"type": "integer", "enum": ["a"]}}}, None),
        (
            {"type": "object", "properties": {"a": {"type": "string", "enum": ["a", "b"]}}},
            (SchemaRow("a", "choice", choices=("a", "b")),),
        ),
        ({"type": "object", "properties": {"a": {}}}, None),
        ({"type": "object", "properties": {"a": 7}}, None),
        ({"type": "object", "properties": 7}, None),
        ({"type": "object", "required": ["a"]}, None),
        ({"type": "string", "properties": {}}, None),
        ({}, None),
        (
            {"type": "object", "properties": {"a": {"type": "object", "description": "d"}}},
            (SchemaRow("a", "object", description="d"),),
        ),
        (
            {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object"}}}},
            (SchemaRow("a[]", "object"),),
        ),
    ],
)
def test_a_schema_has_rows_where_they_show_all_of_it(
    schema: dict[str, Any], rows: tuple[SchemaRow, ...] | None
) -> None:
    """What they would lose keeps it as JSON."""
    assert rows_of(schema) == rows


def test_a_row_changes_its_own_part_of_a_schema() -> None:
    """What a value of another type had is dropped; what stays needed is named once."""
    before = {
        "type": "object",
        "x": 1,
        "properties": {
            "n": {"type": "number", "minimum": 0},
            "l": {"type": "array", "maxItems": 3, "items": {"type": "string", "pattern": "a"}},
        },
    }
    rows = [
        SchemaRow("n", "integer", needed=True),
        SchemaRow("n", "integer", needed=True, description="N"),
        SchemaRow("l[]", "string"),
        SchemaRow("c", "choice", choices=("a",)),
        SchemaRow("o", "object"),
    ]
    assert schema_of(rows, before) == {
        "type": "object",
        "x": 1,
        "required": ["n"],
        "properties": {
            "n": {"type": "integer", "description": "N"},
            "l": {"type": "array", "items": {"type": "string", "pattern": "a"}, "maxItems": 3},
            "c": {"type": "string", "enum": ["a"]},
            "o": {"type": "object", "properties": {}},
        },
    }
    assert schema_of([], {"type": "array", "x": 1}) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("template", "values", "uri"),
    [
        ("a{?x,y}", {"x": "1", "y": "é"}, "a?x=1&y=%C3%A9"),
        ("a{?x,y}", {"y": ""}, "a?y="),
        ("a{?x}", {}, "a"),
        ("{x:2}", {"x": "abc"}, "ab"),
        ("{x*}{+y}", {"x": "/", "y": "/a?%20"}, "%2F/a?%20"),
        ("{#x}{.x}{/x}{;x}{&x}", {"x": "a"}, "#a.a/a;x=a&x=a"),
        ("{x, y}", {"x": "1", "y": "2"}, "1,2"),
        ("{}{x:}", {"x": "1"}, "{}"),
    ],
)
def test_a_template_is_filled(template: str, values: dict[str, str], uri: str) -> None:
    """RFC 6570; what is no variable is left out."""
    assert expanded(template, values) == uri


def test_a_variable_is_asked_for_once() -> None:
    """One of a query is optional."""
    assert template_form("{a}{/a}{?b,a}{;c}{&d}{+e:3}") == {
        "type": "object",
        "properties": {name: {"type": "string"} for name in "abcde"},
        "required": ["a", "e"],
    }
