"""Where in a text a finding stands."""

import json
from typing import Any

import pytest

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.locate import Placer, Source
from humanmcp.protocol.diagnostics.problem import (
    FixAction,
    delete,
    insert,
    rename_to,
    replace_with,
    unwrap,
    wrap,
)
from humanmcp.protocol.tables import methods
from tests.support.verdicts import R2024, R2025, R2026, asked, check

HELLO: dict[str, Any] = {
    "protocolVersion": R2025,
    "capabilities": {},
    "serverInfo": {"name": "s", "version": "1"},
}
FORM: dict[str, Any] = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("method", "version", "said", "code", "name"),
    [
        ("ping", R2025, {"jsonrpc": "2.0", "id": 3, "method": "x", "result": {}}, "R07", "method"),
        ("ping", R2025, {"jsonrpc": "2.0", "id": 3, "result": {}, "error": None}, "R05", "error"),
        ("ping", R2025, {"jsonRpc": "2.0", "id": 3, "result": {}}, "R15", "jsonRpc"),
        ("ping", R2025, {"jsonrpc": "2.0", "id": 3, "result": {}, "note": 1}, "R17", "note"),
        ("ping", R2025, {"error": {"code": 1, "message": "x", "why": 1}}, "R11", "why"),
        ("tools/call", R2025, {"content": [], "task": {"taskId": "1"}}, "M12", "task"),
        ("tools/call", R2026,
         {"resultType": "input_required", "requestState": "s", "content": []}, "M55", "content"),
        ("elicitation/create", R2025, {"action": "decline", "content": {"a": 1}}, "M77", "content"),
        ("initialize", R2025, {**HELLO, "capabilities": {"completion": {}}}, "M48", "completion"),
        ("initialize", R2025,
         {**HELLO, "serverInfo": {**HELLO["serverInfo"], "capabilities": {"tools": {}}}}, "M47",
         "capabilities"),
        ("initialize", R2025, {**HELLO, "tools": {}}, "M63", "tools"),
        ("tools/call", R2025, {"Content": []}, "M10", "Content"),
        ("tools/call", R2025, {"content": [], "is_error": True}, "M11", "is_error"),
        ("tools/call", R2025, {"content": [{"type": "text", "text": "x", "hue": 1}]}, "M12", "hue"),
        ("tools/call", R2024, {"content": [], "structuredContent": {}}, "M13", "structuredContent"),
        ("tools/call", R2025, {"content": [], "_meta": {"-a/b": 1}}, "M73", "-a/b"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_member_that_is_there_stands_at_its_name(
    method: str, version: str, said: dict[str, Any], code: str, name: str
) -> None:
    """The value is not to blame: it may be a page long."""
    text = json.dumps(said)
    verdict = check(asked(method, {"name": "t", **FORM}, version=version), text)
    at = [text[one.start : one.end] for one in verdict.diagnostics if one.code == code]
    assert at == [f'"{name}"']


def test_without_a_text_there_is_no_line() -> None:
    """A finding about nothing typed stands nowhere."""
    (diagnostic,) = Placer(Source("{}", "")).diagnostics([kinds.missing_method()])
    assert (diagnostic.start, diagnostic.end, diagnostic.line, diagnostic.column) == (0, 2, 0, 0)
    (diagnostic,) = Placer(Source("{}", "{}")).diagnostics([kinds.missing_method()])
    assert (diagnostic.line, diagnostic.column) == (1, 1)


def test_what_is_not_in_the_text_stands_at_what_is_around_it() -> None:
    """The nearest part that is there; of what is outside the root, the whole."""
    text = ' {"a": [1, {"b": 2}]}'
    placer = Placer(Source(text, text, root=("result",)))
    for path, at in (
        (("result", "a", 1, "b"), "2"),
        (("result", "a", 1, "c"), '{"b": 2}'),
        (("result", "a", 7), '[1, {"b": 2}]'),
        (("result", "a", "x", "y"), '[1, {"b": 2}]'),
        (("result", "z"), '{"a": [1, {"b": 2}]}'),
        (("error", "a"), '{"a": [1, {"b": 2}]}'),
    ):
        (diagnostic,) = placer.diagnostics([kinds.missing_method(path)])
        assert text[diagnostic.start : diagnostic.end] == at, path
    assert placer.spot(("error",)) is None
    assert placer.spot(("result", "z")) is None


SOURCE = ' {"a": [1, {"b": 2}, 3] , "c": {}, "d": { } }'


@pytest.mark.parametrize(
    ("fix", "fixed"),
    [
        (delete(("a", 0)), ' {"a": [{"b": 2}, 3] , "c": {}, "d": { } }'),
        (delete(("a", 1)), ' {"a": [1, 3] , "c": {}, "d": { } }'),
        (delete(("a", 2)), ' {"a": [1, {"b": 2}] , "c": {}, "d": { } }'),
        (delete(("a", 1, "b")), ' {"a": [1, {}, 3] , "c": {}, "d": { } }'),
        (delete(("a",)), ' {"c": {}, "d": { } }'),
        (delete(("c",)), ' {"a": [1, {"b": 2}, 3], "d": { } }'),
        (delete(("d",)), ' {"a": [1, {"b": 2}, 3] , "c": {} }'),
        (delete(("z",)), None),
        (insert(("n",), 1), ' {"a": [1, {"b": 2}, 3] , "c": {}, "d": { }, "n": 1 }'),
        (insert(("c", "n"), 1), ' {"a": [1, {"b": 2}, 3] , "c": {"n": 1}, "d": { } }'),
        (insert(("d", "n"), 1), ' {"a": [1, {"b": 2}, 3] , "c": {}, "d": {"n": 1} }'),
        (insert(("a", "n"), 1), None),
        (insert(("z", "n"), 1), None),
        (rename_to(("c",), "q"), ' {"a": [1, {"b": 2}, 3] , "q": {}, "d": { } }'),
        (replace_with(("a", 1), []), ' {"a": [1, [], 3] , "c": {}, "d": { } }'),
        (wrap(("a", 1), "[", "]"), ' {"a": [1, [{"b": 2}], 3] , "c": {}, "d": { } }'),
        (unwrap(("a", 1), ("b",)), ' {"a": [1, 2, 3] , "c": {}, "d": { } }'),
        (unwrap((), ("a", 2)), " 3"),
        (unwrap(("a", 1), ("z",)), None),
        (unwrap(("a",), (3,)), None),
        (unwrap(("z",), ("b",)), None),
    ],
    ids=lambda one: f"{one.does.value} {one.path}" if isinstance(one, FixAction) else "",
)
def test_a_fix_changes_what_it_names_and_one_comma(fix: FixAction, fixed: str | None) -> None:
    """Of what is not there, there is no fix."""
    problem = kinds.missing_method(fix.path, fix)
    (diagnostic,) = Placer(Source(SOURCE, SOURCE)).diagnostics([problem])
    assert (diagnostic.fix and diagnostic.fix.apply(SOURCE)) == fixed
    assert diagnostic.fix is None or diagnostic.fix.label == fix.label


@pytest.mark.parametrize(
    ("said", "page"),
    [
        ({"jsonrpc": "1.0", "id": 3, "result": {}}, kinds.wrong_jsonrpc_version.page),
        ({"jsonrpc": "2.0", "id": 4, "result": {}}, kinds.wrong_id.page),
        ({"jsonrpc": "2.0", "id": 3, "result": {"a": 1}}, methods.page("ping", R2025)),
    ],
)
def test_the_link_of_a_problem_is_the_page_of_its_kind(said: dict[str, Any], page: str) -> None:
    """Of a kind without a page, that of the method."""
    verdict = check(asked("ping"), json.dumps(said))
    assert [one.page for one in verdict.diagnostics] == [page]
