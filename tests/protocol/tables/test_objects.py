"""The table of objects, their examples, and the schemas that are made of it."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from humanmcp.protocol.json.spelling import alike
from humanmcp.protocol.tables import examples, methods, types, versions
from humanmcp.protocol.tables.examples import example_of
from humanmcp.protocol.tables.faults import Fault
from humanmcp.protocol.tables.objects import (
    SHAPES,
)
from humanmcp.protocol.tables.schemas import Schemas
from humanmcp.protocol.tables.types import FORMS, ListOf, OneOf, Text
from humanmcp.protocol.tables.versions import R2024_11, R2025_11, R2026_07
from humanmcp.protocol.validation.shape_checker import ENOUGH, fits, judge, name_of
from tests.support.verdicts import R2024, R2025, R2026


def named_in(kind: types.Kind) -> Iterator[str]:
    """List the entries of the table that a kind leads to."""
    match kind:
        case str():
            yield kind
        case types.OneOrMany():
            yield from named_in(kind.item)
            yield from named_in(kind.many)
        case types.ListOf():
            yield from named_in(kind.item)
        case types.MapOf() | types.OrNull():
            yield from named_in(kind.value)
        case types.ByMember() | types.ByPresence():
            yield from kind.shapes.values()
        case Text():
            assert kind.form in {"", "token", "answer", "one answer", *FORMS}


def test_every_name_in_the_table_is_an_entry_and_every_entry_is_used() -> None:
    """Nothing leads nowhere, and nothing stands there for nobody."""
    every = (*methods.REQUESTS.values(), *methods.NOTIFICATIONS.values())
    used = {one.result_in(version) for one in every for version in versions.ALL} - {""}
    used |= {name for one in every for name in named_in(one.params)}
    used |= {one.result for one in methods.EXTENSIONS if one.result}
    used |= {name for one in versions.VERSIONS.values() for _code, name in one.error_data}
    for shape in SHAPES.values():
        for member in shape.members.values():
            used |= {name for _since, kind in member.kinds for name in named_in(kind)}
    used |= {"InputRequiredResult", "CreateTaskResult"}  # told by `resultType` and by `task`
    assert used == set(SHAPES)


@pytest.mark.parametrize("version", versions.ALL)
@pytest.mark.parametrize("name", SHAPES)
def test_the_example_of_every_object_is_one(name: str, version: str) -> None:
    """What a fix inserts must be right."""
    shape = SHAPES[name]
    if shape.since > version:
        return
    value = example_of(name, version)
    found = judge(value, name, version)
    # an object told by a member cannot know which of them it is
    assert [each.code for each in found if each.code not in ("M26", "M27")] == []


def test_a_list_with_a_million_mistakes_is_not_read_to_its_end() -> None:
    """Nobody reads a million problems."""
    found = judge({"content": [5] * 1_000_000}, "CallToolResult", R2025)
    assert ENOUGH < len(found) < ENOUGH + 5


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (("result", "tools", 0, "name"), "tools[0].name"),
        (("result",), "result"),
        (("result", "tools", 0, "inputSchema", "type"), "tools[0].inputSchema.type"),
        (("params", "_meta"), "_meta"),
        (("error", "code"), "error.code"),
    ],
)
def test_places_are_called_what_a_person_calls_them(path: tuple[Any, ...], name: str) -> None:
    """`tools[0].name`, without what leads to it."""
    assert name_of(path) == name


@pytest.mark.parametrize(
    ("typed", "known", "meant"),
    [
        ("input_schema", ["inputSchema"], "inputSchema"),
        ("iserror", ["isError"], "isError"),
        ("IS_ERROR", ["isError"], "isError"),
        ("contents", ["content"], "content"),
        ("contnet", ["content"], "content"),
        ("strucuredContent", ["structuredContent"], "structuredContent"),
        ("note", ["content", "isError", "name"], None),
        ("txt", ["text", "image"], "text"),
        ("system", ["user", "assistant"], None),
        ("", ["a"], None),
        (5, ["a"], None),
        ("x" * 100, ["x"], None),
    ],
)
def test_near_misses_are_recognised(typed: object, known: list[str], meant: str | None) -> None:
    """Snake case, wrong case, plural, one or two slips; nothing looser than that."""
    assert alike(typed, known) == meant


def test_a_member_may_change_its_kind_with_a_version() -> None:
    """structuredContent: an object, and any value since 2026-07-28."""
    result = {"content": [], "structuredContent": [1]}
    assert not fits(result, "CallToolResult", R2025)
    assert fits({"resultType": "complete", **result}, "CallToolResult", R2026)


def test_a_choice_is_compared_with_its_type() -> None:
    """`1` is not `"1"`, and `true` is not `1`."""
    assert fits("a", OneOf(("a", "b")), R2024)
    assert not fits(1, OneOf(("1",)), R2024)
    assert not fits(True, types.WHOLE, R2024)  # noqa: FBT003 - a value to be judged
    assert fits(1.0, types.WHOLE, R2024)
    assert not fits(1.5, types.WHOLE, R2024)
    assert not fits(["a", "b"], ListOf(types.TEXT, most=1), R2024)


def test_what_is_usual_of_an_object_stands_in_the_order_of_its_members() -> None:
    """Members that may be there and have no example are left out, those of a later version too."""
    tool = examples.example_of("Tool", R2025_11, usual=True)
    assert list(tool) == ["name", "title", "description", "inputSchema", "annotations"]
    assert list(tool) == [name for name in SHAPES["Tool"].members if name in tool]
    early = examples.example_of("Tool", R2024_11, usual=True)
    assert list(early) == ["name", "description", "inputSchema"]


def test_a_small_object_has_what_must_be_there_and_nothing_else() -> None:
    """A fix puts in no more than that."""
    assert examples.example_of("Tool", R2025_11) == {
        "name": "ask_human",
        "inputSchema": {"type": "object"},
    }
    content = SHAPES["CallToolResult"].members["content"]
    assert examples.example(content, R2025_11) == [{"type": "text", "text": "…"}]


def test_every_list_has_the_same_forms() -> None:
    """An empty one and a page of several, too."""
    for one in methods.LISTS:
        found = dict(examples.each_result(one.name, R2025_11))
        assert {"typical", "empty", "minimal", "paged"} <= found.keys(), one.name


def test_only_what_clients_may_keep_says_for_how_long() -> None:
    """A task has a `ttlMs` of its own, which is another thing."""
    task = {"taskId": "1", "ttlMs": 60000}
    assert "cacheScope" not in examples.dated(task, "TaskStateResult", R2026_07)
    assert examples.dated(task, "TaskStateResult", R2026_07)["ttlMs"] == 60000
    assert examples.dated({"tools": []}, "ListToolsResult", R2026_07)["cacheScope"] == "private"


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
        (
            types.OneOrMany(types.OneOf(("a",)), versions.R2025_11, _TRUTH),
            {"anyOf": [{"enum": ["a"]}, {"type": "array", "items": _BOOLEAN}]},
        ),
        (types.OneOrMany(_TRUTH, versions.R2026_07, _TRUTH), {"anyOf": [_BOOLEAN]}),
    ],
)
def test_a_kind_of_value_is_described(kind: types.Kind, schema: dict[str, Any]) -> None:
    """As JSON Schema has it: an editor offers `true` and `false`, and brackets, by the type."""
    assert Schemas(versions.R2025_11).of(kind) == schema


TASK_DATES: Final = {"createdAt", "lastUpdatedAt"}


@pytest.mark.parametrize(
    ("kind", "usual", "value"),
    [
        (types.TEXT, False, "…"),
        (types.WHOLE, False, "…"),
        (OneOf(("b", "a")), False, "b"),
        (ListOf(OneOf(("b", "a"))), False, ["b"]),
        (types.MapOf(types.TEXT), False, {}),
        (types.OneOrMany(OneOf(("b",)), R2025_11, types.TEXT), False, "b"),
        (types.OrNull(types.TEXT), False, "…"),
        ("Root", False, {"uri": "file:///home/me"}),
    ],
)
def test_the_example_of_a_kind_is_small(kind: types.Kind, value: object, *, usual: bool) -> None:
    """What a fix puts in."""
    found = example_of(kind, R2025_11, usual=usual)
    assert found == value or (kind == "Root" and set(found) == {"uri"})


@pytest.mark.parametrize(
    ("whole", "kind", "version", "dated"),
    [
        ({"a": 1}, "CallToolResult", R2025_11, {"a": 1}),
        ({"a": 1}, "no such", R2026_07, {"a": 1}),
        ({"a": 1}, "Tool", R2026_07, {"a": 1}),
        (
            {"a": 1, "_meta": {"m": 2, "x": 1}},
            "CallToolResult",
            R2026_07,
            {"resultType": "complete", "a": 1, "_meta": {"m": 2, "n": 3, "x": 1}},
        ),
        (
            {},
            "ListToolsResult",
            R2026_07,
            {
                "resultType": "complete",
                "_meta": {"m": 1, "n": 3},
                "ttlMs": 0,
                "cacheScope": "private",
            },
        ),
        (
            {"ttlMs": 5, "cacheScope": "public"},
            "ListToolsResult",
            R2026_07,
            {
                "resultType": "complete",
                "_meta": {"m": 1, "n": 3},
                "ttlMs": 5,
                "cacheScope": "public",
            },
        ),
        (
            {"resultType": "input_required"},
            "ReadResourceResult",
            R2026_07,
            {"resultType": "input_required", "_meta": {"m": 1, "n": 3}},
        ),
    ],
)
def test_a_result_of_2026_has_what_each_of_them_has(
    whole: dict[str, Any], kind: str, version: str, dated: dict[str, Any]
) -> None:
    """What it says itself stays."""
    assert examples.dated(whole, kind, version, {"m": 1, "n": 3}) == dated


@pytest.mark.parametrize(
    ("method", "version", "names"),
    [
        ("tools/call", R2024_11, {"unknown_tool"}),
        ("initialize", R2024_11, {"unsupported_protocol_version_initialize"}),
        ("tools/list", R2025_11, {"invalid_cursor", "url_elicitation_required"}),
        ("resources/read", R2025_11, {"resource_not_found", "url_elicitation_required"}),
        (
            "prompts/get",
            R2026_07,
            {"unknown_prompt", "unsupported_protocol_version", "missing_client_capability"},
        ),
        ("ping", R2024_11, set()),
    ],
)
def test_each_method_has_the_errors_of_its_version(
    method: str, version: str, names: set[str]
) -> None:
    """Beside those that may answer anything."""
    anything = {
        *("method_not_found", "invalid_params", "invalid_request", "internal_error"),
        *("declined_by_person", "nobody_answered"),
    }
    assert set(examples.errors(method, version)) == names | anything


def test_a_resource_that_is_not_there_has_the_code_of_its_version() -> None:
    """-32602 since 2026-07-28."""
    codes = {
        version: examples.errors("resources/read", version)["resource_not_found"]
        for version in (R2024_11, R2025_11, R2026_07)
    }
    assert [one["code"] for one in codes.values()] == [-32002, -32002, -32602]
    data = {"uri": ""}
    assert codes[R2024_11] == {"code": -32002, "message": "Resource not found", "data": data}
    error = examples.errors("ping", R2024_11)["declined_by_person"]
    assert error == {"code": 1, "message": "The person declined to answer this request"}


@pytest.mark.parametrize(
    ("method", "version", "names"),
    [
        ("roots/list", R2025_11, ["typical", "empty"]),
        ("prompts/get", R2025_11, ["typical", "minimal", "empty"]),
        (
            "prompts/get",
            R2026_07,
            [
                *("typical", "minimal", "empty", "input_required_form", "input_required_url"),
                *("input_required_sampling", "input_required_roots"),
                "input_required_state_only",
            ],
        ),
        ("ping", R2025_11, ["minimal"]),
        ("ping", R2026_07, ["minimal"]),
        ("notifications/progress", R2025_11, []),
        ("tasks/get", R2025_11, ["typical"]),
        ("tasks/get", R2026_07, ["typical", "completed", "failed"]),
        (
            "tools/call",
            R2024_11,
            [
                *("typical", "minimal", "text", "tool_error", "declined"),
                *("image", "embedded_resource", "embedded_blob"),
            ],
        ),
    ],
)
def test_a_draft_starts_from_one_of_the_results_of_its_version(
    method: str, version: str, names: list[str]
) -> None:
    """The usual one first."""
    assert [name for name, _ in examples.each_result(method, version)] == names


def test_a_call_may_be_answered_with_a_task_since_there_are_tasks() -> None:
    """In the way of each version; a question has the server's name."""
    old = dict(examples.each_result("tools/call", R2025_11))["task"]
    new = dict(examples.each_result("tools/call", R2026_07))["task"]
    assert list(old) == ["task"]
    assert old["task"].keys() >= TASK_DATES
    assert new.keys() >= TASK_DATES
    assert (new["resultType"], new["_meta"]) == ("task", examples.NAMED)
    assert "task" not in dict(examples.each_result("tools/call", "2025-06-18"))
    asks = dict(examples.each_result("tools/call", R2026_07))["input_required_roots"]
    assert asks == {
        "resultType": "input_required",
        "inputRequests": {"client_roots": {"method": "roots/list"}},
        "_meta": examples.NAMED,
    }


