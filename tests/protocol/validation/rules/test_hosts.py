"""What known hosts refuse although MCP allows it, and only that."""

import json
import re
from typing import Any

import pytest

from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.diagnostics.kinds import KINDS
from humanmcp.protocol.diagnostics.locate import MOST_PLACED
from humanmcp.protocol.diagnostics.model import Severity, TextForm
from humanmcp.protocol.validation.rules.hosts import tools_that_hosts_take
from humanmcp.protocol.validation.rules.registry import JudgedAnswer
from tests.support.verdicts import R2025, asked, check

OBJECT = {"type": "object"}
LISTED = {"type": "array", "items": {}}
UNKNOWN_TO_GEMINI = {
    "exclusiveMinimum": 0,
    "exclusiveMaximum": 9,
    "const": "x",
    "propertyNames": {},
    "patternProperties": {},
}


def of_schema(**members: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Return a tool whose input schema has these members."""
    return {"name": "t", "inputSchema": {**OBJECT, **members}}


def told(method: str, result: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the hints about hosts, each with its place."""
    verdict = check(asked(method, {}, version=R2025), json.dumps(result), TextForm.RESULT)
    hints = [one for one in verdict.diagnostics if one.severity is Severity.HOSTS]
    return [(one.code, one.pointer.removeprefix("/result")) for one in hints]


@pytest.mark.parametrize(
    ("tool", "codes"),
    [
        ({"name": "a.b", "inputSchema": OBJECT}, [("M113", "/tools/0/name")]),
        ({"name": "a" * 65, "inputSchema": OBJECT}, [("M114", "/tools/0/name")]),
        ({"name": "a" * 64, "inputSchema": OBJECT}, []),
        ({"name": "a b", "inputSchema": OBJECT}, []),  # M39 says it
        *(
            (of_schema(**{key: [OBJECT]}), [("M115", f"/tools/0/inputSchema/{key}")])
            for key in ("oneOf", "anyOf", "allOf")
        ),
        (of_schema(properties={"a": {"oneOf": [OBJECT]}}), []),
        (
            of_schema(properties={"a": {"type": "array"}, "b": {"type": "array"}}),
            [("M116", "/tools/0/inputSchema/properties/a")],
        ),
        (of_schema(properties={"a": LISTED}), []),
        (
            of_schema(properties={"a": {**LISTED, "items": {"type": ["string", "null"]}}}),
            [("M117", "/tools/0/inputSchema/properties/a/items/type")],
        ),
        (of_schema(properties={"a": {"default": [{"type": "array"}]}}), []),
        (
            of_schema(properties={"default": {"type": "array"}}),
            [("M116", "/tools/0/inputSchema/properties/default")],
        ),
        *(
            (
                of_schema(properties={"ok.key-1_a": {}, name: {}, "$later": {}}),
                [("M127", "/tools/0/inputSchema/properties/" + name)],
            )
            for name in ("$top", "with space", "x" * 65, "名前", "")
        ),
        (of_schema(properties={"a": {**OBJECT, "properties": {"$top": {}}}}), []),
        (of_schema(required=["$top"], properties={"a": {"$ref": "#/$defs/A[b]"}}), []),
        *(
            (
                of_schema(properties={"a": {"anyOf": [{keyword: value}]}, "b": {keyword: value}}),
                [("M128", f"/tools/0/inputSchema/properties/a/anyOf/0/{keyword}")],
            )
            for keyword, value in UNKNOWN_TO_GEMINI.items()
        ),
        (of_schema(properties=dict.fromkeys((*UNKNOWN_TO_GEMINI, "enum"), OBJECT)), []),
        (of_schema(**{"$defs": dict.fromkeys(UNKNOWN_TO_GEMINI, OBJECT)}), []),
        (
            of_schema(properties={"const": {"const": 1}}),
            [("M128", "/tools/0/inputSchema/properties/const/const")],
        ),
        (
            of_schema(properties={"a": {"exclusiveMinimum": 1, "const": "x"}}),
            [
                ("M128", "/tools/0/inputSchema/properties/a/exclusiveMinimum"),
                ("M128", "/tools/0/inputSchema/properties/a/const"),
            ],
        ),
        *(
            (
                of_schema(properties={"a": schema}),
                [("M129", "/tools/0/inputSchema/properties/a/enum")],
            )
            for schema in (
                {"type": "integer", "enum": [1, 2]},
                {"type": "string", "enum": ["a", ""]},
                {"type": "string", "enum": ["a", None]},
                {"enum": ["a"]},
            )
        ),
        (of_schema(properties={"a": {"type": "string", "enum": ["a", "b"]}}), []),
    ],
)
def test_a_tool_that_hosts_refuse_is_named(
    tool: dict[str, Any], codes: list[tuple[str, str]]
) -> None:
    """At its first place; a hint, because MCP allows it."""
    assert told("tools/list", {"tools": [tool]}) == codes


def test_more_tools_than_hosts_take_are_counted() -> None:
    """All servers together count; one alone may be too many."""
    tools = [{"name": f"t{number}", "inputSchema": OBJECT} for number in range(129)]
    assert told("tools/list", {"tools": tools}) == [("M119", "/tools")]
    assert told("tools/list", {"tools": tools[:128]}) == []


@pytest.mark.parametrize(
    ("value", "is_told"), [(2**53, False), (-(2**53) - 1, True), (1e300, False)]
)
def test_an_integer_that_javascript_rounds_is_named(value: float, *, is_told: bool) -> None:
    """A number with a fraction or an exponent is a double anyway."""
    found = told("tools/call", {"content": [], "structuredContent": {"a": [value]}})
    assert ("M118", "/structuredContent/a/0") in found if is_told else found == []


def test_every_limit_has_its_report() -> None:
    """The page of the hint is a public report."""
    limits = [KINDS[f"M{number}"] for number in (*range(113, 120), 127, 128, 129)]
    assert all(re.fullmatch(r"https://github.com/.*/issues/\d+", one.page) for one in limits)
    assert all(one.always["hosts"] for one in limits)


def test_of_thousands_of_hints_as_many_are_made_as_get_a_place() -> None:
    """And an error behind them is the first problem."""
    tools = [of_schema(anyOf=[OBJECT])] * (MOST_PLACED + 1)
    answer = JudgedAnswer(
        asked("tools/list", {}, version=R2025), {"tools": tools}, NegotiatedState()
    )
    found = list(tools_that_hosts_take(answer))
    assert len(found) == MOST_PLACED
    assert {one.severity for one in found} == {Severity.HOSTS}
    result = {"tools": [*tools, of_schema(type="objekt")]}
    verdict = check(asked("tools/list", {}, version=R2025), json.dumps(result), TextForm.RESULT)
    assert [one.pointer for one in verdict.diagnostics if one.blocks] == [
        f"/result/tools/{MOST_PLACED + 1}/inputSchema/type"
    ]
