"""How much work a comparison is said to be: what each keyword adds, and where it is too much."""

import math
from typing import Any

import pytest

from humanmcp.protocol.json.jsonrpc import Json
from humanmcp.protocol.validation.json_schema import references
from humanmcp.protocol.validation.json_schema.references import (
    References,
    UncheckedError,
    Work,
    size,
)

ONE, TWO = {"type": "string"}, {"type": "string", "minLength": 1}
"""Schemas of one keyword and of two: as many steps each."""


def refused(why: str) -> pytest.RaisesExc[UncheckedError]:
    """Expect that a comparison is not made, for this very reason."""
    return pytest.raises(UncheckedError, check=lambda error: (error.why, error.value) == (why, ""))


def steps(schema: Json, value: Json) -> int:
    """Count with patterns that cost a step for each of their characters."""
    return Work(References(schema), len).of(schema, value)


@pytest.mark.parametrize(
    ("schema", "value", "added"),
    [
        ({"type": "string", "enum": [1, 2, 3], "const": {"not": ONE}}, 5, 0),
        ({"allOf": [TWO, ONE, True]}, 5, 2 + 1 + 1),
        ({"if": ONE, "then": TWO, "else": False, "not": TWO}, 5, 1 + 2 + 1 + 2),
        ({"dependentSchemas": {"a": ONE, "b": TWO}}, {}, 1 + 2),
        ({"dependencies": {"a": ["b", "c", "d"], "b": TWO}}, {}, 1 + 2),
        ({"oneOf": [ONE, TWO]}, 5, 3 + 3 * 500),
        ({"oneOf": [ONE, TWO], "anyOf": [ONE]}, 5, 4 + 4 * 500),
        ({"$ref": "#/$defs/a", "$defs": {"a": TWO}}, 5, 2),
        ({"$ref": "#/$defs/a", "$dynamicRef": "#/$defs/b", "$defs": {"a": TWO, "b": ONE}}, 5,
         2 + 1),
        ({"properties": {"a": TWO, "b": ONE}}, {"a": 1, "c": 2}, 2),
        ({"properties": {"a": TWO}}, ["a"], 0),
        ({"properties": ["a"]}, {"a": 1}, 0),
        ({"additionalProperties": TWO}, {"a": 1, "b": 2}, 2 + 2),
        ({"additionalProperties": False}, {"a": 1, "b": 2}, 2),
        ({"additionalProperties": TWO}, "a", 0),
        ({"patternProperties": {"abc": ONE}}, {"k": 1, "lm": 2}, 40 * 3 + (2 + 3) * 3 + 1 + 1),
        ({"patternProperties": {"ab": ONE, "c": TWO}}, {"k": 1}, 40 * 3 + 2 * 3 + 1 + 2),
        ({"patternProperties": ["abc"]}, {"k": 1}, 1),
        ({"propertyNames": TWO}, {"a": 1, "b": 2, "c": 3}, 3 * 2),
        ({"propertyNames": TWO}, ["a"], 0),
        ({"items": TWO}, [1, 2, 3], 3 * 2),
        ({"items": [ONE, TWO]}, [1, 2], 2 * 3),
        ({"contains": TWO, "additionalItems": ONE}, [1, 2], 2 * 3),
        ({"prefixItems": [ONE, TWO]}, [1, 2, 3], 3 * 3),
        ({"pattern": "abc"}, "xy", 40 * 3 + 3 * 3),
        ({"pattern": "abc"}, 5, 40 * 3 + 3),
        ({"pattern": 5}, "xy", 0),
        ({"allOf": [{"pattern": "abc"}, {"pattern": "abc"}]}, 5, 40 * 3 + 2 * (1 + 3)),
        ({"unevaluatedProperties": ONE}, {"a": 1, "b": 2}, 3 * (2 + 2) - 2),
        ({"unevaluatedItems": TWO, "allOf": [ONE], "items": ONE}, [1], 3 * (4 + 2 + 1 + 1) - 4),
    ],
)  # fmt: skip
def test_each_keyword_adds_what_it_may_look_at(
    schema: dict[str, Any], value: Json, added: int
) -> None:
    """Whatever may be held against a value is, and what stands inside one against all in it.

    Beside a step of its own, and what each value of the schema and each one of the value costs.

    An empty choice of forms beside it keeps the count from being estimated; it adds nothing.
    """
    whole = {"anyOf": [], **schema}
    assert steps(whole, value) == 300 * size(whole) + 5 * size(value) + len(whole) + added


