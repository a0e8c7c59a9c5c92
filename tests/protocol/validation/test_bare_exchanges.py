"""Requests and results that were written down without JSON-RPC around them."""

from __future__ import annotations

import json

import pytest

from humanmcp.protocol.validation.bare_exchanges import bare_exchanges

CLIENT, SERVER = 1, -1
PING = (CLIENT, {"id": 1, "method": "ping"})
DONE = (SERVER, {"id": 1, "result": {}})


def read(text: str, *spans: tuple[int, int]) -> list[tuple[int, int, dict[str, object]]]:
    """Read what stands at these places, by default the whole text."""
    found = []
    for one in bare_exchanges(text, spans or [(0, len(text))]):
        message = json.loads(one.text)
        assert message.pop("jsonrpc") == "2.0"
        found.append((one.start, one.side, message))
    return found


def sent(text: str) -> list[tuple[int, dict[str, object]]]:
    """Read a text, and leave out the places."""
    return [(side, message) for _start, side, message in read(text)]


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        # the answer is a member of the request
        ('{"method":"ping","params":null,"result":{}}', [PING, DONE]),
        ('{"method":"ping","response":{}}', [PING, DONE]),
        ('{"method":"ping","output":{}}', [PING, DONE]),
        ('{"method":"ping","result":7,"output":{}}', [PING, DONE]),
        ('{"method":"ping","error":{"code":1}}', [PING, (SERVER, {"id": 1, "error": {"code": 1}})]),
        # or it stands beside it, in an envelope of its own or in none
        ('[{"method":"ping"},{}]', [PING, DONE]),
        ('[{"method":"ping"},{"result":{}}]', [PING, DONE]),
        ('[{"method":"ping"},{"result":3}]', [PING, (SERVER, {"id": 1, "result": {"result": 3}})]),
        (
            '[{"method":"ping"},{"error":{"code":1}}]',
            [PING, (SERVER, {"id": 1, "error": {"code": 1}})],
        ),
        (
            '{"a":{"method":"ping"},"error":{"code":1}}',
            [PING, (SERVER, {"id": 1, "error": {"code": 1}})],
        ),
        ('{"a":{"method":"ping"},"headers":{"b":1},"meta":{},"c":{}}', [PING, DONE]),
        ('[{"method":"ping"},7,"words",[],[{}]]', [PING, DONE]),
        # parameters are kept; a client answers a server
        (
            '[{"method":"tools/call","params":{"name":"t"}},{"content":[]}]',
            [
                (CLIENT, {"id": 1, "method": "tools/call", "params": {"name": "t"}}),
                (SERVER, {"id": 1, "result": {"content": []}}),
            ],
        ),
        (
            '{"method":"roots/list","result":{"roots":[]}}',
            [
                (SERVER, {"id": 1, "method": "roots/list"}),
                (CLIENT, {"id": 1, "result": {"roots": []}}),
            ],
        ),
        # a notification gets no answer, and no id
        (
            '[{"method":"notifications/initialized"},{"a":1},{"method":"ping"},{}]',
            [(CLIENT, {"method": "notifications/initialized"}), PING, DONE],
        ),
        # each request has an id of its own, and one answer
        (
            '[{"method":"ping"},{"method":"ping"},{},{"not":"again"}]',
            [PING, (CLIENT, {"id": 2, "method": "ping"}), (SERVER, {"id": 2, "result": {}})],
        ),
        # within a string, and in one within a string
        (json.dumps('[{"method":"ping"},{}]'), [PING, DONE]),
        (json.dumps({"log": ' {"method":"ping","result":{}} '}), [PING, DONE]),
        (json.dumps([json.dumps({"body": json.dumps({"method": "ping"})}), {}]), [PING, DONE]),
    ],
)
def test_the_order_says_what_answers_which(
    text: str, messages: list[tuple[int, dict[str, object]]]
) -> None:
    """Also where the envelope has other members, and where values are none of MCP."""
    assert sent(text) == messages


@pytest.mark.parametrize(
    "text",
    [
        '{"method":"ping"}',
        '[{"method":"ping"},7]',
        '{"method":"GET","result":{}}',
        '{"method":"ping","url":"/","result":{}}',
        '{"method":7,"result":{}}',
        pytest.param(f'{{"method":{"9" * 5_000},"result":{{}}}}', id="a long number"),
        '{"result":{}}',
        '{"method":"notifications/initialized","result":{}}',
        '"no JSON"',
        '"{"',
    ],
)
def test_without_a_pair_nothing_is_read(text: str) -> None:
    """A request alone is shown by whoever finds messages; a method may be one of HTTP."""
    assert read(text) == []


@pytest.mark.parametrize(("levels", "is_read"), [(1, True), (8, True), (9, False)])
def test_what_is_nested_deeply_is_not_looked_for(levels: int, *, is_read: bool) -> None:
    """In arrays and in objects; a string around them is a level, too."""
    pair = '{"method":"ping","result":{}}'
    within = "[" * levels + pair + "]" * levels
    assert bool(read(within)) is is_read
    assert bool(read('{"a":' * levels + pair + "}" * levels)) is is_read
    assert bool(read(json.dumps(within[1:-1]))) is is_read
    assert bool(read(json.dumps(within))) is (levels < 8)


def test_each_has_its_place_and_what_is_in_a_string_has_that_of_the_string() -> None:
    """The place of an answer within its request is behind that of the request."""
    text = 'x [{"method":"ping"}, {}] y "{\\"method\\":\\"ping\\",\\"result\\":{}}"'
    second = text.index('"{')
    found = read(text, (2, 25), (second, len(text)))
    assert [(start, message["id"]) for start, _side, message in found] == [
        (3, 1),
        (22, 1),
        (second, 2),
        (second + len("result"), 2),
    ]
    assert [start for start, *_ in read(json.dumps(' [{"method":"ping"},{}]'))] == [0, 0]
