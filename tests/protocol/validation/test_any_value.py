"""Whatever stands in the place of a member, the check comes to its end."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

import pytest

from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.tables import examples, methods
from humanmcp.protocol.tables.objects import SHAPES
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.whole_conversation import ConversationJudge
from tests.support.verdicts import R2025, R2026, asked, stating

VALUES: Final = (
    "1e999",
    "NaN",
    "1" + "0" * 400,
    f'"{"9" * 5000}"',
    '"\\ud800"',
    r'"{\"a\":\"b\\go\"}"',
    "[1e999]",
    '{"type":"text","text":-1e999}',
    "null",
)
"""What Python reads and cannot count with, what begins like JSON, and what has another type."""
HOLE: Final = "\0"


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:  # noqa: ANN401 - any JSON value
    """Yield the path of each value inside a value."""
    for step, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, step)
        if isinstance(one, dict | list):
            yield from paths(one, (*path, step))


def each(message: dict[str, Any]) -> Iterator[str]:
    """Yield a message with each of the values in the place of each of its own."""
    for path in paths(message):
        copy = deepcopy(message)
        place: Any = copy
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = HOLE
        text = json.dumps(copy)
        for value in VALUES:
            yield text.replace(json.dumps(HOLE), value)


def params(method: methods.Method, version: str) -> dict[str, Any]:
    """Return params with all members that a method has."""
    shape = (
        SHAPES[method.params].members if isinstance(method.params, str) and method.params else {}
    )
    found: dict[str, Any] = {"_meta": stating() if version == R2026 else {"progressToken": 1}}
    for name, member in shape.items():
        if member.exists(version) and name != "_meta":
            found[name] = examples.example(member, version, usual=True)
    return found


@pytest.mark.parametrize("version", [R2025, R2026])
@pytest.mark.parametrize("name", methods.REQUESTS)
def test_any_answer_is_judged(name: str, version: str) -> None:
    """A result, and an error."""
    results = [one for _, one in examples.each_result(name, version)][:2]
    answers = [{"result": one} for one in results]
    error = {"error": {"code": -32602, "message": "x", "data": {}}}
    for answer in (*answers, error):
        for text in each({"jsonrpc": "2.0", "id": 3, **answer}):
            found = check.check(asked(name, version=version), text)
            assert kinds.check_failed.code not in [one.code for one in found.diagnostics], text


@pytest.mark.parametrize("version", [R2025, R2026])
@pytest.mark.parametrize("method", [*methods.REQUESTS.values(), *methods.NOTIFICATIONS.values()])
def test_any_request_and_notification_is_judged(method: methods.Method, version: str) -> None:
    """From either side, and on its way out."""
    token = {"id": 3} if method.result else {}
    message = {"jsonrpc": "2.0", **token, "method": method.name, "params": params(method, version)}
    for text in each(message):
        found = list(check.check_outgoing(text, version, NegotiatedState()).diagnostics)
        for way in (Direction.IN, Direction.OUT):
            judge = ConversationJudge(version, initialized=True)
            for judged in judge.line(1, way, text.encode()):
                found += judged.diagnostics
        assert kinds.check_failed.code not in [one.code for one in found], text