def test_a_schema_that_looks_at_nothing_twice_is_estimated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of its values at each value; counted only where that is too much."""
    assert steps(True, "x") == 300 + 5 + 1  # noqa: FBT003 - a schema may be `true`
    schema, value = {"items": TWO}, ["xy"]
    alone = 4 * 300 + 2 * 5
    assert steps(schema, value) == alone + 4 * 2
    monkeypatch.setattr(references, "MOST_STEPS", alone + 4 * 2)
    assert steps(schema, value) == alone + 4 * 2
    monkeypatch.setattr(references, "MOST_STEPS", alone + 4 * 2 - 1)
    assert steps(schema, value) == alone + 1 + 2


@pytest.mark.parametrize(
    ("schema", "counted"),
    [
        ({"anyOf": [TWO]}, 5 * 300 + 1 + 2 + 2 * 500),
        ({"pattern": "abc"}, 2 * 300 + 40 * 3 + 1 + 3),
        ({"items": TWO}, 4 * 300 + 1 + 2),
    ],
)
def test_the_most_steps_are_made_and_one_more_is_not(
    schema: dict[str, Any], counted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever part of the count goes beyond it."""
    monkeypatch.setattr(references, "MOST_STEPS", counted + 2 * 5)
    assert steps(schema, [5]) == counted + 2 * 5
    monkeypatch.setattr(references, "MOST_STEPS", counted + 2 * 5 - 1)
    with refused("too costly"):
        steps(schema, [5])


def test_patterns_that_take_too_long_to_compile_are_not_all_weighed() -> None:
    """Each takes a while to weigh; the first ones are too much already."""
    weighed: list[str] = []

    def weigh(pattern: str) -> int:
        weighed.append(pattern)
        return 60_000

    schema: Json = {"allOf": [{"pattern": "a"}, {"pattern": "b"}, {"pattern": "c"}]}
    with refused("too costly"):
        Work(References(schema), weigh).of(schema, 5)
    assert len(weighed) == 2


def test_values_are_counted_up_to_a_bound() -> None:
    """A hundred thousand in a hundred levels; another number than those of JSON is none."""
    assert size({"a": [1, "x"], "b": None}) == 5
    assert size([0] * (references.MOST_VALUES - 1)) == references.MOST_VALUES
    with refused("too large"):
        size([0] * references.MOST_VALUES)
    nested: Json = 1
    for _level in range(references.MOST_DEEP - 1):
        nested = [nested]
    assert size(nested) == references.MOST_DEEP
    with refused("too large"):
        size({"a": nested})
    assert size([1.5, 10**400]) == 3
    for odd in (math.inf, -math.inf, math.nan):
        with refused("no JSON"):
            size({"a": [odd]})


@pytest.mark.parametrize(
    ("bound", "most", "schema", "value"),
    [
        ("MOST_NESTED", 4 + 2, {"$ref": "#/$defs/a", "$defs": {"a": TWO}}, 5),
        ("MOST_NESTED", 4 + 2 + 2, {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
                                    "$defs": {"a": ONE, "b": TWO}}, 5),
        ("_MOST_INSIDE", 2, {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": ONE}}, [1]),
        ("_MOST_INSIDE", 6, {"items": {"$ref": "#"}}, [[[1]]]),
        ("_MOST_PAIRS", 1, {"anyOf": [ONE, TWO]}, 5),
    ],
)  # fmt: skip
def test_what_nests_or_grows_too_far_is_not_compared(
    bound: str, most: int, schema: Json, value: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A schema, all that its references name, and the pairs of a schema and a value."""
    monkeypatch.setattr(references, bound, most)
    steps(schema, value)
    monkeypatch.setattr(references, bound, most - 1)
    with refused("too large" if bound == "MOST_NESTED" else "too costly"):
        steps(schema, value)


def test_what_costs_too_much_is_not_counted_to_its_end() -> None:
    """The second pattern is weighed for compiling alone: the first one read too much."""
    weighed: list[str] = []

    def weigh(pattern: str) -> int:
        weighed.append(pattern)
        return 1_000

    schema: Json = {"allOf": [{"pattern": "a"}, {"pattern": "b"}]}
    with refused("too costly"):
        Work(References(schema), weigh).of(schema, "x" * (references.MOST_STEPS // 1_000))
    assert weighed == ["a", "b", "a"]