def test_the_name_of_a_server_is_that_of_its_book() -> None:
    """Ours without one."""
    key = versions.META_SERVER
    assert examples.named({}) == examples.NAMED
    assert examples.named({"name": "a"}) == {key: {"name": "a"}}


def test_the_faults_of_http_are_those_from_the_status_on() -> None:
    """The others are in the message."""
    names = [one.value for one in Fault if one.is_of_http]
    assert names == [
        *("wrong-status", "wrong-type", "no-type", "other-session", "unauthorized"),
        *("lost-session", "redirect", "cut-stream", "no-final-event", "event-twice"),
        *("event-without-id", "slow-drip"),
    ]


@pytest.mark.parametrize(
    ("member", "versions_of", "required"),
    [
        (types.must(types.TEXT), "xxxxx", "xxxxx"),
        (types.must(types.TEXT, since=R2025_11), "---xx", "---xx"),
        (types.must(types.TEXT, until=R2025_11), "xxxx-", "xxxx-"),
        (types.must(types.TEXT, required_since=R2025_11), "xxxxx", "---xx"),
        (types.must(types.TEXT, since=R2026_07, required_since=R2025_11), "----x", "----x"),
        (types.may(types.TEXT, since=R2025_11, until=R2025_11), "---x-", "-----"),
    ],
)
def test_a_member_is_there_in_its_versions(
    member: types.Member, versions_of: str, required: str
) -> None:
    """From one on, until another, and needed or not."""
    marks = zip(versions.ALL, versions_of, required, strict=True)
    shape = types.shape(a=member)
    for version, there, needed in marks:
        found = types.members_in(shape, version)
        assert ("a" in found, member.exists(version)) == (there == "x", there == "x")
        if "a" in found:
            assert found["a"] == (types.TEXT, needed == "x")


