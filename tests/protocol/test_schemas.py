"""Schemas from strangers: checked as advice, without danger (C14)."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from typing import Any, Final

import pytest

from humanmcp.protocol import schemas

EVIL: Final[dict[str, dict[str, Any]]] = {
    "runaway pattern": {"type": "string", "pattern": "^(a+)+$"},
    "runaway pattern in names": {
        "type": "object",
        "patternProperties": {"^(a+)+$": {}},
        "additionalProperties": False,
    },
    "reference to the network": {"$ref": "http://203.0.113.1/schema.json"},
    "reference to a file": {"$ref": "file:///etc/passwd"},
    "reference to itself": {"$ref": "#"},
    "references that double": {
        "$defs": {
            **{f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(40)},
            "d40": {"type": "string"},
        },
        "$ref": "#/$defs/d0",
    },
    "a million choices": {"enum": list(range(1_000_000))},
    "a deep tree": {"properties": {"a": {"items": [{"not": {"type": []}}]}}},
    "a wrong keyword": {"type": "object", "properties": 5},
    "an unknown dialect": {"$schema": "http://203.0.113.1/dialect", "type": "string"},
}


@pytest.mark.parametrize("name", EVIL)
def test_no_schema_whatever_stalls_or_reaches_out(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C14: no network, no file, no cycle, no runaway pattern; advice, never blocking."""

    def refuse(*_args: object) -> None:
        pytest.fail("a schema opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    started = time.process_time()
    for value in ("a" * 40 + "!", {"a" * 40 + "!": 1}, 5):
        schemas.mismatch(value, EVIL[name])
    schemas.trouble_in(EVIL[name])
    assert time.process_time() - started < 5


def test_a_value_that_does_not_keep_to_a_schema_is_found() -> None:
    """W08, M06: the first difference, with its path."""
    schema = {
        "type": "object",
        "properties": {"n": {"type": "array", "items": {"type": "integer"}}},
    }
    assert schemas.mismatch({"n": [1, 2]}, schema) is None
    found = schemas.mismatch({"n": [1, "x"]}, schema)
    assert found is not None
    assert found[0] == ("n", 1)
    assert schemas.mismatch({}, "no schema") is None
    assert schemas.mismatch({}, False) is not None  # noqa: FBT003 - a schema may be `false`


def test_tame_patterns_are_still_tried() -> None:
    """A pattern that surely takes little time is worth trying."""
    schema = {"type": "string", "pattern": "^[0-9]{3}-[0-9]{4}$"}
    assert schemas.mismatch("100-0001", schema) is None
    assert schemas.mismatch("1000001", schema) is not None


@pytest.mark.parametrize(
    ("pattern", "tame"),
    [
        ("^[a-z]+$", True),
        ("^\\d{4}-\\d{2}$", True),
        (r"^[^@]+@[^@]+\.[a-z]+$", True),
        ("^(a+)+$", False),
        ("(a|aa)*b", False),
        (r"(x)\1", False),
        ("a*a*a*a*b", False),
        ("a" * 300, False),
        (5, False),
    ],
)
def test_patterns_are_judged_by_what_they_could_cost(pattern: object, tame: bool) -> None:  # noqa: FBT001 - a table
    """Repeated groups, references back and many repetitions are left out."""
    assert schemas.tame(pattern) == tame


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"], "minLength": 1}}},
        {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 3},
        {"$schema": "http://json-schema.org/draft-07/schema#", "required": ["a"], "default": {}},
        {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/x"}], "$defs": {"x": {}}},
        {"type": ["string", "null"]},
    ],
)
def test_a_valid_schema_has_no_trouble(schema: dict[str, Any]) -> None:
    """Everyday schemas, and less usual ones."""
    assert schemas.trouble_in(schema) is None


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "objct"}, ("type",)),
        ({"properties": {"a": {"type": "strng"}}}, ("properties", "a", "type")),
        ({"required": ["a", "a"]}, ("required",)),
        ({"minLength": -1}, ("minLength",)),
        ({"properties": []}, ("properties",)),
        ({"items": 5}, ("items",)),
        ({"description": 5}, ("description",)),
    ],
)
def test_a_schema_that_is_none_is_told_with_its_place(
    schema: dict[str, Any], path: tuple[str, ...]
) -> None:
    """Row 34: several model APIs reject all tools when one schema is wrong."""
    found = schemas.trouble_in(schema)
    assert found is not None
    assert found[0] == path


def test_the_library_is_only_imported_when_it_is_needed() -> None:
    """The stub starts in tens of milliseconds; a plain schema is judged without jsonschema."""
    code = (
        "import sys\n"
        "from humanmcp.protocol import drafts, schemas\n"
        "schemas.trouble_in({'type': 'object', 'properties': {'a': {'type': 'string'}}})\n"
        "assert 'jsonschema' not in sys.modules\n"
        "assert 'humanmcp.protocol.jsonmend' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
