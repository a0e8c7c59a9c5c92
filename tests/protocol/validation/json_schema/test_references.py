"""Where the references of a JSON Schema lead, what in it is a pattern, and what looks twice."""

from collections.abc import Callable
from typing import Any

import pytest

from humanmcp.protocol.json.jsonrpc import Json
from humanmcp.protocol.validation.json_schema.references import (
    MOST_REFERENCES,
    REFERENCES,
    References,
    may_break,
)

A: Json = {"title": "a"}
B: Json = {"title": "b"}


@pytest.mark.parametrize(
    ("schema", "targets"),
    [
        ({"$ref": "#/$defs/a", "$defs": {"a": A}}, [A]),
        ({"$ref": "#/$defs/%61", "$defs": {"a": A}}, [A]),
        ({"$ref": "#/$defs/a", "$defs": {"a": True}}, [True]),
        ({"$ref": "#/$defs/a", "$defs": {"a": [A]}}, []),
        ({"$ref": "#/$defs/a", "$defs": {"a": 5}}, []),
        ({"$ref": "#a", "$defs": {"x": {"$anchor": "a", **A}}}, [{"$anchor": "a", **A}]),
        ({"$ref": "#b", "$defs": {"x": {"$anchor": "a", **A}}}, []),
        ({"$ref": "#a", "$defs": {"x": {"$anchor": 5}}}, []),
        (
            {"$dynamicRef": "#a", "$defs": {"x": {"$dynamicAnchor": "a", **A},
                                            "y": {"$id": "y", "$dynamicAnchor": "a", **B}}},
            [{"$dynamicAnchor": "a", **A}, {"$id": "y", "$dynamicAnchor": "a", **B}],
        ),
        (
            {"$ref": "#a", "$defs": {"x": {"$dynamicAnchor": "a", **A},
                                     "y": {"$id": "y", "$dynamicAnchor": "a", **B}}},
            [{"$dynamicAnchor": "a", **A}],
        ),
        (
            {"$id": "http://h/s", "$ref": "y#a", "$defs": {"y": {"$id": "y", "$anchor": "a"}}},
            [{"$id": "y", "$anchor": "a"}],
        ),
        (
            {"$id": "http://h/s", "$ref": "y#/$defs/a",
             "$defs": {"y": {"$id": "y", "$defs": {"a": A}}}},
            [A],
        ),
        (
            {"$defs": {"y": {"$id": "http://h/y", "allOf": [{"$ref": "#/$defs/a"}],
                             "$defs": {"a": A}}, "a": B}},
            [A],
        ),
        ({"$id": "http://h/s", "$ref": "http://h/s#/$defs/a", "$defs": {"a": A}}, [A]),
        ({"$id": "http://[", "$ref": "#/$defs/a", "$defs": {"a": A}}, [A]),
        ({"allOf": [{"$ref": "#/allOf/1"}, A]}, [A]),
        ({"const": {"$ref": "#/x"}, "default": [{"$ref": "#/x"}], "x": A}, []),
        ({"properties": {"$ref": A}}, []),
        ({"properties": {"default": {"$ref": "#/$defs/enum"}}, "$defs": {"enum": A}}, [A]),
        ({"default": {"properties": {"a": {"$ref": "#/x"}}}, "x": A}, []),
    ],
)  # fmt: skip
def test_a_reference_leads_to_what_it_names(schema: dict[str, Any], targets: list[Json]) -> None:
    """By a pointer, an anchor or an address, from the part of the schema in which it stands."""
    assert References(schema).targets == targets


@pytest.mark.parametrize(
    ("schema", "path", "text", "why"),
    [
        ({"$ref": "#/$defs/a"}, ("$ref",), "#/$defs/a", "broken reference"),
        ({"$ref": "#a"}, ("$ref",), "#a", "broken reference"),
        ({"allOf": [{"$ref": "x"}]}, ("allOf", 0, "$ref"), "x", "remote reference"),
        ({"$dynamicRef": "http://["}, ("$dynamicRef",), "http://[", "remote reference"),
        ({"$recursiveRef": "http://h/"}, ("$recursiveRef",), "http://h/", "remote reference"),
    ],
)
def test_a_reference_to_nothing_is_found_with_its_place(
    schema: dict[str, Any], path: tuple[str | int, ...], text: str, why: str
) -> None:
    """In the schema, or out of it."""
    broken = References(schema).broken
    assert broken is not None
    assert (broken.path, broken.text, broken.why) == (path, text, why)
    assert References({"$ref": "#", "allOf": [{"$ref": 5}]}).broken is None


def test_the_references_of_one_part_are_known_by_it() -> None:
    """Each keyword that names another schema."""
    part: Json = {"$ref": "#/$defs/a", "$dynamicRef": "#/$defs/b"}
    schema: Json = {"allOf": [part], "$defs": {"a": A, "b": B}}
    references = References(schema)
    assert isinstance(part, dict)
    assert references.of(part) == [A, B]
    assert references.of({}) == []


def test_patterns_are_found_with_their_places() -> None:
    """Of texts and of names; what only looks like one is none."""
    schema: Json = {
        "pattern": "a",
        "patternProperties": {"b": {"pattern": "c"}},
        "properties": {"x": {"pattern": 5, "patternProperties": ["d"]}},
        "examples": [{"pattern": "e"}],
    }
    assert References(schema).patterns == [
        (("pattern",), "a"),
        (("patternProperties", "b"), "b"),
        (("patternProperties", "b", "pattern"), "c"),
    ]


@pytest.mark.parametrize("keyword", [*REFERENCES, "pattern"])
@pytest.mark.parametrize(
    "around",
    [
        lambda part: part,
        lambda part: {"items": part},
        lambda part: {"anyOf": [A, part]},
        lambda part: {"properties": {"a": {"properties": {"b": part}}}},
        lambda part: {"$defs": {"a": {"not": part}}},
        lambda part: {"prefixItems": [A, [{"items": part}]]},
    ],
)
def test_what_may_break_is_looked_at_wherever_it_is(
    keyword: str, around: Callable[[Json], Json]
) -> None:
    """A schema without any is not analysed at all."""
    schema = around({keyword: "#/nowhere"})
    found = References(schema)
    assert found.all or found.patterns
    assert may_break(schema)
    assert not may_break(around({"type": "string", "title": keyword}))


@pytest.mark.parametrize(
    ("schema", "simple"),
    [
        (True, True),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "allOf": [A]}, True),
        ({"items": {"$ref": "#"}}, False),
        ({"items": {"pattern": "a"}}, False),
        ({"items": {"anyOf": [A]}, "properties": {"z": A}}, False),
        ({"oneOf": [A]}, False),
        ({"properties": {"a": {"unevaluatedProperties": False}}}, False),
        ({"unevaluatedItems": False}, False),
    ],
)
def test_a_schema_is_simple_where_nothing_looks_at_a_value_twice(
    schema: Json, *, simple: bool
) -> None:
    """No reference, no pattern, no choice of forms, wherever it stands."""
    assert References(schema).simple == simple


def test_references_are_followed_up_to_a_bound() -> None:
    """What comes after leads nowhere."""
    schema: Json = {"allOf": [{"$ref": "#/$defs/a"}] * MOST_REFERENCES, "$defs": {"a": A}}
    assert References(schema).broken is None
    assert References({**schema, "$ref": "#/$defs/a"}).broken is not None
