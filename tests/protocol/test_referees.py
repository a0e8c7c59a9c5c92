"""Other people's validators as referees: what they reject, we reject; what we offer, they accept.

`mcp_types` is the official Python package. It knows the shapes of 2025-11-25 (for every handshake
version) and of 2026-07-28, and accepts much that the official schema rejects: it is a lower bound.
"""

import copy
import json
from collections.abc import Iterator
from typing import Any, Final, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import methods
from pydantic import TypeAdapter, ValidationError

from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.tables.methods import REQUESTS
from humanmcp.protocol.tables.versions import R2025_11, R2026_07
from humanmcp.protocol.validation import check as draft_check
from tests.support.verdicts import asked, check, stating

EVERYTHING: Final[dict[str, Any]] = {
    "roots": {},
    "sampling": {"tools": {}},
    "elicitation": {"form": {}, "url": {}},
}
CLIENTS: Final = ("roots/list", "sampling/createMessage", "elicitation/create")


def exchange_of(method: str, version: str) -> Exchange:
    """Make a request that leaves every answer open."""
    params: dict[str, Any] = {"protocolVersion": version, "name": "a"}
    if version == R2026_07:
        params["_meta"] = stating(EVERYTHING)
    return asked(method, params, version=version, token="1")


def refused_by_referee(method: str, version: str, result: object) -> bool:
    """Return True if mcp_types rejects a result.

    An answer with `resultType` is held against the one model it names: the union of both accepts
    anything as a question back.
    """
    table = methods.CLIENT_RESULTS if method in CLIENTS else methods.SERVER_RESULTS
    arms = get_args(table[method, version]) or (table[method, version],)
    if len(arms) > 1 and isinstance(result, dict):
        asks = result.get("resultType") == "input_required"
        arms = tuple(arm for arm in arms if arm.__name__.startswith("InputRequired") == asks)
    try:
        TypeAdapter(arms[0]).validate_python(result, by_name=False)
    except ValidationError:
        return True
    return False


SEATS: Final = sorted(
    {(method, version) for method, version in methods.SERVER_RESULTS}
    | {(method, version) for method, version in methods.CLIENT_RESULTS if method in CLIENTS}
)


def examples(method: str, version: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """List the results we offer, as (variant, result), leaving out what mcp_types has not."""
    for variant, text in draft_check.templates(exchange_of(method, version)).items():
        message = json.loads(text)
        if "result" in message and variant != "task":  # no tasks in mcp_types
            yield variant, message["result"]


@pytest.mark.parametrize(("method", "version"), SEATS)
def test_every_template_passes_the_official_types(method: str, version: str) -> None:
    """Every template and every draft of every method and version."""
    offered = dict(examples(method, version))
    assert offered
    for variant, result in offered.items():
        if method not in CLIENTS:
            methods.parse_server_result(method, version, result)
        assert not refused_by_referee(method, version, result), variant
    text = draft_check.start(exchange_of(method, version))
    assert not refused_by_referee(method, version, json.loads(text)["result"])


def test_no_method_is_without_a_referee() -> None:
    """What mcp_types leaves out: tasks, and what 2026-07-28 asks inside an answer."""
    ours = {(method, version) for method, record in REQUESTS.items() for version in record.versions}
    assert {method for method, _ in ours - set(SEATS)} <= {
        "tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update",
        "skills/list", "skills/get", "resources/directory/read",
    }  # fmt: skip


VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    "text",
    [],
    ["x"],
    {},
    {"x": 1},
    [{}],
    [None],
)
NAMES: Final = ("name", "type", "content", "_meta", "x", "mimeType", "isError", "data", "text")


def places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """List the paths of everything inside a value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for step, item in items:
        yield (*path, step)
        yield from places(item, (*path, step))


def at(value: Any, path: tuple[str | int, ...]) -> Any:  # noqa: ANN401 - any JSON value
    """Return what stands at a path."""
    for step in path:
        value = value[step]
    return value


def mutations(result: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Make every small mistake in a result: a member lost, renamed, of another kind."""
    for path in places(result):
        owner, last = path[:-1], path[-1]
        lost = copy.deepcopy(result)
        del at(lost, owner)[last]
        yield f"without {path}", lost
        for value in VALUES:
            other = copy.deepcopy(result)
            at(other, owner)[last] = value
            yield f"{path} = {value!r}", other
        if isinstance(last, str):
            renamed = copy.deepcopy(result)
            whole = at(renamed, owner)
            whole[last.upper()] = whole.pop(last)
            yield f"{path} renamed", renamed


@pytest.mark.parametrize(("method", "version"), SEATS)
def test_what_the_official_types_reject_we_reject(method: str, version: str) -> None:
    """Everything that they reject must be an error here, too."""
    exchange = exchange_of(method, version)
    missed = []
    count = 0
    for variant, result in examples(method, version):
        for what, wrong in mutations(result):
            count += 1
            refused = refused_by_referee(method, version, wrong)
            if refused and draft_check.check(exchange, json.dumps(wrong), TextForm.RESULT).sendable:
                missed.append(f"{variant}: {what}")
    assert missed == []
    assert count or REQUESTS[method].result == "EmptyResult"


@settings(max_examples=200)
@given(st.data())
def test_two_mistakes_at_once_are_no_way_past(data: st.DataObject) -> None:
    """The same with two random mistakes, and every promise of a verdict kept."""
    method, version = data.draw(st.sampled_from(SEATS))
    _variant, result = data.draw(st.sampled_from(list(examples(method, version))))
    wrong = copy.deepcopy(result)
    for _ in range(2):
        paths = list(places(wrong))
        if not paths:
            return
        path = data.draw(st.sampled_from(paths))
        owner = at(wrong, path[:-1])
        if isinstance(owner, dict) and data.draw(st.booleans()):
            owner[data.draw(st.sampled_from(NAMES))] = owner.pop(path[-1])
        else:
            owner[path[-1]] = copy.deepcopy(data.draw(st.sampled_from(VALUES)))
    verdict = check(exchange_of(method, version), json.dumps(wrong), TextForm.RESULT)
    if refused_by_referee(method, version, wrong):
        assert not verdict.sendable


@pytest.mark.parametrize("version", [R2025_11, R2026_07])
def test_fixes_never_make_it_worse(version: str) -> None:
    """A fix of a mutated template leaves fewer or other problems, never a broken text."""
    for method in ("tools/list", "tools/call"):
        exchange = exchange_of(method, version)
        for _variant, result in examples(method, version):
            for _what, wrong in mutations(result):
                verdict = draft_check.check(exchange, json.dumps(wrong), TextForm.RESULT)
                for diagnostic in verdict.diagnostics:
                    if diagnostic.fix:
                        again = draft_check.check(
                            exchange, diagnostic.fix.apply(verdict.text), TextForm.RESULT
                        )
                        assert not any(each.code.startswith("J") and each.blocks
                                       for each in again.diagnostics)  # fmt: skip
                        assert diagnostic not in again.diagnostics
