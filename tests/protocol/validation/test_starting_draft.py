"""The text a person starts from: what a tool must be called with."""

import json
from typing import Any

import hypothesis.strategies as st
import jsonschema
import pytest
from hypothesis import given

from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import Json
from humanmcp.protocol.validation.starting_draft import (
    calls,
    empty_arguments,
    first_value,
    message,
    start,
)
from tests.support.verdicts import asked, check


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


# -- the form of an elicitation -----------------------------------------------------------------

_WORDS = st.sampled_from(["a", "bb", "ccc"])
_LIMITS = {"minimum": st.integers(-9, 9), "exclusiveMaximum": st.integers(-9, 9)}
_LENGTHS = {"minLength": st.integers(0, 3), "maxLength": st.integers(0, 3)}
_COUNTS = {"minItems": st.integers(0, 2), "maxItems": st.integers(0, 2)}
_TITLED = st.fixed_dictionaries({"const": _WORDS, "title": _WORDS})
_CHOSEN = st.fixed_dictionaries(
    {"type": st.just("string"), "enum": st.lists(_WORDS, min_size=1, unique=True)}
) | st.fixed_dictionaries({"oneOf": st.lists(_TITLED, min_size=1, max_size=2)})
_FORMATS = st.sampled_from(["email", "uri", "date", "date-time"])
_PATTERNS = st.sampled_from(["^[0-9]+$", "^(ab)+$", "^(?=a)"])
_FIELDS = (
    st.fixed_dictionaries({"type": st.sampled_from(["integer", "number"])}, optional=_LIMITS)
    | st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={**_LENGTHS, "format": _FORMATS, "pattern": _PATTERNS},
    )
    | st.fixed_dictionaries({"type": st.just("array"), "items": _CHOSEN}, optional=_COUNTS)
    | st.fixed_dictionaries({"type": st.just("boolean")})
    | _CHOSEN
)


@given(st.dictionaries(st.sampled_from("abcd"), _FIELDS), st.sets(st.sampled_from("abcd")))
def test_no_starting_draft_is_both_sendable_and_wrong(
    fields: dict[str, Any], needed: set[str]
) -> None:
    """What only the person knows is refused until it is written; the referee decides."""
    form = {"type": "object", "properties": fields, "required": sorted(needed & set(fields))}
    exchange = asked("elicitation/create", {"message": "?", "requestedSchema": form})
    draft = start(exchange)
    verdict = check(exchange, draft, TextForm.MESSAGE)
    referee = jsonschema.Draft202012Validator(form, format_checker=jsonschema.FormatChecker())
    content = json.loads(draft)["result"]["content"]
    assert verdict.sendable <= referee.is_valid(content), (draft, form)


def test_a_draft_takes_the_first_choice_and_the_least_that_fits() -> None:
    """`{"colour": "", "n": 0, "many": []}` could be sent, and fitted nothing."""
    fields = {
        "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]},
        "n": {"type": "integer", "minimum": 3},
        "many": {"type": "array", "minItems": 1, "items": {"anyOf": [{"const": "a"}]}},
        "mail": {"type": "string", "format": "email"},
        "note": {"type": "string"},
    }
    form = {"type": "object", "properties": fields, "required": ["n"]}
    exchange = asked("elicitation/create", {"message": "?", "requestedSchema": form})
    content = json.loads(start(exchange))["result"]["content"]
    assert content == {"colour": "r", "n": "…", "many": ["a"], "note": ""}


_NUMBERS = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "least": {"type": "number", "minimum": 3},
        "by default": {"type": "integer", "default": 2},
        "inner": {
            "type": "object",
            "properties": {"n": {"type": "number"}},
            "required": ["n"],
        },
        "optional": {"type": "integer"},
    },
    "required": ["n", "least", "by default", "inner"],
}


def test_a_number_that_nobody_chose_cannot_be_sent_to_who_asks_for_it() -> None:
    """A person who presses Send without looking must not have said 0."""
    exchange = asked("elicitation/create", {"message": "?", "requestedSchema": _NUMBERS})
    draft = start(exchange)
    assert not check(exchange, draft, TextForm.MESSAGE).sendable
    content = json.loads(draft)["result"]["content"]
    assert content == {"n": "…", "least": "…", "by default": 2, "inner": {"n": "…"}}


