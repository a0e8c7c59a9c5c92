"""The JSON Schema that an editor offers names and values from is the table of objects."""

from typing import Any

import pytest

from humanmcp.protocol.spec import methods, types, versions
from humanmcp.protocol.spec.objects import SHAPES
from humanmcp.protocol.spec.typed import Schemas


def defined(schema: dict[str, Any], name: str) -> set[str]:
    """Return the members of an object."""
    return set(schema["$defs"][name]["properties"])


@pytest.mark.parametrize("version", versions.ALL)
def test_an_answer_has_the_members_of_its_version(version: str) -> None:
    """A tool has an `outputSchema` from 2025-06-18 on, and needs a name in each."""
    schema = Schemas(version).answer("ListToolsResult", {})
    wanted = {one for one, member in SHAPES["Tool"].members.items() if member.exists(version)}
    assert defined(schema, "Tool") == wanted
    assert ("outputSchema" in wanted) == (version >= versions.R2025_06)
    assert "name" in schema["$defs"]["Tool"]["required"]


@pytest.mark.parametrize("version", versions.ALL)
def test_every_result_and_request_can_be_described(version: str) -> None:
    """Whatever the table has a name for, objects that hold themselves included."""
    for method in methods.REQUESTS.values():
        schema = Schemas(version).answer(method.result_in(version), {})
        for reference in str(schema).split("#/$defs/")[1:]:
            assert reference.split("'")[0] in schema["$defs"]
    said = Schemas(version).requests({})
    allowed = {one["properties"]["method"]["const"] for one in said["oneOf"]}
    assert "tools/call" in allowed
    assert ("initialize" in allowed) == (version in versions.HANDSHAKE)


def test_what_a_tool_declares_is_offered_for_it() -> None:
    """In an answer below `structuredContent`, in a call below `arguments`."""
    city = {"type": "object", "properties": {"city": {"enum": ["Osaka"]}}}
    answer = Schemas(versions.R2025_11).answer("CallToolResult", {"structuredContent": city})
    assert answer["properties"]["result"]["properties"]["structuredContent"] is city
    call = Schemas(versions.R2025_11).requests({"weather": city})["oneOf"][-1]["properties"]
    assert call["params"]["oneOf"] == [
        {"properties": {"name": {"const": "weather"}, "arguments": city}}
    ]


_TRUTH = types.Boolean()
_BOOLEAN = {"type": "boolean"}


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (types.OneOf(("a", "b")), {"enum": ["a", "b"]}),
        (_TRUTH, _BOOLEAN),
        (types.ListOf(_TRUTH), {"type": "array", "items": _BOOLEAN}),
        (types.MapOf(_TRUTH), {"type": "object", "additionalProperties": _BOOLEAN}),
        (types.OrNull(_TRUTH), {"anyOf": [_BOOLEAN, {"const": None}]}),
    ],
)
def test_a_kind_of_value_is_described(kind: types.Kind, schema: dict[str, Any]) -> None:
    """As JSON Schema has it: an editor offers `true` and `false`, and brackets, by the type."""
    assert Schemas(versions.R2025_11).of(kind) == schema