def test_a_member_has_the_kind_of_its_version() -> None:
    """The first before it began."""
    member = types.may(types.TEXT, since=R2025_11, then=(R2026_07, types.TRUTH))
    kinds = [member.kind(version) for version in (R2024_11, R2025_11, R2026_07)]
    assert kinds == [types.TEXT, types.TEXT, types.TRUTH]


PLAN: Final = {"uri": "u"}


@pytest.mark.parametrize(
    ("kind", "own", "usual", "value"),
    [
        (types.TEXT, "x", False, "x"),
        (types.TEXT, "x", True, "x"),
        (types.TEXT, None, True, "…"),
        (ListOf(types.TEXT), ["x"], True, ["x"]),
        ("Root", PLAN, False, PLAN),
        ("Root", PLAN, True, example_of("Root", R2025_11, usual=True)),
        (ListOf("Root"), [PLAN], False, [PLAN]),
        (ListOf("Root"), [PLAN], True, [example_of("Root", R2025_11, usual=True)]),
    ],
)
def test_a_member_has_its_own_example_unless_the_usual_one_is_made_of_objects(
    kind: types.Kind, own: object, value: object, *, usual: bool
) -> None:
    """A form or a fix shows no more than the table says."""
    assert examples.example(types.must(kind, example=own), R2025_11, usual=usual) == value