def test_a_number_that_nobody_chose_cannot_be_sent_to_a_tool() -> None:
    """As in the form of an elicitation: the model's call of a tool has to be filled in."""
    turn = asked("sampling/createMessage", {"tools": [{"name": "t", "inputSchema": _NUMBERS}]})
    (call,) = calls(turn).values()
    assert call["content"]["input"] == {
        "n": "…",
        "least": "…",
        "by default": 2,
        "inner": {"n": "…"},
    }
    assert not check(turn, message(turn, "result", call), TextForm.MESSAGE).sendable


def test_a_turn_of_the_model_may_call_each_of_the_tools_that_it_was_offered() -> None:
    """The id of the turn makes that of the call one of its own; what is no tool is left out."""
    tools = [{"name": "t", "inputSchema": {"required": ["a"], "properties": {"a": {}}}}, 7, {}]
    turn = asked("sampling/createMessage", {"tools": tools})
    (call,) = calls(turn).values()
    assert (call["role"], call["stopReason"]) == ("assistant", "toolUse")
    assert call["content"] == {"type": "tool_use", "id": "call-3", "name": "t", "input": {"a": ""}}
    assert calls(asked("tools/call", {"tools": tools})) == {}
    assert calls(asked("sampling/createMessage", {"tools": "t"})) == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "minimum": 1}, 1),
        ({"type": "integer", "minimum": 0}, 0),
        ({"type": "number", "minimum": 0.5}, 0.5),
        ({"type": "number", "minimum": "3"}, 0),
        ({"type": "integer", "exclusiveMinimum": 3}, 4),
        ({"type": "integer", "exclusiveMinimum": 0}, 1),
        ({"type": "integer", "exclusiveMinimum": -1}, 0),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "maximum": -1}, -1),
        ({"type": "integer", "maximum": 0}, 0),
        ({"type": "integer", "exclusiveMaximum": -3}, -4),
        ({"type": "integer", "exclusiveMaximum": 0}, -1),
        ({"type": "integer", "exclusiveMaximum": 1}, 0),
        ({"type": "number", "minimum": 2, "exclusiveMinimum": 5}, 2),
        ({"type": "array"}, []),
        ({"type": "array", "minItems": 2, "items": {"enum": ["a", "b", "c"]}}, ["a", "b"]),
        ({"type": "array", "minItems": 1, "items": {"enum": ["a", "b", "c"]}}, ["a"]),
        ({"type": "array", "minItems": 0, "items": {"enum": ["a"]}}, []),
        ({"type": "array", "minItems": -1, "items": {"enum": ["a", "b"]}}, []),
        ({"type": "array", "minItems": True, "items": {"enum": ["a"]}}, []),
        ({"type": "boolean"}, False),
        ({"type": "string"}, ""),
        ({"type": "null"}, ""),
        ({}, ""),
        (7, ""),
        ({"default": None, "type": "integer"}, 0),
        ({"default": 0, "type": "string"}, 0),
        ({"enum": ["x", "y"]}, "x"),
        ({"const": 4}, 4),
        ({"type": "object"}, {}),
        (
            {
                "type": "object",
                "properties": {"a": {"const": 1}, "b": {}, "c": {"type": "boolean"}},
                "required": ["c"],
            },
            {"a": 1, "c": False},
        ),
    ],
)
def test_the_first_value_of_a_field_is_the_one_nearest_to_none(field: Json, value: Json) -> None:
    """Its default, its first choice, or the number nearest to 0 that fits."""
    found = first_value(field)
    assert (found, type(found)) == (value, type(value))


def test_what_nests_too_deeply_begins_empty() -> None:
    """A schema may be as deep as a text: 20 objects and what is in the last are enough."""
    field: dict[str, Any] = {"type": "object"}
    for _level in range(30):
        field = {"type": "object", "properties": {"a": field}, "required": ["a"]}
    value, levels = first_value(field), 0
    while isinstance(value, dict) and value:
        assert value.keys() == {"a"}
        value, levels = value["a"], levels + 1
    assert (value, levels) == ({}, 21)
